"""Budgets: limits, the tracker that enforces them, and the best mix in them."""

from tombola.budget.budget import Balance, Budget, BudgetTerms
from tombola.budget.optimum import Optimum, optimum

__all__ = ["Balance", "Budget", "BudgetTerms", "Optimum", "optimum"]
