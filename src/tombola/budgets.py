"""Budgets: what may be spent, the learners that mind it, and the best fixed mix within it."""

from tombola.budget import Budget, Ledger, Terms
from tombola.learners.budgeted import BudgetedLearner, DualDescent, EmpiricalLP, PrimalDual, SerflingLP
from tombola.optimum import Optimum, optimum
from tombola.reductions.budget_simulation import BudgetSimulation

__all__ = [
    "Budget",
    "BudgetSimulation",
    "BudgetedLearner",
    "DualDescent",
    "EmpiricalLP",
    "Ledger",
    "Optimum",
    "PrimalDual",
    "SerflingLP",
    "Terms",
    "optimum",
]
