"""`tombola session status` in plain words."""

from pathlib import Path

import pytest

from tombola import UCB1
from tombola.cli.session_text import status_lines
from tombola.persistence import Outcome, SessionFile


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    ids = [f"p{i}" for i in range(400)]
    started = SessionFile.start(
        tmp_path / "r", ids, ["call", "write"], UCB1(), seed=1, kind="scores", range=(0.0, 10.0)
    )
    started.interpreted = True
    return started


def line(file: SessionFile, start: str) -> str:
    return next(one for one in status_lines(file.status(), "r") if one.startswith(start))


def test_status_before_the_first_outcome(file: SessionFile) -> None:
    assert status_lines(file.status(), "r") == [
        "Done: 0 of 400 rows have an outcome (0 %), 400 are left.",
        "Ahead: no action yet; record outcomes first.",
        "Next: take more rows:",
        "  tombola session next r --count 300 --out next.csv",
    ]


def test_status_with_pending_tickets(file: SessionFile) -> None:
    first, second, third = file.next(3)
    file.record(second.round, loss=0.25)
    file.cancel(third.round)
    assert (
        line(file, "Done") == "Done: 1 of 400 rows have an outcome (0 %), 1 is pending, 1 was cancelled, 397 are left."
    )
    assert f"the oldest is ticket 1 ({first.action} on {first.id})" in line(file, "Pending")
    assert "  tombola session next r --again --out pending.csv" in status_lines(file.status(), "r")


def test_status_is_sure_only_when_it_is_proved(file: SessionFile) -> None:
    """The better action has score 8, the other 2: unsure after 6 rows, sure after all of them."""
    losses = {"call": 0.8, "write": 0.2}
    for task in file.next(6):
        file.record(task.round, loss=losses[task.action])
    assert line(file, "Not sure yet").startswith("Not sure yet: at 95 % confidence another action may be better than")
    while file.round < 400:
        file.record_all([Outcome(task.round, losses[task.action]) for task in file.next(8)])
    assert line(file, "Sure") == "Sure: at 95 % confidence write is the best action on this list."
    assert line(file, "Ahead").startswith("Ahead: write, mean score 8 in ")
    assert "; next: call, mean score 2 in " in line(file, "Ahead")
    assert status_lines(file.status(), "r")[-1] == "  tombola session report r --out report.html"
