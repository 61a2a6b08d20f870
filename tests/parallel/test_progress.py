"""Progress in a notebook: one line, updated in place, removed at the end."""

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tombola import Race, race
from tombola.parallel import progress
from tombola.parallel.parallel_map import parallel_map
from tombola.parallel.progress import in_notebook
from tombola.racing import driver


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the texts that a notebook would show, with the call that shows them."""
    lines: list[tuple[str, str]] = []

    class Handle:
        def display(self, data: Any, raw: bool) -> None:
            lines.append(("display", data["text/plain"]))

        def update(self, data: Any, raw: bool) -> None:
            lines.append(("update", data["text/plain"]))

    shell = SimpleNamespace(kernel=object())
    module = SimpleNamespace(
        get_ipython=lambda: shell, display=SimpleNamespace(DisplayHandle=Handle)
    )
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    return lines


def test_terminal_ipython_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not in_notebook()
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    )
    assert not in_notebook()


def test_parallel_map_shows_one_line(
    shown: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_BAR_DELAY_SECONDS", 0.02)
    monkeypatch.setattr(progress, "_NOTEBOOK_INTERVAL", 0.0)

    def slow(number: int) -> int:
        time.sleep(0.1)
        return number

    assert list(parallel_map(slow, [(1,), (2,), (3,)], workers=1, label="repetitions")) == [1, 2, 3]
    assert shown[0] == ("display", "repetitions: compiling (once on this machine)")
    assert shown[1:] == [("update", f"repetitions: {done} of 3") for done in (1, 2, 3)] + [
        ("update", "")
    ]


def test_quick_work_shows_nothing(shown: list[tuple[str, str]]) -> None:
    assert list(parallel_map(pow, [(1, 2), (2, 2)], workers=1, label="squares")) == [1, 4]
    assert shown == []


def test_race_shows_one_line(shown: list[tuple[str, str]]) -> None:
    race(["a", "b"], range(30), lambda name, row: float(name == "b"), kind="losses", seed=1)
    kinds = [kind for kind, _ in shown]
    assert kinds.count("display") == 1
    assert "in the race" in shown[0][1]
    assert shown[-1] == ("update", "")
    shown.clear()
    race(
        ["a", "b"],
        range(30),
        lambda name, row: float(name == "b"),
        kind="losses",
        seed=1,
        progress=False,
    )
    assert shown == []


def test_sign_of_life_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single long computation shows its label within a second; a short one shows nothing."""
    monkeypatch.setattr(progress, "is_interactive", lambda: True)
    started: list[str] = []
    monkeypatch.setattr(progress, "_BAR_DELAY_SECONDS", 0.05)
    monkeypatch.setattr(
        "rich.progress.Progress.start", lambda bar: started.append(bar.tasks[0].description)
    )

    def slow() -> int:
        time.sleep(0.5)
        return 7

    assert progress.with_status_label(slow, "rank") == 7
    assert started == ["rank: compiling (once on this machine)"]
    assert progress.with_status_label(lambda: 8, "rank") == 8
    assert len(started) == 1


def test_nested_work_shares_one_display(monkeypatch: pytest.MonkeyPatch) -> None:
    displays: list[Any] = []
    monkeypatch.setattr(progress, "is_interactive", lambda: True)
    monkeypatch.setattr(progress, "_BAR_DELAY_SECONDS", 0.01)
    monkeypatch.setattr("rich.progress.Progress.start", lambda bar: displays.append(bar))
    tasks: list[int] = []

    def outer() -> int:
        time.sleep(0.2)
        return progress.with_status_label(inner, "inner")

    def inner() -> int:
        time.sleep(0.2)
        tasks.append(len(displays[0].tasks))
        return 7

    assert progress.with_status_label(outer, "outer") == 7
    assert (len(displays), tasks) == (1, [2])
    assert progress._display._progress is None


def test_log_of_a_race_has_few_lines() -> None:
    """A log of continuous integration must not have a line for each row."""
    lines: list[str] = []
    shown = driver._Progress(log=lines.append)
    run = Race(["a", "b"], range(400), kind="losses", seed=1)
    while calls := run.calls():
        for call in calls:
            run.record(call.ticket, loss=0.5)
            shown.update(run)
    assert run.rows_counted == 400
    assert 15 < len(lines) < 30
    assert lines[0].startswith("row 1: ")
