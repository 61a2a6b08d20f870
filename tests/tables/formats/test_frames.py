"""Data frames, Arrow and Parquet files."""

from collections.abc import Callable
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.tables import read_table
from tombola.tables.columns import parse_column
from tombola.tables.formats.frames import read_frame

pa, parquet = (import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
Refused = Callable[..., str]
LOSSES = [[0.5, 1.0], [0.0, 0.25], [0.25, 0.75]]
COLUMNS = {"a": [0.5, 0.0, 0.25], "b": [1.0, 0.25, 0.75]}


def arrow_file(table: Any, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return path


@pytest.mark.parametrize(
    "moments",
    [
        pa.array([1, 2, 3], pa.timestamp("us", tz="Nowhere/Land")),
        pa.array([2**62] * 3, pa.timestamp("s")),
        pa.array([2**30] * 3, pa.date32()),
        pa.array([2**62] * 3, pa.duration("s")),
    ],
    ids=str,
)
def test_dates_out_of_range_are_ignored(moments: Any, tmp_path: Path) -> None:
    path = arrow_file(pa.table({**COLUMNS, "when": moments}), tmp_path / "t.arrow")
    table = read_table(path, kind="losses")
    assert (table.pool.losses.tolist(), table.pool.actions) == (LOSSES, ("a", "b"))
    assert "ignored: when (text)" in table.notes[2]


def test_dates_can_be_ids(tmp_path: Path) -> None:
    days = [date(2026, 1, day) for day in (1, 2, 3)]
    path = arrow_file(pa.table({"id": days, **COLUMNS}), tmp_path / "t.arrow")
    assert read_table(path, kind="losses").pool.ids == ("2026-01-01", "2026-01-02", "2026-01-03")


def test_duplicate_columns_are_rejected(tmp_path: Path, refused: Refused) -> None:
    table = pa.table([pa.array([0.5]), pa.array([0.25])], names=["same", "same"])
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", arrow_file(table, tmp_path / "t.arrow")):
        assert "got 'same' twice" in refused(source)


def test_parquet_page_checksum_is_verified(tmp_path: Path, refused: Refused) -> None:
    table = pa.table({name: np.tile(numbers, 100) for name, numbers in COLUMNS.items()})
    options: Any = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(table, tmp_path / "t.parquet", **options)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    at = content.index(np.array(COLUMNS["b"]).tobytes())
    content[at + 14] ^= 1  # another number in [0, 1]
    (tmp_path / "t.parquet").write_bytes(content)
    refused(tmp_path / "t.parquet")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_frames_equal_their_cells(library: str) -> None:
    """Whole columns are converted at once; the careful parser, cell by cell, finds the same."""
    name = "table" if library == "pyarrow" else "DataFrame"
    make: Any = getattr(import_module(library), name)
    columns: dict[str, list[Any]] = {
        "small": [3, -1, 0],
        "large": [2**53 + 1, 1, 2**62],
        "edge": [2**53, -(2**53), 7],
        "words": ["a", " b ", "NA"],
        "blank": ["a", None, ""],
        "written": ["1", "0.5", "1.234"],
    }
    for column in read_frame(make(columns), "frame").columns:
        careful = parse_column(column.name, columns[column.name], keep_texts=True)
        assert column.numbers.tobytes() == careful.numbers.tobytes()
        assert column.texts is not None
        assert careful.texts is not None
        assert list(column.texts) == list(careful.texts)
        assert column[3:] == careful[3:]
