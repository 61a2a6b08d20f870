"""Intervals for a number of values fixed in advance (Hoeffding 1963, Serfling 1974, Bardenet and Maillard 2015)."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.confidence.base import Confidence, narrow
from tombola.confidence.radius import bernstein_serfling, hoeffding, serfling


class Moments(NamedTuple):
    """What has been seen of every action."""

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats
    population: float
    level: float


def add(state: Any, action: int, value: float) -> None:
    """Count a value, and its squared distance from the mean (Welford 1962); forget the interval before it."""
    before = state.total[action] / max(state.counts[action], 1.0)
    state.counts[action] += 1.0
    state.total[action] += value
    state.squares[action] += (value - before) * (value - state.total[action] / state.counts[action])
    state.low[action], state.high[action] = 0.0, 1.0


def settle(state: Any, action: int, half: float) -> None:
    """Write the interval of this half width around the mean."""
    mean = state.total[action] / state.counts[action]
    narrow(state, action, mean - half, mean + half, state.population)


class FixedCount(Confidence):
    """Holds at one count, which was fixed in advance."""

    uniform: ClassVar[bool] = False

    def init(self) -> Moments:
        """Return the state before the first value."""
        empty = np.zeros(self.actions)
        return Moments(empty, empty, empty, np.ones(self.actions), empty, self.population, self.level)


class Hoeffding(FixedCount):
    """mean +- sqrt(ln(2 / level) / (2 n)), the same with and without replacement.

    >>> seen = Hoeffding(population=1000)
    >>> seen.extend([0.0, 1.0] * 50)
    >>> seen.interval()
    Interval(low=0.364..., high=0.635...)
    """

    @staticmethod
    def take(state: Moments, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        add(state, action, value)
        settle(state, action, hoeffding(state.counts[action], state.level))


class Serfling(FixedCount):
    """mean +- sqrt(f ln(2 / level) / (2 n)) with f about the share of the pool that is not yet seen.

    >>> seen = Serfling(population=200)
    >>> seen.extend([0.0, 1.0] * 50)
    >>> seen.interval()
    Interval(low=0.403..., high=0.596...)
    """

    @staticmethod
    def take(state: Moments, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        add(state, action, value)
        settle(state, action, serfling(state.counts[action], state.population, state.level))


class EmpiricalBernsteinSerfling(FixedCount):
    """mean +- sqrt(2 f v l / n) + 4.45 l / n with the empirical variance v and l = ln(7 / level): for small v.

    >>> seen = EmpiricalBernsteinSerfling(population=2000)
    >>> seen.extend([0.5, 0.51] * 500)
    >>> seen.interval()
    Interval(low=0.482..., high=0.527...)
    """

    @staticmethod
    def take(state: Moments, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        add(state, action, value)
        variance = state.squares[action] / state.counts[action]
        settle(state, action, bernstein_serfling(state.counts[action], state.population, variance, state.level))
