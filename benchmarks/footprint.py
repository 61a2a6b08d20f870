"""Memory of a play on a pool that is mapped from disk.

As a script, it plays a file and prints two numbers in MB: the peak growth of anonymous memory, and
the mapped part of the file. Mapped pages count as resident, but the kernel drops them when it needs
memory; anonymous memory is allocated.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import numpy as np

from measure import Row, limit_row, skipped_row

ACTIONS, ROWS = 10, 5_000_000  # 400 MB
ROWS_PER_WRITE = 100_000
# Largest growth of anonymous memory, in MB.
MEMORY_LIMIT = 100.0
STATUS = Path("/proc/self/status")


def memory() -> list[Row]:
    """Measure a play on a mapped pool of 400 MB in a child process."""
    work, size = "memory of a mapped play", ACTIONS * ROWS * 8 / 1e6
    if not STATUS.exists():
        return [skipped_row(work, f"needs {STATUS}")]
    with tempfile.TemporaryDirectory(prefix="tombola-bench-") as folder:
        path = Path(folder) / "losses.npy"
        write_losses(path)
        command = [sys.executable, __file__, str(path)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    growth, mapped = map(float, output.split())
    note = (
        f"pool {size:.0f} MB, of which {mapped:.0f} MB mapped; the order alone is "
        f"{ROWS * 4 / 1e6:.0f} MB"
    )
    return [limit_row(work, growth, MEMORY_LIMIT, "MB", note)]


def write_losses(path: Path) -> None:
    """Write random losses without holding them in memory."""
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(ROWS, ACTIONS))
    rng = np.random.default_rng(0)
    for start in range(0, ROWS, ROWS_PER_WRITE):
        table[start : start + ROWS_PER_WRITE] = rng.random((ROWS_PER_WRITE, ACTIONS))
    table.flush()


def resident(*kinds: str) -> float:
    """Return the resident memory of these kinds, in MB."""
    lines = STATUS.read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.split(":")[0] in kinds) * 1024 / 1e6


@contextmanager
def sample_memory() -> Iterator[list[float]]:
    """Sample anonymous memory every 3 ms; compiled play releases the GIL."""
    samples, stop = [resident("RssAnon")], Event()

    def sample() -> None:
        while not stop.wait(0.003):
            samples.append(resident("RssAnon"))

    thread = Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
        samples.append(resident("RssAnon"))


def main(path: str) -> None:
    """Play the table after a short play that loads all code, and print both numbers."""
    from bandits import play_pool
    from tombola import UCB1, Pool

    play_pool(UCB1(), Pool(np.load(path, mmap_mode="r")[:1000]))
    before = resident("RssFile", "RssShmem")
    with sample_memory() as samples:
        pool = Pool(np.load(path, mmap_mode="r"))
        play_pool(UCB1(), pool)
        mapped = resident("RssFile", "RssShmem") - before
    print(max(samples) - samples[0], mapped)


if __name__ == "__main__":
    main(sys.argv[1])
