"""Advice on the user's own table: a request, its report, and the HTML page of the report."""

from tombola.advice.default_learners import Conditions, default_budgeted_learners, default_learners
from tombola.advice.page import compare_page
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
