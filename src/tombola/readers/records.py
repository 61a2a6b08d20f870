"""Records: tables whose rows come one by one, as lists of cells."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tombola._formatting import join_names, option_text
from tombola.errors import TableError
from tombola.readers.columns import Columns, check_names, column_of
from tombola.readers.limits import check_memory


def table_of(source: str, names: Sequence[str], rows: Iterable[Sequence[Any]], *, note: str = "") -> Columns:
    """Return a table from its rows of cells."""
    check_names(source, names)
    held = []
    for row in rows:
        held.append([_cell(cell) for cell in row])
        if len(held) % 4096 == 0:
            check_memory(source, 64 * len(held) * len(names))
    if not held:
        raise TableError(f"{source}: expected at least one row, got none; give a table that is not empty.")
    cells = zip(*held, strict=True)
    columns = [column_of(name, column, keep=True) for name, column in zip(names, cells, strict=True)]
    return Columns(source, columns, notes=(note,) if note else ())


def one_of(path: Path, what: str, known: Sequence[str], wanted: str | None) -> str:
    """Return the table or the sheet that is wanted, or the only one."""
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted is None or wanted not in known:
        how = f"{path}::{(known or ['TABLE'])[0]}" if what == "table" else option_text("sheet", (known or ["NAME"])[0])
        came = repr(wanted) if wanted is not None else "no name"
        raise TableError(
            f"{path}: expected the name of one {what} of {join_names(known) or 'none'}, got {came}; "
            f"write for example {how}."
        )
    return wanted


def _cell(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
