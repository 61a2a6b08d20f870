"""Comparisons survive: a stop costs little, more repetitions add to those there are, and damage is played again."""

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
from tombola.advice import Answer, CompareRequest, Conditions, answer_to
from tombola.persistence import result_cache as chunks
from tombola.persistence.result_cache import CHUNK, Chunks, _digest, joined, played
from tombola.readers import read_table
from tombola.runs import Runs

LOSSES = np.random.default_rng(3).random((30, 3))
LEARNERS = ("UCB1", "UCB2")


def asked(repetitions: int, **others: Any) -> CompareRequest:
    met = Conditions("bandit", 0, others.pop("price", 0.0))
    return CompareRequest(met, LEARNERS, others.pop("orders", ("random", "given")), repetitions=repetitions, **others)


def same(one: Runs, other: Runs, *, chunks: bool = True) -> bool:
    """Say whether runs are the same to the bit; shares are means, which depend on chunks in their last bit."""
    arrays = [
        (getattr(one.cells[entry], name), getattr(other.cells[entry], name))
        for entry in one.cells
        for name in one.cells[entry]._fields
        if chunks or name != "shares"
    ]
    return list(one.cells) == list(other.cells) and all(np.array_equal(a, b) for a, b in arrays)


def test_the_journal_changes_nothing(tmp_path: Path) -> None:
    table, question = read_table(LOSSES), asked(10)
    plain = answer_to(table, question)
    kept = answer_to(table, question, keep=tmp_path)
    again = answer_to(table, question, keep=tmp_path)
    assert (plain.known, kept.known, again.known) == (0, 0, 10)
    assert same(plain.runs, kept.runs)
    assert same(plain.runs, again.runs)
    recipes = question.recipes
    assert same(plain.runs, compare(table.pool, recipes, ["random", "given"], repetitions=10, seed=1), chunks=False)


def test_more_repetitions_add_to_those_there_are(tmp_path: Path) -> None:
    table = read_table(LOSSES)
    answer_to(table, asked(8), keep=tmp_path)
    more = answer_to(table, asked(15), keep=tmp_path)
    assert more.known == 8
    assert same(more.runs, answer_to(table, asked(15)).runs)
    fewer = answer_to(table, asked(6), keep=tmp_path)
    assert fewer.known == CHUNK
    assert same(fewer.runs, answer_to(table, asked(6)).runs)


def test_another_question_or_table_or_code_has_another_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_to(read_table(LOSSES), asked(4), keep=tmp_path)

    def known(losses: Any = LOSSES, **others: Any) -> int:
        return answer_to(read_table(losses), asked(4, **others), keep=tmp_path).known

    assert known() == 4
    assert known(seed=2) == known(orders=("given",)) == known(price=1.0) == 0
    changed = LOSSES.copy()
    changed[29, 2] = np.nextafter(changed[29, 2], 1)
    assert known(changed) == 0
    monkeypatch.setattr(chunks, "package_hash", lambda: "other code")
    assert known() == 0, "numbers of other code are not ours"


def test_a_stop_at_any_chunk_costs_that_chunk_only(tmp_path: Path) -> None:
    table, question = read_table(LOSSES), asked(12)
    whole = answer_to(table, question).runs
    journal = Chunks(tmp_path / "one")
    counts: list[int] = []

    def play(parts: Sequence[tuple[int, int]]) -> Generator[Runs]:
        for first, count in parts:
            counts.append(first)
            if len(counts) in (2, 3, 5):
                raise KeyboardInterrupt
            yield compare(table.pool, question.recipes, ["random", "given"], repetitions=count, first=first, seed=1)

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            played(play, 12, journal)
    found, known = played(play, 12, journal)
    assert counts == [0, 4, 4, 4, 8, 8]
    assert known == 8
    assert same(found, whole)


def test_a_damaged_chunk_is_played_again(tmp_path: Path) -> None:
    table, question = read_table(LOSSES), asked(4)
    whole = answer_to(table, question, keep=tmp_path).runs
    (path,) = tmp_path.rglob("*.runs")
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(good)
        broken[rng.integers(len(good))] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken if rng.random() < 0.8 else broken[: rng.integers(len(good))])
        found = Chunks(path.parent).read(0, 4)
        assert found is None or same(found, whole), "damage is never read as numbers"
    path.write_bytes(b"")
    assert same(answer_to(table, question, keep=tmp_path).runs, whole)


def test_a_chunk_in_the_place_of_another_is_played_again(tmp_path: Path) -> None:
    """Its digest was right, so the same repetitions counted twice, and those of another seed as these."""
    table = read_table(LOSSES)
    whole = answer_to(table, asked(8), keep=tmp_path).runs
    first, second = sorted(tmp_path.rglob("*.runs"))
    kept = first.read_bytes(), second.read_bytes()
    second.write_bytes(kept[0])
    assert Chunks(first.parent).read(4, 4) is None
    assert same(answer_to(table, asked(8), keep=tmp_path).runs, whole)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / first.name).write_bytes(kept[0])
    assert Chunks(tmp_path / "other").read(0, 4) is None
    assert Chunks(first.parent).read(0, 4) is not None


def test_what_is_no_file_or_no_archive_is_played_again(tmp_path: Path) -> None:
    """A pipe was waited for without end, and what has the right digest but is no archive was a traceback."""
    chunks = Chunks(tmp_path)
    os.mkfifo(tmp_path / "0-4.runs")
    (tmp_path / "4-8.runs").mkdir()
    archive = b"no archive"
    (tmp_path / "8-12.runs").write_bytes(_digest(archive, f"{tmp_path.name}/8-12.runs") + archive)
    assert [chunks.read(first, 4) for first in (0, 4, 8)] == [None] * 3


def test_joining_is_what_compare_does_at_once() -> None:
    pool, recipes = read_table(LOSSES).pool, asked(1).recipes
    parts = [compare(pool, recipes, repetitions=count, first=first, seed=5) for first, count in ((0, 3), (3, 4))]
    found, whole = joined(parts), compare(pool, recipes, repetitions=7, seed=5)
    assert same(found, whole, chunks=False)
    for entry, cell in whole.cells.items():
        assert found.cells[entry].shares == pytest.approx(cell.shares)


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_journal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer: Answer = answer_to(read_table(LOSSES), asked(4), keep=tmp_path / "file")
    assert answer.known == 0


@pytest.mark.full
def test_compare_killed_ten_times_gives_the_same_numbers_to_the_bit(tmp_path: Path) -> None:
    lines = ["a,b,c,d", *(",".join(f"{x:.3f}" for x in row) for row in np.random.default_rng(0).random((4000, 4)))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    command = [
        sys.executable, "-m", "tombola", "compare", "t.csv", "--learners", "UCB1,UCB2,KLUCB", "--repetitions", "120",
        "--workers", "1", "--json",
    ]  # fmt: skip

    def environment(name: str) -> dict[str, str]:
        return {**os.environ, "TOMBOLA_CACHE": str(tmp_path / name)}

    whole = subprocess.run(command, cwd=tmp_path, env=environment("one"), capture_output=True, check=True).stdout
    rng, kills = np.random.default_rng(1), 0
    folder = tmp_path / "two"
    while kills < 10:
        before = len(list(folder.rglob("*.runs")))
        process = subprocess.Popen(command, cwd=tmp_path, env=environment("two"), stdout=subprocess.DEVNULL)
        while process.poll() is None and len(list(folder.rglob("*.runs"))) <= before:
            time.sleep(0.002)
        time.sleep(float(rng.random()) * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    kept = len(list(folder.rglob("*.runs")))
    resumed = subprocess.run(command, cwd=tmp_path, env=environment("two"), capture_output=True, check=True).stdout
    assert 10 <= kept < 30, "each start added something, and none was enough"
    assert json.loads(resumed) == json.loads(whole)
    assert resumed == whole


def test_what_was_kept_under_other_names_is_not_taken(tmp_path: Path) -> None:
    """Two tables with the same numbers: the second was told with the names of the first."""
    question = CompareRequest(Conditions("full"), ("FollowTheLeader",), repetitions=2)
    for names in (["small", "large"], ["alpha", "beta"]):
        found = answer_to(read_table([[0.5, 0.25], [0.0, 1.0]], actions=names), question, keep=tmp_path)
        assert found.runs.actions == tuple(names)
