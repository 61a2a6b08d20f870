"""Race files: several processes, damage, impossible events."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from damaged_files import changed_cells
from race_cases import NAMES, ROWS, finish_files, loss_of, start_file
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError
from tombola.racing import Event, Race, RaceSettings, race
from tombola.racing.report import RaceReport
from tombola.racing.settings import RULES
from tombola.worklists import Outcome
from tombola.worklists.event_log import EventLog
from tombola.worklists.race_file import RaceFile


def test_two_processes_match_memory(tmp_path: Path) -> None:
    with start_file(tmp_path / "one.race") as one:
        finish_files(one)
        alone = one.race
    with start_file(tmp_path / "two.race") as first, RaceFile.open(tmp_path / "two.race") as second:
        finish_files(first, second)
        assert first.race.verdict == second.race.verdict == alone.verdict
        assert first.race.dropped == second.race.dropped == alone.dropped
    memory = Race(NAMES, ROWS, seed=3)
    while not memory.done:
        for call in memory.calls(2):
            memory.record(call, loss=loss_of(call), cost=0.25)
    assert memory.dropped == alone.dropped
    assert memory.answer == ("low",)


def test_no_call_is_issued_twice(tmp_path: Path) -> None:
    with start_file(tmp_path / "my.race") as one, RaceFile.open(tmp_path / "my.race") as two:
        calls = [*one.next(4), *two.next(4), *one.next(4)]
        assert len({call.ticket for call in calls}) == 12
        assert one.record(calls[5].ticket, loss=0.5)
        assert not two.record(calls[5].ticket, loss=0.5)
        with pytest.raises(FeedbackError, match="first answer stands"):
            two.record(calls[5].ticket, loss=0.25)
        with pytest.raises(FeedbackError):
            two.record_all([Outcome(calls[6].ticket, 0.5), Outcome(99, 0.5)])
        assert len(two.race.pending) == 11
    with RaceFile.open(tmp_path / "my.race") as again:
        assert [call.ticket for call in again.race.pending] == [
            call.ticket for call in calls if call != calls[5]
        ]


def test_changed_cells_are_detected(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    with start_file(tmp_path / "whole.race") as file:
        finish_files(file)
    tried = 0
    for _ in changed_cells(tmp_path / "whole.race", tmp_path / "x.race", rows_apart=3):
        with pytest.raises(TombolaError) as refused, RaceFile.open(tmp_path / "x.race") as damaged:
            assert damaged.race is not None
        one_sentence(refused.value)
        tried += 1
    assert tried > 100


def test_closed_file_rejects_record(tmp_path: Path) -> None:
    with start_file(tmp_path / "r") as file:
        call, *_ = file.next()
    with pytest.raises(SessionError, match="closed"):
        file.record(call.ticket, loss=0.5)


def test_answer_that_differs_by_rounding_is_the_same(tmp_path: Path) -> None:
    with start_file(tmp_path / "r") as file:
        call, *_ = file.next()
        assert file.record(call.ticket, loss=0.3, cost=0.3)
        assert not file.record(call.ticket, loss=1 - 0.7, cost=0.1 + 0.2)
        file.append(Event("answer", call.ticket, 1 - 0.7, 0.3))
        for other in (
            {"loss": 0.3 + 1e-9, "cost": 0.3},
            {"loss": 0.3, "cost": 0.4},
            {"failed": True},
        ):
            with pytest.raises(FeedbackError, match="has been answered"):
                file.record(call.ticket, **other)
        assert [event for event in file.replay() if event.kind == "answer"] == [
            Event("answer", call.ticket, 0.3, 0.3)
        ]


@pytest.mark.usefixtures("plainly")
def test_numpy_scalars_are_stored_as_numbers(tmp_path: Path) -> None:
    """As a column of pandas has them: tickets were written as bytes, and the file could not be read again."""
    asked: Any = {
        "level": np.float32(0.25),
        "within": np.float32(0.5),
        "seed": np.int64(1),
        "max_calls": np.int64(9),
    }
    answers: list[Any] = [
        {"loss": np.float32(0.5), "cost": np.float32(2)},
        {"loss": np.int64(1), "failed": np.bool_(0)},
    ]
    with RaceFile.start(tmp_path / "n", RaceSettings(("a", "b"), **asked), ["x", "y", "z"]) as file:
        file.next()
        assert [
            file.record(ticket, **answer)
            for ticket, answer in zip(np.array([1, 2]), answers, strict=True)
        ]
    with RaceFile.open(tmp_path / "n") as file:
        assert (file.race.rows_counted, file.race.cost, file.race.mean_losses) == (
            1,
            2.0,
            {"a": 0.5, "b": 1.0},
        )


def test_at_names_different_settings(tmp_path: Path) -> None:
    """The error lists exactly the settings that differ."""
    settings, means = (
        RaceSettings(("a", "b"), seed=1),
        {"commands": {"a": "x {row}"}, "loss": "seconds", "cap": 2.0},
    )
    RaceFile.start(tmp_path / "r", settings, ["x"], means).close()
    RaceFile.at(tmp_path / "r", settings, ["x"], means).close()
    with pytest.raises(SessionError, match="with different cap; give"):
        RaceFile.at(tmp_path / "r", settings, ["x"], {**means, "cap": 3.0})
    with pytest.raises(
        SessionError, match="with different rows and commands and loss and cap; give"
    ):
        RaceFile.at(tmp_path / "r", settings, ["y"])


VALID_ANSWER = {"loss": 0.5, "cost": 0.0, "failed": False}


@pytest.mark.parametrize(
    "event",
    [
        ("answer", 2, 0.5),
        ("answer", 2, None),
        ("answer", 2, {"loss": 0.5}),
        *(
            ("answer", 2, {**VALID_ANSWER, **change})
            for change in (
                {"surprise": 1},
                {"failed": 1},
                {"loss": "0.5"},
                {"loss": 2.0},
                {"cost": -1.0},
            )
        ),
        *(("answer", ticket, VALID_ANSWER) for ticket in (10**9, 0, 1)),
        ("call", 2, 7),
        ("call", 1, None),
        ("ticket", 2, [0, 1.0]),
    ],
    ids=str,
)
def test_impossible_event_is_rejected(
    event: Any, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """The digest is right, but no race could have written the event."""
    about = {"kind": "race", "rules": RULES, "race": RaceSettings(NAMES, seed=3).to_json()}
    kept = EventLog.create(tmp_path / "my.race", "forger", about, ROWS)
    with kept.writing():
        kept.append("call", 1, None)
        kept.append("answer", 1, VALID_ANSWER)
        kept.append(*event)
    kept.close()
    with RaceFile.open(tmp_path / "my.race") as file, pytest.raises(TombolaError) as caught:
        file.next()
    one_sentence(caught.value)


@pytest.mark.parametrize(
    "race", [None, 3, [], {}, {"candidates": 3}, {"candidates": ["a", "b"], "seed": "x"}], ids=str
)
def test_malformed_settings_are_rejected(
    race: Any, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    about = {"kind": "race", "rules": RULES, "race": race}
    EventLog.create(tmp_path / "my.race", "forger", about, ROWS).close()
    with pytest.raises(SessionError) as caught:
        RaceFile.open(tmp_path / "my.race")
    one_sentence(caught.value)


@pytest.mark.parametrize(
    "rules", [{}, {"rules": 1}, {"rules": RULES + 1}, {"rules": None}], ids=str
)
def test_race_of_other_rules_is_not_continued(
    rules: Any, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """Other rules could open a question that was answered, and have a level of their own."""
    about = {"kind": "race", "race": RaceSettings(NAMES, seed=3).with_pilot(3).to_json()}
    path = tmp_path / "my.race"
    EventLog.create(path, "Race", {**about, "rules": RULES}, ROWS).close()
    RaceFile.open(path).close()
    path.unlink()
    EventLog.create(path, "Race", {**about, **rules}, ROWS).close()
    with pytest.raises(SessionError, match="use the version that wrote it") as caught:
        RaceFile.open(path)
    one_sentence(caught.value)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("asked", [{}, {"top": 2}, {"candidate": "middle"}])
def test_race_file_resumes_ranks(tmp_path: Path, asked: Any) -> None:
    """After a restart in the middle the rank sets and the verdict are those of an uninterrupted race."""
    whole = Race.restore(
        RaceSettings(NAMES, seed=3, answers="fixed", question="ranks", **asked), ROWS
    )
    path = tmp_path / "r"
    start_file(path, question="ranks", **asked).close()
    while not whole.done:
        with RaceFile.open(path) as file:
            for call in file.next():
                file.record(call.ticket, loss=loss_of(call))
                whole.calls(1)
                whole.record(call.ticket, loss=loss_of(call))
            assert file.race.rank_sets == whole.rank_sets
    with RaceFile.open(path) as file:
        assert file.race.verdict == whole.verdict
        assert file.race.proved
    with pytest.raises(SessionError, match="question"):
        RaceFile.at(path, RaceSettings(NAMES, seed=3), ROWS)


def test_raised_limit_continues_race(tmp_path: Path) -> None:
    """The limit is an event of the log: every process sees it, and the evidence is that of a race without the stop."""
    path, settings = tmp_path / "my.race", RaceSettings(("a", "b"), seed=1, max_calls=6)
    rows = [str(row) for row in range(60)]
    with RaceFile.start(path, settings, rows) as file, RaceFile.open(path) as other:
        for call in file.next(20):
            file.record(call.ticket, loss=float(call.action == "b"))
        assert file.race.done
        assert file.next() == []
        assert other.race.limit_reached
        other.set_limits(max_calls=500)
        assert not file.race.done
        assert (file.settings.max_calls, file.earlier_limits) == (500, ((6, None),))
        while not file.race.done:
            for call in file.next():
                file.record(call.ticket, loss=float(call.action == "b"))
        state = file.race.rule.state
    with RaceFile.open(path) as again:
        assert again.race.settings.max_calls == 500
        assert again.race.proved
        assert again.race.answer == ("a",)
        report = RaceReport.from_file(again).to_json()
    assert report["settings"]["max_calls"] == 500
    assert report["earlier_limits"] == [{"max_calls": 6, "max_cost": None}]
    straight = race(
        ("a", "b"), rows, lambda name, _: float(name == "b"), kind="losses", seed=1, workers=1
    )
    assert all(
        np.array_equal(one, two) for one, two in zip(state, straight.rule.state, strict=True)
    )


def test_limit_of_random_answers_never_comes_nearer(tmp_path: Path) -> None:
    """Their bets aim at the limit, so a nearer one after a look would be another test."""
    settings = RaceSettings(("a", "b"), seed=1, answers="random", max_calls=60)
    with RaceFile.start(tmp_path / "r", settings, ["x", "y", "z"]) as file:
        with pytest.raises(ParameterError, match="at least the present limit, which is 60"):
            file.set_limits(max_calls=50)
        with pytest.raises(ParameterError, match="no limit"):
            file.set_limits(max_cost=5)


def test_race_with_a_higher_limit_goes_on(tmp_path: Path) -> None:
    path, asked = tmp_path / "my.race", []

    def evaluate(name: str, row: str) -> tuple[float, float]:
        asked.append((name, row))
        return float(name == "b"), 0.5

    options: Any = {"kind": "losses", "seed": 1, "workers": 1, "log": path, "max_call_cost": 0.5}
    options["answers"] = "fixed"
    rows = [f"row {number}" for number in range(80)]
    assert race(("a", "b"), rows, evaluate, max_cost=3, **options).proved is None
    made = len(asked)
    stopped = race(("a", "b"), rows, evaluate, max_cost=2, **options)
    assert stopped.settings.max_cost == 2
    assert (stopped.proved, len(asked)) == (None, made)
    finished = race(("a", "b"), rows, evaluate, max_cost=100, **options)
    assert finished.proved
    assert len(set(asked)) == len(asked) == finished.calls_made


def test_lone_surrogate_in_names_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="surrogate"):
        RaceFile.start(tmp_path / "s", RaceSettings(("\ud800", "b"), seed=1), ["x"])
