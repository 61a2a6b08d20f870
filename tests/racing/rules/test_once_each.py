"""Theorem R5: each row once, constant bets, every stopping time."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from naive import random_answers as naive
from tombola.paper.extensions.random_answers import _best_stopping, _counterexample
from tombola.racing.rules.once_each import STOPPING_FACTOR, OnceEach, constant_bets

pytestmark = pytest.mark.usefixtures("short_work")


def test_counterexample_at_one_over_level() -> None:
    assert _counterexample(2.0) == 9 / 16 > 1 / 2
    assert _counterexample(STOPPING_FACTOR / 0.5) <= 1 / 2


def test_counterexample_without_noise() -> None:
    """d = (-1, -.29, .43, .43, .43), bet 1: the wealth reaches 1.43 with probability 7/10."""
    d = [Fraction(-100, 100), Fraction(-29, 100), *[Fraction(43, 100)] * 3]
    assert sum(d) == 0
    reached = []
    for order in itertools.permutations(d):
        products = itertools.accumulate((1 + value for value in order), lambda x, y: x * y)
        reached.append(max(products) >= Fraction(143, 100))
    assert Fraction(sum(reached), len(reached)) == Fraction(7, 10) > 1 / Fraction(143, 100)


def test_one_planned_look_needs_no_factor() -> None:
    """The symmetric means of the factors are at most 1 under D <= 0 (Maclaurin)."""
    for law in naive.laws(3):
        if naive.mean_difference(law) <= 0:
            assert max(naive.symmetric_mean(law, n, Fraction(1)) for n in (1, 2, 3)) <= 1


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_expected_wealth_at_the_best_stopping_time(rows: int) -> None:
    """All lists of expected factors in quarters; the best constant found is below 1.2984."""
    edges = [n / 4 for n in range(-4, 5)]
    worst = max(
        _best_stopping(tuple(1 + a for a in chosen))
        for chosen in itertools.combinations_with_replacement(edges, rows)
        if sum(chosen) <= 0
    )
    assert 1.125 <= worst <= 1.2984 < STOPPING_FACTOR


def naive_wealth(rows: list[list[float]], bets: list[float], b: int) -> float:
    """Return the average over opponents and bets of products over rows."""
    k = len(rows[0])
    total = 0.0
    for o in range(k):
        if o != b:
            for bet in bets:
                total += math.prod(1 + bet * (row[b] - row[o]) for row in rows)
    return total / (k - 1) / len(bets)


@pytest.mark.parametrize("k", [2, 3])
def test_wealth_agrees_with_its_twin(k: int) -> None:
    rng = np.random.default_rng(k)
    table = rng.choice([0.0, 0.5, 1.0], (30, k))
    rule = OnceEach(k, 30, math.inf, 1e-9)
    bets = constant_bets(30, STOPPING_FACTOR / 1e-9).tolist()
    for n, row in enumerate(table, start=1):
        rule.update(row)
        twin = [naive_wealth(table[:n].tolist(), bets, b) for b in range(k)]
        np.testing.assert_allclose(rule.state.current_wealth, twin)


def test_clear_difference_is_decided_and_a_tie_is_not() -> None:
    rule = OnceEach(3, 200, math.inf, 0.05)
    rule.play(np.tile([0.0, 1.0, 1.0], (200, 1)), np.arange(200, dtype=np.uint32))
    assert rule.active == [0]
    assert rule.rows_seen < 20
    rule.play(np.tile([1.0, 1.0, 1.0], (200, 1)), np.arange(200, dtype=np.uint32))
    assert rule.active == [0, 1, 2]
    assert rule.done


def test_wealth_of_a_dropped_opponent_stands_still() -> None:
    rule = OnceEach(3, 400, math.inf, 0.05)
    while len(rule.active) == 3:
        rule.update(np.array([0.0, 0.5, 1.0]))
    still = rule.state.wealth[1 * 3 + 2].copy()
    rule.update(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_array_equal(rule.state.wealth[1 * 3 + 2], still)
