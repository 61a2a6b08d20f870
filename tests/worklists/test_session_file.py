"""SessionFile: tickets, outcomes, amendments and cancellations in a file shared by processes."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tombola import UCB1, UCB2, Exp3, Hedge, Learner, Pool, play
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError
from tombola.learners import FollowTheLeader, ThompsonSampling
from tombola.worklists import Outcome, SessionFile

NAMES = ["a", "b", "c"]

Begin = Callable[..., SessionFile]
Check = Callable[[object], str]


def bits(run: SessionFile) -> tuple[bytes, bytes, list[Any], list[Any]]:
    """Return learner state, rng, tickets and outcomes; probabilities as text, since NaN differs from itself."""
    view = run.view()
    tickets = [(ticket.round, ticket.action, repr(ticket.probability)) for ticket in view.tickets]
    assert run._session is not None
    runner = run._session._live.runner
    return runner.memory.tobytes(), runner.rng.tobytes(), tickets, view.outcomes


def rounds(assignments: Any) -> list[int]:
    return [assignment.ticket for assignment in assignments]


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    def start(learner: Learner | None = None, rows: int = 10, name: str = "my.run") -> SessionFile:
        return SessionFile.start(
            tmp_path / name, [f"id{i}" for i in range(rows)], NAMES, learner or Exp3(), seed=1
        )

    return start


@pytest.fixture
def reopen(tmp_path: Path) -> Callable[[], SessionFile]:
    return lambda: SessionFile.open(tmp_path / "my.run")


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), ThompsonSampling(), Hedge(rate=0.5)])
def test_session_file_equals_play(learner: Learner, begin: Begin) -> None:
    losses = np.random.default_rng(0).integers(0, 9, (12, 3)) / 8
    trace = play(learner, Pool(losses), seed=1)
    with begin(learner, rows=12) as run:
        for round_ in range(12):
            (one,) = run.next()
            row = losses[int(one.id.removeprefix("id"))]
            assert one.id == f"id{trace.order[round_]}"
            assert NAMES.index(one.action) == trace.actions[round_]
            run.record(
                one.ticket, loss=row if learner.feedback == "full" else row[NAMES.index(one.action)]
            )
        assert run.status().total == pytest.approx(trace.losses.sum())


@pytest.mark.parametrize("learner", [Exp3(), ThompsonSampling(), Hedge(rate=0.5)])
def test_reopened_file_is_identical(learner: Learner, begin: Begin, reopen: Begin) -> None:
    """Also if each call is made by another process, and if the last one is interpreted."""
    with begin(learner, name="whole.run") as whole:
        begin(learner).close()
        for number, answered in enumerate([None, None, 3, 1, None, 5]):
            loss = [0.125, 0.5, number / 8] if learner.feedback == "full" else number / 8
            with reopen() as cut:
                for run in (whole, cut):
                    run.next()
                    assert answered is None or run.record(answered, loss=loss)
        with interpreted(), reopen() as cut:
            assert bits(whole) == bits(cut)
            assert str(whole.pending) == str(cut.pending)
        assert rounds(whole.pending) == [2, 4, 6]


def test_two_open_files_share_events(begin: Begin, reopen: Begin) -> None:
    with begin() as one, reopen() as two:
        assert rounds([*one.next(2), *two.next(1), *one.next(1)]) == [1, 2, 3, 4]
        assert two.record(1, loss=0.5)
        assert not one.record(1, reward=0.5)
        assert bits(one) == bits(two)
        # 1 - 0.7 differs from 0.3 in the last bit; the first answer stands.
        assert one.record(3, loss=0.3)
        assert not two.record(3, reward=0.7)
        with pytest.raises(FeedbackError, match="ticket 3 has been answered"):
            two.record(3, loss=0.3 + 1e-9)
        assert bits(one) == bits(two)
        one.record(2, loss=0.25)
        one.amend(1, loss=1.0)
        assert bits(one) == bits(two)
        two.next()
        assert bits(one) == bits(two)
        assert rounds(one.pending) == [4, 5]


@pytest.mark.parametrize(
    "outcome",
    [
        *(
            Outcome(6, 0.5),
            Outcome(10**30, 0.5),
            Outcome(0, 0.5),
            Outcome(1),
            Outcome(1, 2.0),
            Outcome(1, [0.5]),
        ),
        *(Outcome(1, "x"), Outcome(4, 0.5)),
    ],
)
def test_record_all_is_atomic(outcome: Outcome, begin: Begin, one_sentence: Check) -> None:
    with begin() as run:
        run.next(5)
        assert run.record(4, reward=0.0)
        before = bits(run)
        with pytest.raises(TombolaError) as refused:
            run.record_all([Outcome(2, 0.5), Outcome(3, 0.5), outcome])
        assert ("the first answer stands" in one_sentence(refused.value)) == (outcome.ticket == 4)
        assert bits(run) == before
        assert (
            run.record_all([Outcome(2, 0.5), Outcome(3, 0.5), Outcome(2, 0.5), Outcome(4, 1.0)])
            == 2
        )
        assert run.status().total == 2.0


def test_failed_append_changes_nothing(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    with begin() as run:
        run.next(2)
        before = bits(run)

        def full(*event: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(run._log, "append", full)
            for call in (run.next, lambda: run.record(1, loss=0.5)):
                with pytest.raises(SessionError, match="nothing was changed"):
                    call()
        assert bits(run) == before
        assert rounds(run.next()) == [3]


def test_next_after_last_row_raises(begin: Begin, one_sentence: Check) -> None:
    with begin(rows=1) as run:
        assert rounds(run.next(5)) == [1]
        with pytest.raises(SessionError) as over:
            run.next()
        assert "got none of 1 row, and 1 pending ticket" in one_sentence(over.value)
        assert run.record(1, loss=0.0)


@pytest.mark.parametrize(
    ("ids", "actions"),
    [
        *(
            ([], ["a"]),
            (["x", "x"], ["a"]),
            (["x"], []),
            (["x"], ["a", "a"]),
            ([" "], ["a"]),
            (["x"], ["a", "..."]),
        ),
        *((["\ud800"], ["a"]), (["x"], ["\udfff"])),
    ],
)
def test_start_rejects_bad_names(
    ids: list[str], actions: list[str], tmp_path: Path, one_sentence: Check
) -> None:
    with pytest.raises(ParameterError) as refused:
        SessionFile.start(tmp_path / "my.run", ids, actions, UCB1(), seed=1)
    one_sentence(refused.value)
    assert not (tmp_path / "my.run").exists()


def test_unknown_id_raises(begin: Begin) -> None:
    with begin() as run:
        for id_ in ("nobody", "\ud800"):
            with pytest.raises(FeedbackError, match="check its name"):
                run.ticket_of(id_)


def test_start_never_overwrites(begin: Begin, tmp_path: Path, one_sentence: Check) -> None:
    with begin() as run:
        run.next(3)
    (tmp_path / "note.txt").write_text("something that is no database at all" * 9)
    for name in ("my.run", "note.txt"):
        content = (tmp_path / name).read_bytes()
        with pytest.raises(SessionError) as refused:
            begin(UCB1(), name=name)
        one_sentence(refused.value)
        assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("content", [None, b"", b"text", b"SQLite format 3\0" + b"\7" * 2000])
def test_open_rejects_other_files(
    content: bytes | None, tmp_path: Path, one_sentence: Check
) -> None:
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
    change: str, words: str, begin: Begin, reopen: Begin, tmp_path: Path, one_sentence: Check
) -> None:
    with begin() as run:
        run.next(10)
    with closing(sqlite3.connect(tmp_path / "my.run")) as connection, connection:
        connection.execute(change)
    with pytest.raises(SessionError) as refused, reopen() as again:
        again.next()
    assert words in one_sentence(refused.value)


def test_forked_child_raises(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    with begin() as run:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(SessionError, match="got a fork"):
            run.next()


@dataclass(frozen=True)
class Mine(Learner):
    """The first action, always, with a probability above 1: a custom learner may report any."""

    feedback: ClassVar[Any] = "bandit"

    def init(self, actions: int, horizon: int) -> Any:
        return UCB1().init(actions, horizon)

    @staticmethod
    def act(state: Any, rng: Any) -> tuple[int, float]:
        return 0, 1.25

    @staticmethod
    def observe(state: Any, action: int, probability: float, loss: float) -> None:
        pass


def test_open_needs_custom_learner(begin: Begin, reopen: Begin, tmp_path: Path) -> None:
    with begin(Mine()) as run:
        assert run.next()[0].probability == 1.25
    with pytest.raises(SessionError):
        reopen()
    with SessionFile.open(tmp_path / "my.run", learner=Mine()) as run:
        assert run.pending[0].probability == 1.25
        assert rounds(run.next()) == [2]


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), Hedge(rate=0.5)])
def test_amend_equals_correct_outcome(learner: Learner, begin: Begin) -> None:
    """The learner knows what it would know; what was played before the amendment stays as it was."""
    full = learner.feedback == "full"

    def loss_argument(value: float) -> Any:
        return [value, 0.25, 1 - value] if full else value

    with begin(learner, name="wrong.run") as wrong, begin(learner, name="right.run") as right:
        wrong.next(6), right.next(6)  # all before the first outcome, so that both play the same
        for run, second in ((wrong, 0.125), (right, 1.0)):
            losses = {1: 0.5, 2: second, 4: 0.25}
            run.record_all(Outcome(round_, loss_argument(loss)) for round_, loss in losses.items())
        before = wrong.amend(2, loss=loss_argument(1.0))
        assert before == (tuple(loss_argument(0.125)) if full else 0.125)
        assert bits(wrong) == bits(right)
        assert str(wrong.next(3)) == str(right.next(3))
        assert not wrong.record(2, loss=loss_argument(1.0))
        with pytest.raises(FeedbackError, match="first answer stands"):
            wrong.record(2, loss=loss_argument(0.125))
        assert wrong.amend(2, loss=loss_argument(0.125)) == right.amend(
            2, loss=loss_argument(0.125)
        )
        assert bits(wrong) == bits(right)
        with pytest.raises(FeedbackError, match="record it first"):
            wrong.amend(3, loss=loss_argument(0.5))


def test_amend_keeps_issued_tickets(begin: Begin, reopen: Begin) -> None:
    with begin(UCB1(), rows=30) as run:
        for round_ in range(1, 21):
            (one,) = run.next()
            run.record(round_, loss={"a": 0.0, "b": 0.75, "c": 0.5}[one.action])
        played = [ticket.action for ticket in run.view().tickets]
        run.amend(1, loss=1.0)
        for round_ in range(21, 26):
            run.next()
            run.record(round_, loss=0.5)
        assert [ticket.action for ticket in run.view().tickets][:20] == played
        assert run.status().amended == 1
        with reopen() as again:
            assert bits(again) == bits(run)
            again._forget()
            assert bits(again) == bits(run)


@pytest.mark.usefixtures("plainly")
def test_tickets_between_amendments_stay(begin: Begin) -> None:
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
def test_ticket_after_amendment_is_checked(action: int, begin: Begin, reopen: Begin) -> None:
    """By a process that had the file open before, and by one that opens it."""
    with begin(FollowTheLeader()) as run, reopen() as other:
        assert other.issued == 0
        run.next()
        run.record(1, loss=[0.0, 1.0, 1.0])
        run.amend(1, loss=[1.0, 0.0, 1.0])
        with run._log.writing():
            run._log.append("ticket", 2, [action, 1.0])
        for reader in (other, reopen()):
            if action == 1:
                assert reader.issued == 2
            else:
                with pytest.raises(SessionError, match="does not repeat"):
                    reader.status()
            reader.close()


def test_cancelled_ticket_is_closed(begin: Begin, reopen: Begin, one_sentence: Check) -> None:
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
        assert (now.answered, now.cancelled, rounds(now.pending)) == (1, 1, [3])
    with reopen() as run:
        assert rounds(run.pending) == [3]
        assert rounds(run.next()) == [4]


def test_page_escapes_names(tmp_path: Path) -> None:
    from tombola.worklists.session_page import session_page

    names = ["<script>alert(1)</script>", "b & c"]
    with SessionFile.start(
        tmp_path / "my.run", [f"<i>{n}</i>" for n in range(30)], names, UCB1(), seed=1
    ) as run:
        assert "Open: nothing is proved yet about the best of 2 actions" in session_page(run)
        run.next(20)
        run.record_all(Outcome(round_, round_ % 2) for round_ in range(1, 11))
        run.amend(3, loss=0.5)
        page = session_page(run)
    assert "<script>alert" not in page
    assert "<i>" not in page
    assert "b &amp; c" in page
    assert "10 tickets have no outcome yet" in page
    assert "amended" in page


def test_page_ends_its_answer_with_the_next_command(tmp_path: Path) -> None:
    """New rows first, then the pending ones; after the last outcome there is none."""
    from tombola.worklists.session_page import session_page

    commands = []
    with SessionFile.start(
        tmp_path / "my.run", [str(n) for n in range(4)], ["a", "b"], UCB1(), seed=1
    ) as run:
        for count in (3, 1):
            run.next(count)
            commands.append(re.findall("(?<=<code>)tombola session next[^<]*", session_page(run)))
        run.record_all(Outcome(round_, 0.0) for round_ in range(1, 5))
        commands.append(re.findall("tombola session next", session_page(run)))
    assert commands == [
        ["tombola session next my.run --count 1 --out next.csv"],
        ["tombola session next my.run --again --out pending.csv"],
        [],
    ]


def test_page_keeps_open_tickets_out_of_captions_and_prints_all(tmp_path: Path) -> None:
    from tombola.worklists.session_page import session_page

    with SessionFile.start(
        tmp_path / "my.run", [str(n) for n in range(30)], ["a", "b"], UCB1(), seed=1
    ) as run:
        run.next(20)
        run.record_all(Outcome(round_, 0.5) for round_ in range(2, 15))
        page = session_page(run)
        advice = run.status().advice
    assert advice.startswith("ticket 1 ")
    assert f"<p>T{advice[1:]}.</p>" in page, "a paragraph of its own"
    assert "all intervals hold simultaneously.</p>" in page
    assert "A share is how often the learner chose an action" in page
    assert "details::details-content { content-visibility: visible; }" in page


@pytest.mark.usefixtures("plainly")
def test_numpy_ticket_numbers(tmp_path: Path) -> None:
    """As a column of pandas has them: they were written as bytes, and the file could not be read again."""
    first, second, third = tickets = np.array([1, 2, 3])
    ids: Any = range(5)
    with SessionFile.start(
        tmp_path / "n.run", ids, ["a", "b"], UCB1(), seed=int(tickets[0])
    ) as run:
        run.next(4)
        assert (run.record(first, loss=0.5), run.record(first, loss=0.5), run.cancel(second)) == (
            True,
            False,
            True,
        )
        assert run.record(third, loss=0.5)
        assert run.amend(third, loss=0.75) == 0.5
        assert run.assignment(third) == run.assignment(3)
        assert run.ticket_of(run.assignment(4).id) == run.ticket_of(int(run.assignment(4).id)) == 4  # type: ignore[arg-type]
    with SessionFile.open(tmp_path / "n.run") as run:
        now = run.status()
        assert (now.answered, now.cancelled, now.total) == (2, 1, 1.25)


@pytest.mark.usefixtures("plainly")
def test_rejected_feedback_keeps_replayed_session(begin: Begin) -> None:
    """A mistake in one call must not make the next one replay the whole log."""
    with begin() as run:
        run.next(3)
        session = run._session
        for bad in (Outcome(1, 7.0), Outcome(9, 0.5), Outcome(1)):
            with pytest.raises(FeedbackError):
                run.record_all([bad])
        # A batch is checked before its first outcome is stored.
        run.record(3, loss=0.5)
        for second in (Outcome(2, 7.0), Outcome(1, 0.25), Outcome(3, 0.25)):
            with pytest.raises(FeedbackError):
                run.record_all([Outcome(1, 0.5), second])
            assert run._session is session
            assert rounds(run.pending) == [1, 2]
        assert run.record_all([Outcome(1, 0.5), Outcome(1, 0.5)]) == 1


@pytest.mark.usefixtures("plainly")
def test_sql_view_of_tickets(begin: Begin, tmp_path: Path) -> None:
    """Each ticket is listed once, whether it was leased or not."""
    with begin() as run:
        one, two = *run.next(), *run.lease("key")
        run.record(1, loss=0.5)
    with closing(sqlite3.connect(tmp_path / "my.run")) as connection:
        found = connection.execute(
            "SELECT ticket, id, action, kind, value FROM tickets ORDER BY ticket"
        ).fetchall()
    assert found == [
        (1, one.id, one.action, "outcome", "[0.5]"),
        (2, two.id, two.action, None, None),
    ]
