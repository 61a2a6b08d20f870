"""Leases: tickets issued for one request of one worker, stored as events.

| kind | key | value |
|---|---|---|
| lease | first ticket | `{"request": idempotency key, "worker": name, "time": Unix seconds, "tickets": [...]}` |

A lease is written in the transaction of its tickets. A client that lost the reply repeats the
request, also after the server was killed, and gets the same tickets.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Self, TypeVar

from tombola import _validate
from tombola._formatting import plural
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, ParameterError
from tombola.parallel.process_bound import ProcessBound
from tombola.worklists.event_log import EventLog

_State = TypeVar("_State")
# Type of an issued ticket: `Assignment` of a session, `Call` of a race.
_Item = TypeVar("_Item")

# Longest idempotency key and worker name, in characters: a UUID has 36, and both are stored with
# every request.
_MAX_NAME_LENGTH = 100


class Lease(NamedTuple):
    """Tickets issued for one request of one worker.

    request: idempotency key, chosen by the client; the same key returns the same tickets.
    worker: may be empty.
    time: in Unix seconds; never decreases in a log, also if the clock is set back.
    """

    request: str
    worker: str
    time: float
    tickets: tuple[int, ...]


class LeasedFile(ProcessBound, ABC, Generic[_State, _Item]):
    """Base class of `SessionFile` and `RaceFile`: an event log, and a state from it.

    A context manager that closes the file. Abstract methods are called in a transaction.
    """

    def __init__(self, log: EventLog) -> None:
        self._log, self.path = log, log.path
        self._bind_to_process()
        self._forget()

    @abstractmethod
    def _current(self) -> _State:
        """Apply the unread events, and return the state."""

    @abstractmethod
    def _pending_numbers(self) -> Iterable[int]:
        """Return the numbers of the tickets without an answer."""

    @abstractmethod
    def _issue(self, count: int | None, *, is_optional: bool = False) -> list[int]:
        """Issue tickets, and return their numbers.

        count: None for the default number of a lease.
        is_optional: return an empty list instead of raising ExhaustedError.
        """

    @abstractmethod
    def _items(self, numbers: Iterable[int]) -> list[_Item]:
        """Return the tickets with these numbers."""

    @property
    @abstractmethod
    def _lease_size(self) -> int:
        """Largest number of tickets of a lease without a count."""

    def _forget(self) -> None:
        """Drop the state, so that all events are read again."""
        self._leases: dict[str, Lease] = {}
        self._lease_of_ticket: dict[int, Lease] = {}
        self._last_lease_time = 0.0
        self._log.rewind()

    @property
    def pending(self) -> list[_Item]:
        """The tickets without an answer, issued by any process.

        Without cancelled tickets of a session, and calls of candidates that a race has dropped.
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
    ) -> list[_Item]:
        """Issue tickets for a request; the same request again returns the same tickets.

        A reissued ticket stays one ticket: it is counted once, and its cost is reserved once.
        ConflictError if the key belongs to a request of another worker, or for more tickets. At the
        end of the list a session raises ExhaustedError, and a race returns an empty list.

        request: the idempotency key, stored with the tickets; it survives a kill.
        count: number of tickets, fewer if fewer are possible now; None: one of a session, in a race
            all calls of a row.
        worker: name of the worker who gets them.
        reissue_after: offer pending tickets leased this many seconds ago before new ones; None:
            never.
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
                # Times never decrease, also if the clock is set back.
                start = max(time.time() if now is None else float(now), self._last_lease_time)
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
                self._add_lease(lease)
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
        """Return the pending tickets leased at least `after` seconds ago, or never."""
        found = self._lease_of_ticket
        return [
            one
            for one in self._pending_numbers()
            if one not in found or now - found[one].time >= after
        ]

    def _add_lease(self, lease: Lease) -> None:
        self._leases[lease.request], self._last_lease_time = lease, lease.time
        self._lease_of_ticket.update(dict.fromkeys(lease.tickets, lease))

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
        is_new = is_typed and request not in self._leases and start >= self._last_lease_time
        if not is_new or tickets[:1] != [ticket] or len(set(map(repr, tickets))) != len(tickets):
            raise ValueError("malformed lease")
        if not all(type(number) is int and number in issued for number in tickets):
            raise ValueError("lease of an unknown ticket")
        self._add_lease(Lease(request, worker, start, tuple(tickets)))

    @property
    def leases(self) -> list[Lease]:
        """All leases of the file, the oldest first."""
        with self._reading():
            return list(self._leases.values())

    def lease_of_ticket(self) -> dict[int, Lease]:
        """Return the last lease of each ticket that was issued by `lease`."""
        with self._reading():
            return dict(self._lease_of_ticket)

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

        Rejected feedback changes nothing, so the state is kept if no event was read or appended
        before it.
        """
        before = self._log.position
        try:
            yield
        except BaseException as error:
            if (
                not isinstance(error, FeedbackError | ParameterError | ExhaustedError)
                or self._log.position != before
            ):
                self._forget()
            raise
