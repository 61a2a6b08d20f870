"""Chances: for one check of a verdict, how likely rows at least so far off are if the statement is true.

Small is bad: the check fails when its probability is below the luck that the claim allows, so a true statement fails with no
more than that probability. An exact statement has the probability 0 or 1. What this leaves open, whether the check would see
anything at all, the faults answer.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tombola import _statistics
from tombola._types import Floats

ROUNDING = 1e-9


def exact(true: bool) -> float:  # noqa: FBT001 - a statement, not a switch
    """Return the probability of a statement that is computed: 1 if it is true, 0 if not.

    >>> exact(2 + 2 == 4)
    1.0
    """
    return 1.0 if true else 0.0


def at_most(values: Floats, limit: float) -> float:
    """Return the probability of a mean so high, if the true mean is at most the limit (Student, one side).

    >>> round(at_most(np.array([1.0, 2.0, 3.0]), limit=1.0), 4), at_most(np.array([1.0, 1.0]), limit=1.0)
    (0.1127, 1.0)
    """
    from scipy.special import stdtr

    mean, error = float(np.mean(values)), _error(values)
    room = ROUNDING * max(1.0, abs(limit))
    if mean <= limit + room or math.isinf(error):
        return 1.0
    return float(stdtr(values.size - 1, (limit - mean) / error)) if error > 0 else 0.0


def at_least(values: Floats, limit: float) -> float:
    """Return the probability of a mean so low, if the true mean is at least the limit.

    >>> round(at_least(np.array([1.0, 2.0, 3.0]), limit=3.0), 4)
    0.1127
    """
    return at_most(-np.asarray(values, dtype=np.float64), -limit)


def equal(values: Floats, mean: float) -> float:
    """Return the probability of a mean so far off on either side, if the true mean is this one.

    >>> round(equal(np.array([1.0, 2.0, 3.0]), mean=3.0), 4)
    0.2254
    """
    return min(1.0, 2 * min(at_most(values, mean), at_least(values, mean)))


def rare(misses: int, plays: int, probability: float) -> float:
    """Return the probability of so many misses, if each play misses with at most this probability (binomial).

    >>> round(rare(3, plays=20, probability=0.05), 4), rare(0, plays=20, probability=0.05)
    (0.0755, 1.0)
    """
    from scipy.special import bdtrc

    return 1.0 if misses <= 0 else float(bdtrc(misses - 1, plays, probability))


def share(hits: int, plays: int, probability: float) -> float:
    """Return the probability of a number of hits so far off on either side, if each play hits with exactly this probability.

    >>> share(5, plays=10, probability=0.5), round(share(10, plays=10, probability=0.5), 5)
    (1.0, 0.00195)
    """
    return min(1.0, 2 * min(rare(hits, plays, probability), rare(plays - hits, plays, 1 - probability)))


def even(counts: Floats) -> float:
    """Return the probability of counts so uneven, or so even, if all are equally likely (chi-square).

    Few counts are often even to the last one, so too even is only what sixteen or more of them can be.

    >>> even(np.array([0.0, 100.0])) < 1e-9, even(np.full(50, 10.0)) < 1e-9
    (True, True)
    """
    from scipy.special import chdtr, chdtrc

    expected = float(np.mean(counts))
    if counts.size < 2 or expected == 0:
        return 1.0
    statistic = float(np.sum((counts - expected) ** 2)) / expected
    uneven, too_even = float(chdtrc(counts.size - 1, statistic)), float(chdtr(counts.size - 1, statistic))
    return min(1.0, 2 * min(uneven, too_even if counts.size >= 16 else 1.0))


def no_steeper(horizons: Sequence[int], regrets: list[Floats], limits: Sequence[float]) -> float:
    """Return the probability of a slope of log mean regret on log T so far above that of the limits, if it is at most that.

    >>> noise = np.linspace(0.9, 1.1, 20)
    >>> no_steeper([10, 100, 1000], [T * noise for T in (10, 100, 1000)], [10**0.5, 10, 10**1.5]) < 1e-6
    True
    """
    return _tail(horizons, regrets, limits, 1.0)


def no_flatter(horizons: Sequence[int], regrets: list[Floats], limits: Sequence[float]) -> float:
    """Return the probability of a slope of log mean regret on log T so far below that of the limits, if it is at least that.

    >>> noise = np.linspace(0.9, 1.1, 20)
    >>> no_flatter([10, 100, 1000], [T * noise for T in (10, 100, 1000)], [10**0.5, 10, 10**1.5])
    1.0
    """
    return _tail(horizons, regrets, limits, -1.0)


def joint(probabilities: Iterable[float]) -> float:
    """Return the probability of the least likely of these, whichever it is: the smallest, times their number (Bonferroni).

    >>> joint([0.2, 0.01, 1.0])
    0.03
    """
    listed = list(probabilities)
    return min(1.0, len(listed) * min(listed, default=1.0))


def _error(values: Floats) -> float:
    """The standard error of a mean; unknown for one value."""
    if values.size < 2:
        return math.inf
    return float(np.std(values, ddof=1)) / math.sqrt(values.size)


def _tail(horizons: Sequence[int], regrets: list[Floats], limits: Sequence[float], side: float) -> float:
    """The probability of a slope so far off on one side; 1 where there is none, because a mean is not above 0."""
    from scipy.special import stdtr, stdtrit

    x = np.array(horizons, dtype=np.float64)
    if x.size < 3 or min(float(np.mean(values)) for values in regrets) <= 0:
        return 1.0
    found = _statistics.slope(x, regrets)
    allowed = float(np.polyfit(np.log(x), np.log(np.array(limits, dtype=np.float64)), 1)[0])
    error = found.half_width / float(stdtrit(x.size - 2, 0.975))
    freedom = sum(values.size - 1 for values in regrets)
    return float(min(1.0, 2 * stdtr(freedom, -max(0.0, side * (found.value - allowed)) / error)))
