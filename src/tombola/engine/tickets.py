"""The book of tickets: what was handed out, what has been told of it, and in which order that happened.

late, out of order   taken in as it comes, with the probability that its own ticket had
missing              nothing happens; the learner just never hears of that round (`pending` lists such tickets)
twice, the same      ignored
twice, different     FeedbackError, and everything is as it was: the first answer stands
unknown ticket       FeedbackError, and everything is as it was

The whole book is one matrix, `cells`, in which compiled steps write too: row 0 has the counts, row t has round t,

    action, probability, the place of its answer in the history (0: pending), the numbers of its outcome, what was shown

and what is not an answer in the history is a ticket, in the order of rounds.
"""

import math
from operator import index
from typing import NamedTuple

import numpy as np

from tombola._types import Floats, Rounds
from tombola.errors import FeedbackError

ROUNDS, ANSWERED = 0, 1  # in row 0
ACTION, PROBABILITY, ANSWER_INDEX, OUTCOME_START = 0, 1, 2, 3  # in the row of a round
INITIAL_ROUNDS = 64


class Ticket(NamedTuple):
    """One play: its round (from 1), the action, and the probability the action had (NaN where it has no formula).

    Tickets without a probability are equal if the rest is, so that one is found among those pending, too.

    >>> Ticket(1, 0, float("nan")) == Ticket(1, 0, float("nan")), Ticket(1, 0, 0.5) == Ticket(1, 0, float("nan"))
    (True, False)
    """

    round: int
    action: int
    probability: float

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other or (
            isinstance(other, Ticket)
            and self[:2] == other[:2]
            and math.isnan(self.probability)
            and math.isnan(other.probability)
        )

    def __ne__(self, other: object) -> bool:  # that of a tuple does not ask __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self) if self.probability == self.probability else self[:2])


new_ticket = tuple.__new__  # what Ticket(...) does, without its Python function


def has_capacity(cells: Floats) -> bool:
    """Tell whether one more ticket has a row."""
    return bool(cells[0, ROUNDS] < cells.shape[0] - 1)


def write_ticket(cells: Floats, action: int, probability: float) -> int:
    """Write down a ticket; return its round."""
    round_ = int(cells[0, ROUNDS]) + 1
    cells[round_, ACTION], cells[round_, PROBABILITY] = action, probability
    cells[0, ROUNDS] = round_
    return round_


def has_native_types(ticket: Ticket) -> bool:
    """Tell whether a ticket is made of what compiled code expects; one of another make may still be in the book."""
    return (
        type(ticket) is Ticket
        and type(ticket.round) is type(ticket.action) is int
        and type(ticket.probability) is float
    )


def is_issued(cells: Floats, round: int, action: int, probability: float) -> bool:
    """Tell whether a ticket is in the book, to the last bit of its probability."""
    if not 1 <= round <= cells[0, ROUNDS] or cells[round, ACTION] != action:
        return False
    ticket_cells = float(cells[round, PROBABILITY])
    return ticket_cells == probability or (math.isnan(ticket_cells) and math.isnan(probability))


def is_pending(cells: Floats, round: int, action: int, probability: float) -> bool:
    """Tell whether a ticket was handed out, and nothing has been told of it yet."""
    return is_issued(cells, round, action, probability) and cells[round, ANSWER_INDEX] == 0.0


def ticket_cells(cells: Floats, round: int) -> tuple[int, float]:
    """Return the action of a round, and the probability it had."""
    action, probability = cells[round, :ANSWER_INDEX].tolist()
    return int(action), probability


def mark_answered(cells: Floats, round: int) -> None:
    """Write down that the outcome of a round, which has been written, was told now."""
    cells[0, ANSWERED] += 1.0
    cells[round, ANSWER_INDEX] = cells[0, ROUNDS] + cells[0, ANSWERED]


def unmark_answered(cells: Floats, round: int) -> None:
    """Take back that the outcome of a round was told, just now."""
    cells[0, ANSWERED] -= 1.0
    cells[round, ANSWER_INDEX] = 0.0


class TicketTable:
    """All tickets of a session of so many rounds, their outcomes and their history.

    An outcome has a fixed number of numbers (`outcome_width`), and so has what is shown of a row (`n_features`).

    >>> book = TicketTable(horizon=10, outcome_width=1)
    >>> round = book.round_of(book.issue(0, 1.0))
    >>> book.answer(round, (0.25,)), book.answer(round, (0.25,)), book.pending
    (True, False, [])
    """

    def __init__(self, horizon: int, outcome_width: int, n_features: int = 0) -> None:
        self.horizon, self.outcome_width, self.n_features = horizon, outcome_width, n_features
        self.cells: Floats = np.zeros((1 + min(horizon, INITIAL_ROUNDS), OUTCOME_START + outcome_width + n_features))
        self.last: Ticket | None = None

    def __len__(self) -> int:
        return int(self.cells[0, ROUNDS])

    @property
    def answered(self) -> int:
        """The number of tickets whose outcome has been told."""
        return int(self.cells[0, ANSWERED])

    def reserve(self) -> None:
        """Make room for twice as many tickets, in a new matrix: whoever looks at the old one may go on."""
        used = len(self) + 1
        cells = np.zeros((1 + min(self.horizon, 2 * used), self.cells.shape[1]))
        cells[:used] = self.cells[:used]
        self.cells = cells

    def issue(self, action: int, probability: float) -> Ticket:
        """Write down a ticket, and return it."""
        if not has_capacity(self.cells):
            self.reserve()
        round_ = write_ticket(self.cells, action, probability)
        self.last = Ticket(round_, action, probability)
        return self.last

    def ticket(self, round: int) -> Ticket:
        """Return the ticket of a round."""
        return Ticket(round, *ticket_cells(self.cells, round))

    def outcome(self, round: int) -> tuple[float, ...] | None:
        """Return what has been told of a round, or None as long as it is pending."""
        told, *rest = self.cells[round, ANSWER_INDEX : OUTCOME_START + self.outcome_width].tolist()
        return tuple(rest) if told else None

    def columns(self) -> dict[str, Floats | Rounds]:
        """Return flat columns: what is pending is NaN; the history has 0 for a ticket, its round for an answer."""
        rows = self.cells[1 : len(self) + 1]
        told = rows[:, ANSWER_INDEX].astype(np.int64)
        history = np.zeros(len(self) + self.answered, np.int64)
        history[told[told > 0] - 1] = np.flatnonzero(told) + 1
        outcomes = np.where(told[:, None] > 0, rows[:, OUTCOME_START : OUTCOME_START + self.outcome_width], math.nan)
        return {
            "actions": rows[:, ACTION].astype(np.int64),
            "probabilities": rows[:, PROBABILITY].copy(),
            "outcomes": outcomes.ravel(),
            "shown": rows[:, OUTCOME_START + self.outcome_width :].ravel(),
            "history": history,
        }

    @property
    def actions(self) -> Rounds:
        """The actions of all rounds so far."""
        return self.cells[1 : len(self) + 1, ACTION].astype(np.int64)

    @property
    def tickets(self) -> list[Ticket]:
        """All tickets handed out so far."""
        plays = self.cells[1 : len(self) + 1, :ANSWER_INDEX].tolist()
        return [Ticket(round_, int(action), probability) for round_, (action, probability) in enumerate(plays, 1)]

    @property
    def pending(self) -> list[Ticket]:
        """The tickets of which nothing has been told yet."""
        waiting = np.flatnonzero(self.cells[1 : len(self) + 1, ANSWER_INDEX] == 0) + 1
        return [self.ticket(round_) for round_ in waiting.tolist()]

    def round_of(self, ticket: Ticket) -> int:
        """Return the round of a ticket that was handed out, to the last bit of its probability."""
        try:
            round_ = index(ticket.round)
            if is_issued(self.cells, round_, ticket.action, ticket.probability):
                return round_
        except (AttributeError, OverflowError, TypeError, ValueError):
            pass
        raise FeedbackError(
            f"Session.observe: expected a ticket that act() has handed out (rounds 1..{len(self)}), got {ticket!r}; "
            "give back the ticket itself."
        )

    def is_new(self, round: int, outcome: tuple[float, ...]) -> bool:
        """Tell whether nothing has been told of a round yet; FeedbackError if it was something else."""
        if not self.cells[round, ANSWER_INDEX]:
            return True
        before = tuple(self.cells[round, OUTCOME_START : OUTCOME_START + self.outcome_width].tolist())
        if before == outcome:
            return False
        raise FeedbackError(
            f"Session.observe: round {round} has been answered with {_short(before)}, got {_short(outcome)} "
            "now; the first answer stands."
        )

    def answer(self, round: int, outcome: tuple[float, ...]) -> bool:
        """Write down what was told of a round; True if that is news."""
        news = self.is_new(round, outcome)
        if news:
            self.write(round, outcome)
        return news

    def write(self, round: int, outcome: tuple[float, ...]) -> None:
        """Write down what was told of a round that is pending."""
        self.cells[round, OUTCOME_START : OUTCOME_START + self.outcome_width] = outcome
        mark_answered(self.cells, round)


def _short(outcome: tuple[float, ...]) -> str:
    return repr(outcome[0]) if len(outcome) == 1 else repr(list(outcome))
