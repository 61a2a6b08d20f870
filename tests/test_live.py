"""Live runs: the file, every way in which feedback can come, and the commands."""

import json
import math
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from tombola import UCB1, UCB2, Exp3, Hedge, Learner, Pool, play
from tombola.cli.session import app
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, ParameterError, SessionError, TableError, TombolaError
from tombola.learners import FollowTheLeader, ThompsonSampling
from tombola.learners.parse import parse_learner
from tombola.persistence import Assignment, Outcome, SessionFile
from tombola.persistence.session_csv import read_ids, read_outcomes

NAMES = ["a", "b", "c"]


def bits(run: SessionFile) -> tuple[bytes, bytes, list[Any], list[Any]]:
    """Return everything that a run remembers; probabilities as text, since NaN is not itself."""
    book = run.book()
    tickets = [(ticket.round, int(ticket.action), repr(float(ticket.probability))) for ticket in book.tickets]
    assert run.state is not None
    assert run._mind is not None
    runner = run._mind.runner
    return runner.memory.tobytes(), runner.rng.tobytes(), tickets, list(book.outcomes)


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., SessionFile]:
    def start(learner: Learner | None = None, rows: int = 10, name: str = "my.run") -> SessionFile:
        return SessionFile.start(tmp_path / name, [f"id{i}" for i in range(rows)], NAMES, learner or Exp3(), seed=1)

    return start


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), ThompsonSampling(), Hedge(rate=0.5)])
def test_a_live_run_plays_what_play_plays(learner: Learner, begin: Callable[..., SessionFile]) -> None:
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
def test_a_run_opened_again_after_every_call_is_the_same_to_the_bit(
    learner: Learner, begin: Callable[..., SessionFile], tmp_path: Path
) -> None:
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


def test_a_run_goes_on_without_compiling(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as compiled:
        compiled.next(8)
        compiled.record_all([Outcome(3, 0.125), Outcome(1, 1.0)])
        with interpreted(), SessionFile.open(tmp_path / "my.run") as run:
            assert bits(run) == bits(compiled)
            run.next()
        assert [one.round for one in compiled.pending] == [2, 4, 5, 6, 7, 8, 9]


def test_two_runs_open_on_one_file_see_each_other(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin() as one, SessionFile.open(tmp_path / "my.run") as two:
        given = [one.next(2), two.next(1), one.next(1)]
        assert [a.round for group in given for a in group] == [1, 2, 3, 4]
        assert two.record(1, loss=0.5)
        assert not one.record(1, reward=0.5)
        assert bits(one) == bits(two)
        assert [a.round for a in one.pending] == [2, 3, 4]


def test_outcomes_come_in_any_order_and_twice_but_never_contradict(
    begin: Callable[..., SessionFile], one_sentence: Callable[[object], str]
) -> None:
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
def test_many_outcomes_are_recorded_all_or_none(
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


def test_what_fails_to_reach_the_file_is_forgotten(
    begin: Callable[..., SessionFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin() as run:
        run.next(2)
        before = bits(run)

        def full(*event: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(run._journal, "append", full)
            with pytest.raises(SessionError, match="nothing was changed"):
                run.next()
            with pytest.raises(SessionError, match="nothing was changed"):
                run.record(1, loss=0.5)
        assert bits(run) == before
        assert [a.round for a in run.next()] == [3]


def test_the_file_itself_refuses_a_second_ticket_or_outcome_of_a_round(
    begin: Callable[..., SessionFile], tmp_path: Path
) -> None:
    with begin() as run:
        (given,) = run.next()
        run.record(1, loss=0.5)
    connection = sqlite3.connect(tmp_path / "my.run")
    for kind in ("ticket", "outcome"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO events VALUES (99, ?, 1, 0, '', '')", (kind,))
    assert connection.execute("SELECT ticket, action, kind, value FROM plays").fetchall() == [
        (1, given.action, "outcome", '{"loss": 0.5}')
    ]
    connection.close()


def test_the_rows_end(begin: Callable[..., SessionFile], one_sentence: Callable[[object], str]) -> None:
    with begin(rows=1) as run:
        assert [a.round for a in run.next(5)] == [1]
        with pytest.raises(SessionError) as over:
            run.next()
        assert "all 1 rows" in one_sentence(over.value)
        assert run.record(1, loss=0.0)


@pytest.mark.parametrize(
    ("ids", "actions"),
    [([], ["a"]), (["x", "x"], ["a"]), (["x"], []), (["x"], ["a", "a"]), ([" "], ["a"]), (["x"], ["a", "..."])],
)
def test_bad_names_start_nothing(
    ids: list[str], actions: list[str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    with pytest.raises(ParameterError) as refused:
        SessionFile.start(tmp_path / "my.run", ids, actions, UCB1(), seed=1)
    one_sentence(refused.value)
    assert not (tmp_path / "my.run").exists()


def test_nothing_is_overwritten(
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
def test_other_files_are_refused(content: bytes | None, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    if content is not None:
        (tmp_path / "x.run").write_bytes(content)
    with pytest.raises(SessionError) as refused:
        SessionFile.open(tmp_path / "x.run")
    one_sentence(refused.value)
    assert (tmp_path / "x.run").exists() == (content is not None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version = 3", "format 3"),
        ("PRAGMA application_id = 3", "something else"),
        ("UPDATE events SET value = '[1, 0.25]' WHERE number = 2", "event 2 has changed"),
        ("UPDATE about SET value = '8' WHERE name = 'seed'", "decided at the start"),
    ],
)
def test_a_changed_file_is_refused(
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


def test_a_child_must_open_the_file_for_itself(
    begin: Callable[..., SessionFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin() as run:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(SessionError, match="open it again in the child"):
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


def test_a_learner_of_your_own_is_given_again(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
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
def test_the_status_says_what_happened(learner: Learner, begin: Callable[..., SessionFile]) -> None:
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


def test_an_unplayed_run_has_a_status_and_a_page(begin: Callable[..., SessionFile]) -> None:
    from tombola.persistence.session_page import run_page

    with begin(ThompsonSampling()) as run:
        now = run.status()
        assert all(math.isnan(action.mean) for action in now.actions)
        assert json.loads(json.dumps(now.to_json(), allow_nan=False))["actions"][0]["mean"] is None
        assert "<html" in run_page(run)


@pytest.mark.parametrize(
    "text", ["Nobody", "UCB2(3)", "UCB2(beta=1)", "UCB2(alpha=7)", "1", "", "UCB2(alpha=open('x'))", "a.b()"]
)
def test_learners_that_cannot_be_named(text: str, one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_learner(text)
    one_sentence(refused.value)


def test_learners_are_named_as_python_prints_them() -> None:
    for learner in (UCB2(alpha=0.25), Hedge(rate=0.5), parse_learner("Simulation(base=FollowTheLeader())")):
        assert parse_learner(repr(learner)) == learner


def test_tables_of_ids(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def ids(name: str, content: bytes | str, column: str | None = None) -> list[str]:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_ids(tmp_path / name, column)

    assert ids("a.csv", "x,id\n1, p \n2,q\n\n") == ["p", "q"]
    assert ids("a.csv", 'name,age\n"Ann, B",3\n', "name") == ["Ann, B"]
    assert ids("a.tsv", "id\tx\np,q\t1\n") == ["p,q"]
    assert ids("a.txt", '\ufeffid\nsay "x\nq\n') == ['say "x', "q"]
    assert ids("a.txt", "p\n\n q \n \n") == ["p", "q"], "blank lines are no rows"
    bad: list[tuple[str, bytes | str]] = [
        ("b.csv", ""), ("b.csv", "id\n"), ("b.csv", "1\n2\n"), ("b.csv", "id,x\n1\n"), ("b.csv", "id,x\n,1\n"),
        ("b.csv", "id,row\n1,2\n"), ("b.csv", b"\x89PNG\r\n\xff\0"), ("b.csv", "id\n" + "x" * (1 << 21)),
        ("b.csv", "id\n\0\n"), ("b.txt", "\n"),
    ]  # fmt: skip
    for name, content in bad:
        with pytest.raises(TableError) as refused:
            ids(name, content)
        one_sentence(refused.value)
    with pytest.raises(TableError, match="call it") as refused:  # its header was taken for a row
        ids("b.txt", "id,x\n1,2\n", "id")
    one_sentence(refused.value)


def test_tables_of_outcomes(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    def outcomes(content: str, feedback: str = "bandit", *, rewards: bool = False) -> list[Outcome]:
        (tmp_path / "o.csv").write_text(content)
        actions = ("a", "b") if feedback == "full" else None
        return read_outcomes(tmp_path / "o.csv", actions, {"x": 3, "y": 1}.__getitem__, rewards=rewards)

    assert outcomes("ticket,loss\n2,0.5\n9,\n1,1\n") == [Outcome(2, "0.5"), Outcome(1, "1")]
    assert outcomes("reward,id\n0.5,x\n0.25,y\n") == [Outcome(3, None, "0.5"), Outcome(1, None, "0.25")]
    assert outcomes("id,b,a\nx,0,1\ny,,\n", "full") == [Outcome(3, ["1", "0"])]
    assert outcomes("id,b,a\nx,0,1\n", "full", rewards=True) == [Outcome(3, None, ["1", "0"])]
    for bad in ("ticket\n1\n", "loss\n1\n", "ticket,loss\nx,1\n", "ticket,loss,reward\n1,1,0\n", "ticket,loss\n-1,1\n"):
        with pytest.raises(TableError) as refused:
            outcomes(bad)
        one_sentence(refused.value)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.csv").write_text("id\n" + "".join(f"p{i}\n" for i in range(40)))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None:
            raise done.exception
        return done.output

    return run


def test_the_commands_from_start_to_report(session: Callable[..., str], tmp_path: Path) -> None:
    assert "40 rows" in session(
        "start", "ids.csv", "--actions", "a,b", "--learner", "UCB1", "--out", "r", "--seed", "3"
    )
    assert session("next", "r", "--count", "2").startswith("ticket 1: play a on p")
    (third,) = json.loads(session("next", "r", "--json"))
    assert third["ticket"] == 3
    assert session("record", "r", "3", "--reward", "0.25") == "1 recorded\n"
    (tmp_path / "o.csv").write_text(f"id,loss\n{third['id']},0.75\n")
    assert session("record", "r", "--csv", "o.csv") == "0 recorded, 1 known before\n"
    assert json.loads(session("record", "r", "1", "--loss", "0.5", "--json")) == {"recorded": 1, "known before": 0}
    assert "pending: ticket 2, b on p" in session("status", "r")
    now = json.loads(session("status", "r", "--json"))
    assert (now["loss"], [one["ticket"] for one in now["pending"]]) == (1.25, [2])
    assert session("report", "r", "--out", "page.html") == "the page is page.html\n"
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_commands_load_nothing_heavy(run_python: Callable[..., Any]) -> None:
    done = run_python("-c", "import sys, tombola.cli.session; print({'numpy', 'numba', 'sqlite3'} & set(sys.modules))")
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_the_commands_for_full_feedback(session: Callable[..., str]) -> None:
    session("start", "ids.csv", "--actions", "a,b", "--learner", "Hedge(rate=0.5)", "--out", "r", "--seed", "3")
    session("next", "r", "--count", "3")
    assert session("record", "r", "2", "--loss", "0.5,1") == "1 recorded\n"
    with pytest.raises(FeedbackError, match="give the whole row"):
        session("record", "r", "1", "--loss", "0.5")


@pytest.mark.parametrize(
    "arguments",
    [
        ("1",),
        ("--csv", "none.csv"),
        ("1", "--loss", "0.5", "--csv", "x.csv"),
        ("1", "--loss", "0.5", "--scores"),
        (),
        ("1", "--loss", "x"),
        ("9", "--loss", "0"),
    ],
)
def test_bad_commands_are_one_sentence(
    arguments: tuple[str, ...], session: Callable[..., str], one_sentence: Callable[[object], str]
) -> None:
    session("start", "ids.csv", "--actions", "a,b", "--out", "r", "--seed", "3")
    session("next", "r")
    with pytest.raises(TombolaError) as refused:
        session("record", "r", *arguments)
    one_sentence(refused.value)


@pytest.mark.parametrize("learner", [Exp3(), UCB2(), Hedge(rate=0.5)])
def test_an_amended_run_is_as_if_it_had_been_told_the_truth(
    learner: Learner, begin: Callable[..., SessionFile]
) -> None:
    """The learner knows what it would know; what was played before the amendment stays as it was."""
    full = learner.feedback == "full"

    def told(value: float) -> Any:
        return [value, 0.25, 1 - value] if full else value

    with begin(learner, name="wrong.run") as wrong, begin(learner, name="right.run") as right:
        wrong.next(6), right.next(6)  # all before the first outcome, so that both play the same
        for run, second in ((wrong, 0.125), (right, 1.0)):
            run.record_all([Outcome(1, told(0.5)), Outcome(2, told(second)), Outcome(4, told(0.25))])
        before = wrong.amend(2, loss=told(1.0))
        assert before == (tuple(told(0.125)) if full else 0.125)
        assert bits(wrong) == bits(right)
        given = wrong.next(3)
        assert str(given) == str(right.next(3))
        assert not wrong.record(2, loss=told(1.0))
        with pytest.raises(FeedbackError, match="first answer stands"):
            wrong.record(2, loss=told(0.125))
        assert wrong.amend(2, loss=told(0.125)) == right.amend(2, loss=told(0.125))
        assert bits(wrong) == bits(right)
        with pytest.raises(FeedbackError, match="record it first"):
            wrong.amend(3, loss=told(0.5))


def test_what_was_played_before_an_amendment_stays_played(begin: Callable[..., SessionFile], tmp_path: Path) -> None:
    with begin(UCB1(), rows=30) as run:
        for round_ in range(1, 21):
            (one,) = run.next()
            run.record(round_, loss={"a": 0.0, "b": 0.75, "c": 0.5}[one.action])
        played = [ticket.action for ticket in run.book().tickets]
        run.amend(1, loss=1.0)
        for round_ in range(21, 26):
            (one,) = run.next()
            run.record(round_, loss=0.5)
        assert [ticket.action for ticket in run.book().tickets][:20] == played
        assert run.status().amended == 1
        before = bits(run)
        with SessionFile.open(tmp_path / "my.run") as again:
            assert bits(again) == before
            again._forget()
            with again._journal.reading():  # without the checkpoint
                again._replay()
            assert bits(again) == before


@pytest.mark.usefixtures("plainly")
def test_what_was_played_between_two_amendments_stays_played(begin: Callable[..., SessionFile]) -> None:
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
def test_what_is_played_after_an_amendment_is_repeated(
    action: int, begin: Callable[..., SessionFile], tmp_path: Path
) -> None:
    """By a process that had the file open before, and by one that takes up the checkpoint."""
    with begin(FollowTheLeader()) as run, SessionFile.open(tmp_path / "my.run") as other:
        assert other.round == 0
        run.next()
        run.record(1, loss=[0.0, 1.0, 1.0])
        run.amend(1, loss=[1.0, 0.0, 1.0])
        with run._journal.writing():
            run._journal.append("ticket", 2, [action, 1.0])
        for reader in (other, SessionFile.open(tmp_path / "my.run")):
            if action == 1:
                assert reader.round == 2
            else:
                with pytest.raises(SessionError, match="does not repeat"):
                    reader.status()
            reader.close()


def test_an_amendment_reaches_a_process_that_has_the_file_open(
    begin: Callable[..., SessionFile], tmp_path: Path
) -> None:
    with begin() as one, SessionFile.open(tmp_path / "my.run") as two:
        one.next(4)
        two.record(1, loss=0.5)
        one.record(2, loss=0.25)
        one.amend(1, loss=1.0)
        assert bits(one) == bits(two)
        two.next()
        assert bits(one) == bits(two)


def test_a_cancelled_ticket_is_neither_pending_nor_answered(
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


def test_a_checkpoint_goes_on_to_the_bit(
    begin: Callable[..., SessionFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tombola.persistence import session_file as module

    monkeypatch.setattr(module, "EVENTS", 4)
    monkeypatch.setattr(module, "BYTES", 10**9)
    for learner in (Exp3(), UCB2(), Hedge(rate=0.5), parse_learner("Simulation(base=FollowTheLeader())")):
        path = tmp_path / f"{type(learner).__name__}.run"
        begin(learner, rows=40, name=path.name).close()
        with SessionFile.open(path) as whole:
            for round_ in range(1, 31):
                with SessionFile.open(path) as one:
                    one.next()
                    if round_ % 3:
                        one.record(round_, loss=[0.5, 0.25, round_ / 32] if learner.feedback == "full" else round_ / 32)
                    replayed = one._fresh
                assert replayed < 8
            assert bits(whole) == bits(SessionFile.open(path))
            whole._forget()
            whole._journal.restart()
            with monkeypatch.context() as patch:
                patch.setattr(whole._journal, "rewind", lambda: None)
                slow = bits(whole)
            with SessionFile.open(path) as quick:
                assert bits(quick) == slow


def test_the_commands_to_put_things_right(session: Callable[..., str], tmp_path: Path) -> None:
    session(
        "start", "ids.csv", "--actions", '"call, then write",=wait', "--learner", "UCB1", "--out", "r", "--seed", "3"
    )
    assert "play call, then write on" in session("next", "r", "--count", "3")
    session("record", "r", "1", "--loss", "0.5")
    assert session("amend", "r", "1", "--loss", "0.25") == "ticket 1 amended; its loss was 0.5 before\n"
    assert session("cancel", "r", "2") == "ticket 2 cancelled\n"
    assert "1 answered, 1 pending, 1 cancelled, 1 amended" in session("status", "r")
    assert session("export", "r", "--out", "r.csv") == "3 tickets are in r.csv\n"
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0] == "ticket,id,action,probability,loss,amended,cancelled"
    assert lines[1].split(",", 2)[2] == '"call, then write",1.0,0.25,True,False'
    assert lines[2].split(",", 2)[2] == "'=wait,1.0,,False,True", "a spreadsheet must not take a name for a formula"
    assert session("export", "r", "--out", "r.parquet") == "3 tickets are in r.parquet\n"
    table = import_module("pyarrow.parquet").read_table(tmp_path / "r.parquet").to_pydict()
    assert table["action"][:2] == ["call, then write", "=wait"]
    assert table["loss"] == [0.25, None, None]
    with pytest.raises(TableError, match=r"ends in \.csv or \.parquet"):
        session("export", "r", "--out", "r.xlsx")


def test_control_characters_never_reach_the_terminal(session: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "evil.csv").write_text("id\n\x1b[2Jone\n\x1b]0;two\x07\n")
    started = session("start", "evil.csv", "--actions", "a\x1b[31m,b", "--learner", "UCB1", "--out", "e", "--seed", "3")
    said = started + session("next", "e", "--count", "2") + session("status", "e")
    assert "\\x1b[31m" in said
    assert "\x1b" not in said
    assert "\x07" not in said


def test_half_of_a_surrogate_pair_is_no_name(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    for ids, actions in ((["\ud800"], ["a"]), (["x"], ["\udfff"])):
        with pytest.raises(ParameterError) as refused:
            SessionFile.start(tmp_path / "my.run", ids, actions, UCB1(), seed=1)
        one_sentence(refused.value)
    with SessionFile.start(tmp_path / "my.run", ["x"], ["a"], UCB1(), seed=1) as run, pytest.raises(FeedbackError):
        run.round_of("\ud800")


def test_an_old_file_is_noted_on_the_command_line(
    session: Callable[..., str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from test_live_damage import old_run

    old_run(tmp_path / "old", UCB1(), rounds=2, answered=1)
    assert "without digests" in session("status", "old")
    assert "without digests" not in session("status", "old")


def test_a_page_or_table_never_takes_the_place_of_the_run(session: Callable[..., str], tmp_path: Path) -> None:
    session("start", "ids.csv", "--actions", "a,b", "--learner", "UCB1", "--out", "r.csv", "--seed", "3")
    before = (tmp_path / "r.csv").read_bytes()
    for command in ("report", "export"):
        with pytest.raises(TombolaError):
            session(command, "r.csv", "--out", "r.csv")
    assert (tmp_path / "r.csv").read_bytes() == before


def test_the_page_of_a_run_escapes_names_and_summarises_what_is_pending(tmp_path: Path) -> None:
    from tombola.persistence.session_page import run_page

    names = ["<script>alert(1)</script>", "b & c"]
    with SessionFile.start(tmp_path / "my.run", [f"<i>{n}</i>" for n in range(30)], names, UCB1(), seed=1) as run:
        run.next(20)
        run.record_all(Outcome(round_, round_ % 2) for round_ in range(1, 11))
        run.amend(3, loss=0.5)
        page = run_page(run)
    assert "<script>alert" not in page
    assert "<i>" not in page
    assert "b &amp; c" in page
    assert "10 tickets have no outcome yet" in page
    assert "amended" in page


def test_a_command_on_a_short_run_loads_no_compiler(
    session: Callable[..., str], tmp_path: Path, run_python: Callable[..., Any]
) -> None:
    session("start", "ids.csv", "--actions", "a,b", "--learner", "UCB1", "--out", "r", "--seed", "3")
    code = (
        "import sys; from tombola.cli.session import next_, record; from pathlib import Path; "
        "next_(Path('r'), 2); record(Path('r'), 1, '0.5', '', None); print('numba' in sys.modules)"
    )
    done = run_python("-c", code, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "False", done.stdout + done.stderr
    with SessionFile.open(tmp_path / "r") as compiled, SessionFile.open(tmp_path / "r") as slow:
        slow.brisk = True
        assert bits(compiled) == bits(slow)


def test_an_outcome_of_another_row_or_action_than_its_ticket_is_refused(
    session: Callable[..., str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    (tmp_path / "ids.csv").write_text("id\n=x\ny\n")
    session("start", "ids.csv", "--actions", "a,b", "--out", "r", "--seed", "3")
    first, second = json.loads(session("next", "r", "--count", "2", "--json"))
    for line in (f"1,{second['id']},", f"1,{first['id']},b"):
        (tmp_path / "o.csv").write_text(f"ticket,id,action,loss\n{line},0.5\n")
        with pytest.raises(TombolaError) as refused:
            session("record", "r", "--csv", "o.csv")
        one_sentence(refused.value)
    (tmp_path / "o.csv").write_text(f"ticket,id,action,loss\n1,{first['id']},{first['action']},0.5\n2,,,1\n")
    assert session("record", "r", "--csv", "o.csv") == "2 recorded\n"
    session("export", "r", "--out", "all.csv")
    assert session("record", "r", "--csv", "all.csv") == "0 recorded, 2 known before\n"


@pytest.mark.usefixtures("plainly")
def test_tickets_of_numpy_are_tickets(tmp_path: Path) -> None:
    """As a column of pandas has them: they were written as bytes, and the file could not be read again."""
    first, second, third = tickets = np.array([1, 2, 3])
    ids: Any = range(5)
    with SessionFile.start(tmp_path / "n.run", ids, ["a", "b"], UCB1(), seed=int(tickets[0])) as run:
        run.next(4)
        assert (run.record(first, loss=0.5), run.record(first, loss=0.5), run.cancel(second)) == (True, False, True)
        assert run.record(third, loss=0.5)
        assert run.amend(third, loss=0.75) == 0.5
        assert run.play_of(third) == run.play_of(3)
        assert run.round_of(run.play_of(4).id) == run.round_of(int(run.play_of(4).id)) == 4  # type: ignore[arg-type]
    with SessionFile.open(tmp_path / "n.run") as run:
        now = run.status()
        assert (now.answered, now.cancelled, now.loss) == (2, 1, 1.25)
