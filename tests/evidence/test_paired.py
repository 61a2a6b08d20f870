"""Bounds of a mean difference: naive twins, and exact error rates on small samples."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from naive import paired as naive
from tombola._types import Floats
from tombola.evidence import paired
from tombola.evidence.paired import (
    lower_bound,
    mcnemar_pvalue,
    planned_wealth,
    rejections,
    running_wealth,
    shift_grid,
)

# Laws of a gain: (values, probabilities), with the largest shift that is true for them, their mean.
VALUES = (-1.0, -0.25, 0.0, 0.5, 1.0)
LAWS = [
    ((-1.0, 0.0), (0.3, 0.7)),
    ((-1.0, 0.0, 1.0), (0.4, 0.3, 0.3)),
    ((-0.25, 1.0), (0.8, 0.2)),
    ((-1.0, 0.5), (1 / 3, 2 / 3)),
    ((-1.0, 1.0), (0.65, 0.35)),
    ((-0.25, 0.0), (0.4, 0.6)),
]


def samples(values: tuple[float, ...], n: int) -> Floats:
    return np.array(list(itertools.product(values, repeat=n)))


def probabilities(law: tuple[float, ...], n: int) -> Floats:
    return np.array([math.prod(way) for way in itertools.product(law, repeat=n)])


@pytest.mark.parametrize("shift", [-0.9, -0.02, 0.0, 0.3])
def test_wealth_equals_naive_twin(shift: float) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 40):
        for gains in (rng.choice(VALUES, n), np.zeros(n), np.ones(n), -np.ones(n)):
            rows = gains[None, :]
            sizes = np.ones((1, n))
            shifts = np.array([shift])
            planned = planned_wealth(rows, sizes, shifts, np.array([0.05]))[0, 0]
            assert planned == pytest.approx(naive.planned(gains.tolist(), shift, 0.05), rel=1e-9)
            running = running_wealth(rows, sizes, shifts)[0, 0]
            assert running == pytest.approx(naive.running(gains.tolist(), shift), rel=1e-9)


@pytest.mark.parametrize(("values", "law"), LAWS)
def test_mean_wealth_is_at_most_one(values: tuple[float, ...], law: tuple[float, ...]) -> None:
    """Exact, over all samples of six rows, for the true mean as shift."""
    gains = samples(values, 6)
    weights = probabilities(law, 6)
    shift = np.array([float(np.dot(values, law))])
    wealth = planned_wealth(gains, np.ones_like(gains), shift, np.array([0.1]))[:, 0]
    assert weights @ wealth <= 1.0 + 1e-12
    # Ville: the largest wealth so far reaches c with probability at most 1 / c.
    largest = running_wealth(gains, np.ones_like(gains), shift)[:, 0]
    for c in (1.2, 2.0, 5.0):
        assert weights @ (largest >= c) <= 1.0 / c + 1e-12


def error_rate(
    values: tuple[float, ...],
    law: tuple[float, ...],
    n: int,
    level: float,
    test: Callable[[Floats, Floats, float, float], Any],
) -> float:
    """Return the exact probability of rejecting the true mean as shift; the margin is there too."""
    shift = float(np.dot(values, law))
    weights = probabilities(law, n)
    rejected = [test(gains, np.array([shift]), level, -shift)[0] for gains in samples(values, n)]
    return float(weights @ np.array(rejected, float))


def full_test(gains: Floats, shifts: Floats, level: float, margin: float) -> Any:
    return rejections(gains, shifts, level, margin=margin if margin > 0 else None)


def fault_too_few_rows(gains: Floats, shifts: Floats, level: float, margin: float) -> Any:
    """Let "no row got worse" pass with too few rows: at twice the level."""
    rejected = full_test(gains, shifts, level, margin)
    return rejected | ((gains >= 0).all() and (1.0 - margin) ** len(gains) <= 2.0 * level)


def fault_radius(gains: Floats, shifts: Floats, level: float, margin: float) -> Any:
    """Test at twice the level, which makes the bound too tight."""
    return rejections(gains, shifts, min(0.9, 2.0 * level))


@pytest.mark.parametrize("level", [0.1, 0.2, 0.3, 0.45])
@pytest.mark.parametrize(("values", "law"), LAWS)
def test_error_rate_is_at_most_the_level(
    values: tuple[float, ...], law: tuple[float, ...], level: float
) -> None:
    """Exact, over all samples of five rows, "no row got worse" included."""
    assert error_rate(values, law, 5, level, full_test) <= level + 1e-12


@pytest.mark.parametrize("fault", [fault_too_few_rows, fault_radius])
def test_faults_exceed_the_level(fault: Callable[..., Any]) -> None:
    rates = [
        error_rate(values, law, 5, level, fault) - level
        for values, law in LAWS
        for level in (0.1, 0.2, 0.3, 0.45)
    ]
    assert max(rates) > 0.005


def test_mcnemar_rounds_down() -> None:
    """Exact: graded gains with mean 0 are rejected with probability at most the level."""
    values, law = (1.0, -1.0, -0.99), (0.49875, 0.25125, 0.25)
    weights = probabilities(law, 7)
    for level in (1 / 16, 0.05, 0.3):
        rejected = [mcnemar_pvalue(gains) <= level for gains in samples(values, 7)]
        assert weights @ np.array(rejected, float) <= level


def test_binary_better_is_mcnemar() -> None:
    gains = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 30)
    assert mcnemar_pvalue(gains) == pytest.approx(0.0327, abs=1e-4)
    assert rejections(gains, np.array([0.0]), 0.0328, binary=True)[0]
    assert not rejections(gains, np.array([0.0]), 0.0326, binary=True)[0]


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.1])
def test_identical_versions_pass_from_the_exact_number_on(margin: float) -> None:
    """n rows without a loss bound the share of worse rows by 1 - level^(1/n)."""
    least = math.ceil(math.log(0.05) / math.log1p(-margin))
    for n in (least, least + 1, least + 40, 3 * least):
        assert lower_bound(np.zeros(n), 0.05, margin=margin) >= -margin
    assert lower_bound(np.zeros(least - 1), 0.05, margin=margin) < -margin


def test_bound_of_clusters_of_one_row_is_that_of_rows() -> None:
    gains = np.random.default_rng(2).choice(VALUES, 60)
    own = {"sizes": np.ones(60)}
    assert lower_bound(gains, 0.05, **own) <= lower_bound(gains, 0.05)  # type: ignore[arg-type]
    # A gain of one row in clusters of at most two is half of one.
    halves = lower_bound(gains / 2, 0.05, sizes=np.full(60, 0.5), looks="any")
    assert -1.0 <= halves <= gains.mean()


def test_growing_table_keeps_its_wealth() -> None:
    """With any looks, the bound never falls as rows are added."""
    gains = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 120, p=[0.1, 0.6, 0.3])
    bounds = [lower_bound(gains[:n], 0.05, looks="any") for n in range(5, 121, 5)]
    assert bounds == sorted(bounds)


def test_grid_is_fixed() -> None:
    assert set(shift_grid()) <= set(shift_grid([-0.0123]))
    assert len(shift_grid([-0.02])) == len(shift_grid()), "it replaces the point of the grid"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_no_problem(n: int) -> None:
    for gains in (np.zeros(n), np.ones(n), -np.ones(n)):
        low = lower_bound(gains, 0.05, margin=0.02)
        high = -lower_bound(-gains, 0.05)
        assert -1.0 <= low <= high <= 1.0
    assert paired.lower_bound(np.ones(1), 0.05, looks="any") < 0.0
