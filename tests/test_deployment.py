"""Where people deploy: packages that cannot be written, homes that are not there, disks that are full."""

import json
import shutil
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from conftest import SOURCE, Run
from tombola import FollowTheLeader, Pool, play
from tombola.engine import cache, compiler
from tombola.engine.compiler import compile_loop
from tombola.errors import TombolaWarning

ROOT = SOURCE.parent
PLAY = """
import numpy as np, tombola
pool = tombola.Pool(np.random.default_rng(0).random((50, 2)))
print(repr(tombola.play(tombola.FollowTheLeader(), pool, seed=1).loss))
"""

FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))
"""


def loss_expected() -> str:
    return f"{play(FollowTheLeader(), Pool(np.random.default_rng(0).random((50, 2))), seed=1).loss!r}\n"


def test_without_a_place_for_machine_code_it_plays_and_says_so_in_a_line(tmp_path: Path, run_python: Run) -> None:
    shutil.copytree(SOURCE / "tombola", tmp_path / "tombola", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in tmp_path.rglob("*.py")}:
        (folder / "__pycache__").write_text("a file, so that no folder can be made here, not even by root")
    (tmp_path / "table.csv").write_text("a,b\n" + "0,1\n1,0\n" * 10)
    command = ("compare", "table.csv", "--learners", "UCB1", "--repetitions", "2", "--workers", "1", "--json")
    nowhere = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache", "PYTHONPATH": str(tmp_path)}
    done = run_python("-W", "default", "-c", COMMAND, *command, cwd=tmp_path, **nowhere)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert done.stderr.startswith("tombola: compiled code cannot be kept (no folder for it can be written)")
    assert done.stderr.endswith("set NUMBA_CACHE_DIR to a folder that can be written.\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_is_not_blamed_on_the_learner(tmp_path: Path, run_python: Run) -> None:
    done = run_python("-W", "default", "-c", FULL + PLAY, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (0, loss_expected()), done.stderr
    assert done.stderr.count("TombolaWarning: compiled code cannot be kept (File too large)") == 1
    assert "change the kernel" not in done.stderr


COMMAND = "from tombola.cli.app import main; main()"


def test_a_terminal_that_lacks_a_letter_shows_its_number(tmp_path: Path, run_python: Run) -> None:
    (tmp_path / "table.csv").write_text("na\u00efve,\u65e5\u672c\n" + "0,1\n1,0\n" * 10, encoding="utf-8")
    done = run_python("-c", COMMAND, "describe", "table.csv", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u65e5\\u672c" in done.stdout


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("compare table.csv --repetitions 2 --learners UCB1 --json 2>&-", 0, ""),
        ("compare table.csv --repetitions 2 --learners UCB1 --json >&-", 0, ""),
        ("learners >/dev/full", 2, "tombola: [Errno 28] No space left on device\n"),
        ("claims | true", 0, ""),
        ("describe - <&-", 2, "tombola: standard input: expected a table"),
        ("look table.csv", 2, "tombola: expected to work in a folder that is there"),
    ],
)
def test_streams_that_are_closed_and_folders_that_are_gone(
    how: str, status: int, said: str, tmp_path: Path, run_python: Run
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n" + "0,1\n1,0\n" * 10)
    gone = "mkdir gone; cd gone; rmdir ../gone;" if "folder" in said else ""
    command = f"{gone} '{sys.executable}' -c '{COMMAND}' {how}"
    program = f"import subprocess, sys; sys.exit(subprocess.call({command!r}, shell=True))"
    done = run_python("-c", program, cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stderr[: len(said) or None]) == (status, said)


def test_without_docstrings_the_claims_have_no_words(run_python: Run) -> None:
    done = run_python("-OO", "-c", COMMAND, "claims")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tombola: claims: expected docstrings")
    assert done.stderr.endswith("run it without -OO and PYTHONOPTIMIZE=2.\n")


def thrice(number: float) -> float:
    return 3.0 * number


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which machine code is kept, by a process that has said and compiled nothing yet."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_said", set())
    monkeypatch.setattr(compiler, "_specialised", {})
    return tmp_path


def test_a_damaged_cache_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    (index,) = folder.rglob("*.nbi")
    before = index.read_bytes()
    index.write_bytes(before[: len(before) // 2])
    monkeypatch.setattr(compiler, "_specialised", {})
    with pytest.warns(TombolaWarning, match="a file of compiled code is damaged") as said:
        assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    assert len(said) == 1
    assert index.read_bytes() == before


def test_machine_code_with_another_number_in_it_is_damaged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would take it as it is, and calculate with five in place of three."""
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    (code,) = folder.rglob("*.nbc")
    before = code.read_bytes()
    three, five = (np.float64(number).tobytes() for number in (3.0, 5.0))
    assert three in before
    code.write_bytes(before.replace(three, five))
    monkeypatch.setattr(compiler, "_specialised", {})
    with pytest.warns(TombolaWarning, match="a file of compiled code is damaged") as said:
        assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    assert len(said) == 1
    assert three in code.read_bytes()
    assert five not in code.read_bytes()


def test_machine_code_for_other_types_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that compile at once for different types both write the first file: the index of one stays, and
    the code of the other."""
    for number in (2.0, 2):
        assert compile_loop(thrice, (number,))(number) == 6.0
    first, second = sorted(folder.rglob("*.nbc"))
    swapped = second.read_bytes(), first.read_bytes()
    first.write_bytes(swapped[0])
    second.write_bytes(swapped[1])
    for hits in (0, 1):  # made again, and kept
        for number, kind in ((2.0, "float64"), (2, "int64")):
            monkeypatch.setattr(compiler, "_specialised", {})
            compiled = compile_loop(thrice, (number,))
            assert [str(kinds[0]) for kinds in compiled.signatures] == [kind]
            assert compiled(number) == 6.0
            assert sum(compiled.stats.cache_hits.values()) == hits


@pytest.mark.parametrize("error", [AttributeError, ModuleNotFoundError])
def test_code_of_an_earlier_version_is_made_again_without_a_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """A class that was renamed cannot be found; warnings are errors here."""
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0

    def renamed(*arguments: object) -> None:
        raise error("module 'tombola.engine.loop' has no attribute 'Table'")

    monkeypatch.setattr(compiler, "_specialised", {})
    monkeypatch.setattr("numba.core.caching.FunctionCache.load_overload", renamed)
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    assert list(folder.rglob("*.nbi"))


@pytest.mark.usefixtures("folder")
def test_a_warning_that_is_an_error_names_itself_and_not_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.FunctionCache.save_overload", full)
    with pytest.raises(TombolaWarning, match="No space left on device"):  # pytest makes warnings errors
        compile_loop(thrice, (2.0,))
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0


def test_every_package_that_comes_along_has_a_version_in_the_constraints() -> None:
    named = {_name(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*extras["dependencies"], *extras["optional-dependencies"]["test"]]
    reached: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        if _name(requirement.name) not in reached and _applies(requirement):
            reached.add(_name(requirement.name))
            wanted += requires(requirement.name) or []
    assert reached <= named, f"add to constraints.txt: {sorted(reached - named)}"


def test_the_lower_bounds_are_those_that_are_tried() -> None:
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
