"""Orders drawn at random, compiled."""

import numpy as np

from tombola.engine.coins import draws, shuffle
from tombola.engine.compiler import specialise
from tombola.types import Coins, Order

STRIDE = 1 << 21  # rows after which Python may look up: less than a tenth of a second


def random_order(rows: int, coins: Coins) -> Order:
    """Return a uniformly random permutation of the rows; Ctrl-C stops it in between."""
    order = np.zeros(rows, np.uint32)
    for start in range(0, rows, STRIDE):
        arguments = (order, start, min(start + STRIDE, rows), coins)
        specialise(shuffle, arguments)(*arguments)
    return order


def iid_order(rounds: int, rows: int, coins: Coins) -> Order:
    """Return independent uniform draws from the rows."""
    order = np.zeros(rounds, np.uint32)
    specialise(draws, (order, rows, coins))(order, rows, coins)
    return order
