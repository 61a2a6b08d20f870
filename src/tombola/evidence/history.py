"""Numbers known of every row of a list before, and the place of each row of a table in them."""

from pathlib import Path
from typing import Any

import numpy as np

from tombola._formatting import assignment_text, option_text, plural
from tombola._types import Floats
from tombola.errors import ParameterError, TableError
from tombola.evidence.rows import Rows, RowSource, Sample
from tombola.tables.cells import read_history
from tombola.tables.columns import parse_number
from tombola.tables.names import is_id_name


class History:
    """History of a list, such as losses of earlier candidates, matched to a table by row ids.

    `table` has the numbers, shape (rows, columns); they predict the new ones.

    history: a path, a data frame or a list of mappings, with a column of ids.
    source: the table of the rows to read, with a column of ids.
    option: the parameter that names the history, for messages.
    """

    def __init__(self, history: Any, source: RowSource, option: str = "history") -> None:
        self.option = option
        if isinstance(history, str | Path):
            self.source = str(history)
            ids, self.table, notes = read_history(Path(history))
        else:
            ids, self.table, notes = _read_memory(history, option)
            self.source = option
        source.notes = (*source.notes, *(f"{self.source}: {note}" for note in notes))
        self._source = source
        self._places = {name: place for place, name in enumerate(ids)}
        self.id_column = _id_place(source.header, source.source, option)

    @property
    def ids(self) -> list[str]:
        """The ids of all rows of the list, in the order of the history."""
        return list(self._places)

    def places(self, batch: Rows) -> list[int]:
        """Return the positions of rows in the history, from 0; TableError if one is not in it."""
        places = []
        for line, cells in batch:
            name = cells[self.id_column].strip()
            if name not in self._places:
                raise TableError(
                    f"{self._source.source}: line {line}: expected a row of {self.source}, got "
                    f"{name!r}; add it to the {self.option}."
                )
            places.append(self._places[name])
        return places

    def check_complete(self, sample: Sample) -> None:
        """Raise ParameterError if the history does not have as many rows as the list."""
        rows = len(self.table)
        if sample.population != rows:
            raise ParameterError(
                f"{option_text(self.option)}: expected the {self.option} of all "
                f"{plural(sample.population, 'row')} of the list, got {rows:,} in {self.source}; "
                f"add the others, or write {assignment_text('rows', str(rows))} if "
                f"{self._source.source} is a random sample in random order."
            )


def _id_place(header: list[str], source: str, option: str) -> int:
    places = [place for place, name in enumerate(header) if is_id_name(name)]
    if len(places) != 1:
        raise ParameterError(
            f"{option_text(option)}: expected one column of row ids in {source}, got "
            f"{len(places)}; call it id."
        )
    return places[0]


def _read_memory(history: Any, option: str) -> tuple[list[str], Floats, tuple[str, ...]]:
    """Return ids, numbers and notes of a history in memory."""
    source = RowSource(history)
    id_place = _id_place(source.header, option, option)
    ids = []
    numbers = []
    for line, cells in source.rows():
        name = cells.pop(id_place).strip()
        if not name or name in ids:
            raise TableError(
                f"{option}: expected a different id in every row, got {name!r} in row {line}; "
                "repair it."
            )
        ids.append(name)
        numbers.append([parse_number(cell) for cell in cells])
    table = np.array(numbers, np.float64)
    if table.ndim != 2 or not table.shape[1] or np.isnan(table).any():
        raise TableError(
            f"{option}: expected a number in every cell beside the ids, got others; repair them."
        )
    return ids, table, source.notes
