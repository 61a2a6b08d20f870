"""The bound of UCB2 in random order: how often an action with a given gap is played, and the worst gaps.

The count is that of Auer, Cesa-Bianchi and Fischer 2002, proof of Theorem 2, added up as it is instead of bounded by
a constant; it transfers, as its events concern one column at a fixed count (docs/theory/transfer.md).
"""

import math
from functools import lru_cache

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, drift

STEPS = 160
SHARES = np.arange(0.05, 0.7, 0.05)


def ucb2(horizon: int, actions: int, alpha: float = 0.5) -> float:
    """Bound the regret of UCB2 in random order: min over x of x T + (k-1) max_D (D - x) n(D), and the drift.

    n(D) is `ucb2_plays`; gaps below x cost at most x in every round. It is of order sqrt(k T ln T).

    >>> round(ucb2(2**16, 2))
    818
    """
    edges, plays = _plays(horizon, alpha)
    worst = min(x * horizon + (actions - 1) * float(np.max((edges[1:] - x) * plays)) for x in edges)
    return capped(worst + drift(horizon, actions), horizon, actions)


def ucb2_counts(horizon: int, alpha: float) -> list[int]:
    """Return the counts at which UCB2 looks at an action again: the values of ceil((1 + alpha)^r) below T.

    >>> ucb2_counts(20, 0.5)
    [1, 2, 3, 4, 6, 8, 12, 18]
    """
    counts, power = [1], 1.0
    while math.ceil(power) < horizon:
        power *= 1 + alpha
        if counts[-1] < math.ceil(power) < horizon:
            counts.append(math.ceil(power))
    return counts


def ucb2_plays(gap: float, horizon: int, alpha: float = 0.5) -> float:
    """Bound the mean number of plays of an action whose loss is higher by `gap`, on i.i.d. rows or in random order.

    The smallest over y of 1 + sum over counts m and the plays L after them of L min(1, P_a(m) + P_b(m)), where
    P_a = exp(-2 m (gap - y - r)^2), r = sqrt((1+alpha) ln(eT/m) / (2m)), is the probability that the action looks as good
    as the best one's mean plus y, and P_b = sum_s exp(-2 s y^2) (e (m+s)/s)^-(1+alpha) that the best one looks worse.

    >>> round(ucb2_plays(0.3, 2**14)), ucb2_plays(0.0, 100)
    (241, 100.0)
    """
    m = np.array(ucb2_counts(horizon, alpha), dtype=np.float64)
    lengths = np.diff([*m, horizon])
    radii = np.sqrt((1 + alpha) * np.log(math.e * horizon / m) / (2 * m))
    odds = np.power(math.e * (m[:, None] + m) / m, -(1 + alpha))
    least = float(horizon)
    for y in SHARES * gap:
        looks = np.exp(-2 * m * np.maximum(0.0, gap - y - radii) ** 2) + odds @ np.exp(-2 * m * y * y)
        least = min(least, 1 + float(np.sum(lengths * np.minimum(1.0, looks))))
    return least


@lru_cache(maxsize=64)
def _plays(horizon: int, alpha: float) -> tuple[Floats, Floats]:
    """Gaps from 1/T to 1, and the plays at each but the last: no larger gap is played more."""
    edges = np.append(0.0, np.geomspace(0.1 / math.sqrt(horizon), 1.0, STEPS))
    return edges, np.array([ucb2_plays(float(gap), horizon, alpha) for gap in edges[:-1]])
