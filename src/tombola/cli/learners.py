"""`tombola learners`: the learners there are."""

import shutil
from itertools import groupby

import typer

from tombola.cli.printing import show


def learners() -> None:
    """List the learners, a line each: name and parameters, whether a bound is proved, and what it does."""
    from tombola.advice.learner_list import listing

    width = shutil.get_terminal_size().columns
    for sees, ones in groupby(sorted(listing(), key=lambda one: one.sees), key=lambda one: one.sees):
        typer.echo(f"\nsee {sees}")
        for one in ones:
            line = f"  {_cut(one.written, 44):<44} {'proved' if one.proved else '-':<6}  {one.what}"
            typer.echo(_cut(line, max(width, 72)))
    show(
        "\nwith parameters: --learners 'UCB2(alpha=.3),Exp3'; one of your own: --learners mine.py:MyLearner "
        "(CONTRIBUTING.md has a whole one)"
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
