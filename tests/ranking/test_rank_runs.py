"""`rank` on tables with several runs of each row: readings, noise, advice, and what it refuses."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola import rank, read_table
from tombola.cli.app import app
from tombola.errors import ParameterError


def write_runs(path: Path, gaps: dict[str, float], *, rows: int = 60, runs: int = 4) -> Path:
    """Write a long table of 0/1 scores; success probabilities differ between rows."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 0.4, rows)
    lines = ["model,question,run,score"]
    for name, gap in gaps.items():
        for q in range(rows):
            right = rng.random(runs) < min(1.0, p[q] + gap)
            lines += [f"{name},q{q},{run},{int(score)}" for run, score in enumerate(right)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_cli(*words: Any) -> str:
    result = CliRunner().invoke(app, ["rank", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_runs(tmp_path / "runs.csv", {"old": 0.0, "twin": 0.0, "new": 0.3})


def test_runs_are_read_as_expected_and_beyond(table: Path) -> None:
    text = " ".join(run_cli(table, "--scores", "--id", "question").split())
    assert (
        "All rank sets hold in expectation over repeated answers, on these 60 rows, with probability"
        in text
    )
    assert "All rank sets hold for rows like these" in text
    assert "on the answers recorded here" not in text
    assert "recorded" in text
    assert "4 runs of each row: the answer of some candidate changed on" in text
    assert "old and twin are not" in text
    assert "all 4 right" in text


def test_json_has_readings_noise_and_advice(table: Path) -> None:
    data = json.loads(run_cli(table, "--scores", "--id", "question", "--json"))
    assert [reading["reading"] for reading in data["readings"]] == ["expected", "beyond"]
    best = data["readings"][0]["candidates"][0]
    assert (best["candidate"], best["first_rank"], best["last_rank"]) == ("new", 1, 1)
    assert data["runs"]["runs"] == [4, 4]
    assert len(data["runs"]["pass_all"]) == 3
    assert data["advice"]


def test_intervals_of_rows_like_these_are_wider(table: Path) -> None:
    """Runs of one row are one unit there: 240 answers are not 240 rows."""
    ranking = rank(read_table(table, kind="scores", ids="question", runs=True))
    for a in range(3):
        low, high = ranking.interval(a, "expected")
        wide_low, wide_high = ranking.interval(a, "beyond")
        assert wide_high - wide_low > 1.3 * (high - low)


def test_readings_can_be_chosen(table: Path) -> None:
    text = " ".join(run_cli(table, "--scores", "--id", "question", "--reading", "recorded").split())
    assert "on the answers recorded here for these 60 rows, for certain" in text
    assert "in expectation" not in text
    text = run_cli(table, "--scores", "--id", "question", "--reading", "expected", "--run-effects")
    assert "2 to 3" in text or "1 to 3" in text


def test_one_answer_per_row_may_be_read_as_expected() -> None:
    losses = np.tile([0.0, 1.0], (40, 1))
    ranking = rank(losses, kind="losses", reading="expected")
    assert ranking.rank_set("0") == (1, 1)
    assert ranking.noise is None
    assert ranking.advice() == []


def test_unfinished_tables_have_no_expected_reading() -> None:
    losses = np.array([[0.0, 1.0], [math.nan, 1.0]] * 10)
    with pytest.raises(ParameterError, match="an answer of every candidate to every row"):
        rank(losses, kind="losses", reading="expected")
    with pytest.raises(ParameterError, match="rows in order"):
        rank(losses[::2], kind="losses", reading="expected", in_order=True)
    with pytest.raises(ParameterError, match="recorded"):
        rank(losses[::2], kind="losses", reading="this list")  # type: ignore[arg-type]


def test_uneven_runs_and_missing_cells(tmp_path: Path) -> None:
    path = write_runs(tmp_path / "runs.csv", {"old": 0.0, "new": 0.3})
    lines = path.read_text(encoding="utf-8").splitlines()
    # The last run of every second question is missing for both.
    kept = [line for line in lines if not (line.split(",")[2] == "3" and line[5:].count("2,"))]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    data = json.loads(run_cli(path, "--scores", "--id", "question", "--json"))
    assert data["runs"]["runs"][0] < data["runs"]["runs"][1]
    assert data["readings"][0]["reading"] == "expected"


def test_same_agent_twice_is_told_apart_at_most_at_the_level() -> None:
    """100 tables, level .2: more than 37 claims have probability below 1e-4."""
    rng = np.random.default_rng(7)
    claims = 0
    for _ in range(100):
        p = rng.beta(0.6, 0.4, (40, 1))
        losses = (rng.random((40, 2)) < p).astype(np.float64)
        claims += bool(
            rank(losses, kind="losses", reading="expected", level=0.2).reading().before.any()
        )
    assert claims <= 37


def test_describe_prints_what_runs_say(tmp_path: Path) -> None:
    """The share of rows that changed, the noise, pass^k and pass@k, before the next command."""
    path = tmp_path / "runs.csv"
    lines = [
        f"{model},q{row},{run},{int((row + run + place) % 3 > 0)}"
        for place, model in enumerate(("old", "new"))
        for row in range(12)
        for run in range(3)
    ]
    path.write_text("\n".join(["model,question,run,score", *lines]), encoding="utf-8")
    output = " ".join(CliRunner().invoke(app, ["describe", str(path)]).stdout.split())
    assert "the answer of some candidate changed on 12 of 12 rows" in output
    assert "all 3 right" in output
    assert "pass@3" in output
    assert output.index("pass@3") < output.index("tombola rank")
    data = json.loads(CliRunner().invoke(app, ["describe", str(path), "--json"]).stdout)
    assert data["repeats"]["changed_rows"] == 12
    assert [share[0] for share in data["repeats"]["pass_all"]] == [0.0, 0.0]
    assert [share[0] for share in data["repeats"]["pass_any"]] == [1.0, 1.0]
    path.write_text("model,question,score\nold,x,1\nnew,x,0\nold,y,1\nnew,y,0\n", encoding="utf-8")
    assert "pass@" not in CliRunner().invoke(app, ["describe", str(path)]).stdout
