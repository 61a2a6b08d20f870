"""Intervals: those of `tombola.confidence` on every 0/1 sample of one size at once, and how often they miss."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola._types import Floats

ROUNDING = 1e-12
Intervals: TypeAlias = Callable[[float, float, int], Any]  # population, level, actions -> Confidence


class Ends(NamedTuple):
    """The lower and the upper end of the interval for each number of ones among the rows seen."""

    lows: Floats
    highs: Floats


def with_ones(interval: Intervals, population: float, seen: int, level: float) -> Ends:
    """Return the intervals after 0, 1, .., `seen` ones among the rows seen.

    >>> from tombola.confidence import Hoeffding
    >>> with_ones(Hoeffding, 10, 2, 0.05).highs.tolist()
    [0.8, 0.9, 1.0]
    """
    confidence = interval(population, level, seen + 1)
    confidence.extend((np.arange(seen)[:, None] < np.arange(seen + 1)).astype(np.float64))
    return Ends(confidence.lows, confidence.highs)


def missed(law: Floats, ends: Ends, population: int) -> Floats:
    """Return the probability that the interval misses the mean, for every number of ones in the pool.

    `law[ones]` has the probabilities of 0, 1, .. ones among the rows seen.
    """
    means = np.arange(population + 1)[:, None] / population
    outside = (means < ends.lows - ROUNDING) | (means > ends.highs + ROUNDING)
    return np.asarray(np.where(outside, law, 0.0).sum(axis=1))


def halved(interval: Intervals) -> Intervals:
    """Return intervals with half the radius, where that is sqrt(ln(2 / level) ..): those of a level too high.

    >>> from tombola.confidence import Hoeffding
    >>> whole, half = (with_ones(kind, 10**6, 1000, 0.05).highs[500] for kind in (Hoeffding, halved(Hoeffding)))
    >>> round(float((half - 0.5) / (whole - 0.5)), 9)
    0.5
    """
    return lambda population, level, actions: interval(population, min(0.999, 2 * (level / 2) ** 0.25), actions)
