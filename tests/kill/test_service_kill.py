"""kill -9 of the server under load: no ticket lost, none doubled, the trace that of one process."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from service_cases import Server, check_answers, row_loss
from tombola import Budget, Client, RaceFile, SessionFile
from tombola.errors import ExhaustedError
from tombola.learners.spec import parse_learner
from tombola.racing import RaceSettings
from tombola.worklists import Assignment

# Workers at the same time.
WORKERS = 3


class Worker(threading.Thread):
    """Request and record tickets until the list ends or the test stops."""

    def __init__(self, url: str, stop: threading.Event) -> None:
        super().__init__()
        self.url = url
        self.stopped = stop
        self.received: list[int] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with Client(self.url, name="calls", patience=300) as client:
                while not self.stopped.is_set():
                    tickets = client.next(2)
                    if not tickets and client.status()["done"]:
                        return
                    for ticket in tickets:
                        self.received.append(ticket.ticket)
                        client.record(ticket.ticket, **answer_of(ticket))
        except ExhaustedError:
            pass
        except BaseException as error:
            self.error = error


def answer_of(ticket: Assignment) -> dict[str, Any]:
    """Return loss and cost of a ticket; a further run of a row has another loss."""
    if ticket.probability == ticket.probability:
        return {"loss": row_loss(ticket.id, ticket.action)}
    loss = row_loss(f"{ticket.id}, run {ticket.run}", ticket.action)
    return {"loss": float(loss < 0.5), "cost": loss}


@contextmanager
def working(server: Server, count: int) -> Iterator[list[Worker]]:
    """Start workers; stop them at the end of the block, and check that none has failed."""
    stop = threading.Event()
    workers = [Worker(server.url, stop) for _ in range(count)]
    for worker in workers:
        worker.start()
    yield workers
    stop.set()
    for worker in workers:
        worker.join(300)
        assert not worker.is_alive()
        assert worker.error is None, worker.error


def serve_with_kills(path: Path, kills: int, *, to_the_end: bool = False) -> list[Worker]:
    """Kill the server at random times under load; return the workers.

    to_the_end: wait until the workers have ended the list.
    """
    rng = random.Random(kills)
    with Server(path) as server, working(server, WORKERS) as workers:
        for _ in range(kills):
            # Kill amid requests, not while the workers wait for the server.
            wait_for(
                lambda: sum(len(worker.received) for worker in workers), rng.randint(1, 12), workers
            )
            time.sleep(rng.uniform(0.0, 0.02))
            server.stop(signal.SIGKILL)
            server.start()
        if to_the_end:
            wait_for(lambda: 0, 1, workers)
    return workers


def wait_for(count: Callable[[], int], more: int, workers: Sequence[threading.Thread]) -> None:
    """Wait until a count has grown, for a minute at most, or until the workers have ended."""
    target, deadline = count() + more, time.monotonic() + 60
    while (
        count() < target
        and time.monotonic() < deadline
        and any(worker.is_alive() for worker in workers)
    ):
        time.sleep(0.001)


def check_result(path: Path, workers: list[Worker]) -> int:
    """Check that the file has exactly the tickets received, each with its outcome; return their number."""
    tickets = [ticket for worker in workers for ticket in worker.received]
    assert sorted(tickets) == list(range(1, len(tickets) + 1))
    check_answers(path, len(tickets))
    return len(tickets)


@pytest.mark.parametrize("budget", [False, True])
@pytest.mark.full
def test_server_killed_under_load_loses_and_doubles_nothing(
    tmp_path: Path, budget: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tombola.service.client._LONGEST_RETRY", 0.1)
    kills = int(os.environ.get("TOMBOLA_SERVER_KILLS", "5"))
    path = tmp_path / "calls.run"
    ids = [f"row {number}" for number in range(100_000 if not budget else 5000)]
    allowed = Budget(400.0, prices=[1.0, 0.0], null=1) if budget else None
    learner = parse_learner("ThriftyLP" if budget else "UCB1")
    SessionFile.start(path, ids, ["call", "letter"], learner, budget=allowed, seed=1).close()
    workers = serve_with_kills(path, kills)
    tickets = check_result(path, workers)
    print(f"{kills} kills, {tickets} tickets, budget {budget}")
    assert tickets > kills


@pytest.mark.parametrize("limit", [{"max_calls": 700}, {"max_cost": 300.0, "max_call_cost": 1.0}])
@pytest.mark.full
def test_server_killed_under_a_race_on_random_answers(
    tmp_path: Path, limit: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are kept, no ticket (row, run) is lost or doubled, and every answer is the one sent.

    Two agents with one law, so that the race goes on to its limit (a decision is possible, and is
    no fault).
    """
    monkeypatch.setattr("tombola.service.client._LONGEST_RETRY", 0.1)
    kills = int(os.environ.get("TOMBOLA_SERVER_KILLS", "5"))
    path = tmp_path / "calls.race"
    options: Any = {"seed": 1, "answers": "random", **limit}
    rows = [f"row {number}" for number in range(60)]
    RaceFile.start(path, RaceSettings(("call", "letter"), **options), rows).close()
    workers = serve_with_kills(path, kills, to_the_end=True)
    received = [ticket for worker in workers for ticket in worker.received]
    with RaceFile.open(path) as file:
        race = file.race
        assert race.done
        assert len(received) == len(set(received)), "a ticket was issued twice"
        assert race.calls_made == len(received), "a ticket was lost"
        assert race.calls_answered == len(received), "an answer was lost"
        calls = [race.call(ticket) for ticket in received]
        assert len({(call.row, call.candidate, call.run) for call in calls}) == len(calls)
        for call in calls:
            sent = answer_of(Assignment(call.ticket, call.row, call.candidate, run=call.run))
            assert race.recorded(call.ticket).loss == sent["loss"]
        if race.settings.max_calls is not None:
            assert race.calls_made <= race.settings.max_calls
        if race.settings.max_cost is not None:
            assert race.cost <= race.settings.max_cost
    print(f"{kills} kills, {len(received)} tickets, {limit}")
    assert len(received) > kills
