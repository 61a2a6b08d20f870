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
from tombola._result_cache import (
    _BLOCK_REPETITIONS,
    ResultCache,
    _join_blocks,
    play_cached,
    read_runs,
    result_key,
)
from tombola.advice import CompareRequest, Conditions, run_comparison
from tombola.runs import Runs
from tombola.tables import read_table

LOSSES = np.random.default_rng(3).random((30, 3))
LEARNERS = ("UCB1", "UCB2")
TABLE = read_table(LOSSES, kind="losses")

pytestmark = pytest.mark.usefixtures("plainly")


def request_of(repetitions: int, **others: Any) -> CompareRequest:
    conditions = Conditions("bandit", 0, others.pop("price", 0.0))
    orders = others.pop("orders", ("random", "given"))
    return CompareRequest(conditions, LEARNERS, orders, repetitions=repetitions, **others)


def run(repetitions: int, folder: Path | None = None, **others: Any) -> Any:
    """Return the report of a comparison on the table, with a cache in `folder`."""
    return run_comparison(TABLE, request_of(repetitions, **others), cache_dir=folder)


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
    plain, first, again = run(10), run(10, tmp_path), run(10, tmp_path)
    assert (plain.n_cached, first.n_cached, again.n_cached) == (0, 0, 10)
    assert same(plain.runs, first.runs)
    assert same(plain.runs, again.runs)
    learners = request_of(10).learners_by_name
    runs = compare(TABLE.pool, learners, ["random", "given"], repetitions=10, seed=1)
    assert same(plain.runs, runs, blocks=False)


def test_more_repetitions_reuse_cached_ones(tmp_path: Path) -> None:
    run(8, tmp_path)
    for repetitions, n_cached in ((15, 8), (6, _BLOCK_REPETITIONS)):
        found = run(repetitions, tmp_path)
        assert found.n_cached == n_cached
        assert same(found.runs, run(repetitions).runs)


def test_key_depends_on_request_table_and_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(4, tmp_path)
    assert run(4, tmp_path).n_cached == 4
    for others in ({"seed": 2}, {"orders": ("given",)}, {"price": 1.0}):
        assert run(4, tmp_path, **others).n_cached == 0
    changed = LOSSES.copy()
    changed[29, 2] = np.nextafter(changed[29, 2], 1)
    assert (
        run_comparison(
            read_table(changed, kind="losses"), request_of(4), cache_dir=tmp_path
        ).n_cached
        == 0
    )
    monkeypatch.setattr("tombola.advice.report.package_hash", lambda: "other code")
    assert run(4, tmp_path).n_cached == 0


def test_key_depends_on_action_names(tmp_path: Path) -> None:
    """Two tables with equal numbers must not share the names of the first."""
    request = CompareRequest(Conditions("full"), ("FollowTheLeader",), repetitions=2)
    for names in (["small", "large"], ["alpha", "beta"]):
        report = run_comparison(
            read_table([[0.5, 0.25], [0.0, 1.0]], actions=names, kind="losses"),
            request,
            cache_dir=tmp_path,
        )
        assert report.runs.actions == tuple(names)


def test_interrupt_costs_one_block(tmp_path: Path) -> None:
    whole, learners = run(12).runs, request_of(12).learners_by_name
    started: list[int] = []

    def play(blocks: Sequence[tuple[int, int]]) -> Generator[Runs]:
        for first, count in blocks:
            started.append(first)
            if len(started) in (2, 3, 5):
                raise KeyboardInterrupt
            yield compare(
                TABLE.pool, learners, ["random", "given"], repetitions=count, first=first, seed=1
            )

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            play_cached(play, 12, ResultCache(tmp_path), "one")
    runs, n_cached = play_cached(play, 12, ResultCache(tmp_path), "one")
    assert started == [0, 4, 4, 4, 8, 8]
    assert n_cached == 8
    assert same(runs, whole)


def test_damaged_file_is_computed_again(tmp_path: Path) -> None:
    whole = run(4, tmp_path).runs
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
    assert same(run(4, tmp_path).runs, whole)


def test_file_under_another_key_is_computed_again(tmp_path: Path) -> None:
    cache, whole = ResultCache(tmp_path), run(8, tmp_path).runs
    first, second = sorted(tmp_path.rglob("*.result"))
    key, content = first.parent.name, first.read_bytes()
    second.write_bytes(content)
    assert read_runs(cache, key, (4, 4)) is None
    assert same(run(8, tmp_path).runs, whole)
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
    assert (
        cache.write_json("claim/1", [{"T": (1, 2)}])
        == cache.read_json("claim/1")
        == [{"T": [1, 2]}]
    )


def test_result_key_separates_its_parts() -> None:
    keys = {
        result_key("ab"),
        result_key("a", "b"),
        result_key(None),
        result_key(),
        result_key(np.zeros(2, np.float32)),
    }
    assert len(keys) == 5
    large = np.arange(2.0 * (1 << 17)).reshape(-1, 2)
    assert result_key(large) == result_key(np.asfortranarray(large)) != result_key(large + 0.5)


def test_join_blocks_is_one_comparison() -> None:
    pool, recipes = TABLE.pool, request_of(1).learners_by_name
    parts = [
        compare(pool, recipes, repetitions=count, first=first, seed=5)
        for first, count in ((0, 3), (3, 4))
    ]
    joined, whole = _join_blocks(parts), compare(pool, recipes, repetitions=7, seed=5)
    assert same(joined, whole, blocks=False)
    for entry, cell in whole.cells.items():
        assert joined.cells[entry].shares == pytest.approx(cell.shares)


def test_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(4, tmp_path / "file").n_cached == 0


@pytest.mark.full
def test_compare_killed_ten_times_prints_same_bytes(tmp_path: Path) -> None:
    lines = [
        "a,b,c,d",
        *(",".join(f"{x:.3f}" for x in row) for row in np.random.default_rng(0).random((4000, 4))),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    options = [
        "--losses",
        "--learners",
        "UCB1,UCB2,KLUCB",
        "--repetitions",
        "120",
        "--workers",
        "1",
        "--json",
    ]
    command = [sys.executable, "-m", "tombola", "compare", "t.csv", *options]

    def environment(name: str) -> dict[str, str]:
        return {**os.environ, "TOMBOLA_CACHE": str(tmp_path / name)}

    whole = subprocess.run(
        command, cwd=tmp_path, env=environment("one"), capture_output=True, check=True
    ).stdout
    rng, kills = np.random.default_rng(1), 0
    folder = tmp_path / "two"
    while kills < 10:
        before = len(list(folder.rglob("*.result")))
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment("two"), stdout=subprocess.DEVNULL
        )
        while process.poll() is None and len(list(folder.rglob("*.result"))) <= before:
            time.sleep(0.002)
        time.sleep(float(rng.random()) * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    cached = len(list(folder.rglob("*.result")))
    resumed = subprocess.run(
        command, cwd=tmp_path, env=environment("two"), capture_output=True, check=True
    ).stdout
    assert 10 <= cached < 30, "each start added a block, and none was enough"
    assert json.loads(resumed) == json.loads(whole)
    assert resumed == whole
