"""Rows and columns that sum up the others, beyond the files of `test_corpus`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.cli.app import app
from tombola.tables import read_table
from tombola.tables.columns import Column
from tombola.tables.derived import summary_columns

TOTALS = (
    "id,topic,a,b,size,best\n"
    + "x,law,0,1,3,1\ny,tax,0.5,0.25,5,0.5\nz,law,1,0,4,1\n"
    + ",,1.5,1.25,12,2.5\n"
)


@pytest.fixture
def totals(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TOTALS)
    return path


def test_groups_and_features_lose_the_summary_row(totals: Path) -> None:
    table = read_table(totals, kind="scores", by="topic", features=["size"], ignore=["best"])
    assert (table.strata, np.ravel(np.asarray(table.pool.features)).tolist()) == (
        ("law", "tax", "law"),
        [3, 5, 4],
    )
    assert (table.pool.actions, table.pool.rows) == (("a", "b"), 3)


def test_rank_prints_what_was_left_out(totals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scores", "--ignore", "size,best", "--reading", "recorded"]
    app(["rank", str(totals), *options], standalone_mode=False)
    shown = capsys.readouterr()
    assert "Note: left out line 5, without an id: the sum of the rows above." in shown.out
    assert "Note: not ranked: topic (text)" in shown.err
    app(["rank", str(totals), *options, "--clusters", "topic", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["clusters"] == 2


@pytest.mark.parametrize(
    ("name", "summary", "expected"),
    [
        ("Best", lambda a, b, c: np.fmin(np.fmin(a, b), c), "the smallest"),
        ("Total", lambda a, b, c: np.round(a + b + c, 1), "the sum"),
        ("mean score", lambda a, b, c: np.round((a + b + c) / 3, 2), "the mean"),
        ("argmin", lambda a, b, c: np.argmin([a, b, c], axis=0), "the place of the smallest"),
        ("Best", lambda a, b, c: 1.0 + np.argmax([a, b, c], axis=0), "the place of the largest"),
        ("Best", lambda a, b, c: np.fmax(a, b), ""),
        ("Best", lambda a, b, c: (a > 0.5) * 1.0, ""),
    ],
)
def test_summary_is_recognised_by_name_and_values(name: str, summary: Any, expected: str) -> None:
    """Numbers alone raise a question, but a function of only some columns none."""
    rng = np.random.default_rng(0)
    columns = [Column(name, rng.random(40)) for name in "abc"]
    numbers = np.asarray(summary(*(column.numbers for column in columns)), np.float64)
    ignored, questions = summary_columns([*columns, Column(name, numbers)])
    assert (ignored == {name: f"{expected} of the others in every row"}) == bool(expected)
    assert len(questions) == (not expected)
    ignored, questions = summary_columns([*columns, Column("d", numbers)])
    assert ignored == {}
    assert [question.partition(" of the others")[0] for question in questions.values()] == (
        [f"'d' counts as an action although it is {expected}"] if expected else []
    )


@pytest.mark.parametrize(("name", "rows"), [("mean", 40), ("max", 12)])
def test_candidate_with_the_name_of_a_summary_is_kept(name: str, rows: int) -> None:
    """A function that the name does not state, and few zeros and ones that agree by chance, only raise a question."""
    a, b = (np.random.default_rng(0).integers(0, 2, (2, rows))).astype(float)
    ignored, questions = summary_columns(
        [Column("a", a), Column("b", b), Column(name, np.fmax(a, b))]
    )
    assert (ignored, [*questions]) == ({}, [name])


@pytest.mark.parametrize("edited", [2, 3])
def test_one_other_cell_in_twenty_is_tolerated(edited: int) -> None:
    columns = [Column("a", np.arange(40.0)), Column("b", 60 - np.arange(40.0))]
    largest = np.maximum(columns[0].numbers, columns[1].numbers)
    largest[:edited] += 5
    reasons = {"max": "the largest of the others in 95% of the rows"} if edited == 2 else {}
    assert summary_columns([*columns, Column("max", largest)])[0] == reasons


@pytest.mark.parametrize(
    ("rows", "asks"),
    [
        pytest.param("0.25,0.5\n0.75,0.5\n0.5,1\n1.5,2\n", True, id="sums"),
        pytest.param("0.25,0.5\n0.75,0.5\n1,1\n", False, id="of two rows"),
        pytest.param("0.25,0.5\n0.75,0.5\n0.5,1\n1.5,1\n", False, id="in one column"),
        pytest.param("0,1\n1,0\n0,0\n1,1\n", False, id="within the rows"),
        pytest.param("0,0\n0,0\n0,0\n0,0\n", False, id="zeros"),
    ],
)
def test_sums_without_ids_raise_a_question(tmp_path: Path, rows: str, asks: bool) -> None:
    """Numbers alone do not remove a row."""
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}")
    table = read_table(tmp_path / "t.csv", kind="losses", range=(0, 2))
    question = (
        "line 5, the last, counts as a row although it is the sum of the rows above; "
        "leave it out if it is a total"
    )
    assert (question in table.notes) == asks
    assert table.pool.rows == rows.count("\n")
