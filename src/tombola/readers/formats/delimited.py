"""Delimited text: CSV and TSV with a header, also gzipped, read in pieces and never line by unbounded line."""

import csv
import gzip
import io
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from zlib import error as zlib_error

import numpy as np

from tombola._types import Floats
from tombola.errors import TableError
from tombola.readers.cells import PLAIN, POINT, pointed
from tombola.readers.columns import CellRef, Column, Columns, check_names, column_of
from tombola.readers.limits import check_memory
from tombola.readers.paths import check_file

LONGEST = 1 << 22  # characters in a line
CHUNK = 4096  # rows converted at a time, unless they are long
CHARACTERS = 1 << 24  # of all cells of these rows

Keep = Callable[[int, str], bool]


class Lines(NamedTuple):
    """A text table as it is written: its header, its rows with their line numbers, and what was decided."""

    header: list[str]
    rows: Iterator[tuple[int, list[str]]]
    notes: list[str]


def read_text(path: Path, keep: Keep, *, decimal: str | None = None) -> Columns:
    """Read a text table; `keep` says which columns are wanted as text too, not only as numbers."""
    header, rows, notes = text_table(path)
    _check_header(path, header, notes)
    growing = [ColumnBuilder(name, keep=keep(index, name)) for index, name in enumerate(header)]
    numbers, blank = array("q"), 0
    while chunk := list(_some(rows, len(header))):
        filled = [(number, row) for number, row in chunk if any(cell and not cell.isspace() for cell in row)]
        numbers.extend(number for number, _ in filled)
        for column, cells in zip(growing, zip(*(row for _, row in filled), strict=True), strict=bool(filled)):
            column.extend(cells)
        check_memory(str(path), 16 * len(numbers) * len(header) + sum(column.size for column in growing))
        blank += len(chunk) - len(filled)
    if blank and len(header) > 1:
        notes = [*notes, f"left out {blank:,} lines without any cell filled"]
    if not numbers:
        raise TableError(
            f"{path}: expected a header and at least one row, got {int(bool(header))} lines; "
            "write a line with the names of the actions and a line for each row."
        )
    columns = [column.column() for column in growing]
    return Columns(str(path), columns, np.array(numbers, dtype=np.int64), tuple(notes), decimal)


def _some(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the next few rows: so few that they take little memory, however wide or long they are."""
    size = 0
    for number, row in islice(rows, CHUNK):
        yield number, row
        size += 8 * width + sum(map(len, row))
        if size > CHARACTERS:
            return


def text_table(path: Path) -> Lines:
    """Return the header and the rows of a text table; rows are read one by one, and must be as wide as the header."""
    lines = text_lines(path)
    above, first, notes = _first_line(lines)
    mark, more = _delimiter(path, first)
    if first.lower().startswith("sep=") and len(first.strip()) == 5:
        mark, above, first = first.strip()[4], above + 1, next(lines, "")
    reader = csv.reader(chain([first], lines), delimiter=mark)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise _not_text(path, str(error)) from None
    return Lines(header, _rows(path, reader, len(header), above), [*notes, *more])


def _first_line(lines: Iterator[str]) -> tuple[int, str, list[str]]:
    """Return how many lines stand above the header, the header, and a note on comments; as savetxt writes it, too."""
    comment, count = "", 0
    for above, line in enumerate(lines):
        if line.lstrip().startswith("#") and not line.lstrip("# \t").startswith((",", ";")):
            comment, count = line.lstrip("# \t"), count + 1
        elif line.strip() and not count:
            return above, line, []
        elif line.strip():
            return above, line, [f"left out {count} lines of comments, which begin with #"]
    return 0, comment, []


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, gzipped or not; what is no text, or has a line without end, is refused."""
    check_file(path)
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            binary = gzip.GzipFile(fileobj=raw) if zipped else raw
            encoding = (
                "utf-16" if raw.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
            )  # Excel puts a mark first
            with io.TextIOWrapper(binary, encoding=encoding, newline="") as file:
                yield from _bounded(path, file)
    except UnicodeDecodeError as error:
        raise _not_text(path, f"byte 0x{error.object[error.start]:02x}") from None
    except (EOFError, OSError, zlib_error) as error:
        raise _not_text(path, str(error).rstrip(".")) from None


def _bounded(path: Path, file: io.TextIOWrapper) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if "\0" in line:
            raise _not_text(path, "byte 0x00")
        if len(line) > LONGEST:
            raise TableError(
                f"{path}: expected lines of at most {LONGEST:,} characters, got a longer one at line {number}; "
                "check that the file has line breaks, or save the table as .npy or .parquet."
            )
        yield line


def _not_text(path: Path, what: str) -> TableError:
    return TableError(f"{path}: expected a text table in UTF-8, got something else ({what}); export it as CSV again.")


def _delimiter(path: Path, header: str) -> tuple[str, list[str]]:
    usual = "\t" if ".tsv" in path.suffixes else ","
    if usual in header:
        return usual, []
    other = next((mark for mark in (";", "\t", "|", ",") if mark in header), None)
    named = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
    return (usual, []) if other is None else (other, [f"columns are separated by {named[other]}"])


def _check_header(path: Path, header: list[str], notes: list[str]) -> None:
    check_names(str(path), header)
    if not header or not all(_is_number(name) for name in header):
        return
    if header not in ([str(i) for i in range(len(header))], [str(i + 1) for i in range(len(header))]):
        raise TableError(
            f"{path}: expected the names of the actions in the first line, got numbers only; "
            "add a first line with a name for each column."
        )
    notes.append(f"the first line ({', '.join(header[:6])}{', ...' * (len(header) > 6)}) was taken as names of actions")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(path: Path, reader: Any, width: int, above: int) -> Iterator[tuple[int, list[str]]]:
    try:
        for row in reader:
            if not row or (len(row) == 1 and width > 1 and not row[0].strip()):
                continue
            number = reader.line_num + above
            if len(row) != width:
                hint = " (if that is for decimal commas, put quotes around the cells)" if len(row) == 2 * width else ""
                raise TableError(
                    f"{path}: expected {width} columns as in the header, got {len(row)} in line {number}; "
                    f"repair that line{hint}."
                )
            yield number, row
    except csv.Error as error:
        raise _not_text(path, str(error)) from None


class ColumnBuilder:
    """A column while it is read: numbers without their text, unless the text is wanted too."""

    def __init__(self, name: str, *, keep: bool) -> None:
        self.name = name
        self.numbers = array("d")
        self.texts: list[str] | None = [] if keep else None
        self.size = 0  # of the texts, in bytes
        self.wrong: CellRef | None = None
        self.gap: CellRef | None = None
        self.notations: dict[str, CellRef] = {}

    def extend(self, cells: tuple[str, ...]) -> None:
        if self.texts is not None:
            self.texts.extend(cell.strip() for cell in cells)
            self.size += 50 * len(cells) + sum(map(len, cells))
        try:
            numbers: Floats = np.array([float(cell) for cell in cells])
        except ValueError:
            self._extend_one_by_one(cells)
            return
        if np.isfinite(numbers).all() and not any("_" in cell for cell in cells):
            self.notations.setdefault(PLAIN, CellRef(len(self.numbers), cells[0]))
            if POINT not in self.notations:
                self._notice_points(cells, numbers)
            self.numbers.frombytes(numbers.tobytes())
        else:
            self._extend_one_by_one(cells)

    def _notice_points(self, cells: tuple[str, ...], numbers: Floats) -> None:
        """Note the first number that has a point where thousands may have one; losses below 1 cannot."""
        row = next((row for row in np.flatnonzero(np.abs(numbers) >= 1).tolist() if pointed(cells[row])), None)
        if row is not None:
            self.notations[POINT] = CellRef(len(self.numbers) + row, cells[row].strip())

    def _extend_one_by_one(self, cells: tuple[str, ...]) -> None:
        part = column_of(self.name, cells, start=len(self.numbers))
        self.wrong, self.gap = self.wrong or part.wrong, self.gap or part.gap
        self.notations = {**part.notations, **self.notations}
        self.numbers.frombytes(part.numbers.tobytes())

    def column(self) -> Column:
        numbers = np.frombuffer(self.numbers, dtype=np.float64)
        return Column(self.name, numbers, self.texts, self.wrong, self.gap, self.notations)
