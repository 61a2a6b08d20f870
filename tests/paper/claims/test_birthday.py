"""Claims on the birthday test: means and regrets by their definition, by simulation and over all orders."""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tombola import bounds, instances, play
from tombola.learners import BirthdayTest
from tombola.paper.claims import birthday


def test_mean_is_within_the_bound_up_to_5000() -> None:
    ratios = [bounds.birthday_mean(T) / bounds.birthday(T) for T in range(1, 5001)]
    assert max(ratios) == ratios[0] == 1.0
    assert all(later < earlier for earlier, later in pairwise(ratios)), "the ratio falls with T"
    assert ratios[-1] > math.sqrt(math.pi / 8)


@pytest.mark.parametrize("T", range(1, 13))
def test_mean_by_definition(T: int) -> None:
    """E[tau]: tau = t + 1 if the first t losses differ and the next is one of them."""
    exact, differ = Fraction(0), Fraction(1)
    for t in range(1, T + 1):
        exact += (t + 1) * differ * Fraction(t, T)
        differ *= Fraction(T - t, T)
    assert differ == 0
    assert bounds.birthday_mean(T) == pytest.approx(float(exact), rel=1e-14)


def test_mean_of_a_law_by_enumeration() -> None:
    """All 3^4 sequences of draws with weights 1, 2, 3; the fourth draw always repeats one."""
    weights, mean = [1, 2, 3], Fraction(0)
    for draws in itertools.product(range(3), repeat=4):
        tau = next(t for t in range(2, 5) if len(set(draws[:t])) < t)
        mean += tau * math.prod(Fraction(weights[i], 6) for i in draws)
    assert birthday._mean_of_law(weights) == mean


def test_partitions_are_all_decreasing_lists() -> None:
    found = list(birthday._partitions(6, 3))
    assert len({*map(tuple, found)}) == len(found) == 7
    assert all(sum(law) == 6 and sorted(law, reverse=True) == law for law in found)


@pytest.mark.parametrize("T", [1, 2, 3, 10, 97, 256, 1000])
def test_regret_on_the_birthday_pool_is_half_the_horizon(T: int) -> None:
    for seed in range(3):
        trace = play(BirthdayTest(), instances.birthday(T), order="random", seed=seed)
        assert trace.actions.max() == 0
        assert trace.regret == pytest.approx((T + 1) / 2, rel=1e-12)


@pytest.mark.parametrize("T", [4, 6])
def test_mean_regret_with_one_repeated_loss_equals_all_orders(T: int) -> None:
    pool = birthday._pool_with_repeat(T)
    regrets = [
        play(BirthdayTest(), pool, order=list(order), seed=0).regret
        for order in itertools.permutations(range(T))
    ]
    assert birthday._repeat_mean(T) == pytest.approx(float(np.mean(regrets)), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_mean_plays_of_test_equals_all_trainings(n: int) -> None:
    """Over all n^n sequences of draws: action 0 is played up to the round after the first repetition."""
    total = Fraction(0)
    for draws in itertools.product(range(n), repeat=n):
        first = next((t for t in range(n) if draws[t] in draws[:t]), n)
        total += min(first + 2, n)
    assert birthday._mean_plays_of_test(n) == pytest.approx(float(total / n**n), rel=1e-12)
