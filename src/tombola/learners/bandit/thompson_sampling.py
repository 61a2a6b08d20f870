"""Thompson sampling (Thompson 1933; Agrawal and Goyal 2012)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.base import Feedback, Learner
from tombola.rng import gamma


class _State(NamedTuple):
    # Sums of losses and of 1 - loss, for every action.
    losses: Floats
    spared: Floats


@dataclass(frozen=True)
class ThompsonSampling(Learner):
    """Draw every mean loss from its Beta posterior, and play the smallest.

    The posterior is Beta(1 + sum of losses, 1 + sum of 1 - loss).

    For losses in {0, 1} this is Agrawal and Goyal 2012, Algorithm 1. Their Algorithm 2 turns a loss in between into 0
    or 1 by a coin; here it counts as a fraction, so that learning needs no rng. The probability of the action has no
    formula: it is NaN. The bound is for i.i.d. rows and has no explicit constants, so `bound` is
        None.

    >>> from tombola import Pool, play
    >>> trace = play(ThompsonSampling(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> int(trace.actions.sum()) > 90
    True
    """

    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        return _State(losses=np.zeros(actions), spared=np.zeros(actions))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        best = 0
        least = math.inf
        for action in range(state.losses.size):
            lost = gamma(rng, 1.0 + state.losses[action])
            spared = gamma(rng, 1.0 + state.spared[action])
            guess = lost / (lost + spared)
            if guess < least:
                best = action
                least = guess
        return best, math.nan

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        state.losses[action] += loss
        state.spared[action] += 1.0 - loss
