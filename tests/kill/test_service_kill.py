"""kill -9 of the server under load: no ticket lost, none doubled, the trace that of one process."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from service_cases import Server, check_answers, row_loss
from tombola import Budget, Client, SessionFile
from tombola.errors import ExhaustedError
from tombola.learners.spec import parse_learner

# Workers at the same time.
WORKERS = 3


class Worker(threading.Thread):
    """Request and record tickets until the list ends or the test stops."""

    def __init__(self, url: str, stop: threading.Event) -> None:
        super().__init__()
        self.url, self.stopped = url, stop
        self.received: list[int] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with Client(self.url, name="calls", patience=300) as client:
                while not self.stopped.is_set():
                    for ticket in client.next(2):
                        self.received.append(ticket.ticket)
                        client.record(ticket.ticket, loss=row_loss(ticket.id, ticket.action))
        except ExhaustedError:
            pass
        except BaseException as error:
            self.error = error


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


def serve_with_kills(path: Path, kills: int) -> list[Worker]:
    """Kill the server at random times under load; return the workers."""
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
