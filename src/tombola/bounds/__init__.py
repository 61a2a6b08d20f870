"""Bounds: right-hand sides of theorems, as functions of horizon and actions.

Each docstring states the learner and the input model for which it holds, and where it is printed.
"""

from tombola.bounds.bandit import (
    exp3,
    explore_then_commit,
    successive_elimination,
    successive_elimination_iid,
    tsallis_inf,
    ucb1,
    ucb1_iid,
)
from tombola.bounds.budget import (
    budget_epsilon,
    budget_first_play,
    budget_given_order,
    budget_simulation,
    budget_simulation_printed,
    primal_dual,
    serfling_lp,
    serfling_lp_first_play,
)
from tombola.bounds.classification import (
    erm,
    erm_by_growth,
    erm_corrected,
    erm_printed,
    halving,
    uniform_convergence,
    uniform_convergence_corrected,
    uniform_convergence_printed,
)
from tombola.bounds.common import drift, drift_of_counts
from tombola.bounds.delay import follow_the_leader_iid, interleaved, simulation, simulation_printed
from tombola.bounds.empirical_lp import empirical_lp
from tombola.bounds.frugal import by_indices, frugal_switches, frugal_ucb, thrifty, thrifty_exploration_budget
from tombola.bounds.full_information import (
    ada_hedge,
    any_delay,
    birthday,
    birthday_mean,
    flip_flop,
    follow_the_leader,
    hedge,
    hedge_anytime,
    hedge_given_order,
)
from tombola.bounds.optimistic_lp import optimistic_lp
from tombola.bounds.switching import (
    batched_exp3,
    elimination,
    elimination_switches,
    first_elimination,
    simulation_elimination,
    simulation_elimination_switches,
    tsallis_switching,
)
from tombola.bounds.ucb2 import ucb2, ucb2_plays

__all__ = [
    "ada_hedge",
    "any_delay",
    "batched_exp3",
    "birthday",
    "birthday_mean",
    "budget_epsilon",
    "budget_first_play",
    "budget_given_order",
    "budget_simulation",
    "budget_simulation_printed",
    "by_indices",
    "drift",
    "drift_of_counts",
    "elimination",
    "elimination_switches",
    "empirical_lp",
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
    "frugal_switches",
    "frugal_ucb",
    "halving",
    "hedge",
    "hedge_anytime",
    "hedge_given_order",
    "interleaved",
    "optimistic_lp",
    "primal_dual",
    "serfling_lp",
    "serfling_lp_first_play",
    "simulation",
    "simulation_elimination",
    "simulation_elimination_switches",
    "simulation_printed",
    "successive_elimination",
    "successive_elimination_iid",
    "thrifty",
    "thrifty_exploration_budget",
    "tsallis_inf",
    "tsallis_switching",
    "ucb1",
    "ucb1_iid",
    "ucb2",
    "ucb2_plays",
    "uniform_convergence",
    "uniform_convergence_corrected",
    "uniform_convergence_printed",
]
