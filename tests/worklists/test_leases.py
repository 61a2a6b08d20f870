"""Leases against a naive twin of tuples, and after they were saved."""

import random

import numpy as np

from tombola.worklists.leases import Lease, Leases


def test_twin_of_tuples() -> None:
    rng = random.Random(3)
    leases = Leases()
    twin: list[Lease] = []
    for number in range(200):
        tickets = tuple(rng.sample(range(1, 40), rng.randint(1, 3)))
        twin.append(Lease(f"k{number}", rng.choice(["", "Ann", "Bob"]), number / 3, tickets))
        leases.add(twin[-1])
        for again in (leases, Leases.from_columns(leases.to_columns())):
            assert list(again) == twin
            assert [again.get(lease.request) for lease in twin] == twin
            assert (twin[0].request in again, "k" in again, again.get("k")) == (True, False, None)
            last = {ticket: lease for lease in twin for ticket in lease.tickets}
            assert {ticket: again.of_ticket(ticket) for ticket in last} == last
            assert (again.of_ticket(99), again.time_of(99)) == (None, None)
            by_ticket = again.by_ticket()
            assert by_ticket.tickets.tolist() == list(last)
            assert [by_ticket.names[one] for one in by_ticket.workers] == [
                lease.worker for lease in last.values()
            ]
            assert np.array_equal(by_ticket.times, [lease.time for lease in last.values()])


def test_no_leases() -> None:
    again = Leases.from_columns(Leases().to_columns())
    assert (list(again), again.by_ticket().tickets.tolist()) == ([], [])
    only = Leases()
    only.add(Lease("k", "", 0.5, (1,)))
    assert list(Leases.from_columns(only.to_columns())) == list(only)
