"""Explore then commit (Robbins 1952; Slivkins 2019, section 1.2)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import argmin, update_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import integer


class _State(NamedTuple):
    rounds: float  # answers that each action needs
    committed: Floats  # action, -1 during exploration
    turn: Floats  # next action of the exploration
    short: Floats  # number of actions that still need answers
    # seen, means: answers and mean loss of each action.
    seen: Floats
    means: Floats


@dataclass(frozen=True)
class ExploreThenCommit(Learner):
    """Play each action until `rounds` losses are seen, then that of the best mean.

    In random order its regret is at most (k-1) m + sqrt(2 ln k (F+m) (F+1) / m) for m = `rounds`
    and F = T - k m (proof: `bounds.explore_then_commit`). A delay prolongs the exploration until
    the losses have arrived; feedback after the commitment is ignored.

    rounds: number of losses to see of each action before the commitment, at least 1; None is tuned
        to the horizon, ceil((T / k)^(2/3) (ln T)^(1/3)), at most T / k.

    >>> from tombola import Pool, play
    >>> play(ExploreThenCommit(rounds=2), Pool([[1.0, 0.0]] * 8), seed=0).actions.tolist()
    [0, 1, 0, 1, 1, 1, 1, 1]
    """

    rounds: int | None = integer(None, least=1)
    feedback: ClassVar[Feedback] = "bandit"

    def _losses_needed(self, actions: int, horizon: int) -> int:
        if self.rounds is not None:
            return self.rounds
        tuned = math.ceil(math.pow(horizon / actions, 2 / 3) * math.pow(math.log(horizon), 1 / 3))
        return max(1, min(tuned, horizon // actions))

    def init(self, actions: int, horizon: int) -> _State:
        rounds = float(self._losses_needed(actions, horizon))
        short = np.full(1, float(actions))
        return _State(
            rounds, np.full(1, -1.0), np.zeros(1), short, np.zeros(actions), np.zeros(actions)
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        if state.committed[0] < 0.0 and state.short[0] == 0.0:
            state.committed[0] = argmin(state.means)
        if state.committed[0] >= 0.0:
            return int(state.committed[0]), 1.0
        action = int(state.turn[0])
        state.turn[0] = 0.0 if action + 1 == state.seen.size else action + 1.0
        return action, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        update_mean(state.seen, state.means, action, loss)
        if state.seen[action] == state.rounds:
            state.short[0] -= 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        rounds = self._losses_needed(actions, horizon)
        return None if delay > 0 else bounds.explore_then_commit(horizon, actions, rounds)
