"""Print to the terminal, with control characters in text escaped."""

import json
import warnings
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import typer

from tombola._formatting import escape_control
from tombola.errors import TombolaWarning

if TYPE_CHECKING:
    from rich.table import Table

    from tombola.readers.summary import GroupRow

__all__ = ["escape_control", "new_table", "print_error", "show", "show_groups", "show_result", "show_warning"]

_default_showwarning = warnings.showwarning


def new_table(*columns: str, right: Container[int] = ()) -> "Table":
    """Return an empty Rich table in the style of all commands.

    columns: the headers.
    right: positions, from 0, of the columns that are aligned to the right.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if at in right else "left")
    return table


def show(content: "str | Table", *, soft: bool = False, indent: int = 0) -> None:
    """Print text or a table to standard output.

    content: text, in which control characters are escaped, or a Rich table.
    soft: do not break long lines, so that commands can be copied.
    indent: number of spaces before each line.
    """
    from rich.console import Console
    from rich.padding import Padding

    text = escape_control(content, line=soft) if isinstance(content, str) else content
    printed = Padding(text, (0, 0, 0, indent)) if indent else text
    Console(highlight=False, markup=False).print(printed, soft_wrap=soft)


def show_result(facts: Any, *lines: str, as_json: bool, soft: bool = False) -> None:
    """Print the result of a command: JSON, or lines of text.

    facts: JSON data, printed on one line if `as_json`.
    lines: text otherwise. A line that starts with two spaces is a command to copy, and is never broken.
    soft: break no line.
    """
    if as_json:
        typer.echo(json.dumps(facts))
    for line in () if as_json else lines:
        show(line, soft=soft or line.startswith("  "))


def show_groups(groups: "Sequence[GroupRow]", by: str, quantity: str, *, ranked: bool = True) -> None:
    """Print the best action of each group of rows as a table.

    groups: one per group, with its name, number of rows, and best and second action with their means.
    by: name of the column that has the groups; the first header.
    quantity: word for the means in the header, such as "loss".
    ranked: whether the direction of the numbers is known; if not, the largest and the smallest mean are printed.
    """
    first, second = ("best", "next") if ranked else ("highest", "lowest")
    table = new_table(by, "rows", first, quantity, second, quantity, right=(1, 3, 5))
    for one in groups:
        best, other = (escape_control(name) or "–" for name in (one.best, one.second))
        means = ("–" if mean != mean else f"{mean:.4g}" for mean in (one.best_mean, one.second_mean))
        table.add_row(escape_control(one.name), f"{one.rows:,}", best, next(means), other, next(means))
    show(table)


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a TombolaWarning as one line, other warnings as Python does.

    Replaces `warnings.showwarning`, whose arguments it takes.
    """
    if issubclass(category, TombolaWarning):
        print_error(f"tombola: {message}")
    else:
        _default_showwarning(message, category, *where, **more)


def print_error(text: str) -> None:
    """Print text to standard error as one line; control characters are escaped."""
    typer.echo(escape_control(text, line=True), err=True)
