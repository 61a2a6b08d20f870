"""Reproduction: the same rows for any number of workers, and after a kill -9 in the middle."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.uniform_convergence import UniformConvergence
from tombola.paper.extensions import FixedSample
from tombola.paper.reproduce import reproduce
from tombola.paper.unit_cache import Finished, key_of

CLAIMS = [UniformConvergence, FixedSample]  # with rng and without; neither has anything to compile


def rows_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


def test_workers_and_repeated_runs_leave_the_same_rows(tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2), ("again", 1)):
        reproduce([kind() for kind in CLAIMS], tmp_path / name, full=False, seed=3, workers=workers)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two") == rows_of(tmp_path / "again") != {}
    page = (tmp_path / "one" / "index.html").read_text(encoding="utf-8")
    assert "fixed-sample" in page
    assert len(page) < 3_000_000


def test_finished_units_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce([FixedSample()], tmp_path, full=False, seed=3, workers=1)
    before = rows_of(tmp_path)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("run again")

    monkeypatch.setattr(FixedSample, "run", never)
    reproduce([FixedSample()], tmp_path, full=False, seed=3, workers=1)
    assert rows_of(tmp_path) == before
    with pytest.raises(AssertionError, match="run again"):
        reproduce([FixedSample()], tmp_path, full=False, seed=4, workers=1)


def test_a_line_cut_short_is_run_again_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Finished(path)
    journal.record(key_of("a", {"T": 1}, 1, ""), [{"x": 1.5}])
    journal.record(key_of("a", {"T": 2}, 1, ""), [{"x": 2.5}])
    path.write_bytes(path.read_bytes()[:-9])
    again = Finished(path)
    assert again.rows(key_of("a", {"T": 1}, 1, "")) == [{"x": 1.5}]
    assert again.rows(key_of("a", {"T": 2}, 1, "")) is None
    again.record(key_of("a", {"T": 2}, 1, ""), [{"x": 2.5}])
    assert Finished(path).rows(key_of("a", {"T": 2}, 1, "")) == [{"x": 2.5}]


@pytest.mark.full
def test_after_kill_9_the_run_goes_on_and_ends_with_the_same_rows(tmp_path: Path) -> None:
    command = [
        sys.executable, "-c", "from tombola.cli.app import main; main()",
        "reproduce", "--claims", "uniform-convergence,fixed-sample", "--seed", "5", "--workers", "2", "--out",
    ]  # fmt: skip
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert subprocess.run([*command, str(whole)], capture_output=True, check=False).returncode == 0
    finished = len((whole / "journal.jsonl").read_text().splitlines())
    process = subprocess.Popen([*command, str(cut)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = cut / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 0):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = journal.read_bytes().count(b"\n")
    assert 0 < done < finished
    assert subprocess.run([*command, str(cut)], capture_output=True, check=False).returncode == 0
    assert len(journal.read_text().splitlines()) == finished
    assert rows_of(cut) == rows_of(whole)


def test_a_claim_that_comes_out_otherwise_shows_in_the_exit_status(tmp_path: Path) -> None:
    class Wrong(Birthday):
        expected = "refuted"

    done = reproduce([Wrong()], tmp_path, full=False, seed=1, workers=1)
    assert [one.as_expected for one in done] == [False]
