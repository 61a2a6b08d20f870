"""SessionFile: a learner on a list of rows that tombola shuffles, in a file; killed, it goes on to the bit.

The file holds what was decided (learner, actions, seed), the rows in their order, and every ticket and outcome as it
happened; the state of the learner is made again from the last checkpoint by going through them, and every ticket is
checked on the way. A checkpoint is believed if the same person wrote it (`tombola.persistence.snapshot_key`). What can go wrong
means what it means in `tombola.session`; in addition:

killed               a call that returned stays; one that did not happened whole, or not at all
ticket not received  its process was killed before it could say so; `pending` has it
two processes        each call has the file to itself; no ticket is handed out twice
a wrong outcome      `amend` puts it right: the old one stays in the history, the learner goes through everything again
never answered       `cancel` takes the ticket from `pending`; the learner never hears of it, and its worst cost
                     stays reserved
damaged, replaced    one sentence; nothing is read that was not written
"""

import math
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import __version__, _validate
from tombola._formatting import is_encodable
from tombola._process_bound import ProcessBound
from tombola.budget.budget import Budget, BudgetRun
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.feedback import FeedbackModel, make_feedback_model
from tombola.feedback.base import EncodedOutcome
from tombola.learners.spec import from_spec, to_spec
from tombola.order import draw_order
from tombola.persistence.chapter import Chapter, chapter_of
from tombola.persistence.event_log import EventLog, LogEvent
from tombola.persistence.mind import ANSWERED, CANCELLED, PENDING, Mind
from tombola.persistence.outcome import Losses, Outcome, outcome_from
from tombola.persistence.record import Fact, Record
from tombola.persistence.session_events import is_event
from tombola.rng import RngStreams

if TYPE_CHECKING:
    from tombola.learners.base import Learner
    from tombola.persistence.session_status import Status

FEW = 2000  # events that plain Python repeats sooner than Numba is loaded
NULL = "null"  # the name of an action that is added, which costs nothing and loses 1
CHAPTER = 10_000  # events in a chapter
EVENTS, BYTES = 1000, 100  # a checkpoint comes after so many events, or one for so many bytes of it if that is more

VIEWS = (
    """CREATE VIEW plays AS
        SELECT ticket.key AS ticket, pool.id, names.value AS action, json_extract(ticket.value, '$[1]') AS probability,
            outcome.kind, outcome.value
        FROM events AS ticket JOIN pool ON pool.place = ticket.key JOIN about ON about.name = 'actions'
        JOIN json_each(about.value) AS names ON names.key = json_extract(ticket.value, '$[0]')
        LEFT JOIN events AS outcome ON outcome.key = ticket.key AND outcome.kind != 'ticket'
        WHERE ticket.kind = 'ticket'""",
)


class Assignment(NamedTuple):
    """A ticket in words: in this round, play this action on this row; the round is also the ticket's number."""

    round: int
    id: str
    action: str
    probability: float

    def to_json(self) -> dict[str, Any]:
        """Return the assignment as plain data; a probability that has no formula is null."""
        probability = None if math.isnan(self.probability) else self.probability
        return {"ticket": self.round, "id": self.id, "action": self.action, "probability": probability}


class SessionFile(ProcessBound):
    """A learner at work on a list of rows, in a file that several processes may open at once (each for itself).

    >>> import tempfile
    >>> from tombola import UCB1
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = SessionFile.start(f"{folder.name}/calls.run", ["Ann", "Bob", "Cem"], ["call", "write"], UCB1(), seed=1)
    >>> [(play.id, play.action) for play in run.next(2)]
    [('Bob', 'call'), ('Cem', 'write')]
    >>> run.record(2, loss=0.25), run.record(2, loss=0.25)
    (True, False)
    >>> run.amend(2, loss=0.75)
    0.25
    >>> run.close()
    >>> with SessionFile.open(f"{folder.name}/calls.run") as run:
    ...     run.pending
    [Assignment(round=1, id='Bob', action='call', probability=1.0)]
    >>> folder.cleanup()
    """

    _alternative = "SessionFile.open(path) there"

    def __init__(self, journal: EventLog, learner: "Learner") -> None:
        self.learner = learner
        self.names = tuple(str(name) for name in journal.about["actions"])
        self.horizon, self.seed = journal.length, int(journal.about["seed"])
        budget = journal.about.get("budget")  # older files have none
        self.budget = None if budget is None else Budget(*budget)
        self.feedback_model = live_setting(learner, len(self.names), self.horizon, self.budget)
        journal.fits = lambda event: is_event(event, len(self.names), self.horizon)
        self._journal, self._lock = journal, RLock()
        self._own = str(journal.about["learner"]["name"]).startswith("own ")
        self._mind: Mind | None = None
        self._tickets: dict[int, tuple[int, float]] = {}  # those that this process knows to be pending
        self._fresh, self._size = 0, 0  # events since the checkpoint, and its size
        self.brisk = False  # whether a few events are better repeated without compiled code, as by a command

    @classmethod
    def start(
        cls,
        path: str | Path,
        ids: Iterable[str],
        actions: Sequence[str],
        learner: Any,
        *,
        budget: Budget | None = None,
        seed: int,
    ) -> "SessionFile":
        """Shuffle the rows, and write a new file; a file that exists is never overwritten.

        A learner that minds a `budget` gets one that says its worst costs, or its prices.
        """
        rows, names = [str(one) for one in ids], [str(name) for name in actions]
        seed = _validate.integer("SessionFile.start", "seed", seed, least=0)
        check_names("SessionFile.start", "rows", rows)
        names = [*names, NULL] if budget is not None and budget.null == "add" else names
        check_names("SessionFile.start", "actions", names)
        live_setting(learner, len(names), len(rows), budget).init(learner)  # refuses what does not fit, without a file
        order = [rows[row] for row in draw_order("random", len(rows), RngStreams(seed).order())]
        recipe = to_spec(learner)
        about = {"kind": "session", "tombola": __version__, "learner": recipe, "actions": names, "seed": seed}
        about |= {} if budget is None else {"budget": budget.to_json()}
        return cls(EventLog.create(Path(path), "SessionFile", about, order, VIEWS), learner)

    @classmethod
    def open(cls, path: str | Path, learner: "Learner | None" = None) -> "SessionFile":
        """Open a run; a learner of tombola is made again from the file, one of your own must be given."""
        journal = EventLog.open(Path(path), "SessionFile", "session")
        try:
            with journal.sensible():
                run = cls(journal, from_spec(journal.about["learner"], learner))
            run._note_if_slow()
            return run
        except BaseException:
            journal.close()
            raise

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._journal.path

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of this file should know."""
        return tuple(self._journal.notes)

    def next(self, count: int = 1) -> list[Assignment]:
        """Hand out the next tickets, `count` of them or as many as there are rows left; never one twice."""
        count = _validate.integer("SessionFile.next", "count", count, least=1)
        with self._writing() as mind:
            left = self.horizon - mind.round
            if left == 0:
                raise SessionError(
                    f"SessionFile.next: all {self.horizon} rows have been handed out, {len(mind.pending)} are pending; "
                    "record their outcomes, or start another run."
                )
            return [self._hand_out(mind) for _ in range(min(count, left))]

    def record(self, round: int, *, loss: Any = None, reward: Any = None, cost: Any = None) -> bool:
        """Take in what came of a ticket; True if that is news. When this returns, the outcome is on the disk."""
        return self.record_all([Outcome(round, loss, reward, cost)]) == 1

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Take in many outcomes, all or none, and return how many are news."""
        with self._writing() as mind:
            return sum([self._take_in(mind, outcome) for outcome in outcomes])

    def amend(self, round: int, *, loss: Any = None, reward: Any = None) -> Losses:
        """Put an outcome right, and return the losses it had; the learner goes through everything again with the new.

        What was played stays played, and the wrong outcome stays in the history.
        """
        outcome = Outcome(round, loss, reward)
        if not self.feedback_model.supports_amend:
            raise FeedbackError(
                "SessionFile.amend: expected a run without a budget, got one with: money spent stays spent; record "
                "what comes next."
            )
        outcome.numbers(self.feedback_model, 0)
        with self._writing() as mind:
            if self._mark(mind, "SessionFile.amend", outcome.round) != ANSWERED:
                raise FeedbackError(
                    f"SessionFile.amend: expected a ticket with an outcome, got {round}, which has none; "
                    "record it first."
                )
            before = self._known(outcome.round)
            last = self._journal.find("amend", outcome.round)
            again = 0 if last is None else last.again + 1
            self._journal.append("amend", outcome.round, outcome.to_json(), again)
            self._replay()
            told: Losses = self.feedback_model.decode(before)
            return told

    def cancel(self, round: int) -> bool:
        """Take back a ticket that will never be answered; True if that is news.

        Its row was met, so it is never handed out again, and the intervals of its action count no loss after it; if
        it failed, record the worst loss instead.
        """
        with self._writing() as mind:
            mark = self._mark(mind, "SessionFile.cancel", round)
            if mark == ANSWERED:
                raise FeedbackError(f"SessionFile.cancel: ticket {round} has an outcome; amend it instead.")
            if mark == PENDING:
                self._append("cancel", round, value=None)
                mind.marks[round] = CANCELLED
            return mark == PENDING

    @property
    def round(self) -> int:
        """The number of tickets handed out so far, to whomever."""
        with self._reading() as mind:
            return mind.round

    @property
    def pending(self) -> list[Assignment]:
        """The tickets that were handed out, to whomever, and have no outcome yet."""
        with self._reading() as mind:
            return list(self._assignments(mind.pending, map(self._ticket, mind.pending)))

    def round_of(self, id: str) -> int:
        """Return the number of the ticket that this row has, or will have."""
        name = str(id)
        with self._journal.reading():
            found = self._journal.place_of(name) if is_encodable(name) else None
        if found is None:
            raise FeedbackError(
                f"SessionFile: expected the id of one of the {self.horizon} rows, got {id!r}; check its name."
            )
        return found

    def play_of(self, round: int) -> Assignment:
        """Return the ticket with this number, as `next` gave it."""
        with self._reading() as mind:
            self._mark(mind, "SessionFile.play_of", round)
            return self._assignment(int(round), *self._ticket(round))

    def status(self, level: float = 0.05) -> "Status":
        """Return how far the run is, and what it says about the actions; its intervals fail with probability `level`."""
        from tombola.persistence.session_status import status_of

        with self._reading() as mind:
            book = self._recalled(mind)
            target = None if self.budget is None else self.budget.target
            waiting = book.waiting
            pending = self._assignments(waiting.tolist(), book.plays(waiting))
            return status_of(book, pending, level, mind.balance, mind.runner.mix, target)

    def book(self) -> Record:
        """Return all tickets and outcomes, as the file has them now; the digest of every event is checked."""
        with self._reading() as mind:
            book = self._new_record(mind)
            book.read(self._journal.history())
            return book

    def recall(self) -> Record:
        """Return the same as `book`, sooner: from the chapters, and only what comes after them from the events.

        What is read is checked. An event that was damaged after it came into a chapter is not read, so not noticed.
        """
        with self._reading() as mind:
            return self._recalled(mind)

    def ids(self) -> list[str]:
        """Return the rows in the order in which they are played."""
        return list(self.each_id())

    def each_id(self) -> Generator[str, None, None]:
        """Return the same one by one; nothing is written to the file before the last of them."""
        with self._journal.reading():
            yield from self._journal.ids()

    @property
    def state(self) -> Any:
        """The state of the learner, by name: read it, do not write it."""
        with self._reading() as mind:
            return mind.runner.state

    def close(self) -> None:
        """Close the file; what was recorded is on the disk already."""
        self._journal.close()

    def __enter__(self) -> "SessionFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SessionFile({str(self._journal.path)!r}, {self.learner!r}, {self.horizon} rows)"

    def _note_if_slow(self) -> None:
        with self._journal.reading():
            if not self._journal.keeps and self._journal.unread > CHAPTER:
                self._journal.notes.append(
                    f"all {self._journal.unread} events of {self.path} are gone through every time, because no folder "
                    "keeps a key for checkpoints; set TOMBOLA_STATE to a folder that only you can read and write"
                )

    @contextmanager
    def _writing(self) -> Iterator[Mind]:
        with self._lock, self._kept(), self._journal.writing():
            yield self._current()
            self._keep()
            self._journal.bind(CHAPTER, self._retold)

    @contextmanager
    def _reading(self) -> Iterator[Mind]:
        with self._lock, self._kept(), self._journal.reading():
            yield self._current()

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Forget what is in memory if anything fails, also the writing: the file is what counts."""
        try:
            yield
        except BaseException:
            self._forget()
            self._journal.restart()
            raise

    def _forget(self) -> None:
        self._mind = None
        self._tickets.clear()

    def _keep(self) -> None:
        """Write a checkpoint, if enough has happened since the last one."""
        if self._mind is not None and not self._own and self._fresh >= max(EVENTS, self._size // BYTES):
            body = self._mind.save()
            self._journal.checkpoint(body)
            self._fresh, self._size = 0, len(body)

    def _current(self) -> Mind:
        """Return the learner, with everything that has happened in the file since the last call."""
        mind = self._mind if self._mind is not None else self._resume()
        for event in self._journal.news():
            if event.kind == "amend":
                return self._replay()
            self._repeat(mind, event)
        return mind

    def _new_record(self, mind: Mind) -> Record:
        return Record(Fact(self.learner, self.names, self.feedback_model, self.seed), mind.round)

    def _recalled(self, mind: Mind) -> Record:
        book, end = self._new_record(mind), None
        for place, body in self._journal.chapters():
            book.enter(Chapter.load(body))
            end = place
        book.read(self._journal.history(end))
        if (book.round, book.answered) != (mind.round, int(np.count_nonzero(mind.marks == ANSWERED))):
            raise SessionError(
                f"SessionFile: {self._journal.path} has chapters that do not fit what the learner has met, so it was "
                "changed; take a backup of it."
            )
        return book

    def _retold(self, events: list[LogEvent]) -> bytes:
        return chapter_of(events, self.feedback_model, lambda round_: self._ticket(round_)[0]).save()

    def _assignments(self, rounds: list[int], plays: Iterable[tuple[int, float]]) -> Iterator[Assignment]:
        for round_, id_, (action, probability) in zip(rounds, self._journal.ids_of(rounds), plays, strict=True):
            yield Assignment(round_, id_, self.names[action], _chance(_plain(probability)))

    def _new_mind(self) -> Mind:
        return Mind(self.learner, self.feedback_model, seed=self.seed)

    def _resume(self) -> Mind:
        """Take up the learner at the checkpoint, or at the start."""
        body = self._journal.rewind()
        with interpreted() if self._few else nullcontext():
            mind = self._new_mind()
        self._fresh, self._size = 0, len(body or b"")
        if body is not None and not (not self._own and mind.load(body)):
            self._journal.restart()
        self._mind = mind
        return mind

    @property
    def _few(self) -> bool:
        return self.brisk and not self.learner.plans and self._journal.unread <= FEW

    def _replay(self) -> Mind:
        """Go through everything from the start, with the outcomes as they were amended."""
        amended = {event.key: event for event in self._journal.history() if event.kind == "amend"}
        last = max((event.number for event in amended.values()), default=0)
        self._journal.restart()
        self._forget()
        self._mind = mind = self._new_mind()
        right = True  # until the learner hears of an outcome that it had heard otherwise when it played
        for event in self._journal.news():
            if event.kind == "outcome" and event.key in amended:
                right = False
                event = event._replace(value=amended[event.key].value)
            if event.kind != "amend":
                self._repeat(mind, event, check=right or event.number > last)
            elif not self.feedback_model.supports_amend or mind.marks[event.key] != ANSWERED:
                raise self._misfit(event)
        self._fresh = max(self._fresh, EVENTS)
        self._size = 0
        return mind

    def _repeat(self, mind: Mind, event: LogEvent, *, check: bool = True) -> None:
        self._fresh += 1
        if event.kind == "ticket":
            action, probability = event.value
            again = mind.act()
            if mind.round != event.key or (check and (again[0], _plain(again[1])) != (action, probability)):
                raise SessionError(
                    f"SessionFile: {self._journal.path} says that ticket {event.key} was {event.value}, which "
                    f"{self.learner!r} does not repeat, so the file or tombola was changed; "
                    "use the version that wrote it."
                )
            self._tickets[event.key] = action, _chance(probability)
        elif event.kind == "outcome" and mind.marks[event.key] == PENDING:
            outcome = outcome_from(event.key, event.value)
            self._observe(mind, outcome)
        elif event.kind == "cancel" and mind.marks[event.key] == PENDING:
            mind.marks[event.key] = CANCELLED
        else:
            raise self._misfit(event)

    def _misfit(self, event: LogEvent) -> SessionError:
        return SessionError(
            f"SessionFile: {self._journal.path} has an event that does not fit ({event.kind!r} of ticket "
            f"{event.key!r}), so it was changed; take a backup of it."
        )

    def _observe(self, mind: Mind, outcome: Outcome) -> None:
        action, probability = self._ticket(outcome.round)
        mind.observe(outcome.round, action, probability, outcome.numbers(self.feedback_model, action))
        self._tickets.pop(outcome.round, None)

    def _hand_out(self, mind: Mind) -> Assignment:
        action, probability = mind.act()
        self._append("ticket", mind.round, [action, _plain(probability)])
        self._tickets[mind.round] = action, probability
        if (
            action >= self.feedback_model.n_listed_actions and not self.feedback_model.full_feedback
        ):  # the added null action: nothing to wait for
            self._take_in(mind, Outcome(mind.round, loss=1.0))
        return self._assignment(mind.round, action, probability)

    def _take_in(self, mind: Mind, outcome: Outcome) -> bool:
        mark = self._mark(mind, "SessionFile.record", outcome.round)
        numbers = outcome.numbers(self.feedback_model, self._ticket(outcome.round)[0])
        if mark == PENDING:
            self._append("outcome", outcome.round, outcome.to_json())
            self._observe(mind, outcome)
            return True
        if mark == CANCELLED:
            raise FeedbackError(
                f"SessionFile.record: ticket {outcome.round} was cancelled; record only what is pending."
            )
        before = self._known(outcome.round)
        if before != numbers:
            first, now = self.feedback_model.decode(before), self.feedback_model.decode(numbers)
            advice = "amend it if it was wrong" if self.feedback_model.supports_amend else "record what comes next"
            raise FeedbackError(
                f"SessionFile.record: ticket {outcome.round} has been answered with {first!r}, got {now!r} now, "
                f"and the first answer stands; {advice}."
            )
        return False

    def _append(self, kind: str, round_: int, value: Any) -> None:
        self._journal.append(kind, round_, value)
        self._fresh += 1

    def _mark(self, mind: Mind, owner: str, round_: int) -> int:
        """Return what has become of a ticket that was handed out."""
        round_ = _validate.integer(owner, "round", round_, least=1)
        if round_ > mind.round:
            raise FeedbackError(
                f"{owner}: expected a ticket that has been handed out (1..{mind.round}), got {round_}; "
                "take the number that `next` gave, or look it up in the status."
            )
        return int(mind.marks[round_])

    def _known(self, round_: int) -> EncodedOutcome:
        event = self._journal.find("amend", round_) or self._journal.find("outcome", round_)
        if event is None:
            raise SessionError(
                f"SessionFile: {self._journal.path} lacks the outcome of ticket {round_}; take a backup of it."
            )
        return outcome_from(round_, event.value).numbers(self.feedback_model, self._ticket(round_)[0])

    def _ticket(self, round_: int) -> tuple[int, float]:
        """Return the action and the probability of a ticket."""
        if round_ in self._tickets:
            return self._tickets[round_]
        event = self._journal.find("ticket", round_)
        if event is None:
            raise SessionError(f"SessionFile: {self._journal.path} lacks ticket {round_}; take a backup of it.")
        action, probability = event.value
        return action, _chance(probability)

    def _assignment(self, round_: int, action: int, probability: float) -> Assignment:
        return Assignment(round_, self._journal.id_of(round_), self.names[action], _chance(_plain(probability)))


def live_setting(learner: Any, names: int, horizon: int, budget: Budget | None) -> FeedbackModel:
    """Return the setting of a run with so many names of actions, an added null action among them."""
    if budget is None:
        return make_feedback_model(learner, horizon, actions=names)
    listed = names - (budget.null == "add")
    budget_run = BudgetRun(budget.resolve(listed, budget.per_resource.size, horizon=horizon))
    return make_feedback_model(learner, horizon, actions=listed, budget_run=budget_run)


def check_names(owner: str, what: str, names: list[str]) -> None:
    """Refuse names that are missing, double, or no text."""
    if not names or not all(name.strip() for name in names):
        raise ParameterError(f"{owner}: expected a name for each of the {what}, got none or an empty one; name them.")
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"{owner}: {what} must have different names, got {twice!r} {times} times; rename them.")
    if "..." in names:
        raise ParameterError(f"{owner}: expected all {what} by name, got '...' for those left out; write them all.")
    for name in names:
        if not is_encodable(name):
            raise ParameterError(f"{owner}: names of {what} must be text, got {name!r} with a half sign; repair it.")


def _plain(probability: float) -> float | None:
    return None if math.isnan(probability) else probability


def _chance(plain: float | None) -> float:
    """Return a probability; where there is none, always the same NaN, so that equal assignments are equal."""
    return math.nan if plain is None else plain
