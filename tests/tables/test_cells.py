"""Work lists as text, in every format."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tombola.errors import QuestionError, TableError
from tombola.tables.cells import RowList, read_row_list


def read_list(path: Path, content: bytes | str, column: str | None = None) -> RowList:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_row_list(path, column)


SUMMED = "id,a,b\nx,0,1\ny,0.5,0.25\nz,1,1\n"
# Name of the file, content, named column of ids, and the column and ids that are read.
LISTS: list[tuple[str, str, str | None, str, tuple[str, ...]]] = [
    ("a.csv", "x,id\n1, p \n2,q\n\n", None, "id", ("p", "q")),
    ("a.csv", 'name,age\n"Ann, B",3\n', "name", "name", ("Ann, B",)),
    ("a.tsv", "id\tx\np,q\t1\n", None, "id", ("p,q",)),
    ("a.txt", '\ufeffid\nsay "x\nq\n', None, "id", ('say "x', "q")),
    ("a.txt", "p\n\n q \n \n", None, "id", ("p", "q")),
    ("a.csv", "Customer No,Name,Town\n1,Ann,Rome\n2,Bob,Oslo\n", None, "Customer No", ("1", "2")),
    # Of two names for ids, the one that identifies every row.
    ("a.csv", "Customer No,Invoice No\n1,7\n1,8\n", None, "Invoice No", ("7", "8")),
    ("a.csv", "Name,Kundennr,Ort\nAnn,7,Rom\nBob,8,Rom\n", None, "Kundennr", ("7", "8")),
    # The tickets of a help desk, not those that are handed out.
    ("a.csv", "ticket,customer\nT1,ann\nT2,ann\n", None, "ticket", ("T1", "T2")),
    ("a.csv", "Ticket,customer\nT1,ann\nT2,bob\n", None, "Ticket", ("T1", "T2")),
    ("a.csv", "ticket,customer id\nT1,7\nT2,7\n", None, "ticket", ("T1", "T2")),
    ("a.csv", "ticket,customer id\nT1,7\nT2,8\n", None, "customer id", ("7", "8")),
    ("a.csv", "ticket,row\nT1,7\nT2,8\n", None, "row", ("7", "8")),
    ("a.csv", "ticket,customer,action\n1,ann,x\n2,bob,x\n", None, "customer", ("ann", "bob")),
    # A last row that sums up the others is left out; without the values its name is an id.
    ("a.csv", f"{SUMMED}average,0.5,0.75\n", None, "id", ("x", "y", "z")),
    ("a.csv", f"{SUMMED}Total,1.5,2.25\n", None, "id", ("x", "y", "z")),
    ("a.csv", f"{SUMMED},1.5,2.25\n", None, "id", ("x", "y", "z")),
]


@pytest.mark.parametrize(("name", "content", "column", "found", "ids"), LISTS)
def test_row_list(
    name: str, content: str, column: Any, found: str, ids: tuple[str, ...], tmp_path: Path
) -> None:
    listed = read_list(tmp_path / name, content, column)
    assert (listed.id_column, listed.ids, len(listed.cells)) == (found, ids, len(ids))
    left_out = any(note.startswith("left out line 5, ") for note in listed.notes)
    assert left_out == (content.startswith(SUMMED) and len(ids) == 3)


def test_row_list_keeps_own_columns(tmp_path: Path) -> None:
    listed = read_list(tmp_path / "l.csv", 'phone,customer_id,note\n0049,7,"a, b"\n1e5,8,\n')
    assert (listed.id_column, listed.columns) == ("customer_id", ("phone", "customer_id", "note"))
    assert listed.cells == (("0049", "7", "a, b"), ("1e5", "8", "")), (
        "cells must not be read as numbers"
    )


def test_row_list_from_excel(tmp_path: Path) -> None:
    book = import_module("openpyxl").Workbook()
    day, hour = datetime(2026, 6, 2), datetime(2026, 6, 2, 9, 30)
    for row in (
        ["Kunde", "ID", "Alter", "Tag"],
        ["Müller", 17, 40.5, day],
        ["Noël", 18, None, hour],
    ):
        book.active.append(row)
    book.save(tmp_path / "l.xlsx")
    listed = read_row_list(tmp_path / "l.xlsx")
    assert (listed.id_column, listed.ids) == ("ID", ("17", "18"))
    assert listed.cells == (
        ("Müller", "17", "40.5", "2026-06-02"),
        ("Noël", "18", "", "2026-06-02 09:30:00"),
    )
    assert read_row_list(tmp_path / "l.xlsx", "kunde").ids == ("Müller", "Noël")


def test_row_list_from_windows_csv(tmp_path: Path) -> None:
    """Excel writes "CSV" with semicolons and in cp1252 where the decimal mark is a comma."""
    listed = read_list(
        tmp_path / "l.csv", "id;Stadt\r\n1;Köln\r\n2;Zürich – 5 €\r\n".encode("cp1252")
    )
    assert (listed.cells, listed.delimiter) == ((("1", "Köln"), ("2", "Zürich – 5 €")), ";")
    assert any("cp1252" in note for note in listed.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ""),
        ("id\n", "no rows"),
        ("1\n2\n", ""),
        ("id,x\n1\n", ""),
        ("id,row\n1,2\n", ""),
        ("id\n\0\n", ""),
        (b"\x89PNG\r\n\xff\0", ""),
        ("id\n" + "x" * (1 << 21), ""),
        ("id,x\n1,a\n\n1,b\n", "'1' in lines 2 and 4"),
        ("id,x\n1,a\n,b\n", "an empty cell in line 3"),
        ("age,town\n1,a\n", "--id 'age'"),
        ("ticket,customer\nT1,ann\nT1,ann\n", "'ann' in lines 2 and 3"),
        ("customer,user\n1,a\n", "--id 'customer'"),
        ("Customer No,Invoice No\n1,7\n2,8\n", "one column with the ids"),
        # Valid UTF-8 before the first invalid byte is damage, not another encoding.
        ("id,Stadt\n1,Köln\n2,".encode() + b"\xfc\n", "expected a text table in UTF-8"),
    ],
)
def test_bad_row_list_is_rejected(
    content: bytes | str, words: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TableError) as refused:
        read_list(tmp_path / "l.csv", content)
    assert words in one_sentence(refused.value)


@pytest.mark.parametrize(("content", "column"), [("\n", None), ("id,x\n1,2\n", "id")])
def test_bad_txt_list_is_rejected(content: str, column: str | None, tmp_path: Path) -> None:
    """A column is not named in a .txt: its header was taken for a row."""
    with pytest.raises(TableError, match="call it" if column else "an id in every line"):
        read_list(tmp_path / "l.txt", content, column)


def test_a_total_that_is_no_sum_is_asked_about(tmp_path: Path) -> None:
    """A line called total may be a customer, but nobody should start work on it unasked."""
    path = tmp_path / "l.csv"
    path.write_text(f"{SUMMED}total,1,0\n")
    with pytest.raises(QuestionError, match="one called 'total' in line 5"):
        read_row_list(path)
    assert read_row_list(path, ignore_rows=["total"]).ids == ("x", "y", "z")
    assert read_row_list(path, ignore_rows=["none"]).ids == ("x", "y", "z", "total")


def test_the_answer_about_a_row_without_an_id_can_be_given(tmp_path: Path) -> None:
    """A blank id is no value of an option: such a row is named by its place."""
    rows = "".join(f"c{n},{n % 7},{n % 5}\n" for n in range(12))
    path = tmp_path / "l.csv"
    path.write_text(f"id,a,b\n{rows},999,888\n")
    with pytest.raises(QuestionError, match="one without an id in line 14") as asked:
        read_row_list(path)
    answers = [command for _, command in asked.value.answers]
    assert any("last" in answer for answer in answers)
    assert read_row_list(path, ignore_rows=["last"]).ids == tuple(f"c{n}" for n in range(12))
