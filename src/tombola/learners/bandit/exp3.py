"""Exp3, exponential weights on estimated losses (Auer et al. 2002), for losses.

Bubeck and Cesa-Bianchi 2012, Figure 3.1 and Theorem 3.1; Lattimore and Szepesvari 2020, Theorem
11.2.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.learners.bandit.counts import argmin
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.parameters import real

# Weights are rescaled below this sum, long before they underflow.
_MIN_WEIGHT_SUM = 1e-100


class _State(NamedTuple):
    rate: float  # learning rate
    base: Floats  # shift of the exponent, which keeps weights in range
    # Estimated total loss of each action, and weight = exp(base - rate total).
    totals: Floats
    weights: Floats


def _rebase(state: _State) -> None:
    """Rescale the weights to a largest weight of 1, in place; a kernel."""
    state.base[0] = state.rate * state.totals[argmin(state.totals)]
    for action in range(state.totals.size):
        state.weights[action] = math.exp(state.base[0] - state.rate * state.totals[action])


def _weight_sum(weights: Floats) -> float:
    """Return the sum of the weights of all actions; a kernel."""
    total = 0.0
    for action in range(weights.size):
        total += weights[action]
    return total


@dataclass(frozen=True)
class Exp3(MixedLearner):
    """Play action a with probability proportional to exp(-rate total(a)).

    total(a) is the sum of loss / probability over the plays of a; it is right on average also when
    feedback is late.

    rate: learning rate, above 0. None is tuned to k actions and T rounds, sqrt(2 ln k / (k T));
        then the regret is at most sqrt(2 k T ln k), in every order.

    >>> from tombola import Pool, play
    >>> trace = play(Exp3(), Pool([[1.0, 0.0]] * 200), seed=0)
    >>> int(trace.actions.sum()) > 150
    True
    """

    rate: float | None = real(None, above=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        tuned = math.sqrt(2 * math.log(actions) / (actions * horizon))
        rate = tuned if self.rate is None else self.rate
        return _State(rate, np.zeros(1), np.zeros(actions), np.ones(actions))

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        total = _weight_sum(state.weights)
        if total < _MIN_WEIGHT_SUM:
            _rebase(state)
            total = _weight_sum(state.weights)
        for action in range(mix.size):
            mix[action] = state.weights[action] / total

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        state.totals[action] += loss / probability
        state.weights[action] = math.exp(state.base[0] - state.rate * state.totals[action])

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return None if delay > 0 else bounds.exp3(horizon, actions, self.rate)
