"""OnceEach: the best candidate in expectation, if each row is called once (Theorem R5).

Rows come in random order, without replacement, and their answers are random. The statement is about
expected answers, so nothing is certain after the last row. Constant bets, fixed before the first
row, have the expected wealth of at most `STOPPING_FACTOR` at every stopping time; at 1 / level the
probability of a wrong drop can exceed the level. So a candidate is dropped at
`STOPPING_FACTOR` / level (docs/theory/random_answers.md).
"""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.bets import total_wealth
from tombola.racing.rules.elimination import best_two, count_row, drop, finish

# Bound on the expected wealth of constant bets at any stopping time, without replacement.
STOPPING_FACTOR = 1.785
# Largest constant bet: it loses this share of its wealth on the worst difference.
_LARGEST_BET = 0.8


class OnceEach(Elimination):
    """Rule for the best candidate in expectation, each row called once; see `Elimination`.

    Bettor b k + o bets that b is worse than o, with constant bets. The wealth against b is the
    average over all its opponents, with equal and fixed weights; that of a dropped opponent stands
    still. An opponent chosen by the data would not be covered. Own field of the state:

    bets    (columns of `wealth`,) the constant bets
    """

    def init(self) -> Any:
        threshold = STOPPING_FACTOR / self.level
        bets = constant_bets(self.rows, threshold)
        k = self.candidates
        weights = np.full(bets.size, 1.0 / bets.size)
        return self.initial_state(bettors=k * k, threshold=threshold, weights=weights, bets=bets)

    def open_questions(self) -> list[OpenQuestion]:
        return self.questions_about_leader()

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        k = losses.size
        leader, _ = best_two(state.active, state.total_loss)
        below = 0
        for b in range(k):
            if state.active[b] > 0.0:
                amount = 0.0
                for o in range(k):
                    if o != b:
                        if state.active[o] > 0.0:
                            bet_constant(state, b * k + o, losses[b] - losses[o])
                        amount += total_wealth(state.wealth[b * k + o])
                state.current_wealth[b] = amount / (k - 1.0)
                below += state.current_wealth[b] < state.threshold
        count_row(state, losses)
        for b in range(k):
            reached = state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold
            if reached and (below > 0 or b != leader):
                drop(state, b, leader, state.current_wealth[b])
        finish(state, 1.0)


def bet_constant(state: Any, bettor: int, d: float) -> None:
    """Multiply the wealth of a bettor by 1 + bet * d for each of its bets; a kernel."""
    for j in range(state.bets.size):
        state.wealth[bettor, j] *= 1.0 + state.bets[j] * d
    state.squared_residuals[bettor] += d * d
    state.n_bets[bettor] += 1.0


def constant_bets(rows: int, threshold: float) -> Floats:
    """Return constant bets for a list: halved from the largest to the one for all rows.

    The last one reaches the threshold at the last row if the sum of the differences is sqrt(2
    log(threshold) rows), the least possible for differences of variance 1.

    >>> constant_bets(100, 40.0).round(2).tolist(), constant_bets(1, 40.0).tolist()
    ([0.8, 0.4, 0.2], [0.8])
    """
    least = math.sqrt(2.0 * math.log(threshold) / rows)
    count = 1 + max(0, round(math.log2(_LARGEST_BET / min(least, _LARGEST_BET))))
    return np.asarray(_LARGEST_BET / 2.0 ** np.arange(count))
