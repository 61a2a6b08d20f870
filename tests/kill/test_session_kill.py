"""A session file used by two processes that are killed (-9) at random moments; as a script, this file is the driver."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import HANGS, SOURCE
from tombola import Exp3, FollowTheLeader, Session, Simulation
from tombola.budget.budget import Budget
from tombola.engine.compiler import compiled, interpreted
from tombola.errors import ConflictError, SessionError
from tombola.learners import ThriftyLP
from tombola.worklists import Assignment, Outcome, SessionFile

LEARNERS: dict[str, Any] = {
    "bandit": Exp3(),
    "full": Simulation(FollowTheLeader()),
    "budget": ThriftyLP(),
}
WORST = [0.01, 0.03, 0.002]
BUDGETS = {"budget": Budget(0.7, worst=WORST, null="add")}
NAMES = ["a", "b", "c"]
ROWS = 20_000


def random_answer(
    assignment: Assignment, feedback: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Return random feedback of a ticket; the cost is the loss times the worst cost.

    No two are equal, so that an outcome that was lost and recorded again is another one.
    """
    row = rng.random(3).tolist()
    if feedback == "full":
        return as_given(row, feedback)
    action = NAMES.index(assignment.action)
    return as_given([row[action], row[action] * WORST[action]], feedback)


def work(path: Path, log: Path, feedback: str, seed: int) -> None:
    """Take tickets and record outcomes, in any order and some twice; log each call that returned."""
    rng, parent = np.random.default_rng(seed), os.getppid()
    recorded: list[tuple[int, dict[str, Any]]] = []
    with SessionFile.open(path) as run:
        while os.getppid() == parent:  # ends if the driver fails
            if (
                rng.random() < 0.4 and run.issued < ROWS - 10
            ):  # two processes take less than ten at once
                log_call(log, "issued", run.next(int(rng.integers(1, 4))))
            if recorded and rng.random() < 0.1:
                round_, answer = recorded[int(rng.integers(len(recorded)))]
            elif pending := run.pending:
                one = pending[int(rng.integers(len(pending)))]
                round_, answer = one.ticket, random_answer(one, feedback, rng)
            else:
                continue
            # The other process may have recorded another outcome meanwhile.
            with suppress(ConflictError):
                run.record(round_, **answer)
                log_call(log, "recorded", round_, answer)
                recorded.append((round_, answer))


def log_call(log: Path, *call: Any) -> None:
    """Append one line in one write, so that a kill truncates at most the last line."""
    with log.open("ab", buffering=0) as file:
        file.write((json.dumps(call) + "\n").encode())


def fork(work_: Any, *arguments: Any) -> int:
    """Run a function in a forked process, which ends by being killed, or with status 1."""
    child = os.fork()
    if child == 0:
        try:
            work_(*arguments)
            os._exit(0)
        except BaseException as error:
            print(f"a process failed: {error!r}", flush=True)
            os._exit(1)
    return child


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "a process ended by itself"


def drive(folder: Path, feedback: str, kills: int, seed: int = 0) -> dict[str, int]:
    """Let two processes work on one session that are killed again and again, then record all pending tickets."""
    path = folder / "live.run"
    budget = BUDGETS.get(feedback)
    with SessionFile.start(
        path, map(str, range(ROWS)), NAMES, LEARNERS[feedback], budget=budget, seed=5
    ) as run:
        run.next()  # the first call also prepares the learner
        began = time.perf_counter()
        run.next()
        life = min(
            0.5, 0.05 + 10 * (time.perf_counter() - began)
        )  # a few calls, however slow the disk is
    counts = kill_workers(
        path, lambda log, number: fork(work, path, log, feedback, number), kills, life, seed
    )
    with SessionFile.open(path) as run:
        for assignment in run.pending:
            assert run.record(
                assignment.ticket, **random_answer(assignment, feedback, np.random.default_rng())
            )
        assert run.pending == []
    return counts


def kill_workers(
    path: Path, start: Callable[[Path, int], int], kills: int, life: float, seed: int
) -> dict[str, int]:
    """Kill one or both of two processes that share a file, again and again; return the counts.

    start: forks a process that writes to a log; called with the log and a different number each
        time.
    life: largest time between kills, in seconds.
    """
    folder, rng = path.parent, np.random.default_rng([kills, seed])
    logs = [folder / "0.log", folder / "1.log"]
    workers = [start(log, index) for index, log in enumerate(logs)]
    done = torn = 0
    while done < kills or not acknowledged(folder)[1]:
        time.sleep(rng.random() * (life + 0.0001 * done))
        victims = [0, 1] if rng.random() < 0.3 else [int(rng.integers(2))]
        for victim in victims:
            kill(workers[victim])
        # No writer lives, so a journal is left by an interrupted write.
        torn += len(victims) == 2 and Path(f"{path}-journal").exists()
        for victim in victims:
            done += 1
            workers[victim] = start(logs[victim], 2 * done + victim)
    for worker in workers:
        kill(worker)
    return {"kills": done, "torn": torn}


def acknowledged(folder: Path) -> tuple[list[Any], list[list[Any]]]:
    """Return issued tickets and recorded outcomes of all calls that returned; a truncated line does not count."""
    lines = [
        json.loads(line)
        for log in folder.glob("*.log")
        for line in log.read_text().splitlines(True)
        if "\n" in line
    ]
    issued = [ticket for kind, *rest in lines if kind == "issued" for ticket in rest[0]]
    return issued, [rest for kind, *rest in lines if kind == "recorded"]


def events(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute(
            "SELECT number, kind, key, value FROM events ORDER BY number"
        ).fetchall()
    return [(*row[:3], json.loads(row[3])) for row in rows]


def as_given(encoded: list[float], feedback: str) -> dict[str, Any]:
    """Return the feedback that was encoded as these numbers."""
    if feedback == "full":
        return {"loss": encoded}
    return (
        {"loss": encoded[0]} if feedback == "bandit" else {"loss": encoded[0], "cost": encoded[1]}
    )


def bits(session: Session) -> tuple[Any, ...]:
    runner = session._live.runner
    return runner.memory.tobytes(), runner.rng.tobytes(), session.tickets, session.outcomes


def undisturbed(folder: Path, feedback: str, happened: list[tuple[Any, ...]]) -> Path:
    """Make the same calls in one process that is not killed."""
    path, budget = folder / "undisturbed.run", BUDGETS.get(feedback)
    with SessionFile.start(
        path, map(str, range(ROWS)), NAMES, LEARNERS[feedback], budget=budget, seed=5
    ) as run:
        for kind, group in groupby(happened, key=lambda event: event[1]):
            if kind == "ticket":
                run.next(len(list(group)))
            else:
                run.record_all(Outcome(event[2], **as_given(event[3], feedback)) for event in group)
    return path


def check_budget(happened: list[tuple[Any, ...]]) -> None:
    """Add up the events in exact fractions: spent and reserved never exceed the amount."""
    worst = [*map(Fraction, WORST), Fraction(0)]
    amount, spent, reserved = Fraction(float(BUDGETS["budget"].per_resource[0])), Fraction(0), {}
    for _, kind, round_, value in happened:
        if kind == "ticket":
            reserved[round_] = worst[value[0]]
        else:
            del reserved[round_]
            spent += Fraction(value[1])
        assert spent + sum(reserved.values()) <= amount, f"overspent at ticket {round_}"


def check(folder: Path, feedback: str) -> int:
    """Check the guarantees on the file itself; return the number of tickets."""
    path, learner = folder / "live.run", LEARNERS[feedback]
    happened = events(path)
    tickets = [event for event in happened if event[1] == "ticket"]
    outcomes = {event[2]: event[3] for event in happened if event[1] == "outcome"}
    issued, recorded = acknowledged(folder)
    assignments = [Assignment(*one) for one in issued]
    rounds = [one.ticket for one in assignments]
    assert len(rounds) == len(set(rounds)), "a ticket was issued twice"
    assert [event[2] for event in tickets] == list(range(1, len(tickets) + 1)), "a ticket was lost"
    assert all([*NAMES, "null"][tickets[one.ticket - 1][3][0]] == one.action for one in assignments)
    assert all(as_given(outcomes[round_], feedback) == answer for round_, answer in recorded), (
        "an acknowledged outcome was lost"
    )
    assert len(outcomes) == len(tickets)
    alone = Session(learner, NAMES, ROWS, budget=BUDGETS.get(feedback), seed=5)
    mine = {}
    for _, kind, round_, value in happened:
        if kind == "ticket":
            mine[round_] = alone.act()
        else:
            alone.observe(mine[round_], **as_given(value, feedback))
    with SessionFile.open(path) as run, run._reading() as session:
        assert bits(session) == bits(alone), "the final state differs"
    assert events(undisturbed(folder, feedback, happened)) == happened
    if feedback == "budget":
        check_budget(happened)
    return len(tickets)


def run_script(file: str, timeout: float, *arguments: str) -> str:
    """Run a test file as a script, and return the text it prints."""
    path = os.pathsep.join([str(SOURCE), str(Path(file).parent.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, file, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_driver(folder: Path, feedback: str, kills: int) -> dict[str, int]:
    printed = run_script(__file__, HANGS, str(folder), feedback, str(kills))
    assert "a process failed" not in printed, printed
    return dict(json.loads(printed.splitlines()[-1]))


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("feedback", LEARNERS)
def test_two_processes_killed(feedback: str, tmp_path: Path) -> None:
    assert run_driver(tmp_path, feedback, kills=30)["kills"] >= 30
    assert check(tmp_path, feedback) > 0
    assert acknowledged(tmp_path)[1], "no call was acknowledged, so nothing was tested"


@pytest.mark.full
@pytest.mark.parametrize("feedback", LEARNERS)
def test_two_processes_killed_often(feedback: str, tmp_path: Path) -> None:
    done = run_driver(tmp_path, feedback, kills=1000)
    tickets = check(tmp_path, feedback)
    issued, recorded = acknowledged(tmp_path)
    print(
        feedback,
        done,
        f"{tickets} tickets, {len(issued)} issued and {len(recorded)} recorded by calls that "
        "returned",
    )
    assert done["torn"] >= 10, "too few kills fell into the middle of a write"
    assert len(recorded) > 500


def begin(path: Path) -> None:
    SessionFile.start(path, map(str, range(3000)), NAMES, Exp3(), seed=5).close()


def drive_start(folder: Path) -> dict[str, int]:
    """Kill a process that starts a session: the file is complete, or it can be started again."""
    begin(folder / "warm.run")
    rng, whole = np.random.default_rng(1), 0
    for attempt in range(20):
        path = folder / f"{attempt}.run"
        child = fork(begin, path)
        time.sleep(rng.random() * 0.06)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            SessionFile.open(path).close()
            whole += 1
        except SessionError:
            begin(path)
        with SessionFile.open(path) as run:
            assert run.horizon == 3000
            assert [one.ticket for one in run.next(3000)][-1] == 3000
    return {"whole": whole}


@pytest.mark.full
def test_start_killed(tmp_path: Path) -> None:
    assert 0 <= run_driver(tmp_path, "start", kills=20)["whole"] <= 20
    assert events(tmp_path / "warm.run") == []
    assert len({repr(events(tmp_path / f"{attempt}.run")) for attempt in range(20)}) == 1


if __name__ == "__main__":
    folder_, feedback_, kills_ = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    # The forked processes live too briefly to compile. For many kills compile in the parent; a few
    # need no compiler.
    with compiled() if kills_ > 100 else interpreted():
        print(
            json.dumps(
                drive_start(folder_) if feedback_ == "start" else drive(folder_, feedback_, kills_)
            )
        )
