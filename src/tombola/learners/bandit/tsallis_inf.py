"""Tsallis-INF (Zimmert and Seldin 2021, Algorithm 1, alpha = 1/2).

Good at once for i.i.d. and for adversarial losses. The variant with importance-weighted estimates
("IW").
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.learners.bandit.counts import argmin
from tombola.learners.base import Feedback, MixedLearner

# Allowed deviation of the sum of a mix from 1; the mix is then normalised.
_SUM_TOLERANCE = 1e-11
# Largest number of Newton steps of `normalise`; far above the steps that occur.
_MAX_NEWTON_STEPS = 60


class _State(NamedTuple):
    answered: Floats
    y: Floats  # solution of `normalise` in the last round, where the next search starts
    # Estimated total loss of each action, and gap = eta (total - smallest total) / 2.
    totals: Floats
    gaps: Floats


def normalise(gaps: Floats, y: float, mix: Floats) -> float:
    """Write the mix 1 / (y + gap)^2 for the y >= 1 that makes its sum 1; return y.

    A kernel: Newton's method on sum^(-1/2) = 1, which is concave and nearly straight in y. After
    one step it climbs to the root and never passes it.

    gaps: eta (total - smallest total) / 2 of each action, with eta the learning rate.
    y: where the search starts, 1 or more; the y of the last round is close.
    """
    for _ in range(_MAX_NEWTON_STEPS):
        total = 0.0
        slope = 0.0
        for action in range(mix.size):
            inverse = 1.0 / (y + gaps[action])
            mix[action] = inverse * inverse
            total += mix[action]
            slope += mix[action] * inverse
        if abs(total - 1.0) <= _SUM_TOLERANCE:
            break
        y = max(1.0, y + total * (math.sqrt(total) - 1.0) / slope)
    for action in range(mix.size):
        mix[action] /= total
    return y


@dataclass(frozen=True)
class TsallisInf(MixedLearner):
    """Play action a with probability 4 / (eta (total(a) - x))^2; x makes the sum 1.

    total(a) adds up loss / probability of the plays of a, and eta = 2 / sqrt(t), where t - 1 counts
    the rounds answered (without delay, t is the round). No parameters, no horizon. The regret is at
    most (4 sqrt(k) - 2) sqrt(T) in every order.

    >>> from tombola import Pool, play
    >>> trace = play(TsallisInf(), Pool([[1.0, 0.0]] * 200), seed=0)
    >>> int(trace.actions.sum()) > 150
    True
    """

    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        return _State(
            np.zeros(1), np.full(1, math.sqrt(actions)), np.zeros(actions), np.zeros(actions)
        )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        half_eta = 1.0 / math.sqrt(state.answered[0] + 1.0)
        smallest = state.totals[argmin(state.totals)]
        for action in range(mix.size):
            state.gaps[action] = (state.totals[action] - smallest) * half_eta
        state.y[0] = normalise(state.gaps, state.y[0], mix)

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        state.totals[action] += loss / probability
        state.answered[0] += 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return None if delay > 0 else bounds.tsallis_inf(horizon, actions)
