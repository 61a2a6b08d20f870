"""Requests a second and latencies of `tombola serve`, beside a hello-world of the same stack.

    python benchmarks/service_load.py --clients 1 8 64 --seconds 5

For a file on the disk and one in memory: clients, each with one connection, take a ticket and
record its outcome in turn. In the same run: the same requests to a hello-world of Starlette and
uvicorn, and commits a second of SQLite with a write-ahead log in the same folder. Prints a line of
JSON for each, with tickets lost and doubled. `--export 3` adds loops that export the whole table;
`--file 1000000.run` takes a session that `benchmarks/reopening.py` has written.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from service_cases import Server  # noqa: E402
from tombola import UCB1, SessionFile  # noqa: E402

ACTIONS = ("call", "letter", "visit")
# Program of the other server: one small JSON object in reply to any body.
HELLO = """import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def hello(request):
    await request.json()
    return JSONResponse({"hello": "world"})

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0))
listener.listen(2048)
print(listener.getsockname()[1], flush=True)
app = Starlette(routes=[Route("/{path:path}", hello, methods=["POST"])])
config = uvicorn.Config(app, log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
"""


class Connection:
    """One HTTP connection that sends JSON and reads the reply, without a library's overhead."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def post(self, path: str, body: Any, key: str = "") -> Any:
        """Send a request; return the reply, RuntimeError if its status is not 200."""
        data = json.dumps(body).encode()
        header = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        header += f"Idempotency-Key: {key}\r\n" if key else ""
        self.writer.write(f"{header}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        reply = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(reply.partition("content-length:")[2].split()[0])
        content = await self.reader.readexactly(length)
        if " 200 " not in reply[:20]:
            raise RuntimeError(content.decode())
        return json.loads(content)


async def work(
    port: int, place: str, name: int, until: float, seconds: list[float], received: list[int]
) -> None:
    """Take a ticket and record its outcome, until the time is over.

    place: path of the list on the server.
    """
    connection = Connection(*await asyncio.open_connection("127.0.0.1", port))
    number = 0
    while time.perf_counter() < until:
        number += 1
        started = time.perf_counter()
        key = f"{name}-{number}-{started}"
        reply = await connection.post(f"{place}/next", {"count": 1}, key)
        between = time.perf_counter()
        tickets = [ticket["ticket"] for ticket in reply.get("tickets", ())]
        received += tickets
        outcomes = [{"ticket": ticket, "loss": ticket % 97 / 97} for ticket in tickets]
        await connection.post(f"{place}/record", {"outcomes": outcomes})
        seconds += [between - started, time.perf_counter() - between]
    connection.writer.close()


class Rates:
    """Latencies of a server, measured in slices: other work on the machine slows both servers."""

    def __init__(self, port: int, process: int, clients: int, name: str = "load") -> None:
        self.port, self.process, self.clients = port, process, clients
        self.place = f"/v1/lists/{name}"
        self.cpu = 0.0
        self.latencies: list[float] = []
        self.received: list[int] = []
        self.seconds = 0.0

    async def measure(self, duration: float, latencies: list[float]) -> None:
        """Let all clients work for a slice."""
        started, cpu = time.perf_counter(), cpu_seconds(self.process)
        until = started + duration
        slots = range(self.clients)
        workers = (work(self.port, self.place, n, until, latencies, self.received) for n in slots)
        await asyncio.gather(*workers)
        if latencies is self.latencies:
            self.seconds += time.perf_counter() - started
            self.cpu += cpu_seconds(self.process) - cpu

    def report(self) -> dict[str, float]:
        """Return requests a second, and latencies in milliseconds."""
        p50, p99 = (1000 * float(np.percentile(self.latencies, p)) for p in (50, 99))
        rate = len(self.latencies) / self.seconds
        return {
            "requests_per_second": round(rate, 1),
            "p50_ms": round(p50, 2),
            "p99_ms": round(p99, 2),
            "cpu_ms_per_request": round(1000 * self.cpu / len(self.latencies), 3),
        }


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def alternate(servers: list[Rates], duration: float) -> None:
    """Measure servers in turn, a second at a time, after requests that make caches."""
    for server in servers:
        await server.measure(0.3, [])
    for _ in range(max(1, round(duration))):
        for server in servers:
            await server.measure(1.0, server.latencies)


@contextmanager
def hello_world() -> Iterator[tuple[int, int]]:
    """Run the other server, and yield its port and process."""
    command = [sys.executable, "-c", HELLO]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def commits_per_second(folder: Path, duration: float) -> float:
    """Return the rate of transactions of one small row each, written ahead, each synced."""
    with closing(sqlite3.connect(folder / "commits", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, text TEXT)")
        number, started = 0, time.perf_counter()
        while time.perf_counter() < started + duration:
            connection.execute("INSERT INTO rows (text) VALUES ('outcome')")
            number += 1
        return number / (time.perf_counter() - started)


@contextmanager
def export_loops(url: str, name: str, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run loops that export the whole table, until the block ends."""
    code = f"import httpx\nwhile True: httpx.get('{url}/v1/lists/{name}/export.csv', timeout=600)"
    loops = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    # The first exports are under way.
    time.sleep(3.0 if count else 0.0)
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def checked(path: Path, received: list[int], before: int) -> dict[str, int]:
    """Return the numbers of tickets lost and doubled, by what the clients have received."""
    with SessionFile.open(path) as file:
        issued = file.issued - before
    return {"lost": issued - len(set(received)), "doubled": len(received) - len(set(received))}


def main() -> None:
    """Measure each place with each number of clients, and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--disk", default=None, help="folder on a disk")
    parser.add_argument("--file", type=Path, default=None, help="a session to go on with")
    parser.add_argument("--export", type=int, default=0)
    given = parser.parse_args()
    places: dict[str, Any] = {"memory": "/dev/shm", "disk": given.disk}
    if given.file is not None:
        places = {"file": given.file.parent}
    for place, parent in places.items():
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            commits = commits_per_second(Path(folder), given.seconds)
            print(json.dumps({"place": place, "commits_per_second": round(commits, 1)}), flush=True)
            path = given.file or Path(folder, "load.run")
            if given.file is None:
                ids = [f"row {number}" for number in range(40_000)]
                SessionFile.start(path, ids, ACTIONS, UCB1(), seed=1).close()
            for clients in given.clients:
                with SessionFile.open(path) as file:
                    before = file.issued
                with Server(path) as server, hello_world() as (port, process):
                    assert server.process is not None
                    rates = (
                        Rates(server.port, server.process.pid, clients, path.stem),
                        Rates(port, process, clients),
                    )
                    with export_loops(server.url, path.stem, given.export):
                        asyncio.run(alternate(list(rates), given.seconds))
                    status = Path(f"/proc/{server.process.pid}/status").read_text()
                    memory = int(status.partition("VmHWM:")[2].split()[0]) // 1024
                ours, other = (one.report() for one in rates)
                rate = ours["requests_per_second"]
                line = {
                    "place": place,
                    "clients": clients,
                    **ours,
                    "hello_world": other,
                    "ratio_to_hello_world": round(rate / other["requests_per_second"], 3),
                    "ratio_to_commits": round(rate / commits, 2),
                    "peak_mb": memory,
                    **checked(path, rates[0].received, before),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
