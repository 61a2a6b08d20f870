"""Drivers: threads and asyncio, failures, interrupts, event logs, caps."""

import asyncio
import threading
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from race_cases import LOSSES, NAMES, ROWS, start_file
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError, TombolaWarning
from tombola.racing import Event, Interrupted, MemoryLog, SubprocessEvaluator, race
from tombola.racing.driver import run_race_file
from tombola.worklists.race_file import RaceFile

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize("in_file", [True, False])
def test_interrupted_race_continues(in_file: bool, tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []
    stop = [20]

    def loss(name: str, row: str) -> float:
        if len(asked) in stop:
            raise KeyboardInterrupt
        asked.append((name, row))
        return float(LOSSES[int(row.split()[1]), NAMES.index(name)])

    path = tmp_path / "my.race"
    with pytest.raises(Interrupted) as stopped:
        race(NAMES, ROWS, loss, seed=3, workers=1, log=path if in_file else None, progress=False)
    assert stopped.value.race.calls_answered == 20
    first, asked, stop = asked, [], []
    found = race(
        NAMES,
        ROWS,
        loss,
        seed=3,
        workers=1,
        log=str(path) if in_file else stopped.value.log,
        progress=False,
    )
    assert not set(first) & set(asked)
    assert found.verdict == race(NAMES, ROWS, loss, seed=3, workers=1, progress=False).verdict
    if in_file:
        for seed, rows, words in ((4, ROWS, "different seed"), (3, ROWS[1:], "different rows")):
            with pytest.raises(SessionError, match=words):
                race(NAMES, rows, loss, seed=seed, log=path)


def test_second_run_is_rejected(tmp_path: Path) -> None:
    evaluator = SubprocessEvaluator({name: f"echo 0.5 {{row}} {name}" for name in NAMES})
    with start_file(tmp_path / "r") as file, (tmp_path / "r-run").open("w") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SessionError, match="another process"):
            run_race_file(file, evaluator, 1, None, None)
        assert file.race.calls_made == 0


def loss(candidate: float, row: int) -> float:
    """Return the 0/1 loss of a fixed table."""
    return float((row * 7919 + int(candidate * 100) * 104729) % 100 < 100 * candidate)


CANDIDATES = {"low": 0.2, "middle": 0.5, "high": 0.7}


def test_workers_and_asyncio_agree() -> None:
    """Also inside of a running loop, where the race may be awaited."""

    async def later(candidate: float, row: int) -> float:
        await asyncio.sleep(0)
        return loss(candidate, row)

    async def notebook() -> Any:
        found: Any = race(CANDIDATES, range(400), loss, seed=3)
        return await found

    ways = [
        race(CANDIDATES, range(400), loss, seed=3, workers=1),
        race(CANDIDATES, range(400), loss, seed=3, workers=6),
        race(CANDIDATES, range(400), later, kind="losses", seed=3, workers=6),
        asyncio.run(notebook()),
    ]
    assert {way.answer for way in ways} == {("low",)}
    assert len({tuple(way.dropped) for way in ways}) == 1
    assert ways[0].calls_made <= ways[1].calls_made <= ways[0].calls_made + 6


def test_await_runs_calls_on_the_running_loop() -> None:
    """Clients of language models belong to the loop on which they were made."""
    loops = []

    async def later(candidate: float, row: int) -> float:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return candidate

    async def notebook() -> Any:
        loops.append(asyncio.get_running_loop())
        return await race({"low": 0.1, "high": 0.9}, range(200), later, kind="losses", seed=1)

    found = asyncio.run(notebook())
    assert found.answer == ("low",)
    assert len(loops) > 10
    assert len(set(map(id, loops))) == 1
    assert (
        found.dropped
        == race({"low": 0.1, "high": 0.9}, range(200), later, kind="losses", seed=1).dropped
    )


def test_cancelled_await_stays_cancelled() -> None:
    async def stuck(candidate: str, row: int) -> float:
        await asyncio.sleep(60)
        return 0.5

    async def notebook() -> None:
        await asyncio.wait_for(race(["a", "b"], range(20), stuck, kind="losses", seed=1), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(notebook())


def rows_of(library: str) -> tuple[Any, list[str]]:
    """Return 60 rows as a frame or series, and their expected names."""
    columns: dict[str, list[Any]] = {
        "question": [f"q{i}" for i in range(60)],
        "answer": [i % 2 for i in range(60)],
    }
    names = [f"row {i}" for i in range(60)]
    if library == "polars":
        return import_module("polars").DataFrame(columns), [str(i) for i in range(60)]
    frame = import_module("pandas").DataFrame(columns, index=names)
    return (frame, names) if library == "pandas" else (frame["question"], names)


@pytest.mark.parametrize("library", ["pandas", "polars", "series"])
def test_rows_of_a_frame_keep_their_index(library: str) -> None:
    rows, names = rows_of(library)
    asked = set()

    def loss(candidate: int, row: Any) -> float:
        asked.add(row if library == "series" else row["question"])
        return float(candidate != 1)

    found = race({"zero": 0, "one": 1}, rows, loss, seed=1, workers=1)
    assert list(found.rows) == names
    assert asked <= {f"q{i}" for i in range(60)}
    assert found.answer == ("one",)


def test_costs_and_failures() -> None:
    def fragile(candidate: str, row: str) -> tuple[float, float]:
        if candidate == "shy" and row.endswith("7"):
            raise TimeoutError(row)
        return (0.4 if candidate == "shy" else 0.45), 0.5

    rows = [f"question {i}" for i in range(100)]
    found = race(["shy", "sound"], rows, fragile, kind="losses", seed=1, workers=3)
    assert found.failures > 0
    assert found.cost == 0.5 * (found.calls_answered - found.failures)
    assert found.answer == ("sound",)  # 0.9 * 0.4 + 0.1 * 1 = 0.46


@pytest.mark.parametrize("wrong", [2.0, "0.5", None, (0.5, 1.0, 2.0), (0.5, -1.0)])
def test_invalid_result_is_rejected(wrong: Any, one_sentence: Any) -> None:
    with pytest.raises(TombolaError) as error:
        race(["a", "b"], range(100), lambda candidate, row: wrong, kind="losses", seed=1)
    assert isinstance(error.value, FeedbackError) or "cost" in one_sentence(error.value)


def test_log_in_any_order() -> None:
    notes = MemoryLog()
    options: Any = {"seed": 3, "answers": "fixed"}
    first = race(CANDIDATES, range(400), loss, workers=5, log=notes, **options)
    events = [event for event in notes.replay() if (event.ticket - 1) % 3][::-1]
    parts = MemoryLog([*events, Event("call", 1)])
    again = race(CANDIDATES, range(400), loss, workers=1, log=parts, **options)
    assert again.dropped == first.dropped


def test_pandas_series_rows() -> None:
    """A shuffled frame has its labels in another order; the rows asked about were not those written down."""
    rows = import_module("pandas").Series(list("pqrs"), index=[3, 2, 1, 0])
    asked, notes = [], MemoryLog()

    def evaluate(candidate: int, row: str) -> float:
        asked.append((candidate, row))
        return 0.5

    numbered: Any = {1: 10, 2: 20}
    found = race(
        numbered, rows, evaluate, kind="losses", seed=1, workers=1, log=notes, progress=False
    )
    calls = [found.call(event.ticket) for event in notes.replay()]
    assert asked == [(10 * int(call.candidate), call.row) for call in calls]
    assert len(asked) == 8


@pytest.mark.parametrize("asynchronous", [False, True])
def test_max_cost_holds_with_concurrent_workers(asynchronous: bool) -> None:
    """Count the calls at a time, and the money that is spent, including calls in flight at the end of the race."""
    lock, spent, now, most = threading.Lock(), 0.0, 0, 0

    def pay(candidate: str, row: int) -> tuple[float, float]:
        nonlocal spent, now, most
        cost = 0.05 + 0.05 * (row % 2)
        with lock:
            spent, now = spent + cost, now + 1
            most = max(most, now)
        with lock:
            now -= 1
        return 0.5, cost

    async def pay_later(candidate: str, row: int) -> tuple[float, float]:
        await asyncio.sleep(0.0001 * (row % 7))
        return pay(candidate, row)

    caps: Any = {"max_cost": 5.0, "max_call_cost": 0.1, "workers": 8}
    for seed in range(5):
        spent = 0.0
        evaluate = pay_later if asynchronous else pay
        finished = race(["a", "b", "c"], range(400), evaluate, kind="losses", seed=seed, **caps)
        assert finished.proved is None
        assert spent <= 5.0 + 1e-9
        assert 5.0 - 9 * 0.1 < finished.cost <= 5.0, "nearly all of it is used"
    assert 1 <= most <= 8


def test_max_cost_holds_for_equal_costs_without_a_bound() -> None:
    """8 workers spent 25.10 before calls in flight were reserved."""
    finished = race(
        ["a", "b"], range(400), lambda name, row: (0.5, 0.1), kind="losses", seed=1, max_cost=25
    )
    assert (finished.calls_made, finished.cost <= 25.0) == (250, True)


def test_race_file_keeps_its_drawn_seed(tmp_path: Path) -> None:
    first, again = (
        race(
            ["a", "b"],
            range(30),
            lambda name, row: 0.5,
            kind="losses",
            log=tmp_path / "r",
            max_calls=10,
        )
        for _ in range(2)
    )
    assert (first.settings.seed, 10) == (again.settings.seed, again.calls_made)


def test_scores_in_their_own_range() -> None:
    """The candidate with the highest score wins, and a score outside the range is rejected."""
    scores = {"good": 9.0, "bad": 2.0}
    unit: Any = {"kind": "scores", "range": (0, 10), "within": 0.5, "seed": 1, "progress": False}
    finished = race(scores, range(100), lambda score, row: score, **unit)
    assert finished.answer == ("good",)
    assert finished.mean_losses["good"] == pytest.approx(0.1)
    with pytest.raises(
        FeedbackError, match="must return a score from 0 to 10, or that and a cost, got 11"
    ):
        race(scores, range(100), lambda score, row: 11.0, **unit)


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_failing_baseline_does_not_pass_the_gate(delay: float) -> None:
    """The message is the same if the other candidate answers later than two calls of the baseline."""

    def evaluate(candidate: str, row: int) -> float:
        if candidate == "old":
            raise RuntimeError("the baseline cannot run")
        time.sleep(delay)
        return 0.4

    with pytest.raises(
        SessionError, match="expected a baseline that answers, but the first 3 calls of old"
    ):
        race(
            ["old", "new"], range(60), evaluate, baseline="old", better=True, kind="losses", seed=0
        )


def test_cap_without_costs() -> None:
    """A call that reports no cost counts as the largest one; without a largest cost it is rejected."""
    caps: Any = {"max_cost": 3.0, "max_call_cost": 0.5}
    capped = race(
        ["a", "b"],
        range(60),
        lambda candidate, row: candidate == "b",
        kind="losses",
        seed=0,
        **caps,
    )
    assert capped.cost == pytest.approx(3.0)
    with pytest.raises(FeedbackError, match="expected a cost with each answer"):
        race(["a", "b"], range(60), lambda candidate, row: 0.5, max_cost=3.0, kind="losses", seed=0)


def test_calls_in_flight_at_the_end_count_in_the_file(tmp_path: Path) -> None:
    """Workers are busy when the race is decided: the race of the run and of its file count the same calls."""
    with start_file(tmp_path / "r") as file:
        commands = {
            name: f"sh -c 'sleep 0.0{n}; echo {loss} # {{row}}'"
            for n, (name, loss) in enumerate(zip(NAMES, (0.1, 0.6, 0.9), strict=True))
        }
        ran = run_race_file(file, SubprocessEvaluator(commands), workers=7)
        assert ran.done
        assert ran.calls_made > ran.calls_answered
        assert "without an answer)" in ran.verdict
    with RaceFile.open(tmp_path / "r") as again:
        assert again.race.verdict == ran.verdict
        assert again.race.calls_made == ran.calls_made


def _named(name: str) -> Any:
    def evaluate(candidate: str, row: int) -> float:
        return float(candidate == "one")

    evaluate.__name__ = name
    return evaluate


@pytest.mark.parametrize(("kind", "name"), [("losses", "error_rate"), ("scores", "accuracy")])
def test_direction_from_the_name_of_the_function(kind: str, name: str) -> None:
    found = race(["zero", "one"], range(60), _named(name), seed=1, progress=False)
    best, way = ("one", "higher") if kind == "scores" else ("zero", "lower")
    assert found.answer == (best,)
    assert found.verdict.endswith(f"read as {kind}: {way} is better")
    assert f"{way} is better" in found._repr_html_()
    assert kind in str(found)
    other: Any = "losses" if kind == "scores" else "scores"
    with pytest.warns(TombolaWarning, match=f"{name} states {kind}, but kind='{other}' was given"):
        race(["zero", "one"], range(60), _named(name), kind=other, seed=1, progress=False)


@pytest.mark.parametrize("name", ["<lambda>", "no_errors", "accuracy_loss"])
def test_direction_is_never_guessed(name: str) -> None:
    with pytest.raises(
        ParameterError, match='kind="scores" if higher is better, kind="losses" if lower'
    ) as caught:
        race(["zero", "one"], range(60), partial(_named(name)), seed=1, progress=False)
    assert f"a function called {name}" in str(caught.value)
    found = race(["zero", "one"], range(60), _named(name), kind="scores", seed=1, progress=False)
    assert found.answer == ("one",)
