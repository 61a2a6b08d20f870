"""A question about a table that can be read in several ways, with the options that settle it."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tombola._formatting import answer_text, is_offered
from tombola.errors import QuestionError


class Question(NamedTuple):
    """A question about a table: what is not certain, and the options that settle it.

    text: expected and got, as in an error message.
    columns: the columns, or rows, that it is about.
    answers: pairs (condition, arguments of `read_table`).
    """

    source: str
    text: str
    columns: tuple[str, ...]
    answers: tuple[tuple[str, Mapping[str, Any]], ...]

    def about(self, options: Collection[str]) -> "Question":
        """Return the question with the answers that need these options only."""
        answers = [answer for answer in self.answers if answer[1].keys() <= set(options)]
        return self._replace(answers=tuple(answers))

    def error(self) -> QuestionError:
        """Return the error, to be raised, with a complete command for each answer."""
        answers = tuple(
            (condition, answer_text(options))
            for condition, options in self.answers
            if is_offered(options)
        )
        return QuestionError(f"{self.source}: {self.text}", self.columns, answers)
