"""Tables that lie, explode, wait, or are cut: each is read as it was written, or refused in a sentence."""

import gzip
import io
import os
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.errors import TableError
from tombola.plugins.logs import read_logs
from tombola.readers import read_table

pa, parquet, openpyxl = (import_module(name) for name in ("pyarrow", "pyarrow.parquet", "openpyxl"))
Sentence = Callable[[object], str]
LOSSES = [[0.5, 1.0], [0.0, 0.25], [0.25, 0.75]]
COLUMNS = {"a": [0.5, 0.0, 0.25], "b": [1.0, 0.25, 0.75]}


def refused(source: Any, one_sentence: Sentence) -> str:
    with pytest.raises(TableError) as caught:
        read_table(source, kind="losses")
    return one_sentence(caught.value)


# arrays


@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (2, 1)])
def test_an_array_is_as_long_as_its_header_says(shape: tuple[int, int], tmp_path: Path, one_sentence: Sentence) -> None:
    """A header that claims fewer rows than there are would drop the others in silence."""
    np.save(tmp_path / "t.npy", LOSSES)
    content = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(content.replace(b"(3, 2)", str(shape).encode()))
    assert "bytes more" in refused(tmp_path / "t.npy", one_sentence)


def members(path: Path, *found: tuple[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in found:
            packed = io.BytesIO()
            np.save(packed, array)
            archive.writestr(name, packed.getvalue())
    return path


def test_an_archive_has_every_name_once_and_the_same_at_both_places(tmp_path: Path, one_sentence: Sentence) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = members(tmp_path / "twice.npz", ("losses.npy", LOSSES), ("losses.npy", [[0.0, 0.0]]))
    assert "something else" in refused(twice, one_sentence)
    path = members(tmp_path / "t.npz", ("losses.npy", LOSSES), ("actions.npy", ["a", "b"]))
    content = bytearray(path.read_bytes())
    content[content.rindex(b"actions")] += 1  # the list at the end says bctions
    path.write_bytes(content)
    assert "something else" in refused(path, one_sentence)


def test_names_of_an_archive_are_signs_that_exist(tmp_path: Path, one_sentence: Sentence) -> None:
    wrong = np.array(["a", "b"])
    wrong.view(np.uint32)[1] = 0x7FFFFFFF
    for name in ("actions.npy", "ids.npy"):
        path = members(tmp_path / "t.npz", ("losses.npy", LOSSES[:2]), (name, wrong))
        assert "invalid code points" in refused(path, one_sentence)


@pytest.mark.parametrize("text", ['{"id": "\\ud800", "a": 0, "b": 1}', '{"id": "x", "\\udc00": 0, "b": 1}'])
def test_half_of_a_sign_is_no_name(text: str, tmp_path: Path, one_sentence: Sentence) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    assert "valid Unicode" in refused(tmp_path / "t.jsonl", one_sentence)


# Arrow and Parquet


def arrow_file(table: Any, path: Path, *, stream: bool = False, batch: int = 1) -> Path:
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch)
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
def test_moments_that_python_does_not_know_are_set_aside(moments: Any, tmp_path: Path) -> None:
    path = arrow_file(pa.table({**COLUMNS, "when": moments}), tmp_path / "t.arrow")
    table = read_table(path, kind="losses")
    assert (table.pool.losses.tolist(), table.pool.actions) == (LOSSES, ("a", "b"))
    assert "ignored: when (text)" in table.notes[2]


def test_dates_are_still_read_as_they_are(tmp_path: Path) -> None:
    days = [date(2026, 1, day) for day in (1, 2, 3)]
    path = arrow_file(pa.table({"id": days, **COLUMNS}), tmp_path / "t.arrow")
    assert read_table(path, kind="losses").pool.ids == ("2026-01-01", "2026-01-02", "2026-01-03")


def test_columns_of_arrow_that_have_the_same_name_are_named(tmp_path: Path, one_sentence: Sentence) -> None:
    table = pa.table([pa.array([0.5]), pa.array([0.25])], names=["same", "same"])
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", arrow_file(table, tmp_path / "t.arrow")):
        assert "got 'same' twice" in refused(source, one_sentence)


def test_check_sums_of_parquet_pages_are_checked(tmp_path: Path, one_sentence: Sentence) -> None:
    table = pa.table({name: np.tile(numbers, 100) for name, numbers in COLUMNS.items()})
    options: Any = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(table, tmp_path / "t.parquet", **options)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    at = content.index(np.array(COLUMNS["b"]).tobytes())
    content[at + 14] ^= 1  # another number in [0, 1]
    (tmp_path / "t.parquet").write_bytes(content)
    refused(tmp_path / "t.parquet", one_sentence)


# sheets of Excel


def workbook(path: Path, *changes: tuple[bytes, bytes]) -> Path:
    book = openpyxl.Workbook()
    for row in (["id", "a", "b"], ["x", 0.5, 1], ["y", 0, 0.25]):
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for old, new in changes:
        assert old in parts[sheet]
        parts[sheet] = parts[sheet].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize("said", [b"A1", b"A1:B2", b"A1:XFD1048576"])
def test_the_size_that_a_sheet_claims_drops_nothing(said: bytes, tmp_path: Path) -> None:
    """Many programs write a size that is too small; rows and columns beyond it are data all the same."""
    path = workbook(tmp_path / "t.xlsx", (b'dimension ref="A1:C3"', b'dimension ref="%s"' % said))
    pool = read_table(path, kind="losses").pool
    assert (pool.ids, pool.actions, pool.losses.tolist()) == (("x", "y"), ("a", "b"), [[0.5, 1.0], [0.0, 0.25]])


def test_a_sheet_of_a_billion_lines_is_refused(tmp_path: Path, one_sentence: Sentence) -> None:
    path = workbook(tmp_path / "t.xlsx", (b'<row r="3"', b'<row r="1000000000"'))
    assert "1,048,576 lines" in refused(path, one_sentence)


def test_a_part_that_unpacks_to_very_much_of_the_same_is_refused(tmp_path: Path, one_sentence: Sentence) -> None:
    path = workbook(tmp_path / "t.xlsx", (b"<sheetData>", b"<!--" + b" " * 40_000_000 + b"--><sheetData>"))
    assert "BadZipFile" in refused(path, one_sentence)


@pytest.mark.parametrize("place", [8, 10])
def test_sheets_that_zip_cannot_read_are_refused(place: int, tmp_path: Path, one_sentence: Sentence) -> None:
    """A part that is said to be encrypted, or packed in a way that nobody knows."""
    path = workbook(tmp_path / "t.xlsx")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + place] = 99
    path.write_bytes(content)
    refused(path, one_sentence)


def test_check_sums_of_a_sheet_are_checked(tmp_path: Path, one_sentence: Sentence) -> None:
    path = workbook(tmp_path / "t.xlsx")
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"<v>0.5</v>", b"<v>0.6</v>"))
    assert path.read_bytes() != content
    refused(path, one_sentence)


# SQLite


def test_a_name_of_a_table_that_is_no_text_is_refused(tmp_path: Path, one_sentence: Sentence) -> None:
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("CREATE TABLE t (a, b)")
        base.execute("PRAGMA writable_schema = 1")
        base.execute("UPDATE sqlite_master SET name = x'ff'")
    base.close()
    refused(tmp_path / "t.db", one_sentence)


# text and JSON


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tombola.readers.input_checks.memory", lambda: 8_000_000)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json.gz", "[\n" + (" " * 100 + "\n") * 10_000 + "]"),
        ("t.jsonl.gz", '{"a": 0.5, "b": 1}\n' * 100_000),
        ("t.jsonl", "".join(f'{{"a{i}": 0.5, "b{i}": 1}}\n' for i in range(1000))),
        ("t.csv.gz", "id,a,b\n" + "".join(f"{i}{'x' * 10_000},0,1\n" for i in range(900))),
        ("t.csv.gz", ",".join(f"a{i}" for i in range(2000)) + "\n" + ("0," * 2000)[:-1] + "\n"
         + (("0," * 2000)[:-1] + "\n") * 300),
    ],
    ids=["blank lines", "many objects", "other names in every object", "long ids", "wide rows"],
)  # fmt: skip
def test_what_unpacks_to_more_than_memory_is_refused(
    name: str, text: str, tmp_path: Path, one_sentence: Sentence
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert "half of this machine's memory" in refused(tmp_path / name, one_sentence)


def test_long_rows_are_taken_few_at_a_time() -> None:
    from tombola.readers.formats import delimited

    rows = iter([(number, ["x" * 1000] * 1000) for number in range(40)])
    assert len(list(delimited._next_chunk(rows, 1000))) == 1 + delimited.CHUNK_CHARACTERS // 1_008_000
    assert len(list(delimited._next_chunk(iter([(0, ["0"])] * 5000), 1))) == delimited.CHUNK_ROWS


def test_blank_lines_are_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n" + " ,\n" * 10_000)
    notes = read_table(tmp_path / "t.csv", kind="losses").notes
    assert [note for note in notes if "left out" in note] == ["left out 10,000 blank lines"]


# what is no file


def test_pipes_devices_and_links_to_themselves_are_not_waited_for(tmp_path: Path, one_sentence: Sentence) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for path, found in [
        (tmp_path / "pipe.csv", "a named pipe"), (Path("/dev/zero"), "a device"), (tmp_path / "loop.csv", "symbolic"),
        (tmp_path / ("x" * 300 + ".csv"), "too long"), (tmp_path, "a folder"), (tmp_path / "nowhere.csv", "none"),
    ]:  # fmt: skip
        assert f"found {found}" in refused(path, one_sentence).replace("'Too many levels of ", "").replace(
            "'File name ", ""
        )
        with pytest.raises(TableError, match="found") as caught:
            read_logs([path])
        one_sentence(caught.value)


def test_standard_input_that_is_not_there_or_does_not_end_is_refused(
    one_sentence: Sentence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: expected a table, got 'none'" in refused("-", one_sentence)
    monkeypatch.setattr("tombola.readers.input_checks.memory", lambda: 8_000_000)
    with open("/dev/zero") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        assert "half of this machine's memory" in refused("-", one_sentence)


# logs


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.json", '{"results": [{"provider": "x", "score": %s}]}' % ("9" * 400)),
        ("r.json", '{"results": [{"provider": "x", "score": 1, "promptIdx": Infinity}, {"provider": "y"}]}'),
        ("s.jsonl", '{"doc_id": 1, "acc": %s}' % ("9" * 400)),
    ],
)  # fmt: skip
def test_numbers_of_logs_that_are_too_large_are_refused(
    name: str, text: str, tmp_path: Path, one_sentence: Sentence
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match="OverflowError") as caught:
        read_logs([tmp_path / name])
    one_sentence(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.json", '{"results": [{"provider": "\\ud800", "score": 1}]}', "half of a sign"),
        ("l.csv", "candidate,Candidate,row,loss\na,b,x,1\n", "'candidate' twice"),
        ("l.csv", ",".join(["n" * 10_000, "m" * 10_000]) + "\n", "nnn..., mmm"),
        ("l.csv", "", "got none"),
    ],
)
def test_bad_names_of_logs_are_refused(name: str, text: str, said: str, tmp_path: Path, one_sentence: Sentence) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TableError) as caught:
        read_logs([tmp_path / name])
    assert said in one_sentence(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("attributes", "run", "said"),
    [
        ("algorithm algorithm runtime", "a", "'algorithm' twice"),
        ("repetition algorithm runtime", "x" * 200_000, "field"),
    ],
)
def test_bad_runs_of_aslib_are_refused(
    attributes: str, run: str, said: str, tmp_path: Path, one_sentence: Sentence
) -> None:
    names = ["instance_id", *attributes.split(), "runstatus"]
    head = "".join(f"@attribute {name} string\n" for name in names)
    (tmp_path / "algorithm_runs.arff").write_text(f"{head}@data\n{run},1,a,5,ok\n")
    assert said in refused(tmp_path, one_sentence)
