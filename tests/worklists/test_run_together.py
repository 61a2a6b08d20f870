"""Several functions in one transaction: as one after the other, with one wait for the disk."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tombola import UCB1
from tombola.errors import ConflictError, ExhaustedError, FeedbackError, LearnerError, SessionError
from tombola.worklists import SessionFile

pytestmark = pytest.mark.usefixtures("plainly")


def start(path: Path, rows: int = 30) -> SessionFile:
    ids = [str(number) for number in range(rows)]
    return SessionFile.start(path, ids, ["a", "b"], UCB1(), seed=3)


def commits(run: SessionFile) -> list[str]:
    """Return a list that grows by each COMMIT of a file."""
    statements: list[str] = []

    def note(statement: str) -> None:
        if statement == "COMMIT":
            statements.append(statement)

    run._log._connection.set_trace_callback(note)
    return statements


def events(run: SessionFile) -> list[Any]:
    return run._log._rows("SELECT * FROM events ORDER BY number")


def outcome(result: Any) -> Any:
    """Return a result so that it can be compared: an exception by type and text."""
    return (type(result), str(result)) if isinstance(result, Exception) else result


def test_rejected_function_leaves_the_others(tmp_path: Path) -> None:
    with start(tmp_path / "a.run") as run:
        run.next(3)
        run.record(1, loss=0.5)
        written = commits(run)
        results: list[Any] = run.run_together(
            [
                lambda: run.record(2, loss=0.25),
                lambda: run.record(1, loss=1.0),
                lambda: run.record(99, loss=1.0),
                lambda: run.record(2, loss=0.25),
                lambda: run.next(2),
            ]
        )
        assert len(written) == 1
        assert results[0] is True
        assert isinstance(results[1], ConflictError)
        assert isinstance(results[2], FeedbackError)
        assert results[3] is False
        assert [task.ticket for task in results[4]] == [4, 5]
    with SessionFile.open(tmp_path / "a.run") as run:
        assert run.counts()["answered"] == 2
        assert run.issued == 5


@pytest.mark.parametrize("error", [LearnerError("learner"), FeedbackError("late"), KeyError("x")])
def test_failure_after_an_append_undoes_only_itself(error: Exception, tmp_path: Path) -> None:
    with start(tmp_path / "a.run") as run:
        run.next(3)

        def fail() -> None:
            with run.writing():
                run.record(2, loss=0.5)
                raise error

        results = run.run_together(
            [lambda: run.record(1, loss=0.5), fail, lambda: run.record(3, loss=0.5)]
        )
        assert results == [True, error, True]
        assert [task.ticket for task in run.pending] == [2]
    with SessionFile.open(tmp_path / "a.run") as run:
        assert [task.ticket for task in run.pending] == [2]


class FullDisk:
    """A connection whose COMMIT fails."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == "COMMIT":
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_transaction_that_cannot_be_written_fails_for_all(tmp_path: Path) -> None:
    with start(tmp_path / "a.run") as run:
        run.next(3)
        connection = run._log._connection
        run._log._connection = FullDisk(connection)  # type: ignore[assignment]
        calls = [lambda: run.record(1, loss=0.5), lambda: run.record(2, loss=0.5)]
        results = run.run_together(calls)
        run._log._connection = connection
        assert all(isinstance(result, SessionError) for result in results)
        assert len(run.pending) == 3
        assert run.run_together(calls) == [True, True]


@pytest.mark.parametrize("seed", range(12))
def test_random_groups_equal_single_calls(seed: int, tmp_path: Path) -> None:
    """The twin makes the same calls one after the other: same results, same events to the bit."""
    rng = random.Random(seed)
    grouped, single = tmp_path / "grouped.run", tmp_path / "single.run"
    start(grouped).close()
    shutil.copy(grouped, single)
    shared = 0
    with SessionFile.open(grouped) as first, SessionFile.open(single) as second:
        written = commits(first)
        for _ in range(12):
            calls = [
                (rng.choice(["next", "record", "amend", "cancel", "fail"]), rng.randrange(1, 34))
                for _ in range(rng.randrange(2, 7))
            ]
            losses = [rng.choice([0.0, 0.5, 1.0]) for _ in calls]

            def bound(run: SessionFile, call: tuple[str, int], loss: float) -> Callable[[], Any]:
                kind, number = call

                def run_call() -> Any:
                    if kind == "next":
                        return run.lease(f"key {number}", 1 + number % 3, now=1.0)
                    if kind == "cancel":
                        return run.cancel(number)
                    if kind == "fail" and number % 4 == 0:
                        with run.writing():
                            run.next()
                            raise ConflictError("after an append")
                    return (run.amend if kind == "amend" else run.record)(number, loss=loss)

                return run_call

            before = len(written)
            results = first.run_together(
                [bound(first, call, loss) for call, loss in zip(calls, losses, strict=True)]
            )
            shared += len(written) == before + 1
            expected = []
            for call, loss in zip(calls, losses, strict=True):
                try:
                    expected.append(bound(second, call, loss)())
                except (ConflictError, ExhaustedError, FeedbackError) as error:
                    expected.append(error)
            assert [outcome(result) for result in results] == [
                outcome(result) for result in expected
            ]
            assert events(first) == events(second)
    assert shared > 2, "no group shared a transaction, so nothing was tested"
