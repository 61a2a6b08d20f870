"""Columns: a table as named columns of numbers, whatever it was read from."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tombola.errors import TableError
from tombola.types import Floats, Rounds

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>"})
_TRUTH = {"true": 1.0, "false": 0.0}


class Cell(NamedTuple):
    """One cell that is no number: its row, and what is written there."""

    row: int
    text: str


class Column(NamedTuple):
    """A column: its cells as numbers, NaN where there is none, and as they are written, where that was kept."""

    name: str
    numbers: Floats
    texts: Sequence[str] | None = None
    wrong: Cell | None = None  # the first cell that is neither a number nor missing
    gap: Cell | None = None  # the first cell that is missing


class Columns(NamedTuple):
    """A table: its columns, the name it has in messages, and the lines of its rows in the file, if it has lines."""

    source: str
    columns: Sequence[Column]
    lines: Rounds | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].numbers)

    def where(self, row: int) -> str:
        """Say where a row is, in words for a message."""
        return f"row {row}" if self.lines is None else f"line {int(self.lines[row])}"

    def find(self, name: str, option: str) -> Column:
        """Return the column of this name, which `option` asks for."""
        for column in self.columns:
            if column.name == name:
                return column
        names = listed([column.name for column in self.columns])
        raise TableError(
            f"{self.source}: expected a column called {name!r} as {option} says, got {names}; name one of those."
        )

    def numeric(self, column: Column) -> Column:
        """Return the column if it holds nothing but numbers and missing cells."""
        if column.wrong is not None:
            raise TableError(
                f"{self.source}: expected a number in {self.where(column.wrong.row)}, column {column.name!r}, got "
                f"{shortened(column.wrong.text)!r}; fill it in, leave out the row, or name the columns to use with "
                "actions=[...]."
            )
        return column


def number_in(cell: Any) -> float | None:
    """Return the finite number in a cell (true is 1), NaN if the cell is missing, None if it holds anything else.

    >>> number_in(" 0.5 "), number_in("True"), number_in("NA"), number_in("good")
    (0.5, 1.0, nan, None)
    """
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING) or str(cell) in ("<NA>", "NaT"):
        return math.nan
    try:
        value = float(_TRUTH.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isinf(value) else value


def column_of(name: str, cells: Iterable[Any], *, start: int = 0, keep: bool = False) -> Column:
    """Return a column from its cells, one by one; `start` is the row of the first."""
    numbers, texts, wrong, gap = [], [], None, None
    for row, cell in enumerate(cells, start):
        value = number_in(cell)
        if value is None:
            wrong = wrong or Cell(row, str(cell))
        elif math.isnan(value):
            gap = gap or Cell(row, "" if cell is None else str(cell))
        numbers.append(math.nan if value is None else value)
        if keep:
            texts.append("" if cell is None else str(cell).strip())
    return Column(name, np.array(numbers, dtype=np.float64), texts if keep else None, wrong, gap)


def check_names(source: str, names: Sequence[str]) -> None:
    """Refuse a table in which two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"{source}: columns must have different names, got {name!r} twice; rename one of them.")
        seen.add(name)


def listed(names: Sequence[object], most: int = 6) -> str:
    """Return names with commas between them, the first few only.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shortened(str(name)) for name in names[:most]) + rest


def shortened(text: str, most: int = 60) -> str:
    """Return the text on one line and cut to a length that fits into a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
