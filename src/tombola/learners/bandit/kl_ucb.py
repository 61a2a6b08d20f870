"""KL-UCB for losses (Garivier and Cappe 2011, Algorithm 1)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import kl_lower_bound, least_tried_action, update_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real

# Larger than the error of `kl_lower_bound`, so that no candidate is missed.
_TANGENT_TOLERANCE = 1e-11


class _State(NamedTuple):
    c: float  # factor of ln ln t
    answered: Floats  # all answers
    # chosen, seen, means: plays, answers and mean loss of each action.
    chosen: Floats
    seen: Floats
    means: Floats
    # indices, levels, slopes: last lower bound of each action, its level, and its derivative.
    indices: Floats
    levels: Floats
    slopes: Floats


def _tangent(state: _State, action: int, level: float) -> float:
    """Return the tangent of the last lower bound, which is convex in the level."""
    return state.indices[action] - state.slopes[action] * (level - state.levels[action])  # type: ignore[no-any-return]


def _solve_lower_bound(state: _State, action: int, level: float) -> float:
    """Return the lower bound of an action, and store it with its slope."""
    mean = state.means[action]
    seen = state.seen[action]
    index = kl_lower_bound(mean, level / seen)
    if index < mean or index == 0.0:
        state.indices[action] = index
        state.levels[action] = level
        state.slopes[action] = (
            index * (1.0 - index) / (seen * (mean - index)) if index > 0.0 else 0.0
        )
    return index


def _most_promising(state: _State, level: float) -> int:
    """Return the action with the smallest lower bound at the level ln t + c ln ln t.

    Tangents, which are below the bounds, save most of the exact solutions.
    """
    best = 0
    for action in range(1, state.seen.size):
        if _tangent(state, action, level) < _tangent(state, best, level):
            best = action
    least = _solve_lower_bound(state, best, level)
    for action in range(state.seen.size):
        if action != best and _tangent(state, action, level) <= least + _TANGENT_TOLERANCE:
            index = _solve_lower_bound(state, action, level)
            if index < least or (index == least and action < best):
                best = action
                least = index
    return best


@dataclass(frozen=True)
class KLUCB(Learner):
    """Play the action with the smallest KL lower confidence bound q.

    q <= mean(a) is the smallest with n(a) kl(mean(a), q) <= ln t + c ln ln t.

    n(a) counts the losses seen of a, and t - 1 all of them; kl(p, q) = p ln(p/q) + (1-p)
    ln((1-p)/(1-q)). Every action is tried once first. c = 0 is the choice of Garivier and Cappe
    2011 in practice, c = 3 that of their proof, which gives no bound for c = 0, nor one that is
    free of the gaps, so `bound` is None (docs/theory/transfer.md).

    c: weight of ln ln t in the threshold, at least 0.

    >>> from tombola import Pool, play
    >>> trace = play(KLUCB(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> int(trace.actions.sum()) > 90
    True
    """

    c: float = real(0.0, least=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        chosen, seen, means, levels, slopes = np.zeros((5, actions))
        return _State(
            self.c, np.zeros(1), chosen, seen, means, np.full(actions, -math.inf), levels, slopes
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        best = least_tried_action(state.seen, state.chosen)
        if best < 0:
            level = math.log(state.answered[0] + 1.0)
            level = max(0.0, level + state.c * math.log(level))
            best = _most_promising(state, level)
        state.chosen[best] += 1.0
        return best, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        update_mean(state.seen, state.means, action, loss)
        state.indices[action] = -math.inf
        state.slopes[action] = 0.0
        state.answered[0] += 1.0
