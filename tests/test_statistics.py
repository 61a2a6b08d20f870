"""Estimates: Student intervals, and slopes on logarithmic axes."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tombola._statistics import Estimate, mean, slope
from tombola.errors import ParameterError


def test_slope_interval_coverage() -> None:
    """Right 95 % intervals miss the true power in more than 60 of 400 cases with probability below 1e-12."""
    generator = np.random.default_rng(1)
    horizons = np.array([64.0, 128.0, 256.0, 512.0, 1024.0])
    found = [
        slope(horizons, [np.sqrt(T) * generator.gamma(4, 0.25, 50) for T in horizons])
        for _ in range(400)
    ]
    assert sum(not e.low <= 0.5 <= e.high for e in found) <= 60
    assert np.mean([e.value for e in found]) == pytest.approx(0.5, abs=0.02)


def test_slope_interval_widens_for_bent_curve() -> None:
    horizons = np.array([10.0, 100.0, 1000.0, 10000.0])
    straight = slope(horizons, [np.full(5, x) for x in (1.0, 10.0, 100.0, 1000.0)])
    bent = slope(horizons, [np.full(5, x) for x in (1.0, 40.0, 200.0, 1000.0)])
    assert bent.half_width > 10 * straight.half_width


def test_mean_interval_is_students() -> None:
    values = np.random.default_rng(3).normal(2, 1, 12)
    for level in (0.9, 0.95, 0.999):
        low, high = stats.t.interval(level, 11, loc=values.mean(), scale=stats.sem(values))
        assert tuple(mean(values, level)) == pytest.approx((values.mean(), low, high, 12))
    assert mean(values[:1]) == Estimate(float(values[0]), -math.inf, math.inf, 1)


@pytest.mark.parametrize(("values", "half_width"), [([1.0, 2.0], 0), ([1.0], 1)])
def test_additional_repetitions_rejects(
    values: list[float], half_width: float, one_sentence: Any
) -> None:
    with pytest.raises(ParameterError) as caught:
        mean(np.array(values)).additional_repetitions(half_width)
    one_sentence(caught.value)
