"""Top: find the best m candidates (Theorem 3 of docs/theory/race.md).

One bettor per ordered pair (a, b), index a k + b, bets that a is better than b. If b is among the best m, at most m - 1
candidates are better, so at least k - m of the bets against b bet against a true null. The mean of the k - m smallest
wealths against b is at most the mean of those. It reaches m / level with probability at most level / m; a union bound
over the best m gives the level.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.racing.bets import bet, is_refuted, total_wealth
from tombola.racing.elimination import (
    Elimination,
    EliminationState,
    OpenQuestion,
    best_two,
    count_row,
    drop,
    finish,
    n_active,
)


class Top(Elimination):
    """Rule for the best `top` candidates, in any order among themselves.

    candidates, rows, population, level: as in `Elimination`.
    top: number of candidates to keep, less than k.

    >>> import numpy as np
    >>> rule = Top(candidates=3, rows=100, population=100, level=0.05, top=2)
    >>> rule.play(np.array([[0.0, 1.0, 0.1]] * 100), np.arange(100, dtype=np.uint32)) < 60
    True
    >>> rule.active
    [0, 2]
    """

    supports_predictions = True

    def __init__(self, candidates: int, rows: int, population: float, level: float, top: int) -> None:
        self.top = top
        super().__init__(candidates, rows, population, level)

    def init(self) -> EliminationState:
        k = self.candidates
        return self.initial_state(bettors=k * k, threshold=self.top / self.level, rule_parameter=self.top)

    def open_questions(self) -> list[OpenQuestion]:
        ranked, k = sorted(self.active, key=lambda a: float(self.state.total_loss[a])), self.candidates
        last, threshold = ranked[self.top - 1], self.state.threshold * (k - self.top)
        return [OpenQuestion(self.gap(last, b), self.variance(last * k + b), threshold) for b in ranked[self.top :]]

    @staticmethod
    def step(state: EliminationState, losses: Floats) -> None:
        _update_pairs(state, losses)
        count_row(state, losses)
        leader, _ = best_two(state)
        for b in range(losses.size):
            if state.active[b] > 0.0:
                state.current_wealth[b] = _mean_of_smallest(state, b)
        _drop_beaten(state, leader)
        finish(state, state.rule_parameter)


def _update_pairs(state: Any, losses: Floats) -> None:
    """Bet on one row, before it is counted, for all pairs of active candidates.

    state: an `EliminationState`, changed in place; bettor a k + b bets that a is better than b.
    losses: of the row, shape (k,).
    """
    k = losses.size
    for a in range(k):
        for b in range(k):
            if a != b and state.active[a] > 0.0 and state.active[b] > 0.0:
                lead, d = state.total_loss[b] - state.total_loss[a], losses[b] - losses[a]
                bet(state, a * k + b, b, a, lead, d, 0.0)
                if is_refuted(state, b, a, lead + d, 0.0, state.rows_seen[0] + 1.0):
                    state.wealth[a * k + b, 0] = math.inf


def _mean_of_smallest(state: Any, b: int) -> float:
    """Return E_b of Theorem 3: the mean of the k - m smallest wealths against b.

    m is the number of candidates to keep.

    state: an `EliminationState`.
    b: number of the candidate.
    """
    k, rule_values = state.total_loss.size, state.rule_values
    for a in range(k):
        rule_values[a] = total_wealth(state.wealth[a * k + b]) if a != b else -1.0
    # Discard the m - 1 largest; -1 marks b itself and the discarded ones.
    for _ in range(int(state.rule_parameter) - 1):
        largest = 0
        for a in range(1, k):
            if rule_values[a] > rule_values[largest]:
                largest = a
        rule_values[largest] = -1.0
    amount = 0.0
    for a in range(k):
        amount += max(rule_values[a], 0.0)
    return float(amount / (k - state.rule_parameter))


def _drop_beaten(state: Any, leader: int) -> None:
    """Drop candidates with a wealth of m / level or more, until m are left.

    m is the number of candidates to keep. The largest wealth comes first.

    state: an `EliminationState`, changed in place.
    leader: candidate with the smallest total loss, recorded as the opponent.
    """
    while n_active(state) > state.rule_parameter:
        worst = -1
        for b in range(state.current_wealth.size):
            if state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold:
                worst = b if worst < 0 or state.current_wealth[b] > state.current_wealth[worst] else worst
        if worst < 0:
            break
        drop(state, worst, leader, state.current_wealth[worst])
