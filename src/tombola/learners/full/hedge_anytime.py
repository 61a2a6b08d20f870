"""Hedge for an unknown horizon: the rate falls with the rows seen (Cesa-Bianchi and Lugosi 2006, Theorem 2.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.full.follow_the_leader import add
from tombola.learners.full.hedge import weigh
from tombola.types import Floats


class State(NamedTuple):
    """The number of rows seen, and the total loss of every action over them."""

    seen: Floats
    totals: Floats


@dataclass(frozen=True)
class HedgeAnytime(MixedLearner):
    """Play an action with chance proportional to exp(-rate * its total loss), rate = sqrt(8 ln k / (1 + rows seen)).

    The regret is at most 2 sqrt(T ln k / 2) + sqrt(ln k / 8) in every order, for all T at once.

    >>> from tombola import Pool, play
    >>> trace = play(HedgeAnytime(), Pool([[1.0, 0.0]] * 3), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.159, 0.062]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> State:
        """Start with no row seen."""
        return State(seen=np.zeros(1), totals=np.zeros(actions))

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        """Weigh the actions by their totals."""
        rate = math.sqrt(8.0 * math.log(mix.size) / (1.0 + state.seen[0]))
        weigh(state.totals, rate, mix)

    @staticmethod
    def observe(state: State, losses: Floats) -> None:
        """Add the row to the totals."""
        state.seen[0] += 1.0
        add(state.totals, losses)

    def bound(self, actions: int, horizon: int) -> float:
        """Bound the regret in every order."""
        return bounds.hedge_anytime(horizon, actions)
