"""Bounds: the right-hand sides of theorems, as functions of the horizon, the number of actions and so on.

Each says for which learner and which input model it holds, and where it is printed.
"""

from tombola.bounds.bandit import exp3, explore_then_commit, successive_elimination, tsallis_inf, ucb1
from tombola.bounds.budget import (
    budget_epsilon,
    budget_first_play,
    budget_given_order,
    budget_simulation,
    budget_simulation_printed,
    primal_dual,
    serfling_lp,
)
from tombola.bounds.classes import (
    erm,
    erm_by_growth,
    erm_corrected,
    erm_printed,
    halving,
    uniform_convergence,
    uniform_convergence_corrected,
    uniform_convergence_printed,
)
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
from tombola.bounds.switching import (
    batched_exp3,
    elimination,
    elimination_switches,
    first_elimination,
    simulation_elimination,
    simulation_elimination_switches,
    tsallis_switching,
)

__all__ = [
    "ada_hedge",
    "batched_exp3",
    "birthday",
    "birthday_mean",
    "budget_epsilon",
    "budget_first_play",
    "budget_given_order",
    "budget_simulation",
    "budget_simulation_printed",
    "elimination",
    "elimination_switches",
    "erm",
    "erm_by_growth",
    "erm_corrected",
    "erm_printed",
    "exp3",
    "explore_then_commit",
    "first_elimination",
    "flip_flop",
    "follow_the_leader",
    "follow_the_leader_iid",
    "halving",
    "hedge",
    "hedge_anytime",
    "interleaved",
    "primal_dual",
    "serfling_lp",
    "simulation",
    "simulation_elimination",
    "simulation_elimination_switches",
    "simulation_printed",
    "successive_elimination",
    "tsallis_inf",
    "tsallis_switching",
    "ucb1",
    "uniform_convergence",
    "uniform_convergence_corrected",
    "uniform_convergence_printed",
]
