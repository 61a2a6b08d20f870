"""Full information in random order, against a plain gather and sum of the same rows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bandits import order_of, played, pool_of
from measure import Row, race, within
from tombola import FollowTheLeader, Hedge, Learner, Simulation
from tombola._types import Floats, Order, Rows

SIZES = {2: 1_000_000, 10: 1_000_000, 100: 200_000}  # rows for each number of actions; all far beyond the cache

SIMULATED = {2: 2**20, 10: 2**20, 100: 2**17}


def _gather_and_sum(losses: Rows, order: Order, totals: Floats) -> None:
    """Add up all rows in this order."""
    for t in range(order.size):
        row = order[t]
        for action in range(totals.size):
            totals[action] += losses[row, action]


def _gather_twice_and_pass(losses: Rows, order: Order, draws: Order, past: Rows, totals: Floats) -> None:
    """Do what a simulation cannot do without: copy the rows in this order, read as many drawn ones, add up all."""
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


compile_: Any = njit  # its types know it only as a decorator with options
gather_and_sum: Callable[[Rows, Order, Floats], None] = compile_(_gather_and_sum)
gather_twice_and_pass: Callable[[Rows, Order, Order, Rows, Floats], None] = compile_(_gather_twice_and_pass)


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


def copied(losses: Rows, order: Order, draws: Order) -> None:
    """Gather twice and pass, with new memory for the copy, as a play has for its past."""
    gather_twice_and_pass(losses, order, draws, np.empty_like(losses), np.zeros(losses.shape[1]))


def simulation_against_gathers() -> list[Row]:
    """Compare a simulation of follow the leader with two gathers of the rows (one copies) and one pass over them."""
    rows = []
    learner = Simulation(FollowTheLeader())
    for actions, height in SIMULATED.items():
        pool, order = pool_of(height, actions), order_of(height)
        draws = np.random.default_rng(0).integers(0, height, height).astype(order.dtype)
        gathers = partial(copied, pool.losses, order, draws)
        gathers()
        played(learner, pool)
        best = race({"tombola": partial(played, learner, pool), "gathers": gathers}, turns=5)
        name = f"Simulation(FollowTheLeader()) full play, k = {actions}, T = 2^{height.bit_length() - 1}"
        rows.append(
            within(name, best["tombola"] / height, "two gathers and a pass, no prefetch", best["gathers"] / height, 2)
        )
    return rows
