"""Work lists as text, in every format."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.readers.cells import read_row_list
from tombola.readers.formats.delimited import text_encoding


def test_row_list_ids(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def ids(name: str, content: bytes | str, column: str | None = None) -> list[str]:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read_row_list(tmp_path / name, column).ids)

    assert ids("a.csv", "x,id\n1, p \n2,q\n\n") == ["p", "q"]
    assert ids("a.csv", 'name,age\n"Ann, B",3\n', "name") == ["Ann, B"]
    assert ids("a.tsv", "id\tx\np,q\t1\n") == ["p,q"]
    assert ids("a.txt", '\ufeffid\nsay "x\nq\n') == ['say "x', "q"]
    assert ids("a.txt", "p\n\n q \n \n") == ["p", "q"], "blank lines are no rows"
    bad: list[tuple[str, bytes | str]] = [
        ("b.csv", ""), ("b.csv", "id\n"), ("b.csv", "1\n2\n"), ("b.csv", "id,x\n1\n"), ("b.csv", "id,x\n,1\n"),
        ("b.csv", "id,row\n1,2\n"), ("b.csv", b"\x89PNG\r\n\xff\0"), ("b.csv", "id\n" + "x" * (1 << 21)),
        ("b.csv", "id\n\0\n"), ("b.txt", "\n"),
    ]  # fmt: skip
    for name, content in bad:
        with pytest.raises(TableError) as refused:
            ids(name, content)
        one_sentence(refused.value)
    with pytest.raises(TableError, match="call it") as refused:  # its header was taken for a row
        ids("b.txt", "id,x\n1,2\n", "id")
    one_sentence(refused.value)


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


def test_damaged_utf8_is_not_windows_text(tmp_path: Path) -> None:
    """A file with valid UTF-8 before the first invalid byte is damaged, not in another encoding."""
    (tmp_path / "l.csv").write_bytes("id,Stadt\n1,Köln\n2,".encode() + b"\xfc\n")
    assert text_encoding(tmp_path / "l.csv") == "utf-8-sig"
    with pytest.raises(TableError, match="expected a text table in UTF-8"):
        read_row_list(tmp_path / "l.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,x\n1,a\n\n1,b\n", "'1' in lines 2 and 4"),
        ("id,x\n1,a\n,b\n", "an empty cell in line 3"),
        ("age,town\n1,a\n", "--id 'age'"),
        ("customer,user\n1,a\n", "--id 'customer'"),
    ],
)
def test_bad_row_list_names_line_or_option(
    content: str, words: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    (tmp_path / "l.csv").write_text(content)
    with pytest.raises(TableError) as refused:
        read_row_list(tmp_path / "l.csv")
    assert words in one_sentence(refused.value)


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
