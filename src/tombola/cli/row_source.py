"""Rows of a table as they arrive: from a file, a growing file or standard input."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, TextIO

from tombola._formatting import plural
from tombola.errors import OrderError, ParameterError, TableError

if TYPE_CHECKING:
    from tombola._types import Floats
    from tombola.readers.columns import Columns
    from tombola.readers.formats.delimited import CellTable

# Probability, at most, that rows in random order are rejected. Small, because a false alarm ends the command.
_FALSE_ALARM = 0.001
# Seconds between two reads of a growing file.
_POLL_INTERVAL = 0.2
# Characters. A longer line is rejected before it fills the memory: the file is not a table.
_MAX_LINE_LENGTH = 1 << 22
# A batch is this share of the rows before it: half a per cent costs few rows and saves most of the work.
_BATCH_SHARE = 1 / 200

# Rows of a text table: line number and cells of each.
Rows = list[tuple[int, list[str]]]
_Row = tuple[int, Sequence[str]]


class RowSource:
    """Header and rows of a table, read row by row.

    A file is read like any other table. Standard input ("-") and a growing file are delimited text in UTF-8: a line is
    read once it ends with a line break. TableError without a header of distinct names. `notes` are the remarks of the
    reader. A file is read at once: a last row that sums up the others is left out with a note, and `parsed` has the
    columns; it is None for streams and for a file without rows.

    sheet: sheet of an Excel file, or table of an SQLite file.
    follow: whether to wait for new lines at the end of the file, without end.
    wait: sleeps for a number of seconds; replaced in tests.
    """

    def __init__(
        self, source: str, sheet: str = "", *, follow: bool = False, wait: Callable[[float], None] = sleep
    ) -> None:
        from tombola.readers.cells import open_cells, parse_cells
        from tombola.readers.derived import without_summary_row

        self.source = "standard input" if source == "-" else source
        self._is_complete = source != "-" and not follow
        self._n_read = 0
        # The generators do not refer to self: the file is closed when this object is collected.
        table = (
            open_cells(Path(source), sheet or None)
            if self._is_complete
            else _open_stream(self.source, wait, is_standard_input=source == "-")
        )
        self.header, self.notes, self._rows = list(table.names), table.notes, table.rows
        if not any(self.header) or len(set(self.header)) < len(self.header):
            raise TableError(
                f"{self.source}: expected a first line with a name for each column, got "
                f"{', '.join(self.header)[:60]!r}; write different names with commas between."
            )
        self.parsed: Columns | None = None
        if self._is_complete:
            rows, error = _rows_and_error(table.rows)
            if rows:
                self.parsed = parse_cells(table._replace(rows=rows))
                # The last row before an invalid one is not the last row of the table.
                if error is None:
                    self.parsed, notes = without_summary_row(self.parsed, None)
                    rows, self.notes = rows[: self.parsed.rows], (*self.notes, *notes)
            self._rows = _chain_error(rows, error)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of every row, once; blank lines are skipped."""
        for number, cells in self._rows:
            self._n_read += 1
            yield number, list(cells)

    def columns(self, batch: Rows) -> dict[str, tuple[str, ...]]:
        """Return the cells of a non-empty batch of rows by column name."""
        return dict(zip(self.header, zip(*(cells for _, cells in batch), strict=True), strict=True))

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise TableError if the header lacks one of the column names."""
        for name in names:
            if name not in self.header:
                raise TableError(
                    f"{self.source}: expected a column {name}, got {', '.join(self.header[:20])}; write one of those."
                )

    def check_size(self, rows: int) -> None:
        """Raise TableError if the whole file has more rows than the list, `rows`."""
        if not self._is_complete:
            return
        count = self._n_read
        with suppress(TableError):  # a row that is not used may be malformed
            for _ in self._rows:
                count += 1
        if count > rows:
            raise TableError(
                f"{self.source}: expected at most {plural(rows, 'row')}, the given size of the whole list, got "
                f"{count:,}; write its true size, or leave it out if this is the whole list."
            )


class _RowValidator:
    """Batches of rows up to the first invalid row, the error of which is kept.

    A command can so print its results for the valid rows before it fails.

    >>> def check(batch):
    ...     for line, cells in batch:
    ...         if cells == ["x"]:
    ...             raise TableError(f"line {line}")
    >>> rows = _RowValidator([[(2, ["5"]), (3, ["6"]), (4, ["x"])]], check)
    >>> list(rows)
    [[(2, ['5']), (3, ['6'])]]
    >>> rows.raise_error()
    Traceback (most recent call last):
    tombola.errors.TableError: line 4
    """

    def __init__(self, batches: Iterable[Rows], check: Callable[[Rows], object]) -> None:
        self._batches, self._check = batches, check
        self.error: TableError | None = None

    def __iter__(self) -> Iterator[Rows]:
        try:
            for batch in self._batches:
                count, error = self._valid_prefix(batch)
                if count:
                    yield batch[:count]
                if error is not None:
                    raise error
        except TableError as error:
            self.error = error

    def raise_error(self) -> None:
        """Raise the error of the invalid row, if there was one."""
        if self.error is not None:
            raise self.error

    def _valid_prefix(self, batch: Rows) -> tuple[int, TableError | None]:
        """Return the number of rows before the first invalid one, and its error."""
        try:
            self._check(batch)
        except TableError as error:
            if len(batch) == 1:
                return 0, error
            half = len(batch) // 2
            count, first = self._valid_prefix(batch[:half])
            if first is None:
                more, first = self._valid_prefix(batch[half:])
                count += more
            return count, first
        return len(batch), None


def _growing_batches(rows: Iterable[tuple[int, list[str]]]) -> Iterator[Rows]:
    """Yield rows in batches of `_BATCH_SHARE` of the rows before, at least one."""
    n_yielded, batch, failure = 0, [], None
    try:
        for row in rows:
            batch.append(row)
            if len(batch) >= n_yielded * _BATCH_SHARE:
                yield batch
                n_yielded, batch = n_yielded + len(batch), []
    except TableError as error:
        failure = error
    if batch:
        yield batch
    if failure is not None:
        raise failure


class Sample:
    """Iterable of batches of rows, in random order, up to the first invalid row.

    If the table holds the whole list, its rows are shuffled; else they are a sample, in the order in which they arrive.
    `population` is the number of rows of the list, `is_partial` whether the table holds only a part of it.

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

        from tombola.confidence import RandomOrderTest

        self.source, self.is_partial, self._tested = source, rows is not None, tested
        self._test = RandomOrderTest(len(tested), _FALSE_ALARM, seed=seed) if tested and self.is_partial else None
        self._valid = _RowValidator(_growing_batches(source.rows()), check)
        self._batches: Iterable[Rows] = self._valid
        self.population = rows or 0
        if rows is None:
            everything = [row for batch in self._valid for row in batch]
            self._valid.raise_error()
            self.population = max(len(everything), 1)
            order = np.random.default_rng(seed).permutation(len(everything))
            self._batches = _growing_batches(everything[index] for index in order)

    def __iter__(self) -> Iterator[Rows]:
        return iter(self._batches)

    def test_order(self, values: "Floats | list[list[float]]") -> None:
        """Test random order of a partial table; OrderError once its rows fail.

        Rows in random order fail with probability at most 0.1 %, however many there are.

        values: of the next rows in their order, in [0, 1], shape (rows, quantities tested).
        """
        if self._test is None or not self._test.extend(values):
            return
        verdict = self._test.verdict()
        raise OrderError(
            f"{self.source.source}: expected rows in random order, got others: {self._tested[verdict.column]} shows it "
            f"by row {verdict.values:,} (p-value {verdict.p_value:.2g}); take them from a shuffled list, or leave out "
            "--rows if the table is the whole list: it is then shuffled."
        )

    def check_row_count(self, command: str, n_rows: int, population: int) -> None:
        """Raise an error if no row was valid, or the table has more rows than the list.

        ParameterError if the table has no row; else TableError. Call it after the iteration.

        command: name of the command, for the message.
        n_rows: number of valid rows read.
        """
        if not n_rows:
            self._valid.raise_error()
            raise ParameterError(f"{command}: expected at least one row, got none in {self.source.source}; add rows.")
        if self._valid.error is None:
            self.source.check_size(population)

    def raise_error(self) -> None:
        """Raise the TableError of the first invalid row, if the iteration met one."""
        self._valid.raise_error()


def _rows_and_error(rows: "Iterable[_Row]") -> "tuple[list[_Row], TableError | None]":
    """Read all rows up to the first invalid one; return them and its error, if any."""
    read = []
    try:
        for row in rows:
            read.append(row)  # noqa: PERF402 - rows before an error are kept
    except TableError as error:
        return read, error
    return read, None


def _chain_error(rows: "Iterable[_Row]", error: TableError | None) -> "Iterator[_Row]":
    yield from rows
    if error is not None:
        raise error


def _open_stream(source: str, wait: Callable[[float], None], *, is_standard_input: bool) -> "CellTable":
    """Open standard input, or a growing file, as delimited text in UTF-8."""
    from tombola.readers.formats.delimited import CellTable

    texts = _lines(_standard_input(), source, wait, follow=False) if is_standard_input else _file(source, wait)
    lines = enumerate(texts, start=1)
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
                f"{source}: expected {plural(width, 'column')} as in the header, got {len(cells)} in line {number}; "
                "repair that line."
            )
        yield number, cells


def _cells(source: str, number: int, text: str, delimiter: str) -> tuple[str, ...]:
    # Undecodable bytes arrive as surrogates.
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise TableError(
            f"{source}: expected a table as text in UTF-8, got something else in line {number}; export it as CSV."
        )
    return tuple(cell.strip() for cell in next(csv.reader([text.rstrip("\r\n")], delimiter=delimiter), []))


def _standard_input() -> TextIO:
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return sys.stdin


def _file(source: str, wait: Callable[[float], None]) -> Iterator[str]:
    from tombola.readers.input_checks import check_file

    check_file(Path(source))
    with Path(source).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield from _lines(file, source, wait, follow=True)


def _lines(file: TextIO, source: str, wait: Callable[[float], None], *, follow: bool) -> Iterator[str]:
    rest = ""
    while True:
        piece = file.readline(_MAX_LINE_LENGTH)
        if not piece and not follow:
            if rest:
                yield rest
            return
        rest += piece
        if len(rest) >= _MAX_LINE_LENGTH:
            raise TableError(f"{source}: expected lines of less than {_MAX_LINE_LENGTH:,} characters; check the file.")
        if rest.endswith("\n"):
            yield rest
            rest = ""
        elif not piece:
            wait(_POLL_INTERVAL)
