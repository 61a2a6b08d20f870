"""Seconds, timeouts and PAR10 of a race on run times."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tombola.cli.race import app
from tombola.racing import Event, Race
from tombola.racing.run_times import run_times


def test_par10_counts_timeouts_and_failures_ten_times() -> None:
    race = Race(["a", "b"], rows=3, seed=1)
    # Tickets 1, 3, 5 belong to the first candidate, 2, 4, 6 to the second.
    events = [
        Event("call", 1),
        Event("answer", 1, 0.25, 15.0),
        Event("answer", 3, 1.0, 60.0),
        Event("answer", 5, None, 2.0, failed=True),
    ]
    first, second = run_times(race, events, 60.0)
    assert (first.calls, first.seconds, first.timeouts, first.failures) == (3, 77.0, 1, 1)
    assert first.par10 == pytest.approx((15 + 600 + 600) / 3)
    assert (second.calls, second.seconds, second.timeouts) == (0, 0.0, 0)
    assert math.isnan(second.par10)


def test_race_status_prints_run_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("0.01\n0.02\n")
    command = ["run", "rows.txt", "--candidate", "fast=true {row}", "--candidate", "slow=sh -c 'sleep 3' {row}"]
    options = ["--loss", "seconds", "--cap", "0.5", "--file", "t.race", "--seed", "1", "--quiet", "--json"]
    CliRunner().invoke(app, [*command, *options])
    said = CliRunner().invoke(app, ["status", "t.race", "--json"])
    times = {one["name"]: one for one in json.loads(said.output)["run_times"]}
    assert times["slow"]["timeouts"] == times["slow"]["calls"] >= 1
    assert times["slow"]["par10"] == 5.0
    assert times["fast"]["timeouts"] == 0
    assert "PAR10" in CliRunner().invoke(app, ["status", "t.race"]).output
