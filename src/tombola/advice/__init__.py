"""Advice on which learner to use for a table: request, report, and HTML page."""

from tombola.advice.comparison_page import compare_page
from tombola.advice.default_learners import Conditions, default_budgeted_learners, default_learners
from tombola.advice.report import CompareReport, run_comparison
from tombola.advice.request import CompareRequest

__all__ = [
    "CompareReport",
    "CompareRequest",
    "Conditions",
    "compare_page",
    "default_budgeted_learners",
    "default_learners",
    "run_comparison",
]
