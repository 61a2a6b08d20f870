"""Betting sequences: against the naive twin on its grid, published widths."""

import math

import numpy as np
import pytest

from evidence_cases import degenerate_values, interval_path
from naive import evidence as naive
from tombola.evidence import Betting
from tombola.evidence.betting import _GRID_POINTS, _repeat_twice


def test_betting_equals_naive_twin() -> None:
    """The same floors as lists of means and wealths, rounding apart, for the values and for their
    mirror image.

    The twin is quadratic, so that only one list is long.
    """
    for values in (
        *(values[:25] for values in degenerate_values()),
        np.random.default_rng(5).beta(1, 12, 60),
    ):
        for N, level in ((values.size + 5, 0.05), (math.inf, 0.2)):
            found = interval_path(Betting, values, N, level)
            lows = naive.betting_floors(
                values.tolist(), N, level, [high for _, high in found], _GRID_POINTS
            )
            mirrored = naive.betting_floors(
                (1 - values).tolist(), N, level, [1 - low for low, _ in found], _GRID_POINTS
            )
            low, high = naive.intersect(
                [(lows[-1], 1 - mirrored[-1])] * values.size, values.tolist(), N
            )
            if low <= high:  # else a miss: rows in rising order are not in random order
                assert found[-1] == pytest.approx((low, high), abs=1e-6)


MEASURED = [
    0.005,
    0.48046875,
    0.0341796875,
    0.140625,
    0.326171875,
    0.6796875,
    0.480224609375,
    0.52001953125,
    0.1171875,
    0.4609375,
    0.24833333333333332,
    0.255,
]


@pytest.mark.usefixtures("plainly")
def test_betting_published_intervals() -> None:
    """Any bets are valid, so no other test depends on them; the published widths do."""
    rng = np.random.default_rng(3)
    found = []
    for values, population in (
        ((rng.random(150) < 0.1).astype(float), 400),
        (rng.beta(20, 20, 150), math.inf),
        (np.full(150, 0.25), 150),
    ):
        seen = Betting(population=population, level=0.05)
        for value in values.tolist():
            seen.update(value)
            if seen.counts[0] in (20, 149):
                found += [float(seen.lows[0]), float(seen.highs[0])]
    assert found == pytest.approx(MEASURED, rel=1e-9)


def test_repeat_twice_in_place() -> None:
    values = np.array([9.0, 1.0, 2.0, 3.0, 9.0, 9.0])
    _repeat_twice(values, 1, 4)
    assert values.tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
