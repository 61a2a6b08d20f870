"""History: numbers known of every row before the order is drawn."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tombola._types import Floats
from tombola.errors import TableError
from tombola.readers.cells import open_cells
from tombola.readers.columns import parse_number
from tombola.readers.names import is_id_name


def read_history(path: Path, rows: Sequence[str] | None = None, column: str | None = None) -> tuple[list[str], Floats]:
    """Return the row ids and the numbers of a table, shape (rows, h).

    The table has a column of row ids and h >= 1 columns of numbers, such as the losses of candidates that do not take
    part. Raises TableError if a number or a row is missing.

    rows: ids that must all occur; the numbers are in their order. None for all rows, in the order of the file.
    column: name of the column of ids; None for the one with a usual name, such as id.
    """
    table = open_cells(path)
    places = [place for place, name in enumerate(table.names) if (name == column if column else is_id_name(name))]
    if len(places) != 1 or len(table.names) < 2:
        raise TableError(
            f"{path}: expected one column of row ids and columns of numbers, got {', '.join(table.names[:20])}; "
            "write a header such as id,a,b."
        )
    found: dict[str, list[float]] = {}
    for line, cells in table.rows:
        name = cells[places[0]]
        if name in found:
            raise TableError(f"{path}: expected each row once, got {name!r} a second time in line {line}; drop it.")
        found[name] = [_number(path, line, cell) for place, cell in enumerate(cells) if place != places[0]]
    ids = list(found) if rows is None else list(rows)
    missing = [name for name in ids if name not in found]
    if missing or not ids:
        raise TableError(
            f"{path}: expected every row of the list, got no {missing[0] if missing else 'row'!r}; add it."
        )
    return ids, np.array([found[name] for name in ids], float)


def _number(path: Path, line: int, text: str) -> float:
    number = parse_number(text)
    if math.isnan(number):
        raise TableError(f"{path}: expected a number in every cell, got {text!r} in line {line}; write one.")
    return number
