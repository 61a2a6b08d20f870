"""`tombola session status` in plain words."""

from pathlib import Path

import numpy as np
import pytest

from tombola import UCB1
from tombola.service.pages import _plain_words, _session_view
from tombola.worklists import Outcome, SessionFile
from tombola.worklists.session_text import status_lines


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
        "  tombola session next r --count 40 --out next.csv",
    ]


def test_status_with_pending_tickets(file: SessionFile) -> None:
    first, second, third = file.next(3)
    file.record(second.ticket, loss=0.25)
    file.cancel(third.ticket)
    assert (
        line(file, "Done")
        == "Done: 1 of 400 rows have an outcome (0 %), 1 is pending, 1 was cancelled, 397 are left."
    )
    assert f"the oldest is ticket 1 ({first.action} on {first.id})" in line(file, "Pending")
    assert "  tombola session next r --again --out pending.csv" in status_lines(file.status(), "r")


def test_open_tickets_that_widen_intervals_are_named(file: SessionFile) -> None:
    """Every action has an open ticket before its second outcome: one is pending, the other one was cancelled."""
    tasks = file.next(40)
    first = {
        name: [task.ticket for task in tasks if task.action == name] for name in ("call", "write")
    }
    file.cancel(first["write"][0])
    assert not any(text.startswith("Wide") for text in status_lines(file.status(), "r"))
    file.record_all([Outcome(round_, 0.5) for round_ in (first["call"][1], *first["write"][1:3])])
    wide = line(file, "Wide interval")
    assert f"ticket {first['call'][0]} of call is pending, so 1 later outcome counts less" in wide
    assert (
        f"ticket {first['write'][0]} of write was cancelled, so 2 later outcomes count less" in wide
    )
    assert wide.endswith(
        "record the pending outcomes; if an action failed, record the worst outcome, do not cancel."
    )
    file.record(first["call"][0], loss=1.0)
    assert "call" not in line(file, "Wide interval")


def test_known_outcomes_bound_the_mean_with_certainty(tmp_path: Path) -> None:
    """All outcomes but that of ticket 1 are known: the mean over 400 rows is certain up to 1/400."""
    with SessionFile.start(
        tmp_path / "s", [str(i) for i in range(400)], ["call"], UCB1(), seed=1
    ) as file:
        file.interpreted = True
        file.record_all([Outcome(task.ticket, 0.25) for task in file.next(400)[1:]])
        [action] = file.status().actions
        assert (action.used, action.known, action.open_ticket) == (0, 399, 1)
        assert (action.low, action.high) == pytest.approx(
            (399 * 0.25 / 400, (399 * 0.25 + 1) / 400)
        )


def test_status_is_sure_only_when_it_is_proved(file: SessionFile) -> None:
    """The better action has score 8, the other 2: unsure after 6 rows, sure after all of them."""
    losses = {"call": 0.8, "write": 0.2}
    for task in file.next(6):
        file.record(task.ticket, loss=losses[task.action])
    assert "nothing is proved yet about the best of 2 actions" in line(file, "Open")
    assert "write leads by" in line(file, "Open")
    while file.issued < 400:
        file.record_all([Outcome(task.ticket, losses[task.action]) for task in file.next(8)])
    assert line(file, "write is the best") == (
        "write is the best of 2 actions (another may be equal) on the answers recorded here for "
        "these 400 rows, with probability 0.95 or more, where write leads by 6 in mean score; 400 "
        "rows."
    )
    assert line(file, "Ahead").startswith("Ahead: write, mean score 8 in ")
    assert "; next: call, mean score 2 in " in line(file, "Ahead")
    assert status_lines(file.status(), "r")[-1] == "  tombola session status r --out report.html"


def test_equal_actions_are_level_and_none_is_ahead(tmp_path: Path) -> None:
    """ "Ahead: a, mean 0.5; next: b, mean 0.5" contradicted the statement, "a and b are level"."""
    start = tmp_path / "s"
    with SessionFile.start(start, list("123456"), ["a", "b"], UCB1(), seed=1) as file:
        file.interpreted = True
        for task in file.next(6):
            file.record(task.ticket, loss=0.5)
        assert {action.name for action in file.status().leaders} == {"a", "b"}
        assert line(file, "Level").startswith("Level: a, mean loss 0.5 in ")
        assert "where a and b are level" in file.status().statement.full
        assert [strip["best"] for strip in _session_view(file.status())["strips"]] == [True, True]


def test_action_ahead_has_the_best_mean_on_every_surface(tmp_path: Path) -> None:
    """The action with the best bound had the worse mean in 4 of these 40 looks and was called ahead."""
    rng = np.random.default_rng(1)
    rows = [str(row) for row in range(640)]
    start = tmp_path / "s"
    differs = 0
    with SessionFile.start(start, rows, ["letter", "call"], UCB1(), kind="scores", seed=1) as file:
        file.interpreted = True
        for _ in range(40):
            for task in file.next(2):
                success = rng.random() < {"letter": 0.26, "call": 0.34}[task.action]
                file.record(task.ticket, loss=1.0 - success)
            now = file.status()
            means = {action.name: action.mean for action in now.actions if action.known}
            level = [name for name, mean in means.items() if mean == max(means.values())]
            ahead = "; ".join(level)
            if len(level) == 1:
                ahead = line(file, "Ahead").removeprefix("Ahead: ").split(",")[0]
                assert means[ahead] == max(means.values())
                differs += means[now.best] < means[ahead]
            assert _plain_words(now) == now.statement.full
            if now.statement.standing is not None:
                assert "; ".join(now.statement.standing.leaders) == ahead
            strips = [strip["name"] for strip in _session_view(now)["strips"] if strip["best"]]
            assert "; ".join(strips) == ahead
    assert differs  # else the test shows nothing
