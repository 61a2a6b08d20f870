"""Tables: a question about a table of one's own, its answer, and the page."""

from tombola.tables.answer import Answer, answer_to
from tombola.tables.contestants import Circumstances, budgeted_contestants, contestants
from tombola.tables.page import page_of
from tombola.tables.question import Question

__all__ = ["Answer", "Circumstances", "Question", "answer_to", "budgeted_contestants", "contestants", "page_of"]
