"""Session: the same as play to the bit, never an action that could overspend, and a balance that survives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import Session, Ticket, play
from tombola.budget.budget import Budget, BudgetRun
from tombola.errors import FeedbackError
from tombola.feedback import BudgetedFeedback
from tombola.learners import (
    BudgetedLearner,
    BudgetSimulation,
    DualDescent,
    EmpiricalLP,
    PrimalDual,
    SerflingLP,
)
from tombola.pool import Pool

LEARNERS = [
    PrimalDual(),
    EmpiricalLP(),
    *(
        pytest.param(learner, marks=pytest.mark.full)  # each takes ten seconds to compile
        for learner in (
            DualDescent(),
            SerflingLP(delta=0.99),
            BudgetSimulation(delta=0.9, margin=0.0),
        )
    ),
]
T, K, M = 60, 3, 2
RNG = np.random.default_rng(8)
COSTS = RNG.random((T, K, M)) * np.array([1.0, 50.0])
POOL = Pool(RNG.random((T, K)), costs=COSTS)
BUDGET = Budget([9.0, 600.0], worst=COSTS.max(axis=0), null="add")


def answer(session: Session, ticket: Ticket) -> bool:
    row = ticket.round - 1
    return session.observe(ticket, loss=POOL.losses[row], cost=COSTS[row])


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("stop", ["strict", "fits"])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_session_equals_play_also_saved_midway(
    learner: BudgetedLearner, stop: Any, tmp_path: Path
) -> None:
    for delay in (0, 4):
        trace = play(learner, POOL, "given", delay, budget=BUDGET, stop=stop, seed=11)
        session = Session(learner, K, horizon=T, budget=BUDGET, stop=stop, seed=11)
        tickets: list[Ticket] = []
        for t in range(T):
            if t > delay:
                answer(session, tickets[t - delay - 1])
            tickets.append(session.act())
            if t == 33:
                session.save(tmp_path / "session.json")
                before = session
                session = Session.load(tmp_path / "session.json")
                assert session.balance == before.balance
                assert session.pending == before.pending
                assert (session.learner, session.names) == (learner, before.names)
        answer(session, tickets[T - delay - 1])
        assert [ticket.action for ticket in tickets] == trace.actions.tolist()
        assert [ticket.probability for ticket in tickets] == trace.probabilities.tolist()
        assert session.balance == trace.balance


def test_invalid_feedback_changes_nothing(one_sentence: Any) -> None:
    session = Session(EmpiricalLP(), K, horizon=T, budget=BUDGET, seed=0)
    ticket = session.act()
    row, costs = POOL.losses[0], COSTS[0]
    memory, balance = session._live.runner.memory.copy(), session.balance
    wrong: list[dict[str, Any]] = [
        *({"loss": losses, "cost": costs} for losses in (row[:2], row + 1, None)),
        *(
            {"loss": row, "cost": cost}
            for cost in (costs[:, 0], costs - 100, costs + 100, costs * np.nan, "free")
        ),
        {"loss": row, "reward": row, "cost": costs},
    ]
    for feedback in wrong:
        with pytest.raises(FeedbackError) as caught:
            session.observe(ticket, **feedback)
        one_sentence(caught.value)
    with pytest.raises(FeedbackError):
        session.observe(Ticket(5, 0, 1.0), loss=row, cost=costs)
    assert session._live.runner.memory.tolist() == memory.tolist()
    assert session.balance == balance
    assert session.observe(ticket, reward=1 - row, cost=costs)
    assert not session.observe(ticket, loss=1 - (1 - row), cost=costs)
    with pytest.raises(FeedbackError) as caught:
        session.observe(ticket, loss=row * 0, cost=costs)
    one_sentence(caught.value)


@pytest.mark.parametrize("resources", [1, 2])
def test_cost_is_at_its_place_in_the_row(resources: int) -> None:
    budget_run = BudgetRun(Budget([9.0] * resources, worst=9.0, null="add").resolve(2, resources))
    setting = BudgetedFeedback(3, 60, budget_run)
    costs = np.arange(1.0, 1.0 + 2 * resources).reshape(2, resources)
    outcome = (0.25, 0.5, *costs.ravel().tolist())
    action_costs = [list(setting.costs(action, outcome)) for action in range(3)]
    assert action_costs == [*costs.tolist(), [0.0] * resources]
    assert [setting.loss(action, outcome) for action in range(3)] == [0.25, 0.5, 1.0]
