"""Live `tombola gate`: verdicts, caps with several workers, kills, questions."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.conftest import Main
from conftest import HANGS

# Each call is a line of calls.log. The score is that of the row in the file of the version.
LOOK_UP = "echo {version}-{{row}} >> calls.log; sed -n 's/^{{row}},//p' {version}.csv"


def command(version: str) -> str:
    return LOOK_UP.format(version=version)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"q{place}" for place in range(300)]
    (tmp_path / "rows.txt").write_text("\n".join(rows) + "\n")
    scores = {
        "old": [place % 5 != 0 for place in range(300)],
        "same": [place % 5 != 0 for place in range(300)],
        "down": [place % 5 != 0 and place % 3 != 0 for place in range(300)],
        "mixed": [(place % 5 != 0) != (place % 7 == 0) for place in range(300)],
    }
    for version, values in scores.items():
        lines = [f"{row},{int(value)}" for row, value in zip(rows, values, strict=True)]
        (tmp_path / f"{version}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def gate(new: str, *more: str, old: str = "old", file: str = "my.race") -> Sequence[str]:
    start = ("gate", "rows.txt", "--old", command(old), "--new", command(new), "--file", file)
    return (*start, "--scores", "--shell", "--quiet", "--seed", "1", *more)


def calls(folder: Path) -> list[str]:
    return (folder / "calls.log").read_text().split()


@pytest.mark.parametrize(
    ("new", "more", "status", "tag"),
    [
        ("same", ["--within", "0.1"], 0, "PASSED"),
        ("down", ["--within", "0.1"], 1, "WORSE"),
        ("mixed", ["--within", "0.01", "--max-calls", "40"], 3, "UNDECIDED"),
        ("mixed", ["--within", "0.01", "--max-calls", "40", "--undecided", "fail"], 1, "UNDECIDED"),
    ],
)
def test_three_verdicts(
    folder: Path, run_main: Main, new: str, more: list[str], status: int, tag: str
) -> None:
    outputs = ("--summary", "s.md", "--junit", "j.xml", "--out", "g.html")
    code, output, error = run_main(*gate(new, "--jobs", "2", *more, *outputs))
    assert (code, error) == (status, "")
    assert f"\n{tag} " in output
    assert "for rows like these" in output
    assert "every look" in output
    assert tag.lower() in (folder / "s.md").read_text(encoding="utf-8")
    assert tag in (folder / "g.html").read_text(encoding="utf-8")
    assert ElementTree.parse(folder / "j.xml").getroot().get("tests") == "1"
    # Far fewer calls than two on each row.
    assert len(calls(folder)) < 300


@pytest.mark.parametrize("limit", [["--max-calls", "41"], ["--max-cost", "20.5"]])
def test_eight_workers_hold_the_cap(folder: Path, run_main: Main, limit: list[str]) -> None:
    """A call costs .5: with either limit, 41 calls may start, whatever is in flight."""
    scripts = [f"{command(version)} | sed 's/$/ 0.5/'" for version in ("old", "mixed")]
    cost = [] if limit[0] == "--max-calls" else ["--max-call-cost", "0.5"]
    words = ("gate", "rows.txt", "--old", scripts[0], "--new", scripts[1], "--file", "my.race")
    options = ("--within", "0.01", "--scores", "--shell", "--quiet", "--workers", "8", "--json")
    code, output, _ = run_main(*words, *options, *limit, *cost)
    assert code == 3
    assert len(calls(folder)) == 41
    assert "stopped at the limit of" in " ".join(json.loads(output)["notes"])
    # Continued with a higher limit, no call is made again.
    more = ["--max-calls", "60"] if limit[0] == "--max-calls" else ["--max-cost", "30"]
    assert run_main("gate", "my.race", *more, "--quiet")[0] == 3
    assert len(calls(folder)) == len(set(calls(folder))) == 60


def test_killed_and_resumed(folder: Path, run_main: Main) -> None:
    """A killed gate ends as one that was never stopped; only calls in flight are made again."""
    # While the file `armed` exists, the twelfth call kills the gate, its parent.
    trap = "; [ -e armed ] && [ $(wc -l < calls.log) -ge 12 ] && kill -9 $PPID; sed"
    words = [*gate("down", "--within", "0.05", "--workers", "3", file="killed.race")]
    words = [word.replace("; sed", trap) for word in words]
    (folder / "armed").touch()
    done = subprocess.run(
        [sys.executable, "-m", "tombola", *words], cwd=folder, capture_output=True, timeout=HANGS
    )
    assert done.returncode == -signal.SIGKILL
    (folder / "armed").unlink()
    made = calls(folder)
    code, output, _ = run_main("gate", "killed.race", "--quiet", "--json")
    again = [call for call in calls(folder)[len(made) :] if call in made]
    assert len(again) <= 3
    (folder / "calls.log").unlink()
    whole = run_main(*gate("down", "--within", "0.05", "--json"))
    results = [json.loads(text) for text in (output, whole[1])]
    assert code == whole[0] == 1
    assert results[0]["comparisons"] == results[1]["comparisons"]


def test_an_outage_is_no_regression(folder: Path, run_main: Main) -> None:
    words = (
        "gate",
        "rows.txt",
        "--old",
        command("old"),
        "--new",
        "false {row}",
        "--file",
        "a.race",
    )
    options = ("--scores", "--shell", "--quiet", "--within", "0.1")
    for again in (False, True):
        code, output, error = run_main(
            *(("gate", "a.race", "--quiet") if again else words + options)
        )
        assert (code, output) == (2, "")
        assert "failed" in error
        assert "run its command by hand" in error


def two_metrics(new: str, *more: str) -> Sequence[str]:
    """A gate whose commands print two scores and a cost: the second one is that of `down`."""
    texts = [
        f"{command(first)} | tr '\\n' ' '; sed -n 's/^{{row}},//p' {second}.csv | sed 's/$/ 0.5/'"
        for first, second in (("old", "old"), (new, "down"))
    ]
    words = ("gate", "rows.txt", "--old", texts[0], "--new", texts[1], "--file", "my.race")
    options = ("--shell", "--quiet", "--seed", "1", "--scores", "--metric", "accuracy,format")
    return (*words, *options, *more)


def test_two_metrics_of_one_call(folder: Path, run_main: Main) -> None:
    """Each call gives both scores; the gate goes on after a stop, with no call made again."""
    margins = ("--within", "accuracy=0.1,format=0.1", "--json")
    stopped = run_main(*two_metrics("same", *margins, "--max-cost", "10", "--max-call-cost", "0.5"))
    assert stopped[0] == 3
    assert len(calls(folder)) == 20
    code, output, error = run_main("gate", "my.race", "--max-cost", "300", "--json", "--quiet")
    assert (code, error) == (1, "")
    assert len(calls(folder)) == len(set(calls(folder)))
    result = json.loads(output)
    assert {c["metric"]: c["verdict"] for c in result["comparisons"]} == {
        "accuracy": "proved",
        "format": "refuted",
    }
    assert [(c["pass_level"], c["worse_level"]) for c in result["comparisons"]] == [
        (0.05, 0.025),
        (0.05, 0.025),
    ]
    code, text, _ = run_main("gate", "my.race", "--quiet")
    assert "new in format is worse than old" in text
    assert "claims of worse share 5 %" in text
    run_main("race", "export", "my.race", "--out", "answers.csv")
    header, line, *_ = (folder / "answers.csv").read_text().splitlines()
    assert header == "ticket,candidate,row,accuracy,format,cost,failed"
    assert line.endswith(",0.5,0")
    _, text, _ = run_main("race", "status", "my.race")
    assert "new in format is worse than old by more than 0.1" in text


def test_clusters_are_called_whole(folder: Path, run_main: Main) -> None:
    """A list with conversations of three rows: whole ones decide, and continue after a stop."""
    lines = [f"q{place},c{place // 3}" for place in range(300)]
    (folder / "rows.csv").write_text("\n".join(["id,chat", *lines]) + "\n")
    words = [
        "rows.csv" if word == "rows.txt" else word for word in gate("down", "--within", "0.05")
    ]
    assert run_main(*words, "--clusters", "chat", "--max-calls", "50")[0] == 3
    code, output, error = run_main("gate", "my.race", "--quiet", "--max-calls", "600", "--json")
    assert (code, error) == (1, "")
    result = json.loads(output)
    assert result["unit"] == "cluster"
    assert result["comparisons"][0]["rows"] % 3 == 0
    _, text, _ = run_main("gate", "my.race", "--quiet")
    assert "if no cluster has more than 3 rows" in text
    uneven = [*lines[:-1], "q299,c0"]
    (folder / "rows.csv").write_text("\n".join(["id,chat", *uneven]) + "\n")
    words = [word.replace("my.race", "b.race") for word in words]
    code, _, error = run_main(*words, "--clusters", "chat")
    assert code == 2
    assert "expected clusters of one size, got 2 to 4 rows; write --cluster-size 4" in error


def test_a_range_of_one_metric(folder: Path, run_main: Main) -> None:
    code, _, error = run_main(*two_metrics("same", "--within", "0.1", "--range", "accuracy=0,0.5"))
    assert code == 2
    assert "expected accuracy from 0 to 0.5" in error
    assert "--range accuracy=LOW,HIGH" in error


def test_race_run_is_the_same_code(folder: Path, run_main: Main) -> None:
    run_main(*gate("down", "--within", "0.1"))
    _, output, _ = run_main("race", "status", "my.race")
    assert "new is worse than old by more than 0.1" in output
    assert "for rows like these" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (gate("same"), "--better if the new version must be better"),
        (gate("same", "--within", "0.1", "--each"), "--each: expected the column"),
        (gate("same", "--within", "0.1", "--clusters", "t"), "--clusters: expected a column"),
        (
            gate("same", "--within", "0.1", "--cluster-size", "3"),
            "--cluster-size: expected the column",
        ),
        (
            gate("same", "--within", "0.1", "--by", "t", "--clusters", "u"),
            "no groups beside clusters",
        ),
        (gate("same", "--within", "0.1", "--looks", "1"), "counts every look"),
        (gate("same", "--within", "a=0.1"), "in their order: --metric accuracy,format"),
        (gate("same", "--within", "0.1", "--better"), "either an allowed loss or a better"),
        (gate("same", "--within", "0.1", "--metric", "a,b", "--loss", "exit"), "an exit status"),
        (gate("same", "--within", "a=0.1", "--metric", "a,b"), "allowed loss of b, got none"),
        (gate("same", "--within", "0.1", "--metric", "a,a"), "different names"),
        (["gate", "rows.txt", "--old", "cat {row}", "--within", "0.1"], "none of --new"),
        (["gate", "a.csv", "b.csv", "--within", "0.1", "--max-calls", "9"], "a live gate"),
        ([*gate("same", "--within", "0.1")[:6], "--within", "0.1", "--scores"], "--file my.race"),
        (gate("same", "--within", "0.1", "--max-calls", "1"), "raise the limit"),
    ],
)
def test_bad_options_exit_with_2(
    folder: Path, run_main: Main, words: list[str], message: str
) -> None:
    code, output, error = run_main(*words)
    assert (code, output) == (2, "")
    assert message in error
