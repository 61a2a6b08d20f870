"""Follow the leader (Hannan 1957; paper, Section 3)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import argmin
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import one_of
from tombola.rng import integers


class _State(NamedTuple):
    random: float  # whether ties are broken at random
    totals: Floats


def _count_leaders(totals: Floats, first: int) -> int:
    """Count the leaders; `first` is the one with the lowest index; a kernel."""
    count = 0
    for action in range(first, totals.size):
        if totals[action] == totals[first]:
            count += 1
    return count


def add_losses(totals: Floats, losses: Floats) -> None:
    """Add the losses of a row to the totals, in place; a kernel."""
    for action in range(losses.size):
        totals[action] += losses[action]


@dataclass(frozen=True)
class FollowTheLeader(Learner):
    """Play the action with the smallest total loss so far.

    ties: "lowest" plays the lowest index among leaders, "random" one of them at random. Until the
        first row arrives all actions tie: with a delay d, "lowest" plays action 0 in the first d +
        1 rounds, "random" starts uniformly.

    For random order: there its regret is at most about pi sqrt(2 T ln k), and (pi/2) sqrt(T) for k
    = 2, and a delay d adds d (`bounds.follow_the_leader`, docs/theory/delay.md). In adversarial
    order it is linear.

    >>> from tombola import Pool, play
    >>> play(FollowTheLeader(), Pool([[1, 0], [1, 0], [0, 1]]), order="given", seed=0).actions.tolist()
    [0, 1, 1]
    """

    ties: Literal["lowest", "random"] = one_of("lowest", "random")
    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        return _State(random=float(self.ties == "random"), totals=np.zeros(actions))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        action = argmin(state.totals)
        count = 1
        if state.random > 0.0:
            count = _count_leaders(state.totals, action)
        if count == 1:
            return action, 1.0
        least = state.totals[action]
        skip = integers(rng, count)
        while skip > 0:
            action += 1
            if state.totals[action] == least:
                skip -= 1
        return action, 1.0 / count

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        add_losses(state.totals, losses)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        return bounds.follow_the_leader(horizon, actions, delay)
