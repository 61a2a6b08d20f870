"""Leases: the same request returns the same tickets, also after the file was closed."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from race_cases import start_file
from service_cases import start_session
from tombola import UCB1, RaceFile, SessionFile
from tombola.errors import (
    ConflictError,
    ExhaustedError,
    FeedbackError,
    ParameterError,
    SessionError,
)
from tombola.worklists import Outcome, event_log

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize("kind", ["session", "race"])
def test_lease_repeats_tickets_after_reopening(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    if kind == "session":
        start_session(path)
    else:
        start_file(path).close()
    opened: Any = SessionFile.open if kind == "session" else RaceFile.open
    with opened(path) as file:
        first = file.lease("k1", 3, worker="Ann")
        assert file.lease("k1", 3, worker="Ann") == first
        other = file.lease("k2", 2, worker="Bob")
        for worker, count in (("Bob", 3), ("Ann", 2)):
            with pytest.raises(ConflictError, match="new idempotency key"):
                file.lease("k1", count, worker=worker)
        file.record(1, loss=0.5)
    with opened(path) as file:
        assert file.lease("k1", 3, worker="Ann") == first
        assert file.lease("k2", 2, worker="Bob") == other
        assert [lease.tickets for lease in file.leases] == [(1, 2, 3), (4, 5)]
        leased = file.leased_tickets()
        names = [leased.names[number] for number in leased.workers]
        workers = dict(zip(leased.tickets.tolist(), names, strict=True))
        assert workers == {1: "Ann", 2: "Ann", 3: "Ann", 4: "Bob", 5: "Bob"}
        assert len(file.pending) == 4


@pytest.mark.parametrize("request_", ["", "x" * 101, "a\nb", 3])
def test_lease_rejects_malformed_keys(tmp_path: Path, request_: str) -> None:
    with SessionFile.open(start_session(tmp_path / "a.run")) as file:
        with pytest.raises(ParameterError, match="idempotency key"):
            file.lease(request_)
        assert file.issued == 0


def test_pending_tickets_are_reissued_only_on_request(tmp_path: Path) -> None:
    path = start_session(tmp_path / "a.run", rows=4)
    with SessionFile.open(path) as file:
        file.lease("k1", 2, worker="Ann", now=100.0)
        file.record(1, loss=0.5)
        assert [t.ticket for t in file.lease("k2", 1, worker="Bob", now=200.0)] == [3]
        # Ticket 3 was leased 10 s ago, ticket 2 110 s ago; ticket 1 has an outcome.
        again = file.lease("k3", 2, worker="Cem", reissue_after=60.0, now=210.0)
        assert [t.ticket for t in again] == [2, 4]
        # Its lease started anew.
        with pytest.raises(ExhaustedError):
            file.lease("k4", 1, worker="Dee", reissue_after=60.0, now=211.0)
    with SessionFile.open(path) as file:
        assert file.lease("k3", 2, worker="Cem") == again


def test_clock_that_is_set_back_expires_nothing(tmp_path: Path) -> None:
    """A clock that is set back must not expire leases, nor make the file unreadable."""
    path = start_session(tmp_path / "a.run")
    with SessionFile.open(path) as file:
        file.lease("k1", worker="Ann", now=1000.0)
        file.lease("k2", worker="Ann", now=10.0)
        assert [lease.time for lease in file.leases] == [1000.0, 10.0]
        assert [t.ticket for t in file.lease("k3", reissue_after=60.0, now=20.0)] == [3]
    with SessionFile.open(path) as file:
        assert len(file.leases) == 3


def test_exhausted_request_keeps_session_in_memory(tmp_path: Path) -> None:
    """Clients poll at the end of a list; each poll must not replay the log."""
    with SessionFile.open(start_session(tmp_path / "a.run", rows=2)) as file:
        file.lease("k1", 2)
        session = file._session
        with pytest.raises(ExhaustedError):
            file.lease("k2")
        assert file._session is session


def test_amendment_keeps_leases(tmp_path: Path) -> None:
    with SessionFile.open(start_session(tmp_path / "a.run")) as file:
        tickets = file.lease("k1", 2)
        file.record(1, loss=0.0)
        file.amend(1, loss=1.0)
        assert file.lease("k1", 2) == tickets


@pytest.mark.parametrize(
    "change",
    [
        *({"tickets": tickets} for tickets in ([1, 9], [], [2], [1, 1], [1, True])),
        *({"time": 1}, {"time": float("nan")}, {"request": 3}, {"more": 1}),
    ],
)
def test_replay_rejects_malformed_lease(change: dict[str, object], tmp_path: Path) -> None:
    value = {"request": "k", "worker": "w", "time": 1.0, "tickets": [1, 2]}
    for replayed in (value, {**value, **change}):
        with (
            start_file(tmp_path / "a.race") as file,
            mock.patch.object(event_log, "_encode_json", json.dumps),
        ):
            file.next(3)
            with file._log.writing():
                file._log.append("lease", 1, replayed)
        with RaceFile.open(tmp_path / "a.race") as file:
            if replayed is value:
                assert file.lease("k", 2, worker="w") == [file.assignment(1), file.assignment(2)]
            else:
                with pytest.raises(SessionError, match="lease"):
                    file.next()
        (tmp_path / "a.race").unlink()


def test_clock_that_jumps_forward_does_not_end_reissuing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lease in the year 2096; the clock is then right again."""
    passed = [1000.0]
    monkeypatch.setattr("tombola.worklists.work_file.time.monotonic", lambda: passed[0])
    with SessionFile.start(tmp_path / "a.run", ["x", "y", "z"], ["a", "b"], UCB1(), seed=1) as file:
        file.lease("k1", now=4e9)
        file.lease("k2", now=2e9)
        passed[0] += 59.0
        assert [task.ticket for task in file.lease("k3", reissue_after=60.0, now=2e9 + 59)] == [3]
        passed[0] += 1.0
        again = file.lease("k4", 3, reissue_after=60.0, now=2e9 + 60)
        assert [task.ticket for task in again] == [1, 2]
    with SessionFile.open(tmp_path / "a.run") as file:
        assert file.pending[2].since == 2e9 + 59


def test_race_calls_are_reissued_only_on_request(tmp_path: Path) -> None:
    with start_file(tmp_path / "a.race") as file:
        k = len(file.settings.candidates)
        row = file.lease("k1", worker="Ann", now=100.0)
        assert len(row) == k
        file.record(row[0].ticket, loss=0.5)
        assert file.lease("k2", 1, worker="Bob", now=200.0)[0].ticket == k + 1
        again = file.lease("k3", 2, worker="Cem", reissue_after=60.0, now=210.0)
        assert again[0] == row[1]._replace(since=210.0)
        # Without a count, calls of the next row are not mixed with those that are offered again.
        again = file.lease("k4", worker="Dee", reissue_after=0.0, now=211.0)[: k - 1]
        assert again == [task._replace(since=211.0) for task in row[1:]]
        assert file.race.calls_made == len({event.ticket for event in file.replay()})


def test_rejected_answer_keeps_race_in_memory(tmp_path: Path) -> None:
    """A flood of wrong answers must not replay the file each time."""
    with start_file(tmp_path / "a.race") as file:
        file.lease("k1", 1)
        race = file.race
        for _ in range(3):
            with pytest.raises(FeedbackError):
                file.record(1, loss=2.0)
        assert file.race is race


def test_rejection_after_an_event_drops_the_state(tmp_path: Path) -> None:
    """The transaction is undone as a whole, so the memory must not keep its first event."""
    with SessionFile.open(start_session(tmp_path / "calls.run")) as file:
        file.next(2)

        def record_two() -> None:
            with file.writing():
                file.record(1, loss=0.5)
                assert len(file.pending) == 1
                file.record_all([Outcome(2, 7.0)])

        with pytest.raises(SessionError):
            record_two()
        assert [task.ticket for task in file.pending] == [1, 2]
        assert file.record(1, loss=0.25)
