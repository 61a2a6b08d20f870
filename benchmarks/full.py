"""Time of full-information rounds, against a gather and sum of the same rows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bandits import play_pool, random_order, random_pool
from measure import Row, best_times, slowdown_row
from tombola import FollowTheLeader, Hedge, Learner, Simulation
from tombola._types import Floats, Order, Rows

# Number of actions -> rows; all tables are far larger than the processor cache.
ROWS = {2: 1_000_000, 10: 1_000_000, 100: 200_000}
SIMULATION_ROWS = {2: 2**20, 10: 2**20, 100: 2**17}


def _gather_and_sum(losses: Rows, order: Order, totals: Floats) -> None:
    """Add up all rows in this order."""
    for t in range(order.size):
        row = order[t]
        for action in range(totals.size):
            totals[action] += losses[row, action]


def _gather_twice(losses: Rows, order: Order, draws: Order, past: Rows, totals: Floats) -> None:
    """Access memory as a simulation: copy rows in order, read random ones, add up."""
    for t in range(order.size):
        row = order[t]
        for action in range(totals.size):
            past[t, action] = losses[row, action]
    for t in range(draws.size):
        row = draws[t]
        for action in range(totals.size):
            totals[action] += past[row, action]
    for t in range(order.size):
        for action in range(totals.size):
            totals[action] += past[t, action]


# Its types know it only as a decorator with options.
compile_: Any = njit
gather_and_sum: Callable[[Rows, Order, Floats], None] = compile_(_gather_and_sum)
gather_twice: Callable[[Rows, Order, Order, Rows, Floats], None] = compile_(_gather_twice)


def against_gather() -> list[Row]:
    """Compare FollowTheLeader and Hedge with reading the rows once."""
    rows = []
    for actions, height in ROWS.items():
        pool = random_pool(height, actions)
        gather = partial(gather_and_sum, pool.losses, random_order(height), np.zeros(actions))
        for learner in (FollowTheLeader(), Hedge()):
            name = f"{type(learner).__name__} full play, k = {actions}, T = {height:.0e}"
            rows.append(
                _compare(
                    name, learner, pool, "plain gather and sum, no prefetch", gather, 3, turns=7
                )
            )
    return rows


def simulation_against_gathers() -> list[Row]:
    """Compare a simulation of FollowTheLeader with two gathers and one pass."""
    rows = []
    for actions, height in SIMULATION_ROWS.items():
        pool, order = random_pool(height, actions), random_order(height)
        draws = np.random.default_rng(0).integers(0, height, height).astype(order.dtype)
        gathers = partial(_gather_into_new_copy, pool.losses, order, draws)
        name = (
            f"Simulation(FollowTheLeader()) full play, k = {actions}, T = "
            f"2^{height.bit_length() - 1}"
        )
        peer = "two gathers and a pass, no prefetch"
        rows.append(_compare(name, Simulation(FollowTheLeader()), pool, peer, gathers, 2, turns=5))
    return rows


def _gather_into_new_copy(losses: Rows, order: Order, draws: Order) -> None:
    """Allocate the copy in every call, as a play allocates its past."""
    gather_twice(losses, order, draws, np.empty_like(losses), np.zeros(losses.shape[1]))


def _compare(
    work: str,
    learner: Learner,
    pool: Any,
    peer: str,
    gather: Callable[[], None],
    limit: float,
    turns: int,
) -> Row:
    ours = partial(play_pool, learner, pool)
    # Compile both.
    gather()
    ours()
    best = best_times({"tombola": ours, "gather": gather}, turns)
    return slowdown_row(work, best["tombola"] / pool.rows, peer, best["gather"] / pool.rows, limit)
