"""The bound of UCB2 in random order, by the plays of an action with a given gap.

The count is that of Auer, Cesa-Bianchi and Fischer 2002, proof of Theorem 2, summed exactly instead of bounded by a
constant. It transfers to random order, because its events concern one column at a fixed count
(docs/theory/transfer.md).
"""

import math
from functools import lru_cache

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, drift

# Number of gaps on the grid over which `ucb2` takes the maximum.
_STEPS = 160
# Shares y of the gap that are tried in `ucb2_plays`.
_SHARES = np.arange(0.05, 0.7, 0.05)


def ucb2(horizon: int, actions: int, alpha: float = 0.5) -> float:
    r"""Bound the regret of UCB2 in random order.

    .. math:: \min_x \left(x T + (k-1) \max_D \, (D - x) \, n(D)\right) + \mathrm{drift}(T, k)

    n(D) is `ucb2_plays`; gaps below x cost at most x in every round. It is of order sqrt(k T ln T).

    horizon, actions: T and k, number of rounds and of actions.
    alpha: parameter of UCB2: plays of an action grow by the factor 1 + alpha between two decisions.

    >>> round(ucb2(2**16, 2))
    818
    """
    edges, plays = _plays(horizon, alpha)
    worst = min(x * horizon + (actions - 1) * float(np.max((edges[1:] - x) * plays)) for x in edges)
    return capped(worst + drift(horizon, actions), horizon, actions)


def _ucb2_counts(horizon: int, alpha: float) -> list[int]:
    r"""Return the counts at which UCB2 reconsiders an action.

    .. math:: \lceil (1 + \alpha)^r \rceil < T, \qquad r = 0, 1, 2, \ldots

    >>> _ucb2_counts(20, 0.5)
    [1, 2, 3, 4, 6, 8, 12, 18]
    """
    counts, power = [1], 1.0
    while math.ceil(power) < horizon:
        power *= 1 + alpha
        if counts[-1] < math.ceil(power) < horizon:
            counts.append(math.ceil(power))
    return counts


def ucb2_plays(gap: float, horizon: int, alpha: float = 0.5) -> float:
    r"""Bound the expected plays by UCB2 of an action that is worse by `gap`.

    .. math:: 1 + \min_y \sum_m L_m \min (1, P_a(m) + P_b(m))

    over the counts m and the L_m plays after them, on i.i.d. rows or in random order. P_a is the probability that the
    action looks as good as the mean of the best one plus y, P_b that the best one looks worse:

    .. math:: P_a = e^{-2 m (\mathrm{gap} - y - r)^2}, \quad r = \sqrt{\frac{(1+\alpha) \ln (e T / m)}{2 m}}, \qquad
       P_b = \sum_s e^{-2 s y^2} \left(\frac{e (m+s)}{s}\right)^{-(1+\alpha)}

    gap: difference of the mean losses of the action and the best one.
    horizon: T, number of rounds.
    alpha: parameter of UCB2: plays of an action grow by the factor 1 + alpha between two decisions.

    >>> round(ucb2_plays(0.3, 2**14)), ucb2_plays(0.0, 100)
    (241, 100.0)
    """
    m = np.array(_ucb2_counts(horizon, alpha), dtype=np.float64)
    lengths = np.diff([*m, horizon])
    radii = np.sqrt((1 + alpha) * np.log(math.e * horizon / m) / (2 * m))
    odds = np.power(math.e * (m[:, None] + m) / m, -(1 + alpha))
    least = float(horizon)
    for y in _SHARES * gap:
        looks = np.exp(-2 * m * np.maximum(0.0, gap - y - radii) ** 2) + odds @ np.exp(-2 * m * y * y)
        least = min(least, 1 + float(np.sum(lengths * np.minimum(1.0, looks))))
    return least


@lru_cache(maxsize=64)
def _plays(horizon: int, alpha: float) -> tuple[Floats, Floats]:
    """Return gaps from 1/T to 1, and the plays at each but the last.

    No larger gap is played more.
    """
    edges = np.append(0.0, np.geomspace(0.1 / math.sqrt(horizon), 1.0, _STEPS))
    return edges, np.array([ucb2_plays(float(gap), horizon, alpha) for gap in edges[:-1]])
