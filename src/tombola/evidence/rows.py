"""Rows of a table as they arrive: from a file, a growing file, standard input or memory."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from itertools import chain, compress
from pathlib import Path
from time import sleep
from typing import Any, TextIO

import numpy as np

from tombola._formatting import assignment_text, option_text, plural
from tombola._types import Floats
from tombola.errors import OrderError, ParameterError, RowError, TableError
from tombola.evidence.order_test import RandomOrderTest
from tombola.pool import Pool
from tombola.tables.cells import open_cells, parse_cells
from tombola.tables.columns import MISSING, Columns
from tombola.tables.derived import without_summary_rows
from tombola.tables.formats.delimited import CellTable
from tombola.tables.formats.frames import read_frame
from tombola.tables.input_checks import check_file
from tombola.tables.options import ReadOptions
from tombola.tables.question import Question
from tombola.tables.to_pool import Table, source_name
from tombola.units import Kind

# Probability, at most, that rows in random order are rejected. Small, because a false alarm ends
# the program.
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


def is_stream(table: Any, *, follow: bool = False) -> bool:
    """Return whether rows arrive one by one: standard input ("-"), a growing file, an iterator."""
    return follow or isinstance(table, Iterator) or (isinstance(table, str) and table == "-")


def require_size(owner: str, table: Any, *, follow: bool, has_size: bool) -> None:
    """Raise ParameterError if the table is a stream, and the size of the list is not known."""
    if is_stream(table, follow=follow) and not has_size:
        raise ParameterError(
            f"{owner}: expected the size of the whole list, got none; write "
            f"{assignment_text('rows', '5000')}."
        )


class RowSource:
    """Header and rows of a table, read row by row.

    A file is read like any other table. Standard input ("-") and a growing file are delimited text
    in UTF-8: a line is read once it ends with a line break. TableError without a header of distinct
    names. `notes` are the remarks of the reader. A file or a table in memory is read at once: a
    last row that sums up the others is left out with a note, and `parsed` has the columns; it is
    None for streams and for a file without rows. `rows_left_out` counts rows of the file that are
    not used. `kind` is the direction of a pool or of a `Table`.

    source: a path; "-"; a data frame; an array; a `Pool`; a `Table`; a list of mappings from names
        to cells; or an iterator of such mappings, which is a stream.
    sheet: sheet of an Excel file, or table of an SQLite file.
    follow: whether to wait for new lines at the end of the file, without end.
    ignore_rows: ids of rows of a file to leave out, such as Total.
    wait: sleeps for a number of seconds; replaced in tests.

    >>> source = RowSource([{"a": 0.5, "b": 1}, {"a": 1, "b": 0}])
    >>> source.header, list(source.rows())
    (['a', 'b'], [(1, ['0.5', '1']), (2, ['1', '0'])])
    """

    def __init__(
        self,
        source: Any,
        sheet: str | None = None,
        *,
        follow: bool = False,
        ignore_rows: Sequence[str] = (),
        wait: Callable[[float], None] = sleep,
    ) -> None:
        self._ignore_rows = tuple(ignore_rows)
        self.kind: Kind | None = None
        self.range: tuple[float, float] | None = None
        if isinstance(source, Table):
            self.kind = source.kind
            self.range = source.range
        elif isinstance(source, Pool):
            self.kind = "losses"
        stream = is_stream(source, follow=follow)
        is_text = isinstance(source, str | Path)
        self.source = "standard input" if is_text and str(source) == "-" else source_name(source)
        # The generators do not refer to self: the file is closed when this object is collected.
        if not is_text:
            table = _from_memory(source, self.source)
        elif stream:
            table = _open_stream(str(source), self.source, wait)
        else:
            table = open_cells(Path(source), sheet or None)
        self.header = list(table.names)
        self.notes = table.notes
        self._rows = table.rows
        if not any(self.header) or len(set(self.header)) < len(self.header):
            raise TableError(
                f"{self.source}: expected a first line with a name for each column, got "
                f"{', '.join(self.header)[:60]!r}; write different names with commas between."
            )
        self.parsed: Columns | None = None
        self.rows_left_out = 0
        # Number of valid rows of a file, and the error of the first row that is not; unknown for a
        # stream.
        self._n_rows: int | None = None
        self._error: TableError | None = None
        if not stream:
            self._read_file(table)

    def _read_file(self, table: CellTable) -> None:
        """Read all rows up to the first invalid one."""
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
                self.parsed, mask, notes = without_summary_rows(
                    self.parsed, ReadOptions(ignore_rows=self._ignore_rows)
                )
                self.rows_left_out += int((~mask).sum())
                rows = list(compress(rows, mask))
                self.notes = (*self.notes, *notes)
        self._rows = rows
        self._n_rows = len(rows)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and cells of every row, once; blank lines are skipped."""
        for number, cells in self._rows:
            yield number, list(cells)
        if self._error is not None:
            raise self._error

    def handle_missing(
        self, names: Sequence[str], missing: str, worst: float | None = None, *, may_drop: bool
    ) -> None:
        """Decide what blank cells of these columns mean: "error" asks, "drop" leaves out the row.

        A blank cell of a stream or a sample is an error where it is met, after the result for the
        rows before it, unless `missing` says what it means.

        missing: "error", "drop", or "worst", which counts a blank cell as the number `worst`.
        may_drop: whether the number of the other rows is known, as in a whole list.
        """
        places = [self.header.index(name) for name in names]
        answers: list[tuple[str, Mapping[str, Any]]] = []
        if worst is not None:
            answers.append(("they are failures, which count as the worst", {"missing": "worst"}))
        if may_drop:
            answers.append(("the answer is to be about the other rows", {"missing": "drop"}))
        if missing != "error" and all(options["missing"] != missing for _, options in answers):
            offered = [option_text("missing", options["missing"]) for _, options in answers]
            raise ParameterError(
                f"{self.source}: expected {' or '.join(offered) or 'no ' + option_text('missing')} "
                f"with this question, got {option_text('missing', missing)}; leave it out, or fill "
                "in the cells."
            )
        if missing == "error" and not may_drop:
            return
        if missing == "error":
            self._ask_about_missing(places, answers)
        else:
            text = f"{worst:.17g}" if missing == "worst" else None
            if isinstance(self._rows, list):
                before = len(self._rows)
                count = sum(any(_is_blank(cells[at]) for at in places) for _, cells in self._rows)
                did = "left out" if text is None else "counted as the worst"
                if count:
                    self.notes = (*self.notes, f"{did}: {plural(count, 'row')} with a blank cell")
                self._rows = list(_without_blanks(self._rows, places, text))
                self._n_rows = len(self._rows)
                self.rows_left_out += before - self._n_rows
            else:
                self._rows = _without_blanks(self._rows, places, text)

    def _ask_about_missing(
        self, places: Sequence[int], answers: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> None:
        """Raise QuestionError if a row of a file has a blank cell at one of the places."""
        if not isinstance(self._rows, list):
            return
        blank = [(line, at) for line, row in self._rows for at in places if _is_blank(row[at])]
        if blank and answers:
            line, at = blank[0]
            count = len({line for line, _ in blank})
            raise Question(
                self.source,
                f"expected a number in line {line}, column {self.header[at]!r}, got none, and cells "
                f"are missing in {count} of {plural(len(self._rows), 'row')}",
                ("missing", *dict.fromkeys(self.header[at] for _, at in blank)),
                tuple(answers),
            ).error()

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


def _is_blank(cell: Any) -> bool:
    return str(cell).strip().lower() in MISSING


def _without_blanks(
    rows: Iterable[tuple[int, Sequence[str]]], places: Sequence[int], text: str | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with this text in blank cells at the places; without such rows if it is None."""
    for line, row in rows:
        blank = [at for at in places if _is_blank(row[at])]
        if blank and text is None:
            continue
        cells = list(row)
        for at in blank:
            cells[at] = str(text)
        yield line, cells


def _growing_batches(rows: Iterable[tuple[int, list[str]]]) -> Iterator[Rows]:
    """Yield rows in batches of `_BATCH_SHARE` of the rows before, at least one."""
    n_yielded = 0
    batch: Rows = []
    for row in rows:
        batch.append(row)
        if len(batch) >= n_yielded * _BATCH_SHARE:
            yield batch
            n_yielded += len(batch)
            batch = []
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
        self.source = source
        self._check = check
        self._tested = tested
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

    def test_order(self, values: Floats | list[list[float]]) -> None:
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
            f"shuffled list, or leave out {option_text('rows')} if the table is the whole list: "
            "it is then shuffled."
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

    def raise_error(self, result: object = None) -> None:
        """Raise the error of the first invalid row, if the iteration met one.

        A RowError with the result for the rows before it, if there is a result; else a TableError.
        """
        if self._error is not None:
            raise self._error if result is None else RowError(str(self._error), result)


def _from_memory(source: Any, name: str) -> CellTable:
    """Return a table in memory, or an iterator of mappings, as text."""
    if isinstance(source, Table):
        low, high = source.range
        # Rounding must not move a number beyond the range.
        numbers = np.clip(source.units.number(np.asarray(source.pool.losses, float)), low, high)
        return _from_array(numbers, name, source.pool.actions)
    if isinstance(source, Pool):
        return _from_array(np.asarray(source.losses), name, source.actions)
    if isinstance(source, np.ndarray | list | tuple) and not (
        len(source) and isinstance(source[0], Mapping)
    ):
        return _from_array(np.asarray(source, np.float64), name)
    if isinstance(source, Iterator | list | tuple):
        records = iter(source)
        first: Mapping[str, Any] = next(records, {})
        names = tuple(map(str, first))
        return CellTable(name, names, _record_rows(chain([first], records), names, name))
    columns = read_frame(source, name)
    cells = zip(*(column.labels for column in columns.columns), strict=True)
    return CellTable(name, tuple(column.name for column in columns.columns), enumerate(cells, 1))


def _from_array(array: Floats, name: str, names: Sequence[str] | None = None) -> CellTable:
    table = array.reshape(-1, 1) if array.ndim == 1 else array
    if table.ndim != 2 or table.size == 0:
        raise TableError(
            f"{name}: expected a table of rows and columns, got shape {array.shape}; give one row "
            "at least."
        )
    header = names or [str(place) for place in range(table.shape[1])]
    return CellTable(
        name, tuple(header), enumerate(([*map(str, row)] for row in table.tolist()), 1)
    )


def _record_rows(
    records: Iterable[Mapping[str, Any]], names: Sequence[str], source: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    for number, record in enumerate(records, 1):
        if set(map(str, record)) != set(names):
            raise TableError(
                f"{source}: expected the columns {', '.join(names)} in every row, got "
                f"{', '.join(map(str, record))} in row {number}; repair it."
            )
        cells = {str(name): cell for name, cell in record.items()}
        yield number, tuple("" if cells[name] is None else str(cells[name]) for name in names)


def _open_stream(path: str, source: str, wait: Callable[[float], None]) -> CellTable:
    """Open standard input, "-", or a growing file, as delimited text in UTF-8."""
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
