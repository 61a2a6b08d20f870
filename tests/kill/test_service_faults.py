"""Faults around the server: killed clients, lost replies, a full disk, a clock set back, backups under load."""

import multiprocessing
import os
import random
import resource
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from kill.test_service_kill import check_result, wait_for, working
from lossy_proxy import LossyProxy
from service_cases import (
    KeylessClient,
    Server,
    api_of,
    check_answers,
    play_to_end,
    row_loss,
    start_session,
)
from tombola import Budget, Client, Race, RaceFile, SessionFile
from tombola.errors import ExhaustedError
from tombola.learners.spec import parse_learner
from tombola.racing import RaceSettings
from tombola.worklists import Assignment, Outcome

NEXT = "/v1/lists/calls/next"


def work(url: str, *, reissue_after: float | None = None) -> None:
    """Request and record tickets until the list ends."""
    with Client(url, name="calls", patience=300) as client:
        try:
            while True:
                for ticket in client.next(2, reissue_after=reissue_after):
                    client.record(ticket.ticket, loss=row_loss(ticket.id, ticket.action))
        except ExhaustedError:
            pass


@pytest.mark.parametrize("budget", [False, True])
@pytest.mark.full
def test_killed_clients_lose_and_double_nothing(tmp_path: Path, budget: bool) -> None:
    """Tickets of killed clients stay pending, keep their budget, and are answered once after a new request."""
    kills = int(os.environ.get("TOMBOLA_CLIENT_KILLS", "4"))
    path, rows, rng = tmp_path / "calls.run", 6 * kills + 20, random.Random(kills)
    allowed = Budget(rows / 3, prices=[1.0, 0.0], null=1) if budget else None
    learner = parse_learner("ThriftyLP" if budget else "UCB1")
    ids = [f"row {number}" for number in range(rows)]
    SessionFile.start(path, ids, ["call", "letter"], learner, budget=allowed, seed=1).close()
    fork = multiprocessing.get_context("fork")
    with Server(path) as server:
        killed, clients = 0, [fork.Process(target=work, args=(server.url,)) for _ in range(3)]
        for client in clients:
            client.start()
        while killed < kills:
            time.sleep(rng.uniform(0.02, 0.3))
            place = rng.randrange(3)
            if clients[place].is_alive():
                os.kill(clients[place].pid or 0, signal.SIGKILL)
                killed += 1
            clients[place].join()
            clients[place] = fork.Process(target=work, args=(server.url,))
            clients[place].start()
        for client in clients:
            client.join(300)
        with Client(server.url, name="calls") as client_:
            left = len(client_.pending)
        work(server.url, reissue_after=0.0)
    check_answers(path, rows)
    print(f"{killed} clients killed, {rows} tickets, {left} answered by others, budget {budget}")


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.full
def test_replies_dropped_by_a_proxy(
    tmp_path: Path, with_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tombola.service.client._FIRST_RETRY", 0.01)
    path = start_session(tmp_path / "calls.run", rows=60)
    with Server(path) as server, LossyProxy(server.port, 0.25) as proxy:
        kind, patience = (Client, 60.0) if with_key else (KeylessClient, 0.0)
        with kind(proxy.url, name="calls", patience=patience) as client:
            received = play_to_end(client)
    assert proxy.dropped > 10
    with SessionFile.open(path) as file:
        lost = [ticket.ticket for ticket in file.pending]
        assert sorted(received + lost) == list(range(1, 61))
        assert (lost == []) is with_key


def test_full_disk_issues_nothing_and_ends(tmp_path: Path) -> None:
    """A file that cannot grow: status 503, nothing issued, no outcome lost; after a repair the work goes on."""
    path = start_session(tmp_path / "calls.run", rows=3000)
    with Server(path) as server, httpx.Client(base_url=server.url) as http:
        assert server.process is not None
        limit = path.stat().st_size + 20_000
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        received: list[int] = []
        for _ in range(100):
            reply = http.post(NEXT, json={"count": 20})
            if reply.status_code != 200:
                break
            received += [ticket["ticket"] for ticket in reply.json()["tickets"]]
        assert reply.status_code == 503, reply.text
        assert reply.json()["type"] == "urn:tombola:unavailable"
        assert str(tmp_path) not in reply.text
        assert http.post(NEXT, json={"count": 20}).status_code == 503
        assert http.get("/v1/lists/calls/status").json()["played"] == len(received)
        assert http.get("/healthz").status_code == 200
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        again = http.post(NEXT, json={"count": 20}).json()["tickets"]
        assert [ticket["ticket"] for ticket in again] == list(
            range(len(received) + 1, len(received) + 21)
        )
    with SessionFile.open(path) as file:
        assert file.issued == len(received) + 20


def test_clock_set_back_reissues_nothing_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock = start_session(tmp_path / "calls.run"), [1_000_000.0]
    monkeypatch.setattr("tombola.worklists.work_file.time.time", lambda: clock[0])
    with api_of(path) as api:
        first = api.post(NEXT, {"count": 2}, idempotency_key="k1").json()["tickets"]
        clock[0] -= 86_400
        assert api.post(NEXT, {"count": 2}, idempotency_key="k1").json()["tickets"] == first
        later = api.post(NEXT, {"count": 1, "reissue_after": 60}).json()["tickets"]
        assert later[0]["ticket"] == 3
    with api_of(path) as api:
        clock[0] += 86_400 + 61
        again = api.post(NEXT, {"count": 3, "reissue_after": 60}).json()["tickets"]
        assert [ticket["ticket"] for ticket in again] == [1, 2, 3]


def test_backup_under_load_is_a_prefix(tmp_path: Path) -> None:
    path = start_session(tmp_path / "calls.run", rows=100_000)
    rounds = []
    with Server(path) as server:
        with working(server, 2) as workers:
            for number in range(4):
                (tmp_path / f"{number}.run").write_bytes(
                    httpx.get(f"{server.url}/v1/lists/calls/backup").content
                )
                with SessionFile.open(tmp_path / f"{number}.run") as copy:
                    rounds.append(copy.issued)
        # A graceful stop finishes the requests under way.
        assert server.stop(signal.SIGTERM) == 143
        left = sorted(file.name for file in tmp_path.iterdir())
    assert left == ["0.run", "1.run", "2.run", "3.run", "calls.run"], "one file for each list"
    assert rounds == sorted(rounds)
    assert check_result(path, workers) >= rounds[-1]


@pytest.mark.full
def test_server_killed_during_a_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race has the calls that its clients received, each with its answer, and the verdict of one process."""
    monkeypatch.setattr("tombola.service.client._LONGEST_RETRY", 0.1)
    kills, path = int(os.environ.get("TOMBOLA_SERVER_KILLS", "3")), tmp_path / "models.race"
    rows, names = [str(number) for number in range(40 * kills)], ("one", "two")
    RaceFile.start(path, RaceSettings(names, seed=3, answers="fixed"), rows).close()
    # Nearly equal candidates: the race needs most of its calls.
    losses = {
        (name, row): row_loss(row, "x") * 0.9 + 0.01 * (name == "two")
        for name in names
        for row in rows
    }
    received: list[Assignment] = []

    def work_on_race(url: str) -> None:
        with Client(url, name="models", patience=300) as client:
            while not client.status()["done"]:
                if tickets := client.next(2):
                    received.extend(tickets)
                    client.record_all(
                        [Outcome(task.ticket, losses[task.action, task.id]) for task in tickets]
                    )

    with Server(path) as server:
        workers = [threading.Thread(target=work_on_race, args=(server.url,)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for _ in range(kills):
            wait_for(lambda: len(received), 6, workers)
            server.stop(signal.SIGKILL)
            server.start()
        for worker in workers:
            worker.join(300)
    alone = Race(names, rows, seed=3, answers="fixed")
    while not alone.done:
        for call in alone.calls():
            alone.record(call, loss=losses[call.candidate, call.row])
    with RaceFile.open(path) as file:
        tickets = [call.ticket for call in received]
        assert len(tickets) == len(set(tickets)) == file.race.calls_made == file.race.calls_answered
        assert file.race.answer == alone.answer
        assert file.race.dropped == alone.dropped
        print(f"{kills} server kills, {len(tickets)} calls of a race")
