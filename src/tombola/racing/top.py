"""Top: the best m candidates (Theorem 3 of docs/theory/race.md).

One gambler a pair (a, b), number a k + b, who bets that a is better than b. If b is among the best m, at most m - 1
others are better, so at least k - m of these bets are on something false, and the mean of the k - m smallest wealths is
no larger than the mean of k - m of those. It reaches m / level with probability at most level / m; the best m share the
level.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.racing.bets import certain, gamble, total
from tombola.racing.elimination import Doubt, Elimination, State, best_two, count_in, drop, finish, standing


class Top(Elimination):
    """The race for the best `top` candidates.

    >>> import numpy as np
    >>> field = Top(candidates=3, rows=100, population=100, level=0.05, top=2)
    >>> field.play(np.array([[0.0, 1.0, 0.1]] * 100), np.arange(100, dtype=np.uint32)) < 60
    True
    >>> field.active
    [0, 2]
    """

    def __init__(self, candidates: int, rows: int, population: float, level: float, top: int) -> None:
        self.top = top
        super().__init__(candidates, rows, population, level)

    def init(self) -> State:
        """Return the state before the first row."""
        k = self.candidates
        return self.start(gamblers=k * k, goal=self.top / self.level, special=self.top)

    def doubts(self) -> list[Doubt]:
        """Return what is still open: whether the others are worse than the last of the best m."""
        ranked, k = sorted(self.active, key=lambda a: float(self.state.total[a])), self.candidates
        last, goal = ranked[self.top - 1], self.state.goal * (k - self.top)
        return [Doubt(self.gap(last, b), self.variance(last * k + b), goal) for b in ranked[self.top :]]

    @staticmethod
    def take(state: State, losses: Floats) -> None:
        """Take in one row, and drop whom it proves not to be among the best."""
        bet_pairs(state, losses)
        count_in(state, losses)
        leader, _ = best_two(state)
        for b in range(losses.size):
            if state.active[b] > 0.0:
                state.worth[b] = least_mean(state, b)
        drop_beaten(state, leader)
        finish(state, state.special)


def bet_pairs(state: Any, losses: Floats) -> None:
    """Let the gamblers of the pairs in the race bet on this row, before it is counted."""
    k = losses.size
    for a in range(k):
        for b in range(k):
            if a != b and state.active[a] > 0.0 and state.active[b] > 0.0:
                lead, d = state.total[b] - state.total[a], losses[b] - losses[a]
                gamble(state, a * k + b, lead, d, 0.0)
                if certain(lead + d, 0.0, state.population, state.seen[0] + 1.0):
                    state.wealth[a * k + b, 0] = math.inf


def least_mean(state: Any, b: int) -> float:
    """Return the mean of the k - m smallest wealths against b."""
    k, room = state.total.size, state.room
    for a in range(k):
        room[a] = total(state.wealth[a * k + b]) if a != b else -1.0
    for _ in range(int(state.special) - 1):
        largest = 0
        for a in range(1, k):
            if room[a] > room[largest]:
                largest = a
        room[largest] = -1.0
    amount = 0.0
    for a in range(k):
        amount += max(room[a], 0.0)
    return float(amount / (k - state.special))


def drop_beaten(state: Any, leader: int) -> None:
    """Drop whose wealth has reached the goal, the richest first, as long as more than m are left."""
    while standing(state) > state.special:
        worst = -1
        for b in range(state.worth.size):
            if state.active[b] > 0.0 and state.worth[b] >= state.goal:
                worst = b if worst < 0 or state.worth[b] > state.worth[worst] else worst
        if worst < 0:
            break
        drop(state, worst, leader, state.worth[worst])
