"""Runner: plans without end, round numbers of feedback, invalid actions."""

import math
from typing import Any

import numpy as np
import pytest

from conftest import Sums, variant
from tombola import Pool, Session, play
from tombola._types import Floats
from tombola.engine.compiler import compiled, interpreted
from tombola.engine.runner import _MAX_PLANS
from tombola.errors import LearnerError
from tombola.learners import OptimisticSimulation, Simulation


def count_plan(self: Any, state: Sums, rng: object) -> None:
    state.total[0] += 1
    assert state.total[0] <= _MAX_PLANS, "its patience has no end"


NeverReady = variant("NeverReady", needs_plan=lambda state: True)
NeverReady.plan = count_plan


def test_learner_that_stays_due_raises() -> None:
    with pytest.raises(LearnerError, match="needs to plan after 100 plans in round 1"):
        play(NeverReady(), Pool([[0.0, 1.0]]), seed=1)
    with pytest.raises(LearnerError, match="needs to plan after 100 plans in round 1"):
        Session(NeverReady(), 2, 10, seed=0).act()


def check_round(state: Sums, round: int, losses: Floats) -> None:
    state.total[0] += 1.0
    assert round == state.total[0]
    assert losses[0] == round / 4


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("delay", [0, 2])
def test_observe_gets_round_of_row(delay: int) -> None:
    """Every round is told in its turn."""
    pool, learner = Pool([[0.25], [0.5], [0.75], [1.0]]), variant("Dated", observe=check_round)()
    assert play(learner, pool, "given", delay, seed=1).plays.tolist() == [4]


def constant(name: str, action: float, **members: Any) -> Any:
    """Return a learner that returns a float as its action."""
    learner = variant(name, act=lambda state, rng: (state.other[0], 1.0), **members)
    learner.init = lambda self, actions, horizon: Sums(np.zeros(1), np.array([action]))
    return learner()


BANDIT = {"feedback": "bandit", "observe": lambda state, loss: None}


POOL = Pool([[0.0, 1.0]] * 40)


@pytest.mark.parametrize(
    ("members", "simulation", "mode"),
    [
        ({}, Simulation, interpreted),
        ({}, Simulation, compiled),
        (BANDIT, OptimisticSimulation, interpreted),
        pytest.param(BANDIT, OptimisticSimulation, compiled, marks=pytest.mark.full),
    ],
)
def test_invalid_action_is_rejected_in_every_driver(
    members: dict[str, Any], simulation: Any, mode: Any
) -> None:
    """The loop, a session and a simulation name the learner, the actions it has, and the action it returned."""
    with mode():
        for action in (1.5, 2.0, -1.0, math.nan):
            text = (
                r"^Constant\.act: expected an action that is a whole number from 0 to 1, "
                rf"got {action:g}; ret"
            )
            learner = constant("Constant", action, **members)
            for one in (learner, simulation(learner)):
                with pytest.raises(LearnerError, match=text):
                    play(one, POOL, seed=1)
            with pytest.raises(LearnerError, match=text):
                Session(learner, actions=2, horizon=5, seed=1).act()
        assert play(constant("Constant", 1.0, **members), POOL, seed=1).plays.tolist() == [0, 40]


@pytest.mark.usefixtures("plainly")
def test_error_inside_act_is_not_replaced() -> None:
    careless = variant("Careless", act=lambda state, rng: (int(state.total[1]), 1.0))()
    with pytest.raises(IndexError, match="out of bounds"):
        play(careless, POOL, seed=1)
    with pytest.raises(IndexError, match="out of bounds"):
        Session(careless, actions=2, horizon=5, seed=1).act()
