"""Bounds of FrugalUCB and Thrifty, C sqrt(k T) (docs/theory/frugal.md, Theorem 2).

The same sum bounds the regret of every learner that plays the smallest index and reconsiders an action when its count
has grown by a half (FrugalUCB, OptimisticSimulation) or by an eighth (Thrifty).
"""

import math
from functools import lru_cache

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, drift

# Length of the first block of an action, in switching prices, so that the block outweighs the switch.
_STRETCH = 16.0
# Ratio of neighbouring grid points of R in `_index_shortfall`: steps of 2 %.
_FINE = 1.02
# Bisection steps for the point where a tail probability reaches 1: an error of 2^-14.
_HALVINGS = 14
# FrugalUCB decides again about an action when its plays have grown by 1/HALVES of themselves.
HALVES = 2
# Thrifty decides again about an action when its plays have grown by 1/EIGHTHS of themselves: more often, because its
# decisions depend on a prior.
EIGHTHS = 8
# Factor of the exploration term in the index of Thrifty, where FrugalUCB has 1: less exploration, but above 1/2, below
# which the bound gains a logarithm.
THRIFTY_SCALE = 0.7
# FrugalUCB adds FRUGAL_TOLL * price / (rounds left) to the index of every action but the current one, which keeps it
# from switching late.
FRUGAL_TOLL = 2.0
# The same factor in Thrifty.
THRIFTY_TOLL = 8.0


def frugal_first_block(horizon: int, actions: int, price: float = 1.0) -> int:
    r"""Return the number of rounds of the first block of an action in FrugalUCB.

    .. math:: \max \left(1, \left\lfloor \min (16 \, \mathrm{price}, 2 \sqrt{T / k}) \right\rfloor\right)

    horizon, actions: T and k, number of rounds and of actions.
    price: cost of a switch, in losses.

    >>> frugal_first_block(2**14, 2), frugal_first_block(2**14, 2, price=0.0)
    (16, 1)
    """
    return max(1, math.floor(min(_STRETCH * price, 2 * math.sqrt(horizon / actions))))


def _frugal_counts(horizon: int, block: int, parts: int = HALVES) -> list[int]:
    """Return the play counts at which an action is reconsidered.

    >>> _frugal_counts(100, 16), _frugal_counts(16, 1, parts=8)
    ([16, 32, 48, 72], [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15])
    """
    counts = [block]
    while (following := counts[-1] + max(block, -(-counts[-1] // parts))) < horizon:
        counts.append(following)
    return [count for count in counts if count < horizon]


def growing_block_switches(horizon: int, actions: int, block: int, parts: int = HALVES) -> float:
    """Bound the number of switches of a learner that plays in growing blocks.

    It counts the blocks begun. An action played N times has begun at most one block more than there are block ends
    below N, a concave function of N between these ends.

    horizon, actions: T and k, number of rounds and of actions.
    block: number of plays in the first block of an action.
    parts: each later block adds 1/parts to the plays of its action, by default a half.
    """
    counts = _frugal_counts(horizon, block, parts)
    blocks = np.interp(horizon / actions, [0, *counts], np.arange(len(counts) + 1) + 1.0)
    return 0.0 if actions == 1 else min(horizon - 1.0, actions * float(blocks) - 1)


def frugal_switches(horizon: int, actions: int, price: float = 1.0) -> float:
    """Bound the number of switches of FrugalUCB by the number of its blocks.

    horizon, actions: T and k, number of rounds and of actions.
    price: cost of a switch, in losses.

    >>> round(frugal_switches(2**16, 2), 1)
    39.1
    """
    return growing_block_switches(horizon, actions, frugal_first_block(horizon, actions, price))


def frugal_ucb(horizon: int, actions: int, price: float = 1.0, scale: float = 1.0) -> float:
    r"""Bound the regret of FrugalUCB with switching costs, in random order, no delay.

    .. math:: (k-1) b_0 + A + B + \mathrm{drift}(T, k) + 2 \, \mathrm{price} \, H_T + \mathrm{price} \cdot S

    A is the shortfall of the index of the best action, B the excess of the indices of the others (`smallest_index`),
    b_0 the first block and S the bound `frugal_switches`. For scale 1, A + B is at most 8.1 sqrt(k T). Without the last
    term it is at most T. H_T is a harmonic number.

    horizon, actions: T and k, number of rounds and of actions.
    price: cost of a switch, in losses.
    scale: factor of the radius in the index.

    >>> round(frugal_ucb(2**16, 2)), round(frugal_ucb(2**16, 10))
    (2419, 6217)
    """
    regret = smallest_index(horizon, actions, frugal_first_block(horizon, actions, price), scale) + _tolls(
        horizon, FRUGAL_TOLL * price
    )
    return capped(regret, horizon, actions) + price * frugal_switches(horizon, actions, price)


def thrifty(horizon: int, actions: int, price: float = 1.0) -> float:
    r"""Bound the regret of Thrifty with switching costs, in random order, no delay.

    .. math:: 2 E + 8 \, \mathrm{price} \, H_T + \mathrm{price} \cdot S

    E is `thrifty_exploration_budget`: the budget itself, and as much again for playing by indices. H_T is a harmonic
    number, and S bounds the number of blocks (docs/theory/thrifty.md). Without the last term it is at most T.

    horizon, actions: T and k, number of rounds and of actions.
    price: cost of a switch, in losses.

    >>> round(thrifty(2**16, 2)), round(thrifty(2**16, 10))
    (13004, 24526)
    """
    switches = price * growing_block_switches(horizon, actions, 1, EIGHTHS)
    regret = 2 * thrifty_exploration_budget(horizon, actions) + _tolls(horizon, THRIFTY_TOLL * price)
    return capped(regret, horizon, actions) + switches


def thrifty_exploration_budget(horizon: int, actions: int) -> float:
    """Return the exploration budget of Thrifty, in losses.

    It limits the loss in plays that its indices do not choose, and is the regret bound of playing by these indices.

    horizon, actions: T and k, number of rounds and of actions.

    >>> round(thrifty_exploration_budget(2**16, 2)), round(thrifty_exploration_budget(500, 25))
    (6380, 589)
    """
    return smallest_index(horizon, actions, 1, THRIFTY_SCALE, EIGHTHS)


def _tolls(horizon: int, toll: float) -> float:
    r"""Return the total loss caused by a toll on switches in the indices.

    .. math:: \mathrm{toll} \cdot H_T
    """
    return toll * math.fsum(1 / left for left in range(1, horizon + 1))


def smallest_index(horizon: int, actions: int, block: int = 1, scale: float = 1.0, parts: int = HALVES) -> float:
    r"""Bound the regret of playing the smallest index, in random order.

    .. math:: (k-1) b_0 + A + B + \mathrm{drift}(T, k)

    A is the shortfall of the index of the best action, B the excess of the indices of the others, in mean loss times
    plays; the last term is `drift`. The index of an action with n losses is their mean less `scale` times a radius of
    about sqrt(ln(T/(k n)) / n) (docs/theory/frugal.md).

    horizon, actions: T and k, number of rounds and of actions.
    block: b_0, number of plays in the first block of an action.
    scale: factor of the radius in the index.
    parts: a count of plays grows by 1/parts of itself between two decisions, by default by a half.

    >>> round(smallest_index(2**16, 2)), round(smallest_index(2**16, 10))
    (2520, 6467)
    """
    if actions == 1:
        return 0.0
    promises = _index_shortfall(horizon, actions, block, scale, parts) + _index_overshoot(
        horizon, actions, block, scale, parts
    )
    return (actions - 1) * block + promises + drift(horizon, actions)


@lru_cache(maxsize=256)
def _index_shortfall(horizon: int, actions: int, block: int, scale: float, parts: int = HALVES) -> float:
    r"""Bound the total shortfall of the best action's index below its mean.

    .. math:: A = \sum_{R=1}^{T} E \max (0, m - I_R)

    m is the mean of the action, and I_R its smallest index with R rounds left. The expected shortfall falls in R, so
    it is computed at R = 1, 2, .. in steps of 2 %, and taken for all R up to the next.
    """
    marks = [1]
    while marks[-1] < horizon:
        marks.append(min(horizon, max(marks[-1] + 1, int(_FINE * marks[-1]))))
    counts = np.array(_frugal_counts(horizon, block, parts), dtype=np.float64)
    excesses = [_excess(left, horizon, actions, counts, scale) for left in marks]
    return float(np.dot(excesses, np.diff([*marks, horizon + 1])))


def _excess(left: int, horizon: int, actions: int, counts: Floats, scale: float) -> float:
    """Integrate min(1, tail) over [0, 1]; tail is a sum of p(n) exp(-2 n x^2)."""
    few = counts < left / actions
    extra = math.exp(scale / (math.e * actions))
    probabilities = extra * np.power(counts[few] * actions / left, scale)
    sizes = counts[few]
    if not few.all():
        probabilities, sizes = np.append(probabilities, 1.0), np.append(sizes, counts[~few].min())
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        x = (low + high) / 2
        low, high = (x, high) if float(np.sum(probabilities * np.exp(-2 * sizes * x * x))) > 1 else (low, x)
    roots = np.sqrt(2 * sizes)
    tails = [
        probability / root * (math.erf(root) - math.erf(root * high))
        for probability, root in zip(probabilities, roots, strict=True)
    ]
    return high + math.sqrt(math.pi) / 2 * math.fsum(tails)


def _index_overshoot(horizon: int, actions: int, block: int, scale: float, parts: int = HALVES) -> float:
    """Bound the total excess of the worse actions' means over their indices.

    It is the term B of `smallest_index`: the blocks of each action, times the radius of its index at their start.
    """
    counts = np.array(_frugal_counts(horizon, block, parts), dtype=np.float64)
    if counts.size == 0:
        return 0.0
    lengths = np.diff([*counts, horizon])
    share = horizon / actions
    early = counts < share
    n = counts[early]
    radii = np.sqrt(scale * np.log(share / n) / (2 * n)) + 1 / (4 * np.sqrt(n))
    before = (actions - 1) * float(np.sum(lengths[early] * np.minimum(1.0, radii)))
    n, length = counts[~early], lengths[~early]
    if n.size == 0:
        return before
    v = np.sqrt(np.log(math.e * n / share) / (2 * n))
    rare = np.exp(-2 * n * v * v) * np.minimum(np.sqrt(math.pi / (8 * n)), 1 / (4 * n * v))
    paid = horizon * float(np.max(np.cumsum(length * v) / n))
    return before + paid + (actions - 1) * float(np.sum(length * rare))
