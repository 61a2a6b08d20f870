"""Learners under a budget: every action uses resources, and no amount is ever exceeded."""

from tombola.learners.budgeted.base import BudgetedBanditLearner, BudgetedLearner, Spender
from tombola.learners.budgeted.dual_descent import DualDescent
from tombola.learners.budgeted.empirical_lp import EmpiricalLP
from tombola.learners.budgeted.optimistic_lp import OptimisticLP
from tombola.learners.budgeted.primal_dual import PrimalDual
from tombola.learners.budgeted.serfling_lp import SerflingLP
from tombola.learners.budgeted.thrifty_lp import ThriftyLP

__all__ = [
    "BudgetedBanditLearner",
    "BudgetedLearner",
    "DualDescent",
    "EmpiricalLP",
    "OptimisticLP",
    "PrimalDual",
    "SerflingLP",
    "Spender",
    "ThriftyLP",
]
