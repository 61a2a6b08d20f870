"""Intervals for a fixed number of values: exact coverage on all pools of 0 and 1, and the formulas."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from naive.evidence import renumber
from tombola.evidence import Confidence, EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.evidence.intervals import (
    bernstein_serfling_radius,
    hoeffding_radius,
    serfling_radius,
)

FIXED: list[type[Confidence]] = [Hoeffding, Serfling, EmpiricalBernsteinSerfling]
LOG_FACTORIAL = np.array([math.lgamma(n + 1) for n in range(201)])
each = pytest.mark.parametrize("method", FIXED)


def log_choose(n: Any, k: Any) -> Any:
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    return np.where(
        inside, LOG_FACTORIAL[n] - LOG_FACTORIAL[k] - LOG_FACTORIAL[np.maximum(n - k, 0)], -np.inf
    )


def intervals(method: type[Confidence], N: int, level: float) -> tuple[Any, Any, Any, Any]:
    """Return the ends after n values of which s are 1, for all 1 <= n <= N and s <= n, and these n and s."""
    n, s = (a.ravel() for a in np.meshgrid(np.arange(1, N + 1), np.arange(N + 1), indexing="ij"))
    n, s = n[s <= n], s[s <= n]
    which = np.repeat(np.arange(n.size), n)
    place = np.arange(which.size) - np.repeat(np.cumsum(n) - n, n)
    seen = method(population=N, level=level, actions=n.size)
    seen.extend((place < s[which]).astype(float), which)
    return n, s, seen.lows, seen.highs


def worst_miss(method: type[Confidence], N: int, level: float) -> float:
    """Return the largest probability of a miss, over all compositions and all n: exact, by hypergeometry."""
    n, s, low, high = intervals(method, N, level)
    worst = 0.0
    for ones in range(N + 1):
        probability = np.exp(
            log_choose(ones, s) + log_choose(N - ones, n - s) - log_choose(np.full_like(n, N), n)
        )
        missed = (ones / N < low - 1e-9) | (ones / N > high + 1e-9)
        worst = max(worst, float(np.bincount(n, probability * missed).max()))
    return worst


@each
@pytest.mark.parametrize("level", [0.05, 0.4])
def test_exact_coverage(method: type[Confidence], level: float) -> None:
    for N in (*range(1, 31), 50, 77, 100, 200):
        assert worst_miss(method, N, level) <= level


@pytest.mark.full
@each
def test_exact_coverage_up_to_200_rows(method: type[Confidence]) -> None:
    worst = max(worst_miss(method, N, 0.05) for N in range(1, 201))
    print(method.__name__, worst)
    assert worst <= 0.05


def test_coverage_check_detects_fault() -> None:
    """An interval made for level .4 misses more often than .05: the check sees it."""
    assert worst_miss(Serfling, 100, 0.4) > 0.05


def test_radius_formulas() -> None:
    assert hoeffding_radius(50.0, 0.1) == pytest.approx(math.sqrt(math.log(20) / 100))
    assert serfling_radius(50.0, 200.0, 0.1) == pytest.approx(
        math.sqrt((1 - 49 / 200) * math.log(20) / 100)
    )
    assert serfling_radius(150.0, 200.0, 0.1) == pytest.approx(
        math.sqrt((1 - 0.75) * (1 + 1 / 150) * math.log(20) / 300)
    )
    deep = math.log(70)
    half = (
        math.sqrt(2 * (1 - 499 / 2000) * 0.02 * deep / 500)
        + (7 / 3 + 3 / math.sqrt(2)) * deep / 500
    )
    assert bernstein_serfling_radius(500.0, 2000.0, 0.02, 0.1) == pytest.approx(half)


@pytest.mark.parametrize("N", [1.0, 2.0, 7.0, math.inf])
def test_radius_limits(N: float) -> None:
    assert (
        hoeffding_radius(0.0, 0.1)
        == serfling_radius(0.0, N, 0.1)
        == bernstein_serfling_radius(0.0, N, 0.0, 0.1)
        == 1.0
    )
    if N < math.inf:
        assert serfling_radius(N, N, 0.1) == bernstein_serfling_radius(N, N, 0.25, 0.1) == 0.0
    assert 0.0 <= serfling_radius(1.0, N, 0.1) <= hoeffding_radius(1.0, 0.1) <= 1.0


def test_predictable_sampling_is_bijective() -> None:
    """The predictable-sampling lemma, exactly: all 720 orders of six rows, under rules that look at all of the past."""
    rules = [
        lambda past: sum(past) % 2 == 0,
        lambda past: not past or past[-1] > 2,
        lambda past: len(past) < 2 or max(past) - min(past) > 2,
    ]
    for rule in rules:
        renumbered = {renumber(order, rule) for order in permutations(range(6))}
        assert len(renumbered) == 720


def test_predictable_sampling_needs_past() -> None:
    def cheat(order: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(order, key=lambda row: row > 2))

    assert len({cheat(order) for order in permutations(range(6))}) < 720
