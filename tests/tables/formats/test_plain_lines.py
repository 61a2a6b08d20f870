"""The fast path of text tables: it reads what the careful parser reads, and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tombola.errors import TableError
from tombola.tables.formats import delimited, plain_lines
from tombola.tables.formats.delimited import read_text
from tombola.tables.formats.plain_lines import arrow_cells, parse_plain_block, python_cells
from tombola.tables.options import ReadOptions

READERS = [python_cells, arrow_cells]
# Cells that look like numbers to one parser and not to another, and words of all kinds.
UGLY_CELLS = (
    "", " ", "1", "0", "0.5", "1.234", "12.500", "-1.234", "0.123", "+1", " 0.25", "0.25 ", ".5", "1.", "1e-3",
    "1E5", "1e400", "1e-400", "nan", "NA", "inf", "-Infinity", "1_000", "0x1A", "true", "No", "5%", "TO", ">60 s",
    "row 1", "NaT", "a1", "1d", "é", "٣", "１", "\u00a01", "\u20281", "\x0b1", "\x1c1", "\ufeff1", '"1"', '"0,5"',
    '"a\nb"', '"a""b"', 'a"b', '"a', '""', "'1'", "#1", "9007199254740993", "1,5", "\\", "\x00", "total",
    "1\r", "\r1", '"1"2', '1"',
)  # fmt: skip
ODD_ENDS = ("\r\n", "\r", "\n\n", "\n \n", "\n,,\n", "\n\n\n", "\n#\n", "")
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.integers(0, 5).map(str),
    st.decimals(0, 999, places=3).map(str),
)


@st.composite
def text_files(draw: Any) -> str:
    """Draw a text table, mostly of plain numbers, with one kind of odd cell and of odd line end."""
    odd_cell, odd_end = draw(st.sampled_from(UGLY_CELLS)), draw(st.sampled_from(ODD_ENDS))
    chances = st.integers(0, 9)
    odd_cells, odd_ends = draw(st.sampled_from([0, 1, 3])), draw(st.sampled_from([0, 0, 2, 10]))

    def end() -> str:
        return odd_end if draw(chances) < odd_ends else "\n"

    names = [draw(st.sampled_from(["id", "x", "group"])), "a", "b"]
    is_quoted = draw(st.booleans())
    lines = [",".join(names) + end()]
    for row in range(draw(st.integers(1, 12))):
        word = f"row {row}" if draw(st.booleans()) else str(row)
        cells = [f'"{word}"' if is_quoted else word]
        cells += [odd_cell if draw(chances) < odd_cells else draw(CELLS) for _ in names[1:]]
        lines.append(",".join(cells) + end())
    return "".join(lines)


def odd_files() -> Iterator[str]:
    """Yield tables of plain lines with one odd cell, in each column, or one odd line end."""
    rows = [[f"row {row}", f"0.{row}", f"{row}"] for row in range(8)]
    for cell in UGLY_CELLS:
        for column in range(3):
            odd = [[*row] for row in rows]
            odd[5][column] = cell
            yield "".join(",".join(row) + "\n" for row in [["id", "a", "b"], *odd])
    for end in ODD_ENDS:
        lines = [",".join(row) + ("\n" if at != 5 else end) for at, row in enumerate(rows)]
        yield "id,a,b\n" + "".join(lines)


def content(path: Path) -> Any:
    """Return all that the reader finds in a file, to the bit, or its error."""
    try:
        read = read_text(path, ReadOptions())
    except TableError as error:
        return str(error)
    assert read.lines is not None
    columns = [
        (*column[2:5], column.name, column.numbers.tobytes(), list(column.notations.items()))
        for column in read.columns
    ]
    return columns, read.lines.tolist(), read.notes


def check_agreement(
    path: Path, read_cells: plain_lines.CellsReader, first_rows: int, block_size: int
) -> int:
    """Read a file by both parsers, which must find the same; return the number of plain blocks."""
    plain = 0

    def counted(*arguments: Any) -> Any:
        nonlocal plain
        columns = parse_plain_block(*arguments)
        plain += columns is not None
        return columns

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_CHUNK_ROWS", first_rows)
        patch.setattr(delimited, "_BLOCK_BYTES", block_size)
        patch.setattr(delimited, "cells_reader", lambda _: read_cells)
        patch.setattr(delimited, "parse_plain_block", counted)
        fast = content(path)
        patch.setattr(delimited, "_size_of_lines", lambda *_: None)
        assert fast == content(path)
    return plain


@pytest.mark.parametrize("read_cells", READERS)
def test_fast_path_agrees_on_drawn_files(
    read_cells: plain_lines.CellsReader, tmp_path: Path
) -> None:
    """Whatever a file holds, and wherever its blocks end, both parsers find the same."""
    path = tmp_path / "t.csv"
    plain = 0

    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(text_files(), st.integers(1, 4), st.integers(4, 200))
    def check(text: str, first_rows: int, block_size: int) -> None:
        nonlocal plain
        path.write_bytes(text.encode())
        plain += check_agreement(path, read_cells, first_rows, block_size)

    check()
    assert plain > 100  # otherwise the test compares the careful parser with itself


@pytest.mark.parametrize("read_cells", READERS)
def test_fast_path_agrees_on_every_odd_cell(
    read_cells: plain_lines.CellsReader, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    plain = 0
    for text in odd_files():
        path.write_bytes(text.encode())
        plain += sum(check_agreement(path, read_cells, 2, size) for size in (4, 40))
    assert plain > 500
