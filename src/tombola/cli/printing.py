"""Printing to the terminal: text from files is escaped, so that it cannot send commands to the terminal."""

import warnings
from typing import TYPE_CHECKING, Any

import typer

from tombola._formatting import escape_control

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["escape_control", "grid", "remark", "show", "tell"]

_default_showwarning = warnings.showwarning


def grid(*columns: str) -> "Table":
    """Return an empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show(content: "str | Table", *, soft: bool = False, indent: int = 0) -> None:
    """Print text or a table, wrapped to the terminal; `soft` keeps lines whole, so that commands can be copied."""
    from rich.console import Console
    from rich.padding import Padding

    text = escape_control(content, line=soft) if isinstance(content, str) else content
    printed = Padding(text, (0, 0, 0, indent)) if indent else text
    Console(highlight=False, markup=False).print(printed, soft_wrap=soft)


def remark(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a TombolaWarning as one line on standard error, other warnings as Python does."""
    from tombola.errors import TombolaWarning

    if issubclass(category, TombolaWarning):
        tell(f"tombola: {message}")
    else:
        _default_showwarning(message, category, *where, **more)


def tell(text: str) -> None:
    """Print text to standard error as one line."""
    typer.echo(escape_control(text, line=True), err=True)
