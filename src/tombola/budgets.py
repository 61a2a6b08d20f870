"""Budgets: what may be spent, the learners that mind it, and the best fixed mix within it."""

from typing import TYPE_CHECKING

from tombola.budget import Budget as Budget
from tombola.budget import Ledger as Ledger
from tombola.budget import Terms as Terms
from tombola.learners.budgeted import *  # noqa: F403 - a door to the learners' own rooms
from tombola.optimum import Optimum as Optimum
from tombola.optimum import optimum as optimum
from tombola.reductions.budget_simulation import BudgetSimulation as BudgetSimulation

if not TYPE_CHECKING:
    __all__ = sorted(name for name in dir() if (name[0].isupper() or name == "optimum") and name != "TYPE_CHECKING")
