"""The fast path of text tables: blocks of plain lines, whose cells are converted all at once.

A block is plain if it cannot be read in two ways: no quotes around delimiters or line breaks, as
many cells in each line as in the header, and in each column of numbers only numbers and empty
cells. Whatever is in doubt is left to the careful parser of `delimited`, which reads every block
alike. pyarrow converts the numbers of large files if it is installed; else Python does.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats
from tombola.tables.columns import (
    AMBIGUOUS_POINT,
    PLAIN,
    CellRef,
    Column,
    has_ambiguous_point,
    parse_text_column,
)

# Delimiters that no number contains; commas are decimal only beside another delimiter.
_DELIMITERS = (",", ";", "\t", "|")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEW_LINE = ord("\n")
_QUOTE = ord('"')


# Bytes of a file from which pyarrow is imported: it converts 20 MB faster by the time that takes.
_MIN_ARROW_SIZE = 20 << 20


class Layout(NamedTuple):
    """The columns of a text table: names, and whether the text of each is kept."""

    names: Sequence[str]
    keeps_text: Sequence[bool]
    delimiter: str


class PlainCells(NamedTuple):
    """A block as columns: texts of those that keep them, numbers of the others (NaN if empty).

    texts_of: reads the texts of columns of numbers, given their places.
    """

    columns: list[Any]
    texts_of: Callable[[Sequence[int]], dict[int, list[str]]]


class _PossibleRows(NamedTuple):
    """Rows of a column of numbers that may be the first with a plain number, or an ambiguous one."""

    plain: Sequence[int] | NDArray[Any]
    ambiguous: Sequence[int] | NDArray[Any]


CellsReader = Callable[[bytes, Layout], PlainCells | None]


def parse_plain_block(
    block: bytes,
    layout: Layout,
    first_row: int,
    known: Sequence[Collection[str]],
    read_cells: CellsReader,
) -> list[Column] | None:
    """Return the columns of whole lines in UTF-8, or None if anything is in doubt.

    first_row: number of rows before the block.
    known: notations of each column in earlier blocks; only the first cell of each is of interest.
    read_cells: `arrow_cells` or `python_cells`.
    """
    if len(layout.names) < 2 or layout.delimiter not in _DELIMITERS:
        return None
    text = _plain_text(block, layout.delimiter)
    if text is None:
        return None
    cells = read_cells(text, layout)
    if cells is None:
        return None
    columns: list[Column] = []
    # Columns of numbers whose texts may have a notation for the first time, with the rows.
    unknown: dict[int, _PossibleRows] = {}
    for place, (name, values) in enumerate(zip(layout.names, cells.columns, strict=True)):
        if layout.keeps_text[place]:
            columns.append(parse_text_column(name, values, first_row, keep_texts=True))
            continue
        numbers: Floats = values
        empty = np.isnan(numbers)
        first_missing = CellRef(first_row + int(np.argmax(empty)), "") if empty.any() else None
        columns.append(Column(name, numbers, None, None, first_missing))
        plain = () if PLAIN in known[place] else np.flatnonzero(~empty)
        may_separate = AMBIGUOUS_POINT not in known[place] and b"." in text
        ambiguous = _rows_with_thousandths(numbers) if may_separate else ()
        if len(plain) or len(ambiguous):
            unknown[place] = _PossibleRows(plain, ambiguous)
    if all(map(_has_blank, columns)):
        return None  # a line may be blank
    if unknown:
        texts = cells.texts_of(list(unknown))
        for place, rows in unknown.items():
            notations = _first_notations(texts[place], rows, first_row)
            columns[place] = columns[place]._replace(notations=notations)
    return columns


def _plain_text(block: bytes, delimiter: str) -> bytes | None:
    """Return the lines without quotes and carriage returns; None if these mean something."""
    if b"\0" in block or block.startswith(_BYTE_ORDER_MARK):
        return None
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            return None
    if b"\r" in block:
        if block.count(b"\r") != block.count(b"\r\n"):
            return None
        block = block.replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    return _unquoted(block, delimiter) if b'"' in block else block


def _unquoted(text: bytes, delimiter: str) -> bytes | None:
    """Return the text without quotes; None unless each pair is around a whole cell, which is plain."""
    codes = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(codes == _QUOTE)
    ends = np.flatnonzero((codes == ord(delimiter)) | (codes == _NEW_LINE))
    if quotes.size % 2:
        return None
    openings = quotes[0::2]
    closings = quotes[1::2]
    # The cell that a quote opens begins after the last delimiter, and ends before the next one.
    next_ends = np.searchsorted(ends, openings)
    starts = np.where(next_ends > 0, ends[next_ends - 1] + 1, 0)
    is_whole = (starts == openings).all() and (ends[next_ends] == closings + 1).all()
    return text.replace(b'"', b"") if is_whole else None


def _rows_with_thousandths(numbers: Floats) -> NDArray[Any]:
    """Return the rows whose number may be written with a point that separates thousands."""
    size = np.abs(numbers)
    rows = np.flatnonzero((size >= 1) & (size < 1000))
    is_possible = np.rint(size[rows] * 1000) / 1000 == size[rows]
    possible: NDArray[Any] = rows[is_possible]
    return possible


def _first_notations(
    texts: Sequence[str], rows: _PossibleRows, first_row: int
) -> dict[str, CellRef]:
    """Return the first number with and without a point that may separate thousands."""
    ambiguous = (row for row in rows.ambiguous if "." in texts[row])
    firsts = {
        AMBIGUOUS_POINT: next((row for row in ambiguous if has_ambiguous_point(texts[row])), None),
        PLAIN: next((row for row in rows.plain if not has_ambiguous_point(texts[row])), None),
    }
    return {
        notation: CellRef(first_row + int(row), texts[row].strip())
        for notation, row in firsts.items()
        if row is not None
    }


def _has_blank(column: Column) -> bool:
    if column.texts is None:
        return column.first_missing is not None
    return not all(column.texts)


def cells_reader(size: int) -> CellsReader:
    """Return the reader of plain cells for a file of `size` bytes: that of pyarrow if it pays."""
    if "pyarrow" not in sys.modules and size < _MIN_ARROW_SIZE:
        return python_cells
    try:
        import_module("pyarrow.csv")
    except ImportError:
        return python_cells
    return arrow_cells


def arrow_cells(text: bytes, layout: Layout) -> PlainCells | None:
    """Return the cells of plain lines, converted by pyarrow; None if it does not accept them."""
    arrow = import_module("pyarrow")
    types = [arrow.string() if keeps_text else arrow.float64() for keeps_text in layout.keeps_text]
    try:
        table = _arrow_table(text, layout, dict(enumerate(types)))
    except arrow.ArrowException:
        return None
    columns: list[Any] = []
    for column, keeps_text in zip(table.columns, layout.keeps_text, strict=True):
        if keeps_text:
            columns.append(column.to_pylist())
            continue
        numbers = np.concatenate([_arrow_numbers(chunk) for chunk in column.chunks])
        # Words such as nan and inf are numbers for pyarrow.
        if np.count_nonzero(~np.isfinite(numbers)) != column.null_count:
            return None
        columns.append(numbers)

    def texts_of(places: Sequence[int]) -> dict[int, list[str]]:
        texts = _arrow_table(text, layout, dict.fromkeys(places, arrow.string()))
        return {place: texts.column(str(place)).to_pylist() for place in places}

    return PlainCells(columns, texts_of)


def _arrow_table(text: bytes, layout: Layout, types: Mapping[int, Any]) -> Any:
    """Return the columns at the places of `types`, as pyarrow reads them."""
    csv = import_module("pyarrow.csv")
    return csv.read_csv(
        import_module("pyarrow").BufferReader(text),
        read_options=csv.ReadOptions(column_names=list(map(str, range(len(layout.names))))),
        parse_options=csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char=False,
            escape_char=False,
            newlines_in_values=False,
            ignore_empty_lines=False,
        ),
        convert_options=csv.ConvertOptions(
            column_types={str(place): arrow_type for place, arrow_type in types.items()},
            include_columns=list(map(str, types)),
            null_values=[""],
            strings_can_be_null=False,
        ),
    )


def _arrow_numbers(chunk: Any) -> Floats:
    """Return the numbers of an Arrow array, NaN where null; `to_numpy` would import pandas."""
    mask, data = chunk.buffers()
    numbers: Floats = np.frombuffer(data, np.float64, len(chunk), 8 * chunk.offset)
    if not chunk.null_count:
        return numbers
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
    return np.where(bits[chunk.offset :][: len(chunk)], numbers, np.nan)


def python_cells(text: bytes, layout: Layout) -> PlainCells | None:
    """Return the cells of plain lines, converted by Python; None if the lines differ in width."""
    width = len(layout.names)
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero((codes == ord(layout.delimiter)) | (codes == _NEW_LINE))
    lines = text.count(b"\n")
    if len(ends) != width * lines or not (codes[ends[width - 1 :: width]] == _NEW_LINE).all():
        return None
    delimiter = layout.delimiter.encode()
    cells = text.replace(b"\n", delimiter).split(delimiter)
    cells.pop()  # after the last line break
    columns: list[Any] = []
    for place, keeps_text in enumerate(layout.keeps_text):
        column = cells[place::width]
        if keeps_text:
            columns.append([cell.decode() for cell in column])
            continue
        numbers = _numbers(column)
        if numbers is None:
            return None
        columns.append(numbers)
    return PlainCells(
        columns,
        lambda places: {place: [cell.decode() for cell in cells[place::width]] for place in places},
    )


def _numbers(cells: Sequence[bytes]) -> Floats | None:
    """Return the numbers of cells, NaN if empty; None if a cell is neither."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
        n_empty = 0
    except ValueError:
        n_empty = cells.count(b"")
        if not n_empty:
            return None
        try:
            numbers = np.fromiter((float(cell or b"nan") for cell in cells), np.float64, len(cells))
        except ValueError:
            return None
    # float() accepts 1_000, which no table means, and words such as nan and inf.
    is_plain = np.count_nonzero(~np.isfinite(numbers)) == n_empty and b"_" not in b"".join(cells)
    return numbers if is_plain else None
