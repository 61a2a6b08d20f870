"""Race: issue and record in any order, failures, limits, threads."""

import copy
import math
import os
import pickle
import random
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from race_cases import BITS, LEVELS, THIRDS, all_pools, answer_all
from tombola import UCB1
from tombola.errors import FeedbackError, SessionError, TombolaWarning
from tombola.racing import Event, Race, RaceSettings
from tombola.racing.rules.best import Best
from tombola.worklists import SessionFile
from tombola.worklists.race_file import RaceFile

pytestmark = pytest.mark.usefixtures("plainly")


def test_restore_from_events() -> None:
    race, rng = Race("abc", list("uvwxyz"), seed=2, level=0.3, on_failure="worst"), random.Random(0)
    events: list[Event] = []
    while not race.done:
        calls = race.calls(2)
        events += [Event("call", call.ticket) for call in calls]
        events += [Event("answer", call.ticket, float(rng.random() < 0.5), 1.5) for call in calls]
        for answer in events[-len(calls) :]:
            race.record(answer.ticket, loss=answer.loss, cost=answer.cost)
    again = Race.restore(RaceSettings.from_json(race.settings.to_json()), race.rows, events)
    assert again.verdict == race.verdict
    assert np.array_equal(again.rule.memory, race.rule.memory)
    assert again.cost == race.cost > 0


def test_record_twice(one_sentence: Any) -> None:
    race = Race("ab", 5, seed=0)
    first, second = race.calls()
    assert race.record(first, loss=0.5, cost=2.0)
    assert not race.record(first.ticket, loss=0.5, cost=2.0)
    with pytest.raises(FeedbackError) as error:
        race.record(first, loss=0.6, cost=2.0)
    one_sentence(error.value)
    assert race.cost == 2.0
    assert race.pending == [second]
    assert race.rows_counted == 0


@pytest.mark.parametrize(
    ("ticket", "answer"),
    [
        (1, {}),
        (1, {"loss": 1.5}),
        (1, {"loss": math.nan}),
        (1, {"loss": "0"}),
        (1, {"loss": 0.5, "failed": True}),
        (3, {"loss": 0.0}),
        (0, {"loss": 0.0}),
        (11, {"loss": 0.0}),
        (True, {"loss": 0.0}),
    ],
)
def test_record_rejects_invalid_answers_and_tickets(
    ticket: int, answer: Any, one_sentence: Any
) -> None:
    race = Race("ab", 5, seed=0)
    call = race.calls(1)[0]
    with pytest.raises(FeedbackError) as error:
        race.record(ticket, **answer)
    one_sentence(error.value)
    assert race.pending == [call]


def test_failed_call() -> None:
    race = Race("ab", 5, seed=0)
    for call in race.calls():
        race.record(call, **({"failed": True} if call.candidate == "a" else {"loss": 0.0}))
    assert race.mean_losses == {"a": 1.0, "b": 0.0}
    assert race.failures == 1
    strict = Race("ab", 5, seed=0, on_failure="stop")
    strict.record(strict.calls(1)[0], failed=True)
    assert strict.done
    assert strict.proved is None
    assert strict.calls() == []
    assert strict.verdict.startswith("stopped because a failed on row ")


def test_threads_get_different_calls() -> None:
    """Without a lock three of 5,700 calls came twice, and two threads ended in a KeyError."""
    race = Race(["a", "b", "c"], 1000, seed=1)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = [
                ticket
                for done in threads.map(lambda _: make_calls(race), range(8))
                for ticket in done
            ]
    finally:
        sys.setswitchinterval(before)
    assert sorted(set(found)) == sorted(found)
    assert (race.calls_answered, race.cost) == (len(found), float(len(found)))


def make_calls(race: Race) -> list[int]:
    """Make calls one by one, looking at the race in between; return their tickets."""
    made = []
    for _ in range(150):
        for call in race.calls(1):
            made.append(call.ticket)
            assert call in race.pending
            race.record(call, loss=call.ticket % 5 / 4, cost=1.0)
            assert race.largest_loss <= 1.0
    return made


def test_calls_wait_for_lock() -> None:
    race = Race(["a", "b"], 10, seed=1)
    with race._locked(), ThreadPoolExecutor(1) as other:
        waiting = other.submit(race.calls)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        race._guard.release()
        assert len(waiting.result()) == 2
        race._guard.acquire()


@pytest.mark.parametrize("kind", ["race", "race file", "session file"])
def test_race_is_bound_to_process(
    kind: str, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    thing: Any = Race(["a", "b"], 10, seed=1)
    if kind == "race file":
        thing = RaceFile.start(tmp_path / "f", RaceSettings(("a", "b"), seed=1), ["x", "y"])
    elif kind == "session file":
        thing = SessionFile.start(tmp_path / "f", ["x", "y"], ["a", "b"], UCB1(), seed=1)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SessionError) as caught:
            copied(thing)
        assert "process" in one_sentence(caught.value)
    ask = thing.calls if isinstance(thing, Race) else thing.next
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            ask()
        except SessionError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.wait()
    assert "child" in one_sentence(said) or "fork" in said
    assert len(ask()) > 0


def race_out_of_order(table: Any, order: Any, level: float, rng: Any, *, failing: Any = ()) -> Race:
    """Race with answers in random order, ahead of their time; cells in `failing` are calls that fail."""
    race = Race([str(a) for a in range(table.shape[1])], len(table), seed=0, level=level)
    race._order = list(order)
    out: list[Any] = []
    while not race.done:
        out += race.calls(int(rng.integers(1, 4)))
        call = out.pop(int(rng.integers(len(out))))
        cell = call.row_index, int(call.candidate)
        race.record(call, **({"failed": True} if cell in failing else {"loss": float(table[cell])}))
    return race


@pytest.mark.parametrize("values", [BITS, THIRDS])
def test_evidence_out_of_order_with_failures(values: tuple[float, ...]) -> None:
    """The state equals that of the recorded table in order, to the bit, so the exact checks of the rules apply."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        N, k, level = int(rng.integers(1, 7)), int(rng.integers(2, 4)), float(rng.choice(LEVELS))
        table, order = rng.choice(values, (N, k)), rng.permutation(N)
        failing = {(int(row), int(a)) for row, a in np.argwhere(rng.random((N, k)) < 0.15)}
        recorded = table.copy()
        for cell in failing:
            recorded[cell] = 1.0
        rule = Best(candidates=k, rows=N, population=N, level=level)
        rule.play(recorded, order.astype(np.uint32))
        race = race_out_of_order(table, order, level, rng, failing=failing)
        np.testing.assert_array_equal(race.rule.memory, rule.memory)
        assert race.active == tuple(str(a) for a in rule.active)


@pytest.mark.parametrize("failing", [(), ((0, 0), (2, 0)), ((1, 1), (3, 0))])
def test_guarantee_out_of_order_with_failures(failing: Any) -> None:
    """What failed counts as loss 1; exact over all orders of all 0/1 all_pools of four rows and two candidates."""
    rng = np.random.default_rng(0)
    for table in all_pools(BITS, 4, 2):
        realised = table.copy()
        for cell in failing:
            realised[cell] = 1.0
        totals = realised.sum(axis=0)
        for level in (0.5, 0.9):
            gone = np.zeros(2)
            for order in permutations(range(4)):
                race = race_out_of_order(table, order, level, rng, failing=failing)
                gone += [name not in race.active for name in race.candidates]
            assert (gone[totals == totals.min()] <= 24 * level).all()


def test_max_cost_reserves_calls_in_flight() -> None:
    """Ten calls of cost 1 fit; calls are issued alone until a cost is known, which a failure does not reveal."""
    race = Race("ab", 50, seed=1, max_cost=10.0)
    race.record(race.calls(1)[0], failed=True)
    first = race.calls(8)
    assert len(first) == 1
    assert race.limit_reached
    race.record(first[0], loss=0.5, cost=1.0)
    assert len(race.calls(20)) == 9
    assert race.limit_reached
    assert not race.done, "calls are in flight"
    for call in race.pending:
        race.record(call, loss=0.5, cost=1.0)
    assert race.done
    assert race.cost == 10.0


def test_max_call_cost_is_reserved_from_the_start() -> None:
    race = Race("ab", 50, seed=1, max_cost=10.0, max_call_cost=3.0)
    calls = race.calls(20)
    assert len(calls) == 3
    for call in calls:
        race.record(call, loss=0.5, cost=0.5)
    assert len(race.calls(20)) == 2, "1.5 is spent, and two more calls may cost 6"
    # A call above its bound raises the reserve.
    with pytest.warns(TombolaWarning, match="max_call_cost"):
        race.record(race.pending[0], loss=0.5, cost=4.0)
    assert race.calls(20) == []


def test_cost_above_its_declared_bound_is_counted_with_a_warning() -> None:
    race = Race(("a", "b"), 30, seed=1, answers="fixed", max_cost=2.0, max_call_cost=0.1)
    first, second, third = race.calls(3)
    race.record(first, loss=0.5, cost=0.1)
    with pytest.warns(TombolaWarning, match=r"at most 0.1 a call .* got 0.5 of"):
        race.record(second, loss=0.5, cost=0.5)
    # Once is enough; a second warning would be an error here.
    race.record(third, loss=0.5, cost=0.6)
    assert race.cost == pytest.approx(1.2)


def test_costs_are_summed_without_rounding_errors() -> None:
    """Plain summation gives 25.000000000000046 and would forbid the last call."""
    race = answer_all(Race("ab", 200, seed=1, max_cost=25.0), {"a": 0.5, "b": 0.5}, cost=0.1)
    assert (race.calls_made, race.cost) == (250, 25.0)


def test_seed_is_drawn_and_stored() -> None:
    first, second = Race("ab", 50), Race("ab", 50)
    assert first.settings.seed != second.settings.seed
    again = Race.restore(RaceSettings.from_json(first.settings.to_json()), first.rows)
    assert again.calls(20) == first.calls(20)


@pytest.mark.parametrize("answers", ["fixed", "random", "auto"])
def test_answers_are_a_table_of_what_was_recorded(answers: Any) -> None:
    """The table is that of a naive twin that stores every answer in a dense one as it arrives."""
    known = np.full((40, 3), np.nan)
    known[::3, 1] = 0.25
    race = Race(("a", "b", "c"), 40, known=known, seed=4, answers=answers, max_calls=70)
    twin, times = np.where(np.isnan(known), np.nan, known), np.zeros((40, 3))
    pilot: dict[tuple[int, int], float] = {}
    rng = np.random.default_rng(1)
    while calls := race.calls(5):
        for call in rng.permutation(len(calls)):
            ticket, name, _, row, _ = calls[call]
            cell = row, "abc".index(name)
            failed = rng.random() < 0.1
            loss = 1.0 if failed else (row * 7 + cell[1]) % 11 / 11
            race.record(ticket, loss=None if failed else loss, failed=failed)
            if ticket <= race.pilot_calls:
                if ticket % 2:
                    pilot[cell] = loss
                continue
            times[cell] += 1
            before = 0.0 if times[cell] == 1 else twin[cell]
            twin[cell] = before + (loss - before) / times[cell]
    if race.is_fresh:
        twin[times == 0] = np.nan
    else:
        for cell, loss in pilot.items():
            twin[cell] = loss
    assert race.calls_answered > 40
    np.testing.assert_array_equal(race.answers, twin)


@pytest.mark.parametrize("answers", ["fixed", "random", "once"])
def test_race_stores_only_what_was_answered(answers: Any) -> None:
    """A race on 8,000 rows and 100 candidates takes less than one table of them, 6.4 MB."""
    names = [f"candidate {number}" for number in range(100)]

    def play(rows: int) -> Race:
        race = Race(names, rows, seed=1, answers=answers)
        while race.calls_answered < 300:
            for call in race.calls(100):
                race.record(call, loss=0.5)
        assert race.side.digest
        return race

    # What is loaded and cached by the first race is no part of the next one.
    play(10)
    tracemalloc.start()
    try:
        race = play(8000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert race.calls_answered < 500
    assert peak < 6.4e6
