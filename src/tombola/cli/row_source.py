"""Rows of a table as they arrive: from a file, a growing file or standard input."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, TextIO

from tombola._formatting import plural
from tombola.errors import OrderError, ParameterError, TableError

if TYPE_CHECKING:
    from tombola._types import Floats
    from tombola.tables.columns import Columns
    from tombola.tables.formats.delimited import CellTable

# Probability, at most, that rows in random order are rejected. Small, because a false alarm ends
# the command.
_FALSE_ALARM = 0.001
# Seconds between two reads of a growing file.
_POLL_INTERVAL = 0.2
# Characters. A longer line is rejected before it fills the memory: the file is not a table.
_MAX_LINE_LENGTH = 1 << 22
# A batch is this share of the rows before it: half a per cent costs few rows and saves most of the
# work.
_BATCH_SHARE = 1 / 200

# Rows of a text table: line number and cells of each.
Rows = list[tuple[int, list[str]]]


class RowSource:
    """Header and rows of a table, read row by row.

    A file is read like any other table. Standard input ("-") and a growing file are delimited text
    in UTF-8: a line is read once it ends with a line break. TableError without a header of distinct
    names. `notes` are the remarks of the reader. A file is read at once: a last row that sums up
    the others is left out with a note, and `parsed` has the columns; it is None for streams and for
    a file without rows.

    sheet: sheet of an Excel file, or table of an SQLite file.
    follow: whether to wait for new lines at the end of the file, without end.
    wait: sleeps for a number of seconds; replaced in tests.
    """

    def __init__(
        self,
        source: str,
        sheet: str = "",
        *,
        follow: bool = False,
        wait: Callable[[float], None] = sleep,
    ) -> None:
        from tombola.tables.cells import open_cells

        self.source = "standard input" if source == "-" else source
        is_stream = source == "-" or follow
        # The generators do not refer to self: the file is closed when this object is collected.
        table = (
            _open_stream(source, self.source, wait)
            if is_stream
            else open_cells(Path(source), sheet or None)
        )
        self.header, self.notes, self._rows = list(table.names), table.notes, table.rows
        if not any(self.header) or len(set(self.header)) < len(self.header):
            raise TableError(
                f"{self.source}: expected a first line with a name for each column, got "
                f"{', '.join(self.header)[:60]!r}; write different names with commas between."
            )
        self.parsed: Columns | None = None
        # Number of valid rows of a file, and the error of the first row that is not; unknown for a
        # stream.
        self._n_rows: int | None = None
        self._error: TableError | None = None
        if not is_stream:
            self._read_file(table)

    def _read_file(self, table: "CellTable") -> None:
        """Read all rows up to the first invalid one."""
        from tombola.tables.cells import parse_cells
        from tombola.tables.derived import without_summary_row

        rows = []
        try:
            for row in table.rows:
                rows.append(row)  # noqa: PERF402 - rows before an error are kept
        except TableError as error:
            self._error = error
        if rows:
            self.parsed = parse_cells(table._replace(rows=rows))
            # The last row before an invalid one is not the last row of the table.
            if self._error is None:
                self.parsed, notes = without_summary_row(self.parsed, None)
                rows, self.notes = rows[: self.parsed.rows], (*self.notes, *notes)
        self._rows, self._n_rows = rows, len(rows)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of every row, once; blank lines are skipped."""
        for number, cells in self._rows:
            yield number, list(cells)
        if self._error is not None:
            raise self._error

    def columns(self, batch: Rows) -> dict[str, tuple[str, ...]]:
        """Return the cells of a non-empty batch of rows by column name."""
        return dict(zip(self.header, zip(*(cells for _, cells in batch), strict=True), strict=True))

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise TableError if the header lacks one of the column names."""
        for name in names:
            if name not in self.header:
                raise TableError(
                    f"{self.source}: expected a column {name}, got "
                    f"{', '.join(self.header[:20])}; write one of those."
                )

    def check_size(self, rows: int) -> None:
        """Raise TableError if the whole file has more rows than the list, `rows`."""
        if self._n_rows is not None and self._n_rows > rows:
            raise TableError(
                f"{self.source}: expected at most {plural(rows, 'row')}, the given size of the "
                "whole list, got "
                f"{self._n_rows:,}; write its true size, or leave it out if this is the whole list."
            )


def _growing_batches(rows: Iterable[tuple[int, list[str]]]) -> Iterator[Rows]:
    """Yield rows in batches of `_BATCH_SHARE` of the rows before, at least one."""
    n_yielded, batch = 0, []
    for row in rows:
        batch.append(row)
        if len(batch) >= n_yielded * _BATCH_SHARE:
            yield batch
            n_yielded, batch = n_yielded + len(batch), []
    if batch:
        yield batch


class Sample:
    """Iterable of batches of rows, in random order, up to the first invalid row.

    If the table holds the whole list, its rows are shuffled; else they are a sample, in the order
    in which they arrive. `population` is the number of rows of the list. The error of an invalid
    row is kept, so that a command can print its results for the rows before it.

    check: raises TableError for a batch with an invalid row.
    rows: number of rows of the whole list; None if the table holds all of it.
    tested: names of the quantities that `test_order` gets of every row; empty for no test.
    """

    def __init__(
        self,
        source: RowSource,
        check: Callable[[Rows], object],
        rows: int | None,
        seed: int,
        tested: Sequence[str] = (),
    ) -> None:
        import numpy as np

        from tombola.evidence import RandomOrderTest

        self.source, self._check, self._tested = source, check, tested
        # Errors of the first invalid row that the iteration met, and of the first one that could
        # not be read.
        self._error: TableError | None = None
        self._reading_error: TableError | None = None
        self._batches = self._valid_batches()
        self._test = None
        if rows is None:
            everything = [row for batch in self._batches for row in batch]
            self.raise_error()
            order = np.random.default_rng(seed).permutation(len(everything))
            self._batches = _growing_batches(everything[index] for index in order)
        elif tested:
            self._test = RandomOrderTest(len(tested), _FALSE_ALARM, seed=seed)
        self.population = max(len(everything), 1) if rows is None else rows

    def __iter__(self) -> Iterator[Rows]:
        return iter(self._batches)

    def _rows_before_error(self) -> Iterator[tuple[int, list[str]]]:
        try:
            yield from self.source.rows()
        except TableError as error:
            self._reading_error = error

    def _valid_batches(self) -> Iterator[Rows]:
        for batch in _growing_batches(self._rows_before_error()):
            count, error = self._valid_prefix(batch)
            if count:
                yield batch[:count]
            # Only now: a command that needs no more rows has not met the invalid one.
            if error is not None:
                self._error = error
                return
        self._error = self._reading_error

    def _valid_prefix(self, batch: Rows) -> tuple[int, TableError | None]:
        """Return the number of rows before the first invalid one, and its error."""
        try:
            self._check(batch)
        except TableError as error:
            if len(batch) == 1:
                return 0, error
            for count, row in enumerate(batch):
                if (first := self._valid_prefix([row])[1]) is not None:
                    return count, first
        return len(batch), None

    def test_order(self, values: "Floats | list[list[float]]") -> None:
        """Test random order of a partial table; OrderError once its rows fail.

        Rows in random order fail with probability at most 0.1 %, however many there are.

        values: of the next rows in their order, in [0, 1], shape (rows, quantities tested).
        """
        if self._test is None or not self._test.extend(values):
            return
        verdict = self._test.verdict()
        raise OrderError(
            f"{self.source.source}: expected rows in random order, got others: "
            f"{self._tested[verdict.column]} shows it "
            f"by row {verdict.values:,} (p-value {verdict.p_value:.2g}); take them from a "
            "shuffled list, or leave out "
            "--rows if the table is the whole list: it is then shuffled."
        )

    def check_row_count(self, command: str, n_rows: int, population: int) -> None:
        """Raise an error if no row was valid, or the table has more rows than the list.

        ParameterError if the table has no row; else TableError. Call it after the iteration.

        command: name of the command, for the message.
        n_rows: number of valid rows read.
        """
        if not n_rows:
            self.raise_error()
            raise ParameterError(
                f"{command}: expected at least one row, got none in {self.source.source}; add rows."
            )
        if self._error is None:
            self.source.check_size(population)

    def raise_error(self) -> None:
        """Raise the TableError of the first invalid row, if the iteration met one."""
        if self._error is not None:
            raise self._error


def _open_stream(path: str, source: str, wait: Callable[[float], None]) -> "CellTable":
    """Open standard input, "-", or a growing file, as delimited text in UTF-8."""
    from tombola.tables.formats.delimited import CellTable

    lines = enumerate(_lines(path, source, wait), start=1)
    number, first = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    delimiter = next((mark for mark in ("\t", ";", ",") if mark in first), ",")
    names = _cells(source, number, first, delimiter)
    return CellTable(source, names, _rows(source, lines, delimiter, len(names)), delimiter)


def _rows(
    source: str, lines: Iterable[tuple[int, str]], delimiter: str, width: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    for number, text in lines:
        if not text.strip():
            continue
        cells = _cells(source, number, text, delimiter)
        if len(cells) != width:
            raise TableError(
                f"{source}: expected {plural(width, 'column')} as in the header, got "
                f"{len(cells)} in line {number}; "
                "repair that line."
            )
        yield number, cells


def _cells(source: str, number: int, text: str, delimiter: str) -> tuple[str, ...]:
    # Undecodable bytes arrive as surrogates.
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise TableError(
            f"{source}: expected a table as text in UTF-8, got something else in line {number}; "
            "export it as CSV."
        )
    return tuple(
        cell.strip() for cell in next(csv.reader([text.rstrip("\r\n")], delimiter=delimiter), [])
    )


def _lines(path: str, source: str, wait: Callable[[float], None]) -> Iterator[str]:
    """Yield the lines of standard input, or of a growing file without end."""
    from tombola.tables.input_checks import check_file

    if path == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(errors="surrogateescape")
        opened: AbstractContextManager[TextIO] = nullcontext(sys.stdin)
    else:
        check_file(Path(path))
        opened = Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")  # noqa: SIM115 - closed below
    with opened as file:
        rest = ""
        while True:
            piece = file.readline(_MAX_LINE_LENGTH)
            if not piece and path == "-":
                if rest:
                    yield rest
                return
            rest += piece
            if len(rest) >= _MAX_LINE_LENGTH:
                raise TableError(
                    f"{source}: expected lines of less than {_MAX_LINE_LENGTH:,} characters; "
                    "check the file."
                )
            if rest.endswith("\n"):
                yield rest
                rest = ""
            elif not piece:
                wait(_POLL_INTERVAL)
