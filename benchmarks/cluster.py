"""Bytes on the wire and memory of a comparison on a cluster, for a table that workers map from disk.

    python benchmarks/cluster.py --megabytes 1000 --folder /shared/folder

Starts a scheduler and two workers of Dask as processes of their own, by the commands of
docs/install.md. Compares on a mapped table, once undisturbed and once with a worker killed (-9)
in the middle, and checks that the numbers are those of this process to the bit. Prints JSON:
bytes that the sockets of client, scheduler and workers have sent and received, and the largest
memory of each, with mapped pages and without.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tombola import FollowTheLeader, Pool, compare
from tombola.parallel.cluster import connect

ACTIONS = 4
ROWS_AT_A_TIME = 1 << 20
# Loaded by scheduler and workers, and run here: counts the bytes of all connections.
COUNTER = """
from tornado.iostream import IOStream

sent = received = 0
_write, _read = IOStream.write_to_fd, IOStream.read_from_fd

def write(self, data):
    global sent
    done = _write(self, data)
    sent += done or 0
    return done

def read(self, buffer):
    global received
    done = _read(self, buffer)
    received += done or 0
    return done

IOStream.write_to_fd, IOStream.read_from_fd = write, read
"""


def counts() -> tuple[int, int]:
    """Return the bytes that the connections of this process have sent and received."""
    counter: Any = importlib.import_module("counter")
    return counter.sent, counter.received


def write_table(path: Path, megabytes: int) -> None:
    """Write losses from 0 to 1, a part at a time."""
    rows = megabytes * 10**6 // (8 * ACTIONS)
    table = np.lib.format.open_memmap(path, "w+", np.float64, (rows, ACTIONS))
    rng = np.random.default_rng(1)
    for first in range(0, rows, ROWS_AT_A_TIME):
        part = table[first : first + ROWS_AT_A_TIME]
        part[:] = rng.random(part.shape) * [0.9, 1.0, 0.95, 1.0]
    table.flush()


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Start a scheduler and two workers; yield its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    options = ["--scheduler-file", str(file), "--preload", "counter", "--no-dashboard"]
    commands = [[*dask, "scheduler", "--port", "0", *options]]
    worker = [*dask, "worker", "--nthreads", "1", "--local-directory", str(folder), *options]
    commands += [worker, worker]
    with (folder / "log").open("wb") as log:
        started = []
        try:
            for command in commands:
                process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
                started.append(process)
                while not file.exists():
                    time.sleep(0.05)
            yield str(json.loads(file.read_text())["address"])
        finally:
            for process in started[::-1]:
                process.terminate()
            for process in started:
                process.wait()


class Memory(threading.Thread):
    """Largest memory of processes: all that is resident, and without mapped files, in MB."""

    def __init__(self, processes: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self.processes = processes
        self.peaks = {name: [0, 0] for name in processes}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            for name, process in self.processes.items():
                try:
                    lines = Path(f"/proc/{process}/status").read_text().splitlines()
                except OSError:
                    continue
                fields = dict(line.split(":", 1) for line in lines)
                now = [int(fields.get(key, "0").split()[0]) // 1000 for key in ("VmRSS", "RssAnon")]
                self.peaks[name] = [max(*pair) for pair in zip(self.peaks[name], now, strict=True)]


def same(one: Any, other: Any) -> bool:
    """Return whether two comparisons have equal bits."""
    pairs = [
        (a, b)
        for entry in one.cells
        for a, b in zip(one.cells[entry], other.cells[entry], strict=True)
    ]
    return list(one.cells) == list(other.cells) and all(
        a.tobytes() == b.tobytes() for a, b in pairs
    )


def main() -> None:
    """Run the comparisons, and print a line of JSON for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=None, help="where the table is written")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "counter.py").write_text(COUNTER)
        sys.path.insert(0, name)
        write_table(folder / "table.npy", given.megabytes)
        pool = Pool(np.load(folder / "table.npy", mmap_mode="r"))

        def play() -> Any:
            return compare(pool, FollowTheLeader(), repetitions=given.repetitions, seed=1)

        here = play()
        seconds = 0.0
        for kill in (False, True):
            with cluster(folder) as address, connect(address) as client:
                client.wait_for_workers(2)
                workers = client.run(os.getpid)
                scheduler = client.run_on_scheduler(os.getpid)
                named = {f"worker {n}": pid for n, pid in enumerate(workers.values())}
                memory = Memory({"client": os.getpid(), "scheduler": scheduler, **named})
                memory.start()
                before = counts()
                if kill:
                    victim = next(iter(workers.values()))
                    threading.Timer(seconds / 2, os.kill, [victim, signal.SIGKILL]).start()
                started = time.perf_counter()
                far = play()
                seconds = time.perf_counter() - started
                memory.over.set()
                after = counts()
                line: dict[str, Any] = {
                    "table_mb": given.megabytes,
                    "worker_killed": kill,
                    "equal_bits": same(here, far),
                    "seconds": round(seconds, 1),
                    "client_sent_mb": round((after[0] - before[0]) / 1e6, 3),
                    "client_received_mb": round((after[1] - before[1]) / 1e6, 3),
                    "workers_sent_received_mb": [
                        [round(number / 1e6, 3) for number in pair]
                        for pair in client.run(counts).values()
                    ],
                    "peak_mb_resident_and_own": memory.peaks,
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
