"""Bets on a pair towards the last row: the formula by scipy, and an e-process under equal means."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from tombola.racing.rules.pair_bets import _horizon_bet, _isoperimetric, share_of_goal
from tombola.racing.rules.ranks import Ranks

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize("q", [1e-9, 1e-4, 0.02, 0.5, 0.9, 0.999])
def test_isoperimetric_equals_scipy(q: float) -> None:
    assert _isoperimetric(q) == pytest.approx(norm.pdf(norm.ppf(q)), rel=5e-3)
    assert _horizon_bet(q, 1e6) == pytest.approx(norm.pdf(norm.ppf(q)) / q / 1e3, rel=5e-3)


def test_goal_is_beyond_the_threshold() -> None:
    """A bettor that reaches its goal has more than the threshold, also with half of the wealth."""
    for threshold in (20.0, 6000.0):
        assert 1.0 / share_of_goal(threshold, 1.0) > threshold
        assert 1.0 / share_of_goal(threshold) > threshold


def test_mean_wealth_of_equal_means_is_one_at_every_row() -> None:
    """All sequences of 5 independent rows from a law with equal means; a bet that peeks at its row breaks this."""
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.25, 0.75], [0.75, 0.25]])
    totals = np.zeros(5)
    for sample in itertools.product(range(4), repeat=5):
        rule = Ranks(2, 5, math.inf, 1e-6)
        for i, row in enumerate(sample):
            rule.update(rows[row])
            totals[i] += rule.state.wealth.sum(axis=1)[1]
    assert totals / 4**5 == pytest.approx(np.ones(5), abs=1e-9)
