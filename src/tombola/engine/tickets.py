"""Ticket table: issued tickets, their outcomes, and the order of both.

Values of outcomes are checked and encoded before, by `tombola.feedback` (`codec.py`).

One float64 matrix, `cells`, which compiled kernels write too. Row 0 holds counts; row t holds round
t:

    action, probability, answer index (0 = pending), encoded outcome, features

The answer index is the position of the answer in the history of all events. Positions that are not
an answer are tickets, in the order of rounds. Feedback may be

    late, out of order   observed as it comes, with the probability of its own ticket
    missing              never observed; `pending` lists such tickets
    repeated, equal      ignored
    repeated, different  FeedbackError, and nothing changes
    of no ticket         FeedbackError, and nothing changes
"""

import math
from operator import index
from typing import NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers
from tombola.errors import FeedbackError

# Columns of row 0: number of tickets issued; number of tickets with an outcome.
ROUNDS, _ANSWERED = range(2)
# Columns of the row of a round: action, from 0; its probability, NaN if unknown; position of the
# outcome in the history of all events, from 1, or 0 while pending; first number of the encoded
# outcome, which features follow.
ACTION, PROBABILITY, ANSWER_INDEX, OUTCOME_START = range(4)
# Rounds that a new table has space for; the capacity doubles when it is full.
_INITIAL_ROUNDS = 64


class Ticket(NamedTuple):
    """One play: its round, from 1, its action, from 0, and the action's probability.

    The probability is NaN if unknown. Two NaN probabilities count as equal, so that such tickets
    can be looked up.

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

    def __ne__(self, other: object) -> bool:  # tuple.__ne__ does not call __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self) if self.probability == self.probability else self[:2])


# new_ticket(Ticket, (round, action, probability)) skips the Python constructor of named tuples, for
# speed.
new_ticket = tuple.__new__


def has_capacity(cells: Floats) -> bool:
    """Return whether the matrix of a ticket table has a free row; a kernel."""
    return bool(cells[0, ROUNDS] < cells.shape[0] - 1)


def write_ticket(cells: Floats, action: int, probability: float) -> int:
    """Write a ticket into the next row of a ticket table; return its round.

    A kernel; `has_capacity(cells)` must be True.
    """
    round_ = int(cells[0, ROUNDS]) + 1
    cells[round_, ACTION] = action
    cells[round_, PROBABILITY] = probability
    cells[0, ROUNDS] = round_
    return round_


def has_native_types(ticket: Ticket) -> bool:
    """Return whether a ticket has exactly the types int, int and float of kernels.

    A ticket with other types, such as NumPy integers, may still be in the table.
    """
    return (
        type(ticket) is Ticket
        and type(ticket.round) is type(ticket.action) is int
        and type(ticket.probability) is float
    )


def _is_issued(cells: Floats, round: int, action: int, probability: float) -> bool:
    """Return whether a ticket was issued, with this probability to the bit; a kernel."""
    if not 1 <= round <= cells[0, ROUNDS] or cells[round, ACTION] != action:
        return False
    issued = float(cells[round, PROBABILITY])
    return issued == probability or (math.isnan(issued) and math.isnan(probability))


def is_pending(cells: Floats, round: int, action: int, probability: float) -> bool:
    """Return whether exactly this ticket was issued and has no outcome; a kernel.

    cells: matrix of the `TicketTable`.
    """
    return _is_issued(cells, round, action, probability) and cells[round, ANSWER_INDEX] == 0.0


def read_ticket(cells: Floats, round: int) -> tuple[int, float]:
    """Return action and probability of an issued round, from `TicketTable.cells`."""
    action, probability = cells[round, :ANSWER_INDEX].tolist()
    return int(action), probability


def mark_answered(cells: Floats, round: int) -> None:
    """Record that the outcome of a pending round is the newest event; a kernel.

    It is marked in `cells`, the matrix of a ticket table. The caller writes the outcome itself.
    """
    cells[0, _ANSWERED] += 1.0
    cells[round, ANSWER_INDEX] = cells[0, ROUNDS] + cells[0, _ANSWERED]


def unmark_answered(cells: Floats, round: int) -> None:
    """Undo `mark_answered` of a round, which must be the newest answer; a kernel."""
    cells[0, _ANSWERED] -= 1.0
    cells[round, ANSWER_INDEX] = 0.0


class TicketTable:
    """Tickets of a session, their encoded outcomes and features, and event order.

    `cells` is its matrix, which kernels write; row t is round t, from 1. An encoded outcome is a
    tuple of floats.

    horizon: largest number of tickets.
    outcome_width, n_features: number of floats of an encoded outcome, and of features of a row.

    >>> table = TicketTable(horizon=10, outcome_width=1)
    >>> write_ticket(table.cells, 0, 1.0), table.pending
    (1, [Ticket(round=1, action=0, probability=1.0)])
    """

    def __init__(self, horizon: int, outcome_width: int, n_features: int = 0) -> None:
        self.horizon = horizon
        self.outcome_width = outcome_width
        self.n_features = n_features
        self.cells: Floats = np.zeros(
            (1 + min(horizon, _INITIAL_ROUNDS), OUTCOME_START + outcome_width + n_features)
        )
        self.last: Ticket | None = None

    def __len__(self) -> int:
        return int(self.cells[0, ROUNDS])

    @property
    def answered(self) -> int:
        """The number of tickets with an outcome."""
        return int(self.cells[0, _ANSWERED])

    def reserve(self) -> None:
        """Double the capacity, up to the horizon; `cells` becomes a new matrix."""
        used = len(self) + 1
        cells = np.zeros((1 + min(self.horizon, 2 * used), self.cells.shape[1]))
        cells[:used] = self.cells[:used]
        self.cells = cells

    def ticket(self, round: int) -> Ticket:
        """Return the ticket of an issued round, from 1; it is not checked."""
        return Ticket(round, *read_ticket(self.cells, round))

    def outcome(self, round: int) -> tuple[float, ...] | None:
        """Return the encoded outcome of a round, from 1; None while it is pending."""
        answer_index, *outcome = self.cells[
            round, ANSWER_INDEX : OUTCOME_START + self.outcome_width
        ].tolist()
        return tuple(outcome) if answer_index else None

    def columns(self) -> dict[str, Floats | Integers]:
        """Return all tickets as flat arrays by name, to be saved.

        The names are actions, probabilities, outcomes, features and history. Outcomes and features
        are round by round; outcomes are NaN while pending. "history" has one entry per event in
        order: 0 if a ticket was issued, the round, from 1, if its outcome was written.
        """
        rows = self.cells[1 : len(self) + 1]
        answer_index = rows[:, ANSWER_INDEX].astype(np.int64)
        history = np.zeros(len(self) + self.answered, np.int64)
        history[answer_index[answer_index > 0] - 1] = np.flatnonzero(answer_index) + 1
        outcomes, features = np.split(rows[:, OUTCOME_START:], [self.outcome_width], axis=1)
        return {
            "actions": self.actions,
            "probabilities": rows[:, PROBABILITY].copy(),
            "outcomes": np.where(answer_index[:, None] > 0, outcomes, math.nan).ravel(),
            "features": features.ravel(),
            "history": history,
        }

    @property
    def actions(self) -> Integers:
        """The actions, from 0, of all rounds so far, in their order, shape (rounds,)."""
        return self.cells[1 : len(self) + 1, ACTION].astype(np.int64)

    @property
    def tickets(self) -> list[Ticket]:
        """All issued tickets, in the order of rounds."""
        plays = self.cells[1 : len(self) + 1, :ANSWER_INDEX].tolist()
        return [
            Ticket(round_, int(action), probability)
            for round_, (action, probability) in enumerate(plays, 1)
        ]

    @property
    def pending(self) -> list[Ticket]:
        """The tickets without an outcome, in the order of rounds."""
        waiting = np.flatnonzero(self.cells[1 : len(self) + 1, ANSWER_INDEX] == 0) + 1
        return [self.ticket(round_) for round_ in waiting.tolist()]

    def round_of(self, ticket: Ticket) -> int:
        """Return the round of an issued ticket; raise FeedbackError for any other."""
        try:
            round_ = index(ticket.round)
            if _is_issued(self.cells, round_, ticket.action, ticket.probability):
                return round_
        except (AttributeError, OverflowError, TypeError, ValueError):
            pass
        raise FeedbackError(
            f"Session.observe: expected a ticket that act() has issued (rounds 1..{len(self)}), "
            f"got {ticket!r}; "
            "give back the ticket itself."
        )

    def is_new(self, round: int, outcome: tuple[float, ...]) -> bool:
        """Return whether a round is pending; False if it has this encoded outcome already.

        Raises FeedbackError if it has a different outcome.
        """
        if not self.cells[round, ANSWER_INDEX]:
            return True
        before = self.outcome(round)
        if before is not None and _validate.same_numbers(before, outcome):
            return False
        first, second = (row[0] if len(row) == 1 else list(row) for row in (before or (), outcome))
        raise FeedbackError(
            f"Session.observe: round {round} has been answered with {first!r}, got {second!r} "
            "now; the first answer "
            "stands."
        )
