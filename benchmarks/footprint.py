"""Memory of a play on a pool that is mapped from disk.

Run as a script it plays the file it is given, and prints by how many MB its own memory grew at most, and how many MB of
the file the kernel had mapped. Pages of a mapped file count as resident, but the kernel drops them when it needs room;
what tombola takes for itself is the anonymous memory.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import numpy as np

from measure import Row, below, left_out

ACTIONS, ROWS = 10, 5_000_000  # 400 MB
LIMIT = 100.0


def memory() -> list[Row]:
    """Measure a play on a mapped pool of 400 MB, in a process of its own."""
    work, size = "memory of a mapped play", ACTIONS * ROWS * 8 / 1e6
    if not Path("/proc/self/status").exists():
        return [left_out(work, "needs /proc/self/status")]
    with tempfile.TemporaryDirectory(prefix="tombola-bench-") as folder:
        path = Path(folder) / "losses.npy"
        write(path)
        command = [sys.executable, __file__, str(path)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    grown, mapped = (float(number) for number in printed.split())
    note = f"pool {size:.0f} MB, of which {mapped:.0f} MB mapped; the order alone is {ROWS * 4 / 1e6:.0f} MB"
    return [below(work, grown, LIMIT, "MB", note)]


def write(path: Path) -> None:
    """Write a table of losses, a piece at a time."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(ROWS, ACTIONS))
    rng, height = np.random.default_rng(0), 100_000
    for start in range(0, ROWS, height):
        table[start : start + height] = rng.random((height, ACTIONS))
    table.flush()


def resident(*kinds: str) -> float:
    """Return the resident memory of these kinds, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.split(":")[0] in kinds) * 1024 / 1e6


@contextmanager
def watched_memory() -> Iterator[list[float]]:
    """Collect the anonymous memory every few milliseconds; compiled play lets other threads run."""
    seen, stop = [resident("RssAnon")], Event()

    def watch() -> None:
        while not stop.wait(0.003):
            seen.append(resident("RssAnon"))

    thread = Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
        seen.append(resident("RssAnon"))


def main(path: str) -> None:
    """Play the table in `path`, after everything has been loaded, and print both numbers."""
    from bandits import played
    from tombola import UCB1, Pool

    played(UCB1(), Pool(np.load(path, mmap_mode="r")[:1000]))
    before = resident("RssFile", "RssShmem")
    with watched_memory() as seen:
        pool = Pool(np.load(path, mmap_mode="r"))
        played(UCB1(), pool)
        mapped = resident("RssFile", "RssShmem") - before
    print(max(seen) - seen[0], mapped)


if __name__ == "__main__":
    main(sys.argv[1])
