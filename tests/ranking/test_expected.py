"""Order by expected answers: wrong claims on equal candidates, blocks of pairs, ugly shapes."""

import math

import numpy as np
import pytest

from tombola.evidence.finished_runs import pass_wealth
from tombola.ranking import expected
from tombola.ranking.expected import order_in_expectation, pair_goal, passes_of


def test_order_agrees_with_single_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.2, 0.35, 0.5, 0.8])
    passes = (rng.random((3, 60, 4)) < p).astype(np.float64)
    before, low, high = order_in_expectation(passes, 0.05)
    direct = np.zeros((4, 4), bool)
    for a in range(4):
        for b in range(4):
            if a != b:
                wealth = pass_wealth(passes[:, :, b] - passes[:, :, a], level=0.05 / 12)
                direct[a, b] = wealth.max() >= pair_goal(4, 0.05)
    assert (direct <= before).all()
    assert before[0, 3]
    assert ((low <= passes.mean(axis=(0, 1))) & (passes.mean(axis=(0, 1)) <= high)).all()
    monkeypatch.setattr(expected, "_BLOCK", 1)
    np.testing.assert_array_equal(order_in_expectation(passes, 0.05)[0], before)


def test_same_candidate_twice_is_rarely_told_apart() -> None:
    """200 tables of 30 rows and 3 runs, level .2: more than 61 have probability below 1e-4."""
    rng = np.random.default_rng(2)
    claims = 0
    for _ in range(200):
        p = rng.beta(0.6, 0.4, (30, 1))
        passes = (rng.random((3, 30, 2)) < p).astype(np.float64)
        claims += bool(order_in_expectation(passes, 0.2)[0].any())
    assert claims <= 61


def test_one_run_and_one_row() -> None:
    assert passes_of(np.array([[[0.0, 1.0]]])).shape == (1, 1, 2)
    before, low, high = order_in_expectation(np.array([[[0.0, 1.0]]]), 0.05)
    assert not before.any()
    assert ((low >= 0.0) & (high <= 1.0)).all()
    uneven = np.array([[[0.0, 1.0]], [[1.0, math.nan]]])
    assert passes_of(uneven).tolist() == [[[0.5, 1.0]]]
