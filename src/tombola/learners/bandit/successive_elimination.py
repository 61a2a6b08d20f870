"""Successive elimination (Slivkins 2019, section 1.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import update_mean
from tombola.learners.base import Feedback, Learner


class _State(NamedTuple):
    """Active actions, turn, counts and means.

    width: 2 ln T, of the radius.
    turn: position of the next action in `active`.
    left, active: the first `left` entries of `active` are the active actions.
    seen, means: answers and mean loss of each action.
    """

    width: float
    turn: Floats
    left: Floats
    active: Floats
    seen: Floats
    means: Floats


def _eliminate(state: _State) -> None:
    """Drop every active action a with mean(a) - r(a) > min_b (mean(b) + r(b)).

    The radius r is infinite for an action without answers.
    """
    ceiling = math.inf
    for place in range(int(state.left[0])):
        action = int(state.active[place])
        if state.seen[action] > 0.0:
            ceiling = min(ceiling, state.means[action] + state.width / math.sqrt(state.seen[action]))
    kept = 0
    for place in range(int(state.left[0])):
        action = int(state.active[place])
        if state.seen[action] == 0.0 or state.means[action] - state.width / math.sqrt(state.seen[action]) <= ceiling:
            state.active[kept] = action
            kept += 1
    state.left[0] = kept


@dataclass(frozen=True)
class SuccessiveElimination(Learner):
    """Play every active action once, drop the inferior ones, and repeat.

    Action a is dropped if mean(a) - r(a) > min_b (mean(b) + r(b)), with r = sqrt(2 ln T / n) for the n losses seen of
    an action. With late feedback it continues in turn, and decides at the end of each turn by the losses seen so far.
    In random order its regret is at most `bounds.successive_elimination`, of which a delay d is d (H_k - 1), less than
    d ln k (docs/theory/transfer.md).

    feedback: "bandit", the learner observes the loss of the action played.

    >>> from tombola import Pool, play
    >>> trace = play(SuccessiveElimination(), Pool([[1.0, 0.0]] * 100), seed=0)
    >>> trace.actions.tolist() == [0, 1] * 37 + [1] * 26
    True
    """

    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state: all actions active, and no loss seen.

        actions, horizon: number of actions and of rounds.
        """
        width = math.sqrt(2 * math.log(horizon))
        everyone = np.arange(actions, dtype=np.float64)
        return _State(width, np.zeros(1), np.full(1, float(actions)), everyone, np.zeros(actions), np.zeros(actions))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        """Return the next active action in turn, and probability 1.

        state: as returned by `init`.
        rng: random generator.
        """
        if state.turn[0] == state.left[0]:
            if state.left[0] > 1.0:
                _eliminate(state)
            state.turn[0] = 0.0
        action = int(state.active[int(state.turn[0])])
        state.turn[0] += 1.0
        return action, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        """Add the loss (0 to 1) of `action` to its mean in `state`; ignore `probability`.

        state: as returned by `init`, changed in place.
        action, probability, loss: of the round observed; actions count from 0, a loss is in [0, 1].
        """
        update_mean(state.seen, state.means, action, loss)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        """Return a bound on the expected regret in random order, at any delay.

        actions, horizon: number of actions and of rounds.
        delay: constant delay of the feedback, in rounds.
        """
        return bounds.successive_elimination(horizon, actions, delay)
