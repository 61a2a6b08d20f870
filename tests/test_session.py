"""Sessions: every way in which feedback can come, and files that are all there or refused."""

import json
import math
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.live import answer, issue
from tombola import UCB1, Exp3, FollowTheLeader, Hedge, Learner, Session, Ticket
from tombola._types import Floats, RngState
from tombola.budget.budget import Budget
from tombola.engine.tickets import TicketTable
from tombola.errors import FeedbackError, FileError, ParameterError, SessionError
from tombola.learners import BirthdayTest, PrimalDual, ThompsonSampling
from tombola.worklists import SessionFile
from tombola.worklists.session_json import _digest

Check = Callable[[object], str]


def test_too_many_actions_are_rejected_at_once(one_sentence: Check) -> None:
    with pytest.raises(ParameterError, match="at most 10,000,000 actions") as error:
        Session(UCB1(), 10**30, 9)
    one_sentence(error.value)


def bits(session: Session) -> bytes:
    """Return everything that a session remembers, to the bit."""
    memory, rng = session._live.runner.memory.tobytes(), session._live.runner.rng.tobytes()
    return pickle.dumps(
        (memory, rng, [tuple(t) for t in session.tickets], session.outcomes, session.answered)
    )


def bandit(
    rounds: int = 0, horizon: int = 10, learner: Learner | None = None
) -> tuple[Session, list[Ticket]]:
    session = Session(learner or Exp3(), actions=3, horizon=horizon, seed=1)
    return session, [session.act() for _ in range(rounds)]


def full(rounds: int = 0) -> tuple[Session, list[Ticket]]:
    return bandit(rounds, learner=Hedge(rate=0.5))


def test_session_counts() -> None:
    session, tickets = bandit(6)
    assert [ticket.round for ticket in tickets] == [1, 2, 3, 4, 5, 6]
    losses = {2: 0.5, 5: 0.25, 1: 1.0}
    for round_, loss in losses.items():
        assert session.observe(tickets[round_ - 1], loss=loss)
    assert (session.round, session.answered, session.loss) == (6, 3, 1.75)
    assert session.pending == [tickets[2], tickets[3], tickets[5]]
    actions = [ticket.action for ticket in tickets]
    assert session.switches == sum(a != b for a, b in zip(actions[1:], actions[:-1], strict=True))
    assert repr(session) == f"Session({Exp3()!r}, round 6 of 10, 3 pending)"


def test_loss_of_full_session() -> None:
    session, (one, two) = full(2)
    session.observe(one, loss=[0.1, 0.2, 0.3])
    session.observe(two, reward=[0.5, 0.25, 0.0])
    assert session.loss == pytest.approx([0.1, 0.2, 0.3][one.action] + [0.5, 0.75, 1.0][two.action])


@pytest.mark.parametrize("make", [bandit, full])
def test_feedback_order_does_not_matter(make: Any) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (6, 3)) / 8
    memories = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 2, 0, 1, 4, 3]):
        session, tickets = make(6)
        for t in order:
            row = rows[t]
            session.observe(tickets[t], loss=row if make is full else row[tickets[t].action])
        memories.append(session._live.runner.memory.copy())
    assert memories[0].tolist() == pytest.approx(memories[1].tolist(), rel=1e-12)
    assert not np.array_equal(memories[0], make(6)[0]._live.runner.memory)


@pytest.mark.parametrize(
    ("make", "first", "other"),
    [(bandit, 0.5, 0.75), (full, [0.0, 0.5, 1.0], [0.0, 0.5, 0.75]), (bandit, 0.3, 0.3 + 1e-9)],
    ids=["bandit", "full", "rounded"],
)
def test_repeated_feedback(make: Any, first: Any, other: Any) -> None:
    session, tickets = make(3)
    assert session.observe(tickets[1], loss=first) is True
    before = bits(session)
    assert session.observe(tickets[1], loss=first) is False
    assert session.observe(tickets[1], reward=np.round(np.subtract(1, first), 9).tolist()) is False
    assert bits(session) == before
    with pytest.raises(
        FeedbackError, match=r"round 2 has been answered with .* the first answer stands"
    ):
        session.observe(tickets[1], loss=other)
    assert bits(session) == before


BAD_ANSWERS: list[tuple[Any, dict[str, Any]]] = [
    *(
        (bandit, answer)
        for answer in ({}, {"loss": 0.5, "reward": 0.5}, {"reward": math.nan}, {"reward": 2})
    ),
    *(
        (bandit, {"loss": loss})
        for loss in (math.nan, 1.5, -0.1, math.inf, "good", [0.1, 0.2, 0.3])
    ),
    *(
        (full, {"loss": row})
        for row in (0.5, [0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [[0.1, 0.2, 0.3]], ["a", "b", "c"])
    ),
    *((full, {"loss": row}) for row in ([0.1, [0.2], 0.3], [0.1, math.nan, 0.3], [0.1, 0.2, 1.3])),
    (full, {"reward": [0.1, 0.2, -0.3]}),
]


@pytest.mark.parametrize(("make", "answer"), BAD_ANSWERS)
def test_invalid_feedback_changes_nothing(
    make: Any, answer: dict[str, Any], one_sentence: Check
) -> None:
    session, tickets = make(2)
    before = bits(session)
    with pytest.raises(FeedbackError) as caught:
        session.observe(tickets[0], **answer)
    one_sentence(caught.value)
    assert bits(session) == before
    assert session.pending == tickets


def test_tickets_of_another_session() -> None:
    mine = Session(Exp3(), actions=3, horizon=20, seed=1)
    other = Session(Exp3(), actions=3, horizon=20, seed=2)
    pairs = [(mine.act(), other.act()) for _ in range(20)]
    foreign = [theirs for ours, theirs in pairs if ours != theirs]
    assert foreign
    for ticket in foreign:
        with pytest.raises(FeedbackError):
            mine.observe(ticket, loss=0.5)


def test_feedback_after_the_horizon(one_sentence: Check) -> None:
    session, tickets = bandit(4, horizon=4)
    before = bits(session)
    with pytest.raises(SessionError, match="all 4 rounds have been played") as caught:
        session.act()
    one_sentence(caught.value)
    assert bits(session) == before
    assert session.observe(tickets[3], loss=0.5)


@pytest.mark.parametrize(
    ("actions", "horizon"),
    [(0, 5), ([], 5), (2.5, 5), (None, 5), (3, 0), (3, -1), (3, 1.5), (True, 5)],
)
def test_session_that_makes_no_sense_is_rejected(actions: Any, horizon: Any) -> None:
    with pytest.raises(ParameterError):
        Session(Exp3(), actions=actions, horizon=horizon, seed=0)


@pytest.mark.parametrize(
    "learner",
    [Exp3(), Hedge(rate=0.3), ThompsonSampling(), FollowTheLeader(ties="random"), UCB1()],
    ids=repr,
)
@pytest.mark.usefixtures("short_work")
def test_saved_session_continues_unchanged(learner: Learner, tmp_path: Path) -> None:
    generator = np.random.default_rng(2)

    def answer(session: Session, ticket: Ticket, row: Floats) -> bool:
        return session.observe(
            ticket, loss=row if learner.feedback == "full" else row[ticket.action]
        )

    session = Session(learner, ["gpt", "claude", "small"], horizon=30, seed=1)
    tickets = [session.act() for _ in range(7)]
    for t in (6, 0, 3):
        answer(session, tickets[t], generator.random(3))
    session.save(tmp_path / "s.json")
    # ThompsonSampling has no formula for its probabilities.
    json.loads(
        (tmp_path / "s.json").read_text(),
        parse_constant=lambda word: pytest.fail(f"{word} is not JSON"),
    )
    again = Session.load(tmp_path / "s.json")
    assert bits(again) == bits(session)
    assert (again.learner, again.horizon, again.names) == (learner, 30, ("gpt", "claude", "small"))
    assert repr(again.pending) == repr(session.pending)
    for _ in range(7, 20):
        one, two = session.act(), again.act()
        late, row = session.pending[0], generator.random(3)
        assert tuple(one) == pytest.approx(tuple(two), nan_ok=True, rel=0, abs=0)
        assert answer(session, late, row)
        assert answer(again, late, row), "tickets from before the save still count"
    assert bits(again) == bits(session)


@pytest.mark.usefixtures("short_work")
def test_parameters_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    learner = BirthdayTest(grid=np.int64(8))  # type: ignore[arg-type]
    session, _ = bandit(2, learner=learner)
    session.save(tmp_path / "s.json")
    assert Session.load(tmp_path / "s.json").learner == learner
    assert Session.load(tmp_path / "s.json", learner).learner == learner


def saved(tmp_path: Path, **changes: Any) -> Path:
    """Return the file of a session, with parts changed or, if None, left out; the digest fits.

    `event_2=...` replaces an event: tickets 1 to 3, then the outcome of ticket 1.
    """
    session, tickets = bandit(3)
    session.observe(tickets[0], loss=0.5)
    path = tmp_path / "session.json"
    session.save(path)
    data = json.loads(path.read_text())
    for name in [name for name in changes if name.startswith("event_")]:
        data["events"][int(name.removeprefix("event_")) - 1] = changes.pop(name)
    about = {
        n: v
        for n, v in {**data, **changes}.items()
        if n != "digest" and (n not in changes or v is not None)
    }
    path.write_text(json.dumps({**about, "digest": _digest(about)}))
    return path


def refused(path: Path, one_sentence: Check, learner: Learner | None = None) -> str:
    with pytest.raises(SessionError) as caught:
        Session.load(path, learner)
    return one_sentence(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b"garbage",
            b"{}",
            b"[]",
            b"3",
            b"null",
            b'"text"',
            b"\xff\xfe\x00",
            b"\x89PNG\r\n",
            b"[" * 100_000,
        ),
        *(b'{"format": 1}', b'{"format": 1, "learner": []}', pickle.dumps([1, 2])),
    ],
    ids=range(13),
)
def test_garbage_is_rejected(content: bytes, tmp_path: Path, one_sentence: Check) -> None:
    (tmp_path / "s.json").write_bytes(content)
    refused(tmp_path / "s.json", one_sentence)


def test_damaged_text_is_rejected(tmp_path: Path, one_sentence: Check) -> None:
    """Cut short anywhere, or with one character changed."""
    content = saved(tmp_path).read_text()
    damaged = [content[:length] for length in range(0, len(content.rstrip("}\n ")), 37)]
    for place in range(0, len(content), 11):
        other = "7" if content[place] != "7" else "3"
        damaged.append(content[:place] + other + content[place + 1 :])
    for text in damaged:
        (tmp_path / "s.json").write_text(text)
        refused(tmp_path / "s.json", one_sentence)


# Part of a saved session -> values that make the file invalid; None leaves the part out.
TAMPERED: dict[str, list[Any]] = {
    "format": [1, "3"],
    "learner": [
        None,
        "Exp3",
        {"name": "Exp3"},
        {"name": ["Exp3"], "parameters": {}},
        {"name": "Exp3", "parameters": []},
        {"name": "Exp3", "parameters": {"surprise": 1}},
        {"name": "Exp3", "parameters": {"rate": -1}},
        {"name": "Learner", "parameters": {}},
        {"name": "Pool", "parameters": {"losses": [[0.0]]}},
        {"name": "FollowTheLeader", "parameters": {"ties": "lowest"}},
    ],
    "actions": [None, ["a", "b"], 3],
    "horizon": [2, "ten"],
    "rng": [
        [1, 2, 3],
        [7],
        [0, 0, 0, 0],
        [[1, 2], [3, 4]],
        *([word, 2, 3, 4] for word in (-1, 2**64, 1.5, "1")),
    ],
    "events": [None, {}, [["outcome", 1, [0.5]]]],
    "event_1": [["ticket", 2, [0, 1.0]]],
    "event_2": [
        *(["ticket", 2, [action, 0.5]] for action in (3, 10**9, -1)),
        *(["ticket", 2, [0, *rest]] for rest in ([0.25], [math.nan], [None], [], [0.5, 0.5])),
        ["call", 2, [0, 0.5]],
    ],
    "event_4": [
        *(["outcome", 1, outcome] for outcome in ([7.5], [math.inf], [math.nan], [1], [])),
        *(["outcome", round_, [0.5]] for round_ in (4, -1, 10**30)),
        ["outcome", 1],
        3,
    ],
}


@pytest.mark.parametrize(
    "changes", [{part: value} for part, values in TAMPERED.items() for value in values], ids=str
)
def test_file_that_was_tampered_with_is_rejected(
    changes: dict[str, Any], tmp_path: Path, one_sentence: Check
) -> None:
    refused(saved(tmp_path, **changes), one_sentence)


def test_threads_share_a_session() -> None:
    session = Session(Exp3(), actions=3, horizon=8000, seed=0)

    def work() -> list[int]:
        rounds = []
        for _ in range(1000):
            ticket = session.act()
            session.observe(ticket, loss=0.5)
            rounds.append(ticket.round)
        return rounds

    with ThreadPoolExecutor(8) as threads:
        found = [
            round_ for done in [threads.submit(work) for _ in range(8)] for round_ in done.result()
        ]
    assert sorted(found) == list(range(1, 8001))
    assert session.answered == 8000


def test_fork_and_pickle_are_rejected(one_sentence: Check) -> None:
    session, _ = bandit(1)
    with pytest.raises(SessionError) as pickled:
        pickle.dumps(session)
    one_sentence(pickled.value)
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            session.act()
        except SessionError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    message = os.read(read, 1000).decode()
    os.wait()
    assert "fork" in one_sentence(message)
    assert session.act().round == 2


def test_fork_during_observe_is_rejected(tmp_path: Path) -> None:
    """A lock taken at the moment of the fork is never given back in the child; without a lock of its own it hangs."""
    session, _ = bandit(1)
    session._lock.acquire()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            session.act()
        except SessionError:
            session.save(tmp_path / "child.json")
        finally:
            os._exit(0)
    session._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    assert Session.load(tmp_path / "child.json").tickets == session.tickets


@pytest.mark.usefixtures("machine_code")
@pytest.mark.parametrize("kind", [np.array, list, tuple, np.float32])
@pytest.mark.parametrize("make", [bandit, full])
def test_loss_types_give_same_bits(make: Any, kind: Any) -> None:
    """Plain losses go a short way of their own, rewards the long one."""
    (short, tickets), (long, _) = make(3), make(3)
    for ticket in reversed(tickets):
        row = [0.25, 0.5, 0.125]
        observed = kind(row) if make is full else kind(row)[ticket.action]
        short.observe(ticket, loss=observed)
        long.observe(ticket, reward=np.subtract(1, observed))
    assert bits(short) == bits(long)


@given(st.lists(st.integers(0, 9), max_size=300), st.integers(1, 3), st.integers(0, 2))
def test_book_is_what_list_of_events_would_be(events: list[int], width: int, context: int) -> None:
    """Tickets and answers in any order, against plain lists; more of them than the first pages have room for."""
    book = TicketTable(500, width, context)
    plays: list[tuple[int, float]] = []
    observed: dict[int, tuple[float, ...]] = {}
    for event in [0] * 70 + events:
        if event < 4:
            plays.append((event, event / 4 or math.nan))
            assert issue(book, *plays[-1]) == len(plays)
        elif (waiting := [t for t in range(1, len(plays) + 1) if t not in observed]) and event < 9:
            round_ = waiting[event * 7 % len(waiting)]
            observed[round_] = (event / 9,) * width
            assert book.is_new(book.round_of(book.ticket(round_)), observed[round_])
            answer(book, round_, observed[round_])
            assert not book.is_new(round_, observed[round_])
    history = book.columns()["history"].tolist()
    assert [book.outcome(t) for t in range(1, len(plays) + 1)] == [
        observed.get(t) for t in range(1, len(plays) + 1)
    ]
    assert (
        [ticket.action for ticket in book.tickets]
        == book.actions.tolist()
        == [action for action, _ in plays]
    )
    assert [t.round for t in book.pending] == [
        t for t in range(1, len(plays) + 1) if t not in observed
    ]
    assert [event for event in history if event] == list(observed)
    assert (history.count(0), len(book), book.answered) == (len(plays), len(plays), len(observed))


def test_file_cannot_make_us_import_anything(tmp_path: Path, run_python: Any) -> None:
    (tmp_path / "trap.py").write_text(
        "import pathlib\npathlib.Path('sprung').touch()\nclass Learner: pass\n"
    )
    names = ["trap.Learner", "trap", "os.system", "__import__('trap')", "own Trap", "play"]
    for number, name in enumerate(names):
        saved(tmp_path, learner={"name": name, "parameters": {}}).rename(
            tmp_path / f"{number}.json"
        )
    script = """if True:
        import sys
        from tombola import Session
        for number in range(6):
            try:
                Session.load(f"{number}.json")
            except Exception as error:
                print(type(error).__name__)
            assert "trap" not in sys.modules
    """
    done = run_python("-c", script, cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert (done.stdout.split(), done.stderr) == (["SessionError"] * 6, "")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe", "device"])
def test_what_is_no_regular_file_is_rejected_at_once(kind: str, tmp_path: Path) -> None:
    """A pipe was waited for without end."""
    path = Path("/dev/zero") if kind == "device" else tmp_path / "s.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(FileNotFoundError if kind == "nothing" else FileError):
        Session.load(path)


class Count(NamedTuple):
    """How often it was answered."""

    answered: Floats


@dataclass(frozen=True)
class Mine(Learner):
    """A learner of a user."""

    levels: tuple[int, ...] = (1, 2)
    feedback: ClassVar[Any] = "bandit"

    def init(self, actions: int, horizon: int) -> Count:
        return Count(np.zeros(1))

    @staticmethod
    def act(state: Count, rng: RngState) -> tuple[int, float]:
        return int(state.answered[0]) % 2, 1.0

    @staticmethod
    def observe(state: Count, action: int, probability: float, loss: float) -> None:
        state.answered[0] += 1.0


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("name", ["Mine", "Hedge"])
def test_learner_of_ones_own_must_be_given(name: str, tmp_path: Path, one_sentence: Check) -> None:
    """Also if it has the name of one of ours."""
    mine = type(name, (Mine,), {})
    session, (ticket, *_) = bandit(2, learner=mine())
    session.observe(ticket, loss=0.0)
    session.save(tmp_path / "s.json")
    assert f"learner={name}(...)" in refused(tmp_path / "s.json", one_sentence)
    assert bits(Session.load(tmp_path / "s.json", mine())) == bits(session)
    for other in (mine(levels=(3,)), UCB1()):
        assert "give the same learner" in refused(tmp_path / "s.json", one_sentence, other)


def test_session_that_was_loaded_can_be_saved_again(tmp_path: Path) -> None:
    one, two = saved(tmp_path), tmp_path / "two.json"
    Session.load(one).save(two)
    assert json.loads(one.read_text()) == json.loads(two.read_text())


@pytest.mark.usefixtures("plainly")
def test_ticket_with_nan_probability_is_found(tmp_path: Path) -> None:
    """One NaN is not equal to another."""
    session = Session(ThompsonSampling(), actions=2, horizon=5, seed=1)
    first, second = session.act(), session.act()
    assert first in session.pending
    assert not first != session.tickets[0]  # noqa: SIM202 - that is asked in its own way
    assert session.pending.index(second) == 1
    assert {first: "x"}[session.pending[0]] == "x"
    with SessionFile.start(
        tmp_path / "r", ["p", "q"], ["a", "b"], ThompsonSampling(), seed=1
    ) as run:
        assert set(run.next(2)) == set(run.pending) == set(run.status().pending)


@pytest.mark.usefixtures("plainly")
def test_load_replays_budget(tmp_path: Path) -> None:
    """Reserved amounts are not stored but replayed."""
    path = tmp_path / "s.json"
    session = Session(
        PrimalDual(), 2, 10, budget=Budget(10.0, worst=[1.0, 2.0], null="add"), seed=0
    )
    for _ in range(4):
        session.act()
    session.save(path)
    assert Session.load(path).balance == session.balance


@pytest.mark.usefixtures("plainly")
def test_seed_is_drawn_and_kept() -> None:
    first, second = (Session(UCB1(), 2, 10) for _ in range(2))
    assert first.seed != second.seed
    assert Session(UCB1(), 2, 10, seed=first.seed)._initial_rng == first._initial_rng
