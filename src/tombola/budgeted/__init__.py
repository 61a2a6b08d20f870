"""Learning under budgets: every action uses resources, and no amount is ever exceeded."""

from tombola.budgeted import instances
from tombola.budgeted.base import BudgetedLearner, Terms
from tombola.budgeted.dual_descent import DualDescent
from tombola.budgeted.empirical_lp import EmpiricalLP
from tombola.budgeted.playing import BudgetTrace, play_budget
from tombola.budgeted.primal_dual import PrimalDual
from tombola.budgeted.serfling_lp import SerflingLP
from tombola.budgeted.session import BudgetSession
from tombola.budgeted.simulation import BudgetSimulation

__all__ = [
    "BudgetSession",
    "BudgetSimulation",
    "BudgetTrace",
    "BudgetedLearner",
    "DualDescent",
    "EmpiricalLP",
    "PrimalDual",
    "SerflingLP",
    "Terms",
    "instances",
    "play_budget",
]
