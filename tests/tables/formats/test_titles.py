"""Titles above a header, Markdown tables, workbooks with several sheets, formulas, archives that do not fit."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.errors import QuestionError, TableError
from tombola.tables import read_table

openpyxl = pytest.importorskip("openpyxl")

ROWS: tuple[Sequence[Any], ...] = (
    ("id", "gpt", "claude"),
    ("q1", 1, 0),
    ("q2", 0, 1),
    ("q3", 1, 1),
)
LOSSES = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


def _workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    workbook.save(path)
    return path


def _csv(path: Path, *above: str) -> Path:
    lines = [*above, *(",".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "above",
    [
        ["Results of March"],
        ["Results of March", ""],
        ["Results of March,,"],
        ["Results of March,,", "by Ann,,", ",,"],
        ["# a comment", "Results"],
    ],
)
def test_title_above_a_text_table_is_left_out(above: list[str], tmp_path: Path) -> None:
    path = _csv(tmp_path / "t.csv", *above)
    table = read_table(path, kind="scores")
    assert table.pool.losses.tolist() == LOSSES
    assert any("names of the columns are in line" in note for note in table.notes)


def test_title_is_left_out_of_a_large_file(tmp_path: Path) -> None:
    """The rest of a large file is read in blocks; lines keep their numbers."""
    path = tmp_path / "t.csv"
    lines = [f"q{row},{row % 2},1" for row in range(9000)]
    path.write_text("\n".join(["A title", "", "id,gpt,claude", *lines]) + "\n")
    table = read_table(path, kind="scores")
    assert table.pool.rows == 9000
    assert float(table.pool.losses.sum()) == 4500.0
    path.write_text("\n".join(["A title", "", "id,gpt,claude", *lines, "q,x,1"]) + "\n")
    with pytest.raises(TableError, match="line 9004"):
        read_table(path, kind="scores")


@pytest.mark.parametrize(
    "text",
    [
        "Results, March\nid,gpt,claude\nq1,1,0\n",  # two cells may be names
        "gpt\n1\n",
        "id,gpt,claude\nq1,1,0\nq2,0,1\n",
    ],
)
def test_other_first_lines_are_the_header(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    try:
        notes = read_table(path, kind="scores").notes
    except TableError:
        return
    assert not any("are in line" in note for note in notes)


def test_markdown_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.md"
    lines = [f"| {' | '.join(map(str, row))} |" for row in ROWS]
    path.write_text("\n".join([lines[0], "|:---|:---:|---:|", *lines[1:]]) + "\n\nText below.\n")
    assert read_table(path, kind="scores").pool.losses.tolist() == LOSSES
    path.write_text("\n".join([lines[0], "|---|---|---|", *lines[1:], "| q4 | 1 |"]) + "\n")
    with pytest.raises(TableError, match="expected 3 columns as in the header, got 2 in line 6"):
        read_table(path, kind="scores")


def test_title_above_a_sheet_is_left_out(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "t.xlsx", Results=[["Results of March"], ["by Ann"], *ROWS])
    table = read_table(path, kind="scores")
    assert table.pool.losses.tolist() == LOSSES
    assert any("are in line 3; left out 2 lines" in note for note in table.notes)


def test_sheets_are_asked_about(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    path = _workbook(tmp_path / "t.xlsx", Results=[["Title"], *ROWS], Prices=ROWS)
    with pytest.raises(QuestionError) as asked:
        read_table(path, kind="scores")
    assert [text for _, text in asked.value.answers] == ["sheet='Results'", "sheet='Prices'"]
    assert read_table(path, kind="scores", sheet="Results").pool.losses.tolist() == LOSSES
    done = run_python("-m", "tombola", "rank", str(path), "--scores")
    assert done.returncode == 2
    assert f"  tombola rank {path} --scores --sheet Results" in done.stderr.splitlines()


def test_empty_sheets_do_not_count(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "t.xlsx", Sheet1=ROWS, Sheet2=[], Sheet3=[])
    assert read_table(path, kind="scores").pool.losses.tolist() == LOSSES


def test_formulas_without_values_are_named(tmp_path: Path) -> None:
    rows = [ROWS[0], ["q1", 1, "=B2"], ["q2", 0, "=B3"]]
    path = _workbook(tmp_path / "t.xlsx", Results=rows)
    with pytest.raises(TableError, match="formulas whose values are not saved, the first in C2"):
        read_table(path, kind="scores")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"ids": ["a"]}, "array 'ids' must have an entry for each of the 3 rows, got 1"),
        ({"ids": list("abcde")}, "array 'ids' must have an entry for each of the 3 rows, got 5"),
        ({"actions": ["a"]}, "array 'actions' must have an entry for each of the 2 actions, got 1"),
        ({"delays": [1, 2]}, "array 'delays' must have an entry for each of the 3 rows, got 2"),
        ({"costs": [[1.0, 2.0]]}, "array 'costs' must have a cost for each of the 3 rows and 2"),
    ],
)
def test_archive_that_does_not_fit(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, scores=np.array(LOSSES), **arrays)
    with pytest.raises(TableError, match=message):
        read_table(path)


def test_words_on_the_command_line(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,gpt,claude\nq1,ja,nein\nq2,ja,ja\nq3,nein,nein\n")
    done = run_python("-m", "tombola", "rank", str(path), "--scores", "--words", "ja=1,nein=0")
    assert done.returncode == 0, done.stderr
    assert "gpt" in done.stdout


def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"q{row},{name},{row % 2}" for row in range(4) for name in ("Alpha", "alpha", "b")]
    path.write_text("\n".join(["id,model,score", *lines]) + "\n")
    with pytest.raises(QuestionError, match="Alpha and alpha") as asked:
        read_table(path)
    ((_, text),) = asked.value.answers
    assert read_table(path, **eval(f"dict({text})")).pool.k == 3
