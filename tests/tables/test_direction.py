"""The direction of a table is never guessed: no spelling of scores ranks the worst action first."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tombola._formatting import cli_style
from tombola.errors import (
    FeedbackError,
    ParameterError,
    QuestionError,
    TableError,
    TombolaWarning,
)
from tombola.evidence.audit_statement import parse_statement
from tombola.racing.driver import loss_and_cost
from tombola.tables import read_table
from tombola.tables.names import direction_of, direction_of_file, stated_direction
from tombola.units import Units

# Model "good" has the higher score in every row. Spelling -> table, and the options it needs beside
# the direction.
STATED: dict[str, str] = {
    "0/1 correct": "id,good_correct,bad_correct\n1,1,0\n2,1,1\n3,1,0\n",
    "accuracy": "id,good accuracy,bad accuracy\n1,0.9,0.1\n2,0.8,0.4\n3,0.9,0.2\n",
    "long with score": "id,model,score\n1,good,1\n1,bad,0\n2,good,0.9\n2,bad,0.4\n",
    "reward": "id,reward_good,reward_bad\n1,0.9,0.1\n2,0.8,0.4\n",
}
UNSTATED: dict[str, tuple[str, dict[str, Any]]] = {
    "plain names": ("id,good,bad\n1,1,0\n2,0.9,0.4\n3,0.8,0.3\n", {}),
    "0 to 10": ("id,good,bad\n1,9,3\n2,10,4\n3,8,0\n", {"range": (0, 10)}),
    "percent": ("id,good,bad\n1,90%,30%\n2,100%,40%\n3,80%,0%\n", {}),
    "yes and no": ("id,good,bad\n1,yes,no\n2,yes,no\n3,yes,yes\n", {}),
    "long with points": (
        "id,model,points\n1,good,1\n1,bad,0\n2,good,0.9\n2,bad,0.4\n",
        {"value": "points"},
    ),
}


@pytest.mark.parametrize("spelling", [*STATED, *UNSTATED])
def test_scores_are_never_ranked_upside_down(
    spelling: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    text, more = UNSTATED.get(spelling) or (STATED[spelling], {})
    (tmp_path / "t.csv").write_text(text)
    if spelling in UNSTATED:
        with pytest.raises(TableError) as caught:
            read_table(tmp_path / "t.csv", **more)
        assert "kind='scores' if higher is better, kind='losses' if lower is" in one_sentence(
            caught.value
        )
        more = {**more, "kind": "scores"}
    table = read_table(tmp_path / "t.csv", **more)
    assert table.pool.actions[table.pool.best] == "good"
    assert table.direction.endswith("higher is better")
    assert table.notes[0] == table.direction


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a_loss", "b_loss"], ("losses", "loss")),
        (["a_time", "b_time"], ("losses", "time")),
        (["error a", "cost b"], ("losses", "")),
        (["brier score"], ("losses", "")),
        (["risk_loss"], ("losses", "loss")),
        (["gpt-4.1-accuracy"], ("scores", "accuracy")),
        (["a_f1", "b_f1"], ("scores", "f1")),
        (["a_f1", "b_loss"], (None, "")),
        (["a_f1", "b"], (None, "")),
        (["loss_accuracy"], (None, "")),
    ],
)
def test_direction_of_names(names: list[str], expected: tuple[str | None, str]) -> None:
    assert direction_of(names) == expected


@pytest.mark.parametrize(
    "name",
    [
        "gpt_loss_score",
        "score_error_gpt",
        "gpt failed (score)",
        "score_(lower=better)_gpt",
        "time_score_gpt",
        "price_rating_gpt",
        "time_win_gpt",
        "gpt win loss",
        "gpt_hallucination_score",
        "toxicity_score_gpt",
        "risk score",
        "gpt distance score",
        "1-accuracy",
        "1 - accuracy",
    ],
)
def test_words_of_both_directions_state_none(name: str) -> None:
    """Also words for a bad quantity that is scored: the user is asked."""
    assert (direction_of([name]), direction_of_file(name)) == ((None, ""), None)


def test_arrays_and_contradicting_names_have_no_direction(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="got columns named 0, 1, which can be either"):
        read_table(np.array([[0.0, 1.0]]))
    (tmp_path / "losses.csv").write_text("a_score,b\n0,1\n1,0\n")
    with pytest.raises(TableError, match="got columns named a_score, b, which can be either"):
        read_table(tmp_path / "losses.csv", actions=["a_score", "b"])


@pytest.mark.parametrize(
    ("stem", "first"),
    [
        ("losses", "losses"),
        ("prompts_loss", "losses"),
        ("model-accuracy", "scores"),
        ("rewards", "scores"),
        ("error_analysis", "scores"),
        ("run_time", "scores"),
        ("", "scores"),
    ],
)
def test_name_of_a_file_decides_nothing(stem: str, first: str, tmp_path: Path) -> None:
    """It only puts the likely answer first."""
    path = tmp_path / f"{stem}.csv"
    path.write_text("id,good,bad\nx,1,0\ny,1,1\n")
    with (
        cli_style(["tombola", "rank", "t.csv"]),
        pytest.raises(QuestionError, match="which can be either") as asked,
    ):
        read_table(path)
    commands = [command for _, command in asked.value.answers]
    assert commands[0] == f"tombola rank t.csv --{first}"
    assert sorted(commands) == ["tombola rank t.csv --losses", "tombola rank t.csv --scores"]


@pytest.mark.parametrize("word", ["time", "seconds", "price", "win", "quality", "utility"])
def test_only_unmistakable_words_in_every_column_state_a_direction(word: str) -> None:
    """Words such as time leave a doubt: the time until a failure is better if high."""
    assert stated_direction([f"a_{word}", f"b_{word}"])[0] is None
    assert stated_direction(["a_loss", "b_loss"]) == ("losses", "loss")
    assert stated_direction(["a_accuracy", "b"])[0] is None


def test_kind_against_column_names_warns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,good_accuracy,bad_accuracy\nx,1,0\ny,1,1\n")
    with pytest.warns(
        TombolaWarning, match=r"higher is better \(good_accuracy, bad_accuracy\), but kind='losses'"
    ):
        read_table(tmp_path / "t.csv", kind="losses")
    assert read_table(tmp_path / "t.csv", kind="scores").remarks == ()


@pytest.mark.parametrize(
    ("kind", "cell", "note", "remark"),
    [
        (
            "scores",
            np.nan,
            "2 missing cells as score 0",
            "2 of 4 cells (50 %) are missing and count as score 0: the answ",
        ),
        (
            "losses",
            1.0,
            "1 missing cell as loss 10",
            "1 of 4 cells (25 %) is missing and counts as loss 10: the answer",
        ),
    ],
)
def test_missing_cells_count_as_the_worst_value(
    kind: Any, cell: float, note: str, remark: str
) -> None:
    table = read_table(
        np.array([[8.0, np.nan], [cell, 2.0]]), kind=kind, range=(0, 10), missing="worst"
    )
    assert f"counted {note}" in table.notes
    assert table.remarks[0].startswith(remark)


@pytest.mark.parametrize(
    ("limits", "noted"),
    [((0, 100), True), ((0, 10), True), ((0, 5), False), ((0, 1), False), (None, False)],
)
def test_range_far_wider_than_the_values(limits: Any, noted: bool) -> None:
    table = read_table(np.array([[1.0, 0.0], [0.5, 0.25]]), kind="scores", range=limits)
    assert (
        any("all values lie between 0 and 1, the range is 0 to" in one for one in table.remarks)
        == noted
    )
    assert read_table(np.zeros((2, 2)), kind="scores", range=(0, 100)).remarks == ()


@pytest.mark.parametrize(
    ("values", "suggested"),
    [
        ([0, 4.5], (0, 5)),
        ([2, 9.3], (0, 10)),
        ([12, 31], (0, 100)),
        ([-3, 77], (-3, 77)),
        ([-2, 123.4567891], (-2, 123.457)),
        ([0.24, 300], (0, 300)),
        ([0.24, 287.3], (0, 290)),
        ([150, 150], (0, 150)),
    ],
)
def test_suggested_range_contains_the_data(
    values: list[float], suggested: tuple[float, float]
) -> None:
    table, text = np.array([values, values]), f"range={suggested}"
    with pytest.raises(TableError, match=re.escape(f"such as {text}, or")):
        read_table(table, kind="scores")
    read_table(table, kind="scores", range=suggested)
    with pytest.raises(TableError, match=re.escape(f"kind='scores', {text} if higher is better")):
        read_table(table)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (".65 .4 .2 .1 .3, .5 65 .8 .9 .7", "got 65 in line 3, column 'b': such cells look like percent"),
        ("12 4 20 10, 57 -1 18 9", "got -1 in line 3, column 'b': such cells look like a mark"),
        (".5 .7 .2 .9, .4 -99 -99 .3", "got -99 in line 3, -99 in line 4, column 'b': such cells"),
        # Without a clear sign: 5 is no percentage, 0 and 1 are no shares, -1 is a number like others.
        (".65 .4 .2 .1 .3, .5 5 .8 .9 .7", ""),
        ("0 1 0 1 1, 1 65 0 1 0", ""),
        ("12 4 20 10, 57 -1 -2 9", ""),
        ("12 4 0 10, 57 -1 18 9", ""),
        ("1 1 1 1, 1 -1 1 1", ""),
        ("2 3 -1 -1, -1 5 -1 4", ""),
    ],
)  # fmt: skip
def test_odd_cells_are_named_instead_of_a_range(cells: str, words: str, tmp_path: Path) -> None:
    """A range around cells in percent, or around marks of missing ones, would hide them."""
    a, b = (column.split() for column in cells.split(","))
    lines = [f"q{at},{x},{y}" for at, (x, y) in enumerate(zip(a, b, strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,a,b", *lines]))
    with pytest.raises(TableError) as refused:
        read_table(path, kind="scores", actions=["a", "b"])
    message = str(refused.value)
    assert words in message
    assert ("such as range=" in message) == (not words)
    low = min(map(float, a + b))
    read_table(path, kind="scores", actions=["a", "b"], range=(min(low, 0.0), 100.0))


def test_other_commands_suggest_the_range_of_the_data() -> None:
    with pytest.raises(
        TableError, match=r"give their range \(--range 0,10, or span=\(0, 10\) in Python\)"
    ):
        parse_statement("mean(a) > 0.5").inequalities[0].values({"a": ["0.5", "9", "x"]})
    with pytest.raises(ParameterError, match=r"range of the column \(--range 0,5, or"):
        parse_statement("mean(a) > 4.5")
    call: Any = SimpleNamespace(candidate="a", row="x")
    with pytest.raises(FeedbackError, match=r"a score from 0 to 5, .* or give the true range"):
        loss_and_cost(call, 7.0, Units(0, 5, scores=True))
