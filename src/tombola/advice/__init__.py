"""Tables: a question about a table of one's own, its answer, and the page."""

from tombola.advice.default_learners import Conditions, default_budgeted_learners, default_learners
from tombola.advice.page import page_of
from tombola.advice.report import Answer, answer_to
from tombola.advice.request import CompareRequest

__all__ = [
    "Answer",
    "CompareRequest",
    "Conditions",
    "answer_to",
    "default_budgeted_learners",
    "default_learners",
    "page_of",
]
