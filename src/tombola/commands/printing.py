"""Printing: words and tables on the terminal, as they are, whatever names they hold."""

import warnings
from typing import Any

import typer

_as_python_does = warnings.showwarning


def clean(text: str) -> str:
    r"""Return a text whose control characters are written out, so that no name commands the terminal.

    >>> clean("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def grid(*columns: str) -> Any:
    """Return an empty table with these columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show(what: Any) -> None:
    """Print words or a table."""
    from rich.console import Console

    Console(highlight=False, markup=False).print(clean(what) if isinstance(what, str) else what)


def remark(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Say what works less well than it could in a line of its own, and other warnings as Python does."""
    from tombola.errors import TombolaWarning

    if issubclass(category, TombolaWarning):
        tell(f"tombola: {message}")
    else:
        _as_python_does(message, category, *where, **more)


def tell(text: str) -> None:
    """Print words to standard error."""
    typer.echo(clean(text), err=True)
