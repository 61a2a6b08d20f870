"""Printing: words and tables on the terminal, as they are, whatever names they hold."""

import warnings
from typing import Any

import typer

from tombola._formatting import escape_control

__all__ = ["escape_control", "grid", "remark", "show", "tell"]

_as_python_does = warnings.showwarning


def grid(*columns: str) -> Any:
    """Return an empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show(what: Any, *, soft: bool = False) -> None:
    """Print words or a table; `soft` leaves long lines whole."""
    from rich.console import Console

    words = escape_control(what, line=soft) if isinstance(what, str) else what
    Console(highlight=False, markup=False).print(words, soft_wrap=soft)


def remark(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Say what works less well than it could in a line of its own, and other warnings as Python does."""
    from tombola.errors import TombolaWarning

    if issubclass(category, TombolaWarning):
        tell(f"tombola: {message}")
    else:
        _as_python_does(message, category, *where, **more)


def tell(text: str) -> None:
    """Print words to standard error, on one line whatever names they hold."""
    typer.echo(escape_control(text, line=True), err=True)
