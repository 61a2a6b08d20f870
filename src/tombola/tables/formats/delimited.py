"""Delimited text: CSV and TSV, also gzipped, read in chunks of bounded size."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from zlib import error as zlib_error

import numpy as np

from tombola._formatting import is_number, join_names, option_text, plural
from tombola._types import Integers
from tombola.errors import TableError
from tombola.tables.columns import (
    CellRef,
    Column,
    Columns,
    check_unique_names,
    parse_text_column,
)
from tombola.tables.formats.plain_lines import Layout, cells_reader, parse_plain_block
from tombola.tables.formats.titles import MAX_TITLE_LINES, header_place, title_note
from tombola.tables.input_checks import check_file, check_memory
from tombola.tables.names import ACTION, WEAK_ACTION, is_group_name, is_id_name, matching
from tombola.tables.options import ReadOptions

# Characters. A longer line is rejected before it fills the memory: the file is not a table.
_MAX_LINE_LENGTH = 1 << 22
# Rows converted at a time, and characters in all their cells: bounds the memory for text.
_CHUNK_ROWS = 4096
_CHUNK_CHARACTERS = 1 << 24
# Excel's encoding of "CSV" in western Europe and America.
_WINDOWS_ENCODING = "cp1252"
# UTF-8, after a byte order mark if there is one.
_UTF_8 = "utf-8-sig"
# Delimiters in the order in which they are tried if the usual one is not in the header, and their
# names in notes.
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
# Lines after the first among which a title or a rule of Markdown is looked for.
_MAX_PEEKED = 12
# Bytes decoded at a time to find the encoding.
_ENCODING_CHUNK = 1 << 20
# Bytes of a block of lines that is converted at once.
_BLOCK_BYTES = 1 << 22


class CellTable(NamedTuple):
    """Table as text: names of columns; line number (from 1) and cells of each row, a list or an iterator."""

    source: str
    names: tuple[str, ...]
    rows: Iterable[tuple[int, Sequence[str]]]
    delimiter: str = ","
    notes: tuple[str, ...] = ()


def read_text(path: Path, options: ReadOptions) -> Columns:
    """Read a CSV or TSV file; text is kept only of possible ids, actions and groups.

    The first rows decide which columns are words. Then blocks of plain lines are converted at once,
    and all others by the careful parser.
    """
    opened, may_be_plain = _open_table(path)
    table = _with_header(opened, options)
    rows = iter(table.rows)
    width = len(table.names)
    parts = _Parts(path, table.names, options)
    parts.add_rows(list(_next_chunk(rows, width)))
    may_be_plain = may_be_plain and parts.last_line > 0
    start = _size_of_lines(path, parts.last_line) if may_be_plain else None
    if start is not None:
        _add_blocks(parts, _blocks(path, start), table.delimiter)
    while start is None and (chunk := list(_next_chunk(rows, width))):
        parts.add_rows(chunk)
    return parts.joined(table.notes, options.decimal)


def text_table(path: Path) -> CellTable:
    """Open a text table; rows are read lazily, and must be as wide as the header.

    Encoding and delimiter are detected. Raises TableError for a file that is not text, also while
    rows are read.
    """
    return _open_table(path)[0]


def _open_table(path: Path) -> tuple[CellTable, bool]:
    """Open a text table; return also whether its lines may be plain cells in UTF-8."""
    encoding = text_encoding(path)
    lines = text_lines(path, encoding)
    above, first, notes = _skip_comments(lines)
    if encoding == _WINDOWS_ENCODING:
        notes.append(
            "not in UTF-8: read as Windows text (cp1252); if names look wrong, save as CSV UTF-8"
        )
    following = [line for _, line in zip(range(_MAX_PEEKED), lines, strict=False)]
    lines = chain(following, lines)
    if _is_markdown(first, following):
        return _markdown_table(path, first, lines, above, notes), False
    usual = "\t" if ".tsv" in path.suffixes else ","
    down, delimiter, titles = _titles(first, following, usual)
    if down:
        first = next(islice(lines, down - 1, None))
        above += down
        notes.append(title_note(above + 1, titles))
    elif usual not in first:
        delimiter = next((mark for mark in _DELIMITERS if mark in first), usual)
    if delimiter != usual:
        notes.append(f"columns are separated by {_DELIMITERS[delimiter]}")
    # Excel accepts a first line such as sep=; which names the delimiter.
    if first.lower().startswith("sep=") and len(first.strip()) == 5:
        delimiter = first.strip()[4]
        above = above + 1
        first = next(lines, "")
    reader = csv.reader(chain([first], lines), delimiter=delimiter)
    try:
        header = tuple(name.strip() for name in next(reader, []))
    except csv.Error as error:
        raise _not_text(path, error) from None
    rows = _rows(path, reader, len(header), above)
    return CellTable(str(path), header, rows, delimiter, tuple(notes)), encoding == _UTF_8


def _titles(first: str, following: Sequence[str], usual: str) -> tuple[int, str, list[list[str]]]:
    """Return the number of lines from the first to the header, the delimiter, and the titles.

    The number is 0 if the first line is the header.
    """
    for delimiter in dict.fromkeys([usual, *_DELIMITERS]):
        texts = [first, *following]
        try:
            lines = [next(csv.reader([text], delimiter=delimiter), []) for text in texts]
        except csv.Error:
            continue
        places = [place for place, line in enumerate(lines) if any(map(str.strip, line))]
        rows = [lines[place] for place in places]
        at = header_place(rows[: MAX_TITLE_LINES + 2])
        if at:
            return places[at], delimiter, rows[:at]
    return 0, usual, []


def _is_markdown(first: str, following: Sequence[str]) -> bool:
    """Return whether a text begins with the header and the rule of a Markdown table."""
    rule = following[0].strip() if following else ""
    return first.strip().startswith("|") and re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", rule) is not None


def _markdown_table(
    path: Path, first: str, lines: Iterator[str], above: int, notes: Sequence[str]
) -> CellTable:
    """Return a Markdown table: bars around and between the cells, a rule below the header."""

    def cells(line: str) -> list[str]:
        inner = line.strip().removeprefix("|").removesuffix("|")
        return [cell.strip() for cell in inner.split("|")]

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        for number, line in enumerate(lines, above + 2):
            if number == above + 2:  # the rule
                continue
            if not line.strip():
                break
            row = cells(line)
            if len(row) != len(header):
                raise TableError(
                    f"{path}: expected {plural(len(header), 'column')} as in the header, got "
                    f"{len(row)} in line {number}; repair that line."
                )
            yield number, row

    header = tuple(cells(first))
    return CellTable(str(path), header, rows(), "|", (*notes, "a Markdown table"))


def text_lines(path: Path, encoding: str = "") -> Iterator[str]:
    """Yield the lines of a text file, gzipped or not, with their line breaks.

    encoding: name of a codec; "" for UTF-16 with a byte order mark, else UTF-8.
    """
    try:
        with _open_bytes(path) as (binary, is_utf16):
            encoding = encoding or ("utf-16" if is_utf16 else _UTF_8)
            with io.TextIOWrapper(binary, encoding=encoding, newline="") as file:
                yield from _bounded_lines(path, file)
    except UnicodeDecodeError as error:
        raise _not_text(path, f"byte 0x{error.object[error.start]:02x}") from None
    except (EOFError, OSError, zlib_error) as error:
        raise _not_text(path, error) from None


def text_encoding(path: Path) -> str:
    """Return the codec of a text table: "utf-8-sig", "utf-16" or "cp1252".

    Excel writes "CSV" in the encoding of Windows, cp1252. It is used only if no character outside
    ASCII is valid UTF-8 up to the first invalid byte: otherwise the file is UTF-8 with a damaged
    place, and is rejected when it is read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    ascii_so_far = True
    try:
        with _open_bytes(path) as (binary, is_utf16):
            if is_utf16:
                return "utf-16"
            while chunk := binary.read(_ENCODING_CHUNK):
                # A byte order mark announces UTF-8, so that an invalid byte is damage.
                if not chunk.isascii() or decoder.getstate()[0]:
                    ascii_so_far = decoder.decode(chunk).isascii() and ascii_so_far
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if ascii_so_far and error.object[: error.start].isascii():
            return _WINDOWS_ENCODING
    except (EOFError, OSError, zlib_error) as error:
        raise _not_text(path, error) from None
    return _UTF_8


@contextmanager
def _open_bytes(path: Path) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file, unpacked if it is gzipped; return also whether it is in UTF-16."""
    check_file(path)
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        # Excel writes "Unicode text" in UTF-16, and a byte order mark before UTF-8.
        is_utf16 = raw.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")
        yield cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if zipped else raw, is_utf16


def _with_header(table: CellTable, options: ReadOptions) -> CellTable:
    """Return the table with checked names; without a header the columns are numbered."""
    header = list(table.names)
    places = [str(place) for place in range(len(table.names) + 1)]
    if options.header is False:
        notes = (*table.notes, "no header: columns are numbered from 0")
        return table._replace(
            names=tuple(places[:-1]), rows=chain([(1, header)], table.rows), notes=notes
        )
    if _has_outer_bars(table):
        raise TableError(
            f"{table.source}: expected a text table, got bars around its cells and no line such as "
            "|---|---| below the header, as in Markdown; add it, or save the table as CSV."
        )
    if sum(map(bool, header)) == 1 < len(header):
        raise TableError(
            f"{table.source}: expected the names of the columns in the first line, got "
            f"{next(filter(None, header))!r} alone, such as a title; delete the lines above the "
            "header."
        )
    numbers = [name for name in header if is_number(name.rstrip("% "))]
    # pandas writes column numbers as names; then they count.
    counting = header in (places[:-1], places[1:])
    if options.header is None and not counting and header and 2 * len(numbers) >= len(header):
        raise TableError(
            f"{table.source}: expected the names of the columns in the first line, got "
            f"{join_names(header)}, which "
            f"looks like data; write {option_text('header', on=False)} if it is data, "
            f"{option_text('header', on=True)} if these are names."
        )
    check_unique_names(table.source, header)
    if counting and header:
        return table._replace(
            notes=(*table.notes, f"the first line ({join_names(header)}) was read as names")
        )
    return table


def _keeps_text(options: ReadOptions, index: int, name: str) -> bool:
    requested = (options.ids, options.action, options.by, *ACTION, *WEAK_ACTION)
    return (
        index == 0
        or name in requested
        or name.lower() in requested
        or is_id_name(name)
        or is_group_name(name)
        or any(matching([name], pattern) for pattern in (*options.features, *options.text))
    )


def _has_outer_bars(table: CellTable) -> bool:
    """Return whether a table has bars around its cells, as in | a | b |."""
    names = table.names
    return table.delimiter == "|" and len(names) > 2 and not names[0] and not names[-1]


def _next_chunk(
    rows: Iterator[tuple[int, Sequence[str]]], width: int
) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the next rows, with a bounded number of characters."""
    size = 0
    for number, row in islice(rows, _CHUNK_ROWS):
        yield number, row
        size += 8 * width + sum(map(len, row))
        if size > _CHUNK_CHARACTERS:
            return


def _skip_comments(lines: Iterator[str]) -> tuple[int, str, list[str]]:
    """Return the number of lines above the header, the header, and a note on comments.

    NumPy's savetxt writes the header itself as a comment, which is used if nothing follows.
    """
    comment = ""
    count = 0
    for above, line in enumerate(lines):
        if line.lstrip().startswith("#") and not line.lstrip("# \t").startswith((",", ";")):
            comment = line.lstrip("# \t")
            count = count + 1
        elif line.strip():
            note = f"left out {plural(count, 'line')} of comments, which begin with #"
            return above, line, [note] if count else []
    return 0, comment, []


def _bounded_lines(path: Path, file: io.TextIOBase, number: int = 0) -> Iterator[str]:
    """Yield the lines of a text, of which the first has `number` before it."""
    while line := file.readline(_MAX_LINE_LENGTH + 1):
        number += 1
        if "\0" in line:
            raise _not_text(path, "byte 0x00")
        if len(line) > _MAX_LINE_LENGTH:
            raise TableError(
                f"{path}: expected lines of at most {_MAX_LINE_LENGTH:,} characters, got a "
                "longer one at "
                f"line {number}; check that the file has line breaks, or save the table as .npy "
                "or .parquet."
            )
        yield line


def _not_text(path: Path, reason: object) -> TableError:
    text = str(reason).rstrip(".")
    return TableError(
        f"{path}: expected a text table in UTF-8, got something else ({text}); export it as CSV "
        "again."
    )


def _rows(path: Path, reader: Any, width: int, above: int) -> Iterator[tuple[int, Sequence[str]]]:
    try:
        for row in reader:
            if not row or (len(row) == 1 and width > 1 and not row[0].strip()):
                continue
            number = reader.line_num + above
            if len(row) != width:
                hint = ""
                if len(row) == 2 * width:
                    hint = " (if that is for decimal commas, put quotes around the cells)"
                elif width == 1:
                    hint = ", or delete the lines above the header, if they are a title"
                raise TableError(
                    f"{path}: expected {plural(width, 'column')} as in the header, got "
                    f"{len(row)} in line {number}; "
                    f"repair that line{hint}."
                )
            yield number, row
    except csv.Error as error:
        raise _not_text(path, error) from None


class _Parts:
    """Collect the columns of a text table, part by part."""

    def __init__(self, path: Path, names: Sequence[str], options: ReadOptions) -> None:
        self.path = path
        self.names = names
        self.keeps_text = [_keeps_text(options, place, name) for place, name in enumerate(names)]
        self.rows = 0
        self.last_line = 0
        # Of each column; only the first cell of each notation is of interest.
        self.notations: list[set[str]] = [set() for _ in names]
        self._columns: list[list[Column]] = [[] for _ in names]
        self._lines: list[Integers] = []
        self._text_size = 0
        self._blank = 0

    def add_rows(self, chunk: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Parse rows, with their line numbers, cell by cell; leave out blank ones."""
        filled = [
            (number, row)
            for number, row in chunk
            if any(cell and not cell.isspace() for cell in row)
        ]
        self._blank += len(chunk) - len(filled)
        self.last_line = chunk[-1][0] if chunk else self.last_line
        if not filled:
            return
        columns = []
        for place, cells in enumerate(zip(*(row for _, row in filled), strict=True)):
            name = self.names[place]
            keep_texts = self.keeps_text[place]
            column = parse_text_column(name, cells, self.rows, keep_texts=keep_texts)
            # Words may be ids or groups; a column that begins with numbers is one of numbers.
            if column.first_invalid is not None and not keep_texts and not self.rows:
                self.keeps_text[place] = True
                column = parse_text_column(name, cells, self.rows, keep_texts=True)
            columns.append(column)
        self._add(columns, np.array([number for number, _ in filled], np.int64))

    def add_columns(self, columns: Sequence[Column]) -> None:
        """Add the columns of consecutive lines, each of which is a row."""
        rows = len(columns[0].numbers)
        self._add(columns, np.arange(self.last_line + 1, self.last_line + rows + 1))
        self.last_line += rows

    def joined(self, notes: Sequence[str], decimal: str | None) -> Columns:
        """Return the table; TableError if it has no rows."""
        if not self.rows:
            lines = plural(int(bool(self.names)), "line")
            raise TableError(
                f"{self.path}: expected a header and at least one row, got {lines}; write names "
                "and numbers."
            )
        if self._blank and len(self.names) > 1:
            notes = (*notes, f"left out {plural(self._blank, 'blank line')}")
        columns = []
        # The parts of a column are given up before the next one is joined.
        self._columns.reverse()
        while self._columns:
            columns.append(_joined(self._columns.pop()))
        lines_of_rows = np.concatenate(self._lines)
        return Columns(str(self.path), columns, lines_of_rows, tuple(notes), decimal)

    def _add(self, columns: Sequence[Column], lines: Integers) -> None:
        for parts, notations, column in zip(self._columns, self.notations, columns, strict=True):
            parts.append(column)
            notations.update(column.notations)
            if column.texts is not None:
                # 50 bytes is the overhead of a Python string.
                self._text_size += 50 * len(column.texts) + sum(map(len, column.texts))
        self._lines.append(lines)
        self.rows += len(lines)
        check_memory(str(self.path), 16 * self.rows * len(self.names) + self._text_size)


def _size_of_lines(path: Path, lines: int) -> int | None:
    """Return the bytes of the first lines of a file; None if one ends without a line feed."""
    size = 0
    with _reading(path) as binary:
        while lines and (piece := binary.read(_ENCODING_CHUNK)):
            # A carriage return at the end is the first half of a line break.
            piece += binary.read(1) if piece.endswith(b"\r") else b""
            count = piece.count(b"\n")
            if count > lines:
                places = np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n"))
                piece = piece[: int(places[lines - 1]) + 1]
            if piece.count(b"\r") != piece.count(b"\r\n"):
                return None
            lines -= min(count, lines)
            size += len(piece)
            if not lines and not piece.endswith(b"\n"):
                # The last of the lines ended within this piece.
                size -= len(piece) - piece.rfind(b"\n") - 1
    return size


def _blocks(path: Path, start: int) -> Iterator[bytes]:
    """Yield blocks of whole lines from a byte on; one is longer only if its line is."""
    with _reading(path) as binary:
        binary.seek(start)
        rest = b""
        while piece := binary.read(_BLOCK_BYTES):
            end = piece.rfind(b"\n") + 1
            if end:
                yield rest + piece[:end]
                rest = piece[end:]
            elif len(rest) > 4 * _MAX_LINE_LENGTH and b"\r" not in rest:
                break  # too long a line in any encoding; it is rejected where it is read
            else:
                rest += piece
        if rest:
            yield rest


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file as bytes, unpacked; errors while it is read become a TableError."""
    try:
        with _open_bytes(path) as (binary, _):
            yield binary
    except (EOFError, OSError, zlib_error) as error:
        raise _not_text(path, error) from None


def _add_blocks(parts: _Parts, blocks: Iterator[bytes], delimiter: str) -> None:
    """Add all blocks to the parts: plain ones at once, others by the careful parser."""
    layout = Layout(parts.names, parts.keeps_text, delimiter)
    read_cells = cells_reader(parts.path.stat().st_size)
    for block in blocks:
        columns = parse_plain_block(block, layout, parts.rows, parts.notations, read_cells)
        if columns is not None:
            parts.add_columns(columns)
        else:
            _add_carefully(parts, chain([block], blocks), delimiter)


def _add_carefully(parts: _Parts, blocks: Iterator[bytes], delimiter: str) -> None:
    """Add the first block, and those after it up to the first that ends with a row."""
    above = parts.last_line
    pulled = 0

    def lines() -> Iterator[str]:
        nonlocal pulled
        for block in blocks:
            try:
                text = io.StringIO(block.decode(), newline="")
            except UnicodeDecodeError as error:
                raise _not_text(parts.path, f"byte 0x{error.object[error.start]:02x}") from None
            block_lines = list(_bounded_lines(parts.path, text, above + pulled))
            pulled += len(block_lines)
            yield from block_lines

    rows = _rows(parts.path, csv.reader(lines(), delimiter=delimiter), len(parts.names), above)
    ends = False
    while not ends:
        chunk: list[tuple[int, Sequence[str]]] = []
        for number, row in _next_chunk(rows, len(parts.names)):
            chunk.append((number, row))
            if number - above == pulled:
                break
        ends = not chunk or chunk[-1][0] - above == pulled
        parts.add_rows(chunk)


def _joined(parts: list[Column]) -> Column:
    """Return the column of consecutive parts."""
    notations: dict[str, CellRef] = {}
    for part in parts:
        notations = {**part.notations, **notations}
    notations = dict(sorted(notations.items(), key=lambda notation: notation[1].row))
    return Column(
        parts[0].name,
        np.concatenate([part.numbers for part in parts]),
        None if parts[0].texts is None else [text for part in parts for text in part.texts or ()],
        next((part.first_invalid for part in parts if part.first_invalid is not None), None),
        next((part.first_missing for part in parts if part.first_missing is not None), None),
        notations,
    )
