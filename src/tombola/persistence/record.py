"""Record: all tickets of a run and what came of each, as the file has them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Rounds
from tombola.engine.tickets import (
    ACTION,
    ANSWER_INDEX,
    ANSWERED,
    OUTCOME_START,
    PROBABILITY,
    ROUNDS,
    Ticket,
    TicketTable,
)
from tombola.errors import SessionError
from tombola.feedback import FeedbackModel
from tombola.persistence.chapter import Chapter, chapter_of
from tombola.persistence.event_log import LogEvent
from tombola.persistence.outcome import Losses

if TYPE_CHECKING:
    from tombola.learners.base import Learner

PIECE = 10_000  # events that are read before they become numbers


class Fact(NamedTuple):
    """What a run is: who plays which actions, in which setting, from which seed."""

    learner: "Learner"
    names: tuple[str, ...]
    setting: FeedbackModel
    seed: int


class Record:
    """Tickets and outcomes in the order of rounds; an outcome that was amended is the amended one.

    It has room for so many `rounds`, and is filled from chapters, or from events.
    """

    def __init__(self, about: Fact, rounds: int) -> None:
        self.learner, self.names, self.feedback_model, self.seed = about
        self.horizon, self.actions = self.feedback_model.horizon, self.feedback_model.n_listed_actions
        self.book = TicketTable(self.horizon, self.feedback_model.outcome_width)
        self.book.cells = np.zeros((1 + rounds, OUTCOME_START + self.feedback_model.outcome_width))
        self.amended: set[int] = set()
        self.cancelled: set[int] = set()

    def read(self, events: Iterable[LogEvent]) -> None:
        """Take in events that come after those taken in before."""
        coming = iter(events)
        while some := list(islice(coming, PIECE)):
            self.enter(chapter_of(some, self.feedback_model, lambda round_: int(self.book.cells[round_, ACTION])))

    def enter(self, chapter: Chapter) -> None:
        """Take in what comes after all that was taken in before."""
        pages, first = self.book.cells, self.round + 1
        end = first + len(chapter.actions)
        if end > len(pages):
            raise SessionError(f"SessionFile: expected {len(pages) - 1} tickets, got more; take a backup of the file.")
        pages[first:end, ACTION], pages[first:end, PROBABILITY] = chapter.actions, chapter.probabilities
        pages[0, ROUNDS] = end - 1
        pages[chapter.answered, ANSWER_INDEX] = np.arange(len(chapter.answered)) + (end + self.answered)
        pages[0, ANSWERED] += len(chapter.answered)
        pages[chapter.answered, OUTCOME_START:] = chapter.answers
        pages[chapter.amended, OUTCOME_START:] = chapter.amendments
        self.amended.update(chapter.amended.tolist())
        self.cancelled.update(chapter.cancelled.tolist())

    @property
    def round(self) -> int:
        """The number of tickets handed out."""
        return len(self.book)

    @property
    def answered(self) -> int:
        """The number of tickets with an outcome."""
        return self.book.answered

    @property
    def tickets(self) -> list[Ticket]:
        """All tickets handed out."""
        return self._tickets(np.arange(1, self.round + 1))

    def plays(self, rounds: Rounds) -> Iterator[tuple[int, float]]:
        """Return the actions and probabilities of some tickets."""
        pages = self.book.cells
        return zip(pages[rounds, ACTION].astype(np.int64).tolist(), pages[rounds, PROBABILITY].tolist(), strict=True)

    def _tickets(self, rounds: Rounds) -> list[Ticket]:
        return [Ticket(round_, *play) for round_, play in zip(rounds.tolist(), self.plays(rounds), strict=True)]

    @property
    def outcomes(self) -> list[Losses | None]:
        """The loss of each ticket, or the losses of all actions if feedback is full; None if it has none."""
        full, listed = self.feedback_model.full_feedback, self.actions
        found = [self.book.outcome(round_) for round_ in range(1, self.round + 1)]
        return [None if outcome is None else outcome[:listed] if full else outcome[0] for outcome in found]

    @property
    def waiting(self) -> Rounds:
        """The rounds of the tickets that wait for an outcome."""
        told = self.book.cells[: self.round + 1, ANSWER_INDEX] > 0
        told[[0, *self.cancelled]] = True
        return np.flatnonzero(~told)

    @property
    def pending(self) -> list[Ticket]:
        """The tickets that wait for an outcome."""
        return self._tickets(self.waiting)

    @property
    def known(self) -> Rounds:
        """The rounds of the tickets with an outcome."""
        return np.flatnonzero(self.book.cells[1 : self.round + 1, ANSWER_INDEX]) + 1

    def unbroken(self, rounds: Rounds) -> Rounds:
        """Return these rounds up to the first that has no outcome."""
        missing = np.flatnonzero(self.book.cells[rounds, ANSWER_INDEX] == 0)
        return rounds[: missing[0]] if missing.size else rounds

    @property
    def played(self) -> Rounds:
        """The actions of the tickets with an outcome."""
        return self.book.actions[self.known - 1]

    @property
    def losses(self) -> Floats:
        """The losses of the tickets with an outcome."""
        return self.losses_of(self.known)

    def losses_of(self, rounds: Rounds) -> Floats:
        """Return the losses of rounds that have an outcome."""
        losses: Floats = self._picked(rounds, lambda action, outcome: (self.feedback_model.loss(action, outcome),))[0]
        return losses

    @property
    def costs(self) -> Floats:
        """What the tickets with an outcome cost: a row for each resource."""
        return self._picked(self.known, self.feedback_model.costs)

    @property
    def rows(self) -> Floats:
        """The losses that are known of the tickets with an outcome: a row for each, of one action or of all."""
        wide = self.actions if self.feedback_model.full_feedback else 1
        return self.book.cells[self.known, OUTCOME_START : OUTCOME_START + wide]

    def _picked(self, rounds: Rounds, pick: Any) -> Floats:
        """Return what a setting picks out of outcomes; it picks from columns of them as it does from numbers."""
        played = self.book.actions[rounds - 1]
        found = np.empty((len(pick(0, np.zeros(self.feedback_model.outcome_width))), len(rounds)))
        for action in np.flatnonzero(np.bincount(played)).tolist():
            those = played == action
            for column, numbers in zip(
                found, pick(action, self.book.cells[rounds[those], OUTCOME_START:].T), strict=True
            ):
                column[those] = numbers
        return found

    @property
    def switches(self) -> int:
        """How often the action changed from one round to the next."""
        actions = self.book.actions
        return int((actions[1:] != actions[:-1]).sum())
