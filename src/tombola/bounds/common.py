"""Parts shared by several bounds: cap, drift, counts, and sums in constant time."""

import math
from collections.abc import Callable

import numpy as np

from tombola._types import Floats

# zeta(1/2), the constant term in the asymptotic series of the sum of 1/sqrt(n) for n = 1..N.
ZETA_HALF = -1.4603545088095868
# Number of terms from which on sums use the asymptotic series; its omitted terms are then below
# 1e-14.
_MIN_SERIES_TERMS = 64
# Terms in memory at a time: a list may have billions of rows.
_TERMS_AT_A_TIME = 1 << 20


def capped(bound: float, horizon: float, actions: int) -> float:
    """Return min(T, bound), since no regret exceeds T, and 0 for a single action.

    >>> capped(250.0, 100, 2), capped(2.5, 100, 2), capped(2.5, 100, 1)
    (100.0, 2.5, 0.0)
    """
    return 0.0 if actions == 1 else min(float(horizon), bound)


def sum_of_terms(count: int, term: Callable[[Floats], Floats]) -> float:
    """Return the sum of a function of n over n = 1..count, a part at a time.

    term: of an array of n.

    >>> sum_of_terms(4, lambda n: n**2)
    30.0
    """
    total = 0.0
    for first in range(1, count + 1, _TERMS_AT_A_TIME):
        last = min(count, first + _TERMS_AT_A_TIME - 1)
        total += float(np.sum(term(np.arange(first, last + 1, dtype=np.float64))))
    return total


def sum_of_inverse_roots(count: int) -> float:
    """Return the sum of 1/sqrt(n) for n = 1..count; large ones by Euler-Maclaurin.

    >>> round(sum_of_inverse_roots(3), 6), round(sum_of_inverse_roots(10**12), 3)
    (2.284457, 1999998.54)
    """
    if count < _MIN_SERIES_TERMS:
        return math.fsum(1 / math.sqrt(n) for n in range(1, count + 1))
    root = math.sqrt(count)
    return (
        2 * root
        + ZETA_HALF
        + 1 / (2 * root)
        - 1 / (24 * count * root)
        + 1 / (384 * count**3 * root)
    )


def harmonic(count: int) -> float:
    """Return H_N, the sum of 1/n for n = 1..N; large ones by Euler-Maclaurin.

    >>> harmonic(4), round(harmonic(10**9), 6)
    (2.0833333333333335, 21.300482)
    """
    if count < _MIN_SERIES_TERMS:
        return math.fsum(1 / n for n in range(1, count + 1))
    square = float(count) ** 2
    euler = 0.5772156649015329
    return (
        math.log(count) + euler + 1 / (2 * count) - 1 / (12 * square) + 1 / (120 * square * square)
    )


def counts_below(horizon: float, first: int, following: Callable[[int], int]) -> list[int]:
    """Return the counts first, following(first), .. below the horizon."""
    counts = []
    n = first
    while n < horizon:
        counts.append(n)
        n = following(n)
    return counts


def growing_counts(horizon: int, growth: float) -> list[int]:
    """Return the row counts below T, from 1, that grow by a factor, rounded down.

    growth: the factor, above 1.

    >>> growing_counts(12, 1.5)
    [1, 2, 3, 4, 6, 9]
    """
    return counts_below(horizon, 1, lambda n: max(n + 1, int(growth * n)))


def drift(horizon: int, actions: int) -> float:
    r"""Bound the expected drift of a learner in random order.

    Drift is the loss of the actions played minus the sum of their mean losses in the pool.

    .. math:: \left(\frac{\pi}{2} \sqrt{T} + 1.31\right) \sqrt{\frac{\ln k}{2}}, \qquad
       \frac{\pi}{4} \sqrt{T} \quad (k = 2)

    The means of the remaining rows differ from those of the pool by at most this much (Serfling
    1974), for every choice of actions from the past (docs/theory/transfer.md, Lemma 2).

    >>> round(drift(10_000, 2), 1), round(drift(10_000, 10), 1)
    (78.5, 169.9)
    """
    if actions == 2:
        return math.pi / 4 * math.sqrt(horizon)
    return (math.pi / 2 * math.sqrt(horizon) + 1.31) * math.sqrt(math.log(actions) / 2)


def drift_of_counts(horizon: int, counts: list[float], spreads: list[float] | None = None) -> float:
    r"""Bound the `drift` of a learner with bounded play counts of its worse actions.

    .. math:: \sum_a s_a \sqrt{h_T n_a}, \qquad h_T = \frac{T (H_T - 1)}{T - 1}

    H_T is the harmonic number 1 + 1/2 + .. + 1/T.

    counts: n_a, bound on the expected number of plays of each action but the best one.
    spreads: s_a, standard deviation of loss(a) - loss(best) over the pool for the same actions, at
        most 1; None is 1 for each.

    >>> round(drift_of_counts(10_000, [100.0]), 1)
    29.6
    """
    if horizon == 1:
        return 0.0
    factor = horizon * (harmonic(horizon) - 1) / (horizon - 1)
    each = zip(counts, [1.0] * len(counts) if spreads is None else spreads, strict=True)
    return math.fsum(spread * math.sqrt(factor * count) for count, spread in each)
