"""Intervals that hold at all counts: against naive twins, exact coverage on small pools and under adaptive play."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from evidence_cases import (
    Values,
    allowed,
    degenerate_values,
    enumerated_ends,
    interval_path,
    sequences,
)
from naive import evidence as naive
from tombola import UCB1, Pool, play
from tombola.evidence import (
    BernsteinSequence,
    Betting,
    Confidence,
    HoeffdingSequence,
    Serfling,
    StratifiedMean,
)
from tombola.learners import SuccessiveElimination

UNIFORM: list[type[Confidence]] = [HoeffdingSequence, BernsteinSequence, Betting]

each = pytest.mark.parametrize("method", UNIFORM)


@pytest.mark.parametrize(
    ("method", "twin"),
    [(HoeffdingSequence, naive.hoeffding_sequence), (BernsteinSequence, naive.bernstein_sequence)],
)
def test_closed_forms_equal_naive_twins(method: type[Confidence], twin: Callable[..., Any]) -> None:
    for values in degenerate_values():
        for N, level in ((values.size + 5, 0.05), (math.inf, 0.2)):
            expected = twin(values.tolist(), N, level)
            found = interval_path(method, values, N, level)[-1]
            if expected[0] > expected[1]:  # a miss: rows in rising order are not in random order
                assert found[0] == found[1]
            else:
                assert found == pytest.approx(expected, abs=1e-9)


@each
def test_sequences_are_nested_and_end_exact(method: type[Confidence]) -> None:
    for values in degenerate_values():
        found = interval_path(method, values, values.size, 0.05)
        assert found[0] == (0.0, 1.0)
        assert found[-1] == pytest.approx((values.mean(), values.mean()), abs=1e-12)
        inside = values.mean() - 1e-12, values.mean() + 1e-12
        if all(low <= inside[1] and high >= inside[0] for low, high in found):  # nothing missed
            assert naive.decreasing([high for _, high in found])
            assert naive.decreasing([-low for low, _ in found])


def worst_miss(
    method: type[Confidence], N: int, level: float, shrink: float = 1.0, population: float = 0
) -> float:
    """Return the largest share of the orders of a list of 0 and 1 in which its mean is ever missed."""
    paths = sequences((0.0, 1.0), N)
    seen = method(population=population or N, level=level, actions=len(paths))
    means, missed = paths.mean(axis=1), np.zeros(len(paths), bool)
    for column in paths.T:
        seen.extend(column, np.arange(len(paths)))
        middle, half = (seen.lows + seen.highs) / 2, shrink * (seen.highs - seen.lows) / 2
        missed |= (middle - half > means + 1e-9) | (middle + half < means - 1e-9)
    ones = paths.sum(axis=1).astype(int)
    return float((np.bincount(ones, missed) / np.bincount(ones)).max())


@each
def test_half_radius_is_detected(method: type[Confidence]) -> None:
    assert worst_miss(method, 12, 0.4, shrink=0.5) > 0.4


@each
@pytest.mark.parametrize("level", [0.05, 0.4, 0.9])
def test_sequence_exact_coverage(method: type[Confidence], level: float) -> None:
    """All 2^N sequences of 0 and 1, grouped by their sum: the share that is ever missed is at most the level."""
    for N in range(1, 13):
        assert worst_miss(method, N, level) <= level


def share_missed(
    method: type[Confidence], rows: Any, population: float, level: float, mean: float
) -> float:
    """Return how many of the columns of `rows` have an interval that ever misses the mean."""
    seen, missed = (
        method(population=population, level=level, actions=rows.shape[1]),
        np.zeros(rows.shape[1], bool),
    )
    for row in rows:
        seen.update(row)
        missed |= (seen.lows > mean + 1e-9) | (seen.highs < mean - 1e-9)
    return float(missed.mean())


@each
@pytest.mark.parametrize("with_replacement", [False, True])
def test_coverage_at_all_counts(method: type[Confidence], with_replacement: bool) -> None:
    """2000 orders of each of four pools of 150; false alarm below 1e-6 each."""
    rng, runs, level = np.random.default_rng(11), 2000, 0.2
    pools = [
        rng.random(150) < 0.5,
        rng.random(150) < 0.05,
        rng.beta(10, 30, 150),
        rng.random(150) ** 4,
    ]
    for pool in pools:
        pool = pool.astype(float)
        draws = [
            rng.choice(pool, 150) if with_replacement else rng.permutation(pool)
            for _ in range(runs)
        ]
        population = math.inf if with_replacement else 150
        assert share_missed(method, np.array(draws).T, population, level, pool.mean()) <= allowed(
            level, runs
        )


def ever_missed(
    method: type[Confidence], pool: Pool, level: float, played: Any, losses: Any
) -> bool:
    seen = method(population=pool.rows, level=level / pool.k, actions=pool.k)
    for action, loss in zip(played, losses, strict=True):
        seen.update(loss, action)
        low, high = seen.interval(action)
        if not low - 1e-9 <= pool.means[action] <= high + 1e-9:
            return True
    return False


def furthest_off(rows: Values, means: Values) -> tuple[list[int], list[float]]:
    """Play the action whose losses so far are furthest off its mean, in standard errors: an adversary's choice."""
    count, total, played, losses = np.zeros(2), np.zeros(2), [], []
    for row in rows:
        off = np.abs(total - count * means) / np.sqrt(np.maximum(count, 1))
        action = int(np.argmin(count)) if count.min() < 2 else int(np.argmax(off))
        count[action] += 1
        total[action] += row[action]
        played.append(action)
        losses.append(float(row[action]))
    return played, losses


@each
@pytest.mark.parametrize("rule", ["UCB1", "elimination", "adversary"])
def test_coverage_under_adaptive_play(method: type[Confidence], rule: str) -> None:
    """300 orders of perfectly anti-correlated actions, both means at all times; false alarm below 1e-6."""
    rng, runs, level = np.random.default_rng(3), 300, 0.2
    first = (rng.random(120) < 0.4).astype(float)
    pool = Pool(np.column_stack([first, 1 - first]))
    learner = UCB1() if rule == "UCB1" else SuccessiveElimination()
    missed = 0
    for seed in range(runs):
        if rule == "adversary":
            played, losses = furthest_off(rng.permutation(pool.losses), pool.means)
        else:
            trace = play(learner, pool, seed=seed)
            played, losses = trace.actions.tolist(), trace.losses.tolist()
        missed += ever_missed(method, pool, level, played, losses)
    assert missed / runs <= allowed(level, runs)


def test_coverage_checks_detect_faults() -> None:
    """A fixed-n interval, read at all counts, is missed more often than its level: the same check notices."""
    rng, runs, level = np.random.default_rng(1), 1000, 0.2
    pool = (rng.random(150) < 0.5).astype(float)
    rows = np.array([rng.permutation(pool) for _ in range(runs)]).T
    assert share_missed(Serfling, rows, 150, level, pool.mean()) > allowed(level, runs)


def test_widths_on_standard_pool() -> None:
    """N = 1000, Beta(10, 30), level .05, after 100, 500 and 900 values, mean of 20 pools: the published widths."""
    measured: dict[type[Confidence], tuple[float, float, float]] = {
        Serfling: (0.258, 0.086, 0.0286),
        Betting: (0.0588, 0.0122, 0.0042),
        BernsteinSequence: (0.144, 0.0238, 0.0078),
    }
    for method, expected in measured.items():
        widths = []
        for seed in range(20):
            values = np.random.default_rng(seed).beta(10, 30, 1000)
            seen = method(population=1000)
            for start, stop in ((0, 100), (100, 500), (500, 900)):
                seen.extend(values[start:stop])
                widths.append(seen.interval().width)
        found = np.array(widths).reshape(20, 3).mean(axis=0)
        assert found == pytest.approx(expected, rel=0.02), method


def ever_wrong(
    sizes: tuple[int, int], level: float, *, shrink: float = 1.0, stated_size: int = 0
) -> float:
    """Return how often, for the worst 0/1 values of two strata, their interval ever misses, at any
    two counts.

    Each has an interval at `level`; `told` is the size of both that they are told, if it is not
    theirs.
    """
    parts = [sequences((0.0, 1.0), size) for size in sizes]
    found = [enumerated_ends(part[:, : stated_size or None], level) for part in parts]
    weights = np.array(sizes) / sum(sizes)
    low, high = (
        weights[0] * found[0][end][:, None, :, None] + weights[1] * found[1][end][None, :, None, :]
        for end in (0, 1)
    )
    middle, half = (low + high) / 2, shrink * (high - low) / 2
    ones = [part.sum(axis=1).astype(int) for part in parts]
    truth = ((ones[0][:, None] + ones[1][None, :]) / sum(sizes))[:, :, None, None]
    missed = ((middle - half > truth + 1e-9) | (middle + half < truth - 1e-9))[:, :, 1:, 1:].any(
        axis=(2, 3)
    )
    lists = (ones[0][:, None] * 100 + ones[1][None, :]).ravel()
    counts = np.bincount(lists)
    return float((np.bincount(lists, missed.ravel())[counts > 0] / counts[counts > 0]).max())


@pytest.mark.parametrize("level", [0.05, 0.4])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 11), (2, 3), (4, 8), (6, 6), (10, 2)])
def test_strata_exact_coverage(sizes: tuple[int, int], level: float) -> None:
    assert ever_wrong(sizes, level / 2) <= level


@pytest.mark.full
@pytest.mark.parametrize("level", [0.05, 0.4, 0.9])
def test_strata_exact_coverage_up_to_12_rows(level: float) -> None:
    for first in range(1, 12):
        for second in range(1, 13 - first):
            assert ever_wrong((first, second), level / 2) <= level


def test_strata_interval_is_weighted_mean() -> None:
    values = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.5]])
    alone = [enumerated_ends(row[None, :], 0.3 / 2) for row in values]
    for i, j in product(range(4), repeat=2):
        strata = StratifiedMean({"x": 3, "y": 3}, level=0.3)
        strata.extend([*values[0, :i], *values[1, :j]], ["x"] * i + ["y"] * j)
        expected = [(alone[0][end][0, i] + alone[1][end][0, j]) / 2 for end in (0, 1)]
        assert strata.interval() == pytest.approx(expected, abs=1e-12)


def test_strata_faults_are_detected() -> None:
    assert ever_wrong((6, 6), 0.2, shrink=0.5) > 0.4
    assert ever_wrong((6, 6), 0.2, stated_size=3) > 0.4


def test_strata_undivided_level_is_detected() -> None:
    """1000 orders of two strata of 300: the one or the other is missed too often; false alarm below 1e-6."""
    rng, level, runs, wrong = np.random.default_rng(0), 0.3, 1000, {}
    for share in (level / 2, level):
        both = [
            enumerated_ends(
                rng.permuted(np.tile(np.repeat([0.0, 1.0], 150), (runs, 1)), axis=1), share
            )
            for _ in range(2)
        ]
        low = sum(lows.max(axis=1) for lows, _ in both) / 2
        high = sum(highs.min(axis=1) for _, highs in both) / 2
        wrong[share] = float(((low > 0.5 + 1e-9) | (high < 0.5 - 1e-9)).mean())
    assert wrong[level / 2] <= allowed(level, runs) < wrong[level]
