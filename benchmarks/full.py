"""Full information in random order, against a plain gather and sum of the same rows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bandits import order_of, played, pool_of
from measure import Row, race, within
from tombola import FollowTheLeader, Hedge, Learner
from tombola.types import Floats, Order, Rows

SIZES = {2: 1_000_000, 10: 1_000_000, 100: 200_000}  # rows for each number of actions; all far beyond the cache


def _gather_and_sum(losses: Rows, order: Order, totals: Floats) -> None:
    """Add up all rows in this order."""
    for t in range(order.size):
        row = order[t]
        for action in range(totals.size):
            totals[action] += losses[row, action]


compile_: Any = njit  # its types know it only as a decorator with options
gather_and_sum: Callable[[Rows, Order, Floats], None] = compile_(_gather_and_sum)


def against_gather() -> list[Row]:
    """Compare follow the leader and Hedge with reading the rows and nothing else."""
    rows = []
    learners: list[Learner] = [FollowTheLeader(), Hedge()]
    for actions, height in SIZES.items():
        pool, order, totals = pool_of(height, actions), order_of(height), np.zeros(actions)
        gather = partial(gather_and_sum, pool.losses, order, totals)
        gather()
        for learner in learners:
            played(learner, pool)
            best = race({"tombola": partial(played, learner, pool), "gather": gather})
            name = f"{type(learner).__name__} full play, k = {actions}, T = {height:.0e}"
            rows.append(
                within(name, best["tombola"] / height, "plain gather and sum, no prefetch", best["gather"] / height, 3)
            )
    return rows
