"""WorkFile: the contract of session and race files, with tickets, outcomes and leases.

A work list is a list of rows that issues tickets, an action to try on a row, and takes their
outcomes. `SessionFile` and `RaceFile` are the two kinds. Commands, tables, the service and its
client use this contract and do not know which kind they have.

A lease is the set of tickets issued for one request of one worker, stored as an event:

| kind | key | value |
|---|---|---|
| lease | first ticket | `{"request": idempotency key, "worker": name, "time": Unix seconds, "tickets": [...]}` |

It is written in the transaction of its tickets. A client that lost the reply repeats the request,
also after the server was killed, and gets the same tickets.
"""

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

from tombola import _validate
from tombola._formatting import plural
from tombola.errors import (
    ConflictError,
    ExhaustedError,
    FeedbackError,
    ParameterError,
)
from tombola.parallel.process_bound import ProcessBound
from tombola.units import Kind, Units
from tombola.worklists.event_log import EventLog
from tombola.worklists.leases import Lease, LeasedTickets, Leases

_State = TypeVar("_State")
# Result of a function that is called with others in one transaction.
_T = TypeVar("_T")

# Errors that reject a request before anything was changed.
_REJECTIONS = (FeedbackError, ParameterError, ExhaustedError, ConflictError)
# Longest idempotency key and worker name, in characters: a UUID has 36, and both are stored with
# every request.
_MAX_NAME_LENGTH = 100


class _UndoneError(Exception):
    """Raised inside of a transaction of several functions to undo all of them."""


class Assignment(NamedTuple):
    """A ticket of a work list: the action to try on the row with this id.

    ticket: its number, from 1.
    action: of a session, or candidate of a race.
    probability: with which the learner chose the action; NaN if it is not known, or in a race.
    since: Unix time of the last request that it was issued for; None if that was not stored.
    run: which call of the candidate on this row it is, from 1. In a race on random answers, or by
        its pilot, a row comes again, and needs a fresh call.

    >>> Assignment(7, "row 3", "a", run=2).text
    'a on row 3, run 2'
    """

    ticket: int
    id: str
    action: str
    probability: float = math.nan
    since: float | None = None
    run: int = 1

    @property
    def text(self) -> str:
        """What to do, in a few words: the action, the row, and the run from the second one on."""
        return f"{self.action} on {self.id}{f', run {self.run}' if self.run > 1 else ''}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data, None for NaN."""
        probability = None if math.isnan(self.probability) else self.probability
        return {**self._asdict(), "probability": probability}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Assignment":
        """Return the ticket that `to_json` wrote; other keys are ignored."""
        probability = data["probability"]
        return cls(
            data["ticket"],
            data["id"],
            data["action"],
            math.nan if probability is None else probability,
            data.get("since"),
            data.get("run", 1),
        )


class Outcome(NamedTuple):
    """Feedback for a ticket; `WorkFile.record_all` takes many of them.

    ticket: its number, from 1.
    loss, reward, cost: as of `Session.observe`; in a race one loss and one cost.
    source: file and line that it was read from, for error messages; "" if it was not read from a
        table.
    units: unit of the numbers in error messages; None: the unit of the list.
    failed: of a race: the call failed, and has no loss.
    """

    ticket: int
    loss: Any = None
    reward: Any = None
    cost: Any = None
    source: str = ""
    units: Units | None = None
    failed: bool = False


@dataclass(frozen=True)
class Description:
    """What a work list is: its settings that do not change, of a file or over HTTP.

    kind: "session" or "race".
    actions: their names, or those of the candidates; an added null action is the last.
    n_listed: number of the actions without an added null action.
    full_feedback: whether a ticket is answered for every action.
    columns, id_column, delimiter: of the user's list; the rows are named by the ids.
    direction, range, unit: of the outcomes in tables, texts and pages; direction None: losses in
        texts, and in tables by the name of the column.
    cost_columns: of tables of outcomes; empty without costs.
    default_cost: of an outcome without a cost; None if it must have one, or has none.
    learner: of a session, as text; "" for a race.
    evaluator: how the calls of a race are made; None if unknown.
    repeats: whether a candidate may be called on the same row again.
    """

    kind: Literal["session", "race"]
    rows: int
    actions: tuple[str, ...]
    n_listed: int
    full_feedback: bool
    columns: tuple[str, ...]
    id_column: str
    delimiter: str
    direction: Kind | None
    range: tuple[float, float]
    unit: str = ""
    cost_columns: tuple[str, ...] = ()
    default_cost: float | None = None
    learner: str = ""
    evaluator: dict[str, Any] | None = None
    repeats: bool = False

    @property
    def units(self) -> Units:
        """Conversion between the outcomes and losses in [0, 1]."""
        return Units(*self.range, scores=self.direction == "scores", unit=self.unit)

    @property
    def action_word(self) -> str:
        """What an action is called: action, or candidate in a race."""
        return "candidate" if self.kind == "race" else "action"

    def is_null(self, action: str) -> bool:
        """Return whether an action leaves its row alone: the null action added by a budget."""
        return self.actions.index(action) >= self.n_listed

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Description":
        """Return the description that `to_json` wrote; other keys are ignored."""
        fields = {name: data[name] for name in cls.__dataclass_fields__}
        lists = ("actions", "columns", "range", "cost_columns")
        return cls(**fields | {name: tuple(fields[name]) for name in lists})


class WorkFile(ProcessBound, ABC, Generic[_State]):
    """Base class of `SessionFile` and `RaceFile`: an event log, and a state from it.

    A context manager that closes the file. Every method is one transaction; `reading` and `writing`
    make one of several calls. Abstract methods with a leading underscore are called in one.
    """

    kind: ClassVar[Literal["session", "race"]]
    columns: tuple[str, ...]
    id_column: str

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.path = log.path
        # Thread with an open transaction, to which its further calls belong.
        self._thread: int | None = None
        self._bind_to_process()
        self._forget()

    @abstractmethod
    def _current(self) -> _State:
        """Apply the unread events, and return the state."""

    @abstractmethod
    def _pending_numbers(self) -> Iterable[int]:
        """Return the numbers of the tickets without an outcome."""

    @abstractmethod
    def _issue(self, count: int | None, *, is_optional: bool = False) -> list[int]:
        """Issue tickets, and return their numbers.

        count: None for the default number of a lease.
        is_optional: return an empty list instead of raising ExhaustedError.
        """

    @abstractmethod
    def _items(self, numbers: Iterable[int]) -> list[Assignment]:
        """Return the tickets with these numbers."""

    @property
    @abstractmethod
    def _lease_size(self) -> int:
        """Largest number of tickets of a lease without a count."""

    @abstractmethod
    def describe(self) -> Description:
        """Return the settings that do not change."""

    @abstractmethod
    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many outcomes, all or none, as `record`; return how many are new."""

    @abstractmethod
    def assignment(self, ticket: int) -> Assignment:
        """Return the issued ticket with this number; FeedbackError if it was not issued."""

    @abstractmethod
    def ticket_of(self, id: str, action: str = "", run: int | None = None) -> int:
        """Return the number of the ticket of a row, and in a race of a candidate and run.

        FeedbackError if there is none, or several and no run is given.
        """

    @abstractmethod
    def rows_of(self, assignments: Sequence[Assignment]) -> list[tuple[str, ...]]:
        """Return the row of each ticket: cells of the user's list, in `columns` order."""

    @abstractmethod
    def counts(self) -> dict[str, Any]:
        """Return the numbers that change as the work goes on, without any estimate."""

    @abstractmethod
    def summary(self) -> str:
        """Return one line on the state: progress, or the answer of a race."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return all that is known now as JSON data.

        Both kinds have the keys kind, rows, quantity, pending, done and summary.
        """

    @abstractmethod
    def export(self, path: str | PathLike[str]) -> int:
        """Write all tickets to a .csv or .parquet table; return the number of rows."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether no further ticket will be issued."""

    def next(self, count: int | None = None) -> list[Assignment]:
        """Issue the next tickets, on the disk on return; no ticket is issued twice.

        At the end of the list a session raises ExhaustedError. A race returns an empty list if it
        is over, or if pending answers come first.

        count: largest number of tickets; None: one of a session, in a race all that the next row
            needs.
        """
        if count is not None:
            count = _validate.integer(f"{type(self).__name__}.next", "count", count, least=1)
        with self._writing():
            return self._items(self._issue(count))

    def record(
        self,
        ticket: int,
        *,
        loss: Any = None,
        reward: Any = None,
        cost: Any = None,
        failed: bool = False,
    ) -> bool:
        """Record the outcome of a ticket; it is on the disk on return.

        Returns True, or False if the same outcome was recorded before. ConflictError if the ticket
        has another outcome or was cancelled; FeedbackError if the outcome is malformed, or the
        ticket was not issued. Parameters are those of `Outcome`.
        """
        return self.record_all([Outcome(ticket, loss, reward, cost, failed=failed)]) == 1

    def amend(self, ticket: int, *, loss: Any = None, reward: Any = None) -> Any:
        """Replace a wrong outcome; FeedbackError if the outcomes of this list are final."""
        raise FeedbackError(
            "amend: expected a session, got a race, whose answers are final; record the next "
            "answers as they are."
        )

    def cancel(self, ticket: int) -> bool:
        """Cancel a ticket that never gets an outcome; FeedbackError in a race."""
        raise FeedbackError(
            "cancel: expected a session, got a race; record the call as failed instead."
        )

    @contextmanager
    def reading(self) -> Iterator[Self]:
        """Make one transaction of all calls in the block, which change nothing."""
        with self._reading():
            yield self

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """Make one transaction of all calls in the block; it is on the disk when it ends."""
        with self._writing():
            yield self

    def run_together(self, functions: Sequence[Callable[[], _T]]) -> "list[_T | Exception]":
        """Call functions in one transaction: one wait for the disk in place of one each.

        Returns result or exception of each, as if they were called one after the other. A function
        that fails after it has appended events undoes the transaction; then each one gets its own.
        If the transaction itself cannot be written, nothing is, and all have its exception.
        """
        results: list[_T | Exception] = []
        if len(functions) > 1:
            try:
                with self._writing():
                    for function in functions:
                        position = self._log.position
                        try:
                            results.append(function())
                        except _REJECTIONS as error:
                            if self._log.position != position:
                                raise _UndoneError from error
                            results.append(error)
                        except Exception as error:
                            raise _UndoneError from error
                return results
            except _UndoneError:
                results = []
            except Exception as error:
                return [error] * len(functions)
        for function in functions:
            try:
                results.append(function())
            except Exception as error:
                results.append(error)
        return results

    def _forget(self) -> None:
        """Drop the state, so that all events are read again."""
        self._leases = Leases()
        # Monotonic times at which this process issued leases, and at which it read the others.
        self._seen: dict[str, float] = {}
        self._opened = time.monotonic()
        self._log.rewind()

    @property
    def pending(self) -> list[Assignment]:
        """The tickets without an outcome, issued by any process.

        Without cancelled tickets of a session, and those of candidates that a race has dropped.
        """
        with self._reading():
            return self._items(self._pending_numbers())

    def lease(
        self,
        request: str,
        count: int | None = None,
        *,
        worker: str = "",
        reissue_after: float | None = None,
        now: float | None = None,
    ) -> list[Assignment]:
        """Issue tickets for a request; the same request again returns the same tickets.

        A reissued ticket stays one ticket: it is counted once, and its cost is reserved once.
        ConflictError if the key belongs to a request of another worker, or for more tickets. At the
        end of the list a session raises ExhaustedError, and a race returns an empty list.

        request: the idempotency key, stored with the tickets; it survives a kill.
        count: number of tickets, fewer if fewer are possible now; None: one of a session, in a race
            all calls of a row.
        worker: name of the worker who gets them.
        reissue_after: offer pending tickets leased this many seconds ago before new ones; None:
            never. If answers are random, this favours faster ones.
        now: present time in Unix seconds; None: the system clock.
        """
        owner = f"{type(self).__name__}.lease"
        for what, text, least in (("idempotency key", request, 1), ("worker name", worker, 0)):
            if not (
                type(text) is str and least <= len(text) <= _MAX_NAME_LENGTH and text.isprintable()
            ):
                raise ParameterError(
                    f"{owner}: expected an {what} of {least} to {_MAX_NAME_LENGTH} printable "
                    "characters, "
                    f"got {text!r:.200}; use a UUID or a short name."
                )
        most = (
            self._lease_size if count is None else _validate.integer(owner, "count", count, least=1)
        )
        if reissue_after is not None:
            reissue_after = _validate.real(owner, "reissue_after", reissue_after, least=0)
        with self._writing():
            lease = self._leases.get(request)
            if lease is None:
                start = time.time() if now is None else float(now)
                tickets = (
                    [] if reissue_after is None else self._expired(start, reissue_after)[:most]
                )
                # Without a count, the calls of the next row come when none of an earlier one is
                # offered again.
                if not tickets or (count is not None and len(tickets) < most):
                    more = None if count is None else most - len(tickets)
                    tickets += self._issue(more, is_optional=bool(tickets))
                if not tickets:
                    return []
                lease = Lease(request, worker, start, tuple(tickets))
                self._log.append("lease", tickets[0], {**lease._asdict(), "tickets": tickets})
                self._leases.add(lease)
                self._seen[request] = time.monotonic()
            # Fewer tickets than requested are normal at the end of the list; more are not.
            elif lease.worker != worker or len(lease.tickets) > most:
                raise ConflictError(
                    f"next: expected a new idempotency key for a new request, got {request!r}, "
                    "the key of a request "
                    f"for {plural(len(lease.tickets), 'ticket')} by another worker or with "
                    "another count; draw a "
                    "random key."
                )
            return self._items(lease.tickets)

    def _expired(self, now: float, after: float) -> list[int]:
        """Return the pending tickets leased at least `after` seconds ago, or never.

        The clock of the system may be set, so the time that has passed in this process counts too.
        """
        tickets = []
        passed = time.monotonic()
        for ticket in self._pending_numbers():
            lease = self._leases.of_ticket(ticket)
            if lease is not None:
                age = max(now - lease.time, passed - self._seen.get(lease.request, self._opened))
            if lease is None or age >= after:
                tickets.append(ticket)
        return tickets

    def _since(self, ticket: int) -> float | None:
        """Return the time of the last lease of a ticket; None if it has none."""
        return self._leases.time_of(ticket)

    def _replay_lease(self, ticket: Any, value: Any, issued: Container[int]) -> None:
        """Add the lease of a stored event; ValueError if it is malformed.

        ticket, value: key and value of the event: the first ticket of the lease, and its fields.
        issued: numbers of all tickets issued before.
        """
        if type(value) is not dict or value.keys() != set(Lease._fields):
            raise ValueError("malformed lease")
        request, worker, start, tickets = (value[name] for name in Lease._fields)
        is_typed = (
            type(request) is str
            and type(worker) is str
            and type(start) is float
            and type(tickets) is list
        )
        is_new = is_typed and request not in self._leases and math.isfinite(start)
        if not is_new or tickets[:1] != [ticket] or len(set(map(repr, tickets))) != len(tickets):
            raise ValueError("malformed lease")
        if not all(type(number) is int and number in issued for number in tickets):
            raise ValueError("lease of an unknown ticket")
        self._leases.add(Lease(request, worker, start, tuple(tickets)))

    def check(self) -> None:
        """Raise SessionError unless the file can be read, and is the one that was opened."""
        with self._locked(), self._log.reading():
            pass

    @property
    def leases(self) -> list[Lease]:
        """All leases of the file, the oldest first."""
        with self._reading():
            return list(self._leases)

    def leased_tickets(self) -> LeasedTickets:
        """Return the tickets that were issued by `lease`, each with its last one."""
        with self._reading():
            return self._leases.by_ticket()

    def save_state(self) -> None:
        """Save what makes a reopened file faster, if it is worth it."""

    @abstractmethod
    def verify(self) -> int:
        """Check the whole file against its digests by a replay; return the number of events."""

    def write_ahead(self) -> None:
        """Wait less for the disk until `close`: a second file has the newest events until then.

        SessionError on a network drive.
        """
        self._log.write_ahead()

    def close(self) -> None:
        """Close the file; everything recorded is on the disk already."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _writing(self) -> AbstractContextManager[_State]:
        return self._transaction(writes=True)

    def _reading(self) -> AbstractContextManager[_State]:
        return self._transaction(writes=False)

    def _transaction(self, *, writes: bool) -> AbstractContextManager[_State]:
        """Return a block with the state after all events; inside of another one, a part of it."""
        if self._thread == get_ident() and self._process == os.getpid():
            if writes:
                self._log.check_writing()
            return nullcontext(self._current())
        return self._outer_transaction(self._log.writing() if writes else self._log.reading())

    @contextmanager
    def _outer_transaction(self, block: AbstractContextManager[None]) -> Iterator[_State]:
        """Yield the state after all events, in a transaction of the log.

        After an exception the state is dropped: the file is authoritative. Rejected feedback
        changes nothing, so the state is kept if no event was appended.
        """
        with self._locked():
            position = -1
            try:
                with block:
                    self._thread = get_ident()
                    state = self._current()
                    position = self._log.position
                    yield state
            except BaseException as error:
                if not isinstance(error, _REJECTIONS) or self._log.position != position:
                    self._forget()
                raise
            finally:
                self._thread = None


@contextmanager
def errors_at(source: str) -> Iterator[None]:
    """Name file and line of a table in each FeedbackError of the block; "" changes none."""
    try:
        yield
    except FeedbackError as error:
        if not source:
            raise
        raise FeedbackError(f"{source}: {str(error).partition(': ')[2]}") from None


def check_session_only(outcome: Outcome, owner: str) -> None:
    """Raise FeedbackError if an outcome of a session is that of a failed call of a race."""
    if outcome.failed:
        raise FeedbackError(
            f"{owner}: expected an outcome of a session, got a failed call of ticket "
            f"{outcome.ticket}; record the worst loss, 1."
        )


def open_work_file(path: str | PathLike[str], *, only_reads: bool = False) -> "WorkFile[Any]":
    """Open a session or a race file; SessionError if it is neither, missing or damaged.

    only_reads: leave what is beside the file, such as its log, to the process that writes it.
    """
    # Both import this module.
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.session_file import SessionFile

    log = EventLog.open(Path(path), "serve", None)
    log.only_reads = only_reads
    with log.closed_on_error():
        return RaceFile.of_log(log) if log.about["kind"] == "race" else SessionFile.of_log(log)
