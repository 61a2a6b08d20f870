"""Feedback models: equal behaviour of losses, budgets and labels in all tools."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tombola import (
    UCB1,
    Budget,
    FollowTheLeader,
    Hedge,
    Pool,
    RowDelays,
    Session,
    Ticket,
    check_learner,
    compare,
    instances,
    play,
)
from tombola._types import Floats, RngState
from tombola.classification import ERM, Experts, FiniteClass, LabelLearner, LabelledPool, Thresholds
from tombola.engine.compiler import interpreted
from tombola.errors import FeedbackError, LearnerError, ParameterError
from tombola.evidence import ActionMonitor, certify_trace
from tombola.lab import exact
from tombola.learners import DualDescent, EmpiricalLP, PrimalDual, ThriftyLP
from tombola.rng import uniform

BUDGET = Budget(10.0, worst=[0.5, 3.0], null="add")


def in_every_setting() -> list[tuple[Session, Ticket, dict[str, Any]]]:
    """Return a session of every setting, a ticket of it that is not the last one, and what may be told of it."""
    found: list[tuple[Session, tuple[float, ...], dict[str, Any]]] = [
        (Session(UCB1(), 2, 10, seed=0), (), {"loss": 0.5}),
        (Session(FollowTheLeader(), 2, 10, seed=0), (), {"loss": [0.0, 1.0]}),
        (
            Session(PrimalDual(), 2, 10, budget=BUDGET, seed=0),
            (),
            {"loss": [0.0, 1.0], "cost": [0.1, 0.2]},
        ),
        (Session(ThriftyLP(), 2, 10, budget=BUDGET, seed=0), (), {"loss": 0.5, "cost": 0.1}),
        (Session(ERM(Thresholds()), horizon=10, seed=0), (0.5,), {"label": 1}),
    ]
    tickets = [(session.act(*shown), session.act(*shown)) for session, shown, _ in found]
    return [
        (session, first, outcome)
        for (session, _, outcome), (first, _) in zip(found, tickets, strict=True)
    ]


def test_forged_ticket_and_other_feedback_are_rejected(
    one_sentence: Callable[[object], str],
) -> None:
    for session, ticket, outcome in in_every_setting():
        before = session._live.runner.memory.tobytes() if session._live.runner else None
        probabilities: tuple[Any, ...] = (ticket.probability / 2, math.nan, "1")
        rounds: tuple[Any, ...] = (0, 3, -1, 2**70, "1", 1.0)
        others: tuple[Any, ...] = (
            ticket._replace(action=1 - ticket.action),
            tuple(ticket),
            ticket.round,
            None,
        )
        for forged in (
            *(ticket._replace(probability=probability) for probability in probabilities),
            *(ticket._replace(round=round_) for round_ in rounds),
            *others,
        ):
            with pytest.raises(FeedbackError, match="give back the ticket itself") as caught:
                session.observe(forged, **outcome)
            one_sentence(caught.value)
        other = {"loss": 1} if "label" in outcome else {"label": 1}
        for given in (
            other,
            {**outcome, **other},
            {**outcome, "reward": 1},
            {**outcome, "loss": [[0.5]]},
        ):
            with pytest.raises(FeedbackError):
                session.observe(ticket, **given)
        assert session.answered == 0
        assert before is None or session._live.runner.memory.tobytes() == before
        numbers: Any = (
            np.int32(ticket.round),
            np.float64(ticket.action),
            np.longdouble(ticket.probability),
        )
        assert session.observe(Ticket(*numbers), **outcome), "an equal ticket is the ticket"
        assert not session.observe(Ticket(*ticket), **outcome)


class Fails(Thresholds):
    """Thresholds whose searcher fails on the first label."""

    def online_erm(self, *given: Any) -> Any:
        learned: list[float] = []

        def learn(row: Floats, label: int, weight: float) -> None:
            learned.append(float(row[0]))
            if len(learned) == 1:
                raise MemoryError

        return SimpleNamespace(learn=learn, predict=lambda row, rng: len(learned) % 2)


@pytest.mark.usefixtures("plainly")
def test_failed_label_stays_pending() -> None:
    session = Session(ERM(Fails()), horizon=10, seed=0)
    tickets = [session.act(0.25), session.act(0.75)]
    with pytest.raises(MemoryError):
        session.observe(tickets[0], label=1)
    assert session.pending == tickets
    assert session.observe(tickets[1], label=1)
    assert session.observe(tickets[0], label=1)
    assert session.act(0.5).action == 1, "three calls of learn"


@pytest.mark.usefixtures("plainly")
def test_row_delays_with_labels() -> None:
    pool = LabelledPool([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 1])
    by_row = play(
        ERM(Thresholds()),
        pool,
        order="given",
        delay=RowDelays(np.array([0, 3, 0, 0, 9, 0])),
        seed=0,
    )
    by_round = play(ERM(Thresholds()), pool, order="given", delay=[0, 3, 0, 0, 9, 0], seed=0)
    assert by_row.actions.tolist() == by_round.actions.tolist()


@pytest.mark.usefixtures("plainly")
def test_mismatched_learner_and_pool_are_rejected(one_sentence: Any) -> None:
    losses, labels = Pool([[0.0, 1.0]] * 3), LabelledPool([1, 2], [0, 1])
    costly = instances.three_actions(4, seed=0)
    wrong: list[Any] = [
        lambda: exact.random_order(DualDescent(), losses),
        lambda: exact.random_order(ERM(Thresholds()), losses),
        lambda: play(ERM(Thresholds()), losses, seed=0),
        lambda: play(UCB1(), labels, seed=0),
        lambda: play(UCB1(), costly, budget=Budget(2.0), seed=0),
        lambda: play(EmpiricalLP(), costly, seed=0),
        lambda: play(EmpiricalLP(), losses, budget=Budget(2.0), seed=0),
        lambda: play(UCB1, losses, seed=0),  # type: ignore[arg-type]
        lambda: play("UCB2", losses, seed=0),  # type: ignore[arg-type]
        lambda: play(UCB1(), losses, mixed=True, seed=0),
        lambda: Session(UCB1(), 2, 10, features=3, seed=0),
        lambda: Session(UCB1(), 2, 10, budget=BUDGET, seed=0),
        lambda: Session(ERM(Thresholds()), horizon=10, budget=BUDGET, seed=0),
        lambda: Session(UCB1(), 2, 10, seed=0).act(0.5),
        lambda: Session(ERM(Thresholds()), horizon=10, seed=0).act(),
    ]
    for call in wrong:
        with pytest.raises((ParameterError, LearnerError, FeedbackError)) as caught:
            call()
        one_sentence(caught.value)


@pytest.mark.usefixtures("plainly")
def test_comparator_under_budget_is_best_mix() -> None:
    trace = play(EmpiricalLP(), instances.three_actions(64, seed=0), budget=Budget(32.0), seed=0)
    assert trace.comparator_losses == pytest.approx(
        np.full(64, 1 - (0.4 * 4 / 7 + 0.9 * 3 / 7)), abs=0.02
    )
    assert math.isclose(trace.regret, trace.comparator_reward - trace.reward)


class Guess:
    """Predicts by a coin, or by how often it was asked at all."""

    def __init__(self, rng: RngState | None) -> None:
        self._coins = rng

    def predict(self, row: Floats) -> tuple[int, float]:
        if self._coins is not None:
            return int(uniform(self._coins) < 0.5), 1.0
        ASKED[0] += 1
        return ASKED[0] // 100 % 2, 1.0

    def learn(self, row: Floats, label: int, weight: float) -> None:
        pass


ASKED = [0]


@dataclass(frozen=True)
class Guessing(LabelLearner):
    """A fault: it says that it throws no coin, or remembers what is not in its state."""

    hypotheses: FiniteClass
    throws: bool = True

    def start(self, horizon: int, dimensions: int, rng: RngState) -> Guess:
        return Guess(rng if self.throws else None)


@pytest.mark.parametrize(("throws", "words"), [(True, "to be its frequency"), (False, "the same")])
def test_check_learner_detects_faulty_label_learner(throws: bool, words: str) -> None:
    with np.errstate(over="ignore"), pytest.raises(LearnerError, match=words):
        check_learner(Guessing(FiniteClass([[0, 1], [1, 0]]), throws))


@pytest.mark.full
def test_label_trace_has_ticket_probabilities() -> None:
    """Predictions by a coin were written down with probability 1."""
    pool = LabelledPool([1, 2, 3], [0, 1, 1])
    assert np.isnan(play(ERM(Thresholds(), ties="random"), pool, seed=0).probabilities).all()
    experts = Experts(FiniteClass([[0, 0, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]), Hedge(rate=0.5))
    assert (
        (play(experts, pool, seed=0).probabilities > 0)
        & (play(experts, pool, seed=0).probabilities < 1)
    ).any()


LOSSES, COSTS = np.random.default_rng(0).integers(0, 3, (2, 6, 2)) / 2
LABELLED = LabelledPool(np.arange(6) / 6, [0, 1, 0, 1, 1, 1])
WORST = Budget(3.0, worst=1.0, null="add")
FEEDBACK_MODELS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "full": (FollowTheLeader(), Pool(LOSSES), {}),
    "bandit": (UCB1(), Pool(LOSSES), {}),
    "budgeted": (EmpiricalLP(), Pool(LOSSES, costs=COSTS), {"budget": WORST}),
    "budgeted-bandit": (ThriftyLP(), Pool(LOSSES, costs=COSTS), {"budget": WORST}),
    "labels": (ERM(Thresholds()), LABELLED, {}),
}


def lived(learner: Any, pool: Any, terms: dict[str, Any]) -> Session:
    session = Session(learner, None if pool is LABELLED else 2, 6, seed=0, **terms)
    for t in range(6):
        ticket = session.act(float(LABELLED.features[t, 0]) if pool is LABELLED else None)
        session.observe(
            ticket, **session.feedback_model.outcome_of_row(LOSSES[t], ticket.action, COSTS[t])
        )
    return session


TOOLS: dict[str, Callable[..., Any]] = {
    "Session": lambda learner, pool, terms: lived(learner, pool, terms).loss,
    "ActionMonitor": lambda learner, pool, terms: ActionMonitor(
        lived(learner, pool, terms)
    ).certificate(),
    "play": lambda learner, pool, terms: play(learner, pool, seed=0, **terms).regret,
    "certify_trace": lambda learner, pool, terms: certify_trace(
        play(learner, pool, seed=0, **terms), pool
    ),
    "compare": lambda learner, pool, terms: compare(
        pool, [learner], repetitions=2, seed=0, workers=1, **terms
    ),
    "exact": lambda learner, pool, terms: exact.expected_loss(learner, pool, **terms),
}


@pytest.mark.parametrize("feedback", FEEDBACK_MODELS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_supports_or_rejects_feedback(
    tool: str, feedback: str, one_sentence: Callable[[object], str]
) -> None:
    """Labels are played where features say so: a certificate from them was given, and meant nothing."""
    with interpreted():
        if feedback == "labels" and tool in ("ActionMonitor", "certify_trace"):
            with pytest.raises(ParameterError) as refused:
                TOOLS[tool](*FEEDBACK_MODELS[feedback])
            assert "labels" in one_sentence(refused.value) or "features" in one_sentence(
                refused.value
            )
            return
        found = TOOLS[tool](*FEEDBACK_MODELS[feedback])
    if tool in ("ActionMonitor", "certify_trace"):
        assert len(found.names) == len(found.counts) == 2
        assert found.rounds == 6
