"""`race run --url`: several machines run programs for one race."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import HANGS, SOURCE
from service_cases import Server
from tombola import AsyncClient, Client, RaceFile
from tombola.cli.app import app
from tombola.errors import ParameterError, SessionError
from tombola.racing import RaceSettings, SubprocessEvaluator
from tombola.racing.subprocess_evaluator import OutOfRangeError
from tombola.service import remote_race
from tombola.service.remote_race import run_remote_race
from tombola.service.tokens import TokenStore

# Prints a loss, and the machine (HOME) that made the call to its own log.
PROGRAM = """import os, sys
name, row = sys.argv[1:]
with open(os.path.join(os.environ["HOME"], "calls.log"), "a") as log:
    log.write(f"{name} {row}\\n")
print((int(row) * 7919 % 100) / 200 + {"low": 0.0, "middle": 0.2, "high": 0.45}[name])
"""
NAMES = ("low", "middle", "high")


def start(tmp_path: Path, rows: int = 400, **settings: Any) -> Path:
    path = tmp_path / "models.race"
    RaceFile.start(
        path,
        RaceSettings(NAMES, seed=3, **{"answers": "fixed", **settings}),
        [str(row) for row in range(rows)],
    ).close()
    return path


def machine(tmp_path: Path, name: str, url: str, token: str, *more: str) -> "subprocess.Popen[str]":
    """Start `race run --url` with a home of its own."""
    (tmp_path / "call.py").write_text(PROGRAM, encoding="utf-8")
    home = tmp_path / name
    home.mkdir()
    command = [
        sys.executable,
        "-m",
        "tombola",
        "race",
        "run",
        "models",
        "--url",
        url,
        "--workers",
        "2",
        *more,
    ]
    for candidate in NAMES:
        command += [
            "--candidate",
            f"{candidate}={sys.executable} -I -S {tmp_path / 'call.py'} {candidate} {{row}}",
        ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "HOME": str(home),
        "TOMBOLA_TOKEN": token,
        "COLUMNS": "300",
    }
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def test_two_machines_run_one_race(tmp_path: Path) -> None:
    path = start(tmp_path)
    store = TokenStore(tmp_path / "models.race.tokens")
    tokens = [store.add("one", "admin"), store.add("two", "worker")]
    with Server(path) as server:
        processes = [
            machine(tmp_path, f"home{n}", server.url, token) for n, token in enumerate(tokens)
        ]
        ended = [(*process.communicate(timeout=HANGS), process.returncode) for process in processes]
    # The counts after the semicolon depend on the moment: the other machine may still have a call
    # under way.
    verdicts = {out.strip().partition(";")[0] for out, _, _ in ended}
    assert [code for _, _, code in ended] == [0, 0], ended
    logs = [
        (tmp_path / f"home{n}" / "calls.log").read_text(encoding="utf-8").splitlines()
        for n in range(2)
    ]
    with RaceFile.open(path) as file:
        assert file.race.answer == ("low",)
        assert verdicts == {file.race.verdict.partition(";")[0]}
        leased = file.leased_tickets()
        assert {leased.names[number] for number in leased.workers} == {"one", "two"}
        # No call was made twice, on either machine.
        made = logs[0] + logs[1]
        assert len(made) == len(set(made))
        assert len(made) >= file.race.calls_answered
        assert min(map(len, logs)) > 5
        assert len(leased.tickets) == file.race.calls_made


def run_here(
    url: str, commands: dict[str, str], reissue_after: float | None = None
) -> dict[str, object]:
    async def main() -> dict[str, object]:
        async with AsyncClient(url) as client:
            return await run_remote_race(
                client, SubprocessEvaluator(commands), 2, reissue_after=reissue_after
            )

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("settings", "broken", "error", "numbers", "best"),
    [
        ({}, "false {row}", "all failed", (0.1, 0.6, 0.9), "low"),
        (
            {"kind": "scores", "range": (0.0, 10.0)},
            "sh -c 'echo 11' {row}",
            "score from 0 to 10, got 11",
            (1, 5, 9),
            "high",
        ),
    ],
    ids=["all calls fail", "number outside of the range"],
)
def test_broken_machine_records_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    broken: str,
    error: str,
    numbers: Any,
    best: str,
) -> None:
    """Its calls stay pending, and another machine takes them over; numbers are in the unit of the race."""
    monkeypatch.setattr(remote_race, "_POLL_SECONDS", 0.1)
    with Server(start(tmp_path, rows=200, level=0.4, **settings)) as server:
        with pytest.raises((SessionError, OutOfRangeError), match=error):
            run_here(server.url, dict.fromkeys(NAMES, broken))
        with Client(server.url) as client:
            assert client.status()["failures"] == 0
            assert client.pending
        commands = {
            name: f"sh -c 'echo {number}' {{row}}"
            for name, number in zip(NAMES, numbers, strict=True)
        }
        assert run_here(server.url, commands, reissue_after=0.0)["answer"] == [best]


def test_other_candidates_and_options_are_rejected(tmp_path: Path) -> None:
    with Server(start(tmp_path)) as server:
        with pytest.raises(ParameterError, match="a command for each of low, middle, high"):
            run_here(server.url, {"low": "true {row}"})
        both = ["--candidate", "a=true {row}", "--candidate", "b=true {row}"]
        command = ["race", "run", "models", "--url", server.url, *both]
        ran = CliRunner().invoke(app, [*command, "--level", "0.1"])
        assert isinstance(ran.exception, ParameterError)
        assert "options of the race" in str(ran.exception)
    rows = tmp_path / "rows.txt"
    rows.write_text("r1\nr2\n")
    ran = CliRunner().invoke(app, ["race", "run", str(rows), "--losses", *both])
    assert "--file my.race" in str(ran.exception)
