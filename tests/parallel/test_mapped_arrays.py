"""Mapped arrays travel by place: equal bits, few bytes, and another file is refused."""

import re
from pathlib import Path

import cloudpickle
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from conftest import SOURCE
from tombola import Pool
from tombola.errors import ParameterError
from tombola.parallel.mapped_arrays import digest_of, dumps, place_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(1).random((5000, 4)))
    return path


def test_pool_on_a_file_travels_as_its_path(path: Path) -> None:
    pool = Pool(np.load(path, mmap_mode="r"))
    packed = dumps(pool)
    assert len(packed) < 1000
    other = cloudpickle.loads(packed)
    assert np.array_equal(other.losses, pool.losses)
    assert isinstance(other.losses, np.memmap)


def test_parts_of_a_mapped_array(path: Path) -> None:
    table = np.load(path, mmap_mode="r")
    for part in (table[10:20], table[3], table[10:20].view()):
        assert np.array_equal(cloudpickle.loads(dumps(part)), part)
        assert len(dumps(part)) < 1000
    columns = table[:, 1:3]  # not contiguous: sent by value
    assert place_of(columns) is None
    assert np.array_equal(cloudpickle.loads(dumps(columns)), columns)


def test_arrays_in_memory_are_sent_by_value() -> None:
    array = np.arange(1000.0)
    assert np.array_equal(cloudpickle.loads(dumps(array)), array)
    assert len(dumps(array)) > 8000


@pytest.mark.parametrize("change", ["missing", "other number", "cut short"])
def test_another_file_is_refused(path: Path, change: str) -> None:
    packed = dumps(np.load(path, mmap_mode="r"))
    if change == "missing":
        path.unlink()
    elif change == "other number":
        table = np.load(path)
        table[17, 2] += 0.25
        np.save(path, table)
    else:
        path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ParameterError, match="on every worker"):
        cloudpickle.loads(packed)


def test_digest_of_a_large_file_reads_spread_blocks(tmp_path: Path) -> None:
    """40 MB: first, last and inner blocks count."""
    path = tmp_path / "large"
    content = bytearray(40 << 20)
    path.write_bytes(content)
    before = digest_of(path)
    for place in (0, len(content) - 1):
        content[place] = 1
        path.write_bytes(content)
        assert digest_of(path) != before
        content[place] = 0
    path.write_bytes(content)
    assert digest_of(path) == before


def test_conversion_of_the_page_writes_the_numbers_of_a_parquet_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (SOURCE.parent / "docs" / "install.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    losses = np.random.default_rng(3).random((200_000, 2))
    monkeypatch.chdir(tmp_path)
    columns = {"small": losses[:, 0], "row": np.arange(len(losses)), "large": losses[:, 1]}
    parquet.write_table(pyarrow.table(columns), "losses.parquet")
    exec(compile(code, "install.md", "exec"), {})
    table = np.load("losses.npy", mmap_mode="r")
    np.testing.assert_array_equal(table, losses)
    assert len(dumps(Pool(table))) < 1000
