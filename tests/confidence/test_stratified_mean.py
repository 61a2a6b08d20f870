"""PairedDifferences and strata by enumeration: every list, every order, every look; and what breaks them is caught.

A look may depend on all that was seen before, and so may the stratum that is drawn from next. So what is counted is
whether there is any look at all, at any counts, at which what is said is wrong: no way to look does worse.
"""

import math
from itertools import product

import numpy as np
import pytest

from confidence_cases import enumerated_ends, sequences
from tombola.confidence import StratifiedMean


def ever_wrong(sizes: tuple[int, int], level: float, *, shrink: float = 1.0, stated_size: int = 0) -> float:
    """Return how often, for the worst 0/1 values of two strata, their interval ever misses, at any two counts.

    Each has an interval at `level`; `told` is the size of both that they are told, if it is not theirs.
    """
    parts = [sequences((0.0, 1.0), size) for size in sizes]
    found = [enumerated_ends(part[:, : stated_size or None], level) for part in parts]
    weights = np.array(sizes) / sum(sizes)
    low, high = (
        weights[0] * found[0][end][:, None, :, None] + weights[1] * found[1][end][None, :, None, :] for end in (0, 1)
    )
    middle, half = (low + high) / 2, shrink * (high - low) / 2
    ones = [part.sum(axis=1).astype(int) for part in parts]
    truth = ((ones[0][:, None] + ones[1][None, :]) / sum(sizes))[:, :, None, None]
    missed = ((middle - half > truth + 1e-9) | (middle + half < truth - 1e-9))[:, :, 1:, 1:].any(axis=(2, 3))
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
            enumerated_ends(rng.permuted(np.tile(np.repeat([0.0, 1.0], 150), (runs, 1)), axis=1), share)
            for _ in range(2)
        ]
        low = sum(lows.max(axis=1) for lows, _ in both) / 2
        high = sum(highs.min(axis=1) for _, highs in both) / 2
        wrong[share] = float(((low > 0.5 + 1e-9) | (high < 0.5 - 1e-9)).mean())
    slack = math.sqrt(2 * level * (1 - level) * math.log(1e6) / runs) + math.log(1e6) / runs
    assert wrong[level / 2] <= level + slack < wrong[level]
