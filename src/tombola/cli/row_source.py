"""Rows as they come: from standard input, or from a file that others are still writing."""

import csv
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from tombola.errors import OrderError, TableError

if TYPE_CHECKING:
    from tombola.confidence import OrderVerdict

DOUBT = 0.001  # the probability of refusing rows that are in random order, at most
PAUSE = 0.2  # seconds between two looks at a file that is growing
LONGEST = 1 << 22  # characters in a line

Row = TypeVar("Row")


class Arriving:
    """The header of a table, and its rows, each with the number of its line, as they come.

    A line counts once it ends; cells may be quoted, but a row is one line. With `follow` a file is read on and on,
    until nobody asks for more.
    """

    def __init__(self, source: str, *, follow: bool = False, wait: Callable[[float], None] = sleep) -> None:
        self.source = "standard input" if source == "-" else source
        self._ends = source != "-" and not follow
        self._read = 0
        following = (self.source, follow and source != "-", wait)  # no line refers to self: files close when it goes
        self._lines = enumerate(_lines(_standard(), *following) if source == "-" else _opened(*following), start=1)
        number, first = next(((number, text) for number, text in self._lines if text.strip()), (1, ""))
        self._mark = next((mark for mark in ("\t", ";", ",") if mark in first), ",")
        self.header = [name.strip() for name in self._cells(number, first)]
        if not any(self.header) or len(set(self.header)) < len(self.header):
            raise TableError(
                f"{self.source}: expected a first line with a name for each column, got {first.strip()[:60]!r}; write "
                "different names with commas between."
            )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with their line numbers."""
        for number, text in self._lines:
            if not text.strip():
                continue
            cells = self._cells(number, text)
            if len(cells) != len(self.header):
                raise TableError(
                    f"{self.source}: expected {len(self.header)} columns as in the header, got {len(cells)} in line "
                    f"{number}; repair that line."
                )
            self._read += 1
            yield number, cells

    def check_size(self, rows: int) -> None:
        """Refuse a file with more rows than the whole list is said to have; nothing can be said of what still comes."""
        if not self._ends:
            return
        found = self._read + sum(1 for _, text in self._lines if text.strip())
        if found > rows:
            raise TableError(
                f"{self.source}: expected at most {rows:,} rows, the size of the whole list as told, got {found:,}; "
                "write its true size, or leave it out if this is the whole list."
            )

    def _cells(self, number: int, text: str) -> list[str]:
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):  # bytes that are no text
            raise TableError(
                f"{self.source}: expected a table as text in UTF-8, got something else in line {number}; export it as "
                "CSV."
            )
        return next(csv.reader([text.rstrip("\r\n")], delimiter=self._mark), [])


class Readable(Generic[Row]):
    """Rows up to the first that cannot be read, whose sentence is kept: what the others say is said before it.

    >>> from tombola.cli.units import Units
    >>> rows = Readable(Units(0, 10).read("t.csv", line, "a", cell) for line, cell in enumerate(["5", "x"], 2))
    >>> list(rows)
    [0.5]
    >>> rows.check()
    Traceback (most recent call last):
    tombola.errors.TableError: t.csv: expected a number from 0 to 10 in line 3, column a, got 'x'; repair it, ...
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.bad: TableError | None = None

    def __iter__(self) -> Iterator[Row]:
        try:
            yield from self._rows
        except TableError as error:
            self.bad = error

    def check(self) -> None:
        """Raise the error of the row that could not be read, if there was one."""
        if self.bad is not None:
            raise self.bad


def _standard() -> TextIO:
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return sys.stdin


def _opened(source: str, follow: bool, wait: Callable[[float], None]) -> Iterator[str]:  # noqa: FBT001 - as it comes
    if not Path(source).is_file():
        raise TableError(f"{source}: expected a file, found none; check the path.")
    with Path(source).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield from _lines(file, source, follow, wait)


def _lines(file: TextIO, source: str, follow: bool, wait: Callable[[float], None]) -> Iterator[str]:  # noqa: FBT001
    rest = ""
    while True:
        piece = file.readline(LONGEST)
        if not piece and not follow:
            if rest:
                yield rest
            return
        rest += piece
        if len(rest) >= LONGEST:
            raise TableError(f"{source}: expected lines of less than {LONGEST:,} characters; check the file.")
        if rest.endswith("\n"):
            yield rest
            rest = ""
        elif not piece:
            wait(PAUSE)


def in_disorder(source: str, name: str, verdict: "OrderVerdict") -> OrderError:
    """Return the error for rows that are not in random order."""
    return OrderError(
        f"{source}: expected rows in random order, got others: {name} shows it by row {verdict.values:,} (by probability "
        f"with probability {verdict.p_value:.2g} at most); take them from a shuffled list, or leave out --rows if the "
        "table is the whole list, and it will be shuffled."
    )
