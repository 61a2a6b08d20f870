"""Claim `separation`: exact regrets of the birthday test in random order."""

import itertools

import numpy as np
import pytest

from tombola import instances, play
from tombola.learners import BirthdayTest
from tombola.paper.claims import separation


@pytest.mark.parametrize("T", [1, 2, 3, 10, 97, 256, 1000])
def test_regret_on_the_birthday_pool_is_half_the_horizon(T: int) -> None:
    for seed in range(3):
        trace = play(BirthdayTest(), instances.birthday(T), order="random", seed=seed)
        assert trace.actions.max() == 0
        assert trace.regret == pytest.approx((T + 1) / 2, rel=1e-12)


@pytest.mark.parametrize("T", [4, 6])
def test_mean_regret_with_one_repeated_loss_equals_all_orders(T: int) -> None:
    pool = separation._pool_with_repeat(T)
    regrets = [
        play(BirthdayTest(), pool, order=list(order), seed=0).regret for order in itertools.permutations(range(T))
    ]
    assert separation._repeat_mean(T) == pytest.approx(float(np.mean(regrets)), rel=1e-12)
