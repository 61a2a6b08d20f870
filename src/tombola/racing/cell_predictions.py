"""Numbers of the cells of a large table, of which few have answers: the others take no memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tombola._types import Floats, Integers

# Rows of predictions that are put into one table at a time.
_BLOCK_ROWS = 4096


class AnsweredCells:
    """Columns of numbers by cell, of the cells that have answers; those of all others are zero.

    Attributes: `cells`, their numbers, row * candidates + candidate, in the order of the first
    answer; and `values`, shape (cells, columns). Both have room for more cells than `len` says.

    >>> cells = AnsweredCells(candidates=3, columns=2)
    >>> places = cells.places(5, np.array([0, 2]))
    >>> cells.values[places, 0] += 1.0
    >>> len(cells), cells.column(0).tolist(), cells.sums(0).tolist()
    (2, [1.0, 1.0], [1.0, 0.0, 1.0])
    """

    def __init__(self, candidates: int, columns: int) -> None:
        self.candidates = candidates
        self.cells = np.zeros(64, np.int64)
        self.values = np.zeros((64, columns))
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def places(self, row: int, candidates: Any) -> Integers:
        """Return the rows of `values` of some cells of a row; new cells have zeros.

        It may replace `values`, so read that afterwards.
        """
        numbers = (row * self.candidates + candidates).tolist()
        places = [self._places.setdefault(cell, len(self._places)) for cell in numbers]
        while len(self._places) > len(self.cells):
            self.cells = np.concatenate([self.cells, np.zeros_like(self.cells)])
            self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        self.cells[places] = numbers
        return np.array(places, np.int64)

    def column(self, column: int) -> Floats:
        """Return a column of `values`, cell by cell; a view."""
        return self.values[: len(self), column]

    def sums(self, column: int) -> Floats:
        """Return the sum of a column for each candidate."""
        owners = self.cells[: len(self)] % self.candidates
        totals: Floats = np.bincount(owners, self.column(column), self.candidates).astype(
            np.float64
        )
        return totals


class CellPredictions:
    """A table of predictions, rows x candidates: those of some cells, and a base of all others.

    base: one number for each candidate, shape (k,), or a table of all rows, shape (rows, k).
    cells, values: numbers of the other cells, as of `AnsweredCells`, and their predictions.

    >>> table = CellPredictions(3, np.array([0.5, 0.25]), np.array([3]), np.array([1.0]))
    >>> table[1].tolist(), table[2].tolist(), table.mean().tolist()
    ([0.5, 1.0], [0.5, 0.25], [0.5, 0.5])
    >>> np.asarray(table).shape
    (3, 2)
    """

    def __init__(self, rows: int, base: Floats, cells: Integers, values: Floats) -> None:
        order = np.argsort(cells)
        self.rows = rows
        self.base = base
        self._cells = cells[order]
        self._values = values[order]
        self._k = base.shape[-1]

    def __getitem__(self, row: int) -> Floats:
        """Return the predictions of a row, a copy."""
        predicted: Floats = self._table(np.array([row]))[0]
        return predicted

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        """Return all predictions as one array."""
        return self._table(np.arange(self.rows)).astype(dtype or np.float64)

    def mean(self) -> Floats:
        """Return the mean over all rows, for each candidate."""
        rows, owners = np.divmod(self._cells, self._k)
        if self.base.ndim == 1:
            counts = np.bincount(owners, minlength=self._k)
            total = np.bincount(owners, self._values, self._k) + (self.rows - counts) * self.base
        else:
            changes = self._values - self.base[rows, owners]
            total = self.base.sum(axis=0) + np.bincount(owners, changes, self._k)
        return np.asarray(total / self.rows)

    def blocks(self) -> Iterator[Floats]:
        """Yield tables of some rows that together have every row that differs."""
        if self.base.ndim == 1:
            rows = np.unique(self._cells // self._k)
            if len(rows) < self.rows:
                yield self.base[None, :]
        else:
            rows = np.arange(self.rows)
        for first in range(0, len(rows), _BLOCK_ROWS):
            yield self._table(rows[first : first + _BLOCK_ROWS])

    def _table(self, rows: Integers) -> Floats:
        """Return the predictions of rows, which are ascending."""
        is_common = self.base.ndim == 1
        table = np.tile(self.base, (len(rows), 1)) if is_common else self.base[rows]
        ends = np.searchsorted(self._cells, [rows[0] * self._k, (rows[-1] + 1) * self._k])
        part = slice(*ends)
        cells_rows, owners = np.divmod(self._cells[part], self._k)
        at = np.searchsorted(rows, cells_rows)
        inside = rows[np.minimum(at, len(rows) - 1)] == cells_rows
        table[at[inside], owners[inside]] = self._values[part][inside]
        return np.asarray(table)
