"""Columns: a table as named columns of numbers, whatever it was read from."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import join_names, option_text, truncate
from tombola._types import Floats, Rounds
from tombola.errors import TableError
from tombola.readers.cells import COMMA, EITHER, PER_CENT, PLAIN, POINT, number_in
from tombola.readers.names import matching


class CellRef(NamedTuple):
    """One cell that is no number: its row, and what is written there."""

    row: int
    text: str


class Column(NamedTuple):
    """A column: its cells as numbers, NaN where there is none, and as they are written, where that was kept."""

    name: str
    numbers: Floats
    texts: Sequence[str] | None = None
    wrong: CellRef | None = None  # the first cell that is neither a number nor missing
    gap: CellRef | None = None  # the first cell that is missing
    notations: Mapping[str, CellRef] = MappingProxyType({})  # how numbers are written, each with the first such cell

    @property
    def known(self) -> int:
        """How many cells hold a number."""
        return int(np.count_nonzero(~np.isnan(self.numbers)))

    @property
    def words(self) -> list[str]:
        """The cells as they are written; where only numbers were kept, in as few digits as tell them apart.

        >>> Column("threshold", np.array([0.1, 2.0, 1e15])).words
        ['0.1', '2', '1000000000000000']
        """
        if self.texts is not None:
            return list(self.texts)
        return [f"{number:.0f}" if number.is_integer() else repr(number) for number in self.numbers.tolist()]


@dataclass(frozen=True, eq=False)
class Columns:
    """A table: its columns, its name in messages, the lines of its rows in the file, and notes on how it was read."""

    source: str
    columns: Sequence[Column]
    lines: Rounds | None = None
    notes: tuple[str, ...] = ()
    decimal: str | None = None  # the decimal mark, where somebody said so

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].numbers)

    @cached_property
    def named(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    def where(self, row: int) -> str:
        """Say where a row is, in words for a message."""
        return f"row {row}" if self.lines is None else f"line {int(self.lines[row])}"

    def find(self, name: str, wanted: str) -> Column:
        """Return the column of this name, which the option `wanted` asks for."""
        if name in self.named:
            return self.named[name]
        names = join_names([column.name for column in self.columns])
        raise TableError(
            f"{self.source}: expected a column called {name!r} as {option_text(wanted)} says, got {names}; "
            "name one of those."
        )

    def matching(self, pattern: str, wanted: str) -> list[str]:
        """Return the columns of this name, or that match it as a pattern, which the option `wanted` asks for."""
        return matching(self.named, pattern) or [self.find(pattern, wanted).name]

    def numeric(self, column: Column) -> Column:
        """Return the column if it holds nothing but numbers, all written alike, and missing cells."""
        if column.wrong is not None:
            raise TableError(
                f"{self.source}: expected a number in {self.where(column.wrong.row)}, column {column.name!r}, got "
                f"{truncate(column.wrong.text)!r}; fill it in, leave out the row, or leave out the column with "
                f"{option_text('ignore', [column.name])}."
            )
        if PER_CENT in column.notations and len(column.notations) > 1:
            other = next(cell for kind, cell in column.notations.items() if kind != PER_CENT)
            raise TableError(
                f"{self.source}: expected a per-cent sign in every cell of column {column.name!r} or in none, got "
                f"{truncate(other.text)!r} in {self.where(other.row)}; write all cells alike."
            )
        if EITHER in column.notations and not self.commas:
            raise self._doubtful(column, EITHER)
        if POINT in column.notations and self.commas:
            raise self._doubtful(column, POINT)
        return column

    @cached_property
    def commas(self) -> bool:
        """Whether a comma is decimal: somebody said so, or some cell cannot be read otherwise."""
        if self.decimal is not None:
            return self.decimal == ","
        return any(COMMA in column.notations for column in self.columns)

    def _doubtful(self, column: Column, notation: str) -> TableError:
        cell, (mark, name) = column.notations[notation], (",", "comma") if notation == EITHER else (".", "point")
        return TableError(
            f"{self.source}: expected a number in {self.where(cell.row)}, column {column.name!r}, got {cell.text!r}, "
            f"which may have a decimal {name} or one between thousands; write {option_text('decimal', mark)} if it is "
            f"decimal, and leave out the {name}s if not."
        )


def column_of(name: str, cells: Iterable[Any], *, start: int = 0, keep: bool = False) -> Column:
    """Return a column from its cells, one by one; `start` is the row of the first."""
    numbers, texts, wrong, gap = [], [], None, None
    notations: dict[str, CellRef] = {}
    for row, cell in enumerate(cells, start):
        value, notation = number_in(cell)
        if value is None:
            wrong = wrong or CellRef(row, str(cell))
        elif math.isnan(value):
            gap = gap or CellRef(row, "" if cell is None else str(cell))
        elif notation not in notations:
            notations[notation] = CellRef(row, str(cell).strip())
        numbers.append(math.nan if value is None else value)
        if keep:
            texts.append("" if cell is None else str(cell).strip())
    return Column(name, np.array(numbers, dtype=np.float64), texts if keep else None, wrong, gap, notations)


def notes_on_notation(columns: Sequence[Column]) -> list[str]:
    """Say which cells are not written as plain numbers, and what they were taken for."""
    found: dict[str, tuple[Column, CellRef]] = {}
    for column in columns:
        for kind, cell in column.notations.items():
            found.setdefault(COMMA if kind == EITHER else kind, (column, cell))
    for plain in (PLAIN, POINT):
        found.pop(plain, None)
    return [
        f"{kind}: {cell.text!r} in column {column.name!r} was read as {column.numbers[cell.row]:g}"
        for kind, (column, cell) in found.items()
    ]


def check_names(source: str, names: Sequence[str]) -> None:
    """Refuse a table in which two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"{source}: columns must have different names, got {name!r} twice; rename one of them.")
        seen.add(name)
