"""Hardest pools: certain where all pools are computed, measured again where they are searched."""

import numpy as np
import pytest

from tombola import FollowTheLeader
from tombola.errors import ParameterError
from tombola.lab import hardest_pool, random_order, zero_one
from tombola.learners import Exp3, Hedge


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
def test_climb_over_many_pools() -> None:
    searched = hardest_pool(Exp3(), 12, rows=zero_one(2), plays=4, seed=1, limit=1)
    assert not searched.is_worst
    assert searched.pool.rows == 12


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match="horizon"):
        hardest_pool(FollowTheLeader(), 0)
    with pytest.raises(ParameterError, match="plays"):
        hardest_pool(FollowTheLeader(), 4, plays=1)
