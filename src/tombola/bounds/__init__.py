"""Bounds: the right-hand sides of theorems, as functions of the horizon, the number of actions and so on.

Each says for which learner and which input model it holds, and where it is printed.
"""

from tombola.bounds.bandit import exp3, explore_then_commit, successive_elimination, tsallis_inf, ucb1
from tombola.bounds.delay import follow_the_leader_iid, interleaved, simulation, simulation_printed
from tombola.bounds.full import (
    ada_hedge,
    birthday,
    birthday_mean,
    flip_flop,
    follow_the_leader,
    hedge,
    hedge_anytime,
)

__all__ = [
    "ada_hedge",
    "birthday",
    "birthday_mean",
    "exp3",
    "explore_then_commit",
    "flip_flop",
    "follow_the_leader",
    "follow_the_leader_iid",
    "hedge",
    "hedge_anytime",
    "interleaved",
    "simulation",
    "simulation_printed",
    "successive_elimination",
    "tsallis_inf",
    "ucb1",
]
