"""Answers on the terminal, and as a page: what `compare` and `demo` share."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tombola.cli.printing import escape_control, grid, show

if TYPE_CHECKING:
    from tombola.advice import Answer


def show_answer(answer: "Answer") -> None:
    """Print an answer: what to do, what it is worth, how sure it is; then the ranking, the order and the notes."""
    show(answer.headline)
    show_sentences(answer)
    show_ranking(answer)
    show(f"order of the table: {answer.order_words}")
    for note in answer.notes:
        show(f"note: {note}")


def show_sentences(answer: "Answer") -> None:
    """Print the answer in words."""
    from tombola.advice.text import sentences

    table = grid("", "")
    table.show_header, table.columns[0].no_wrap = False, True
    for word, sentence in sentences(answer).pairs():
        table.add_row(word, escape_control(sentence))
    show(table)


def show_ranking(answer: "Answer") -> None:
    """Print the learners from the best to the worst in every order."""
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
                one.rank,
                escape_control(one.learner),
                one.mean_loss,
                one.regret,
                one.switches,
                *amounts,
                one.above or "-",
            )
        show(listed)


def check_page(out: Path | None, *inputs: str) -> None:
    """Refuse a page that cannot be written, before any work is done."""
    from tombola._files import check_output_path
    from tombola.errors import ParameterError

    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out: expected a page that ends in .html, got {out}; write --out {out.stem}.html.")
    check_output_path(out, *inputs, *(given.partition("::")[0] for given in inputs))  # the file of FILE::TABLE


def write_page(answer: "Answer", out: Path) -> None:
    """Write the page of an answer, with the command that made it."""
    from tombola._files import write_atomic
    from tombola.advice import page_of

    write_atomic(out, page_of(answer, command=shlex.join(["tombola", *sys.argv[1:]])))
