"""Hedge for an unknown horizon (Gerchinovitz 2011; Bubeck 2011)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.full_information.follow_the_leader import add_losses
from tombola.learners.full_information.hedge import write_exponential_weights


class _State(NamedTuple):
    """The number of rows seen, and the total loss of every action over them."""

    seen: Floats
    totals: Floats


@dataclass(frozen=True)
class HedgeAnytime(MixedLearner):
    """Play Hedge with rate = 2 sqrt(ln k / (1 + rows seen)).

    Without delay the regret is at most sqrt(T ln k) in every order, for all T at once. In random order a delay d adds
    d (1 - 1/k), without being known.

    feedback: "full", the learner observes the losses of all actions.

    >>> from tombola import Pool, play
    >>> trace = play(HedgeAnytime(), Pool([[1.0, 0.0]] * 3), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.236, 0.128]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state for `actions` actions: no row seen; ignore `horizon`."""
        return _State(seen=np.zeros(1), totals=np.zeros(actions))

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        """Write weights exp(-rate * total) into `mix`, at a rate for the rows in `state`."""
        rate = 2.0 * math.sqrt(math.log(mix.size) / (1.0 + state.seen[0]))
        write_exponential_weights(state.totals, rate, mix)

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        """Count a row in `state`, and add its `losses`, shape (k,), to the totals."""
        state.seen[0] += 1.0
        add_losses(state.totals, losses)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        """Return a regret bound for `actions`, `horizon` rounds and a `delay` in rounds."""
        return bounds.hedge_anytime(horizon, actions, delay)
