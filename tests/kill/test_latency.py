"""Latency in memory beside a hello-world of the same stack: a wait cannot hide behind a disk."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from conftest import SOURCE
from service_cases import Server
from tombola import UCB1, SessionFile

MEMORY = Path("/dev/shm")


def load() -> Any:
    """Return the module of the benchmark."""
    path = SOURCE.parent / "benchmarks" / "service_load.py"
    spec = importlib.util.spec_from_file_location("service_load", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not MEMORY.is_dir(), reason="needs a file system in memory")
def test_a_request_in_memory_waits_for_nothing() -> None:
    """One client: the median is 2 to 4 times that of a hello-world; a wait of 40 ms is 20 times."""
    benchmark = load()
    path = MEMORY / "load.run"
    path.unlink(missing_ok=True)
    ids = [f"row {number}" for number in range(20_000)]
    SessionFile.start(path, ids, ["call", "letter"], UCB1(), seed=1).close()
    try:
        with Server(path) as server, benchmark.hello_world() as (port, process):
            assert server.process is not None
            ours = benchmark.Rates(server.port, server.process.pid, 1)
            other = benchmark.Rates(port, process, 1)
            asyncio.run(benchmark.alternate([ours, other], 1.0))
    finally:
        path.unlink()
    ratio = ours.report()["p50_ms"] / other.report()["p50_ms"]
    print(ours.report(), other.report())
    assert ratio < 10.0
