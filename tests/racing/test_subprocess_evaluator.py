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
from tombola.readers.units import UNIT_LOSSES, Units


def ask(evaluator: SubprocessEvaluator, row: str = "x") -> Any:
    return asyncio.run(evaluator.evaluate(Call(1, "a", row, 0)))


def test_hint_for_large_cap() -> None:
    """Losses up to .004 of the cap decide after the last row only, and a race that is decided early says nothing."""
    evaluator = SubprocessEvaluator({"a": "true {row}", "b": "true {row}"}, "seconds", cap=60.0)
    raced = {high: Race("ab", 40, seed=1) for high in (0.004, 0.9)}
    for high, one in raced.items():
        answer_all(one, {"a": 0.1 * high, "b": high})
    assert "no call took more than 0.24 of the 60 seconds of --cap" in evaluator.hint(raced[0.004])
    assert "--cap 0.5" in evaluator.hint(raced[0.004])
    assert evaluator.hint(raced[0.9]) == SubprocessEvaluator({"a": "true {row}"}).hint(raced[0.004]) == ""


def test_losses_of_commands(tmp_path: Path) -> None:
    python = f"{sys.executable} -S -c"
    assert ask(SubprocessEvaluator({"a": "sh -c 'exit 0' {row}"}, "exit")) == 0.0
    assert ask(SubprocessEvaluator({"a": "sh -c 'exit 3' {row}"}, "exit")) == 1.0
    assert ask(SubprocessEvaluator({"a": "printf '0.25 7\\n' {row}"})) == (0.25, 7.0)
    assert ask(SubprocessEvaluator({"a": "sleep 30 {row}"}, "seconds", cap=0.2), "0") == (1.0, 0.2)
    loss, cost = ask(SubprocessEvaluator({"a": "true {row}"}, "seconds", cap=100.0))
    assert 0 < cost == pytest.approx(100 * loss)
    row = "'; echo 1; #\" $HOME"
    length = python + ' "import sys; print(len(sys.argv[1]) / 100)" {row}'
    assert ask(SubprocessEvaluator({"a": length}), row) == len(row) / 100

    assert (
        ask(SubprocessEvaluator({"a": 'test {row} = "\'; echo 1; #\\" \\$HOME" && echo 0.5'}, shell=True), row) == 0.5
    )


@pytest.mark.parametrize(
    "command", ["false {row}", "echo {row}", "echo inf #{row}", "sleep 9 {row}", "kill -9 $$ {row}"]
)
def test_failed_command_is_retried(command: str) -> None:

    said: list[str] = []
    evaluator = SubprocessEvaluator({"a": command}, timeout=0.3, retries=2, shell=True)
    with pytest.raises(TombolaError):
        asyncio.run(evaluator.evaluate(Call(1, "a", "x", 0), said.append))
    assert [text.rpartition("; ")[2] for text in said] == ["trying again"] * 2 + ["counted as failed"]


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
    words = SubprocessEvaluator({}, shell=True)._command_line(f'show() {{ printf "<%s>" "$@"; }}; {command}', row)
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = "<x><y>" if "`" in command else f'<"{row}">' if "\\" in command else f"<{row}>"
    assert done.stdout.removeprefix("(\n") == wanted
    assert not (tmp_path / "hacked").exists()


def test_output_line() -> None:

    call = Call(1, "a", "x", 0)
    for said, found in (("0.25", 0.25), ("0.25 3", (0.25, 3.0))):
        assert asyncio.run(SubprocessEvaluator({"a": f"echo {said}; : {{row}}"}, shell=True).evaluate(call)) == found
    with pytest.raises(TombolaError, match="expected a loss"):
        asyncio.run(SubprocessEvaluator({"a": "echo 0.25 3 1; : {row}"}, shell=True).evaluate(call))


def test_timeout_below_the_cap_is_rejected() -> None:
    """Else every slow run would be a failure, and PAR10 would count no timeout."""
    with pytest.raises(TombolaError, match="--timeout: expected at least the 60 seconds of --cap, got 10"):
        SubprocessEvaluator({"a": "true {row}"}, "seconds", 60.0, 10.0).check()
    SubprocessEvaluator({"a": "true {row}"}, "seconds", 60.0, 60.0).check()


@pytest.mark.parametrize(
    ("printed", "units", "expected", "fix"),
    [
        ("8", Units(0, 5, scores=True), "a score from 0 to 5, got 8", "--scores --range LOW,HIGH with the smallest"),
        ("-1 0.02", Units(0, 5, scores=True), "a score from 0 to 5, got -1", "the largest possible score."),
        ("5.0 0.02", UNIT_LOSSES, "a loss from 0 to 1, got 5.0", "--range LOW,HIGH with the smallest"),
        ("7", Units(0, 5), "a loss from 0 to 5, got 7", "and with --scores if higher is better."),
    ],
)
def test_number_outside_the_range_is_not_a_failure(
    printed: str, units: Units, expected: str, fix: str, one_sentence: Callable[[object], str]
) -> None:
    """A repetition would not help, and as a failure the best score would count as the worst."""
    said: list[str] = []
    counts = CallCounts()
    evaluator = SubprocessEvaluator({"a": f"echo {printed} # {{row}}"}, retries=2, shell=True, units=units)
    with pytest.raises(OutOfRangeError) as raised:
        asyncio.run(evaluator.evaluate(Call(1, "a", "x", 0), said.append, counts))
    message = one_sentence(raised.value)
    assert f"race run: expected {expected} for a on row x; " in message
    assert fix in message
    assert (said, counts.notes()) == ([], [])


def test_call_counts() -> None:
    counts = CallCounts()
    evaluator = SubprocessEvaluator(
        {"a": "echo 0.5 # {row}", "b": "test {row} = x && echo 1", "c": "echo no {row} >&2; exit 7"}, shell=True
    )
    for name, row in (("a", "x"), ("b", "y"), ("b", "x"), ("c", "x"), ("c", "y")):
        with contextlib.suppress(TombolaError):
            asyncio.run(evaluator.evaluate(Call(1, name, row, 0), None, counts))
    assert counts.always_failed == ["c"]
    assert counts.notes() == [
        "note: 1 of 2 calls of b failed; the last one: ended with status 1",
        "note: 2 of 2 calls of c failed; the last one: ended with status 7 and printed 'no y'",
    ]


def test_retried_call_has_not_failed(tmp_path: Path) -> None:
    counts = CallCounts()
    once = f"test -e {tmp_path}/seen && echo 0.5 || {{ touch {tmp_path}/seen; exit 1; }}; : {{row}}"
    evaluator = SubprocessEvaluator({"a": once}, retries=1, shell=True)
    assert asyncio.run(evaluator.evaluate(Call(1, "a", "x", 0), None, counts)) == 0.5
    assert (counts.notes(), counts.always_failed) == ([], [])
