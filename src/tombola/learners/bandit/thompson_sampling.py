"""Thompson sampling (Thompson 1933; Agrawal and Goyal 2012)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.base import Feedback, Learner
from tombola.rng import gamma


class _State(NamedTuple):
    """Sums of losses and of 1 - loss (`spared`), for every action."""

    losses: Floats
    spared: Floats


@dataclass(frozen=True)
class ThompsonSampling(Learner):
    """Draw every mean loss from its Beta posterior, and play the smallest.

    The posterior is Beta(1 + sum of losses, 1 + sum of 1 - loss).

    For losses in {0, 1} this is Agrawal and Goyal 2012, Algorithm 1. Their Algorithm 2 turns a loss in between into 0
    or 1 by a coin; here it counts as a fraction, so that learning needs no rng. The probability of the action has no
    formula: it is NaN. The bound is for i.i.d. rows and has no explicit constants, so `bound` is None.

    feedback: "bandit", the learner observes the loss of the action played.

    >>> from tombola import Pool, play
    >>> trace = play(ThompsonSampling(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> int(trace.actions.sum()) > 90
    True
    """

    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state: the posterior Beta(1, 1) of every action, no loss seen.

        actions: number of actions.
        horizon: not used.
        """
        return _State(losses=np.zeros(actions), spared=np.zeros(actions))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        """Draw a mean loss for each action; return the action of the smallest, and NaN.

        Each is drawn from the Beta posterior of the action. NaN stands for the probability, which has no formula.

        state: as returned by `init`; not changed.
        rng: random generator of the draws, changed in place.
        """
        best, least = 0, math.inf
        for action in range(state.losses.size):
            lost = gamma(rng, 1.0 + state.losses[action])
            kept = gamma(rng, 1.0 + state.spared[action])
            guess = lost / (lost + kept)
            if guess < least:
                best, least = action, guess
        return best, math.nan

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        """Add loss and 1 - loss to the two parameters of the action's Beta posterior.

        state: as returned by `init`, changed in place.
        action, loss: the action played, from 0, and its loss in [0, 1].
        probability: not used.
        """
        state.losses[action] += loss
        state.spared[action] += 1.0 - loss
