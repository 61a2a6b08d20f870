"""Hardest pools: certain where all pools are computed, measured again where they are searched."""

import numpy as np
import pytest

from tombola import FollowTheLeader
from tombola.errors import ParameterError
from tombola.lab import hardest_pool, random_order, zero_one
from tombola.lab.hard_pools import _regrets
from tombola.learners import Exp3, Hedge, Simulation


def test_computed_pool_is_the_worst_of_all() -> None:
    worst = hardest_pool(Hedge(), 5)
    assert worst.is_worst
    assert worst.error == 0.0
    regrets = [
        random_order(Hedge(), np.repeat(np.eye(2), [ones, 5 - ones], axis=0)) for ones in range(6)
    ]
    assert worst.regret == pytest.approx(max(regrets))


@pytest.mark.usefixtures("plainly")
def test_search_finds_the_pool_that_is_computed() -> None:
    """20 orders of 5 pools, seed 1: the two measurements agree within 5 standard errors."""
    exact = hardest_pool(FollowTheLeader(), 4)
    searched = hardest_pool(FollowTheLeader(), 4, plays=20, seed=1, limit=1)
    assert not searched.is_worst
    assert searched.error > 0.0
    assert abs(searched.regret - exact.regret) < 5 * searched.error + 1e-9


@pytest.mark.usefixtures("plainly")
def test_delay_is_in_the_computation_and_in_the_search() -> None:
    """Simulation waits for feedback: 400 orders of 3 + 3 rows, seed 1.

    Measured and exact regret agree within 5 standard errors: fails by chance once in 10^6 seeds.
    """
    learner = Simulation(FollowTheLeader())
    exact = [
        random_order(learner, np.repeat(np.eye(2), [ones, 6 - ones], axis=0), delay=2)
        for ones in range(7)
    ]
    worst = hardest_pool(learner, 6, delay=2)
    assert worst.is_worst
    assert worst.regret == pytest.approx(max(exact))
    assert worst.regret > hardest_pool(learner, 6).regret + 0.5
    measured = _regrets(learner, np.eye(2), (3, 3), 2, range(400), 1)
    assert abs(measured.mean() - exact[3]) < 5 * measured.std(ddof=1) / 20
    searched = hardest_pool(learner, 6, delay=2, plays=20, seed=1, limit=1)
    assert not searched.is_worst
    # All rows equal: no order and no choice varies.
    assert searched.regret == pytest.approx(worst.regret)


@pytest.mark.usefixtures("plainly")
def test_climb_over_many_pools() -> None:
    searched = hardest_pool(Exp3(), 12, rows=zero_one(2), plays=4, seed=1, limit=1)
    assert not searched.is_worst
    assert searched.pool.rows == 12


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match="horizon"):
        hardest_pool(FollowTheLeader(), 0)
    with pytest.raises(ParameterError, match="delay"):
        hardest_pool(FollowTheLeader(), 4, delay=-1)
    with pytest.raises(ParameterError, match="plays"):
        hardest_pool(FollowTheLeader(), 4, plays=1)
