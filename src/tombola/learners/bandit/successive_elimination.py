"""Successive elimination (Slivkins 2019, section 1.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import drop_inferior, observe_mean
from tombola.learners.base import Feedback, Learner


class _State(NamedTuple):
    width: float  # sqrt(2 ln T), factor of the radius
    turn: Floats  # position of the next action in `active`
    # left, active: the first `left` entries of `active` are the active actions.
    left: Floats
    active: Floats
    # radii, seen, means: radius, answers and mean loss of each action.
    radii: Floats
    seen: Floats
    means: Floats


@dataclass(frozen=True)
class SuccessiveElimination(Learner):
    """Play every active action once, drop the inferior ones, and repeat.

    Action a is dropped if mean(a) - r(a) > min_b (mean(b) + r(b)), with r = sqrt(2 ln T / n) for
    the n losses seen of an action. With late feedback it continues in turn, and decides at the end
    of each turn by the losses seen so far. In random order its regret is at most
    `bounds.successive_elimination`, in which a delay d adds d (H_k - 1), less than d ln k; H_k is 1
    + 1/2 + .. + 1/k (docs/theory/transfer.md).

    >>> from tombola import Pool, play
    >>> trace = play(SuccessiveElimination(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> trace.actions.tolist() == [0, 1] * 37 + [1] * 26
    True
    """

    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        width = math.sqrt(2 * math.log(horizon))
        everyone = np.arange(actions, dtype=np.float64)
        return _State(
            width, np.zeros(1), np.full(1, float(actions)), everyone, *np.zeros((3, actions))
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        if state.turn[0] == state.left[0]:
            if state.left[0] > 1.0:
                for place in range(int(state.left[0])):
                    action = int(state.active[place])
                    state.radii[action] = state.width / math.sqrt(max(1.0, state.seen[action]))
                drop_inferior(state.left, state.active, state.seen, state.means, state.radii)
            state.turn[0] = 0.0
        action = int(state.active[int(state.turn[0])])
        state.turn[0] += 1.0
        return action, 1.0

    observe = staticmethod(observe_mean)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        return bounds.successive_elimination(horizon, actions, delay)
