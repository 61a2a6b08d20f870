"""JSON, SQLite and Excel files."""

import sqlite3
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from tombola.errors import QuestionError
from tombola.tables import read_table

openpyxl = import_module("openpyxl")
Refused = Callable[..., str]
SHEET = "xl/worksheets/sheet1.xml"


def workbook(path: Path, *changes: tuple[bytes, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    book = openpyxl.Workbook()
    for row in (["id", "a", "b"], ["x", 0.5, 1], ["y", 0, 0.25]):
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    for old, new in changes:
        assert old in parts[SHEET]
        parts[SHEET] = parts[SHEET].replace(old, new)
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize("said", [b"A1", b"A1:B2", b"A1:XFD1048576"])
def test_wrong_sheet_dimension_drops_nothing(said: bytes, tmp_path: Path) -> None:
    """Many programs write a size that is too small; rows and columns beyond it are data all the same."""
    path = workbook(tmp_path / "t.xlsx", (b'dimension ref="A1:C3"', b'dimension ref="%s"' % said))
    pool = read_table(path, kind="losses").pool
    assert (pool.ids, pool.actions, pool.losses.tolist()) == (
        ("x", "y"),
        ("a", "b"),
        [[0.5, 1.0], [0.0, 0.25]],
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'<row r="3"', b'<row r="1000000000"', "1,048,576 lines"),
        (b"<sheetData>", b"<!--" + b" " * 40_000_000 + b"--><sheetData>", "BadZipFile"),
    ],
    ids=["too many lines", "a zip bomb"],
)
def test_too_large_workbook_is_rejected(
    old: bytes, new: bytes, reason: str, tmp_path: Path, refused: Refused
) -> None:
    assert reason in refused(workbook(tmp_path / "t.xlsx", (old, new)))


@pytest.mark.parametrize("place", [8, 10])
def test_unreadable_workbook_is_rejected(place: int, tmp_path: Path, refused: Refused) -> None:
    """A part that is said to be encrypted, or packed by an unknown method."""
    path = workbook(tmp_path / "t.xlsx")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + place] = 99
    path.write_bytes(content)
    refused(path)


def test_workbook_checksum_is_verified(tmp_path: Path, refused: Refused) -> None:
    path = workbook(tmp_path / "t.xlsx", method=zipfile.ZIP_STORED)
    content = path.read_bytes()
    assert b"<v>0.5</v>" in content
    path.write_bytes(content.replace(b"<v>0.5</v>", b"<v>0.6</v>"))
    refused(path)


def test_binary_table_name_is_rejected(tmp_path: Path, refused: Refused) -> None:
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("CREATE TABLE t (a, b)")
        base.execute("PRAGMA writable_schema = 1")
        base.execute("UPDATE sqlite_master SET name = x'ff'")
    base.close()
    refused(tmp_path / "t.db")


def test_percent_cells_of_excel_are_text(tmp_path: Path) -> None:
    """A column that Excel shows in percent is asked about beside scores, as it is in a CSV file."""
    book = openpyxl.Workbook()
    for row in (["a", "b", "share"], [7, 3, 0.93], [8, 4, 0.5]):
        book.active.append(row)
    for line in (2, 3):
        book.active.cell(line, 3).number_format = "0%"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(QuestionError, match="in percent, unlike the others"):
        read_table(tmp_path / "t.xlsx", kind="scores", range=(0, 10))
