"""Run: a session in a file, for a list of rows that tombola shuffles; killed at any moment, it goes on to the bit.

The file holds what was decided (learner, actions, seed), the rows in their order, and every ticket and outcome as it
happened; the state of the learner is made again by going through them, and every ticket is checked on the way. What
can go wrong means what it means in `tombola.session`; in addition:

killed               a call that returned stays; one that did not happened whole, or not at all
ticket not received  its process was killed before it could say so; `pending` has it
two processes        each call has the file to itself; no ticket is handed out twice
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import __version__, validate
from tombola.book import Ticket
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.live.journal import Event, Journal
from tombola.order import rows_in
from tombola.recipe import learner_from, recipe_of
from tombola.session import Session
from tombola.streams import Streams

if TYPE_CHECKING:
    from tombola.learners.base import Learner
    from tombola.live.status import Status


class Assignment(NamedTuple):
    """A ticket in words: in this round, play this action on this row; the round is also the ticket's number."""

    round: int
    id: str
    action: str
    chance: float

    def to_json(self) -> dict[str, Any]:
        """Return the assignment as plain data; a chance that has no formula is null."""
        chance = None if math.isnan(self.chance) else self.chance
        return {"ticket": self.round, "id": self.id, "action": self.action, "chance": chance}


class Outcome(NamedTuple):
    """What came of a ticket: a loss or a reward; one number, or one for every action if feedback is full."""

    round: int
    loss: Any = None
    reward: Any = None


class Run:
    """A learner at work on a list of rows, in a file that several processes may open at once (each for itself).

    >>> import tempfile
    >>> from tombola import UCB1
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = Run.start(f"{folder.name}/calls.run", ["Ann", "Bob", "Cem"], ["call", "write"], UCB1(), seed=1)
    >>> [(play.id, play.action) for play in run.next(2)]
    [('Bob', 'call'), ('Cem', 'write')]
    >>> run.record(2, loss=0.25), run.record(2, loss=0.25)
    (True, False)
    >>> run.close()
    >>> with Run.open(f"{folder.name}/calls.run") as run:
    ...     run.pending
    [Assignment(round=1, id='Bob', action='call', chance=1.0)]
    >>> folder.cleanup()
    """

    def __init__(self, journal: Journal, learner: "Learner") -> None:
        self.learner = learner
        self.names = tuple(str(name) for name in journal.about["actions"])
        self.horizon, self.seed = int(journal.about["rows"]), int(journal.about["seed"])
        self._journal = journal
        self._session: Session | None = None
        self._tickets: list[Ticket] = []
        self._seen = 0

    @classmethod
    def start(
        cls, path: str | Path, ids: Iterable[str], actions: Sequence[str], learner: "Learner", *, seed: int
    ) -> "Run":
        """Shuffle the rows, and write a new file; a file that exists is never overwritten."""
        rows, names = [str(one) for one in ids], [str(name) for name in actions]
        seed = validate.whole("Run.start", "seed", seed, least=0)
        _check_names("rows", rows)
        _check_names("actions", names)
        Session(learner, names, len(rows), seed=seed)  # refuses what does not fit, before there is a file
        order = [rows[row] for row in rows_in("random", len(rows), Streams(seed).order())]
        about = {
            "tombola run": "written by tombola.live",
            "tombola": __version__,
            "learner": recipe_of(learner),
            "actions": names,
            "rows": len(rows),
            "seed": seed,
        }
        return cls(Journal.create(Path(path), about, order), learner)

    @classmethod
    def open(cls, path: str | Path, learner: "Learner | None" = None) -> "Run":
        """Open a run; a learner of tombola is made again from the file, one of your own must be given."""
        journal = Journal.open(Path(path))
        try:
            return cls(journal, learner_from(journal.about["learner"], learner))
        except BaseException:
            journal.close()
            raise

    def next(self, count: int = 1) -> list[Assignment]:
        """Hand out the next tickets, `count` of them or as many as there are rows left; never one twice."""
        count = validate.whole("Run.next", "count", count, least=1)
        with self._writing() as session:
            left = session.horizon - session.round
            if left == 0:
                raise SessionError(
                    f"Run.next: all {session.horizon} rows have been handed out, {session.round - session.answered} "
                    "are pending; record their outcomes, or start another run."
                )
            return [self._hand_out(session) for _ in range(min(count, left))]

    def record(self, round: int, *, loss: Any = None, reward: Any = None) -> bool:
        """Take in what came of a ticket; True if that is news. When this returns, the outcome is on the disk."""
        return self.record_all([Outcome(round, loss, reward)]) == 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Take in many outcomes, all or none, and return how many are news."""
        with self._writing() as session:
            return sum([self._take_in(session, outcome) for outcome in outcomes])

    @property
    def pending(self) -> list[Assignment]:
        """The tickets that were handed out, to whomever, and have no outcome yet."""
        with self._reading() as session:
            return [self._in_words(ticket) for ticket in session.pending]

    def round_of(self, id: str) -> int:
        """Return the number of the ticket that this row has, or will have."""
        with self._journal.reading():
            found = self._journal.round_of(id)
        if found is None:
            raise FeedbackError(f"Run: expected the id of one of the {self.horizon} rows, got {id!r}; check its name.")
        return found

    def status(self, level: float = 0.05) -> "Status":
        """Return how far the run is, and what it says about the actions; its intervals fail with chance `level`."""
        from tombola.live.status import status_of

        with self._reading() as session:
            return status_of(session, [self._in_words(ticket) for ticket in session.pending], self.seed, level)

    def session(self) -> Session:
        """Return the session as the file has it now: look at it, and let the run change it."""
        with self._reading() as session:
            return session

    def close(self) -> None:
        """Close the file; what was recorded is on the disk already."""
        self._journal.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Run({str(self._journal.path)!r}, {self.learner!r}, {self.horizon} rows)"

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self._kept(), self._journal.writing():
            yield self._current()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._kept(), self._journal.reading():
            yield self._current()

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Forget the session in memory if anything fails, also the writing: the file is what counts."""
        try:
            yield
        except BaseException:
            self._session = None
            raise

    def _current(self) -> Session:
        """Return the session, with everything that has happened in the file since the last call."""
        if self._session is None:
            self._session = Session(self.learner, self.names, self.horizon, seed=self.seed)
            self._tickets, self._seen = [], 0
        for event in self._journal.events(after=self._seen):
            self._repeat(self._session, event)
            self._seen = event.number
        return self._session

    def _repeat(self, session: Session, event: Event) -> None:
        if event.kind == "ticket":
            ticket = self._act(session)
            same = (ticket.round, ticket.action) == (event.round, event.action) and _same(ticket.chance, event.chance)
        else:
            same = session.observe(self._ticket(event.round), loss=event.loss, reward=event.reward)
        if not same:
            raise SessionError(
                f"Run: {self._journal.path} says {event.kind} {event.round} was {event[3:]}, which {self.learner!r} "
                "does not repeat, so the file or tombola was changed; use the version that wrote it."
            )

    def _act(self, session: Session) -> Ticket:
        self._tickets.append(session.act())
        return self._tickets[-1]

    def _hand_out(self, session: Session) -> Assignment:
        ticket = self._act(session)
        self._append(Event(self._seen + 1, "ticket", ticket.round, int(ticket.action), float(ticket.chance)))
        return self._in_words(ticket)

    def _take_in(self, session: Session, outcome: Outcome) -> bool:
        round_ = validate.whole("Run.record", "round", outcome.round, least=1)
        news = session.observe(self._ticket(round_), loss=outcome.loss, reward=outcome.reward)
        if news:
            loss, reward = _plain(outcome.loss), _plain(outcome.reward)
            self._append(Event(self._seen + 1, "outcome", round_, loss=loss, reward=reward))
        return news

    def _append(self, event: Event) -> None:
        self._journal.append(event)
        self._seen = event.number

    def _ticket(self, round_: int) -> Ticket:
        if not 1 <= round_ <= len(self._tickets):
            raise FeedbackError(
                f"Run.record: expected a ticket that has been handed out (1..{len(self._tickets)}), got {round_}; "
                "take the number that `next` gave, or look it up in the status."
            )
        return self._tickets[round_ - 1]

    def _in_words(self, ticket: Ticket) -> Assignment:
        row = self._journal.id_of(ticket.round)
        return Assignment(ticket.round, row, self.names[ticket.action], float(ticket.chance))


def _check_names(what: str, names: list[str]) -> None:
    if not names or not all(name.strip() for name in names):
        raise ParameterError(f"Run.start: expected a name for each of the {what}, got none or an empty one; name them.")
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"Run.start: {what} must have different names, got {twice!r} {times} times; rename them.")


def _same(chance: float, recorded: float | None) -> bool:
    return math.isnan(chance) if recorded is None else chance == recorded


def _plain(value: Any) -> Any:
    """Return a number, or numbers, as JSON has them."""
    return None if value is None else np.asarray(value, np.float64).tolist()
