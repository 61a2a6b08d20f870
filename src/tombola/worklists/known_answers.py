"""Answers on file: a table with a column for each known candidate of a race."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tombola._formatting import join_names
from tombola._types import Floats
from tombola.errors import TableError
from tombola.racing.settings import RaceSettings
from tombola.tables.cells import id_place, read_cells, without_summary_line
from tombola.tables.columns import MISSING
from tombola.tables.formats.delimited import CellTable
from tombola.tables.names import is_group_name, is_id_name, matching, without_kind_word
from tombola.tables.options import table_header
from tombola.tables.unit_checks import parse_loss
from tombola.units import UNIT_LOSSES, Kind, Units


class KnownTable:
    """Answers on file, the table of --known, read once.

    candidates: those of the race, in the attribute with the columns that each pattern such as
        `prompt*` stands for; columns of others are not used.
    column: the option --id, "" if it was left out.
    """

    def __init__(
        self,
        path: Path,
        candidates: Iterable[str],
        column: str,
        ignore_rows: Sequence[str] = (),
    ) -> None:
        self.path = path
        table = read_cells(path)
        # Rows that are left out of a list need not be in the table of its answers.
        rows = list(table.rows)
        place = id_place(table, column or None) if rows else 0
        labels = {cells[place] for _, cells in rows}
        stated = [name for name in ignore_rows if name in labels or name == "none"]
        if stated:
            table = without_summary_line(table, id_place(table, column or None), stated)
        # What is left are rows, also if one of them is called Total.
        self._ignore_rows = ("none",) if stated else ()
        self.table = table
        self._column = column
        self.candidates = tuple(
            name
            for candidate in candidates
            for name in ("*" in candidate and matching(table.names, candidate)) or [candidate]
        )
        names = {*self.candidates}
        self._used = tuple(
            name for name in self.table.names if name in names or without_kind_word(name) in names
        )

    @property
    def kind(self) -> Kind | None:
        """The direction that the names of the columns state; None without."""
        return table_header(str(self.path), self._used).kind

    def losses(self, candidates: Sequence[str], rows: Sequence[str], units: Units) -> Floats:
        """Return the answers as losses, shape (rows, candidates), NaN if blank."""
        return read_known(
            self.table, candidates, rows, self._column or None, units, self._ignore_rows
        )

    def notes(self, settings: RaceSettings, by: str) -> list[str]:
        """Return notes on direction, missing and unused columns, and a row of sums."""
        notes = []
        on_file = {*self._used, *map(without_kind_word, self._used)}
        contradiction = table_header(str(self.path), self._used, settings.kind).contradiction
        if contradiction:
            notes.append(contradiction.removesuffix("."))
        if absent := [name for name in settings.candidates if name not in on_file]:
            notes.append(
                f"no answers on file for {join_names(absent)}; check the spelling if there should "
                "be some"
            )
        unused = [
            name
            for name in self.table.names
            if name not in self._used
            and name.lower() not in {self._column.lower(), by.lower()}
            and not is_id_name(name)
            and not is_group_name(name)
        ]
        if unused:
            notes.append(f"columns of {self.path} that are not used: {join_names(unused)}")
        return notes + self.summary_notes()

    def summary_notes(self) -> list[str]:
        """Return a note if a last row sums up the others."""
        place = id_place(self.table, self._column or None)
        notes = without_summary_line(self.table, place, self._ignore_rows).notes[
            len(self.table.notes) :
        ]
        return [f"{self.path}: {note}" for note in notes]


def read_known(
    table: CellTable,
    candidates: Sequence[str],
    rows: Sequence[str],
    column: str | None = None,
    units: Units = UNIT_LOSSES,
    ignore_rows: Sequence[str] = (),
) -> Floats:
    """Read answers on file: losses in [0, 1], shape (rows, candidates), NaN if blank.

    Columns that are not named like a candidate are ignored, so that the list itself may have the
    answers. Rows and candidates may be left out, and a last row that sums up the others is.
    TableError if a row does not belong to the race.

    table: the cells of the file, as `read_cells` returns them.
    rows: names of the rows of the race.
    column: the column of row ids; None: `id`, or the only column with a usual name for ids.
    ignore_rows: ids of rows to leave out; "none" for none.
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
    for line, cells in without_summary_line(table, place, ignore_rows).rows:
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
