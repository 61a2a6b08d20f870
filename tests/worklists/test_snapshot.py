"""Snapshots and marks: a reopened or corrected session has the bits of a full replay."""

import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import UCB1, Budget, Exp3, FollowTheLeader, Simulation
from tombola.engine.compiler import interpreted
from tombola.errors import ExhaustedError, SessionError
from tombola.learners import BatchedExp3, ThompsonSampling, ThriftyLP, TsallisInf
from tombola.worklists import SessionFile, learner_marks, session_file, snapshot

pytestmark = pytest.mark.usefixtures("plainly")

LEARNERS: dict[str, Any] = {
    "ucb": UCB1(),
    "exp3": Exp3(),
    "tsallis": TsallisInf(),
    "thompson": ThompsonSampling(),
    "batched": BatchedExp3(block=3),
    "full": Simulation(FollowTheLeader()),
    "budget": ThriftyLP(),
}
NAMES = ["a", "b", "c"]
ROWS = 60


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep snapshots and marks of short sessions, too, and the key in a folder of the test."""
    monkeypatch.setenv("TOMBOLA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(session_file, "_SNAPSHOT_EVENTS", 4)
    monkeypatch.setattr(session_file, "_MARK_INTERVAL", 1)
    monkeypatch.setattr(learner_marks, "_INTERVAL", 3)
    monkeypatch.setattr(learner_marks, "_MAX_MARKS", 6)


def start(path: Path, name: str = "ucb") -> SessionFile:
    budget = Budget(9.0, worst=[0.3, 0.5, 0.1], null="add") if name == "budget" else None
    ids = map(str, range(ROWS))
    return SessionFile.start(path, ids, NAMES, LEARNERS[name], budget=budget, seed=5)


def state(run: SessionFile) -> Any:
    """Return everything that the next tickets depend on, to the bit."""
    with run._reading() as session:
        parts = run._state_parts(session)
        assert parts is not None
        parts = {name: part for name, part in parts.items() if not name.startswith("mark_")}
        return [(n, p if isinstance(p, str) else (p.shape, p.tobytes())) for n, p in parts.items()]


def replayed(path: Path) -> Any:
    """Return the state of a copy of the file without a snapshot."""
    copy = path.with_name("replayed.run")
    shutil.copyfile(path, copy)
    with SessionFile.open(copy) as run:
        result = state(run)
        run._saved = 10**9
    return result


def play(run: SessionFile, name: str, steps: int, rng: random.Random) -> None:
    """Issue, record out of order, cancel and correct at random."""
    for _ in range(steps):
        pending = run.pending
        answered = run.view().answered_tickets.tolist()
        losses: Any = [rng.random() for _ in NAMES] if name == "full" else rng.random()
        kind = rng.random()
        with suppress(ExhaustedError):
            if kind < 0.3 or not pending:
                key = f"{len(run.leases)} {rng.random()}"
                run.lease(key, rng.randint(1, 3), worker=rng.choice("xy"))
            elif kind < 0.8:
                ticket = rng.choice(pending)
                cost = 0.01 if name == "budget" else None
                run.record(ticket.ticket, loss=losses, cost=cost)
            elif kind < 0.85:
                run.cancel(rng.choice(pending).ticket)
            elif name != "budget" and answered:
                run.amend(rng.choice(answered), loss=losses)


@pytest.mark.parametrize("name", LEARNERS)
def test_reopened_session_has_the_bits_of_a_replay(name: str, tmp_path: Path) -> None:
    path, rng = tmp_path / "my.run", random.Random(3)
    run = start(path, name)
    for _ in range(3):
        play(run, name, 12, rng)
        before = state(run)
        run.close()
        assert snapshot.snapshot_path(path).exists()
        assert replayed(path) == before
        run = SessionFile.open(path)
        assert state(run) == before
        assert run._saved > 0, "the snapshot was used"
        assert run.verify() == run._log.position
    run.close()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "budget"])
def test_correction_has_the_bits_of_a_replay(name: str, tmp_path: Path) -> None:
    path, rng = tmp_path / "my.run", random.Random(7)
    with start(path, name) as run:
        for _ in range(8):
            play(run, name, 5, rng)
            answered = run.view().answered_tickets.tolist()
            if answered:
                losses: Any = [rng.random() for _ in NAMES] if name == "full" else rng.random()
                run.amend(rng.choice(answered), loss=losses)
            assert state(run) == replayed(path)
        assert len(run._marks.positions) <= 6


def test_correction_replays_only_what_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(tmp_path / "my.run") as run:
        run.next(40)
        for ticket in range(1, 41):
            run.record(ticket, loss=0.5)
        seen: list[int] = []
        history_after = learner_marks.history_after

        def noted(cells: Any, position: int) -> Any:
            history = history_after(cells, position)
            seen.append(len(history))
            return history

        monkeypatch.setattr(session_file, "history_after", noted)
        run.amend(40, loss=0.25)
        run.amend(1, loss=0.25)
        assert seen[0] < 16 < 60 <= seen[1] + 20


@pytest.mark.parametrize("name", ["ucb", "full"])
def test_correction_of_another_process_has_the_bits_of_a_replay(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rng = tmp_path / "my.run", random.Random(11)
    losses: Any = [0.25, 0.5, 0.75] if name == "full" else 0.25

    def refuse(run: SessionFile) -> Any:
        raise AssertionError("everything was replayed")

    with start(path, name) as one:
        play(one, name, 30, rng)
        with SessionFile.open(path) as other:
            assert state(other) == state(one)
            answered = one.view().answered_tickets.tolist()
            for ticket in answered[:3]:
                one.amend(ticket, loss=losses)
                play(one, name, 2, rng)
            with monkeypatch.context() as patch:
                patch.setattr(SessionFile, "_replay_amended", refuse)
                assert state(other) == state(one)
                monkeypatch.setattr(session_file, "_MAX_CORRECTIONS", 0)
                one.amend(answered[0], loss=losses)
                with pytest.raises(AssertionError, match="replayed"):
                    state(other)
            assert state(other) == state(one) == replayed(path)


@pytest.mark.parametrize(
    ("ticket", "value"),
    [(1, [2.0]), (1, [0.25, 0.25]), (1, [1]), (1, {"loss": 0.25}), (2, [0.25]), (60, [0.25])],
)
def test_malformed_correction_of_another_process_is_refused(
    ticket: int, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "my.run"
    with start(path) as one, SessionFile.open(path) as other:
        one.next(5)
        one.record(1, loss=0.5)
        assert other.issued == 5
        with one._log.writing():
            one._log.append("amend", ticket, value)
        with pytest.raises(SessionError, match="damaged"):
            _ = other.issued


def test_long_session_of_a_server_is_prepared_for_corrections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a short one: its server starts without the compiler."""
    made: list[str] = []

    def noted() -> Any:
        made.append("compiled")
        return interpreted()

    monkeypatch.setattr(session_file, "compiled", noted)
    with start(tmp_path / "my.run") as run:
        run.interpreted = True
        run.prepare()
        assert (made, run.interpreted) == ([], True)
        monkeypatch.setattr(session_file, "_COMPILER_LOAD_SECONDS", 0.0)
        run.prepare()
        assert (made, run.interpreted) == (["compiled"], False)


def changed_byte(path: Path) -> None:
    content = bytearray(snapshot.snapshot_path(path).read_bytes())
    content[-9] ^= 1
    snapshot.snapshot_path(path).write_bytes(content)


def cut_off(path: Path) -> None:
    content = snapshot.snapshot_path(path).read_bytes()
    snapshot.snapshot_path(path).write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    snapshot.snapshot_path(path).write_bytes(b"")


def other_machine(path: Path) -> None:
    (Path(os.environ["TOMBOLA_CACHE"]) / "snapshots" / "key").write_bytes(bytes(32))


def other_session(path: Path) -> None:
    with start(path.with_name("other.run"), "exp3") as run:
        play(run, "exp3", 20, random.Random(2))
    shutil.copyfile(f"{path.with_name('other.run')}-snapshot", f"{path}-snapshot")


@pytest.mark.parametrize("fault", [changed_byte, cut_off, empty, other_machine, other_session])
def test_snapshot_that_does_not_fit_is_ignored(
    fault: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "my.run"
    with start(path) as run:
        play(run, "ucb", 30, random.Random(1))
        before = state(run)
    fault(path)
    with SessionFile.open(path) as run:
        assert state(run) == before
        assert run._saved == 0


def test_older_log_ignores_a_newer_snapshot(tmp_path: Path) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with start(path) as run:
        play(run, "ucb", 15, random.Random(1))
    shutil.copyfile(path, backup)
    with SessionFile.open(path) as run:
        play(run, "ucb", 15, random.Random(2))
    shutil.copyfile(backup, path)
    expected = replayed(path)
    with SessionFile.open(path) as run:
        assert (state(run), run._saved) == (expected, 0)


def test_own_learner_has_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UCB1, "__module__", "mine")
    path = tmp_path / "my.run"
    with start(path) as run:
        play(run, "ucb", 30, random.Random(1))
    assert not snapshot.snapshot_path(path).exists()
    assert not learner_marks.is_of_package(UCB1())


def test_verify_finds_a_state_that_differs(tmp_path: Path, one_sentence: Any) -> None:
    path = tmp_path / "my.run"
    with start(path) as run:
        play(run, "ucb", 30, random.Random(1))
    found = snapshot.read_snapshot(path)
    assert found is not None
    number, digest, parts = found
    memory = parts["memory"].copy()
    memory[-1] = np.nextafter(memory[-1], 9)
    snapshot.write_snapshot(path, number, digest, {**parts, "memory": memory})
    with SessionFile.open(path) as run, pytest.raises(SessionError, match="snapshot") as refused:
        run.verify()
    one_sentence(refused.value)


def test_verify_finds_a_changed_event_before_the_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    with start(path) as run:
        play(run, "ucb", 30, random.Random(1))
    with SessionFile.open(path) as run:
        run._log._connection.execute("UPDATE events SET value = '[0.5]' WHERE number = 2")
        assert run.issued > 0, "the events before a snapshot are not read"
        with pytest.raises(SessionError, match="event 2 has changed"):
            run.verify()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are of POSIX")
def test_snapshot_is_as_private_as_the_file(tmp_path: Path) -> None:
    path = tmp_path / "my.run"
    with start(path) as run:
        path.chmod(0o600)
        play(run, "ucb", 30, random.Random(1))
    assert snapshot.snapshot_path(path).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "cache" / "snapshots" / "key").stat().st_mode & 0o777 == 0o600
    assert {file.name for file in tmp_path.iterdir()} == {"my.run", "my.run-snapshot", "cache"}
