"""Confidence intervals for a fixed sample size, and their half widths.

Hoeffding (1963), Serfling (1974), Bardenet and Maillard (2015). All are two-sided, for values in
[0, 1].
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._statistics import serfling_factor
from tombola._types import Floats
from tombola.evidence.base import Confidence, intersect

# Events in the union bound of Bardenet and Maillard (2015), two-sided: two Bernstein tails of two
# events each, three events for the deviation. Each has probability level / 7.
_BERNSTEIN_EVENTS = 7.0
# Factor of the term in 1 / count: the constant kappa of the empirical bound of Bardenet and
# Maillard (2015).
_BERNSTEIN_LINEAR = 7 / 3 + 3 / math.sqrt(2.0)


def hoeffding_radius(count: float, level: float) -> float:
    """Return Hoeffding's half width sqrt(ln(2 / level) / (2 count)), at most 1.

    Valid with and without replacement. 1 for a count below 1.

    >>> round(hoeffding_radius(100.0, 0.05), 4)
    0.1358
    """
    if count < 1.0:
        return 1.0
    return min(1.0, math.sqrt(math.log(2.0 / level) / (2.0 * count)))


def serfling_radius(count: float, population: float, level: float) -> float:
    """Return the Hoeffding-Serfling half width sqrt(f ln(2 / level) / (2 count)).

    f is the smaller of 1 - (count - 1) / population and (1 - count / population) (1 + 1 / count):
    the factor of sampling without replacement. The result is at most 1, and 0 when all rows are
    sampled.

    >>> round(serfling_radius(100.0, 1000.0, 0.05), 4)
    0.1289
    """
    if count < 1.0:
        return 1.0
    if count >= population:
        return 0.0
    return min(
        1.0, math.sqrt(serfling_factor(count, population) * math.log(2.0 / level) / (2.0 * count))
    )


def bernstein_serfling_radius(
    count: float, population: float, variance: float, level: float
) -> float:
    """Return the empirical Bernstein-Serfling half width, at most 1.

    It is sqrt(2 f v l / count) + c l / count (Bardenet and Maillard 2015) with l = ln(7 / level), c
    = 7/3 + 3/sqrt(2), v the empirical variance with divisor `count`, and f as in `serfling_radius`,
    about 1 - count / population.

    >>> round(bernstein_serfling_radius(1000.0, 10000.0, 0.01, 0.05), 4)
    0.0314
    """
    if count < 1.0:
        return 1.0
    if count >= population:
        return 0.0
    log_term = math.log(_BERNSTEIN_EVENTS / level)
    deviation = math.sqrt(
        2.0 * serfling_factor(count, population) * max(variance, 0.0) * log_term / count
    )
    return min(1.0, deviation + _BERNSTEIN_LINEAR * log_term / count)


class _Moments(NamedTuple):
    """State of the fixed-count intervals; `squares` are from the sample mean."""

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats
    population: float
    level: float


def _add_value(state: Any, action: int, value: float) -> None:
    """Update count, sum and centred squares (Welford 1962); reset the interval.

    Without the reset the intervals of several counts would be intersected, which only confidence
    sequences allow.
    """
    before = state.total[action] / max(state.counts[action], 1.0)
    state.counts[action] += 1.0
    state.total[action] += value
    state.squares[action] += (value - before) * (value - state.total[action] / state.counts[action])
    state.low[action] = 0.0
    state.high[action] = 1.0


def _set_interval(state: Any, action: int, radius: float) -> None:
    """Write the interval mean +- radius, cut to the means that are possible."""
    mean = state.total[action] / state.counts[action]
    intersect(state, action, mean - radius, mean + radius, state.population)


class _FixedCount(Confidence):
    """Base class of intervals with coverage at one sample size, fixed in advance.

    To look after every value, use a confidence sequence such as `Betting`.
    """

    anytime_valid: ClassVar[bool] = False

    def init(self) -> _Moments:
        empty = np.zeros(self.actions)
        return _Moments(
            empty, empty, empty, np.ones(self.actions), empty, self.population, self.level
        )


class Hoeffding(_FixedCount):
    """Hoeffding interval, mean +- sqrt(ln(2 / level) / (2 n)).

    Valid with and without replacement, at one sample size n fixed in advance. `actions` is the
    number of means, each with its own interval; parameters as in `Confidence`.

    >>> interval = Hoeffding(population=1000)
    >>> interval.extend([0.0, 1.0] * 50)
    >>> interval.interval()
    Interval(low=0.364..., high=0.635...)
    """

    @staticmethod
    def update_state(state: _Moments, action: int, value: float) -> None:
        _add_value(state, action, value)
        _set_interval(state, action, hoeffding_radius(state.counts[action], state.level))


class Serfling(_FixedCount):
    """Hoeffding-Serfling interval, mean +- sqrt(f ln(2 / level) / (2 n)).

    f is about 1 - n / population, for sampling without replacement; see `serfling_radius`. Valid at
    one sample size n fixed in advance. `actions` is the number of means, each with its own
    interval; parameters as in `Confidence`.

    >>> interval = Serfling(population=200)
    >>> interval.extend([0.0, 1.0] * 50)
    >>> interval.interval()
    Interval(low=0.403..., high=0.596...)
    """

    @staticmethod
    def update_state(state: _Moments, action: int, value: float) -> None:
        _add_value(state, action, value)
        _set_interval(
            state, action, serfling_radius(state.counts[action], state.population, state.level)
        )


class EmpiricalBernsteinSerfling(_FixedCount):
    """Empirical Bernstein-Serfling interval, narrow for a small variance v.

    The half width is sqrt(2 f v l / n) + 4.45 l / n with l = ln(7 / level), f about 1 - n /
    population (`serfling_radius`). Valid at one sample size n fixed in advance. `actions` is the
    number of means, each with its own interval; parameters as in `Confidence`.

    >>> interval = EmpiricalBernsteinSerfling(population=2000)
    >>> interval.extend([0.5, 0.51] * 500)
    >>> interval.interval()
    Interval(low=0.482..., high=0.527...)
    """

    @staticmethod
    def update_state(state: _Moments, action: int, value: float) -> None:
        _add_value(state, action, value)
        variance = state.squares[action] / state.counts[action]
        radius = bernstein_serfling_radius(
            state.counts[action], state.population, variance, state.level
        )
        _set_interval(state, action, radius)
