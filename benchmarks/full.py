"""Time of full-information rounds, against the same loops in C."""

import math
from functools import partial
from typing import Any

import baseline
from bandits import compare_results, play_in_c, play_pool, random_pool
from measure import Row, best_times, skipped_row, slowdown_row
from tombola import FollowTheLeader, Hedge, Learner, Simulation

# Number of actions -> rows; all tables are far larger than the processor cache.
ROWS = {2: 1_000_000, 10: 1_000_000, 100: 200_000}
SIMULATION_ROWS = {2: 2**20, 10: 2**20, 100: 2**17}
# Largest time as a multiple of that of C.
LIMIT = 1.2


def full_against_c() -> list[Row]:
    """Compare FollowTheLeader, Hedge and a simulation with the same loops in C."""
    library = baseline.compile_library()
    if isinstance(library, str):
        return [skipped_row("full play", f"C: {library}")]
    rows = []
    for actions, height in ROWS.items():
        rate = math.sqrt(8 * math.log(actions) / height)
        rows.append(_compare(FollowTheLeader(), library.follow_the_leader, actions, height, 0.0))
        rows.append(_compare(Hedge(), library.hedge, actions, height, rate))
    for actions, height in SIMULATION_ROWS.items():
        learner = Simulation(FollowTheLeader())
        rows.append(_compare(learner, library.simulation, actions, height, 2.0))
    return rows


def _compare(learner: Learner, function: Any, actions: int, height: int, parameter: float) -> Row:
    pool = random_pool(height, actions)
    ours = partial(play_pool, learner, pool)
    theirs = partial(play_in_c, function, learner, pool, parameter)
    agreement = compare_results(learner, ours(), theirs(), tolerance=1e-12)
    best = best_times({"tombola": ours, "C": theirs}, turns=5)
    name = f"{type(learner).__name__} full play, k = {actions}, T = {height:.1e}"
    return slowdown_row(
        name, best["tombola"] / height, f"C ({agreement})", best["C"] / height, LIMIT
    )
