"""Answers on the terminal, and as a page: what `compare` and `demo` share."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tombola.commands.printing import grid, show

if TYPE_CHECKING:
    from tombola.tables import Answer


def show_answer(answer: "Answer") -> None:
    """Print an answer: the table, what was done to it, its order, and the ranking."""
    show(answer.headline)
    show(answer.best)
    for note in answer.notes:
        show(f"note: {note}")
    show(f"order of the table: {answer.order_words}")
    show_ranking(answer)


def show_ranking(answer: "Answer") -> None:
    """Print the learners from the best to the worst in every order, and the advice."""
    for order in answer.runs.orders:
        standings = answer.standings(order)
        spent = ("spent",) if standings[0].spent else ()
        listed = grid("", f"{order} order", "mean\nloss", "regret", "switches", *spent, "above first")
        listed.padding, listed.columns[1].no_wrap = (0, 0, 0, 1), True
        for column in (listed.columns[0], *listed.columns[2:]):
            column.justify = "right"
        for one in standings:
            amounts = (one.spent,) if spent else ()
            listed.add_row(
                str(one.rank), one.learner, one.mean_loss, one.regret, one.switches, *amounts, one.above or "-"
            )
        show(listed)
    show(f"advice: {answer.advice_line}")


def write_page(answer: "Answer", out: Path) -> None:
    """Write the page of an answer, with the command that made it."""
    from tombola.files import write_whole
    from tombola.tables import page_of

    write_whole(out, page_of(answer, command=shlex.join(["tombola", *sys.argv[1:]])))
