"""`plan` on tables with runs: simulated calls draw fresh answers."""

import math

import numpy as np
import pytest

from tombola import Pool
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
