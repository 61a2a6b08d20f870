"""Work lists as text, in every format."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.readers.cells import read_row_list


def ids_of(path: Path, content: bytes | str, column: str | None = None) -> list[str]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_row_list(path, column).ids)


def test_row_list_ids(tmp_path: Path) -> None:
    def ids(name: str, content: str, column: str | None = None) -> list[str]:
        return ids_of(tmp_path / name, content, column)

    assert ids("a.csv", "x,id\n1, p \n2,q\n\n") == ["p", "q"]
    assert ids("a.csv", 'name,age\n"Ann, B",3\n', "name") == ["Ann, B"]
    assert ids("a.tsv", "id\tx\np,q\t1\n") == ["p,q"]
    assert ids("a.txt", '\ufeffid\nsay "x\nq\n') == ['say "x', "q"]
    assert ids("a.txt", "p\n\n q \n \n") == ["p", "q"], "blank lines are no rows"


def test_row_list_keeps_own_columns(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text('phone,customer_id,note\n0049,7,"a, b"\n1e5,8,\n')
    listed = read_row_list(tmp_path / "l.csv")
    assert (listed.id_column, listed.ids) == ("customer_id", ("7", "8"))
    assert listed.columns == ("phone", "customer_id", "note")
    assert listed.cells == (("0049", "7", "a, b"), ("1e5", "8", "")), "cells must not be read as numbers"


def test_row_list_from_excel(tmp_path: Path) -> None:
    book = import_module("openpyxl").Workbook()
    day, hour = datetime(2026, 6, 2), datetime(2026, 6, 2, 9, 30)
    for row in (["Kunde", "ID", "Alter", "Tag"], ["Müller", 17, 40.5, day], ["Noël", 18, None, hour]):
        book.active.append(row)
    book.save(tmp_path / "l.xlsx")
    listed = read_row_list(tmp_path / "l.xlsx")
    assert (listed.id_column, listed.ids) == ("ID", ("17", "18"))
    assert listed.cells == (("Müller", "17", "40.5", "2026-06-02"), ("Noël", "18", "", "2026-06-02 09:30:00"))
    assert read_row_list(tmp_path / "l.xlsx", "kunde").ids == ("Müller", "Noël")


def test_row_list_from_windows_csv(tmp_path: Path) -> None:
    """Excel writes "CSV" with semicolons and in cp1252 where the decimal mark is a comma."""
    (tmp_path / "l.csv").write_bytes("id;Stadt\r\n1;Köln\r\n2;Zürich – 5 €\r\n".encode("cp1252"))
    listed = read_row_list(tmp_path / "l.csv")
    assert listed.cells == (("1", "Köln"), ("2", "Zürich – 5 €"))
    assert listed.delimiter == ";"
    assert any("cp1252" in note for note in listed.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ""), ("id\n", "no rows"), ("1\n2\n", ""), ("id,x\n1\n", ""), ("id,row\n1,2\n", ""), ("id\n\0\n", ""),
        (b"\x89PNG\r\n\xff\0", ""), ("id\n" + "x" * (1 << 21), ""), ("id,x\n1,a\n\n1,b\n", "'1' in lines 2 and 4"),
        ("id,x\n1,a\n,b\n", "an empty cell in line 3"), ("age,town\n1,a\n", "--id 'age'"),
        ("customer,user\n1,a\n", "--id 'customer'"),
        # Valid UTF-8 before the first invalid byte is damage, not another encoding.
        ("id,Stadt\n1,Köln\n2,".encode() + b"\xfc\n", "expected a text table in UTF-8"),
    ],
)  # fmt: skip
def test_bad_row_list_is_rejected(
    content: bytes | str, words: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(TableError) as refused:
        ids_of(tmp_path / "l.csv", content)
    assert words in one_sentence(refused.value)


@pytest.mark.parametrize(("content", "column"), [("\n", None), ("id,x\n1,2\n", "id")])
def test_bad_txt_list_is_rejected(content: str, column: str | None, tmp_path: Path) -> None:
    """A column is not named in a .txt: its header was taken for a row."""
    with pytest.raises(TableError, match="call it" if column else "an id in every line"):
        ids_of(tmp_path / "l.txt", content, column)


def test_ids_by_number_word_and_distinct_values(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("Customer No,Name,Town\n1,Ann,Rome\n2,Bob,Oslo\n")
    assert read_row_list(path).id_column == "Customer No"
    # Of two names for ids, the one that identifies every row.
    path.write_text("Customer No,Invoice No\n1,7\n1,8\n")
    assert read_row_list(path).id_column == "Invoice No"
    path.write_text("Customer No,Invoice No\n1,7\n2,8\n")
    with pytest.raises(TableError, match="one column with the ids"):
        read_row_list(path)


@pytest.mark.parametrize("last", ["average,0.5,0.75", "Total,1.5,2.25", ",1.5,2.25"])
def test_row_list_without_summary_row(tmp_path: Path, last: str) -> None:
    path = tmp_path / "l.csv"
    path.write_text(f"id,a,b\nx,0,1\ny,0.5,0.25\nz,1,1\n{last}\n")
    listed = read_row_list(path)
    assert (listed.ids, len(listed.cells)) == (("x", "y", "z"), 3)
    assert listed.notes[0].startswith("left out line 5, ")
    # Without the values a name is a row.
    path.write_text("id,a,b\nx,0,1\ny,0.5,0.25\nz,1,1\ntotal,1,0\n")
    assert read_row_list(path).ids == ("x", "y", "z", "total")
