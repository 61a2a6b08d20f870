"""Print to the terminal, with control characters in text escaped."""

import warnings
from typing import TYPE_CHECKING, Any

import typer

from tombola._formatting import escape_control

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["escape_control", "new_table", "print_error", "show", "show_warning"]

_default_showwarning = warnings.showwarning


def new_table(*columns: str) -> "Table":
    """Return an empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show(content: "str | Table", *, soft: bool = False, indent: int = 0) -> None:
    """Print text or a table; `soft` keeps lines whole, so they can be copied."""
    from rich.console import Console
    from rich.padding import Padding

    text = escape_control(content, line=soft) if isinstance(content, str) else content
    printed = Padding(text, (0, 0, 0, indent)) if indent else text
    Console(highlight=False, markup=False).print(printed, soft_wrap=soft)


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a TombolaWarning as one line, other warnings as Python does."""
    from tombola.errors import TombolaWarning

    if issubclass(category, TombolaWarning):
        print_error(f"tombola: {message}")
    else:
        _default_showwarning(message, category, *where, **more)


def print_error(text: str) -> None:
    """Print text to standard error as one line."""
    typer.echo(escape_control(text, line=True), err=True)
