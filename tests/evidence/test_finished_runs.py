"""Theorem R2: whole passes, in rational numbers and through `pass_wealth`."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from naive import random_answers as naive
from tombola.errors import ParameterError
from tombola.evidence.finished_runs import (
    PassBets,
    difference_interval,
    group_runs,
    mean_interval,
    pass_wealth,
    row_predictions,
    success_interval,
)


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 4), Fraction(-1, 2)])
def test_expected_product_of_passes_is_at_most_one(shift: Fraction, predicted: bool) -> None:
    """All lists of two rows in thirds, two passes, the largest bet."""
    largest = Fraction(0)
    for law in naive.laws(2):
        if naive.mean_difference(law) <= shift:
            wealth, least = naive.pass_products(law, 2, shift, predicted=predicted)
            assert least >= 0
            largest = max(largest, wealth)
    assert largest <= 1
    assert shift != 0 or largest == 1


def test_limit_without_predictions_fails() -> None:
    """Three rows, s = 0, bet 1, g = (1, 1, -1), d = (-1, -1, 1): 40/27 although D < 0."""
    g = [Fraction(1), Fraction(1), Fraction(-1)]
    d = [Fraction(-1), Fraction(-1), Fraction(1)]
    mean = sum(g) / 3
    factors = [1 + di - gi + mean for di, gi in zip(d, g, strict=True)]
    assert math.prod(factors) == Fraction(40, 27)
    assert min(factors) < 0
    bet = naive.limit(Fraction(0), g)
    assert min(1 + bet * (di - gi + mean) for di, gi in zip(d, g, strict=True)) >= 0


def test_product_over_uneven_runs_exceeds_one_and_groups_do_not() -> None:
    """Deltas 1 with two runs and -1 with one, bet 1/3: 32/27 over all runs."""
    bet = Fraction(1, 3)
    assert (1 + bet) ** 2 * (1 - bet) == Fraction(32, 27)
    passes = group_runs(np.array([[1.0, 1.0], [-1.0, math.nan]]))
    assert passes.tolist() == [[1.0, -1.0]]
    assert pass_wealth(passes).max() <= 1.0


def test_runs_with_a_common_cause_need_one_factor_per_pass() -> None:
    """d = (Z, Z), Z = 1 or -1: independent rows give E > 1, one factor per pass E = 1."""
    both = [np.full((1, 2), z) for z in (-1.0, 1.0)]
    assert np.mean([pass_wealth(d)[-1] for d in both]) > 1.2
    assert np.mean([pass_wealth(d, run_effects=True)[-1] for d in both]) <= 1.0 + 1e-12


def test_runs_sorted_by_score_exceed_one() -> None:
    """One row, two runs of two candidates that are right with probability 1/2: 1 + bet^2 / 8."""
    bet = Fraction(1, 2)
    total = Fraction(0)
    for answers in itertools.product((0, 1), repeat=4):
        a, b = sorted(answers[:2]), sorted(answers[2:])
        total += (1 + bet * (a[0] - b[0])) * (1 + bet * (a[1] - b[1])) / 16
    assert total == 1 + bet**2 / 8


def test_wealth_agrees_with_its_twin() -> None:
    rng = np.random.default_rng(1)
    for passes, rows, shift in ((1, 1, 0.0), (3, 4, -0.3), (4, 7, 0.1), (2, 5, 0.0)):
        d = rng.choice([-1.0, 0.0, 0.5, 1.0], (passes, rows))
        bets = PassBets(d, 0.05)
        strategies = len(bets.share)
        predictions = [
            [
                row_predictions(d[:r]) if s % 2 and r and rows > 1 else np.zeros(rows)
                for r in range(passes)
            ]
            for s in range(strategies)
        ]
        twin = naive.wealth_of_passes(d, shift, bets.share, predictions)
        np.testing.assert_allclose(pass_wealth(d, shift), twin, rtol=1e-9)


def test_pairs_in_further_axes_are_computed_alike() -> None:
    d = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], (3, 6, 2, 2))
    wealth = pass_wealth(d, level=0.01)
    for i, j in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(wealth[:, i, j], pass_wealth(d[:, :, i, j], level=0.01))


def test_bets_of_a_pass_do_not_depend_on_it() -> None:
    rng = np.random.default_rng(3)
    d = rng.choice([-1.0, 0.0, 1.0], (3, 5))
    changed = d.copy()
    changed[2] = rng.choice([-1.0, 0.0, 1.0], 5)
    first, second = PassBets(d, 0.05), PassBets(changed, 0.05)
    np.testing.assert_array_equal(first.share, second.share)
    np.testing.assert_array_equal(first.reach, second.reach)


def test_wealth_falls_as_the_shift_rises() -> None:
    d = np.random.default_rng(4).uniform(-1, 1, (3, 8))
    values = [pass_wealth(d, shift)[-1] for shift in np.linspace(-0.99, 1.0, 60)]
    assert (np.diff(values) <= 1e-9 * np.array(values[:-1])).all()


def test_bound_is_the_last_rejected_shift() -> None:
    d = np.random.default_rng(5).uniform(-0.2, 1, (4, 60))
    low, high = difference_interval(d, 0.05)
    assert -1.0 <= low < d.mean() < high <= 1.0
    assert pass_wealth(d, float(low), level=0.025).max() >= 40 * (1 - 1e-6)
    assert pass_wealth(d, float(low) + 1e-6, level=0.025).max() < 40


@pytest.mark.parametrize("law", ["coins", "rows"])
def test_interval_of_the_mean_covers(law: str) -> None:
    """300 lists, level .1: more than 51 misses have probability below 1e-4."""
    rng = np.random.default_rng(6)
    misses = 0
    for _ in range(300):
        p = np.full(40, 0.3) if law == "coins" else rng.beta(0.6, 0.4, 40)
        losses = (rng.random((3, 40)) < p) * 1.0
        low, high = mean_interval(np.asarray(losses, float), 0.1)
        misses += not low <= p.mean() <= high
    assert misses <= 51


@pytest.mark.parametrize("level", [0.05, 0.3, 0.9])
def test_binomial_bounds_hold_for_unequal_probabilities(level: float) -> None:
    """All probabilities in fifths of three trials, exactly; the rows are not alike."""
    fifths = [n / 5 for n in range(6)]
    low, high = success_interval(np.arange(4.0), 3, level)
    for p in itertools.combinations_with_replacement(fifths, 3):
        covered = 0.0
        for outcome in itertools.product((0, 1), repeat=3):
            chance = math.prod(q if x else 1 - q for q, x in zip(p, outcome, strict=True))
            inside = low[sum(outcome)] - 1e-12 <= np.mean(p) <= high[sum(outcome)] + 1e-12
            covered += chance * bool(inside)
        assert covered >= 1 - level - 1e-12


def test_ugly_inputs() -> None:
    assert pass_wealth(np.zeros((1, 1))).tolist() == [1.0]
    assert np.isfinite(pass_wealth(np.ones((2, 3)))).all()
    assert mean_interval(np.zeros((1, 1)))[0] == 0.0
    with pytest.raises(ParameterError, match="differences in"):
        pass_wealth(np.full((1, 2), 3.0))
    with pytest.raises(ParameterError, match="at least one run"):
        group_runs(np.array([[math.nan, math.nan]]))


def test_groups_depend_on_the_number_of_runs_only() -> None:
    runs: Any = np.array([[[0.0, 1.0, 1.0, math.nan]], [[0.0, 1.0, math.nan, math.nan]]])
    assert group_runs(runs)[:, :, 0].tolist() == [[0.5, 0.0], [1.0, 1.0]]
    # A run that is missing in the middle: the others keep their order.
    assert group_runs(np.array([[0.0, math.nan, 1.0]])).tolist() == [[0.0], [1.0]]
