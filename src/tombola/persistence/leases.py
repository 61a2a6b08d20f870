"""Leases: tickets issued for one request of one worker, stored as events.

| kind | key | value |
|---|---|---|
| lease | first ticket | `{"request": idempotency key, "worker": name, "time": Unix seconds, "tickets": [...]}` |

A lease is written in the transaction of its tickets. A client that lost the reply repeats the request, also after
the server was killed, and gets the same tickets.
"""

import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Self, TypeVar

from tombola import _validate
from tombola._formatting import plural
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError
from tombola.parallel.process_bound import ProcessBound
from tombola.persistence.event_log import EventLog

_State = TypeVar("_State")

# Longest idempotency key and worker name, in characters: a UUID has 36, and both are stored with every request.
_MAX_NAME_LENGTH = 100


class Lease(NamedTuple):
    """Tickets issued for one request of one worker.

    request: idempotency key, chosen by the client; the same key returns the same tickets.
    worker: may be empty.
    time: in Unix seconds; never decreases in a log, also if the clock is set back.

    >>> Lease("k1", "Ann", 0.0, (1, 2)).to_json()
    {'request': 'k1', 'worker': 'Ann', 'time': 0.0, 'tickets': [1, 2]}
    """

    request: str
    worker: str
    time: float
    tickets: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of JSON data, the value of a lease event."""
        return {**self._asdict(), "tickets": list(self.tickets)}


class LeaseTable:
    """Leases of an event log: by request, oldest first; the last one of each ticket.

    >>> table = LeaseTable()
    >>> table.add(table.new("k1", "Ann", 5.0, [1, 2]))
    >>> table.new("k2", "Bob", 3.0, [3]).time
    5.0
    >>> table.find("k1", "Ann", 2).tickets
    (1, 2)
    """

    def __init__(self) -> None:
        self.by_request: dict[str, Lease] = {}
        self.by_ticket: dict[int, Lease] = {}
        self._latest = 0.0

    def find(self, request: str, worker: str, count: int) -> Lease | None:
        """Return the lease of a request, or None if the request is new.

        ConflictError if the key belongs to a request of another worker, or for more than `count` tickets.
        """
        lease = self.by_request.get(request)
        # Fewer tickets than requested are normal at the end of the list; more are not.
        if lease is not None and (lease.worker != worker or len(lease.tickets) > count):
            raise ConflictError(
                f"next: expected a new idempotency key for a new request, got {request!r}, the key of a request for "
                f"{plural(len(lease.tickets), 'ticket')} by another worker or with another count; draw a random key."
            )
        return lease

    def new(self, request: str, worker: str, now: float, tickets: Iterable[int]) -> Lease:
        """Return a lease from Unix time `now`, or from the latest start if that is later."""
        return Lease(request, worker, max(float(now), self._latest), tuple(tickets))

    def add(self, lease: Lease) -> None:
        """Add a lease; from then on it is the last one of its tickets."""
        self.by_request[lease.request] = lease
        self.by_ticket.update(dict.fromkeys(lease.tickets, lease))
        self._latest = lease.time

    def replay(self, ticket: Any, value: Any, issued: Container[int]) -> None:
        """Add the lease of a stored event; ValueError if it is malformed.

        ticket, value: key and value of the event: the first ticket of the lease, and `Lease.to_json`.
        issued: numbers of all tickets issued before.
        """
        if not (type(value) is dict and value.keys() == {"request", "worker", "time", "tickets"}):
            raise ValueError("malformed lease")
        request, worker, start, tickets = value["request"], value["worker"], value["time"], value["tickets"]
        is_typed = type(request) is str and type(worker) is str and type(start) is float and type(tickets) is list
        if not is_typed or request in self.by_request or not start >= self._latest:
            raise ValueError("malformed lease")
        if not tickets or tickets[0] != ticket or len(set(map(repr, tickets))) != len(tickets):
            raise ValueError("malformed lease")
        if not all(type(number) is int and number in issued for number in tickets):
            raise ValueError("lease of an unknown ticket")
        self.add(Lease(request, worker, start, tuple(tickets)))

    def expired(self, pending: Iterable[int], now: float, after: float) -> list[int]:
        """Return the pending tickets leased at least `after` seconds ago, or never."""
        return [
            ticket
            for ticket in pending
            if (lease := self.by_ticket.get(ticket)) is None or max(now, self._latest) - lease.time >= after
        ]


def check_lease(
    owner: str, request: Any, worker: Any, reissue_after: float | None, now: float | None
) -> tuple[float | None, float]:
    """Check the arguments of a lease; return `reissue_after` and the time.

    The time is `now`, or the system time if `now` is None.
    """
    for what, text, least in (("idempotency key", request, 1), ("worker name", worker, 0)):
        limit = _MAX_NAME_LENGTH
        if not (type(text) is str and least <= len(text) <= limit and text.isprintable()):
            raise ParameterError(
                f"{owner}: expected an {what} of {least} to {limit} printable characters, got {text!r:.200}; "
                "use a UUID or a short name."
            )
    if reissue_after is not None:
        reissue_after = _validate.real(owner, "reissue_after", reissue_after, least=0)
    return reissue_after, time.time() if now is None else now


class LeasedFile(ProcessBound, Generic[_State]):
    """Base class of `SessionFile` and `RaceFile`: an event log, and a state from it.

    A context manager that closes the file. A lease is the issue of tickets for one request of a worker. A subclass
    defines `_current`, which returns the state after all events, and `_forget`, which drops it.
    """

    def __init__(self, log: EventLog) -> None:
        self._log, self.path = log, log.path
        self._leases = LeaseTable()
        self._bind_to_process()

    def _current(self) -> _State:
        """Apply the unread events, and return the state."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Drop the state, so that all events are read again."""
        raise NotImplementedError

    def lease_of_ticket(self) -> dict[int, Lease]:
        """Return the last lease of each ticket that was issued by `lease`."""
        with self._reading():
            return dict(self._leases.by_ticket)

    def lease_times(self) -> dict[int, float]:
        """Return the Unix time of the last lease of each ticket that has one."""
        return {ticket: lease.time for ticket, lease in self.lease_of_ticket().items()}

    def close(self) -> None:
        """Close the file; everything recorded is on the disk already."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[_State]:
        with self._locked(), self._forget_on_error(), self._log.writing():
            yield self._current()

    @contextmanager
    def _reading(self) -> Iterator[_State]:
        with self._locked(), self._forget_on_error(), self._log.reading():
            yield self._current()

    @contextmanager
    def _forget_on_error(self) -> Iterator[None]:
        """Drop the state after an exception: the file is authoritative.

        Rejected feedback changes nothing, so the state is kept if no event was read or appended before it.
        """
        before = self._log.position
        try:
            yield
        except BaseException as error:
            if not isinstance(error, FeedbackError | ParameterError | ExhaustedError) or self._log.position != before:
                self._forget()
            raise

    def _write_lease(self, request: str, worker: str, now: float, tickets: Iterable[int]) -> None:
        lease = self._leases.new(request, worker, now, tickets)
        self._log.append("lease", lease.tickets[0], lease.to_json())
        self._leases.add(lease)
