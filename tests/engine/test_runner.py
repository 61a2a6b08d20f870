"""Runner: plans without end, round numbers of feedback, invalid actions."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from tombola import Pool, Session, play
from tombola._types import Floats
from tombola.engine.compiler import compiled, interpreted
from tombola.engine.runner import _MAX_PLANS
from tombola.errors import LearnerError
from tombola.learners import OptimisticSimulation, Simulation
from tombola.learners.base import Learner


class Always(NamedTuple):
    plans: Floats


@dataclass(frozen=True)
class NeverReady(Learner):
    """A learner that stays due after every plan."""

    feedback: ClassVar = "full"

    def init(self, actions: int, horizon: int) -> Always:
        return Always(np.zeros(1))

    @staticmethod
    def needs_plan(state: Always) -> bool:
        return True

    def plan(self, state: Always, rng: object) -> None:
        state.plans[0] += 1
        assert state.plans[0] <= _MAX_PLANS, "its patience has no end"

    @staticmethod
    def act(state: Always, rng: object) -> tuple[int, float]:
        return 0, 1.0

    @staticmethod
    def observe(state: Always, losses: Floats) -> None:
        return


def test_learner_that_stays_due_raises() -> None:
    with pytest.raises(LearnerError, match="needs to plan after 100 plans in round 1"):
        play(NeverReady(), Pool([[0.0, 1.0]]), seed=1)
    with pytest.raises(LearnerError, match="needs to plan after 100 plans in round 1"):
        Session(NeverReady(), 2, 10, seed=0).act()


@dataclass(frozen=True)
class Dated(NeverReady):
    """A learner that is told of every round in its turn."""

    @staticmethod
    def needs_plan(state: Always) -> bool:
        return False

    @staticmethod
    def observe(state: Always, round: int, losses: Floats) -> None:  # type: ignore[override]
        state.plans[0] += 1.0
        assert round == state.plans[0]
        assert losses[0] == round / 4


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("delay", [0, 2])
def test_observe_gets_round_of_row(delay: int) -> None:
    pool = Pool([[0.25], [0.5], [0.75], [1.0]])
    assert play(Dated(), pool, "given", delay, seed=1).plays.tolist() == [4]


class Chosen(NamedTuple):
    action: Floats


@dataclass(frozen=True)
class Constant(Learner):
    """A learner that returns a float as its action."""

    action: float
    feedback: ClassVar = "full"

    def init(self, actions: int, horizon: int) -> Chosen:
        return Chosen(np.array([self.action]))

    @staticmethod
    def act(state: Chosen, rng: object) -> Any:
        return state.action[0], 1.0

    @staticmethod
    def observe(state: Chosen, losses: Floats) -> None:
        return


@dataclass(frozen=True)
class BanditConstant(Constant):
    feedback: ClassVar = "bandit"  # type: ignore[assignment]

    @staticmethod
    def observe(state: Chosen, loss: float) -> None:  # type: ignore[override]
        return


POOL = Pool([[0.0, 1.0]] * 40)


@pytest.mark.parametrize(
    ("make", "mode"),
    [
        (Constant, interpreted), (Constant, compiled), (BanditConstant, interpreted),
        pytest.param(BanditConstant, compiled, marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_invalid_action_is_rejected_in_every_driver(
    make: Any, mode: Callable[[], AbstractContextManager[None]]
) -> None:
    """The loop, a session and a simulation name the learner, the actions it has, and the action it returned."""
    with mode():
        for action in (1.5, 2.0, -1.0, math.nan):
            text = rf"^{make.__name__}\.act: expected an action that is a whole number from 0 to 1, got {action:g}; ret"
            simulation: Any = Simulation if make is Constant else OptimisticSimulation
            for learner in (make(action), simulation(make(action))):
                with pytest.raises(LearnerError, match=text):
                    play(learner, POOL, seed=1)
            with pytest.raises(LearnerError, match=text):
                Session(make(action), actions=2, horizon=5, seed=1).act()
        assert play(make(1.0), POOL, seed=1).plays.tolist() == [0, 40]


@dataclass(frozen=True)
class Careless(Dated):
    """A learner with an error of its own, which keeps its type and its traceback."""

    @staticmethod
    def act(state: Always, rng: object) -> tuple[int, float]:
        return int(state.plans[1]), 1.0


@pytest.mark.usefixtures("plainly")
def test_error_inside_act_is_not_replaced() -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        play(Careless(), POOL, seed=1)
    with pytest.raises(IndexError, match="out of bounds"):
        Session(Careless(), actions=2, horizon=5, seed=1).act()
