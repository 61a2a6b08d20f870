"""Simulation, its schedules, its practical versions, and the interleaved copies."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import full as naive
from naive.reductions import frequencies, kinds_of_rounds
from tombola import FollowTheLeader, Hedge, Pool, Session, Simulation, compare, instances, play
from tombola.engine.tickets import TicketTable, has_capacity
from tombola.errors import LearnerError
from tombola.feedback import make_feedback_model
from tombola.feedback.base import NEEDS_PLAN
from tombola.learners import (
    GrowingSchedule,
    Interleaved,
    LemmaSchedule,
    PaperSchedule,
    PythonLearner,
)
from tombola.learners.reductions.simulation import N_KEPT, _play_counts
from tombola.rng import new_rng


def watch(learner: Simulation, rows: Any, d: int) -> list[dict[str, Any]]:
    """Drive a Simulation round by round with delay d, and note every round: its mix, and the training before it."""
    T, k = rows.shape
    book = TicketTable(T, k)
    live = make_feedback_model(learner, T, actions=k).live_kernels(
        learner, new_rng(np.random.SeedSequence(3))
    )
    runner = live.runner
    notes: list[dict[str, Any]] = []
    for t in range(1, T + 1):
        if t - d - 1 >= 1:
            live.learn(book.cells, t - d - 1, t - d - 1, tuple(rows[t - d - 2]))
        note: dict[str, Any] = {"past": None}
        if not has_capacity(book.cells):
            book.reserve()
        if live.act(book.cells)[0] == NEEDS_PLAN:
            note["past"] = runner.state.past[: int(runner.state.counters[N_KEPT])].copy()
            note["rng"] = runner.rng.copy()
            runner.plan(t)
            live.act(book.cells)
        assert runner.mix is not None
        note["mix"] = runner.mix.copy()
        notes.append(note)
    return notes


@pytest.mark.parametrize("reading", ["lemma", "paper"])
@pytest.mark.parametrize("d", [0, 1, 3, 10, 59, 60, 200])
@pytest.mark.parametrize("T", [1, 2, 3, 37, 60, 64])
def test_faithful_simulation_follows_pseudo_code(reading: str, d: int, T: int) -> None:
    """Rounds, trainings and Lemma 4.1, on every block: what is trained on is exactly the rows of past blocks."""
    rows = np.random.default_rng(T + d).integers(0, 5, (T, 3)) / 4
    schedule = LemmaSchedule(delay=d) if reading == "lemma" else PaperSchedule(delay=d)
    notes = watch(Simulation(FollowTheLeader(), schedule, free_action=min(2, 2)), rows, d)
    plan = kinds_of_rounds(reading, T, d)
    known = [0]
    for t, ((kind, i), note) in enumerate(zip(plan, notes, strict=True)):
        begins = kind == "block" and (t == 0 or plan[t - 1] != (kind, i))
        assert (note["past"] is not None) == begins
        if begins:
            assert len(known) == (2**i if reading == "lemma" else 2**i - 1)
            assert sorted(note["past"].tolist()) == sorted(rows[known].tolist())
            assert note["past"].mean(axis=0) == pytest.approx(rows[known].mean(axis=0), abs=1e-15)
            mix = frequencies(
                naive.FollowTheLeader(3, 2**i), note["past"], 2**i, note["rng"].copy()
            )
        if kind == "block":
            assert note["mix"].tolist() == mix
            known.append(t)
        else:
            assert note["mix"].tolist() == [0.0, 0.0, 1.0]


def test_lemma_schedule_without_delay() -> None:
    rows = np.array(instances.gap(1000, 3, 0.1, seed=1).losses[:200])
    assert LemmaSchedule().blocks(1000).starts.tolist() == [2**i + 1 for i in range(10)]
    mixes = [
        watch(Simulation(FollowTheLeader(), s), rows, 0)
        for s in (LemmaSchedule(), GrowingSchedule())
    ]
    assert all((a["mix"] == b["mix"]).all() for a, b in zip(*mixes, strict=True))


def test_several_trainings_reduce_noise() -> None:
    pool = instances.balanced(1024, 2, seed=2)
    one, many = (
        np.array(
            [
                play(Simulation(FollowTheLeader(), trainings=n), pool, seed=s).expected_regret
                for s in range(60)
            ]
        )
        for n in (1, 16)
    )
    assert abs(one.mean() - many.mean()) < 5 * math.hypot(one.std(), many.std()) / math.sqrt(60)
    assert many.std() < one.std()


def test_past_and_waiting_options() -> None:
    """With all rows kept and the last mix played, waiting costs less than the free action does (paired, fixed seed)."""
    d, pool = 100, instances.split(2**11)
    learners = {
        "faithful": Simulation(FollowTheLeader(), LemmaSchedule(delay=d)),
        "kept": Simulation(FollowTheLeader(), LemmaSchedule(delay=d), past="all", waiting="last"),
    }
    runs = compare(pool, learners, delay=d, relabel=False, repetitions=30, seed=4)
    assert runs.difference("kept", "faithful").high < 0


def test_growth_says_when_to_train_again() -> None:
    rows = np.random.default_rng(0).random((400, 2))
    for growth in (2.0, 1.5):
        notes = watch(Simulation(FollowTheLeader(), GrowingSchedule(growth)), rows, 0)
        sizes = [len(n["past"]) for n in notes if n["past"] is not None]
        assert sizes[0] == 1
        assert 2 * sizes[-1] > 400
        assert all(b == max(a + 1, int(growth * a)) for a, b in pairwise(sizes))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(1, 80), st.integers(1, 4), st.integers(0, 10**6))
def test_any_delays_in_any_order(T: int, k: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pool, delay = Pool(generator.integers(0, 3, (T, k)) / 2), generator.integers(0, 2 * T, T)
    trace = play(Simulation(FollowTheLeader()), pool, delay=delay, seed=seed)
    session = Session(Simulation(FollowTheLeader()), actions=k, horizon=T, seed=seed)
    tickets: list[Any] = []
    for t in range(T):
        for s in range(t):
            if s + delay[s] + 1 == t:
                session.observe(tickets[s], loss=pool.losses[trace.order[s]])
        tickets.append(session.act())
    assert [ticket.action for ticket in tickets] == trace.actions.tolist()


@pytest.mark.full
def test_session_is_restored_with_all_parts(tmp_path: Any) -> None:
    learner = Simulation(Simulation(Hedge(rate=0.5)), LemmaSchedule(delay=2), free_action=1)
    session = Session(learner, actions=2, horizon=40, seed=1)
    tickets = [session.act() for _ in range(11)]
    for ticket in tickets[:8]:
        session.observe(ticket, loss=[0.5, 0.25])
    session.save(tmp_path / "s.json")
    again = Session.load(tmp_path / "s.json")
    assert again.learner == learner
    assert [t.round for t in again.pending] == [9, 10, 11]
    assert [again.act() for _ in range(20)] == [session.act() for _ in range(20)]


class Counter:
    """A learner of another library, with the usual two methods."""

    def __init__(self, actions: int) -> None:
        self.totals = [0.0] * actions

    def predict(self) -> int:
        return self.totals.index(min(self.totals))

    def update(self, losses: Any) -> None:
        self.totals = [a + b for a, b in zip(self.totals, losses, strict=True)]


def test_python_learner_trains_like_ours() -> None:
    """The same draws in another order: the frequencies of both have the same mean (5 standard errors: 6e-7)."""
    past = np.random.default_rng(1).integers(0, 2, (50, 2)).astype(float)
    theirs = np.zeros((200, 2))
    ours = np.zeros((200, 2))
    for r in range(200):
        with np.errstate(over="ignore"):
            rng = new_rng(np.random.SeedSequence((1, r)))
            theirs[r] = PythonLearner(lambda k, n: Counter(k)).train(past, 64, rng) / 64
        ours[r] = (
            _play_counts(FollowTheLeader(), past, 64, new_rng(np.random.SeedSequence((2, r)))) / 64
        )
    error = math.hypot(theirs[:, 0].std(), ours[:, 0].std()) / math.sqrt(200)
    assert abs(theirs[:, 0].mean() - ours[:, 0].mean()) < 5 * error
    mixing = PythonLearner(
        lambda k, n: None, predict=lambda s: [0.25, 0.75], update=lambda s, losses: None
    )
    trace = play(Simulation(mixing), instances.split(400), seed=1)
    assert 0.6 < trace.actions[1:].mean() < 0.9


def test_python_learner_rejects_other_answers() -> None:
    for answer in (7, -1, 0.5, [0.5, 0.2], [1.0], [2.0, -1.0]):
        base = PythonLearner(
            lambda k, n: None,
            predict=lambda s, a=answer: a,  # type: ignore[misc]
            update=lambda s, losses: None,
        )
        with pytest.raises(LearnerError, match="write PythonLearner"):
            play(Simulation(base), instances.split(10), seed=0)


def test_interleaved_copies_are_separate_learners() -> None:
    """Copy j sees rounds j, j+d+1, ... only: the same as playing those rows alone (follow the leader, no rng)."""
    d, T = 3, 50
    losses = np.random.default_rng(0).random((T, 3))
    together = play(
        Interleaved(FollowTheLeader(), delay=d), Pool(losses), order="given", delay=d, seed=0
    ).actions
    for j in range(d + 1):
        alone = play(FollowTheLeader(), Pool(losses[j :: d + 1]), order="given", seed=0).actions
        assert together[j :: d + 1].tolist() == alone.tolist()
