"""Commands as candidates: losses, retries, time limits, quoting."""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from race_cases import answer_all
from tombola.errors import TombolaError
from tombola.racing import Call, Race, SubprocessEvaluator
from tombola.racing.subprocess_evaluator import CallCounts, OutOfRangeError
from tombola.units import UNIT_LOSSES, Units


def ask(evaluator: SubprocessEvaluator, row: str = "x", **options: Any) -> Any:
    return asyncio.run(evaluator.evaluate(Call(1, "a", row, 0), **options))


def test_hint_for_large_cap() -> None:
    """Losses up to .004 of the cap decide after the last row only, and a race that is decided early says nothing."""
    evaluator = SubprocessEvaluator({"a": "true {row}", "b": "true {row}"}, "seconds", cap=60.0)
    raced = {high: Race("ab", 40, seed=1) for high in (0.004, 0.9)}
    for high, one in raced.items():
        answer_all(one, {"a": 0.1 * high, "b": high})
    assert "no call took more than 0.24 of the 60 seconds of --cap" in evaluator.hint(raced[0.004])
    assert "--cap 0.5" in evaluator.hint(raced[0.004])
    assert (
        evaluator.hint(raced[0.9])
        == SubprocessEvaluator({"a": "true {row}"}).hint(raced[0.004])
        == ""
    )


ROW = "'; echo 1; #\" $HOME"
LENGTH = f'{sys.executable} -S -c "import sys; print(len(sys.argv[1]) / 100)" {{row}}'


@pytest.mark.parametrize(
    ("command", "options", "answer"),
    [
        ("sh -c 'exit 0' {row}", {"loss": "exit"}, 0.0),
        ("sh -c 'exit 3' {row}", {"loss": "exit"}, 1.0),
        ("printf '0.25\\n' {row}", {}, 0.25),
        ("printf '0.25 7\\n' {row}", {}, (0.25, 7.0)),
        ("sh -c 'sleep 30' {row}", {"loss": "seconds", "cap": 0.2}, (1.0, 0.2)),
        (LENGTH, {}, len(ROW) / 100),
        ('test {row} = "\'; echo 1; #\\" \\$HOME" && echo 0.5', {"shell": True}, 0.5),
    ],
)
def test_losses_of_commands(command: str, options: Any, answer: Any) -> None:
    assert ask(SubprocessEvaluator({"a": command}, **options), ROW) == answer


def test_seconds_are_cost_and_loss() -> None:
    loss, cost = ask(SubprocessEvaluator({"a": "true {row}"}, "seconds", cap=100.0))
    assert 0 < cost == pytest.approx(100 * loss)


@pytest.mark.parametrize(
    "command",
    [
        "false {row}",
        "echo {row}",
        "echo inf #{row}",
        "sleep 9 {row}",
        "kill -9 $$ {row}",
        "echo 0.25 3 1; : {row}",
    ],
)
def test_failed_command_is_retried(command: str) -> None:
    said: list[str] = []
    with pytest.raises(TombolaError):
        ask(
            SubprocessEvaluator({"a": command}, timeout=0.3, retries=2, shell=True), log=said.append
        )
    assert [text.rpartition("; ")[2] for text in said] == ["trying again"] * 2 + [
        "counted as failed"
    ]


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
def test_shell_never_executes_row(command: str, tmp_path: Path) -> None:
    """Also where it stands in quotes: there `$(...)` of a row was run, and the row came with quotes around it."""
    import subprocess

    row = "x y" if "`" in command else 'a  "b" $(touch hacked) `touch hacked` it\'s * \\ {row}'
    words = SubprocessEvaluator({}, shell=True)._command_line(
        f'show() {{ printf "<%s>" "$@"; }}; {command}', row
    )
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = "<x><y>" if "`" in command else f'<"{row}">' if "\\" in command else f"<{row}>"
    assert done.stdout.removeprefix("(\n") == wanted
    assert not (tmp_path / "hacked").exists()


def test_timeout_below_the_cap_is_rejected() -> None:
    """Else every slow run would be a failure, and PAR10 would count no timeout."""
    with pytest.raises(
        TombolaError, match="--timeout: expected at least the 60 seconds of --cap, got 10"
    ):
        SubprocessEvaluator({"a": "true {row}"}, "seconds", 60.0, 10.0).check()
    SubprocessEvaluator({"a": "true {row}"}, "seconds", 60.0, 60.0).check()


@pytest.mark.parametrize(
    ("printed", "units", "expected"),
    [
        ("8", Units(0, 5, scores=True), "a score from 0 to 5, got 8"),
        ("-1 0.02", Units(0, 5, scores=True), "a score from 0 to 5, got -1"),
        ("5.0 0.02", UNIT_LOSSES, "a loss from 0 to 1, got 5.0"),
    ],
)
def test_number_outside_the_range_is_not_a_failure(
    printed: str, units: Units, expected: str, one_sentence: Callable[[object], str]
) -> None:
    """A repetition would not help, and as a failure the best score would count as the worst."""
    said: list[str] = []
    counts = CallCounts()
    evaluator = SubprocessEvaluator(
        {"a": f"echo {printed} # {{row}}"}, retries=2, shell=True, units=units
    )
    with pytest.raises(OutOfRangeError) as raised:
        ask(evaluator, log=said.append, counts=counts)
    assert f"race run: expected {expected} for a on row x; " in one_sentence(raised.value)
    assert (said, counts.notes()) == ([], [])


def test_call_counts(tmp_path: Path) -> None:
    """A call that was repeated with success has not failed."""
    counts = CallCounts()
    once = f"test -e {tmp_path}/seen && echo 0.5 || {{ touch {tmp_path}/seen; exit 1; }}; : {{row}}"
    commands = {"a": once, "b": "test {row} = x && echo 1", "c": "echo no {row} >&2; exit 7"}
    for name, row in (("a", "x"), ("b", "y"), ("b", "x"), ("c", "x"), ("c", "y")):
        evaluator = SubprocessEvaluator(commands, retries=int(name == "a"), shell=True)
        with contextlib.suppress(TombolaError):
            asyncio.run(evaluator.evaluate(Call(1, name, row, 0), None, counts))
    assert counts.always_failed == ["c"]
    assert counts.notes() == [
        "Note: 1 of 2 calls of b failed; the last one: ended with status 1",
        "Note: 2 of 2 calls of c failed; the last one: ended with status 7 and printed 'no y'",
    ]
