"""The book of tickets: what was handed out, what has been told of it, and in which order that happened.

late, out of order   taken in as it comes, with the chance that its own ticket had
missing              nothing happens; the learner just never hears of that round (`pending` lists such tickets)
twice, the same      ignored
twice, different     FeedbackError, and everything is as it was: the first answer stands
unknown ticket       FeedbackError, and everything is as it was

An outcome has a fixed number of numbers (`width`), and so has what was shown of a row (`context`): so the whole book
is a few flat arrays, and its history one more: 0 for a ticket, its round for an answer.
"""

import math
from array import array
from typing import Any, NamedTuple

from tombola.errors import FeedbackError


class Ticket(NamedTuple):
    """One play: its round (from 1), the action, and the chance the action had (NaN where it has no formula)."""

    round: int
    action: int
    chance: float


new_ticket = tuple.__new__  # what Ticket(...) does, without its Python function


class Book:
    """All tickets of a session, their outcomes and their history.

    >>> book = Book(width=1)
    >>> ticket = book.hand_out(0, 1.0)
    >>> book.answer(book.known(ticket), (0.25,)), book.answer(book.known(ticket), (0.25,)), book.pending
    (True, False, [])
    """

    def __init__(self, width: int, context: int = 0) -> None:
        self.width, self.context = width, context
        self.actions, self.chances = array("q"), array("d")
        self.outcomes, self.shown = array("d"), array("d")  # outcomes go as far as the last ticket that was answered
        self.history = array("q")
        self.answered = 0
        self._unknown = array("d", [math.nan] * width)
        self._add_action, self._add_chance = self.actions.append, self.chances.append  # looked up once: it is much used
        self._add_event, self._add_number = self.history.append, self.outcomes.append
        self._last: Ticket | None = None

    def __len__(self) -> int:
        return len(self.actions)

    def hand_out(self, action: int, chance: float, shown: Any = ()) -> Ticket:
        """Write down a ticket, and return it."""
        self._add_action(action)
        self._add_chance(chance)
        self._add_event(0)
        if self.context:
            self.shown.extend(shown)
        self._last = ticket = new_ticket(Ticket, (len(self.actions), action, chance))
        return ticket

    def ticket(self, index: int) -> Ticket:
        """Return the ticket with this index, from 0."""
        return Ticket(index + 1, self.actions[index], self.chances[index])

    def outcome(self, index: int) -> tuple[float, ...] | None:
        """Return what has been told of a ticket, or None as long as it is pending."""
        start = index * self.width
        return None if self.is_pending(index) else tuple(self.outcomes[start : start + self.width])

    def shown_with(self, index: int) -> tuple[float, ...]:
        """Return what was shown of the row of a ticket."""
        return tuple(self.shown[index * self.context : (index + 1) * self.context]) if self.context else ()

    @property
    def tickets(self) -> list[Ticket]:
        """All tickets handed out so far."""
        return [self.ticket(index) for index in range(len(self))]

    @property
    def pending(self) -> list[Ticket]:
        """The tickets of which nothing has been told yet."""
        return [self.ticket(index) for index in range(len(self)) if self.is_pending(index)]

    def is_pending(self, index: int) -> bool:
        """Tell whether nothing has been told of a ticket yet: its outcome is NaN, or beyond the last one told."""
        start = index * self.width
        return start >= len(self.outcomes) or math.isnan(self.outcomes[start])

    def known(self, ticket: Ticket) -> int:
        """Return the index of a ticket that was handed out, to the last bit of its chance."""
        if ticket is self._last:
            return len(self.actions) - 1
        try:
            index = ticket.round - 1
            if index >= 0 and self.actions[index] == ticket.action:
                chance = self.chances[index]
                if chance == ticket.chance or (math.isnan(chance) and math.isnan(ticket.chance)):
                    return index
        except (AttributeError, IndexError, TypeError):
            pass
        raise FeedbackError(
            f"Session.observe: expected a ticket that act() has handed out (rounds 1..{len(self)}), got {ticket!r}; "
            "give back the ticket itself."
        )

    def is_news(self, index: int, outcome: tuple[float, ...]) -> bool:
        """Tell whether nothing has been told of a ticket yet; FeedbackError if it was something else."""
        before = self.outcome(index)
        if before is None:
            return True
        if before == outcome:
            return False
        raise FeedbackError(
            f"Session.observe: round {index + 1} has been answered with {_short(before)}, got {_short(outcome)} "
            "now; the first answer stands."
        )

    def answer(self, index: int, outcome: tuple[float, ...]) -> bool:
        """Write down what was told of a ticket; True if that is news."""
        news = self.is_news(index, outcome)
        if news:
            self.write(index, outcome)
        return news

    def fill(self, tickets: int) -> None:
        """Write down that so many tickets have an outcome, or are pending."""
        self.outcomes.extend(self._unknown * (tickets - len(self.outcomes) // self.width))

    def write(self, index: int, outcome: tuple[float, ...]) -> None:
        """Write down what was told of a ticket that is pending."""
        outcomes, width = self.outcomes, self.width
        start, end = index * width, len(outcomes)
        if start > end:
            self.fill(index)
            end = start
        if start < end:
            outcomes[start : start + width] = array("d", outcome)
        elif width == 1:
            self._add_number(outcome[0])
        else:
            outcomes.extend(outcome)
        self._add_event(index + 1)
        self.answered += 1


def _short(outcome: tuple[float, ...]) -> str:
    return repr(outcome[0]) if len(outcome) == 1 else repr(list(outcome))
