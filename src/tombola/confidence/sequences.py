"""Intervals that hold at all counts at once, in closed form (Waudby-Smith and Ramdas 2020, without replacement).

With S the sum of the first i - 1 values, the mean of what is left is m_i = (N m - S) / (N - i + 1) if the mean of the
pool is m. The product of exp(b_i (x_i - m_i) - cost_i) is a supermartingale for every m at which the bets b_i may be
chosen from the past; Ville's inequality and its mirror image give an interval around a weighted mean.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.confidence.base import Confidence, narrow
from tombola.confidence.bet_sizes import gain

BEST_AT = 100.0  # the count at which the mixture is tuned
LARGEST = 0.5  # a Bernstein bet must stay below 1, where its cost is infinite


class Weighted(NamedTuple):
    """What has been seen of every action, and the sums that give the interval."""

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats
    effort: Floats
    numerator: Floats
    denominator: Floats
    cost: Floats
    population: float
    depth: float


def weighted(confidence: Confidence) -> Weighted:
    """Return the state before the first value."""
    k = confidence.actions
    empty = np.zeros(k)
    return Weighted(
        counts=empty,
        total=empty,
        low=empty,
        high=np.ones(k),
        squares=empty,
        effort=empty,
        numerator=empty,
        denominator=empty,
        cost=empty,
        population=confidence.population,
        depth=math.log(2.0 / confidence.level),
    )


def pace(state: Any, action: int, variance: float) -> float:
    """Return the next bet for values of this variance, and count its effort.

    The bet that is best at count n is g_i sqrt(2 depth / (variance * (g_1^2 + ... + g_n^2))) with g = gain;
    here n is always now, and a logarithm keeps the costs summable.
    """
    i = state.counts[action] + 1.0
    g = gain(state.population, state.counts[action])
    state.effort[action] += g * g
    return g * math.sqrt(2.0 * state.depth / (max(variance, 1e-12) * state.effort[action] * math.log(1.0 + i)))


def add(state: Any, action: int, value: float, bet: float, cost: float) -> None:
    """Count a value with this bet, and write the interval."""
    left = state.population - state.counts[action]
    state.numerator[action] += bet * (value + state.total[action] / left)
    state.denominator[action] += bet * gain(state.population, state.counts[action])
    state.cost[action] += cost
    state.counts[action] += 1.0
    state.total[action] += value
    centre = state.numerator[action] / state.denominator[action]
    half = (state.depth + state.cost[action]) / state.denominator[action]
    narrow(state, action, centre - half, centre + half, state.population)


class HoeffdingSequence(Confidence):
    """Holds at all counts at once for any values in [0, 1], with Robbins' mixture over all constant bets.

    With g = gain and V = (g_1^2 + ... + g_n^2) / 4, the half width at count n is
    sqrt((V + r) (2 ln(1 / level) + ln(1 + V / r))) / (4 V), where r makes it best near a count of 100.

    >>> seen = HoeffdingSequence(population=1000)
    >>> seen.extend([0.0, 1.0] * 50)
    >>> round(seen.interval().width, 3)
    0.284
    """

    uniform: ClassVar[bool] = True

    def init(self) -> Weighted:
        """Return the state before the first value."""
        return weighted(self)

    @staticmethod
    def take(state: Weighted, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        g = gain(state.population, state.counts[action])
        state.numerator[action] += g * (value + state.total[action] / (state.population - state.counts[action]))
        state.denominator[action] += g * g
        state.counts[action] += 1.0
        state.total[action] += value
        twice = 2.0 * (state.depth - math.log(2.0))
        rest = BEST_AT / 4.0 / (twice + math.log(1.0 + twice))
        spread = state.denominator[action] / 4.0
        half = math.sqrt((spread + rest) * (twice + math.log(1.0 + spread / rest))) / state.denominator[action]
        centre = state.numerator[action] / state.denominator[action]
        narrow(state, action, centre - half, centre + half, state.population)


class BernsteinSequence(Confidence):
    """Holds at all counts at once, with cost_i = (x_i - guess_i)^2 (-ln(1 - b_i) - b_i): narrow where values are close.

    >>> seen = BernsteinSequence(population=2000)
    >>> seen.extend([0.5, 0.51] * 500)
    >>> round(seen.interval().width, 3)
    0.011
    """

    uniform: ClassVar[bool] = True

    def init(self) -> Weighted:
        """Return the state before the first value."""
        return weighted(self)

    @staticmethod
    def take(state: Weighted, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        n = state.counts[action]
        guess = (0.5 + state.total[action]) / (1.0 + n)
        bet = min(LARGEST, pace(state, action, (0.25 + state.squares[action]) / (1.0 + n)))
        off = (value - guess) * (value - guess)
        state.squares[action] += off
        add(state, action, value, bet, off * (-math.log1p(-bet) - bet))
