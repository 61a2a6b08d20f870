"""Where people deploy: packages that cannot be written, homes that are not there, disks that are full."""

import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from conftest import SOURCE, Run

ROOT = SOURCE.parent
COMMAND = "from tombola.cli.app import main; main()"


def test_terminal_that_lacks_letter_shows_its_number(tmp_path: Path, run_python: Run) -> None:
    (tmp_path / "table.csv").write_text(
        "na\u00efve,\u65e5\u672c\n" + "0,1\n1,0\n" * 10, encoding="utf-8"
    )
    done = run_python(
        "-c", COMMAND, "describe", "table.csv", cwd=tmp_path, PYTHONIOENCODING="ascii"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u65e5\\u672c" in done.stdout


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("compare table.csv --losses --repetitions 2 --learners UCB1 --json 2>&-", 0, ""),
        ("compare table.csv --losses --repetitions 2 --learners UCB1 --json >&-", 0, ""),
        ("learners >/dev/full", 2, "tombola: [Errno 28] No space left on device\n"),
        ("reproduce --list | true", 0, ""),
        ("describe - <&-", 2, "tombola: standard input: expected a table"),
        ("describe table.csv", 2, "tombola: expected an existing working directory"),
    ],
)
def test_closed_streams_and_missing_folders(
    how: str, status: int, said: str, tmp_path: Path, run_python: Run
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n" + "0,1\n1,0\n" * 10)
    gone = "mkdir gone; cd gone; rmdir ../gone;" if "directory" in said else ""
    command = f"{gone} '{sys.executable}' -c '{COMMAND}' {how}"
    program = f"import subprocess, sys; sys.exit(subprocess.call({command!r}, shell=True))"
    done = run_python("-c", program, cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stderr[: len(said) or None]) == (status, said)


def test_without_docstrings_claims_have_no_words(run_python: Run) -> None:
    done = run_python("-OO", "-c", COMMAND, "reproduce", "--list")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tombola: claims: expected docstrings")
    assert done.stderr.endswith("run it without -OO and PYTHONOPTIMIZE=2.\n")


@pytest.mark.parametrize("extra", ["test", pytest.param("full", marks=pytest.mark.full)])
def test_constraints_list_every_package(extra: str) -> None:
    named = {
        _name(line.split("==")[0])
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*extras["dependencies"], *extras["optional-dependencies"][extra]]
    reached: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        if _name(requirement.name) not in reached and _applies(requirement):
            reached.add(_name(requirement.name))
            wanted += requires(requirement.name) or []
    assert reached <= named, f"add to constraints.txt: {sorted(reached - named)}"


def test_lower_bounds_are_those_that_are_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "lower.txt").read_text().splitlines()
    tried = {_name(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}
    for text in [*project["dependencies"], *project["optional-dependencies"]["tables"]]:
        requirement = Requirement(text)
        (bound,) = requirement.specifier
        assert Version(bound.version) == Version(tried[_name(requirement.name)])


def _name(text: str) -> str:
    return text.strip().lower().replace("_", "-").replace(".", "-")


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})
