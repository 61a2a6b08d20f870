"""Printing: words and tables on the terminal, as they are, whatever names they hold."""

from typing import Any

import typer


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

    Console(highlight=False, markup=False).print(what)


def tell(text: str) -> None:
    """Print words to standard error."""
    typer.echo(text, err=True)
