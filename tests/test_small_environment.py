"""Commands run without Numba, HiGHS and Matplotlib, and print the same bits."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import HANGS

HIDDEN = ("numba", "llvmlite", "highspy", "matplotlib")
# Puts modules out of reach; `HIDDEN` is set before.
HIDE = """
import runpy, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
RUN = 'runpy.run_module("tombola", run_name="__main__", alter_sys=True)'


def run(folder: Path, hidden: tuple[str, ...], *words: str, then: str = RUN) -> tuple[int, str]:
    """Run the command line, or another program, with some modules hidden."""
    done = subprocess.run(
        [sys.executable, "-c", f"HIDDEN = {hidden!r}\n{HIDE}\n{then}", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two folders with the same files: one for each environment."""
    rng = np.random.default_rng(0)
    right = (rng.random((200, 2)) < [0.9, 0.5]).astype(int)
    folders = []
    for name in ("small", "usual"):
        folder = tmp_path / name
        folder.mkdir()
        table = [f"r{i},{a},{b}" for i, (a, b) in enumerate(right)]
        (folder / "wide.csv").write_text("\n".join(["id,old,new", *table]) + "\n")
        (folder / "list.txt").write_text("\n".join(f"r{i}" for i in range(40)) + "\n")
        (folder / "check.sh").write_text('test "$1" = good\n')
        folders.append(folder)
    return folders


RACE = [
    "race", "run", "list.txt", "--file", "models.race", "--loss", "exit", "--seed", "1", "--baseline", "a", "--better",
    "--candidate", "a=sh check.sh good {row}", "--candidate", "b=sh check.sh bad {row}",
]  # fmt: skip
SESSION = ["session", "start", "list.txt", "--actions", "a,b", "--file", "work.session", "--seed"]
COMMANDS = [
    [["gate", "wide.csv", "--baseline", "old", "--scores", "--within", "0.02", "--out", "g.html"]],
    [["rank", "wide.csv", "--scores", "--out", "rank.html"]],
    [["audit", "wide.csv", "mean(old) > 0.6"]],
    [RACE],
    [[*SESSION, "1", "--losses"], ["session", "next", "work.session"]],
]


@pytest.mark.full
@pytest.mark.parametrize("commands", COMMANDS, ids=lambda commands: commands[0][0])
def test_same_output(folders: list[Path], commands: list[list[str]]) -> None:
    small, usual = folders
    for words in commands:
        status, output = run(small, HIDDEN, *words)
        assert status in (0, 1, 3), output
        assert (status, output) == run(usual, (), *words)


def test_race_runs_interpreted(folders: list[Path]) -> None:
    status, output = run(folders[0], HIDDEN, *RACE)
    assert status == 1, output
    assert "b is not better than a" in output


def test_hiding_works(tmp_path: Path) -> None:
    _, output = run(tmp_path, HIDDEN, then="import matplotlib")
    assert "No module named 'matplotlib'" in output
