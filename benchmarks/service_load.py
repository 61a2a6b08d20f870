"""Throughput of `tombola serve` with many clients, against a SessionFile.

`python benchmarks/service_load.py --tickets 100000 --clients 8 --batch 50` prints one JSON object:
tickets a second, latencies of both requests, tickets lost and doubled, whether the trace equals
that of a session in memory to the bit, and the ratio to a SessionFile in process with the same
batches.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from service_cases import Server  # noqa: E402
from tombola import UCB1, Client, Session, SessionFile  # noqa: E402
from tombola.errors import ExhaustedError  # noqa: E402
from tombola.worklists import Outcome  # noqa: E402

ACTIONS = ("call", "letter", "visit")


def loss_of(id_: str, action: str) -> float:
    """Return a loss in [0, 1], a hash of row and action."""
    return hashlib.blake2b(f"{id_} {action}".encode(), digest_size=2).digest()[0] / 255


def work(url: str, batch: int) -> dict[str, Any]:
    """Request and record tickets until the list ends; return tickets and latencies."""
    received: list[int] = []
    next_seconds, record_seconds = [], []
    with Client(url, name="load", patience=600) as client:
        client.overview()
        print("ready", flush=True)
        sys.stdin.readline()
        while True:
            started = time.perf_counter()
            try:
                tickets = client.next(batch)
            except ExhaustedError:
                break
            between = time.perf_counter()
            client.record_all([Outcome(one.ticket, loss_of(one.id, one.action)) for one in tickets])
            next_seconds.append(between - started)
            record_seconds.append(time.perf_counter() - between)
            received += [one.ticket for one in tickets]
        # The monotonic clock is the same in all processes.
        return {
            "received": received,
            "next": next_seconds,
            "record": record_seconds,
            "ended": time.monotonic(),
        }


def new_file(path: Path, tickets: int) -> Path:
    """Write a session file with this many rows."""
    SessionFile.start(
        path, [f"row {number}" for number in range(tickets)], ACTIONS, UCB1(), seed=1
    ).close()
    return path


def measure_served(path: Path, clients: int, batch: int) -> tuple[float, list[dict[str, Any]]]:
    """Return the seconds for all tickets over HTTP, and the results of the clients."""
    with Server(path) as server:
        command = [sys.executable, __file__, "--url", server.url, "--batch", str(batch)]
        pipe = subprocess.PIPE
        processes = [
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(clients)
        ]
        # Imports of the clients are not part of the load.
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        started = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("start\n")
            process.stdin.flush()
        results = [json.loads(process.communicate()[0]) for process in processes]
        return max(one["ended"] for one in results) - started, results


def measure_in_process(path: Path, batch: int) -> float:
    """Return the seconds for all tickets with a SessionFile in this process."""
    with SessionFile.open(path) as file:
        file.interpreted = True
        started = time.perf_counter()
        while True:
            try:
                tickets = file.next(batch)
            except ExhaustedError:
                return time.perf_counter() - started
            file.record_all([Outcome(one.ticket, loss_of(one.id, one.action)) for one in tickets])


def is_same_trace(path: Path, tickets: int) -> bool:
    """Return whether a session in memory issues the same tickets, to the bit."""
    with SessionFile.open(path) as file:
        session = Session(UCB1(), list(ACTIONS), tickets, seed=file.seed)
        with file._log.reading():
            file._log.rewind()
            events = list(file._log.unread())
    issued = {}
    for event in events:
        if event.kind == "ticket":
            ticket = issued[event.key] = session.act()
            if (ticket.round, [ticket.action, ticket.probability]) != (event.key, event.value):
                return False
        elif event.kind == "outcome":
            session.observe(issued[event.key], loss=event.value[0])
    return session.round == tickets


def main() -> None:
    """Measure both, check the tickets, and print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickets", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    if given.url:
        print(json.dumps(work(given.url, given.batch)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = new_file(Path(folder) / "load.run", given.tickets)
        seconds, results = measure_served(path, given.clients, given.batch)
        alone = measure_in_process(new_file(Path(folder) / "alone.run", given.tickets), given.batch)
        received = [ticket for one in results for ticket in one["received"]]
        with SessionFile.open(path) as file:
            pending = len(file.pending)
        same = is_same_trace(path, given.tickets)
    latency: dict[str, float] = {}
    for name in ("next", "record"):
        milliseconds = 1000 * np.concatenate([one[name] for one in results])
        latency |= {
            f"{name}_p{p}_ms": round(float(np.percentile(milliseconds, p)), 2) for p in (50, 99)
        }
    report = {
        "tickets": given.tickets,
        "clients": given.clients,
        "batch": given.batch,
        "seconds": round(seconds, 2),
        "tickets_per_second": round(given.tickets / seconds, 1),
        "requests_per_second": round(2 * given.tickets / given.batch / seconds, 1),
        **latency,
        "lost": given.tickets - len(set(received)),
        "doubled": len(received) - len(set(received)),
        "pending": pending,
        "same_trace": same,
        "in_process_tickets_per_second": round(given.tickets / alone, 1),
        "ratio": round(alone / seconds, 3),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
