"""Budgets: what may be spent, the learners that mind it, and the best fixed mix within it."""

from tombola.budget import Budget, Ledger, Terms
from tombola.learners.budgeted import (
    BudgetedBanditLearner,
    BudgetedLearner,
    DualDescent,
    EmpiricalLP,
    OptimisticLP,
    PrimalDual,
    SerflingLP,
    ThriftyLP,
)
from tombola.optimum import Optimum, optimum
from tombola.reductions.budget_simulation import BudgetSimulation

__all__ = [
    "Budget",
    "BudgetSimulation",
    "BudgetedBanditLearner",
    "BudgetedLearner",
    "DualDescent",
    "EmpiricalLP",
    "Ledger",
    "OptimisticLP",
    "Optimum",
    "PrimalDual",
    "SerflingLP",
    "Terms",
    "ThriftyLP",
    "optimum",
]
