"""Learners, loaded on first use, so that one does not import the others.

Add a learner: its file in the folder of its feedback, one import and one line of `_MODULES` here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.learners.bandit.bandit_birthday_test import (
        BanditBirthdayTest as BanditBirthdayTest,
    )
    from tombola.learners.bandit.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from tombola.learners.bandit.exp3 import Exp3 as Exp3
    from tombola.learners.bandit.explore_then_commit import ExploreThenCommit as ExploreThenCommit
    from tombola.learners.bandit.kl_ucb import KLUCB as KLUCB
    from tombola.learners.bandit.successive_elimination import (
        SuccessiveElimination as SuccessiveElimination,
    )
    from tombola.learners.bandit.thompson_sampling import ThompsonSampling as ThompsonSampling
    from tombola.learners.bandit.tsallis_inf import TsallisInf as TsallisInf
    from tombola.learners.bandit.ucb1 import UCB1 as UCB1
    from tombola.learners.bandit.ucb2 import UCB2 as UCB2
    from tombola.learners.bandit.ucb2 import UCB2WithoutReplacement as UCB2WithoutReplacement
    from tombola.learners.base import Learner as Learner
    from tombola.learners.base import MixedLearner as MixedLearner
    from tombola.learners.baselines import FixedAction as FixedAction
    from tombola.learners.baselines import RandomFixedAction as RandomFixedAction
    from tombola.learners.baselines import Uniform as Uniform
    from tombola.learners.budgeted.base import BudgetedBanditLearner as BudgetedBanditLearner
    from tombola.learners.budgeted.base import BudgetedBase as BudgetedBase
    from tombola.learners.budgeted.base import BudgetedLearner as BudgetedLearner
    from tombola.learners.budgeted.dual_descent import DualDescent as DualDescent
    from tombola.learners.budgeted.empirical_lp import EmpiricalLP as EmpiricalLP
    from tombola.learners.budgeted.optimistic_lp import OptimisticLP as OptimisticLP
    from tombola.learners.budgeted.primal_dual import PrimalDual as PrimalDual
    from tombola.learners.budgeted.serfling_lp import SerflingLP as SerflingLP
    from tombola.learners.budgeted.thrifty_lp import ThriftyLP as ThriftyLP
    from tombola.learners.full_information.ada_hedge import AdaHedge as AdaHedge
    from tombola.learners.full_information.ada_hedge import FlipFlop as FlipFlop
    from tombola.learners.full_information.birthday_test import BirthdayTest as BirthdayTest
    from tombola.learners.full_information.follow_the_leader import (
        FollowTheLeader as FollowTheLeader,
    )
    from tombola.learners.full_information.hedge import Hedge as Hedge
    from tombola.learners.full_information.hedge import HedgeAnytime as HedgeAnytime
    from tombola.learners.reductions.budget_simulation import BudgetSimulation as BudgetSimulation
    from tombola.learners.reductions.interleaved import Interleaved as Interleaved
    from tombola.learners.reductions.optimistic import (
        LazyOptimisticSimulation as LazyOptimisticSimulation,
    )
    from tombola.learners.reductions.optimistic import OptimisticSimulation as OptimisticSimulation
    from tombola.learners.reductions.schedule import GrowingSchedule as GrowingSchedule
    from tombola.learners.reductions.schedule import LemmaSchedule as LemmaSchedule
    from tombola.learners.reductions.schedule import PaperSchedule as PaperSchedule
    from tombola.learners.reductions.simulation import Simulation as Simulation
    from tombola.learners.reductions.training import PythonLearner as PythonLearner
    from tombola.learners.switching.batched_exp3 import BatchedExp3 as BatchedExp3
    from tombola.learners.switching.betting_elimination import (
        BettingElimination as BettingElimination,
    )
    from tombola.learners.switching.block_ucb import BlockUCB as BlockUCB
    from tombola.learners.switching.frugal_ucb import FrugalUCB as FrugalUCB
    from tombola.learners.switching.simulation_elimination import (
        SimulationSuccessiveElimination as SimulationSuccessiveElimination,
    )
    from tombola.learners.switching.staged_elimination import (
        BernsteinElimination as BernsteinElimination,
    )
    from tombola.learners.switching.staged_elimination import (
        SerflingElimination as SerflingElimination,
    )
    from tombola.learners.switching.thrifty import Thrifty as Thrifty
    from tombola.learners.switching.tsallis_switching import TsallisSwitching as TsallisSwitching

# Names by module.
_MODULES = {
    name: module
    for module, names in {
        "bandit.bandit_birthday_test": "BanditBirthdayTest",
        "bandit.epsilon_greedy": "EpsilonGreedy",
        "bandit.exp3": "Exp3",
        "bandit.explore_then_commit": "ExploreThenCommit",
        "bandit.kl_ucb": "KLUCB",
        "bandit.successive_elimination": "SuccessiveElimination",
        "bandit.thompson_sampling": "ThompsonSampling",
        "bandit.tsallis_inf": "TsallisInf",
        "bandit.ucb1": "UCB1",
        "bandit.ucb2": "UCB2 UCB2WithoutReplacement",
        "base": "Learner MixedLearner",
        "baselines": "FixedAction RandomFixedAction Uniform",
        "budgeted.base": "BudgetedBanditLearner BudgetedBase BudgetedLearner",
        "budgeted.dual_descent": "DualDescent",
        "budgeted.empirical_lp": "EmpiricalLP",
        "budgeted.optimistic_lp": "OptimisticLP",
        "budgeted.primal_dual": "PrimalDual",
        "budgeted.serfling_lp": "SerflingLP",
        "budgeted.thrifty_lp": "ThriftyLP",
        "full_information.ada_hedge": "AdaHedge FlipFlop",
        "full_information.birthday_test": "BirthdayTest",
        "full_information.follow_the_leader": "FollowTheLeader",
        "full_information.hedge": "Hedge HedgeAnytime",
        "reductions.budget_simulation": "BudgetSimulation",
        "reductions.interleaved": "Interleaved",
        "reductions.optimistic": "LazyOptimisticSimulation OptimisticSimulation",
        "reductions.schedule": "GrowingSchedule LemmaSchedule PaperSchedule",
        "reductions.simulation": "Simulation",
        "reductions.training": "PythonLearner",
        "switching.batched_exp3": "BatchedExp3",
        "switching.betting_elimination": "BettingElimination",
        "switching.block_ucb": "BlockUCB",
        "switching.frugal_ucb": "FrugalUCB",
        "switching.simulation_elimination": "SimulationSuccessiveElimination",
        "switching.staged_elimination": "BernsteinElimination SerflingElimination",
        "switching.thrifty": "Thrifty",
        "switching.tsallis_switching": "TsallisSwitching",
    }.items()
    for name in names.split()
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tombola.learners' has no attribute {name!r}")
    value = getattr(import_module(f"tombola.learners.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
