"""Bets against "the mean of the pool is at most m": a mixture of four gamblers, for any effect and any spread.

After n of N values with sum S, the next has a mean of at most m_i = (N m - S) / (N - n) if the statement is true, so a
wealth multiplied by 1 + b (x - m_i), with a bet 0 <= b < 1 / m_i chosen from the past, has a mean of at most 1 for ever
(Waudby-Smith and Ramdas 2024), and so has any average of such wealths. One gambler estimates how far the mean is above
m, shrunk towards nothing and cut off below (ALPHA: Stark 2023); the other three assume it to be so many standard
deviations. All bet in the scale of what is left of the list (docs/theory/confidence.md). Kernels.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.engine.intrinsics import no_inline

GAPS = (0.35, 0.125, 0.04)  # in standard deviations: large, middling and small effects
SHRINK = 30.0  # as if so many values without any effect had been seen before
LEAST = 0.2  # the smallest gap that the one who estimates will bet on, in standard deviations, before the first value
BETS = 1 + len(GAPS)
WEIGHTS = (1 / 2, 1 / 6, 1 / 6, 1 / 6)
SHARE = 0.95  # of the wealth that one bet may lose
SLACK = 2.0  # nobody bets against a mean that is so many standard errors above the estimate
TINY = 1e-200


def gain(population: float, count: float) -> float:
    """Return N / (N - count): how much more a value says about the mean of the pool once `count` rows are gone."""
    return population / (population - count) if population < math.inf else 1.0


def spread(squares: float, count: float) -> float:
    """Return the estimate of the variance, from the sum of squared distances to the guesses so far."""
    return (0.25 + squares) / (1.0 + count)


def guess(total: float, count: float) -> float:
    """Return the estimate of the mean, as if one value of 1/2 had been seen before."""
    return (0.5 + total) / (1.0 + count)


def reach(total: float, count: float, variance: float) -> float:
    """Return the largest mean that it makes sense to bet against."""
    return guess(total, count) + SLACK * math.sqrt(variance / (1.0 + count))


@no_inline
def place(
    points: Floats, wealth: Any, row: int, first: int, last: int,
    value: float, total: float, count: float, population: float, variance: float,
) -> None:  # fmt: skip
    """Let four gamblers, in wealth[row : row + 4], bet against each of points[first : last] that the value is above it.

    The points rise. What is bet follows from `total`, `count` and `variance`, which are of the past.
    """
    means = points[first:last]
    g, gone = gain(population, count), total / (population - count)
    cap = SHARE / max(g * means[means.size - 1] - gone, 1e-12)
    deviation, shrunk = math.sqrt(variance), 1.0 / (SHRINK + count)
    least = LEAST * deviation * math.sqrt(SHRINK * shrunk)
    own = wealth[row][first:last]
    for j in range(means.size):
        gap = (total - count * means[j]) * shrunk
        gap = gap if gap > least else least
        size = variance + gap * gap
        bet = g * gap / (size if size > TINY else TINY)
        bet = bet if bet < cap else cap
        left = own[j] * (1.0 + bet * (value + gone - g * means[j]))
        own[j] = left if left > TINY else 0.0
    for q in range(len(GAPS)):
        bet, own = min(g * GAPS[q] / deviation, cap), wealth[row + 1 + q][first:last]
        rise, slope = 1.0 + bet * (value + gone), bet * g
        for j in range(means.size):
            left = own[j] * (rise - slope * means[j])
            own[j] = left if left > TINY else 0.0


def tracker(wealth: Any, row: int, at: int) -> float:
    """Return the wealth of the four gamblers together."""
    total = 0.0
    for q in range(BETS):
        total += WEIGHTS[q] * wealth[row + q, at]
    return total
