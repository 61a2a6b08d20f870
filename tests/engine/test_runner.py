"""Runner: plans without end, round numbers of feedback."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from tombola import Pool, play
from tombola._types import Floats
from tombola.engine.runner import _MAX_PLANS
from tombola.errors import LearnerError
from tombola.learners.base import Learner


class Always(NamedTuple):
    """How often it planned."""

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
