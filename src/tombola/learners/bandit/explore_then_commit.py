"""Explore then commit (Robbins 1952; Slivkins 2019, section 1.2)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import _validate, bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import argmin, update_mean
from tombola.learners.base import Feedback, Learner


class _State(NamedTuple):
    """Answers and means of every action, and the action committed to."""

    rounds: float  # answers that each action needs
    committed: Floats  # action, -1 during exploration
    turn: Floats  # next action of the exploration
    short: Floats  # number of actions that still need answers
    # seen, means: answers and mean loss of each action.
    seen: Floats
    means: Floats


def _tuned_rounds(actions: int, horizon: int) -> int:
    """Return the exploration rounds per action, tuned to the horizon.

    It is ceil((T / k)^(2/3) (ln T)^(1/3)), between 1 and T // k.
    """
    rounds = math.ceil(math.pow(horizon / actions, 2 / 3) * math.pow(math.log(horizon), 1 / 3))
    return max(1, min(rounds, horizon // actions))


@dataclass(frozen=True)
class ExploreThenCommit(Learner):
    """Play each action until `rounds` losses are seen, then that of the best mean.

    `rounds` = None is tuned to the horizon, m = ceil((T / k)^(2/3) (ln T)^(1/3)). In random order its regret is at
    most (k-1) m + sqrt(2 ln k (F+m) (F+1) / m), F = T - k m (proof: `bounds.explore_then_commit`). A delay prolongs
    the exploration until the losses have arrived; feedback after the commitment is ignored.

    rounds: number of losses to see of each action before the commitment, at least 1; None: see above.
    feedback: "bandit", the learner observes the loss of the action played.

    >>> from tombola import Pool, play
    >>> play(ExploreThenCommit(rounds=2), Pool([[1.0, 0.0]] * 8), seed=0).actions.tolist()
    [0, 1, 0, 1, 1, 1, 1, 1]
    """

    rounds: int | None = None
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        if self.rounds is not None:
            _validate.integer("ExploreThenCommit", "rounds", self.rounds, least=1)

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state: no loss seen, and the number of losses to explore.

        Each action needs the parameter `rounds` of them; None is ceil((T / k)^(2/3) (ln T)^(1/3)), at most T / k.

        actions, horizon: number k of actions, and number T of rounds.
        """
        rounds = _tuned_rounds(actions, horizon) if self.rounds is None else self.rounds
        short = np.full(1, float(actions))
        return _State(float(rounds), np.full(1, -1.0), np.zeros(1), short, np.zeros(actions), np.zeros(actions))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        """Return the next action in turn, or the action committed to, and probability 1.

        It commits to the smallest mean loss once every action has the required number of losses. Actions count from 0.

        state: as returned by `init`, changed in place.
        rng: not used.
        """
        if state.committed[0] < 0.0 and state.short[0] == 0.0:
            state.committed[0] = argmin(state.means)
        if state.committed[0] >= 0.0:
            return int(state.committed[0]), 1.0
        action = int(state.turn[0])
        state.turn[0] = 0.0 if action + 1 == state.seen.size else action + 1.0
        return action, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        """Add a loss to the mean loss of the action played; a kernel.

        state: as returned by `init`, changed in place.
        action, loss: the action played, from 0, and its loss in [0, 1].
        probability: not used.
        """
        update_mean(state.seen, state.means, action, loss)
        if state.seen[action] == state.rounds:
            state.short[0] -= 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Return a bound on the expected regret in random order; None if `delay` > 0.

        actions, horizon: number of actions and of rounds.
        delay: constant delay of the feedback, in rounds.
        """
        rounds = _tuned_rounds(actions, horizon) if self.rounds is None else self.rounds
        return None if delay > 0 else bounds.explore_then_commit(horizon, actions, rounds)
