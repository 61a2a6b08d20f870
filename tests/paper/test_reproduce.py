"""Reproduction: the same rows for any number of workers and after a kill; finished units are not run again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tombola.paper import runner
from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.classification import UniformConvergence
from tombola.paper.extensions.lower_bounds import FixedSample
from tombola.paper.reproduce import reproduce
from tombola.paper.runner import _unit_key


class Sampled(UniformConvergence):
    """A small claim that uses an rng, and compiles nothing."""

    def units(self, *, full: bool) -> list[Any]:
        return [
            {"n": 7, "T": 14, "plays": 50},
            *({"n": n, "T": 256, "plays": 20} for n in (16, 64)),
        ]


class Exact(FixedSample):
    """A small claim without an rng, which compiles nothing."""

    def units(self, *, full: bool) -> list[Any]:
        return super().units(full=False)[:2]


def outputs(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.suffix in (".csv", ".png")
    }


def unit_files(folder: Path) -> list[Path]:
    return sorted((folder / "units").rglob("*.result"))


def test_output_depends_on_seed_and_not_on_workers(tmp_path: Path) -> None:
    for name, workers, seed in (("one", 1, 3), ("two", 2, 3), ("other", 1, 4)):
        reproduce(
            [kind() for kind in (Sampled, Exact)],
            tmp_path / name,
            full=False,
            seed=seed,
            workers=workers,
        )
    one, two, other = (outputs(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two != {}
    assert one["uniform-convergence.csv"] != other["uniform-convergence.csv"]
    page = (tmp_path / "one" / "index.html").read_text(encoding="utf-8")
    assert "fixed-sample" in page
    assert len(page) < 3_000_000


@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
def test_damaged_unit_is_run_again(tmp_path: Path, damage: str) -> None:
    reproduce([Exact()], tmp_path, full=False, seed=3, workers=1)
    before, file = outputs(tmp_path), unit_files(tmp_path)[0]
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(content[:-9] if damage == "cut" else content.replace(b"0.", b"1.", 1))
    reproduce([Exact()], tmp_path, full=False, seed=3, workers=1)
    assert outputs(tmp_path) == before
    assert file.read_bytes() == content


def test_finished_unit_is_run_again_for_other_code_or_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[str, int]] = []

    class Counted(Birthday):
        def units(self, *, full: bool) -> list[Any]:
            return [{"T": 16, "plays": 2}]

        def run(self, unit: Any, *, seed: Any) -> Any:
            runs.append((version, number))
            return super().run(unit, seed=seed)

    pages = []
    for version, number in (("x", 1), ("x", 1), ("y", 1), ("x", 1), ("x", 2)):
        monkeypatch.setattr(runner, "package_hash", lambda version=version: version)
        reproduce([Counted()], tmp_path, full=False, seed=number, workers=1)
        pages.append(outputs(tmp_path))
    assert runs == [("x", 1), ("y", 1), ("x", 2)]
    assert pages[0] == pages[1] == pages[2] == pages[3] != pages[4]


def test_unit_key_depends_on_claim_fault_unit_and_seed() -> None:
    settings = [
        ("a", "", {"T": 1}, 1),
        ("b", "", {"T": 1}, 1),
        ("a", "f", {"T": 1}, 1),
        ("a", "", {"T": 2}, 1),
    ]
    assert len({_unit_key(*setting) for setting in (*settings, ("a", "", {"T": 1}, 2))}) == 5


@pytest.mark.full
def test_killed_run_continues(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from tombola.cli.app import main; main()",
        "reproduce",
        "--claims",
        "uniform-convergence,fixed-sample",
        "--seed",
        "5",
        "--workers",
        "2",
        "--out",
    ]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert subprocess.run([*command, str(whole)], capture_output=True, check=False).returncode == 0
    process = subprocess.Popen(
        [*command, str(cut)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not unit_files(cut):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 0 < len(unit_files(cut)) < len(unit_files(whole))
    assert subprocess.run([*command, str(cut)], capture_output=True, check=False).returncode == 0
    assert outputs(cut) == outputs(whole)
    assert [path.name for path in unit_files(cut)] == [path.name for path in unit_files(whole)]


def test_unexpected_outcome_is_reported(tmp_path: Path) -> None:
    class Wrong(Exact):
        expected = "refuted"

    (result,) = reproduce([Wrong()], tmp_path, full=False, seed=1, workers=1)
    assert not result.as_expected
    data = json.loads(json.dumps(result.data()))
    assert (data["outcome"], data["as_expected"], data["faults"]) == ("holds", False, [])
