"""The command line: most commands in this process, some in one of their own."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cli.conftest import Main
from tombola import Exp3, Pool, compare
from tombola._formatting import format_estimate
from tombola._statistics import Estimate
from tombola.advice.default_learners import Conditions, default_learners
from tombola.cli import app as cli

MAIN = "from tombola.cli.app import main; main()"


@pytest.fixture
def tombola(run_main: Main, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    def run(*arguments: str, columns: int = 200) -> Any:
        monkeypatch.setenv("COLUMNS", str(columns))
        status, out, said = run_main(*arguments)
        return SimpleNamespace(returncode=status, stdout=out, stderr=said)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    losses = np.random.default_rng(0).integers(0, 5, (40, 3)) / 4
    losses[:, 1] = np.floor(losses[:, 1] * 2) / 4
    lines = ["cheap,good,dear", *(",".join(map(str, row)) for row in losses.tolist())]
    (tmp_path / "losses.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "losses.csv"


@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_compare_prints_summary_and_ranking(
    feedback: str, tombola: Callable[..., Any], table: Path
) -> None:
    done = tombola(
        "compare",
        "losses.csv",
        "--losses",
        "--feedback",
        feedback,
        "--repetitions",
        "3",
        "--workers",
        "1",
        "--seed",
        "5",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "losses.csv: 40 rows, 3 actions (cheap, good, dear), read as losses: lower is better.\n"
    )
    assert "\nBest action in this table (exact): good, mean loss " in done.stdout
    pool = Pool(np.loadtxt(table, delimiter=",", skiprows=1))
    runs = compare(pool, default_learners(Conditions(feedback)), repetitions=3, seed=5)
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert listed == runs.ranking()
    assert format_estimate(runs.regret(runs.ranking()[0])) in done.stdout
    assert "\nOrder test: no evidence against random order" in done.stdout
    assert "\nAdvice for a new list" in done.stdout


def test_compare_options(tombola: Callable[..., Any], table: Path, tmp_path: Path) -> None:
    pool = Pool(np.loadtxt(table, delimiter=",", skiprows=1))
    np.savez(tmp_path / "scaled.npz", losses=200 * np.asarray(pool.losses) - 50)
    done = tombola(
        *(
            "compare",
            "scaled.npz",
            "--rescale",
            "--orders",
            "given",
            "--delay",
            "3",
            "--switching-price",
            "0.5",
        ),
        *("--repetitions", "2", "--workers", "1", "--seed", "7"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    runs = compare(pool, [Exp3()], "given", repetitions=2, delay=3, switching_price=0.5, seed=7)
    line = next(line for line in done.stdout.splitlines() if line.split()[1:2] == ["Exp3"])
    found = runs.regret("Exp3")  # the table is printed in its own unit, 200 for a loss of 1
    assert (
        format_estimate(Estimate(200 * found.value, 200 * found.low, 200 * found.high, 2)) in line
    )


def test_compare_at_80_columns(tombola: Callable[..., Any], table: Path) -> None:
    done = tombola(
        *(
            "compare",
            "losses.csv",
            "--losses",
            "--orders",
            "random,given",
            "--repetitions",
            "3",
            "--switching-price",
            "500",
        ),
        columns=80,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if "tombola session start" not in line) <= 80, (
        "commands stay whole"
    )
    ranked = [line.split()[0] for line in lines if line.strip()[:1].isdigit() and "±" in line]
    assert ranked == [str(rank) for rank in range(1, 15)] * 2, (
        "every learner on a line of its own, in both orders"
    )
    assert done.stdout.count(" SuccessiveElimination ") == 2, "names are not broken"


@pytest.mark.full
def test_compare_under_a_budget_as_json_and_page(
    tombola: Callable[..., Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    losses, costs = rng.random((60, 3)), rng.random((60, 3))
    np.savez(tmp_path / "dear.npz", losses=losses, cost=costs)
    done = tombola(
        "compare",
        "dear.npz",
        "--budget",
        "10",
        "--feedback",
        "full",
        "--repetitions",
        "3",
        "--workers",
        "1",
        "--json",
        "--out",
        "page.html",
    )
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["best_fixed_action"] == str(losses.mean(axis=0).argmin())
    ranking = data["rankings"]["random"]
    assert [one["rank"] for one in ranking] == [1, 2, 3, 4]
    assert all(0 <= one["spent"][0] <= 10 for one in ranking)
    assert data["advice"]["learner"] in [one["learner"] for one in ranking]
    assert data["advice"]["fixed_action"] is False
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Costs over time against an even pace" in page
    assert "tombola compare dear.npz --budget 10" in page


def test_compare_named_learners(run_python: Callable[..., Any], table: Path) -> None:
    arguments = (
        "compare",
        "losses.csv",
        "--losses",
        "--learners",
        "UCB2,Hedge",
        "--repetitions",
        "2",
        "--json",
    )
    done = run_python("-c", MAIN, *arguments, cwd=table.parent)
    assert (done.returncode, done.stderr) == (0, "")
    names = [one["learner"] for one in json.loads(done.stdout)["rankings"]["random"]]
    assert sorted(names) == ["Hedge", "UCB2"]


def test_describe_prints_the_next_command(tombola: Callable[..., Any], table: Path) -> None:
    done = tombola("describe", "losses.csv", "--losses", "--ignore", "dear", columns=80)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  tombola compare losses.csv --losses --ignore dear\n" in done.stdout
    assert "2: cheap, good" in done.stdout


def test_table_from_standard_input(
    tombola: Callable[..., Any], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with table.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        done = tombola("describe", "-", "--losses")
    assert done.returncode == 0, done.stderr
    assert "\n  tombola compare - --losses\n" in done.stdout


def test_names_are_escaped(tombola: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a\x1b[31m,b\nx\x1b]0;title\x07,0,1\ny,1,0\nz,0,0\n")
    for arguments in (
        ("describe", "t.csv"),
        ("compare", "t.csv", "--losses", "--learners", "UCB2", "--repetitions", "2"),
    ):
        done = tombola(*arguments)
        assert done.returncode == 0, done.stderr
        assert "a\\x1b[31m" in done.stdout
        assert "\x1b" not in done.stdout
    (tmp_path / "bad.csv").write_text("a\x1b[31m,b\n0,1\n0,x\n")
    done = tombola("describe", "bad.csv")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_version(tombola: Callable[..., Any], run_python: Callable[..., Any]) -> None:
    import tombola as package

    assert tombola("--version").stdout == f"tombola {package.__version__}\n"
    assert run_python("-m", "tombola", "--version").stdout == f"tombola {package.__version__}\n"


@pytest.mark.parametrize("example", ["call_list", "language_models"])
def test_demo_runs_three_commands(
    example: str, tombola: Callable[..., Any], tmp_path: Path
) -> None:
    done = tombola("demo", example, columns=80)
    assert (done.returncode, done.stderr) == (0, "")
    commands = re.findall(rf"^\$ tombola (\S+) {example}.csv", done.stdout, re.MULTILINE)
    assert commands == ["describe", "audit", "compare"]
    assert "Advice for a new list" in done.stdout
    assert (tmp_path / f"{example}.csv").read_text().startswith("id,")
    assert tombola("demo", example, "--json").returncode == 0, "its own earlier table"
    table = (tmp_path / f"{example}.csv").read_text()
    for mine in ("mine\n", f"{table}mine,0.5\n", f"{table[:-2]}7\n"):
        (tmp_path / f"{example}.csv").write_text(mine)
        assert "which exists; name another file" in tombola("demo", example, "--json").stderr
        assert (tmp_path / f"{example}.csv").read_text() == mine


def test_memory_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    one_sentence: Callable[[object], str],
) -> None:
    def exhaust(**_: object) -> None:
        raise MemoryError("Unable to allocate 128. MiB")

    monkeypatch.setattr(cli, "app", exhaust)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "memory" in one_sentence(capsys.readouterr().err.strip())


# Malformed text is in the corpus of the readers.
BAD_TABLES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "binary": ("t.csv", lambda path: path.write_bytes(bytes(range(256)))),
    "pickled objects": (
        "t.npz",
        lambda path: np.savez(path, losses=np.array([[{}]], dtype=object)),
    ),
    "not an archive": ("t.npz", lambda path: path.write_bytes(b"PK\x03\x04")),
    "an empty archive": ("t.npz", lambda path: path.write_bytes(b"")),
    "text in an archive": ("t.npz", lambda path: np.savez(path, losses=np.array([["a"]]))),
    "a folder": ("t.csv", lambda path: path.mkdir()),
}


@pytest.mark.parametrize("what", BAD_TABLES)
def test_bad_table_is_one_line_and_status_2(
    what: str, run_main: Main, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    name, make = BAD_TABLES[what]
    make(tmp_path / name)
    status, out, said = run_main("compare", name)
    assert (status, out) == (2, "")
    assert said.startswith("tombola: ")
    assert said.count("\n") == 1
    one_sentence(said.rstrip("\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "losses.csv", "--losses", "--feedback", "some"),
        ("compare", "losses.csv", "--losses", "--orders", "shuffled"),
        ("compare", "losses.csv", "--losses", "--orders", "random,random"),
        ("compare", "losses.csv", "--losses", "--learners", "UCB2(beta=1)"),
        ("compare", "losses.csv", "--losses", "--learners", "nowhere.py:Mine"),
        ("compare", "losses.csv", "--losses", "--learners", "UCB2(alpha=open('x'))"),
        ("compare", "losses.csv", "--decimal", ":"),
        ("compare", "losses.csv", "--losses", "--budget", "much"),
        ("compare", "losses.csv", "--losses", "--budget", "10"),
        ("demo", "surprise"),
        ("reproduce", "--claims", "birthday,surprise"),
        ("reproduce", "--claims", "birthday", "--out", "losses.csv"),
    ],
)
def test_bad_option_is_one_line_and_status_2(arguments: Any, run_main: Main, table: Path) -> None:
    status, out, said = run_main(*arguments)
    assert (status, out) == (2, "")
    assert said.startswith("tombola: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("compare",), ("compare", "losses.csv", "--repetitions", "0"), ("surprise",)]
)
def test_wrong_usage_has_status_2(arguments: Any, run_main: Main, table: Path) -> None:
    status, out, said = run_main(*arguments)
    assert (status, out) == (2, "")
    assert said.startswith("tombola: ")


@pytest.mark.full
def test_reproduce_writes_rows_and_pictures(tombola: Callable[..., Any], tmp_path: Path) -> None:
    done = tombola("reproduce", "--claims", "birthday", "--out", "new/folder", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r" *\d+ s: birthday measured\n", done.stderr), (
        "one line for each claim, where there is no bar"
    )
    assert "holds (as expected)" in done.stdout
    folder = tmp_path / "new" / "folder"
    rows = list(csv.DictReader((folder / "birthday.csv").read_text().splitlines()))
    assert len(rows) > 100
    assert (folder / "birthday.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (folder / "birthday.svg").read_text()
    assert not list(folder.glob("*.part"))


def test_help_loads_nothing_heavy(tombola: Callable[..., Any], run_python: Any) -> None:
    done = tombola("--help")
    assert done.returncode == 0
    assert "reproduce" in done.stdout
    assert "compare" in done.stdout
    loaded = (
        "import sys, tombola.cli.app; print({'numba', 'numpy', 'matplotlib', 'sqlite3'} & "
        "set(sys.modules))"
    )
    assert run_python("-c", loaded).stdout == "set()\n"
