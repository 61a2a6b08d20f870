"""Rows as they arrive: growing files, streams, tables in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import Pool, read_table
from tombola.errors import TableError
from tombola.evidence.rows import Rows, RowSource, Sample


def test_row_source_follows_growing_file(tmp_path: Path) -> None:
    path = tmp_path / "growing.csv"
    path.write_text("a,b\n0,1\n0,")
    pieces = iter(["0.5\n", '"1",', "0\n"])

    def write(seconds: float) -> None:
        with path.open("a") as file:
            file.write(next(pieces))

    rows = RowSource(str(path), follow=True, wait=write).rows()
    assert [next(rows) for _ in range(3)] == [(2, ["0", "1"]), (3, ["0", "0.5"]), (4, ["1", "0"])]


@pytest.mark.parametrize("invalid", ["x", "0.5,1"])
def test_invalid_row_after_the_last_one_needed_is_not_met(invalid: str, tmp_path: Path) -> None:
    """A batch may hold rows that a proof does not need; also a check that only fails for a batch is no error."""

    def check(batch: Rows) -> None:
        if len(batch) == 1 and batch[0][1] == ["x"]:
            raise TableError("not a number")
        if len(batch) > 1:
            raise TableError("not alike")

    (tmp_path / "t.csv").write_text("a\n" + "0.5\n" * 202 + f"{invalid}\n0.5\n")
    sample, n_rows = Sample(RowSource(str(tmp_path / "t.csv")), check, 1000, 1), 0
    for batch in sample:
        n_rows += len(batch)
        if n_rows == 202:
            break
    sample.raise_error()
    for batch in sample:
        n_rows += len(batch)
    assert n_rows == 202
    with pytest.raises(TableError):
        sample.raise_error()


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0.1, 1.0], [0.25, 0.0]]),
        Pool([[0.1, 1.0], [0.25, 0.0]], actions=("0", "1")),
        [{"0": 0.1, "1": 1.0}, {"0": 0.25, "1": 0.0}],
        iter([{"0": 0.1, "1": 1.0}, {"0": 0.25, "1": 0.0}]),
    ],
    ids=["array", "pool", "records", "stream"],
)
def test_row_source_reads_tables_in_memory(table: Any) -> None:
    source = RowSource(table)
    assert source.header == ["0", "1"]
    cells = [[float(cell) for cell in row] for _, row in source.rows()]
    assert cells == [[0.1, 1.0], [0.25, 0.0]]


def test_row_source_reads_data_frames_and_tables_in_their_unit(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["x", "y"], "a": [10, 70], "b": [0.3, 100.0]})
    source = RowSource(frame)
    assert [row for _, row in source.rows()] == [["x", "10", "0.3"], ["y", "70", "100"]]
    table = read_table(frame, kind="scores", range=(0, 100))
    source = RowSource(table)
    assert (source.header, source.kind, source.range) == (["a", "b"], "scores", (0.0, 100.0))
    numbers = np.array([[float(cell) for cell in row] for _, row in source.rows()])
    assert numbers == pytest.approx(np.array([[10, 0.3], [70, 100]]))
    assert numbers.max() <= 100


def test_row_source_rejects_records_with_other_columns() -> None:
    with pytest.raises(TableError, match="expected the columns a, b in every row, got a in row 2"):
        list(RowSource(iter([{"a": 1, "b": 2}, {"a": 1}])).rows())
    with pytest.raises(TableError, match="expected a first line with a name"):
        RowSource(iter([]))
    with pytest.raises(TableError, match="got shape"):
        RowSource(np.empty((0, 3)))
