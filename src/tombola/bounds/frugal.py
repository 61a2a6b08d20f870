"""Bounds of FrugalUCB and Thrifty, C sqrt(k T) (docs/theory/frugal.md, Theorem 2).

The index of an action is a lower confidence bound on its mean loss. The same sum bounds the regret
of every learner that plays the action with the smallest index, and chooses again when the plays of
that action have grown by a half (FrugalUCB, OptimisticSimulation) or by an eighth (Thrifty). T is
the horizon, k the number of actions, `price` the cost of a switch, in losses. Learners play in
blocks, numbers of consecutive rounds with one action; after n plays of an action its next block has
ceil(n / g) plays, g the `growth_divisor`, but at least `block`, b_0, as many as the first.
"""

import math
from functools import lru_cache

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, counts_below, drift

# Length of the first block of an action, in switching prices, so that the block outweighs the
# switch.
_STRETCH = 16.0
# Ratio of neighbouring grid points of R in `_best_index_excess`: steps of 2 %.
_FINE = 1.02
# Bisection steps for the point where a tail probability reaches 1: an error of 2^-14.
_HALVINGS = 14
# A block of FrugalUCB adds 1/2 to the plays of its action: n plays are followed by a block of
# ceil(n / 2), but never by one shorter than the first.
_FRUGAL_GROWTH_DIVISOR = 2
# A block of Thrifty adds 1/8 to the plays of its action: n plays are followed by a block of ceil(n
# / 8). Its blocks are shorter than those of FrugalUCB, because its decisions depend on a prior that
# may be wrong.
THRIFTY_GROWTH_DIVISOR = 8
# Factor of the exploration term in the index of Thrifty, where FrugalUCB has 1: less exploration,
# but above 1/2, below which the bound gains a logarithm.
THRIFTY_SCALE = 0.7
# FrugalUCB adds FRUGAL_TOLL * price / (rounds left) to the index of every action but the current
# one, which keeps it from switching late; `price` is the cost of a switch, in losses.
FRUGAL_TOLL = 2.0
# Thrifty adds THRIFTY_TOLL * price / (rounds left) to the index of every action but the current
# one.
THRIFTY_TOLL = 8.0


def frugal_first_block(horizon: int, actions: int, price: float = 1.0) -> int:
    r"""Return the number of rounds of the first block of an action in FrugalUCB.

    .. math:: \max \left(1, \left\lfloor \min (16 \, \mathrm{price}, 2 \sqrt{T / k})
    \right\rfloor\right)

    >>> frugal_first_block(2**14, 2), frugal_first_block(2**14, 2, price=0.0)
    (16, 1)
    """
    return max(1, math.floor(min(_STRETCH * price, 2 * math.sqrt(horizon / actions))))


def _frugal_counts(
    horizon: int, block: int, growth_divisor: int = _FRUGAL_GROWTH_DIVISOR
) -> list[int]:
    """Return the play counts below `horizon` at which a block of an action ends.

    >>> _frugal_counts(100, 16), _frugal_counts(16, 1, growth_divisor=8)
    ([16, 32, 48, 72], [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15])
    """
    return counts_below(horizon, block, lambda n: n + max(block, -(-n // growth_divisor)))


def growing_block_switches(
    horizon: int, actions: int, block: int, growth_divisor: int = _FRUGAL_GROWTH_DIVISOR
) -> float:
    """Bound the number of switches of a learner that plays in growing blocks.

    A switch starts a block, so the bound is the largest possible number of blocks, minus 1. An
    action with N plays has at most one block more than there are block ends below N. Interpolated
    between the block ends this is a concave function of N, so the sum over the actions is largest
    at N = T/k for each.

    block: number of plays in the first block of an action.
    growth_divisor: g; after n plays the next block of an action has ceil(n / g) rounds.
    """
    counts = _frugal_counts(horizon, block, growth_divisor)
    blocks = np.interp(horizon / actions, [0, *counts], np.arange(len(counts) + 1) + 1.0)
    return 0.0 if actions == 1 else min(horizon - 1.0, actions * float(blocks) - 1)


def frugal_switches(horizon: int, actions: int, price: float = 1.0) -> float:
    """Bound the number of switches of FrugalUCB by the number of its blocks.

    >>> round(frugal_switches(2**16, 2), 1)
    39.1
    """
    return growing_block_switches(horizon, actions, frugal_first_block(horizon, actions, price))


def frugal_ucb(horizon: int, actions: int, price: float = 1.0, scale: float = 1.0) -> float:
    r"""Bound the regret of FrugalUCB with switching costs, in random order, no delay.

    .. math:: (k-1) b_0 + A + B + \mathrm{drift}(T, k) + 2 \, \mathrm{price} \, H_T + \mathrm{price}
    \cdot S

    A and B are the errors of the indices, the best action's and the others' (`smallest_index`); b_0
    is `bounds.frugal.frugal_first_block`, H_T = 1 + 1/2 + .. + 1/T, and S the bound
    `frugal_switches`. For scale 1, A + B is at most 8.1 sqrt(k T). Without the last term the bound
    is at most T.

    scale: parameter of FrugalUCB: factor of the exploration term in the index.

    >>> round(frugal_ucb(2**16, 2)), round(frugal_ucb(2**16, 10))
    (2419, 6217)
    """
    block = frugal_first_block(horizon, actions, price)
    regret = smallest_index(horizon, actions, block, scale) + _tolls(horizon, FRUGAL_TOLL * price)
    return capped(regret, horizon, actions) + price * frugal_switches(horizon, actions, price)


def thrifty(horizon: int, actions: int, price: float = 1.0) -> float:
    r"""Bound the regret of Thrifty with switching costs, in random order, no delay.

    .. math:: 2 E + 8 \, \mathrm{price} \, H_T + \mathrm{price} \cdot S

    E is `thrifty_exploration_budget`: the budget itself, and as much again for playing the smallest
    index. H_T = 1 + 1/2 + .. + 1/T, and S is the bound `bounds.frugal.growing_block_switches` on
    the number of switches (docs/theory/frugal.md). Without the last term the bound is at most T.

    >>> round(thrifty(2**16, 2)), round(thrifty(2**16, 10))
    (13004, 24526)
    """
    switches = price * growing_block_switches(horizon, actions, 1, THRIFTY_GROWTH_DIVISOR)
    regret = 2 * thrifty_exploration_budget(horizon, actions) + _tolls(
        horizon, THRIFTY_TOLL * price
    )
    return capped(regret, horizon, actions) + switches


def thrifty_exploration_budget(horizon: int, actions: int) -> float:
    """Return the exploration budget of Thrifty, in losses.

    It limits the total loss, switching costs included, of plays of another action than the one with
    the smallest index. Its value is the regret bound of always playing the smallest index
    (`smallest_index`).

    >>> round(thrifty_exploration_budget(2**16, 2)), round(thrifty_exploration_budget(500, 25))
    (6380, 589)
    """
    return smallest_index(horizon, actions, 1, THRIFTY_SCALE, THRIFTY_GROWTH_DIVISOR)


def _tolls(horizon: int, toll: float) -> float:
    """Return the total loss caused by a toll on switches in the indices."""
    return toll * math.fsum(1 / left for left in range(1, horizon + 1))


def smallest_index(
    horizon: int,
    actions: int,
    block: int = 1,
    scale: float = 1.0,
    growth_divisor: int = _FRUGAL_GROWTH_DIVISOR,
) -> float:
    r"""Bound the regret of playing the smallest index, in random order.

    .. math:: (k-1) b_0 + A + B + \mathrm{drift}(T, k)

    The index of an action is a lower confidence bound on its mean loss: for n losses about their
    mean minus sqrt(scale ln(T/(k n)) / (2 n)) (docs/theory/frugal.md). A is the excess of the index
    of the best action over its mean, B that of the means of the others over their indices, both
    summed over all rounds.

    block: b_0, number of plays in the first block of an action.
    scale: factor of the exploration term in the index.
    growth_divisor: g; after n plays the next block has ceil(n / g), so that plays grow by 1 / g.

    >>> round(smallest_index(2**16, 2)), round(smallest_index(2**16, 10))
    (2520, 6467)
    """
    if actions == 1:
        return 0.0
    excess = _best_index_excess(horizon, actions, block, scale, growth_divisor)
    deficit = _other_index_deficit(horizon, actions, block, scale, growth_divisor)
    return (actions - 1) * block + (excess + deficit) + drift(horizon, actions)


@lru_cache(maxsize=256)
def _best_index_excess(
    horizon: int,
    actions: int,
    block: int,
    scale: float,
    growth_divisor: int = _FRUGAL_GROWTH_DIVISOR,
) -> float:
    """Bound the total excess of the best action's index over its mean, A.

    It is the sum over R of E max(0, I_R - m), where m is the mean loss of the action, and I_R its
    largest index with R rounds left. The expected excess falls in R, so it is computed at R = 1, 2,
    .. in steps of 2 %, and taken for all R up to the next.
    """
    marks = [1]
    while marks[-1] < horizon:
        marks.append(min(horizon, max(marks[-1] + 1, int(_FINE * marks[-1]))))
    counts = np.array(_frugal_counts(horizon, block, growth_divisor), dtype=np.float64)
    excesses = [_excess(left, horizon, actions, counts, scale) for left in marks]
    return float(np.dot(excesses, np.diff([*marks, horizon + 1])))


def _excess(left: int, horizon: int, actions: int, counts: Floats, scale: float) -> float:
    """Integrate min(1, tail) over [0, 1]; tail is a sum of p(n) exp(-2 n x^2)."""
    few = counts < left / actions
    extra = math.exp(scale / (math.e * actions))
    probabilities = extra * np.power(counts[few] * actions / left, scale)
    sizes = counts[few]
    if not few.all():
        probabilities = np.append(probabilities, 1.0)
        sizes = np.append(sizes, counts[~few].min())
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        x = (low + high) / 2
        low, high = (
            (x, high) if float(np.sum(probabilities * np.exp(-2 * sizes * x * x))) > 1 else (low, x)
        )
    roots = np.sqrt(2 * sizes)
    tails = [
        probability / root * (math.erf(root) - math.erf(root * high))
        for probability, root in zip(probabilities, roots, strict=True)
    ]
    return high + math.sqrt(math.pi) / 2 * math.fsum(tails)


def _other_index_deficit(
    horizon: int,
    actions: int,
    block: int,
    scale: float,
    growth_divisor: int = _FRUGAL_GROWTH_DIVISOR,
) -> float:
    """Bound the total excess of the worse actions' means over their indices.

    It is the term B of `smallest_index`: the blocks of each action, times the radius of its index
    at their start.
    """
    counts = np.array(_frugal_counts(horizon, block, growth_divisor), dtype=np.float64)
    if counts.size == 0:
        return 0.0
    lengths = np.diff([*counts, horizon])
    share = horizon / actions
    early = counts < share
    n = counts[early]
    radii = np.sqrt(scale * np.log(share / n) / (2 * n)) + 1 / (4 * np.sqrt(n))
    before = (actions - 1) * float(np.sum(lengths[early] * np.minimum(1.0, radii)))
    n = counts[~early]
    length = lengths[~early]
    if n.size == 0:
        return before
    v = np.sqrt(np.log(math.e * n / share) / (2 * n))
    rare = np.exp(-2 * n * v * v) * np.minimum(np.sqrt(math.pi / (8 * n)), 1 / (4 * n * v))
    paid = horizon * float(np.max(np.cumsum(length * v) / n))
    return before + paid + (actions - 1) * float(np.sum(length * rare))
