"""The command line, as a user meets it: in a process of its own."""

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import Exp3, Pool, compare
from tombola.learners import DEFAULTS

MAIN = "from tombola.cli import main; main()"


@pytest.fixture
def tombola(run_python: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def run(*arguments: str, **environment: str) -> Any:
        return run_python("-c", MAIN, *arguments, cwd=tmp_path, **environment)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    losses = np.random.default_rng(0).integers(0, 5, (40, 3)) / 4
    losses[:, 1] *= 0.5
    lines = ["cheap,good,dear", *(",".join(map(str, row)) for row in losses.tolist())]
    (tmp_path / "losses.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "losses.csv"


@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_compare_prints_the_ranking(feedback: str, tombola: Callable[..., Any], table: Path) -> None:
    done = tombola(
        "compare", "losses.csv", "--feedback", feedback, "--repetitions", "3", "--workers", "1", "--seed", "5"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 rows, 3 actions; best fixed action: good" in done.stdout
    pool = Pool(np.loadtxt(table, delimiter=",", skiprows=1))
    runs = compare(pool, DEFAULTS[feedback], repetitions=3, seed=5)
    listed = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert [name for name in listed if name in runs.learners] == runs.ranking()
    assert str(runs.regret(runs.ranking()[0])) in done.stdout


def test_compare_takes_its_options(tombola: Callable[..., Any], table: Path, tmp_path: Path) -> None:
    pool = Pool(np.loadtxt(table, delimiter=",", skiprows=1))
    np.savez(tmp_path / "scaled.npz", losses=200 * np.asarray(pool.losses) - 50)
    done = tombola(
        *("compare", "scaled.npz", "--rescale", "--order", "given", "--delay", "3", "--switching-price", "0.5"),
        *("--repetitions", "2", "--workers", "1", "--seed", "7"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    runs = compare(pool, [Exp3()], "given", repetitions=2, delay=3, switching_price=0.5, seed=7)
    assert str(runs.regret("Exp3")) in next(line for line in done.stdout.splitlines() if line.split()[:1] == ["Exp3"])


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


BAD_TABLES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "missing": ("t.csv", lambda _: None),
    "ragged": ("t.csv", text("a,b\n0,1\n0\n")),
    "text in numbers": ("t.csv", text("a,b\n0,1\n0,good\n")),
    "text in the first column": ("t.csv", text("a,b\n0,1\ngood,1\n")),
    "empty": ("t.csv", text("")),
    "one line": ("t.csv", text("a,b\n")),
    "outside of [0, 1]": ("t.csv", text("a,b\n0,7\n")),
    "wrong ending": ("t.txt", text("a,b\n0,1\n")),
    "binary": ("t.csv", lambda path: path.write_bytes(bytes(range(256)))),
    "names twice": ("t.csv", text("a,a\n0,1\n")),
    "pickled objects": ("t.npz", lambda path: np.savez(path, losses=np.array([[{}]], dtype=object))),
    "not an archive": ("t.npz", lambda path: path.write_bytes(b"PK\x03\x04")),
    "an empty archive": ("t.npz", lambda path: path.write_bytes(b"")),
    "text in an archive": ("t.npz", lambda path: np.savez(path, losses=np.array([["a"]]))),
    "a folder": ("t.csv", lambda path: path.mkdir()),
}


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_is_one_line_and_status_2(
    what: str, tombola: Callable[..., Any], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    name, make = BAD_TABLES[what]
    make(tmp_path / name)
    done = tombola("compare", name, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tombola: ")
    assert done.stderr.count("\n") == 1
    one_sentence(done.stderr.rstrip("\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "losses.csv", "--feedback", "some"),
        ("compare", "losses.csv", "--order", "shuffled"),
        ("reproduce", "--claims", "birthday,surprise"),
        ("reproduce", "--claims", "birthday", "--out", "losses.csv"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(arguments: Any, tombola: Callable[..., Any], table: Path) -> None:
    done = tombola(*arguments, NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tombola: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("compare",), ("compare", "losses.csv", "--repetitions", "0"), ("surprise",)])
def test_wrong_usage_has_status_2_and_no_traceback(arguments: Any, tombola: Callable[..., Any], table: Path) -> None:
    done = tombola(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage" in done.stderr
    assert "Traceback" not in done.stderr


def test_reproduce_leaves_rows_and_pictures(tombola: Callable[..., Any], tmp_path: Path) -> None:
    done = tombola("reproduce", "--claims", "birthday", "--out", "new/folder", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "holds (as expected)" in done.stdout
    folder = tmp_path / "new" / "folder"
    rows = list(csv.DictReader((folder / "birthday.csv").read_text().splitlines()))
    assert len(rows) > 100
    assert (folder / "birthday.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (folder / "birthday.svg").read_text()
    assert not list(folder.glob("*.part"))


def test_help_comes_within_a_second_and_loads_nothing_heavy(tombola: Callable[..., Any], run_python: Any) -> None:
    times = []
    for _ in range(3):
        begun = time.monotonic()
        done = tombola("--help")
        times.append(time.monotonic() - begun)
        assert done.returncode == 0
        assert "reproduce" in done.stdout
        assert "compare" in done.stdout
    assert min(times) < 1.0
    loaded = "import sys, tombola.cli; print([m for m in ('numba', 'numpy', 'matplotlib') if m in sys.modules])"
    assert run_python("-c", loaded).stdout == "[]\n"
