"""Bounds: right-hand sides of theorems, as functions of horizon and actions.

Each docstring states the learner and the input model for which it holds, and its source. In
formulas T is the horizon, k the number of actions, d the constant delay of the feedback in rounds.
Errata are those of Bernasconi et al. 2025, in docs/errata.md.
"""

from tombola.bounds.bandit import exp3 as exp3
from tombola.bounds.bandit import explore_then_commit as explore_then_commit
from tombola.bounds.bandit import successive_elimination as successive_elimination
from tombola.bounds.bandit import successive_elimination_iid as successive_elimination_iid
from tombola.bounds.bandit import tsallis_inf as tsallis_inf
from tombola.bounds.bandit import ucb1 as ucb1
from tombola.bounds.bandit import ucb1_iid as ucb1_iid
from tombola.bounds.bandit import ucb2 as ucb2
from tombola.bounds.bandit import ucb2_plays as ucb2_plays
from tombola.bounds.budget import budget_epsilon as budget_epsilon
from tombola.bounds.budget import budget_first_play as budget_first_play
from tombola.bounds.budget import budget_given_order as budget_given_order
from tombola.bounds.budget import budget_simulation as budget_simulation
from tombola.bounds.budget import budget_simulation_printed as budget_simulation_printed
from tombola.bounds.budget import empirical_lp as empirical_lp
from tombola.bounds.budget import optimistic_lp as optimistic_lp
from tombola.bounds.budget import primal_dual as primal_dual
from tombola.bounds.budget import serfling_lp as serfling_lp
from tombola.bounds.budget import serfling_lp_first_play as serfling_lp_first_play
from tombola.bounds.classification import erm as erm
from tombola.bounds.classification import erm_by_growth as erm_by_growth
from tombola.bounds.classification import erm_corrected as erm_corrected
from tombola.bounds.classification import erm_printed as erm_printed
from tombola.bounds.classification import halving as halving
from tombola.bounds.classification import uniform_convergence as uniform_convergence
from tombola.bounds.classification import (
    uniform_convergence_corrected as uniform_convergence_corrected,
)
from tombola.bounds.classification import uniform_convergence_printed as uniform_convergence_printed
from tombola.bounds.common import drift as drift
from tombola.bounds.common import drift_of_counts as drift_of_counts
from tombola.bounds.delay import follow_the_leader_iid as follow_the_leader_iid
from tombola.bounds.delay import interleaved as interleaved
from tombola.bounds.delay import simulation as simulation
from tombola.bounds.delay import simulation_printed as simulation_printed
from tombola.bounds.frugal import frugal_switches as frugal_switches
from tombola.bounds.frugal import frugal_ucb as frugal_ucb
from tombola.bounds.frugal import smallest_index as smallest_index
from tombola.bounds.frugal import thrifty as thrifty
from tombola.bounds.frugal import thrifty_exploration_budget as thrifty_exploration_budget
from tombola.bounds.full_information import ada_hedge as ada_hedge
from tombola.bounds.full_information import added_by_delay as added_by_delay
from tombola.bounds.full_information import birthday as birthday
from tombola.bounds.full_information import birthday_mean as birthday_mean
from tombola.bounds.full_information import flip_flop as flip_flop
from tombola.bounds.full_information import follow_the_leader as follow_the_leader
from tombola.bounds.full_information import hedge as hedge
from tombola.bounds.full_information import hedge_anytime as hedge_anytime
from tombola.bounds.full_information import hedge_given_order as hedge_given_order
from tombola.bounds.switching import batched_exp3 as batched_exp3
from tombola.bounds.switching import elimination as elimination
from tombola.bounds.switching import elimination_switches as elimination_switches
from tombola.bounds.switching import first_elimination_horizon as first_elimination_horizon
from tombola.bounds.switching import simulation_elimination as simulation_elimination
from tombola.bounds.switching import (
    simulation_elimination_switches as simulation_elimination_switches,
)
from tombola.bounds.switching import tsallis_switching as tsallis_switching

__all__ = sorted(name for name, value in list(globals().items()) if callable(value))
