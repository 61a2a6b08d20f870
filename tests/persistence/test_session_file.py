"""SessionFile: tickets, outcomes, amendments and cancellations in a file shared by processes."""

import json
import math
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tombola import UCB1, UCB2, Exp3, Hedge, Learner, Pool, play
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError
from tombola.learners import FollowTheLeader, ThompsonSampling
from tombola.persistence import Assignment, Outcome, SessionFile

NAMES = ["a", "b", "c"]


def bits(run: SessionFile) -> tuple[bytes, bytes, list[Any], list[Any]]:
    """Return learner state, rng, tickets and outcomes; probabilities as text, since NaN differs from itself."""
    view = run.view()
    tickets = [(ticket.round, ticket.action, repr(ticket.probability)) for ticket in view.tickets]
    assert run._session is not None
    runner = run._session._live.runner
    return runner.memory.tobytes(), runner.rng.tobytes(), tickets, view.outcomes


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., SessionFile]:
    def start(learner: Learner | None = None, rows: int = 10, name: str = "my.run") -> SessionFile:
        return SessionFile.start(tmp_path / name, [f"id{i}" for i in range(rows)], NAMES, learner or Exp3(), seed=1)

    return start


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), ThompsonSampling(), Hedge(rate=0.5)])
def test_session_file_equals_play(learner: Learner, begin: Callable[..., SessionFile]) -> None:
    losses = np.random.default_rng(0).integers(0, 9, (12, 3)) / 8
    trace = play(learner, Pool(losses), seed=1)
    with begin(learner, rows=12) as run:
        for round_ in range(12):
            (one,) = run.next()
            row = losses[int(one.id.removeprefix("id"))]
            assert one.id == f"id{trace.order[round_]}"
            assert NAMES.index(one.action) == trace.actions[round_]
            run.record(one.round, loss=row if learner.feedback == "full" else row[NAMES.index(one.action)])
        assert run.status().loss == pytest.approx(trace.losses.sum())


@pytest.mark.parametrize("learner", [Exp3(), ThompsonSampling(), Hedge(rate=0.5)])
def test_reopened_file_is_identical(learner: Learner, begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    whole, cut = begin(learner, name="whole.run"), begin(learner, name="cut.run")
    for number, answered in enumerate([None, None, 3, 1, None, 5]):
        loss = [0.125, 0.5, number / 8] if learner.feedback == "full" else number / 8
        cut.close()
        cut = SessionFile.open(tmp_path / "cut.run")
        for run in (whole, cut):
            run.next()
            assert answered is None or run.record(answered, loss=loss)
    assert bits(whole) == bits(cut)
    assert str(whole.pending) == str(cut.pending)
    assert [one.round for one in whole.pending] == [2, 4, 6]
    whole.close()
    cut.close()


def test_plain_python_is_identical(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as compiled:
        compiled.next(8)
        compiled.record_all([Outcome(3, 0.125), Outcome(1, 1.0)])
        with interpreted(), SessionFile.open(tmp_path / "my.run") as run:
            assert bits(run) == bits(compiled)
            run.next()
        assert [one.round for one in compiled.pending] == [2, 4, 5, 6, 7, 8, 9]


def test_two_open_files_share_events(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as one, SessionFile.open(tmp_path / "my.run") as two:
        given = [one.next(2), two.next(1), one.next(1)]
        assert [a.round for group in given for a in group] == [1, 2, 3, 4]
        assert two.record(1, loss=0.5)
        assert not one.record(1, reward=0.5)
        assert bits(one) == bits(two)
        assert [a.round for a in one.pending] == [2, 3, 4]


def test_record_contradiction_raises(begin: Callable[..., SessionFile], one_sentence: Callable[[object], str]) -> None:
    with begin() as run:
        run.next(5)
        assert run.record(4, loss=1.0)
        assert run.record(2, reward=0.75)
        assert not run.record(2, loss=0.25)
        before = bits(run)
        with pytest.raises(FeedbackError) as refused:
            run.record(2, loss=0.5)
        assert "the first answer stands" in one_sentence(refused.value)
        assert bits(run) == before
        assert run.status().loss == 1.25


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(6, 0.5),
        Outcome(10**30, 0.5),
        Outcome(0, 0.5),
        Outcome(1),
        Outcome(1, 2.0),
        Outcome(1, [0.5]),
        Outcome(1, "x"),
    ],
)
def test_record_all_is_atomic(
    outcome: Outcome, begin: Callable[..., SessionFile], one_sentence: Callable[[object], str]
) -> None:
    with begin() as run:
        run.next(5)
        before = bits(run)
        with pytest.raises(TombolaError) as refused:
            run.record_all([Outcome(2, 0.5), Outcome(3, 0.5), outcome])
        one_sentence(refused.value)
        assert bits(run) == before
        assert run.record_all([Outcome(2, 0.5), Outcome(3, 0.5), Outcome(2, 0.5)]) == 2


def test_failed_append_changes_nothing(begin: Callable[..., SessionFile], monkeypatch: pytest.MonkeyPatch) -> None:
    with begin() as run:
        run.next(2)
        before = bits(run)

        def full(*event: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(run._log, "append", full)
            with pytest.raises(SessionError, match="nothing was changed"):
                run.next()
            with pytest.raises(SessionError, match="nothing was changed"):
                run.record(1, loss=0.5)
        assert bits(run) == before
        assert [a.round for a in run.next()] == [3]


def test_next_after_last_row_raises(begin: Callable[..., SessionFile], one_sentence: Callable[[object], str]) -> None:
    with begin(rows=1) as run:
        assert [a.round for a in run.next(5)] == [1]
        with pytest.raises(SessionError) as over:
            run.next()
        assert "got none of 1 row, and 1 pending ticket" in one_sentence(over.value)
        assert run.record(1, loss=0.0)


@pytest.mark.parametrize(
    ("ids", "actions"),
    [([], ["a"]), (["x", "x"], ["a"]), (["x"], []), (["x"], ["a", "a"]), ([" "], ["a"]), (["x"], ["a", "..."])],
)
def test_start_rejects_bad_names(
    ids: list[str], actions: list[str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(ParameterError) as refused:
        SessionFile.start(tmp_path / "my.run", ids, actions, UCB1(), seed=1)
    one_sentence(refused.value)
    assert not (tmp_path / "my.run").exists()


def test_start_never_overwrites(
    begin: Callable[..., SessionFile], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with begin() as run:
        run.next(3)
    content = (tmp_path / "my.run").read_bytes()
    with pytest.raises(SessionError) as refused:
        begin(UCB1())
    assert "nothing is overwritten" in one_sentence(refused.value)
    assert (tmp_path / "my.run").read_bytes() == content
    (tmp_path / "note.txt").write_text("something that is no database at all" * 9)
    with pytest.raises(SessionError):
        begin(name="note.txt")
    assert (tmp_path / "note.txt").read_text().startswith("something")


@pytest.mark.parametrize("content", [None, b"", b"text", b"SQLite format 3\0" + b"\7" * 2000])
def test_open_rejects_other_files(content: bytes | None, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    if content is not None:
        (tmp_path / "x.run").write_bytes(content)
    with pytest.raises(SessionError) as refused:
        SessionFile.open(tmp_path / "x.run")
    one_sentence(refused.value)
    assert (tmp_path / "x.run").exists() == (content is not None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version = 7", "format 7"),
        ("PRAGMA application_id = 3", "something else"),
        ("UPDATE events SET value = '[1, 0.25]' WHERE number = 2", "event 2 has changed"),
        ("UPDATE about SET value = '8' WHERE name = 'seed'", "configuration has changed"),
    ],
)
def test_open_rejects_changed_file(
    change: str, words: str, begin: Callable[..., SessionFile], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with begin() as run:
        run.next(10)
    connection = sqlite3.connect(tmp_path / "my.run")
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(SessionError) as refused, SessionFile.open(tmp_path / "my.run") as again:
        again.next()
    assert words in one_sentence(refused.value)


def test_forked_child_raises(begin: Callable[..., SessionFile], monkeypatch: pytest.MonkeyPatch) -> None:
    with begin() as run:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(SessionError, match="got a fork"):
            run.next()


@dataclass(frozen=True)
class Mine(Learner):
    """The first action, always."""

    feedback: ClassVar[Any] = "bandit"

    def init(self, actions: int, horizon: int) -> Any:
        return UCB1().init(actions, horizon)

    @staticmethod
    def act(state: Any, rng: Any) -> tuple[int, float]:
        return 0, 1.0

    @staticmethod
    def observe(state: Any, action: int, probability: float, loss: float) -> None:
        pass


def test_open_needs_custom_learner(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin(Mine()) as run:
        run.next()
    with pytest.raises(SessionError):
        SessionFile.open(tmp_path / "my.run")
    with SessionFile.open(tmp_path / "my.run", learner=Mine()) as run:
        assert [a.round for a in run.next()] == [2]


def _nothing_before(given: list[Assignment]) -> int:
    """Return 1 if the last ticket is the first of its action among the five that are pending."""
    return int(all(one.action != given[-1].action for one in given[-5:-1]))


@pytest.mark.parametrize("learner", [Exp3(), Hedge(rate=0.5)])
def test_status_counts_and_means(learner: Learner, begin: Callable[..., SessionFile]) -> None:
    full = learner.feedback == "full"
    with begin(learner, rows=50) as run:
        given = run.next(40)
        losses = np.random.default_rng(2).integers(0, 9, (41, 3)) / 8
        rows = [(one.round, losses[one.round], NAMES.index(one.action)) for one in given[:-5]]
        run.record_all(Outcome(round_, row if full else row[action]) for round_, row, action in rows)
        now = run.status()
        assert (now.rows, now.played, now.answered, len(now.pending)) == (50, 40, 35, 5)
        assert now.switches == sum(a.action != b.action for a, b in pairwise(given))
        assert now.loss == pytest.approx(sum(losses[a.round][NAMES.index(a.action)] for a in given[:-5]))
        for index, action in enumerate(now.actions):
            mine = [losses[a.round][index] for a in given[:-5] if full or a.action == action.name]
            assert (action.plays, action.known) == (sum(a.action == action.name for a in given), len(mine))
            assert action.mean == pytest.approx(np.mean(mine))
            assert action.low <= action.mean <= action.high
        assert now.best in now.estimate
        assert now.advice == ""
        run.record(given[-1].round, loss=[0.5] * 3 if full else 0.5)
        later = run.status()
        used, known = sum(a.used for a in later.actions), sum(a.known for a in later.actions)
        assert used == (known - 3 if full else sum(a.used for a in now.actions) + _nothing_before(given))
        assert bool(later.advice) == (used < known)
        assert json.loads(json.dumps(now.to_json(), allow_nan=False))["answered"] == 35


def test_status_and_page_without_tickets(begin: Callable[..., SessionFile]) -> None:
    from tombola.persistence.session_page import session_page

    with begin(ThompsonSampling()) as run:
        now = run.status()
        assert all(math.isnan(action.mean) for action in now.actions)
        assert json.loads(json.dumps(now.to_json(), allow_nan=False))["actions"][0]["mean"] is None
        assert "<html" in session_page(run)


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), Hedge(rate=0.5)])
def test_amend_equals_correct_outcome(learner: Learner, begin: Callable[..., SessionFile]) -> None:
    """The learner knows what it would know; what was played before the amendment stays as it was."""
    full = learner.feedback == "full"

    def loss_argument(value: float) -> Any:
        return [value, 0.25, 1 - value] if full else value

    with begin(learner, name="wrong.run") as wrong, begin(learner, name="right.run") as right:
        wrong.next(6), right.next(6)  # all before the first outcome, so that both play the same
        for run, second in ((wrong, 0.125), (right, 1.0)):
            run.record_all(
                [Outcome(1, loss_argument(0.5)), Outcome(2, loss_argument(second)), Outcome(4, loss_argument(0.25))]
            )
        before = wrong.amend(2, loss=loss_argument(1.0))
        assert before == (tuple(loss_argument(0.125)) if full else 0.125)
        assert bits(wrong) == bits(right)
        given = wrong.next(3)
        assert str(given) == str(right.next(3))
        assert not wrong.record(2, loss=loss_argument(1.0))
        with pytest.raises(FeedbackError, match="first answer stands"):
            wrong.record(2, loss=loss_argument(0.125))
        assert wrong.amend(2, loss=loss_argument(0.125)) == right.amend(2, loss=loss_argument(0.125))
        assert bits(wrong) == bits(right)
        with pytest.raises(FeedbackError, match="record it first"):
            wrong.amend(3, loss=loss_argument(0.5))


def test_amend_keeps_issued_tickets(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin(UCB1(), rows=30) as run:
        for round_ in range(1, 21):
            (one,) = run.next()
            run.record(round_, loss={"a": 0.0, "b": 0.75, "c": 0.5}[one.action])
        played = [ticket.action for ticket in run.view().tickets]
        run.amend(1, loss=1.0)
        for round_ in range(21, 26):
            (one,) = run.next()
            run.record(round_, loss=0.5)
        assert [ticket.action for ticket in run.view().tickets][:20] == played
        assert run.status().amended == 1
        before = bits(run)
        with SessionFile.open(tmp_path / "my.run") as again:
            assert bits(again) == before
            again._forget()
            assert bits(again) == before


@pytest.mark.usefixtures("plainly")
def test_tickets_between_amendments_stay(begin: Callable[..., SessionFile]) -> None:
    with begin(FollowTheLeader()) as run:
        run.next(2)
        for round_ in (1, 2):
            run.record(round_, loss=[0.0, 1.0, 1.0])
        run.amend(1, loss=[0.5, 0.75, 0.75])
        assert run.next()[0].action == "a"
        run.amend(2, loss=[1.0, 0.0, 1.0])
        assert run.next()[0].action == "b"


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("action", range(3))
def test_ticket_after_amendment_is_checked(action: int, begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    """By a process that had the file open before, and by one that opens it."""
    with begin(FollowTheLeader()) as run, SessionFile.open(tmp_path / "my.run") as other:
        assert other.round == 0
        run.next()
        run.record(1, loss=[0.0, 1.0, 1.0])
        run.amend(1, loss=[1.0, 0.0, 1.0])
        with run._log.writing():
            run._log.append("ticket", 2, [action, 1.0])
        for reader in (other, SessionFile.open(tmp_path / "my.run")):
            if action == 1:
                assert reader.round == 2
            else:
                with pytest.raises(SessionError, match="does not repeat"):
                    reader.status()
            reader.close()


def test_amend_reaches_other_open_file(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as one, SessionFile.open(tmp_path / "my.run") as two:
        one.next(4)
        two.record(1, loss=0.5)
        one.record(2, loss=0.25)
        one.amend(1, loss=1.0)
        assert bits(one) == bits(two)
        two.next()
        assert bits(one) == bits(two)


def test_cancelled_ticket_is_closed(
    begin: Callable[..., SessionFile], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with begin() as run:
        run.next(3)
        run.record(1, loss=0.5)
        assert run.cancel(2)
        assert not run.cancel(2)
        calls: list[Callable[[], bool]] = [
            lambda: run.record(2, loss=0.5),
            lambda: run.cancel(1),
            lambda: run.cancel(9),
        ]
        for call in calls:
            with pytest.raises(FeedbackError) as refused:
                call()
            one_sentence(refused.value)
        now = run.status()
        assert (now.answered, now.cancelled, [one.round for one in now.pending]) == (1, 1, [3])
    with SessionFile.open(tmp_path / "my.run") as run:
        assert [one.round for one in run.pending] == [3]
        assert [one.round for one in run.next()] == [4]


def test_start_rejects_lone_surrogates(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    for ids, actions in ((["\ud800"], ["a"]), (["x"], ["\udfff"])):
        with pytest.raises(ParameterError) as refused:
            SessionFile.start(tmp_path / "my.run", ids, actions, UCB1(), seed=1)
        one_sentence(refused.value)
    with SessionFile.start(tmp_path / "my.run", ["x"], ["a"], UCB1(), seed=1) as run, pytest.raises(FeedbackError):
        run.round_of("\ud800")


def test_page_escapes_names(tmp_path: Path) -> None:
    from tombola.persistence.session_page import session_page

    names = ["<script>alert(1)</script>", "b & c"]
    with SessionFile.start(tmp_path / "my.run", [f"<i>{n}</i>" for n in range(30)], names, UCB1(), seed=1) as run:
        run.next(20)
        run.record_all(Outcome(round_, round_ % 2) for round_ in range(1, 11))
        run.amend(3, loss=0.5)
        page = session_page(run)
    assert "<script>alert" not in page
    assert "<i>" not in page
    assert "b &amp; c" in page
    assert "10 tickets have no outcome yet" in page
    assert "amended" in page


@pytest.mark.usefixtures("plainly")
def test_numpy_ticket_numbers(tmp_path: Path) -> None:
    """As a column of pandas has them: they were written as bytes, and the file could not be read again."""
    first, second, third = tickets = np.array([1, 2, 3])
    ids: Any = range(5)
    with SessionFile.start(tmp_path / "n.run", ids, ["a", "b"], UCB1(), seed=int(tickets[0])) as run:
        run.next(4)
        assert (run.record(first, loss=0.5), run.record(first, loss=0.5), run.cancel(second)) == (True, False, True)
        assert run.record(third, loss=0.5)
        assert run.amend(third, loss=0.75) == 0.5
        assert run.assignment(third) == run.assignment(3)
        assert run.round_of(run.assignment(4).id) == run.round_of(int(run.assignment(4).id)) == 4  # type: ignore[arg-type]
    with SessionFile.open(tmp_path / "n.run") as run:
        now = run.status()
        assert (now.answered, now.cancelled, now.loss) == (2, 1, 1.25)


@pytest.mark.usefixtures("plainly")
def test_rejected_feedback_keeps_replayed_session(begin: Callable[..., SessionFile]) -> None:
    """A mistake in one call must not make the next one replay the whole log."""
    with begin() as run:
        run.next(3)
        session = run._session
        for bad in (Outcome(1, 7.0), Outcome(9, 0.5), Outcome(1)):
            with pytest.raises(FeedbackError):
                run.record_all([bad])
        assert run._session is session
        with pytest.raises(FeedbackError):
            run.record_all([Outcome(1, 0.5), Outcome(2, 7.0)])
        assert run._session is None
        assert [one.round for one in run.pending] == [1, 2, 3]


@pytest.mark.usefixtures("plainly")
def test_sql_view_of_tickets(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as run:
        (given,) = run.next()
        run.record(1, loss=0.5)
    connection = sqlite3.connect(tmp_path / "my.run")
    found = connection.execute("SELECT ticket, id, action, kind, value FROM tickets").fetchall()
    connection.close()
    assert found == [(1, given.id, given.action, "outcome", "[0.5]")]


@dataclass(frozen=True)
class Overconfident(Mine):
    """Reports a probability above 1."""

    @staticmethod
    def act(state: Any, rng: Any) -> tuple[int, float]:
        return 0, 1.25


@pytest.mark.usefixtures("plainly")
def test_probability_above_one_is_read_again(tmp_path: Path) -> None:
    """A custom learner may report any probability."""
    with SessionFile.start(tmp_path / "my.run", list("abc"), ["a", "b"], Overconfident(), seed=1) as run:
        assert run.next()[0].probability == 1.25
    with SessionFile.open(tmp_path / "my.run", Overconfident()) as run:
        assert run.pending[0].probability == 1.25
