"""Baseline for switching costs: one random action in all rounds."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.base import Feedback, Learner
from tombola.rng import integers


class _State(NamedTuple):
    """The number of actions, and the action drawn (-1 before)."""

    actions: float
    drawn: Floats


@dataclass(frozen=True)
class RandomFixedAction(Learner):
    """Draw one action uniformly and play it in every round; ignore all feedback.

    Its expected regret is T times the distance of the average action from the best one.

    feedback: "bandit", the learner observes the loss of the action played.
    learns: False, it is a baseline.

    >>> from tombola import Pool, play
    >>> play(RandomFixedAction(), Pool([[1.0, 0.0]] * 5), switching_price=10.0, seed=1).switches
    0
    """

    feedback: ClassVar[Feedback] = "bandit"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state: `actions` actions, none drawn yet; ignore `horizon`."""
        return _State(float(actions), np.full(1, -1.0))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        """Return the action that `rng` drew in round 1; its probability is 1/k, later 1."""
        if state.drawn[0] >= 0.0:
            return int(state.drawn[0]), 1.0
        state.drawn[0] = integers(rng, int(state.actions))
        return int(state.drawn[0]), 1.0 / state.actions

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        """Do nothing: this learner ignores `action`, `probability` and `loss`."""
