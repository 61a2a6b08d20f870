"""A race in a file: two processes at once, damage, the commands, and evaluator as candidates."""

import json
import math
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from browser import needs_browser
from tombola.cli.race import app
from tombola.errors import FeedbackError, ParameterError, SessionError, TableError, TombolaError
from tombola.persistence.event_log import EventLog
from tombola.persistence.race_file import RaceFile
from tombola.racing import Call, Event, Race, Settings, SubprocessEvaluator, race
from tombola.racing.report import RaceReport

NAMES = ("low", "middle", "high")
ROWS = [f"row {number}" for number in range(60)]
LOSSES = (np.random.default_rng(1).random((60, 3)) < [0.1, 0.5, 0.9]) * 1.0


def loss_of(call: Call) -> float:
    return float(LOSSES[int(call.row.split()[1]), NAMES.index(call.candidate)])


def begin(path: Path, **settings: Any) -> RaceFile:
    return RaceFile.start(path, Settings(NAMES, seed=3, **settings), ROWS)


def finish(*files: RaceFile) -> None:
    """Let several processes, each with the file open for itself, make the calls in turn."""
    turn = 0
    while not files[0].race.done:
        file = files[turn % len(files)]
        for call in file.calls(2):
            files[(turn + 1) % len(files)].record(call.ticket, loss=loss_of(call), cost=0.25)
        turn += 1


def test_two_processes_and_one_reach_the_same_verdict_as_a_race_in_memory(tmp_path: Path) -> None:
    with begin(tmp_path / "one.race") as one:
        finish(one)
        alone = one.race
    with begin(tmp_path / "two.race") as first, RaceFile.open(tmp_path / "two.race") as second:
        finish(first, second)
        assert first.race.verdict == second.race.verdict == alone.verdict
        assert first.race.dropped == second.race.dropped == alone.dropped
    memory = Race(NAMES, ROWS, seed=3)
    while not memory.done:
        for call in memory.calls(2):
            memory.record(call, loss=loss_of(call), cost=0.25)
    assert memory.dropped == alone.dropped
    assert memory.answer == ("low",)


def test_no_call_is_handed_out_twice_and_answers_may_come_twice(tmp_path: Path) -> None:
    with begin(tmp_path / "my.race") as one, RaceFile.open(tmp_path / "my.race") as two:
        calls = [*one.calls(4), *two.calls(4), *one.calls(4)]
        assert len({call.ticket for call in calls}) == 12
        assert one.record(calls[5].ticket, loss=0.5)
        assert not two.record(calls[5].ticket, loss=0.5)
        with pytest.raises(FeedbackError, match="first answer stands"):
            two.record(calls[5].ticket, loss=0.25)
        with pytest.raises(FeedbackError):
            two.record_all([Event("answer", calls[6].ticket, 0.5), Event("answer", 99, 0.5)])
        assert len(two.race.pending) == 11
    with RaceFile.open(tmp_path / "my.race") as again:
        assert [call.ticket for call in again.race.pending] == [call.ticket for call in calls if call != calls[5]]


def test_a_race_of_one_call_goes_on_from_its_file(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []
    stop = [20]

    def evaluate(name: str, row: str) -> float:
        if len(asked) in stop:
            raise KeyboardInterrupt
        asked.append((name, row))
        return float(LOSSES[int(row.split()[1]), NAMES.index(name)])

    with pytest.raises(KeyboardInterrupt):
        race(NAMES, ROWS, evaluate, seed=3, workers=1, log=tmp_path / "my.race", progress=False)
    with RaceFile.open(tmp_path / "my.race") as file:
        assert file.race.calls_answered == 20
    first, asked, stop = asked, [], []
    found = race(NAMES, ROWS, evaluate, seed=3, workers=1, log=str(tmp_path / "my.race"), progress=False)
    assert not set(first) & set(asked)
    assert found.dropped == race(NAMES, ROWS, evaluate, seed=3, workers=1, progress=False).dropped
    with pytest.raises(SessionError, match="different seed"):
        race(NAMES, ROWS, evaluate, seed=4, log=tmp_path / "my.race")
    with pytest.raises(SessionError, match="different rows"):
        race(NAMES, ROWS[1:], evaluate, seed=3, log=tmp_path / "my.race")


def test_every_changed_cell_of_a_race_is_noticed(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    from test_live_damage import cells, other

    with begin(tmp_path / "whole.race") as file:
        finish(file)
    tried = 0
    for index, (table, column, row, value) in enumerate(cells(tmp_path / "whole.race")):
        if table == "pool" and row % 10:
            continue
        new = other(value)[index % len(other(value))]
        shutil.copy(tmp_path / "whole.race", tmp_path / "x.race")
        connection = sqlite3.connect(tmp_path / "x.race")
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
            connection.commit()
        except sqlite3.IntegrityError:
            continue
        finally:
            connection.close()
        with pytest.raises(TombolaError) as refused, RaceFile.open(tmp_path / "x.race") as damaged:
            assert damaged.race is not None
        one_sentence(refused.value)
        tried += 1
    assert tried > 100


def test_the_report_tells_every_fall(tmp_path: Path) -> None:
    with begin(tmp_path / "my.race") as file:
        finish(file)
        report = RaceReport.from_file(file)
    found = report.race
    for one in found.dropped:
        wealth = report.wealth[:, NAMES.index(one.candidate)]
        assert np.isfinite(wealth[: one.row]).all()
        assert np.isnan(wealth[one.row :]).all()
        assert wealth[one.row - 1] == one.wealth or math.isinf(one.wealth)
    assert report.survivors[0] == 3
    assert report.survivors[-1] == len(found.active)
    assert report.calls[-1] <= found.calls_made
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["verdict"] == found.verdict
    assert data["cost_saved_estimate"] == pytest.approx(0.25 * found.calls_saved)
    assert data["candidates"][0]["name"] == "low"


LETTERS = """[...document.querySelectorAll("figure svg text")]
  .filter((one) => one.getClientRects().length)
  .map((one) => one.getBoundingClientRect())
  .map((box) => [box.height, box.left, box.right - innerWidth])"""


@needs_browser
@pytest.mark.parametrize("count", [3, 240])
def test_the_page_of_a_race_fits_a_phone_and_can_be_read_there(browser: Any, tmp_path: Path, count: int) -> None:
    names = [f"vendor/some-long-name-{number:03d}-instruct" for number in range(count)]
    place = tmp_path / "race.html"
    found = race(names, range(60), lambda name, row: float(name > names[1] or (name, row % 3) == (names[1], 0)), seed=1,
                 workers=1)  # fmt: skip
    place.write_text(RaceReport.from_race(found).to_html(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(place.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    letters = page.evaluate(LETTERS)
    assert len(letters) > 10
    for size, left, beyond in letters:
        assert size > 9
        assert left >= 0
        assert beyond <= 0


@pytest.mark.parametrize("count", [2, 3, 40])
def test_the_page_of_a_race_escapes_names_and_needs_no_network(count: int) -> None:
    names = [f"<script>alert({number})</script>" for number in range(count)]
    found = race(
        names, [f"r{i}" for i in range(30)], lambda name, row: min(1.0, names.index(name) / 9 + 0.05),
        seed=1, progress=False, workers=1,
    )  # fmt: skip
    page = RaceReport.from_race(found, name="<b>.race").to_html()
    assert "<script>alert" not in page
    assert "<b>.race" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") == (2 if found.rows_counted else 0)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("\n".join(ROWS))

    def invoke(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return invoke


def test_the_commands_from_start_to_report(command: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    assert "at most 180 calls" in command("start", "rows.txt", "--candidates", "low,middle,high", "--file", "r")[1]
    assert command("status", "r", "--exit-code")[0] == 3
    assert command("status", "r")[0] == 0
    while True:
        calls = [Call(**call) for call in json.loads(command("next", "r", "--count", "5", "--json")[1])]
        if not calls:
            break
        head = [["candidate", "row", "score", "cost"]] if calls[0].ticket % 2 else [["ticket", "loss"]]
        lines = [
            [call.candidate, call.row, str(1 - loss_of(call)), "0.5"]
            if calls[0].ticket % 2
            else [str(call.ticket), str(loss_of(call))]
            for call in calls
        ]
        (tmp_path / "answers.csv").write_text("\n".join(",".join(line) for line in head + lines))
        assert command("record", "r", "--csv", "answers.csv")[1].startswith(f"{len(calls)} recorded")
    code, said = command("status", "r", "--exit-code")
    assert code == 0
    assert said.startswith("low is the best of 3 candidates")
    assert json.loads(command("status", "r", "--json")[1])["proved"] is True
    assert command("report", "r", "--out", "p.html")[1] == "written: p.html\n"
    assert "low is the best of 3" in (tmp_path / "p.html").read_text()
    command("report", "r", "--out", "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["answer"] == ["low"]
    command("report", "r", "--out", "ALL.CSV")
    assert (tmp_path / "ALL.CSV").read_text().startswith("ticket,")
    command("report", "r", "--out", "all.csv")
    assert (tmp_path / "all.csv").read_text().startswith("ticket,candidate,row,loss,cost,failed\n1,low,")
    assert command("record", "r", "--csv", "all.csv")[1].startswith("0 recorded")


def test_pending_calls_are_listed_again(command: Callable[..., tuple[int, str]]) -> None:
    command("start", "rows.txt", "--candidates", "low,middle,high", "--file", "r")
    first = command("next", "r")[1]
    assert first.count("ticket") == 3
    assert "3 calls wait" in command("next", "r")[1] or "ticket" in command("next", "r")[1]
    assert first in command("next", "r", "--again")[1]
    assert command("next", "r", "--again", "--count", "-1")[0] == 2
    assert command("record", "r", "1", "--failed")[1].startswith("1 recorded")
    assert "1 failed" in command("status", "r")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("record", "r"),
        ("record", "r", "1"),
        ("record", "r", "1", "--loss", "2"),
        ("record", "r", "99", "--loss", "0"),
        ("record", "r", "1", "--loss", "0", "--score", "1"),
        ("record", "r", "--csv", "bad.csv"),
        ("record", "r", "--csv", "rows.txt"),
        ("record", "r", "--csv", "good.csv", "--loss", "0.5"),
        ("record", "r", "--csv", "good.csv", "--score", "0"),
        ("record", "r", "--csv", "good.csv", "--cost", "2"),
        ("record", "r", "--csv", "good.csv", "--failed"),
        ("start", "rows.txt", "--candidates", "a,a", "--file", "s"),
        ("start", "rows.txt", "--candidates", "a\nb", "--file", "s"),
        ("start", "rows.txt", "--candidates", "a,b", "--file", "r"),
        ("start", "rows.txt", "--candidates", "a,b", "--file", "s", "--level", "7"),
        ("start", "rows.txt", "--candidates", "a,b", "--file", "s", "--baseline", "c"),
        ("status", "rows.txt"),
        ("status", "none"),
        ("run", "rows.txt", "--file", "s", "--candidate", "a"),
        ("run", "rows.txt", "--file", "s", "--candidate", "a=true {row}"),
        ("start", "rows.txt", "--candidates", "a", "--file", "s"),
        ("run", "rows.txt", "--file", "s", "--candidate", "a=no-such-program {row}"),
        ("run", "rows.txt", "--file", "s", "--candidate", "a=true", "--candidate", "b=true {row}"),
        ("run", "rows.txt", "--file", "s", "--candidate", "a=true {row} 'x", "--candidate", "b=true {row}"),
        (
            "run",
            "rows.txt",
            "--file",
            "s",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "seconds",
        ),
        (
            "run",
            "rows.txt",
            "--file",
            "s",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "time",
        ),
        (
            "run",
            "rows.txt",
            "--file",
            "r",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "exit",
        ),
        (
            "run",
            "rows.htm",
            "--file",
            "s",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "exit",
            "--out",
            "rows.htm",
        ),
        (
            "run",
            "rows.txt",
            "--file",
            "s",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "exit",
            "--out",
            "page.csv",
        ),
        (
            "run",
            "rows.txt",
            "--file",
            "s",
            "--candidate",
            "a=true {row}",
            "--candidate",
            "b=true {row}",
            "--loss",
            "exit",
            "--out",
            "no/page.html",
        ),
        ("report", "r", "--out", "page.xlsx"),
    ],
)
def test_bad_commands_are_one_sentence(
    arguments: tuple[str, ...],
    command: Callable[..., tuple[int, str]],
    tmp_path: Path,
    one_sentence: Callable[[object], str],
) -> None:
    command("start", "rows.txt", "--candidates", "low,middle,high", "--file", "r")
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


def test_programs_race_and_go_on(
    script: list[str], command: Callable[..., tuple[int, str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ("run", "rows.txt", "--file", "r", *script, "--workers", "2")
    code, said = command(*arguments, "--max-calls", "6")
    assert code == 3
    assert "undecided" in said
    with pytest.raises(SessionError, match="different max_calls"):
        command(*arguments)
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
    assert (tmp_path / "asked.log").read_text().splitlines() == asked, "a race that is over asks nobody"
    assert not (tmp_path / "r-run").exists()


def test_a_gate_ends_with_one_if_the_opposite_is_proved(
    script: list[str], command: Callable[..., tuple[int, str]]
) -> None:
    gate = ("run", "rows.txt", *script, "--quiet")
    assert command(*gate, "--file", "a", "--baseline", "high")[0] == 0
    assert command(*gate, "--file", "b", "--baseline", "low")[0] == 1
    assert command(*gate, "--file", "c", "--baseline", "high", "--max-calls", "2")[0] == 3


def test_a_set_up_that_fails_leaves_nothing_behind(
    command: Callable[..., tuple[int, str]], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    bad = ("--candidate", "a=false {row}", "--candidate", "b=sh -c 'exit 7' {row}")
    with pytest.raises(SessionError) as refused:
        command("run", "rows.txt", "--file", "r", *bad)
    assert "run it by hand" in one_sentence(refused.value)
    with RaceFile.open(tmp_path / "r") as file:
        assert file.race.calls_answered == 0


def ask(evaluator: SubprocessEvaluator, row: str = "x") -> tuple[float, float]:
    import asyncio

    return asyncio.run(evaluator.ask(Call(1, "a", row, 0)))


def test_a_cap_far_above_all_times_is_told() -> None:
    """Losses up to .004 of the cap decide after the last row only, and a race that is decided early says nothing."""
    evaluator = SubprocessEvaluator({"a": "true {row}", "b": "true {row}"}, "seconds", cap=60.0)
    raced = {high: Race("ab", 40, seed=1) for high in (0.004, 0.9)}
    for high, one in raced.items():
        while not one.done:
            for call in one.calls():
                one.record(call, loss=high if call.candidate == "b" else 0.1 * high)
    assert "no call took more than 0.24 of the 60 seconds of --cap" in evaluator.hint(raced[0.004])
    assert "--cap 0.5" in evaluator.hint(raced[0.004])
    assert evaluator.hint(raced[0.9]) == SubprocessEvaluator({"a": "true {row}"}).hint(raced[0.004]) == ""


def test_losses_of_programs(tmp_path: Path) -> None:
    python = f"{sys.executable} -S -c"
    assert ask(SubprocessEvaluator({"a": "sh -c 'exit 0' {row}"}, "exit")) == (0.0, 0.0)
    assert ask(SubprocessEvaluator({"a": "sh -c 'exit 3' {row}"}, "exit")) == (1.0, 0.0)
    assert ask(SubprocessEvaluator({"a": "printf '0.25 7\\n' {row}"})) == (0.25, 7.0)
    assert ask(SubprocessEvaluator({"a": "sleep 30 {row}"}, "seconds", cap=0.2), "0") == (1.0, 0.2)
    loss, cost = ask(SubprocessEvaluator({"a": "true {row}"}, "seconds", cap=100.0))
    assert 0 < cost == pytest.approx(100 * loss)
    row = "'; echo 1; #\" $HOME"
    length = python + ' "import sys; print(len(sys.argv[1]) / 100)" {row}'
    assert ask(SubprocessEvaluator({"a": length}), row)[0] == len(row) / 100

    assert (
        ask(SubprocessEvaluator({"a": 'test {row} = "\'; echo 1; #\\" \\$HOME" && echo 0.5'}, shell=True), row)[0]
        == 0.5
    )


@pytest.mark.parametrize("command", ["false {row}", "echo {row}", "echo 2 #{row}", "sleep 9 {row}", "kill -9 $$ {row}"])
def test_a_program_that_does_not_answer_is_tried_again(command: str) -> None:
    import asyncio

    said: list[str] = []
    evaluator = SubprocessEvaluator({"a": command}, timeout=0.3, retries=2, shell=True)
    with pytest.raises(TombolaError):
        asyncio.run(evaluator.ask(Call(1, "a", "x", 0), said.append))
    assert [text.rpartition("; ")[2] for text in said] == ["trying again"] * 2 + ["counted as failed"]


def test_time_is_capped_and_children_are_stopped(command: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, said = command(
        "run", "rows.txt", "--file", "r", "--candidate", "a=sleep 60; echo {row}",
        "--candidate", "b=sleep 61; echo {row}",
        "--shell", "--max-seconds", "1", "--quiet",
    )  # fmt: skip
    assert code == 3
    assert "open" in said
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep 61" in _read(p)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_two_runs_of_one_race_do_not_share_it(tmp_path: Path) -> None:
    from tombola.racing.driver import run_race_file

    evaluator = SubprocessEvaluator({name: f"echo 0.5 {{row}} {name}" for name in NAMES})
    with begin(tmp_path / "r") as file, (tmp_path / "r-run").open("w") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SessionError, match="another process"):
            run_race_file(file, evaluator, 1, None, None)
        assert file.race.calls_made == 0


def test_a_sign_that_a_race_is_being_run_may_be_taken_away_by_hand(tmp_path: Path) -> None:
    from tombola.racing.driver import _run_lock

    with _run_lock(tmp_path / "r"):
        (tmp_path / "r-run").unlink()
    assert not list(tmp_path.iterdir())


def test_a_race_that_is_closed_takes_nothing_in(tmp_path: Path) -> None:
    with begin(tmp_path / "r") as file:
        call, *_ = file.calls()
    with pytest.raises(SessionError, match="closed"):
        file.record(call.ticket, loss=0.5)


def test_bad_answers_are_one_sentence(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    from tombola.persistence.race_csv import read_answers

    with begin(tmp_path / "r") as file:
        file.calls()
        tickets = ("ticket,loss\nnan,1\n", "ticket,loss\ninf,1\n", "ticket,loss\n0.9,1\n")
        twice = ("ticket,loss,score\n1,0.2,0.2\n", "ticket,loss,failed\n1,0.2,1\n", "ticket,loss,failed\n1,,perhaps\n")
        other = ("ticket,candidate,loss\n1,high,0.2\n", "ticket,row,loss\n1,nowhere,0.2\n")
        others = ("a,b\n1,2\n", "ticket,loss\n1,x\n", "ticket,loss,cost\n1,1,y\n", "candidate,loss\nlow,1\n")
        for text in (*others, *other, *tickets, *twice):
            (tmp_path / "a.csv").write_text(text)
            with pytest.raises(TableError) as refused:
                read_answers(tmp_path / "a.csv", file)
            said = one_sentence(refused.value)
            assert said.startswith(f"{tmp_path / 'a.csv'}: ")
            assert "in line 2" in said or text in (others[0], others[3]), "where it is, unless it is the header"
        (tmp_path / "a.csv").write_text("ticket,loss,failed\n1,,\n2,,yes\n")
        assert read_answers(tmp_path / "a.csv", file) == [Event("answer", 2, None, 0.0, True)]
        (tmp_path / "a.csv").write_text("ticket,score,failed\n1.0,0.25,0.0\n2.0,,1.0\n")  # as pandas writes them
        found = [Event("answer", 1, 0.75, 0.0, False), Event("answer", 2, None, 0.0, True)]
        assert read_answers(tmp_path / "a.csv", file) == found
    with pytest.raises(ParameterError, match="surrogate"):
        RaceFile.start(tmp_path / "s", Settings(("\ud800", "b"), seed=1), ["x"])


@pytest.mark.parametrize(
    "command",
    [
        "show {row}",
        'show "{row}"',
        "show '{row}'",
        '''show "$(: "it's"; printf %s {row})"''',
        "show `printf %s {row}` | cat",
        "show \\\"'{row}'\\\"",
        "echo \"(\"; (show '{row}')",
    ],
)
def test_the_shell_reads_a_row_as_one_word_and_never_runs_it(command: str, tmp_path: Path) -> None:
    """Also where it stands in quotes: there `$(...)` of a row was run, and the row came with quotes around it."""
    import subprocess

    row = "x y" if "`" in command else 'a  "b" $(touch hacked) `touch hacked` it\'s * \\ {row}'
    words = SubprocessEvaluator({}, shell=True).words(f'show() {{ printf "<%s>" "$@"; }}; {command}', row)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = "<x><y>" if "`" in command else f'<"{row}">' if "\\" in command else f"<{row}>"
    assert done.stdout.removeprefix("(\n") == wanted
    assert not (tmp_path / "hacked").exists()


def test_a_line_with_more_than_a_loss_and_a_cost_is_no_answer() -> None:
    import asyncio

    call = Call(1, "a", "x", 0)
    for said, found in (("0.25", (0.25, 0.0)), ("0.25 3", (0.25, 3.0))):
        assert asyncio.run(SubprocessEvaluator({"a": f"echo {said}; : {{row}}"}, shell=True).ask(call)) == found
    with pytest.raises(TombolaError, match="expected a loss"):
        asyncio.run(SubprocessEvaluator({"a": "echo 0.25 3 1; : {row}"}, shell=True).ask(call))


@pytest.mark.usefixtures("plainly")
def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    """As a column of pandas has them: tickets were written as bytes, and the file could not be read again."""
    asked: Any = {"level": np.float32(0.25), "within": np.float32(0.5), "seed": np.int64(1), "max_calls": np.int64(9)}
    told: list[Any] = [{"loss": np.float32(0.5), "cost": np.float32(2)}, {"loss": np.int64(1), "failed": np.bool_(0)}]
    with RaceFile.start(tmp_path / "n", Settings(("a", "b"), **asked), ["x", "y", "z"]) as file:
        file.calls()
        assert [file.record(ticket, **answer) for ticket, answer in zip(np.array([1, 2]), told, strict=True)]
    with RaceFile.open(tmp_path / "n") as file:
        assert (file.race.rows_counted, file.race.cost, file.race.mean_losses) == (1, 2.0, {"a": 0.5, "b": 1.0})


def test_what_is_other_in_a_race_is_named(tmp_path: Path) -> None:
    """Where only the cap was another, the commands were said to be."""
    settings, means = Settings(("a", "b"), seed=1), {"commands": {"a": "x {row}"}, "loss": "seconds", "cap": 2.0}
    RaceFile.start(tmp_path / "r", settings, ["x"], means).close()
    RaceFile.at(tmp_path / "r", settings, ["x"], means).close()
    with pytest.raises(SessionError, match="with different cap; give"):
        RaceFile.at(tmp_path / "r", settings, ["x"], {**means, "cap": 3.0})
    with pytest.raises(SessionError, match="with different rows and commands and loss and cap; give"):
        RaceFile.at(tmp_path / "r", settings, ["y"])


FINE = {"loss": 0.5, "cost": 0.0, "failed": False}


@pytest.mark.parametrize(
    "event",
    [
        ("answer", 2, 0.5),
        ("answer", 2, None),
        ("answer", 2, {"loss": 0.5}),
        ("answer", 2, {**FINE, "surprise": 1}),
        ("answer", 2, {**FINE, "failed": 1}),
        ("answer", 2, {**FINE, "loss": "0.5"}),
        ("answer", 2, {**FINE, "loss": 2.0}),
        ("answer", 2, {**FINE, "cost": -1.0}),
        ("answer", 10**9, FINE),
        ("answer", 0, FINE),
        ("answer", 2, FINE, 1),
        ("call", 2, 7),
        ("call", 2, None, 1),
        ("ticket", 2, [0, 1.0]),
    ],
    ids=str,
)
def test_an_event_that_cannot_happen_in_a_race_is_refused_though_its_digest_fits(
    event: Any, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """They were tracebacks; an answer that was there twice was told twice in the report."""
    about = {"kind": "race", "race": Settings(NAMES, seed=3).to_json()}
    kept = EventLog.create(tmp_path / "my.race", "forger", about, ROWS)
    with kept.writing():
        kept.append("call", 1, None)
        kept.append("answer", 1, FINE)
        kept.append(*event)
    kept.close()
    with RaceFile.open(tmp_path / "my.race") as file, pytest.raises(TombolaError) as caught:
        file.calls()
    one_sentence(caught.value)


@pytest.mark.parametrize("race", [None, 3, [], {}, {"candidates": 3}, {"candidates": ["a", "b"], "seed": "x"}], ids=str)
def test_a_start_that_makes_no_race_is_refused_though_its_digest_fits(
    race: Any, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    EventLog.create(tmp_path / "my.race", "forger", {"kind": "race", "race": race}, ROWS).close()
    with pytest.raises(SessionError) as caught:
        RaceFile.open(tmp_path / "my.race")
    one_sentence(caught.value)
