"""`plan` on tables with runs: simulated calls draw fresh answers."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola import Pool
from tombola.cli.app import app
from tombola.errors import ParameterError
from tombola.racing import plan

pytestmark = pytest.mark.usefixtures("short_work")


def test_clear_winner_is_found_with_few_calls() -> None:
    rng = np.random.default_rng(1)
    runs = (rng.random((4, 60, 2)) < np.array([0.1, 0.8])).astype(np.float64)
    [found] = plan(
        Pool(runs.mean(axis=0), actions=["a", "b"]), seed=1, shuffles=20, workers=1, runs=runs
    )
    assert found.answers == [(("a",), 20)]
    assert found.wrong == 0.0
    assert found.settings.first_reading == "expected"
    assert found.calls < 60


def test_equal_candidates_stay_open_at_the_calls_of_the_table() -> None:
    """Level .2, 60 races: more than 25 decisions have probability below 1e-4."""
    rng = np.random.default_rng(2)
    half = (rng.random((3, 40, 1)) < 0.5).astype(np.float64)
    runs = np.concatenate([half, half], axis=2)
    runs[2, ::2] = math.nan
    pool = Pool(np.nanmean(runs, axis=0), actions=["a", "b"])
    [found] = plan(pool, seed=1, levels=(0.2,), shuffles=60, workers=1, runs=runs)
    assert found.decided <= 25 / 60
    assert max(outcome.calls for outcome in found.outcomes) <= 80


def test_cost_limits_the_calls() -> None:
    runs = np.tile([0.5, 0.5], (2, 30, 1))
    pool = Pool(runs.mean(axis=0), actions=["a", "b"])
    [found] = plan(pool, seed=1, shuffles=3, workers=1, runs=runs, max_cost=10.0, max_call_cost=1.0)
    assert {outcome.calls for outcome in found.outcomes} == {10}


def test_rows_like_these_are_asked_once_each() -> None:
    """Beyond the list each simulated race draws one run per cell and ends with the rows."""
    rng = np.random.default_rng(4)
    runs = (rng.random((3, 50, 2)) < np.array([0.2, 0.7])).astype(np.float64)
    pool = Pool(runs.mean(axis=0), actions=["a", "b"])
    [found] = plan(pool, seed=1, shuffles=20, runs=runs, reading="beyond")
    assert found.settings.first_reading == "beyond"
    assert max(outcome.calls for outcome in found.outcomes) <= 100
    assert len({outcome.calls for outcome in found.outcomes}) > 1
    assert found.answers[0] == (("a",), 20)
    [sample] = plan(pool, seed=1, shuffles=20, reading="beyond")
    [recorded] = plan(pool, seed=1, shuffles=20)
    assert sample.calls >= recorded.calls, "the gain of the finite list is not used"


@pytest.mark.parametrize("with_runs", [False, True])
def test_readings_that_the_table_does_not_allow(
    with_runs: bool, one_sentence: Callable[[object], str]
) -> None:
    runs = np.zeros((2, 5, 2)) if with_runs else None
    reading: Any = "recorded" if with_runs else "expected"
    with pytest.raises(ParameterError) as refused:
        plan(Pool(np.zeros((5, 2))), seed=1, runs=runs, reading=reading)
    assert "reading='beyond'" in one_sentence(refused.value)


@pytest.mark.parametrize(
    ("reading", "words"),
    [("recorded", "on the answers recorded here"), ("beyond", "for rows like these")],
)
def test_plan_names_its_reading(reading: str, words: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,a_loss,b_loss\n" + "\n".join(f"q{i},0,{i % 2}" for i in range(20)))
    result = CliRunner().invoke(app, ["race", "plan", str(table), "--reading", reading])
    assert result.exit_code == 0, result.output
    assert f"simulated races {words}" in " ".join(result.output.split())
    data = json.loads(
        CliRunner().invoke(app, ["race", "plan", str(table), "--reading", reading, "--json"]).stdout
    )
    assert data["reading"] == reading
