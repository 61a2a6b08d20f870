"""Regret: what a play lost against a comparator, as the paper defines it for the three input models.

random, given   E[sum_t loss_t(a_t)] - min_a sum_t loss_t(a)         (paper, equation def:regret; L860-L885)
iid             max_a E[sum_t loss_t(a_t) - loss_t(a)]               (pseudo-regret: a is best for the distribution)

In all three the comparator is the best fixed action of the whole pool, met on the very rows that came: over a
permutation its loss is the minimum itself, and over i.i.d. draws from the pool its expectation is. A switch costs the
switching price; the first action is free.
"""

from collections.abc import Callable

import numpy as np

from tombola._types import Floats, Order
from tombola.pool import Pool

STRIDE = 1 << 21  # rows after which Python may look up: less than a tenth of a second


def best_action(pool: Pool, order: Order) -> Floats:
    """Return the loss, round by round, of the best fixed action of the pool.

    >>> best_action(Pool([[1, 0], [1, 0], [0, 1]]), np.array([2, 0, 1], np.uint32)).tolist()
    [1.0, 0.0, 0.0]
    """
    return _in_pieces(order, lambda rows: pool.losses[rows, pool.best])


def best_each_round(pool: Pool, order: Order) -> Floats:
    """Return the smallest loss of every row: the comparator of dynamic regret.

    >>> best_each_round(Pool([[1, 0], [0, 1]]), np.array([0, 1], np.uint32)).tolist()
    [0.0, 0.0]
    """
    return _in_pieces(order, lambda rows: pool.losses[rows].min(axis=1))


def _in_pieces(order: Order, losses_of: Callable[[Order], Floats]) -> Floats:
    """Return the losses of all rows in this order; Ctrl-C stops it in between."""
    losses = np.empty(order.size)
    for start in range(0, order.size, STRIDE):
        piece = order[start : start + STRIDE]
        losses[start : start + piece.size] = losses_of(piece)
    return losses


def switches(actions: "np.typing.NDArray[np.int64]") -> int:
    """Return how often the action changed from one round to the next.

    >>> switches(np.array([0, 0, 1, 0]))
    2
    """
    return int(np.count_nonzero(actions[1:] != actions[:-1]))
