"""Best: one gambler a candidate, who bets that it is not the best (Theorem 1 of docs/theory/race.md).

The opponent is the leader, for the leader the runner-up, as the past rows have them. A candidate is out when its
gambler has 1 / level, or when it can no longer catch up. The best candidate is ever dropped with probability at most
`level`, whatever the number of candidates and of looks; after the last row the answer is exact.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.racing.bets import certain, gamble
from tombola.racing.elimination import Doubt, Elimination, State, best_two, count_in, drop, finish


class Best(Elimination):
    """The race for the best candidate.

    >>> import numpy as np
    >>> field = Best(candidates=2, rows=100, population=100, level=0.05)
    >>> field.play(np.array([[0.0, 1.0]] * 100), np.arange(100, dtype=np.uint32)) < 30
    True
    >>> field.active
    [0]
    """

    def init(self) -> State:
        """Return the state before the first row."""
        return self.start(gamblers=self.candidates, goal=1.0 / self.level)

    def doubts(self) -> list[Doubt]:
        """Return what is still open: whether the others are worse than the leader."""
        best, goal = self.leader, self.state.goal
        return [Doubt(self.gap(best, b), self.variance(b), goal) for b in self.active if b != best]

    @staticmethod
    def take(state: State, losses: Floats) -> None:
        """Take in one row, and drop whom it proves out."""
        sift(state, losses)
        finish(state, 1.0)


def sift(state: Any, losses: Floats) -> None:
    """Let every candidate's gambler bet on this row, count it, and drop whom it proves not to be the best."""
    leader, runner = best_two(state)
    standing = 0
    for b in range(losses.size):
        if state.active[b] > 0.0:
            o = leader if b != leader else runner
            state.worth[b] = gamble(state, b, state.total[b] - state.total[o], losses[b] - losses[o], 0.0)
            standing += state.worth[b] < state.goal
    count_in(state, losses)
    for b in range(losses.size):
        if state.active[b] > 0.0 and state.worth[b] >= state.goal and (standing > 0 or b != leader):
            drop(state, b, leader if b != leader else runner, state.worth[b])
    drop_certain(state)


def drop_certain(state: Any) -> None:
    """Drop the candidates that can no longer catch up with the leader."""
    leader, _ = best_two(state)
    for b in range(state.total.size):
        if state.active[b] > 0.0 and certain(
            state.total[b] - state.total[leader], 0.0, state.population, state.seen[0]
        ):
            drop(state, b, leader, math.inf)
