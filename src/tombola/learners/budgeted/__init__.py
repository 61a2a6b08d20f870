"""Learners under a budget: every action uses resources, and no amount is ever exceeded."""

from typing import TYPE_CHECKING

from tombola.learners.budgeted.base import BudgetedBanditLearner as BudgetedBanditLearner
from tombola.learners.budgeted.base import BudgetedLearner as BudgetedLearner
from tombola.learners.budgeted.base import Spender as Spender
from tombola.learners.budgeted.dual_descent import DualDescent as DualDescent
from tombola.learners.budgeted.empirical_lp import EmpiricalLP as EmpiricalLP
from tombola.learners.budgeted.optimistic_lp import OptimisticLP as OptimisticLP
from tombola.learners.budgeted.primal_dual import PrimalDual as PrimalDual
from tombola.learners.budgeted.serfling_lp import SerflingLP as SerflingLP
from tombola.learners.budgeted.thrifty_lp import ThriftyLP as ThriftyLP

if not TYPE_CHECKING:  # type checkers read the imports: each name is written once
    __all__ = sorted(name for name in dir() if name[0].isupper() and name != "TYPE_CHECKING")
