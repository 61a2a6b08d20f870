"""Commands of `tombola race`: output, exit codes, errors in one sentence."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.conftest import Main
from race_cases import ROWS, loss_of
from tombola._formatting import csv_text
from tombola.cli.race import app
from tombola.errors import FeedbackError, ParameterError, SessionError, TableError, TombolaError
from tombola.racing import Call, SubprocessEvaluator
from tombola.racing.rules.base import Elimination
from tombola.tables.cells import read_cells
from tombola.worklists import Assignment, RaceFile

# Takes arguments; returns exit status and output.
Command: TypeAlias = Callable[..., tuple[int, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    # Sentences in one line.
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "rows.txt").write_text("\n".join(ROWS))

    def invoke(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return invoke


def start(command: Command, *options: str, names: str = "low,high", file: str = "r") -> str:
    """Start a race on the rows; losses without another direction. Return the output."""
    direction = () if "--scores" in options else ("--losses",)
    direction = direction if "--answers" in options else (*direction, "--answers", "fixed")
    return command(
        "start",
        "rows.txt",
        *direction,
        "--candidates",
        names,
        "--file",
        file,
        "--seed",
        "1",
        *options,
    )[1]


def issued(command: Command, *count: str) -> list[Assignment]:
    """Issue calls."""
    printed = command("next", "r", *count, "--json")[1]
    return [Assignment.from_json(ticket) for ticket in json.loads(printed)]


def answer(command: Command, tmp_path: Path, *count: str) -> None:
    """Make all calls of a race, as `loss_of` has it."""
    while calls := issued(command, *count):
        # By names instead of tickets every second time.
        is_named = calls[0].ticket % 2 == 1
        head = ["candidate", "row", "outcome", "cost"] if is_named else ["ticket", "loss"]
        lines = [
            [call.action, call.id, loss_of(call), 0.5] if is_named else [call.ticket, loss_of(call)]
            for call in calls
        ]
        (tmp_path / "answers.csv").write_text(csv_text([head, *lines]))
        assert command("record", "r", "--csv", "answers.csv")[1].startswith(
            f"{len(calls)} recorded"
        )


def test_start_to_report(command: Command, tmp_path: Path) -> None:
    assert "at most 180 calls" in start(command, names="low,middle,high")
    assert command("status", "r", "--exit-code")[0] == 3
    assert command("status", "r")[0] == 0
    answer(command, tmp_path, "--count", "5")
    code, said = command("status", "r", "--exit-code")
    assert code == 0
    assert said.startswith("r: read as losses: lower is better\nlow is the best of 3 candidates")
    assert json.loads(command("status", "r", "--json")[1])["proved"] is True
    assert command("status", "r", "--out", "p.html")[1].endswith("Written: p.html\n")
    assert "low is the best of 3" in (tmp_path / "p.html").read_text()
    command("status", "r", "--out", "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["answer"] == ["low"]
    command("export", "r", "--out", "ALL.CSV")
    assert (
        (tmp_path / "ALL.CSV")
        .read_text()
        .startswith("ticket,candidate,row,loss,cost,failed\n1,low,")
    )
    assert command("record", "r", "--csv", "ALL.CSV")[1].startswith("0 recorded")


def test_detected_id_column_is_printed(command: Command, script: list[str], tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("Name,Kundennummer\nx,1\ny,2\n")
    line = "ids: column Kundennummer (another one: --id Name)\n"
    assert line in command("start", "list.csv", "--losses", "--candidates", "a,b", "--file", "s")[1]
    assert line in command("run", "list.csv", "--losses", "--file", "r", "--quiet", *script)[1]
    said = command(
        "start",
        "list.csv",
        "--losses",
        "--candidates",
        "a,b",
        "--file",
        "t",
        "--id",
        "Name",
    )[1]
    assert "ids: column Name\n" in said


def test_next_again(command: Command) -> None:
    start(command, names="low,middle,high")
    first = command("next", "r")[1]
    assert first.count("ticket") == 3
    assert first in command("next", "r", "--again")[1]
    with pytest.raises(TombolaError, match="invalid value for '--count'"):
        command("next", "r", "--again", "--count", "-1")
    assert command("record", "r", "1", "--failed")[1].startswith("1 recorded")
    assert "1 failed" in command("status", "r")[1]


BOTH = ("--candidate", "a=true {row}", "--candidate", "b=true {row}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("record", "r"),
        ("record", "r", "1"),
        ("record", "r", "1", "--loss", "0", "--score", "1"),
        ("record", "r", "--csv", "bad.csv"),
        ("record", "r", "--csv", "rows.txt"),
        ("record", "r", "--csv", "good.csv", "--loss", "0.5"),
        ("record", "r", "--csv", "good.csv", "--failed"),
        ("start", "rows.txt", "--losses", "--candidates", "a\nb", "--file", "s"),
        ("start", "rows.txt", "--losses", "--candidates", "a,b", "--file", "r"),
        ("start", "rows.txt", "--losses", "--candidates", "a,b", "--file", "s", "--level", "7"),
        ("start", "rows.txt", "--losses", "--candidates", "a,b", "--file", "s", "--baseline", "c"),
        ("status", "rows.txt"),
        ("run", "rows.txt", "--losses", "--file", "s", "--candidate", "a"),
        ("run", "rows.txt", "--losses", "--file", "s", "--candidate", "a=no-such-program {row}"),
        (
            "run",
            "rows.txt",
            "--losses",
            "--file",
            "s",
            "--candidate",
            "a=true",
            "--candidate",
            "b=true {row}",
        ),
        (
            "run",
            "rows.txt",
            "--losses",
            "--file",
            "s",
            "--candidate",
            "a=true {row} 'x",
            "--candidate",
            "b=true {row}",
        ),
        ("run", "rows.txt", "--losses", "--file", "s", *BOTH, "--loss", "seconds"),
        ("run", "rows.txt", "--losses", "--file", "s", *BOTH, "--loss", "time"),
        ("run", "rows.txt", "--losses", "--file", "r", *BOTH, "--loss", "exit"),
        (
            "run",
            "rows.htm",
            "--losses",
            "--file",
            "s",
            *BOTH,
            "--loss",
            "exit",
            "--out",
            "rows.htm",
        ),
        (
            "run",
            "rows.txt",
            "--losses",
            "--file",
            "s",
            *BOTH,
            "--loss",
            "exit",
            "--out",
            "page.csv",
        ),
        (
            "run",
            "rows.txt",
            "--losses",
            "--file",
            "s",
            *BOTH,
            "--loss",
            "exit",
            "--out",
            "no/page.html",
        ),
        ("status", "r", "--out", "page.xlsx"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: tuple[str, ...],
    command: Command,
    tmp_path: Path,
    one_sentence: Callable[[object], str],
) -> None:
    start(command, names="low,middle,high")
    command("next", "r")
    (tmp_path / "bad.csv").write_text("candidate,row,loss\nlow,nowhere,0.5\n")
    (tmp_path / "rows.htm").write_text("id\nx\ny\n")
    (tmp_path / "good.csv").write_text("ticket,loss\n1,0.5\n")
    before = (tmp_path / "r").read_bytes()
    with pytest.raises(TombolaError) as refused:
        command(*arguments)
    one_sentence(refused.value)
    assert (tmp_path / "r").read_bytes() == before
    assert not (tmp_path / "s").exists()
    assert (tmp_path / "rows.htm").read_text() == "id\nx\ny\n"


SCRIPT = """
import sys, pathlib
name, row = sys.argv[1:]
with open("asked.log", "a") as log:
    log.write(f"{name} {row}\\n")
print("some words first")
print({"low": 0.125, "high": 0.875}[name] if row != "row 3" else 0.5, 0.25)
"""


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    (tmp_path / "ask.py").write_text(SCRIPT)
    return [
        part
        for name in ("low", "high")
        for part in ("--candidate", f"{name}={sys.executable} -S ask.py {name} {{row}}")
    ]


def test_run_continues(
    script: list[str], command: Command, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ("run", "rows.txt", "--losses", "--file", "r", *script, "--workers", "2")
    arguments = (*arguments, "--answers", "fixed")
    code, said = command(*arguments, "--max-calls", "6")
    assert code == 3
    assert "stopped at the limit of 6 calls: nothing is proved" in said
    assert "tombola race run r --max-calls 12" in said
    with pytest.raises(SessionError, match="with different level; give the same again"):
        command(*arguments, "--level", "0.01")
    with pytest.raises(ParameterError, match="got --by; the file has them already"):
        command("run", "r", "--by", "kind")
    assert command("run", *arguments[1:], "--max-calls", "8")[0] == 3
    assert "tombola race run r --max-calls 16" in command("status", "r")[1]
    assert command("run", "r", "--max-calls", "7")[0] == 3
    assert "The limit of calls is 7; it was 6, 8 before." in command("status", "r")[1]
    # Without a limit, that of the file stays.
    assert "stopped at the limit of 7 calls" in command(*arguments)[1]
    code, said = command(*arguments, "--max-calls", "600")
    assert code == 0
    assert "low is the best of 2 candidates" in said
    (tmp_path / "r").unlink()
    (tmp_path / "asked.log").unlink()
    code, said = command(*arguments, "--out", "page.html")
    assert code == 0
    assert "low is the best of 2 candidates" in said
    assert "2 in the race" in said or "of 2 in the race" in said
    asked = (tmp_path / "asked.log").read_text().splitlines()
    assert len(asked) == len(set(asked))
    assert "ask.py" in (tmp_path / "page.html").read_text()
    assert command(*arguments)[0] == 0
    assert (tmp_path / "asked.log").read_text().splitlines() == asked, (
        "a race that is over makes no call"
    )
    assert not (tmp_path / "r-run").exists()


def test_exit_codes_seed_and_cost_of_a_run(script: list[str], command: Command) -> None:
    gate = ("run", "rows.txt", "--losses", *script, "--quiet", "--file")
    code, text = command(*gate, "a", "--baseline", "high", "--better")
    assert code == 0
    assert command(*gate, "a", "--baseline", "high", "--better") == (code, text)
    seed = json.loads(command("status", "a", "--json")[1])["settings"]["seed"]
    assert f"seed {seed}" in text, "a drawn seed is printed and kept"
    assert f"seed {seed}" in command("status", "a")[1]
    assert command(*gate, "b", "--baseline", "low", "--better")[0] == 1
    assert command(*gate, "c", "--baseline", "high", "--better", "--max-calls", "2")[0] == 3
    # Each call costs 0.25.
    code, text = command(
        *gate, "d", "--workers", "4", "--json", "--max-cost", "1.1", "--max-call-cost", "0.25"
    )
    assert (code, json.loads(text)["cost"] <= 1.1) == (3, True)


def test_broken_setup_records_nothing(
    command: Command, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    bad = ("--candidate", "a=false {row}", "--candidate", "b=sh -c 'exit 7' {row}")
    with pytest.raises(SessionError) as refused:
        command("run", "rows.txt", "--losses", "--file", "r", *bad)
    assert "run it by hand" in one_sentence(refused.value)
    with RaceFile.open(tmp_path / "r") as file:
        assert file.race.calls_answered == 0


def test_max_seconds_kills_children(command: Command, tmp_path: Path) -> None:
    code, said = command(
        "run",
        "rows.txt",
        "--losses",
        "--file",
        "r",
        "--candidate",
        "a=sleep 60; echo {row}",
        "--candidate",
        "b=sleep 61; echo {row}",
        "--shell",
        "--max-seconds",
        "1",
        "--quiet",
    )
    assert code == 3
    assert "open" in said
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep 61" in _read(p)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_plan_text_matches_json(command: Command, tmp_path: Path) -> None:
    table = (np.random.default_rng(0).random((120, 3)) < [0.1, 0.5, 0.6]).astype(int)
    (tmp_path / "losses.csv").write_text(csv_text([["a", "b", "c"], *table.tolist()]))
    words = ("plan", "losses.csv", "--losses", "--shuffles", "20", "--level", "0.1,0.05")
    text, data = command(*words)[1], json.loads(command(*words, "--json")[1])
    assert data["total_calls"] == 360
    assert [race["level"] for race in data["races"]] == [0.1, 0.05]
    for race in data["races"]:
        assert race["answers"] == [{"candidates": ["a"], "shuffles": 20}]
        assert race["wrong"] == 0
        assert race["calls_low"] <= race["calls"] <= race["calls_high"] < 360
        assert f"{race['calls']:,.0f}" in text
    assert "answer at level 0.05: a (100 % of shuffles)" in text


@pytest.mark.usefixtures("plainly")
def test_plan_within_is_in_table_units(command: Command, tmp_path: Path, one_sentence: Any) -> None:
    """The means differ by 1.2 of 100: within 0.5 there is only one answer, within 1.5 it is not even asked for long."""
    table = np.repeat([[0.0, 3.0], [100.0, 100.0]], 20, axis=0)
    table[:4, 1] = 0.0
    rows = [[f"r{i}", *row] for i, row in enumerate(table.tolist())]
    (tmp_path / "t.csv").write_text(csv_text([["id", "a", "b"], *rows, ["r40", "", 3]]))
    options = ("--losses", "--rescale", "--missing", "drop", "--shuffles", "4", "--workers", "1")

    def plan(within: str) -> Any:
        return json.loads(command("plan", "t.csv", *options, "--within", within, "--json")[1])

    near, far = (plan(within)["races"][0] for within in ("1.5", "0.5"))
    assert far["answers"] == [{"candidates": ["a"], "shuffles": 4}]
    assert near["calls"] < far["calls"]
    assert plan("50")["races"][0]["calls"] < 60
    with pytest.raises(ParameterError) as refused:
        plan("100")
    assert "less than 100, as the numbers are from 0 to 100" in one_sentence(refused.value)
    dropped = "dropped 1 of 41 rows, which have missing cells"
    said = command("plan", "t.csv", *options)[1]
    assert f"Note: {dropped}" in said
    assert "Note: losses rescaled from [0, 100], the smallest and the largest, to [0, 1]" in said
    assert dropped in plan("0")["notes"]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            [],
            "the order of 3 candidates is low, middle and high on the answers recorded here for "
            "these 60 rows (candidates with equal means are placed as in the file), with "
            "probability 0.95 or more",
        ),
        (
            ["--top", "2"],
            "the first 2 of 3 candidates in order are low and middle on the answers recorded",
        ),
        (
            ["--rank-of", "middle"],
            "middle has rank 2 of 3 candidates on the answers recorded here for these 60 rows",
        ),
        (
            ["--reading", "beyond"],
            "the order of 3 candidates is low, middle and high for rows like these",
        ),
        (
            ["--reading", "beyond", "--level", "1e-30"],
            "undecided: nothing is proved about the order of 3 candidates for rows like these",
        ),
    ],
)
def test_all_forms_of_ranks(
    form: list[str], expected: str, command: Command, tmp_path: Path
) -> None:
    """All ranks, the first ones in order, one named candidate, and rows as a sample.

    Every command opens the file again, so the race is resumed before each row.
    """
    start(command, "--question", "ranks", *form, names="high,middle,low")
    assert "\nopen: " in command("status", "r")[1]
    answer(command, tmp_path)
    said = command("status", "r")[1].splitlines()
    assert said[1].startswith(expected)
    if not form:
        assert [line.split()[:2] for line in said if re.match(r" *\d ", line)] == [
            ["1", "low"],
            ["2", "middle"],
            ["3", "high"],
        ]
        command("status", "r", "--out", "p.html")
        assert "In order: low, middle, high" in (tmp_path / "p.html").read_text()


def test_direction_is_never_guessed(command: Command, script: list[str], tmp_path: Path) -> None:
    """Accuracies on file, or a program that prints 1 if it is right, were once read as losses."""
    start = ("start", "rows.txt", "--candidates", "low,high", "--file")
    for neither in ((*start, "s"), ("run", "rows.txt", "--file", "s", *script)):
        with pytest.raises(
            TombolaError, match="add --losses if lower is better, --scores if higher is better"
        ):
            command(*neither)
    assert not (tmp_path / "s").exists()
    for name, column, expected in (
        ("known.csv", "accuracy", "scores: higher"),
        ("known.csv", "error", "losses: lower"),
    ):
        head = ",".join(f"{one} {column}".strip() for one in ("low", "high"))
        (tmp_path / name).write_text(f"id,{head}\n" + "".join(f"{row},0.9,0.1\n" for row in ROWS))
        file = f"{column}.race"
        assert f"read as {expected} is better" in command(*start, file, "--known", name)[1]
        best = "low" if expected.startswith("scores") else "high"
        assert f"\n{best} is the best of 2" in command("status", file)[1]
    (tmp_path / "plain.csv").write_text("id,low\n" + "".join(f"{row},0.9\n" for row in ROWS))
    with pytest.raises(TombolaError, match="add --losses"):
        command(*start, "s", "--known", "plain.csv")


def test_start_with_known_answers(command: Command, tmp_path: Path) -> None:
    """A known column takes no call; the limit printed by `start` and the calls issued agree."""
    (tmp_path / "known.csv").write_text(
        "id,low\n" + "\n".join(f"{row},0.0" for row in ROWS[:-1]) + f"\n{ROWS[-1]},\n"
    )
    assert "at most 61 calls" in start(command, "--known", "known.csv", "--level", "0.001")
    calls = issued(command, "--count", "200")
    assert len(calls) == 61
    assert [call.id for call in calls if call.action == "low"] == [ROWS[-1]]


def test_a_pattern_names_the_candidates_of_a_table_on_file(
    command: Command, tmp_path: Path
) -> None:
    lines = "".join(f"{row},0,\n" for row in ROWS)
    (tmp_path / "known.csv").write_text("id,prompt A,prompt B\n" + lines)
    start = ("start", "rows.txt", "--losses", "--file", "p", "--known", "known.csv")
    assert "Candidates: prompt A, prompt B." in command(*start, "--candidates", "prompt*")[1]
    with pytest.raises(TombolaError, match="at least two names"):
        command(*start[:4], "q", *start[5:], "--candidates", "gpt*")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("low\n0.5", "one column with the ids"),
        ("id,none\nrow 1,0.5", "each known candidate"),
        ("id,low\nrow 99,0.5", "not in the list"),
        ("id,low\nrow 1,0.5\nrow 1,0.5", "second time"),
        ("id,low\nrow 1,3", "a number from 0 to 1 in line 2, column low"),
        (
            "id,low\nrow 1,timeout",
            "got 'timeout'; for a timeout write the worst number of the range, 1.",
        ),
    ],
)
def test_malformed_known_answers_are_rejected(
    command: Command, tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises(TombolaError, match=problem):
        start(command, "--known", "known.csv")


def test_history_is_stored_with_the_race(command: Command, tmp_path: Path) -> None:
    """`start --history` writes the numbers into the file; a row without history is an error."""
    (tmp_path / "old.csv").write_text(
        "id,x,y\n" + "\n".join(f"{row},{n % 3},0.5" for n, row in enumerate(ROWS))
    )
    arguments = (
        "start",
        "rows.txt",
        "--losses",
        "--candidates",
        "low,high",
        "--file",
        "r",
        "--history",
    )
    assert command(*arguments, "old.csv")[0] == 0
    with RaceFile.open(tmp_path / "r") as file:
        assert file.side.history.shape == (len(ROWS), 2)
        assert file.side.history[4].tolist() == [1.0, 0.5]
    (tmp_path / "old.csv").write_text("id,x\nnone,0.5\n")
    with pytest.raises(TableError, match="every row of the list"):
        command(*arguments, "old.csv")


def test_summary_row_is_left_out_with_a_note(command: Command, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("id,a,b\nx,0,1\ny,0.5,0.25\nz,1,1\naverage,0.5,0.75\n")
    (tmp_path / "ids.txt").write_text("x\ny\nz\n")
    (tmp_path / "whole.csv").write_text("id,a,c\nx,0,1\ny,0.5,0.25\nz,1,1\n")
    note, options = (
        "left out line 5, called 'average': the mean of the rows above",
        ["--scores", "--candidates", "a,c"],
    )
    shown = command("start", "l.csv", *options, "--file", "r", "--seed", "1")[1]
    assert "2 candidates on 3 rows" in shown
    assert f"Note: {note}." in shown
    shown = command("start", "ids.txt", *options, "--file", "s", "--known", "l.csv")[1]
    assert f"Note: l.csv: {note}." in shown
    with RaceFile.open(tmp_path / "s") as file:
        assert np.isnan(file.side.known).sum() == 3
    plan = (
        "plan",
        "whole.csv",
        "--scores",
        "--known",
        "l.csv",
        "--shuffles",
        "4",
        "--workers",
        "1",
    )
    assert f"Note: l.csv: {note}.\n" in command(*plan)[1]
    assert f"l.csv: {note}" in json.loads(command(*plan, "--json")[1])["notes"]


def test_plan_with_known_answers(command: Command, tmp_path: Path) -> None:
    rows = [(f"r{number}", number % 5 / 10, number % 7 / 10 + 0.3) for number in range(60)]
    (tmp_path / "losses.csv").write_text(
        "id,a,b\n" + "\n".join(f"{row},{a},{b}" for row, a, b in rows)
    )
    (tmp_path / "known.csv").write_text("id,a\n" + "\n".join(f"{row},{a}" for row, a, _ in rows))
    arguments = ("plan", "losses.csv", "--losses", "--shuffles", "5", "--workers", "1")
    on_file = ("--known", "known.csv")
    plain, known = (
        json.loads(command(*arguments, "--json", *more)[1])["races"][0] for more in ((), on_file)
    )
    # The known column predicts the other one, too.
    assert 2 * known["calls"] <= plain["calls"]
    assert "60 answers on file cost no call" in command(*arguments, *on_file)[1]


@pytest.fixture
def groups(command: Command, tmp_path: Path) -> Command:
    """A table of losses by category, with costs: a is best for law, b for code."""
    (tmp_path / "losses.csv").write_text(
        "id,category,a,b,cost_a,cost_b\n"
        + "".join(f"q{n},{'law,0,1' if n % 2 else 'code,1,0'},0.1,0.3\n" for n in range(120))
    )
    return command


def test_race_by_group(groups: Command, tmp_path: Path) -> None:
    (tmp_path / "loss.py").write_text(
        "import sys; odd = int(sys.argv[2][1:]) % 2; print(int((sys.argv[1] == 'a') != bool(odd)))"
    )
    commands = [
        word
        for name in "ab"
        for word in ("--candidate", f"{name}={sys.executable} loss.py {name} {{row}}")
    ]
    options = [
        "--losses",
        "--by",
        "category",
        "--file",
        "r",
        "--seed",
        "1",
        "--quiet",
        "--out",
        "p.html",
    ]
    code, printed = groups("run", "losses.csv", "--losses", *commands, *options)
    assert "by category, all with probability 0.95 or more: code: b; law: a" in printed
    # The candidates tie on the whole list, so the question is not answered.
    assert code == 3
    answers = json.loads(groups("status", "r", "--json")[1])["groups"]
    assert {name: one["answer"] for name, one in answers.items()} == {"code": ["b"], "law": ["a"]}
    assert "By category" in (tmp_path / "p.html").read_text()
    assert "law" in groups("status", "r")[1]
    with pytest.raises(TombolaError, match="with different groups"):
        groups("run", "losses.csv", "--losses", *commands, "--file", "r", "--seed", "1", "--quiet")
    with pytest.raises(
        TombolaError,
        match="--by: expected a column of the list, got 'topic'; name one of id, category",
    ):
        groups(
            "start", "losses.csv", "--losses", "--candidates", "a,b", "--by", "topic", "--file", "s"
        )


def test_plan_by_group_and_under_a_cap(groups: Command) -> None:
    options = [
        "plan",
        "losses.csv",
        "--losses",
        "--by",
        "category",
        "--shuffles",
        "5",
        "--level",
        "0.05",
        "--json",
    ]
    [whole] = json.loads(groups(*options)[1])["races"]
    assert {name: one["answers"][0]["candidates"] for name, one in whole["groups"].items()} == {
        "law": ["a"],
        "code": ["b"],
    }
    [capped] = json.loads(groups(*options, "--max-cost", "2")[1])["races"]
    assert capped["cost"] <= 2.0
    assert capped["groups"]["law"]["decided"] < 1
    assert "never above 2." in groups(*options[:-1], "--max-cost", "2")[1]
    with pytest.raises(TombolaError, match="must come with the costs of the calls"):
        groups(*options, "--max-cost", "2", "--ignore", "cost_a,cost_b")
    [fixed] = json.loads(
        groups(*options, "--max-cost", "2", "--ignore", "cost_a,cost_b", "--max-call-cost", "0.1")[
            1
        ]
    )["races"]
    assert fixed["calls"] == 20


def test_race_in_the_unit_of_the_user(command: Command, tmp_path: Path) -> None:
    """Scores from 0 to 10: answers, tolerance and texts are in that unit, and higher is better."""
    names = [
        "--candidates",
        "low,high",
        "--scores",
        "--range",
        "0,10",
        "--within",
        "0.5",
        "--seed",
        "1",
        "--answers",
        "fixed",
    ]
    command("start", "rows.txt", *names, "--file", "r")
    (tmp_path / "a.csv").write_text("ticket,score\n1,7.5\n")
    command("next", "r")
    assert command("record", "r", "2", "--score", "9")[1].startswith("1 recorded")
    assert command("record", "r", "--csv", "a.csv")[1].startswith("1 recorded")
    printed = command("status", "r")[1]
    assert "where high leads by 1.5 in mean score" in printed
    assert "mean score" in printed
    with RaceFile.open(tmp_path / "r") as file:
        assert [event.loss for event in file.replay() if event.kind == "answer"] == pytest.approx(
            [0.1, 0.25]
        )
        rule: Any = file.settings.rule(60)
        assert rule.within == pytest.approx(0.05)
    with pytest.raises(TombolaError, match="within must be a number, at least 0 and below 10"):
        command(
            "start",
            "rows.txt",
            "--losses",
            "--candidates",
            "a,b",
            "--range",
            "0,10",
            "--within",
            "10",
            "--file",
            "s",
        )


def test_known_answers_from_the_list_itself(command: Command, tmp_path: Path) -> None:
    """A half-finished spreadsheet is list, groups and answers on file at once; other columns are ignored."""
    lines = [
        f"q{n},{'law' if n % 2 else 'code'},{n}%,{n % 11},{'' if n > 20 else 5}" for n in range(40)
    ]
    (tmp_path / "half.csv").write_text("id,category,done,a,b\n" + "\n".join(lines))
    options = [
        "--candidates",
        "a,b",
        "--known",
        "half.csv",
        "--scores",
        "--range",
        "0,10",
        "--by",
        "category",
    ]
    printed = command("start", "half.csv", *options, "--file", "r")[1]
    assert "at most 19 calls" in printed
    with RaceFile.open(tmp_path / "r") as file:
        assert file.side.known[3].tolist() == pytest.approx([0.7, 0.5])


@pytest.mark.parametrize("question", [[], ["--question", "ranks"]])
def test_standings_are_over_answers_on_file_and_recorded(
    command: Command, tmp_path: Path, question: list[str]
) -> None:
    """On file b leads with 6 to 5; the answers recorded by hand turn that round, for dropped candidates, too."""
    on_file = [f"q{n},5,{'' if n % 3 == 0 else 6},0" for n in range(60)]
    (tmp_path / "half.csv").write_text("id,a,b,c\n" + "\n".join(on_file))
    options = ["--known", "half.csv", "--scores", "--range", "0,10", "--seed", "1", *question]
    command("start", "half.csv", "--candidates", "a,b,c", *options, "--file", "r")
    calls = json.loads(command("next", "r", "--count", "20", "--json")[1])
    (tmp_path / "a.csv").write_text(
        "ticket,score\n" + "\n".join(f"{call['ticket']},0" for call in calls)
    )
    command("record", "r", "--csv", "a.csv")
    standings = {
        one["name"]: one for one in json.loads(command("status", "r", "--json")[1])["candidates"]
    }
    # 40 cells of b are on file, 20 are recorded as 0: mean score 4.
    assert {name: one["rows"] for name, one in standings.items()} == {"a": 60, "b": 60, "c": 60}
    assert [standings[name]["mean"] for name in "abc"] == pytest.approx([5.0, 4.0, 0.0])
    note = (
        "Means are over all answers, on file and recorded; the verdict counts rows in random order."
    )
    assert note in command("status", "r")[1]
    command("status", "r", "--out", "p.html")
    page = (tmp_path / "p.html").read_text()
    assert note in page
    assert "is over the rows before" not in page


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_table_of_calls_to_fill_in(command: Command, tmp_path: Path, ending: str) -> None:
    """`next --out` writes the list's own columns without the answers on file; `record` takes the table back."""
    lines = [f"{n % 4};q{n};text, {n};{'' if n > 2 else 7};{n % 11}" for n in range(12)]
    (tmp_path / "half.csv").write_text("score;question;prompt;a score;b score\n" + "\n".join(lines))
    options = [
        "--known",
        "half.csv",
        "--id",
        "question",
        "--scores",
        "--range",
        "0,10",
        "--seed",
        "1",
    ]
    command("start", "half.csv", "--candidates", "a,b", *options, "--file", "r")
    out = f"calls.{ending}"
    printed = command("next", "r", "--count", "3", "--out", out)[1].splitlines()
    assert printed[0] == f"{out}: 3 calls. Fill in the column outcome, then record it:"
    assert printed[1] == f"  tombola race record r --csv {out}"
    assert printed[2] == "Note: calls issued together cannot be saved; ask for few at a time."
    table = read_cells(tmp_path / out)
    assert table.names == ("list:score", "question", "prompt", "ticket", "candidate", "outcome")
    with RaceFile.open(tmp_path / "r") as file:
        expected = [
            [*row, str(task.ticket), "a", ""]
            for task, row in zip(file.pending, file.rows_of(file.pending), strict=True)
        ]
    assert [list(row) for _, row in table.rows] == expected
    assert command("record", "r", "--csv", out)[1].startswith("0 recorded"), (
        "blank outcomes are skipped"
    )
    with pytest.raises(TableError, match="exists already"):
        command("next", "r", "--out", out)
    filled = [[*row[:-1], str(score)] for row, score in zip(expected, (3, 10, 0), strict=True)]
    swapped = [filled[0][:3] + filled[1][3:], *filled[1:]]
    (tmp_path / "filled.csv").write_text(csv_text([table.names, *swapped]))
    with pytest.raises(TableError, match="expected the question 'q3' for ticket 3"):
        command("record", "r", "--csv", "filled.csv")
    (tmp_path / "filled.csv").write_text(csv_text([table.names, *filled]))
    assert command("record", "r", "--csv", "filled.csv")[1].startswith("3 recorded")
    command("export", "r", "--out", "all.csv")
    exported = (tmp_path / "all.csv").read_text().splitlines()
    assert exported[0] == "ticket,candidate,row,score,cost,failed"
    assert [float(line.split(",")[3]) for line in exported[1:]] == [3, 10, 0]
    assert command("record", "r", "--csv", "all.csv")[1].startswith("0 recorded"), (
        "the export reads back"
    )
    assert "note:" not in command("next", "r", "--count", "1")[1]


def test_run_of_scores_and_seconds(command: Command) -> None:
    eight = [
        "--candidate",
        "a=echo 8 # {row}",
        "--candidate",
        "b=echo 8 # {row}",
        "--shell",
        "--quiet",
    ]
    with pytest.raises(
        TombolaError, match="; start the race with the true range, --range LOW,HIGH with"
    ):
        command("run", "rows.txt", "--losses", *eight, "--file", "e")
    echo = [
        "--candidate",
        "a=echo 9 # {row}",
        "--candidate",
        "b=echo 3 # {row}",
        "--shell",
        "--quiet",
        "--seed",
        "1",
    ]
    code, printed = command("run", "rows.txt", *echo, "--scores", "--range", "0,10", "--file", "r")
    assert code == 0
    assert printed.startswith("r: read as scores: higher is better\na is the best of 2 candidates")
    quick = [
        "--candidate",
        "a=true {row}",
        "--candidate",
        "b=true {row}",
        "--max-calls",
        "2",
        "--quiet",
        "--seed",
        "1",
    ]
    code, printed = command(
        "run",
        "rows.txt",
        "--losses",
        *quick,
        "--loss",
        "seconds",
        "--cap",
        "20",
        "--within",
        "2",
        "--file",
        "s",
    )
    assert code == 3
    assert "in mean seconds" in printed
    command("export", "s", "--out", "s.csv")
    assert Path("s.csv").read_text().startswith("ticket,candidate,row,seconds,cost,failed\n")
    assert command("record", "s", "--csv", "s.csv")[1].startswith("0 recorded"), (
        "run times read back"
    )


def test_run_stops_at_a_number_outside_the_range(run_main: Main, tmp_path: Path) -> None:
    """As failures, scores of 6 to 8 of the good prompt would prove the worse prompt best."""
    (tmp_path / "rows.txt").write_text("\n".join(ROWS))
    (tmp_path / "good.sh").write_text('case "$1" in *3*) echo 8;; *) echo 4;; esac\n')
    prompts = ["--candidate", "good=sh good.sh {row}", "--candidate", "worse=sh -c 'echo 2' {row}"]
    arguments = [
        "race",
        "run",
        "rows.txt",
        *prompts,
        "--file",
        "r",
        "--scores",
        "--range",
        "0,5",
        "--seed",
        "1",
    ]
    code, out, err = run_main(*arguments, "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith(
        "tombola: race run: expected a score from 0 to 5, got 8 for good on row row "
    )
    assert "--scores --range LOW,HIGH" in err
    with RaceFile.open(tmp_path / "r") as file:
        assert file.race.failures == 0
        assert 0 < file.race.calls_answered
        answered = file.race.calls_answered
    code, _, again = run_main(*arguments, "--quiet")
    assert (code, again) == (2, err), "the same call is made again"
    with RaceFile.open(tmp_path / "r") as file:
        assert (file.race.failures, file.race.calls_answered) == (0, answered)


def test_candidate_whose_calls_all_fail(run_main: Main, tmp_path: Path) -> None:
    """A script that is missing does not look like a refuted gate."""
    (tmp_path / "rows.txt").write_text("\n".join(ROWS))
    old = [
        "--candidate",
        "old=sh -c 'echo 0.5' {row}",
        "--baseline",
        "old",
        "--better",
        "--seed",
        "1",
        "--quiet",
    ]
    new = ["--candidate", f"new={sys.executable} -S missing.py {{row}}"]
    code, out, err = run_main("race", "run", "rows.txt", "--losses", *old, *new, "--file", "r")
    assert code == 2
    assert "new is not better than old" in out
    note, error = err.splitlines()
    with RaceFile.open(tmp_path / "r") as file:
        failures = file.race.failures
    assert note.startswith(
        f"Note: {failures} of {failures} calls of new failed; the last one: ended with status 2"
    )
    assert "No such file" in note
    assert error.startswith(
        "tombola: race run: expected an answer from each candidate, but all calls of new failed"
    )
    # An undecided race stays undecided.
    code, _, err = run_main(
        "race", "run", "rows.txt", "--losses", *old, *new, "--file", "u", "--max-calls", "4"
    )
    assert (code, err.startswith("Note: 2 of 2 calls of new failed")) == (3, True)
    # One answer, and the failures are the candidate's own.
    (tmp_path / "half.sh").write_text('case "$1" in *3*) exit 1;; *) echo 0.9;; esac\n')
    code, _, err = run_main(
        "race",
        "run",
        "rows.txt",
        "--losses",
        *old,
        "--candidate",
        "new=sh half.sh {row}",
        "--file",
        "h",
    )
    assert code == 1
    assert err.startswith("Note: ")
    assert err.endswith("the last one: ended with status 1\n")


@pytest.mark.parametrize(
    ("loss", "bad", "notes"),
    [
        (["--loss", "exit"], "sh -c 'exit 3' {row}", 0),
        (["--loss", "exit"], "sh -c 'kill -9 $$' {row}", 1),
        (["--loss", "exit", "--timeout", "0.05"], "sleep 9 #{row}", 1),
        (["--loss", "seconds", "--cap", "0.05"], "sleep 9 #{row}", 0),
        (["--loss", "seconds", "--cap", "0.05"], "sh -c 'exit 3' {row}", 1),
    ],
)
def test_failures_that_are_answers(
    loss: list[str], bad: str, notes: int, run_main: Main, tmp_path: Path
) -> None:
    """In races on exit statuses and run times, a candidate that always fails is the worst one."""
    (tmp_path / "rows.txt").write_text("\n".join(ROWS))
    good = [
        "--candidate",
        "old=true {row}",
        "--candidate",
        f"new={bad}",
        "--baseline",
        "old",
        "--better",
        "--shell",
    ]
    code, _, err = run_main(
        "race", "run", "rows.txt", "--losses", *good, *loss, "--quiet", "--seed", "1", "--file", "r"
    )
    assert (code, err.count("Note: ")) == (1, notes)
    assert "With --loss exit and --loss seconds" in " ".join(
        run_main("race", "run", "--help-all")[1].replace("│", "").split()
    )


def test_interrupted_run_names_the_command_that_continues(
    command: Command, run_main: Main, script: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def evaluate(_self: Any, call: Call, *_: Any) -> Any:
        if call.ticket > 2:
            raise KeyboardInterrupt
        return 0.5

    with monkeypatch.context() as patch:
        patch.setattr(SubprocessEvaluator, "evaluate", evaluate)
        status, _, err = run_main(
            "race", "run", "rows.txt", "--losses", "--file", "r", *script, "--seed", "1", "--quiet"
        )
    assert (status, err) == (
        130,
        "r has 2 answers. To continue:\n  tombola race run r\ntombola: stopped.\n",
    )
    assert command("run", "r", "--quiet")[0] == 0


def test_known_answers_note_typos_and_direction(
    command: Command, script: list[str], tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text(
        "id,Area,low_score,b_score\n" + "".join(f"{row},x,1,0\n" for row in ROWS)
    )
    options = ("rows.txt", "--losses", "--known", "old.csv")
    for output in (
        command("start", *options, "--candidates", "low,high", "--file", "one")[1],
        command("run", *options, *script, "--file", "two", "--quiet")[1],
    ):
        assert "Note: no answers on file for high; check the spelling" in output
        assert "Note: columns of old.csv that are not used: Area, b_score." in output
        assert "Note: the names say higher is better (low_score), but" in output
    lines = [f"{row},{'xy'[number % 2]},1,0\n" for number, row in enumerate(ROWS)]
    (tmp_path / "all.csv").write_text("q,area,low,high\n" + "".join(lines))
    listed = (
        "all.csv",
        "--known",
        "all.csv",
        "--id",
        "Q",
        "--by",
        "area",
        "--candidates",
        "low,high",
        "--file",
        "three",
    )
    assert "Note" not in command("start", *listed, "--scores")[1]


@pytest.mark.parametrize(
    ("kind", "wrong", "right"), [("scores", "loss", "score"), ("losses", "score", "loss")]
)
def test_record_rejects_the_other_direction(
    command: Command, kind: str, wrong: str, right: str
) -> None:
    start(command, f"--{kind}", "--range", "0,10")
    command("next", "r")
    fix = f"expected a {right}, because this race has {kind}, got --{wrong} 2; write --{right} 2 if"
    with pytest.raises(FeedbackError, match=fix):
        command("record", "r", "1", f"--{wrong}", "2")
    assert f"1 recorded ({right} 2);" in command("record", "r", "1", f"--{right}", "2")[1]


@pytest.fixture
def scored(command: Command, tmp_path: Path) -> Command:
    """A race on scores from 0 to 10: ticket 1 has score 8, ticket 2 score 8 at cost 0.5, ticket 3 no answer."""
    start(command, "--scores", "--range", "0,10")
    command("next", "r", "--count", "3")
    assert "1 recorded (score 8);" in command("record", "r", "1", "--score", "8")[1]
    assert "0 recorded, 1 recorded before; " in command("record", "r", "1", "--score", "8")[1]
    command("record", "r", "2", "--score", "8", "--cost", "0.5")
    for cell in ("70", "yes", "timeout"):
        (tmp_path / f"{cell}.csv").write_text(f"ticket,outcome\n3,{cell}\n")
    return command


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("1 --score 3", "ticket 1 has been answered with score 8, got score 3 now; the first"),
        ("2 --score 8", "answered with score 8, cost 0.5, got score 8, cost 0 now; the first"),
        ("1 --failed", "answered with score 8, got a failure now; the first"),
        ("9 --score 8", "got 9; list the next calls with tombola race next r"),
        ("3 --score 8/10", "expected a number from 0 to 10, got '8/10'; write 8"),
        ("3 --score 12/10", "got '12/10'; write a number from 0 to 10"),
        ("3 --score good", "got 'good'; write a number from 0 to 10"),
        ("3 --score 11", "got '11'; repair it"),
        (
            "--csv 70.csv",
            "got '70'; the race has the range 0,10: repair the cell, or start the race with "
            "another",
        ),
        (
            "--csv yes.csv",
            "yes.csv, line 2: expected a number from 0 to 10 in column outcome, got 'yes'; write",
        ),
        (
            "--csv timeout.csv",
            "got 'timeout'; for a timeout write the worst number of the range, 0",
        ),
    ],
)
def test_rejected_answers_are_in_the_unit_of_the_race(
    scored: Command, answer: str, message: str
) -> None:
    with pytest.raises(TombolaError, match=re.escape(message)):
        scored("record", "r", *answer.split())
    assert "1 recorded;" in scored("record", "r", "3", "--failed")[1]


def test_open_calls_are_named_with_time_and_commands(
    command: Command, script: list[str], tmp_path: Path
) -> None:
    """Calls that `next` issued only to look block a race by hand; `record`, `status` and `run` name them."""
    start(command)
    calls = json.loads(command("next", "r", "--json")[1])
    second = f"{calls[1]['action']} on {calls[1]['id']}"
    time = r"since \d{4}-\d\d-\d\d \d\d:\d\d"
    said = command("record", "r", "1", "--loss", "0.5")[1]
    assert re.search(rf"\n1 call waits for an answer: ticket 2 \({second}, {time}\)\.\n", said)
    for fix in ("record r 2 --loss VALUE", "record r 2 --failed", "next r --again"):
        assert f"\n  tombola race {fix}\n" in said
        assert f"\n  tombola race {fix}\n" in command("status", "r")[1]
    command("record", "r", "2", "--failed")
    assert "wait" not in command("status", "r")[1]
    command(
        "run",
        "rows.txt",
        "--losses",
        "--file",
        "s",
        *script,
        "--max-calls",
        "2",
        "--seed",
        "1",
        "--quiet",
    )
    with RaceFile.open(tmp_path / "s") as file:
        file.set_limits(max_calls=120)
    command("next", "s")
    said = command("run", "s")[1]
    assert re.search(
        rf"2 calls wait for an answer: ticket 3 \(.*{time}\), ticket 4 .* This run makes them "
        r"first\.",
        said,
    )


def test_existing_page_is_replaced_and_existing_table_is_kept(
    command: Command, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    start(command)
    command("next", "r")
    command("record", "r", "1", "--loss", "0.5")
    for out in ("p.html", "p.json"):
        (tmp_path / out).write_text("mine\n")
        command("status", "r", "--out", out)
        assert (tmp_path / out).read_text() != "mine\n"
    (tmp_path / "all.csv").write_text("mine\n")
    with pytest.raises(TombolaError) as refused:
        command("export", "r", "--out", "all.csv")
    assert "got all.csv, which exists; name another file, or add --force" in one_sentence(
        refused.value
    )
    assert (tmp_path / "all.csv").read_text() == "mine\n"
    command("export", "r", "--out", "all.csv", "--force")
    assert (tmp_path / "all.csv").read_text() != "mine\n"


def test_limit_of_a_race_by_hand_is_changed_by_run(command: Command) -> None:
    start(command)
    said = command("run", "r", "--max-calls", "9")[1]
    assert said.startswith("r: --max-calls 9; ")
    assert "tombola race next r" in said


@pytest.mark.parametrize("command", ["next", "run"])
def test_reissue_after_needs_a_server(command: str) -> None:
    """A file does not know when `race run` issued its calls, so that they would be made twice."""
    done = CliRunner().invoke(app, [command, "m.race", "--reissue-after", "600"])
    assert isinstance(done.exception, ParameterError)
    assert "--again" in str(done.exception)


def test_run_computes_the_race_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has the only race of a run: the rule sees every counted row once."""
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("".join(f"row {number}\n" for number in range(14)))
    rows: list[object] = []
    update = Elimination.update

    def counted(rule: Elimination, losses: Any) -> None:
        rows.append(losses)
        update(rule, losses)

    monkeypatch.setattr(Elimination, "update", counted)
    candidates = [
        part
        for name in "01"
        for part in ("--candidate", f"c{name}={sys.executable} -S -c print({name}) {{row}}")
    ]
    options = ["--losses", "--file", "x.race", "--seed", "1", "--json", *candidates]
    done = CliRunner().invoke(app, ["run", "rows.txt", *options])
    assert done.exit_code == 0, done.output
    assert len(rows) == json.loads(done.stdout)["rows_counted"]


def test_start_prints_the_pilot_before_it_is_spent(command: Command, tmp_path: Path) -> None:
    """Tickets of a pilot name row and run; answers by names need the run."""
    said = start(command, "--answers", "auto")
    assert "at most 121 calls" in said
    assert "Pilot: 1 cell is called twice (2 calls), to see whether answers change" in said
    listed = [line for line in command("next", "r")[1].splitlines() if line.startswith("ticket")]
    assert len(listed) == 2
    assert listed[1] == f"{listed[0].replace('ticket 1', 'ticket 2')}, run 2"
    command("next", "r", "--again", "--out", "calls.csv")
    table = read_cells(tmp_path / "calls.csv")
    assert table.names == ("id", "ticket", "candidate", "run", "outcome")
    (row, _, name, _, _), _ = (line for _, line in table.rows)
    (tmp_path / "a.csv").write_text(f"candidate,row,loss\n{name},{row},0.5\n")
    with pytest.raises(FeedbackError, match=r"expected the run of .* which was called 2 times"):
        command("record", "r", "--csv", "a.csv")
    (tmp_path / "b.csv").write_text(
        f"candidate,row,run,loss\n{name},{row},1,0.5\n{name},{row},2,1\n"
    )
    assert command("record", "r", "--csv", "b.csv")[1].startswith("2 recorded")
    shown = command("status", "r")[1]
    assert "answers change from call to call. Rows are drawn with replacement" in shown
    assert "in expectation over repeated answers, on these 60 rows" in shown
    assert json.loads(command("status", "r", "--json")[1])["pilot"].startswith("Pilot (2 calls)")
    command("next", "r", "--count", "4")
    command("export", "r", "--out", "all.csv")
    assert (tmp_path / "all.csv").read_text().startswith("ticket,candidate,row,run,loss,cost")
    assert command("record", "r", "--csv", "all.csv")[1].startswith("0 recorded")


def test_start_of_a_short_race_says_that_nothing_is_checked(command: Command) -> None:
    (Path("few.txt")).write_text("\n".join(ROWS[:20]))
    options = ("--losses", "--candidates", "a,b", "--file", "s")
    said = command("start", "few.txt", *options)[1]
    assert "No pilot: 2 % of the calls are fewer than 2." in said
    assert "(not checked whether answers change)" in command("status", "s")[1]


def test_status_reads_a_played_race_as_expected(command: Command, tmp_path: Path) -> None:
    start(command)
    answer(command, tmp_path)
    shown = command("status", "r", "--reading", "expected")[1]
    assert "on the answers recorded here for these 60 rows" in shown
    assert "Read once, by constant bets: " in shown
    assert "in expectation over repeated answers, on these 60 rows" in shown
    facts = json.loads(command("status", "r", "--reading", "expected", "--json")[1])
    assert facts["expected"]["reading"] == "expected"
