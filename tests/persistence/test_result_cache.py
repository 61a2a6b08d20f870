"""Result cache: interrupted comparisons continue, more repetitions add to cached ones, damage is computed again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import compare
from tombola.advice import CompareRequest, Conditions, run_comparison
from tombola.persistence.result_cache import (
    _BLOCK_REPETITIONS,
    ResultCache,
    _join_blocks,
    play_cached,
    read_runs,
    result_key,
)
from tombola.readers import read_table
from tombola.runs import Runs

LOSSES = np.random.default_rng(3).random((30, 3))
LEARNERS = ("UCB1", "UCB2")

pytestmark = pytest.mark.usefixtures("plainly")


def request_of(repetitions: int, **others: Any) -> CompareRequest:
    conditions = Conditions("bandit", 0, others.pop("price", 0.0))
    orders = others.pop("orders", ("random", "given"))
    return CompareRequest(conditions, LEARNERS, orders, repetitions=repetitions, **others)


def same(one: Runs, other: Runs, *, blocks: bool = True) -> bool:
    """Compare runs to the bit; shares are means, whose last bit depends on the blocks."""
    arrays = [
        (getattr(one.cells[entry], name), getattr(other.cells[entry], name))
        for entry in one.cells
        for name in one.cells[entry]._fields
        if blocks or name != "shares"
    ]
    return list(one.cells) == list(other.cells) and all(np.array_equal(a, b) for a, b in arrays)


def test_cache_changes_no_bit(tmp_path: Path) -> None:
    table, request = read_table(LOSSES, kind="losses"), request_of(10)
    plain = run_comparison(table, request)
    first = run_comparison(table, request, cache_dir=tmp_path)
    again = run_comparison(table, request, cache_dir=tmp_path)
    assert (plain.n_cached, first.n_cached, again.n_cached) == (0, 0, 10)
    assert same(plain.runs, first.runs)
    assert same(plain.runs, again.runs)
    runs = compare(table.pool, request.learners_by_name, ["random", "given"], repetitions=10, seed=1)
    assert same(plain.runs, runs, blocks=False)


def test_more_repetitions_reuse_cached_ones(tmp_path: Path) -> None:
    table = read_table(LOSSES, kind="losses")
    run_comparison(table, request_of(8), cache_dir=tmp_path)
    more = run_comparison(table, request_of(15), cache_dir=tmp_path)
    assert more.n_cached == 8
    assert same(more.runs, run_comparison(table, request_of(15)).runs)
    fewer = run_comparison(table, request_of(6), cache_dir=tmp_path)
    assert fewer.n_cached == _BLOCK_REPETITIONS
    assert same(fewer.runs, run_comparison(table, request_of(6)).runs)


def test_key_depends_on_request_table_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_comparison(read_table(LOSSES, kind="losses"), request_of(4), cache_dir=tmp_path)

    def n_cached(losses: Any = LOSSES, **others: Any) -> int:
        return run_comparison(read_table(losses, kind="losses"), request_of(4, **others), cache_dir=tmp_path).n_cached

    assert n_cached() == 4
    assert n_cached(seed=2) == n_cached(orders=("given",)) == n_cached(price=1.0) == 0
    changed = LOSSES.copy()
    changed[29, 2] = np.nextafter(changed[29, 2], 1)
    assert n_cached(changed) == 0
    monkeypatch.setattr("tombola.advice.report.package_hash", lambda: "other code")
    assert n_cached() == 0


def test_key_depends_on_action_names(tmp_path: Path) -> None:
    """Two tables with equal numbers must not share the names of the first."""
    request = CompareRequest(Conditions("full"), ("FollowTheLeader",), repetitions=2)
    for names in (["small", "large"], ["alpha", "beta"]):
        report = run_comparison(
            read_table([[0.5, 0.25], [0.0, 1.0]], actions=names, kind="losses"), request, cache_dir=tmp_path
        )
        assert report.runs.actions == tuple(names)


def test_interrupt_costs_one_block(tmp_path: Path) -> None:
    table, request = read_table(LOSSES, kind="losses"), request_of(12)
    whole = run_comparison(table, request).runs
    started: list[int] = []

    def play(blocks: Sequence[tuple[int, int]]) -> Generator[Runs]:
        for first, count in blocks:
            started.append(first)
            if len(started) in (2, 3, 5):
                raise KeyboardInterrupt
            yield compare(
                table.pool, request.learners_by_name, ["random", "given"], repetitions=count, first=first, seed=1
            )

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            play_cached(play, 12, ResultCache(tmp_path), "one")
    runs, n_cached = play_cached(play, 12, ResultCache(tmp_path), "one")
    assert started == [0, 4, 4, 4, 8, 8]
    assert n_cached == 8
    assert same(runs, whole)


def test_damaged_file_is_computed_again(tmp_path: Path) -> None:
    table, request = read_table(LOSSES, kind="losses"), request_of(4)
    whole = run_comparison(table, request, cache_dir=tmp_path).runs
    (path,) = tmp_path.rglob("*.result")
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(good)
        broken[rng.integers(len(good))] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken if rng.random() < 0.8 else broken[: rng.integers(len(good))])
        runs = read_runs(ResultCache(tmp_path), path.parent.name, (0, 4))
        assert runs is None or same(runs, whole), "damage is never read as numbers"
    path.write_bytes(b"")
    assert same(run_comparison(table, request, cache_dir=tmp_path).runs, whole)


def test_file_under_another_key_is_computed_again(tmp_path: Path) -> None:
    table, cache = read_table(LOSSES, kind="losses"), ResultCache(tmp_path)
    whole = run_comparison(table, request_of(8), cache_dir=tmp_path).runs
    first, second = sorted(tmp_path.rglob("*.result"))
    key, content = first.parent.name, first.read_bytes()
    second.write_bytes(content)
    assert read_runs(cache, key, (4, 4)) is None
    assert same(run_comparison(table, request_of(8), cache_dir=tmp_path).runs, whole)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / first.name).write_bytes(content)
    assert read_runs(cache, "other", (0, 4)) is None
    assert read_runs(cache, key, (0, 4)) is not None


def test_pipe_folder_and_malformed_archive_are_misses(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    os.mkfifo(cache.path("0-4"))
    cache.path("4-8").mkdir()
    cache.write("8-12", b"no archive")
    assert cache.read("8-12") == b"no archive"
    assert [read_runs(cache, ".", (first, 4)) for first in (0, 4, 8)] == [None] * 3
    assert cache.read_json("8-12") is None


def test_json_values_are_returned_as_they_will_be_read(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path / "new")
    assert cache.write_json("claim/1", [{"T": (1, 2), "regret": 0.1}]) == [{"T": [1, 2], "regret": 0.1}]
    assert cache.read_json("claim/1") == [{"T": [1, 2], "regret": 0.1}]
    assert cache.read_json("claim/2") is None


def test_result_key_separates_its_parts() -> None:
    keys = {result_key("ab"), result_key("a", "b"), result_key(None), result_key(), result_key(np.zeros(2, np.float32))}
    assert len(keys) == 5
    large = np.arange(2.0 * (1 << 17)).reshape(-1, 2)
    assert result_key(large) == result_key(np.asfortranarray(large)) != result_key(large + 0.5)


def test_join_blocks_is_one_comparison() -> None:
    pool, recipes = read_table(LOSSES, kind="losses").pool, request_of(1).learners_by_name
    parts = [compare(pool, recipes, repetitions=count, first=first, seed=5) for first, count in ((0, 3), (3, 4))]
    joined, whole = _join_blocks(parts), compare(pool, recipes, repetitions=7, seed=5)
    assert same(joined, whole, blocks=False)
    for entry, cell in whole.cells.items():
        assert joined.cells[entry].shares == pytest.approx(cell.shares)


def test_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run_comparison(read_table(LOSSES, kind="losses"), request_of(4), cache_dir=tmp_path / "file").n_cached == 0


@pytest.mark.full
def test_compare_killed_ten_times_prints_same_bytes(tmp_path: Path) -> None:
    lines = ["a,b,c,d", *(",".join(f"{x:.3f}" for x in row) for row in np.random.default_rng(0).random((4000, 4)))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    command = [
        sys.executable, "-m", "tombola", "compare", "t.csv", "--losses", "--learners", "UCB1,UCB2,KLUCB",
        "--repetitions", "120",
        "--workers", "1", "--json",
    ]  # fmt: skip

    def environment(name: str) -> dict[str, str]:
        return {**os.environ, "TOMBOLA_CACHE": str(tmp_path / name)}

    whole = subprocess.run(command, cwd=tmp_path, env=environment("one"), capture_output=True, check=True).stdout
    rng, kills = np.random.default_rng(1), 0
    folder = tmp_path / "two"
    while kills < 10:
        before = len(list(folder.rglob("*.result")))
        process = subprocess.Popen(command, cwd=tmp_path, env=environment("two"), stdout=subprocess.DEVNULL)
        while process.poll() is None and len(list(folder.rglob("*.result"))) <= before:
            time.sleep(0.002)
        time.sleep(float(rng.random()) * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    cached = len(list(folder.rglob("*.result")))
    resumed = subprocess.run(command, cwd=tmp_path, env=environment("two"), capture_output=True, check=True).stdout
    assert 10 <= cached < 30, "each start added a block, and none was enough"
    assert json.loads(resumed) == json.loads(whole)
    assert resumed == whole
