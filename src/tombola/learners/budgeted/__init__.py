"""Learners under a budget: every action uses resources, and no amount is ever exceeded."""

from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.budgeted.dual_descent import DualDescent
from tombola.learners.budgeted.empirical_lp import EmpiricalLP
from tombola.learners.budgeted.primal_dual import PrimalDual
from tombola.learners.budgeted.serfling_lp import SerflingLP

__all__ = ["BudgetedLearner", "DualDescent", "EmpiricalLP", "PrimalDual", "SerflingLP"]
