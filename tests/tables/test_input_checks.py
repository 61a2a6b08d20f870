"""Checks of paths and sizes before a table is read."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.tables.formats.logs import read_logs

Refused = Callable[..., str]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tombola.tables.input_checks._machine_memory", lambda: 8_000_000)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json.gz", "[\n" + (" " * 100 + "\n") * 10_000 + "]"),
        ("t.jsonl.gz", '{"a": 0.5, "b": 1}\n' * 100_000),
        ("t.jsonl", "".join(f'{{"a{i}": 0.5, "b{i}": 1}}\n' for i in range(1000))),
        ("t.csv.gz", "id,a,b\n" + "".join(f"{i}{'x' * 10_000},0,1\n" for i in range(900))),
        (
            "t.csv.gz",
            ",".join(f"a{i}" for i in range(2000))
            + "\n"
            + ("0," * 2000)[:-1]
            + "\n"
            + (("0," * 2000)[:-1] + "\n") * 300,
        ),
    ],
    ids=["blank lines", "many objects", "other names in every object", "long ids", "wide rows"],
)
def test_table_larger_than_memory_is_rejected(
    name: str, text: str, tmp_path: Path, refused: Refused
) -> None:
    (tmp_path / name).write_bytes(
        gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    )
    assert "half of this machine's memory" in refused(tmp_path / name)


def test_pipes_and_devices_are_rejected(tmp_path: Path, refused: Refused) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path, found in [
        (tmp_path / "pipe.csv", "a named pipe"),
        (Path("/dev/zero"), "a device"),
        (tmp_path / "loop.csv", "symbolic"),
        (tmp_path / ("x" * 300 + ".csv"), "too long"),
        (tmp_path, "a folder"),
        (tmp_path / "nowhere.csv", "none"),
    ]:
        assert f"found {found}" in refused(path).replace("'Too many levels of ", "").replace(
            "'File name ", ""
        )
        with pytest.raises(TableError, match="found"):
            read_logs([path])
