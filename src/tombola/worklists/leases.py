"""Leases of a work list: which tickets each request of a worker has got."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats, Integers


class Lease(NamedTuple):
    """Tickets issued for one request of one worker.

    request: idempotency key, chosen by the client; the same key returns the same tickets.
    worker: may be empty.
    time: in Unix seconds, by the clock of the system.
    """

    request: str
    worker: str
    time: float
    tickets: tuple[int, ...]


class LeasedTickets(NamedTuple):
    """Tickets with their last leases, as arrays with an entry for each ticket.

    names: of all workers. workers: number of the worker in `names`. times: in Unix seconds.
    """

    tickets: Integers
    names: tuple[str, ...]
    workers: Integers
    times: Floats


class Leases:
    """All leases of a list, the oldest first; a long list has one for each ticket.

    Stored as columns, which take a quarter of the memory of tuples, and are saved as they are.

    >>> leases = Leases()
    >>> leases.add(Lease("k1", "Ann", 5.0, (1, 2)))
    >>> leases.get("k1") == leases.of_ticket(2), leases.get("k2"), leases.of_ticket(3)
    (True, None, None)
    """

    def __init__(self) -> None:
        # Place of each request, in the order of the leases.
        self._places: dict[str, int] = {}
        self._requests: list[str] = []
        self._worker_numbers: dict[str, int] = {}
        self._workers = array("q")
        self._times = array("d")
        # The tickets of a lease are those from its own start to the next one.
        self._starts = array("q", [0])
        self._tickets = array("q")
        self._last: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Lease]:
        return map(self._at, range(len(self)))

    def __contains__(self, request: object) -> bool:
        return request in self._places

    def add(self, lease: Lease) -> None:
        """Add a lease with a new request."""
        place = len(self)
        self._places[lease.request] = place
        self._requests.append(lease.request)
        self._workers.append(
            self._worker_numbers.setdefault(lease.worker, len(self._worker_numbers))
        )
        self._times.append(lease.time)
        self._tickets.extend(lease.tickets)
        self._starts.append(len(self._tickets))
        self._last.update(dict.fromkeys(lease.tickets, place))

    def get(self, request: str) -> Lease | None:
        """Return the lease of a request; None if there is none."""
        place = self._places.get(request)
        return None if place is None else self._at(place)

    def of_ticket(self, ticket: int) -> Lease | None:
        """Return the last lease of a ticket; None if there is none."""
        place = self._last.get(ticket)
        return None if place is None else self._at(place)

    def time_of(self, ticket: int) -> float | None:
        """Return the time of the last lease of a ticket; None if there is none."""
        place = self._last.get(ticket)
        return None if place is None else self._times[place]

    def by_ticket(self) -> "LeasedTickets":
        """Return the last lease of every ticket, as arrays."""
        n = len(self._last)
        places = np.fromiter(self._last.values(), np.int64, n)
        return LeasedTickets(
            np.fromiter(self._last, np.int64, n),
            tuple(self._worker_numbers),
            np.array(self._workers)[places],
            np.array(self._times)[places],
        )

    def _at(self, place: int) -> Lease:
        worker = list(self._worker_numbers)[self._workers[place]]
        tickets = self._tickets[self._starts[place] : self._starts[place + 1]]
        return Lease(self._requests[place], worker, self._times[place], tuple(tickets))

    def to_columns(self) -> dict[str, Any]:
        """Return all leases as arrays and texts by name, for `from_columns`."""
        return {
            "lease_workers": np.array(self._workers),
            "lease_times": np.array(self._times),
            "lease_starts": np.array(self._starts),
            "lease_tickets": np.array(self._tickets),
            # Requests and names are printable: they have no line breaks.
            "lease_requests": "\n".join(self._requests),
            "lease_names": "\n".join(self._worker_numbers),
        }

    @classmethod
    def from_columns(cls, columns: Any) -> "Leases":
        """Return the leases of `to_columns`."""
        leases = cls()
        leases._workers = array("q", columns["lease_workers"].tobytes())
        leases._times = array("d", columns["lease_times"].tobytes())
        leases._starts = array("q", columns["lease_starts"].tobytes())
        leases._tickets = array("q", columns["lease_tickets"].tobytes())
        if leases._times:
            leases._requests = columns["lease_requests"].split("\n")
            leases._worker_numbers = _numbered(columns["lease_names"].split("\n"))
        leases._places = _numbered(leases._requests)
        counts = np.diff(columns["lease_starts"])
        places = np.repeat(np.arange(len(counts)), counts)
        # A ticket that was issued again is last in its last lease.
        leases._last = dict(zip(leases._tickets, places.tolist(), strict=True))
        return leases


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return dict(zip(names, range(len(names)), strict=True))
