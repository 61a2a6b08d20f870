"""Answers on file: a table with a column for each known candidate of a race."""

import math
from collections.abc import Sequence

import numpy as np

from tombola._formatting import join_names
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.cells import id_place, without_summary_line
from tombola.tables.columns import MISSING
from tombola.tables.formats.delimited import CellTable
from tombola.tables.names import without_kind_word
from tombola.tables.unit_checks import parse_loss
from tombola.units import UNIT_LOSSES, Units


def read_known(
    table: CellTable,
    candidates: Sequence[str],
    rows: Sequence[str],
    column: str | None = None,
    units: Units = UNIT_LOSSES,
) -> Floats:
    """Read answers on file: losses in [0, 1], shape (rows, candidates), NaN if blank.

    Columns that are not named like a candidate are ignored, so that the list itself may have the
    answers. Rows and candidates may be left out, and a last row that sums up the others is.
    TableError if a row does not belong to the race.

    table: the cells of the file, as `read_cells` returns them.
    rows: names of the rows of the race.
    column: the column of row ids; None: `id`, or the only column with a usual name for ids.
    """
    path = table.source
    place = id_place(table, column)
    # `describe` calls the column "a score" a, if all columns have such a word.
    names = {
        at: name if name in candidates else without_kind_word(name)
        for at, name in enumerate(table.names)
    }
    columns = {at: name for at, name in names.items() if name in candidates and at != place}
    if not columns or len(set(columns.values())) < len(columns):
        raise TableError(
            f"{path}: expected one column for each known candidate, got "
            f"{join_names(table.names, limit=20)}; "
            f"use names among {join_names(candidates)}, each once."
        )
    index = {name: number for number, name in enumerate(rows)}
    seen = set()
    known = np.full((len(rows), len(candidates)), math.nan)
    for line, cells in without_summary_line(table, place).rows:
        row = cells[place]
        if row not in index or row in seen:
            problem = "a second time" if row in seen else "which is not in the list"
            raise TableError(
                f"{path}: expected rows of the list, each once, got {row!r} {problem} in line "
                f"{line}; drop it."
            )
        seen.add(row)
        for at, name in columns.items():
            if cells[at].lower() not in MISSING:
                known[index[row], candidates.index(name)] = parse_loss(
                    path, line, name, cells[at], units
                )
    return known
