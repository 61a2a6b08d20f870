"""Epsilon-greedy (Auer, Cesa-Bianchi and Fischer 2002, Figure 3)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.learners.bandit.counts import observe_mean
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.parameters import real


class _State(NamedTuple):
    c: float  # exploration constant
    acted: Floats  # rounds played
    # seen, means: answers and mean loss of each action.
    seen: Floats
    means: Floats


def _best_mean_action(state: _State) -> int:
    """Return the action with the smallest mean loss; -1 before any feedback."""
    best = -1
    for action in range(state.seen.size):
        if state.seen[action] > 0.0 and (best < 0 or state.means[action] < state.means[best]):
            best = action
    return best


@dataclass(frozen=True)
class EpsilonGreedy(MixedLearner):
    """Explore with probability e = min(1, c k / t), otherwise play the best mean.

    k is the number of actions and t the round. Before any feedback every round explores. Auer,
    Cesa-Bianchi and Fischer 2002, Theorem 3, prove logarithmic regret on i.i.d. rows if c > 5 / d^2
    and d is at most the smallest gap, which is unknown in practice. With the default it may stay
    with a wrong action for long, so `bound` is None.

    c: exploration constant, 0 or more.

    >>> from tombola import Pool, play
    >>> trace = play(EpsilonGreedy(), Pool([[1.0, 0.0]] * 1000), seed=0)
    >>> int(trace.actions.sum()) > 950
    True
    """

    c: float = real(1.0, least=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        return _State(self.c, np.zeros(1), np.zeros(actions), np.zeros(actions))

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        state.acted[0] += 1.0
        best = _best_mean_action(state)
        share = 1.0 if best < 0 else min(1.0, state.c * mix.size / state.acted[0])
        for action in range(mix.size):
            mix[action] = share / mix.size
        if best >= 0:
            mix[best] += 1.0 - share

    observe = staticmethod(observe_mean)
