"""The one-call form: threads and asyncio, failures, Ctrl-C, and a journal to go on from."""

import asyncio
import threading
from importlib import import_module
from typing import Any

import pytest

from tombola.errors import FeedbackError, SessionError
from tombola.racing import Event, Interrupted, MemoryLog, race


def loss(candidate: float, row: int) -> float:
    """A fixed table: who fails on which row."""
    return float((row * 7919 + int(candidate * 100) * 104729) % 100 < 100 * candidate)


CANDIDATES = {"low": 0.2, "middle": 0.5, "high": 0.7}


def test_one_worker_many_workers_and_asyncio_find_the_same() -> None:
    async def later(candidate: float, row: int) -> float:
        await asyncio.sleep(0)
        return loss(candidate, row)

    ways = [
        race(CANDIDATES, range(400), loss, seed=3, workers=1),
        race(CANDIDATES, range(400), loss, seed=3, workers=6),
        race(CANDIDATES, range(400), later, seed=3, workers=6),
    ]
    assert {way.answer for way in ways} == {("low",)}
    assert len({tuple(way.dropped) for way in ways}) == 1
    assert ways[0].calls_made <= ways[1].calls_made <= ways[0].calls_made + 6


def test_a_race_runs_where_a_loop_runs_already() -> None:
    async def notebook() -> Any:
        return race(CANDIDATES, range(400), loss, seed=3)

    assert asyncio.run(notebook()).answer == ("low",)


def test_costs_are_added_and_what_raises_has_failed() -> None:
    def fragile(candidate: str, row: str) -> tuple[float, float]:
        if candidate == "shy" and row.endswith("7"):
            raise TimeoutError(row)
        return (0.4 if candidate == "shy" else 0.45), 0.5

    rows = [f"question {i}" for i in range(100)]
    found = race(["shy", "sound"], rows, fragile, seed=1, workers=3)
    assert found.failures > 0
    assert found.cost == 0.5 * (found.calls_answered - found.failures)
    assert found.answer == ("sound",)  # 0.9 * 0.4 + 0.1 * 1 = 0.46


def test_a_set_up_that_fails_is_told_at_once(one_sentence: Any) -> None:
    def broken(candidate: str, row: int) -> float:
        raise KeyError("model")

    with pytest.raises(SessionError, match="KeyError") as error:
        race(["a", "b"], range(100), broken, seed=1)
    one_sentence(error.value)


@pytest.mark.parametrize("wrong", [2.0, "0.5", None, (0.5, 1.0, 2.0), (0.5, -1.0)])
def test_what_is_no_loss_is_refused(wrong: Any, one_sentence: Any) -> None:
    from tombola.errors import TombolaError

    with pytest.raises(TombolaError) as error:
        race(["a", "b"], range(100), lambda candidate, row: wrong, seed=1)
    assert isinstance(error.value, FeedbackError) or "cost" in one_sentence(error.value)


def test_ctrl_c_leaves_a_race_to_go_on_with_and_no_answered_call_is_repeated() -> None:
    asked: list[tuple[float, int]] = []

    def interrupted(candidate: float, row: int) -> float:
        asked.append((candidate, row))
        if len(asked) == 40:
            raise KeyboardInterrupt
        return loss(candidate, row)

    whole = race(CANDIDATES, range(400), loss, seed=3, workers=1)
    with pytest.raises(Interrupted) as stopped:
        race(CANDIDATES, range(400), interrupted, seed=3, workers=1)
    found = race(CANDIDATES, range(400), interrupted, seed=3, workers=1, log=stopped.value.log)
    assert found.verdict == whole.verdict
    assert len(asked) == whole.calls_made + 1  # the call that was cut short
    assert len(set(asked)) == whole.calls_made


def test_a_journal_of_another_process_is_taken_up_whatever_the_order_of_its_answers() -> None:
    notes = MemoryLog()
    first = race(CANDIDATES, range(400), loss, seed=3, workers=5, log=notes)
    events = [event for event in notes.replay() if (event.ticket - 1) % 3][::-1]
    again = race(CANDIDATES, range(400), loss, seed=3, workers=1, log=MemoryLog([*events, Event("call", 1)]))
    assert again.dropped == first.dropped


def test_no_more_calls_are_in_flight_than_there_are_workers() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def counted(candidate: float, row: int) -> float:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        value = loss(candidate, row)
        with lock:
            now[0] -= 1
        return value

    race(CANDIDATES, range(400), counted, seed=3, workers=4)
    assert 1 <= most[0] <= 4


@pytest.mark.usefixtures("plainly")
def test_rows_of_a_series_are_counted_by_place_and_names_may_be_numbers() -> None:
    """A shuffled frame has its labels in another order; the rows asked about were not those written down."""
    rows = import_module("pandas").Series(list("pqrs"), index=[3, 2, 1, 0])
    asked, notes = [], MemoryLog()

    def evaluate(candidate: int, row: str) -> float:
        asked.append((candidate, row))
        return 0.5

    numbered: Any = {1: 10, 2: 20}
    found = race(numbered, rows, evaluate, seed=1, workers=1, log=notes, progress=False)
    calls = [found.call(event.ticket) for event in notes.replay()]
    assert asked == [(10 * int(call.candidate), call.row) for call in calls]
    assert len(asked) == 8
