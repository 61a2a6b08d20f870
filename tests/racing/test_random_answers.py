"""Races on random answers: rows with replacement, pilot, limits, restored logs, words."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola.errors import FeedbackError, ParameterError
from tombola.racing import Event, Race, RaceSettings, race
from tombola.racing.pilot import finding_of, pilot_cells
from tombola.racing.settings import RaceOptions
from tombola.worklists import RaceFile

pytestmark = pytest.mark.usefixtures("short_work")


def play(
    current: Race, rng: np.random.Generator, p: Any, gap: float = 0.0, events: Any = None
) -> Race:
    """Answer all calls; candidate b succeeds with a probability that is higher by `gap`."""
    while not current.done:
        for call in current.calls():
            chance = min(1.0, p[call.row_index] + gap * (call.candidate == "b"))
            loss = float(rng.random() >= chance)
            current.record(call, loss=loss)
            if events is not None:
                events.append(Event("answer", call.ticket, loss))
    return current


def test_rows_come_again_and_every_call_is_counted() -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 0.4, 30)
    current = play(Race(["a", "b"], rows=30, seed=1, answers="random", max_calls=400), rng, p, 0.4)
    assert current.answer == ("b",)
    assert current.reading == "expected"
    assert current.rows_counted > 30 or current.calls_made < 60
    sentence = str(current.statement)
    assert "b is the best of 2 candidates in expectation over repeated answers" in sentence
    assert "on these 30 rows, with probability 0.95 or more" in sentence
    assert "may be equal" not in sentence


def test_tie_ends_after_the_calls_of_the_fixed_race() -> None:
    rng = np.random.default_rng(2)
    current = play(Race(["a", "b"], rows=20, seed=1, answers="random"), rng, np.full(20, 0.5))
    assert current.calls_made <= 40
    assert current.done
    if current.proved is None:
        assert current.calls_left == 0
        assert current.statement.verdict in ("undecided", "stopped")


def test_limits_are_kept_with_calls_in_flight() -> None:
    current = Race(["a", "b", "c"], rows=10, seed=1, answers="random", max_calls=17)
    assert len(current.calls(100)) == 17
    assert current.calls(1) == []


def test_restored_race_is_the_same_to_the_bit() -> None:
    rng = np.random.default_rng(3)
    events: list[Event] = []
    settings: RaceOptions = {"seed": 5, "answers": "random", "max_calls": 300}
    first = play(Race(["a", "b", "c"], rows=12, **settings), rng, rng.random(12), 0.2, events)
    again = Race.restore(first.settings, 12, events)
    assert again.rule.state.wealth.tobytes() == first.rule.state.wealth.tobytes()
    assert str(again.statement) == str(first.statement)
    late = Race.restore(first.settings, 12, events[::-1])
    assert late.rule.state.wealth.tobytes() == first.rule.state.wealth.tobytes()


def test_same_agent_twice_is_decided_at_most_at_the_level() -> None:
    """100 races of 40 rows, level .2: more than 37 decisions have probability below 1e-4."""
    rng = np.random.default_rng(4)
    decided = 0
    for seed in range(100):
        p = rng.beta(0.6, 0.4, 40)
        current = play(Race(["a", "b"], rows=40, seed=seed, answers="random", level=0.2), rng, p)
        decided += current.proved is not None
    assert decided <= 37


def test_recorded_reading_of_the_same_agent_claims_only_its_table() -> None:
    """The fault: the same races with fixed answers name a winner in most cases."""
    rng = np.random.default_rng(4)
    decided = 0
    for seed in range(40):
        current = play(Race(["a", "b"], rows=40, seed=seed, level=0.2), rng, rng.beta(0.6, 0.4, 40))
        decided += current.proved is not None
        assert "recorded here" in str(current.statement)
    assert decided >= 30


def test_pilot_is_drawn_independently_of_the_order() -> None:
    settings = RaceSettings(("a", "b"), seed=1, answers="auto").with_pilot(500)
    assert settings.pilot == 8
    unknown = np.full((500, 2), math.nan)
    cells = pilot_cells(settings, unknown)
    assert len({cell.row for cell in cells}) == 8
    first = Race(["a", "b"], rows=500, seed=1, answers="fixed")
    early = {first.call(ticket).row_index for ticket in range(1, 200)}
    assert not {cell.row for cell in cells} <= early
    # Cells on file are not called.
    known = np.zeros((500, 2))
    known[:3, 1] = math.nan
    assert {tuple(cell) for cell in pilot_cells(settings, known)} == {(0, 1), (1, 1), (2, 1)}


@pytest.mark.parametrize(
    ("rows", "options", "cells"),
    [
        (20, {}, 0),
        (50, {}, 1),
        (5000, {}, 8),
        (5000, {"max_calls": 100}, 1),
        (5000, {"max_cost": 10.0, "max_call_cost": 0.05}, 2),
        (5000, {"reading": "beyond"}, 0),
        (5000, {"answers": "fixed"}, 0),
    ],
)
def test_pilot_takes_at_most_two_percent(rows: int, options: Any, cells: int) -> None:
    current = Race(["a", "b"], rows=rows, seed=1, **{"answers": "auto", **options})
    assert len(current.pilot) == cells
    assert current.pilot_calls == 2 * cells


def test_pilot_without_a_change_adds_its_second_calls_only() -> None:
    """The same bits as with answers="fixed", and one call more for each cell of the pilot."""
    losses = np.random.default_rng(6).integers(0, 2, (200, 2)).astype(float)

    def evaluate(name: str, row: int) -> float:
        return float(losses[row, "ab".index(name)])

    options: Any = {"kind": "losses", "seed": 3, "workers": 1, "progress": False}
    fixed = race(["a", "b"], range(200), evaluate, answers="fixed", **options)
    found = race(["a", "b"], range(200), evaluate, **options)
    assert found.reading == "recorded"
    assert len(found.pilot) == 4
    assert found.rule.memory.tobytes() == fixed.rule.memory.tobytes()
    assert fixed.calls_made + 4 <= found.calls_made <= fixed.calls_made + 8
    assert "no answer changed" in found.pilot_text
    assert "on the answers recorded here" in str(found.statement)


def test_pilot_with_a_change_reads_expected_answers(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(7)

    def score(name: str, row: int) -> float:
        return float(rng.random() < (0.9 if name == "b" else 0.4))

    found = race(["a", "b"], range(400), score, seed=3, workers=1)
    said = capsys.readouterr().err
    assert "Pilot: 8 cells are called twice (16 calls), to see whether answers change" in said
    assert "answers change from call to call. Rows are drawn with replacement" in said
    assert found.reading == "expected"
    assert found.answer == ("b",)
    assert "in expectation over repeated answers" in str(found.statement)


def test_log_of_a_pilot_is_restored_in_any_order() -> None:
    rng = np.random.default_rng(8)
    events: list[Event] = []
    current = Race(["a", "b"], rows=100, seed=1, answers="auto")
    play(current, rng, np.full(100, 0.5), 0.3, events)
    again = Race.restore(current.settings, 100, events[::-1])
    assert again.reading == current.reading == "expected"
    assert again.rule.memory.tobytes() == current.rule.memory.tobytes()


def test_raised_limit_keeps_the_pilot(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)

    def score(name: str, row: int) -> float:
        return float(rng.random() < 0.5)

    path = tmp_path / "my.race"
    options: Any = {"kind": "scores", "seed": 1, "workers": 1, "log": path, "progress": False}
    first = race(["a", "b"], range(300), score, max_calls=104, **options)
    second = race(["a", "b"], range(300), score, max_calls=120, **options)
    assert first.pilot == second.pilot
    assert len(first.pilot) == 1
    assert second.calls_made > first.calls_made


def test_run_times_change_only_if_the_noise_matters() -> None:
    assert finding_of([(0.10, 0.11), (0.9, 0.88), (0.5, 0.5)], run_times=True) == (True, False)
    assert finding_of([(0.10, 0.6), (0.9, 0.3), (0.5, 0.5)], run_times=True) == (True, True)
    assert finding_of([(0.10, 0.11)], run_times=False) == (True, True)
    assert finding_of([(0.10, 0.10)], run_times=True) == (False, False)
    assert finding_of([], run_times=False) == (False, False)


def race_for_times(noise: float, rows: int = 400) -> Race:
    """Race two programs whose times differ by row, and by a factor up to 1 + noise in each call."""
    rng = np.random.default_rng(3)
    hardness = rng.random(rows)
    current = Race(["a", "b"], rows=rows, seed=1, unit="seconds", range=(0, 10))
    while not current.done:
        for call in current.calls():
            time = hardness[call.row_index] * (0.5 if call.candidate == "a" else 0.9)
            current.record(call, loss=float(min(1.0, time * (1.0 + noise * rng.random()))))
    return current


def test_run_times_that_change_little_are_not_called_equal() -> None:
    little = race_for_times(0.01)
    assert little.reading == "recorded"
    assert "run times change little against the differences between rows" in little.pilot_text
    assert "expected times needs answers='random'" in little.pilot_text
    assert "no answer changed" in race_for_times(0.0).pilot_text
    assert race_for_times(4.0).reading == "expected"


def test_small_pilot_says_how_little_it_tells() -> None:
    for rows, chance in ((50, "0.90"), (400, "0.43")):
        current = play(Race(["a", "b"], rows=rows, seed=1), np.random.default_rng(1), np.ones(rows))
        assert f"so few calls miss it with probability {chance}" in current.pilot_text
        assert "write answers='random'" in current.pilot_text


def test_group_questions_share_fresh_rows() -> None:
    rng = np.random.default_rng(10)
    strata = ["law", "code"] * 20
    current = Race(["a", "b"], rows=40, strata=strata, seed=1, answers="random", max_calls=2000)
    play(current, rng, np.full(40, 0.4), 0.5)
    assert current.answer == ("b",)
    assert {name: result.answer for name, result in current.by_group.items()} == {
        "law": ("b",),
        "code": ("b",),
    }
    assert current.by_group["law"].statement.counts.rows == 20


@pytest.mark.parametrize(
    "question",
    [
        {"within": 0.1},
        {"baseline": "a", "better": True},
        {"baseline": "a", "within": 0.1},
        {"question": "ranks"},
        {"top": 2},
    ],
)
def test_every_question_ends_with_fresh_rows(question: Any) -> None:
    rng = np.random.default_rng(11)
    current = Race(["a", "b", "c"], rows=30, seed=1, answers="random", max_calls=900, **question)
    play(current, rng, np.full(30, 0.2), 0.7)
    assert current.done
    assert current.calls_made <= 900
    assert "in expectation over repeated answers" in str(current.statement)


def test_answers_on_file_are_asked_again() -> None:
    current = Race(["a", "b"], rows=4, known=[[0, 1]] * 4, seed=1, answers="random", max_calls=50)
    assert current.calls_on_file == 0
    assert len(current.calls()) == 2


def test_contradictions_are_refused() -> None:
    with pytest.raises(ParameterError, match="reading"):
        Race(["a", "b"], rows=4, reading="expected", answers="fixed")
    with pytest.raises(ParameterError, match="answers"):
        Race(["a", "b"], rows=4, answers="sometimes")  # type: ignore[arg-type]
    current = Race(["a", "b"], rows=4, answers="random", seed=1)
    with pytest.raises(FeedbackError, match="from 1 on"):
        current.record(0, loss=0.5)


def test_tickets_number_the_runs_of_a_cell() -> None:
    """Pilot and rounds count on: the n-th call of a candidate on a row is run n."""
    rng = np.random.default_rng(12)
    current = Race(["a", "b"], rows=60, seed=1, max_calls=200)
    seen: dict[tuple[str, str], int] = {}
    assert len(current.pilot) == 1
    assert [call.run for call in current.calls()] == [1, 2]
    for ticket in (1, 2):
        current.record(ticket, loss=float(ticket == 1))
    for call in (current.call(ticket) for ticket in range(1, 2 + 2 * 100)):
        key = (call.candidate, call.row)
        seen[key] = seen.get(key, 0) + 1
        assert call.run == seen[key]
    assert max(seen.values()) >= 4
    play(current, rng, np.full(60, 0.5))
    fixed = Race(["a", "b"], rows=60, seed=1, answers="fixed")
    assert {fixed.call(ticket).run for ticket in range(1, 121)} == {1}


def test_short_race_says_that_it_did_not_check() -> None:
    """2 % of 80 calls are fewer than 2: no pilot, and no silence about it."""
    rng = np.random.default_rng(13)
    current = Race(["a", "b"], rows=40, seed=1)
    assert current.pilot_calls == 0
    assert "It is not checked whether answers change" in current.pilot_text
    remark = "on the answers recorded here for these 40 rows (not checked whether answers change)"
    assert remark in current.verdict
    assert remark in play(current, rng, np.full(40, 0.3), 0.6).verdict
    for stated in ({"answers": "fixed"}, {"reading": "recorded"}, {"reading": "beyond"}):
        other = Race(["a", "b"], rows=40, seed=1, **stated)  # type: ignore[arg-type]
        assert other.pilot_text == ""
        assert "not checked" not in other.verdict
    assert "not checked" not in Race(["a", "b"], rows=50, seed=1).verdict


def test_reading_expected_needs_no_pilot() -> None:
    current = Race(["a", "b"], rows=500, seed=1, reading="expected")
    assert current.pilot_calls == 0
    assert current.is_fresh


def test_pilot_takes_a_share_of_the_unknown_cells_only() -> None:
    known = np.zeros((100, 2))
    known[:20, 1] = math.nan
    current = Race(["a", "b"], rows=100, known=known, seed=1)
    assert current.settings.pilot == 0


def test_rows_asked_once_speak_about_expected_answers() -> None:
    """Each cell is called once; after the last row nothing is certain."""
    rng = np.random.default_rng(14)
    current = Race(["a", "b"], rows=120, seed=1, answers="once")
    play(current, rng, np.full(120, 0.2), 0.6)
    assert current.answer == ("b",)
    assert "in expectation over repeated answers, on these 120 rows" in str(current.statement)
    assert current.rule.state.threshold == pytest.approx(1.785 * 2 / 0.05)
    equal = play(Race(["a", "b"], rows=30, seed=1, answers="once"), rng, np.full(30, 0.5))
    calls = [equal.call(ticket) for ticket in range(1, 61)]
    assert len({(call.candidate, call.row) for call in calls}) == 60
    assert equal.statement.verdict == "undecided"


def test_same_agent_asked_once_is_decided_at_most_at_the_level() -> None:
    """100 races of 40 rows, level .2: more than 37 decisions have probability below 1e-4."""
    rng = np.random.default_rng(15)
    decided = 0
    for seed in range(100):
        p = rng.beta(0.6, 0.4, 40)
        current = play(Race(["a", "b"], rows=40, seed=seed, answers="once", level=0.2), rng, p)
        decided += current.proved is not None
    assert decided <= 37


def test_played_race_is_read_once() -> None:
    """The same bits as a race that was started so; no cell that was called twice is evidence."""
    rng = np.random.default_rng(16)
    events: list[Event] = []
    options: Any = {"seed": 3, "max_calls": 120}
    played = Race(["a", "b"], rows=200, answers="fixed", **options)
    play(played, rng, np.full(200, 0.2), 0.5, events)
    again = Race.restore(replace(played.settings, answers="once"), 200, events)
    assert played.read_once().rule.memory.tobytes() == again.rule.memory.tobytes()
    assert played.reading == "recorded"
    with_pilot = Race(["a", "b"], rows=200, **options)
    on_file = Race(["a", "b"], rows=2, known=[[0, math.nan]] * 2, answers="fixed", seed=1)
    for other in (with_pilot, on_file, Race(["a", "b"], rows=2, answers="random", seed=1)):
        with pytest.raises(ParameterError, match="one call of each cell"):
            other.read_once()
    with pytest.raises(ParameterError, match="no answers on file"):
        Race(["a", "b"], rows=2, known=[[0, math.nan]] * 2, answers="once")
    for question in ({"top": 2}, {"baseline": "a"}, {"within": 0.1}, {"question": "ranks"}):
        with pytest.raises(ParameterError, match="asks rows again"):
            Race(["a", "b", "c"], rows=4, answers="once", **question)


def test_raised_limit_does_not_change_earlier_bets(tmp_path: Path) -> None:
    """The race goes on, and a reopened file has the same bits: bets plan for the first limit."""
    losses = np.random.default_rng(17).integers(0, 2, 400).astype(float)
    path = tmp_path / "my.race"
    settings = RaceSettings(("a", "b"), seed=1, answers="random", max_calls=40)
    with RaceFile.start(path, settings, [str(row) for row in range(30)]) as file:
        memories = []
        for limit in (40, 120):
            if limit > 40:
                file.set_limits(max_calls=limit)
            while tickets := file.next():
                for ticket in tickets:
                    file.record(ticket.ticket, loss=losses[ticket.ticket])
            memories.append(file.race.rule.memory.tobytes())
            assert file.race.calls_made == limit
    with RaceFile.open(path) as again:
        assert again.race.rule.memory.tobytes() == memories[1]
        assert again.settings.horizon == settings.with_pilot(30).horizon == 20
