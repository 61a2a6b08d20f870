"""Orders drawn at random, compiled."""

import numpy as np

from tombola._types import Order, RngState
from tombola.engine.compiler import compile_loop
from tombola.rng import draws, shuffle

STRIDE = 1 << 21  # rows after which Python may look up: less than a tenth of a second


def random_order(rows: int, rng: RngState) -> Order:
    """Return a uniformly random permutation of the rows; Ctrl-C stops it in between."""
    order = np.zeros(rows, np.uint32)
    for start in range(0, rows, STRIDE):
        arguments = (order, start, min(start + STRIDE, rows), rng)
        compile_loop(shuffle, arguments)(*arguments)
    return order


def iid_order(rounds: int, rows: int, rng: RngState) -> Order:
    """Return independent uniform draws from the rows."""
    order = np.zeros(rounds, np.uint32)
    compile_loop(draws, (order, rows, rng))(order, rows, rng)
    return order
