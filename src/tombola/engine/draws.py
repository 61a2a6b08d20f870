"""Orders drawn at random, compiled."""

import numpy as np

from tombola.engine.coins import draws, shuffle
from tombola.engine.compiler import specialise
from tombola.types import Coins, Order


def random_order(rows: int, coins: Coins) -> Order:
    """Return a uniformly random permutation of the rows."""
    order = np.zeros(rows, np.uint32)
    specialise(shuffle, (order, coins))(order, coins)
    return order


def iid_order(rounds: int, rows: int, coins: Coins) -> Order:
    """Return independent uniform draws from the rows."""
    order = np.zeros(rounds, np.uint32)
    specialise(draws, (order, rows, coins))(order, rows, coins)
    return order
