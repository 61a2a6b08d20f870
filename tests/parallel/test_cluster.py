"""Dask cluster: the numbers of one machine to the bit; real processes, one of them killed, one with other code."""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster, Scheduler, SpecCluster
from typer.testing import CliRunner

from tombola import FollowTheLeader, Pool, compare
from tombola.cli.app import app
from tombola.engine.provenance import environment
from tombola.errors import ParameterError
from tombola.parallel.cluster import cluster_map, connect
from tombola.runs import Runs
from tombola.tables import read_table

LOSSES = np.random.default_rng(4).random((40, 3))


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    ) as found:
        yield found


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2)
        yield found


def same(one: Runs, other: Runs) -> bool:
    pairs = [
        (a, b)
        for entry in one.cells
        for a, b in zip(one.cells[entry], other.cells[entry], strict=True)
    ]
    return list(one.cells) == list(other.cells) and all(
        a.tobytes() == b.tobytes() for a, b in pairs
    )


def runs(pool: Pool, **others: Any) -> Runs:
    return compare(
        pool, [FollowTheLeader()], ["random", "iid"], repetitions=6, delay=2, seed=1, **others
    )


def test_joblib_configuration_changes_no_bit(client: Client, tmp_path: Path) -> None:
    """Also for a table that is mapped from disk."""
    np.save(tmp_path / "t.npy", LOSSES)
    pool = read_table(tmp_path / "t.npy", kind="losses").pool
    assert isinstance(pool.losses, np.memmap)
    with joblib.parallel_config("dask", client=client):
        far = runs(pool)
    assert same(far, runs(Pool(LOSSES)))
    assert same(far, runs(pool, workers=2))


@pytest.mark.full
def test_loky_processes_change_no_bit() -> None:
    with joblib.parallel_config("loky", n_jobs=2):
        assert same(runs(Pool(LOSSES)), runs(Pool(LOSSES)))


class CountedWork:
    """Work of all pieces, which logs a line whenever it is unpacked."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, number: int, *pause: float) -> tuple[int, int]:
        time.sleep(sum(pause))
        return number, os.getpid()

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        with self.log.open("a") as file:
            file.write(f"{os.getpid()}\n")


def test_shared_work_does_not_travel_with_each_piece(client: Client, tmp_path: Path) -> None:
    found = list(cluster_map(client, CountedWork(tmp_path / "log"), [(n, 0.01) for n in range(40)]))
    assert [number for number, _ in found] == list(range(40)), "in the order of the pieces"
    unpacked = (tmp_path / "log").read_text().split()
    # One worker may be fast enough for all pieces.
    assert set(unpacked) >= {str(who) for _, who in found}
    # On a loaded machine Dask may copy the work to a worker that has it already; never per piece.
    assert len(unpacked) <= 4, "the work travels with the pieces"


def test_worker_with_other_code_is_rejected(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tombola.parallel.cluster.environment", lambda: {**environment(), "tombola": "0123"}
    )
    with pytest.raises(
        ParameterError,
        match=r"expected the same code on every worker, got tombola \w+ instead of 0123",
    ):
        list(cluster_map(client, pow, [(2, 3)]))


def test_error_on_worker_is_raised_here(client: Client) -> None:
    with pytest.raises(ZeroDivisionError):
        list(cluster_map(client, divmod, [(1, 1), (1, 0)]))


@pytest.mark.usefixtures("client")
def test_command_line_on_cluster_prints_same(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOMBOLA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "third.py").write_text("from tombola import UCB1\n\n\nclass Third(UCB1): ...\n")
    np.savetxt(tmp_path / "t.csv", LOSSES, delimiter=",", header="a,b,c", comments="")
    command = [
        "compare",
        str(tmp_path / "t.csv"),
        "--losses",
        "--learners",
        f"FollowTheLeader,{tmp_path}/third.py:Third",
        "--repetitions",
        "6",
        "--json",
        "--fresh",
    ]
    here = CliRunner().invoke(app, [*command, "--workers", "1"], catch_exceptions=False)
    far = CliRunner().invoke(
        app, [*command, "--cluster", cluster.scheduler_address], catch_exceptions=False
    )
    assert len(json.loads(far.output)["rankings"]["random"]) == 2
    assert far.output == here.output


def test_unreachable_scheduler_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tombola.parallel.cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(
        ParameterError, match=r"expected the address of a Dask scheduler, got 'tcp://127.0.0.1:9'"
    ):
        connect("tcp://127.0.0.1:9").__enter__()
    with pytest.raises(
        ParameterError, match="expected the address of a Dask scheduler, got 'no address'"
    ):
        connect("no address").__enter__()
    left = [
        found
        for found in gc.get_objects()
        if issubclass(type(found), Client) and found.status != "closed"
    ]
    assert not left, (
        "one that is closed when it is collected may wait for a lock that its own thread holds, "
        "for ever"
    )


def test_scheduler_without_workers_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tombola.parallel.cluster._CONNECT_SECONDS", 0.5)
    alone = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with SpecCluster(scheduler=alone) as empty, pytest.raises(ParameterError, match="got none at"):
        connect(empty.scheduler_address).__enter__()


def test_cluster_option_without_dask_names_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tombola.parallel.cluster", None)
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n")
    with pytest.raises(ParameterError, match=r"write pip install 'tombola\[cluster\]'"):
        CliRunner().invoke(
            app,
            ["compare", str(tmp_path / "t.csv"), "--losses", "--cluster", "x"],
            catch_exceptions=False,
        )


def test_killed_workers_cost_time_only(client: Client, tmp_path: Path) -> None:
    # The last test: the workers in place of the killed ones import everything again.
    pieces = [(n, 0.02) for n in range(60)]
    numbers, killed = [], 0
    for number, who in cluster_map(client, CountedWork(tmp_path / "log"), pieces):
        numbers.append(number)
        if number in (5, 20) and who != killed:
            os.kill(who, signal.SIGKILL)
            killed = who
    assert killed
    assert numbers == list(range(60))
    assert len((tmp_path / "log").read_text().split()) >= 3, (
        "the worker in its place got the shared work"
    )
