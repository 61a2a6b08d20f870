"""The fast path of text tables: it reads what the careful parser reads, and nothing else."""

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
)  # fmt: skip
ENDS = st.sampled_from(["\n"] * 20 + ["\r\n"] * 4 + ["\r", "\n\n", "\n \n", "\n,,\n"])
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.integers(0, 5).map(str),
    st.decimals(0, 999, places=3).map(str),
)


@st.composite
def text_files(draw: Any) -> str:
    """Draw a text table, mostly of plain numbers, with a few cells and line ends that are not."""
    share = draw(st.sampled_from([0, 0, 0.02, 0.2]))
    ugly = st.sampled_from(UGLY_CELLS)
    names = [draw(st.sampled_from(["id", "x", "group"])), "a", "b"]
    lines = [",".join(names) + draw(ENDS)]
    for row in range(draw(st.integers(1, 12))):
        is_word = draw(st.booleans())
        cells = [f"row {row}" if is_word else str(row)]
        cells += [
            draw(ugly if draw(st.floats(0, 1)) < share else CELLS) for _ in range(len(names) - 1)
        ]
        lines.append(",".join(cells) + draw(ENDS))
    return "".join(lines)


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


@pytest.mark.parametrize("read_cells", READERS)
def test_fast_path_agrees_with_the_careful_parser(
    read_cells: plain_lines.CellsReader, tmp_path: Path
) -> None:
    """Whatever a file holds, and wherever its blocks end, both readers find the same."""
    path = tmp_path / "t.csv"
    plain = 0

    def counted(*arguments: Any) -> Any:
        nonlocal plain
        columns = parse_plain_block(*arguments)
        plain += columns is not None
        return columns

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(text_files(), st.integers(1, 4), st.integers(4, 200))
    def check(text: str, first_rows: int, block_size: int) -> None:
        path.write_bytes(text.encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "_CHUNK_ROWS", first_rows)
            patch.setattr(delimited, "_BLOCK_BYTES", block_size)
            patch.setattr(delimited, "cells_reader", lambda _: read_cells)
            patch.setattr(delimited, "parse_plain_block", counted)
            fast = content(path)
            patch.setattr(delimited, "_size_of_lines", lambda *_: None)
            assert fast == content(path)

    check()
    assert plain > 100  # otherwise the test compares the careful parser with itself
