"""UCB1 for losses (Auer, Cesa-Bianchi and Fischer 2002, Figure 1)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import least_tried_action, update_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real

# As printed; the bound holds for this value only.
_DEFAULT_SCALE = 2.0


class _State(NamedTuple):
    scale: float  # factor of ln n in the radius
    answered: Floats  # all answers
    untried: Floats  # actions without an answer
    # Of each action; shrink = 1 / sqrt(seen).
    chosen: Floats
    seen: Floats
    means: Floats
    shrink: Floats


@dataclass(frozen=True)
class UCB1(Learner):
    """Play the smallest lower confidence bound, mean(a) - sqrt(scale ln n / n(a)).

    n(a) counts the losses seen of a, and n all of them. Every action is tried once first. `scale` =
    2 is the original; a smaller one explores less. With `scale` = 2 and without delay its regret in
    random order is at most `bounds.ucb1`: the bound for i.i.d. rows plus the drift of random order
    (docs/theory/transfer.md).

    scale: factor of ln n, 0 or more.

    >>> from tombola import Pool, play
    >>> trace = play(UCB1(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> int(trace.actions.sum()) > 80
    True
    """

    scale: float = real(_DEFAULT_SCALE, least=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        zeros = np.zeros((4, actions))
        return _State(self.scale, np.zeros(1), np.full(1, float(actions)), *zeros)

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        best = 0
        least = math.inf
        if state.untried[0] > 0.0:
            best = least_tried_action(state.seen, state.chosen)
        else:
            width = math.sqrt(state.scale * math.log(state.answered[0]))
            for action in range(state.seen.size):
                index = state.means[action] - width * state.shrink[action]
                if index < least:
                    best = action
                    least = index
        state.chosen[best] += 1.0
        return best, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        if state.seen[action] == 0.0:
            state.untried[0] -= 1.0
        update_mean(state.seen, state.means, action, loss)
        state.shrink[action] = 1.0 / math.sqrt(state.seen[action])
        state.answered[0] += 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return (
            bounds.ucb1(horizon, actions) if self.scale == _DEFAULT_SCALE and delay == 0 else None
        )
