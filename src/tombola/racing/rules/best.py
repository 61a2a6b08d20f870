"""Best: find the best candidate (Theorem 1 of docs/theory/race.md).

The bettor of candidate b bets that b is not the best. Its opponent is the leader, or the runner-up if b leads; both are
determined by past rows. Candidate b is dropped when the wealth of its bettor reaches 1 / level, or when b can no longer
catch up. The best candidate is ever dropped with probability at most `level`, for any number of candidates and of
looks. After the last row the answer is exact.
"""

import math
from typing import Any

from tombola._types import Floats
from tombola.engine.intrinsics import no_inline
from tombola.racing.rules.bets import bet, expected_growth, is_refuted
from tombola.racing.rules.elimination import Elimination, OpenQuestion, best_two, count_row, drop, finish


class Best(Elimination):
    """Rule for the best candidate: drop candidates until one is left.

    Parameters as in `Elimination`.
    """

    supports_predictions = True

    def init(self) -> Any:
        return self.initial_state(bettors=self.candidates, threshold=1.0 / self.level)

    def open_questions(self) -> list[OpenQuestion]:
        best, threshold = self.leader, self.state.threshold
        return [OpenQuestion(self.gap(best, b), self.variance(b), threshold) for b in self.active if b != best]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        bet_and_drop(state, losses)
        finish(state, 1.0)

    @staticmethod
    def settle(state: Any) -> None:
        drop_hopeless(state)
        finish(state, 1.0)


def bet_and_drop(state: Any, losses: Floats) -> None:
    """Bet on one row against every active candidate, count it, and drop candidates.

    A kernel, as `Elimination.step` (docs/theory/race.md, Theorem 1). Bettor b bets against candidate b.
    """
    leader, runner = best_two(state)
    below = 0
    for b in range(losses.size):
        if state.active[b] > 0.0:
            o = _opponent(state, state.prior_noise, b, leader, runner)
            state.opponent[b] = o
            lead, d = state.total_loss[b] - state.total_loss[o], losses[b] - losses[o]
            state.current_wealth[b] = bet(state, b, b, o, lead, d, 0.0)
            below += state.current_wealth[b] < state.threshold
    count_row(state, losses)
    for b in range(losses.size):
        # If every wealth has reached the threshold, the leader stays, so that one candidate is left.
        reached = state.active[b] > 0.0 and state.current_wealth[b] >= state.threshold
        if reached and (below > 0 or b != leader):
            drop(state, b, int(state.opponent[b]), state.current_wealth[b])
    drop_hopeless(state)


@no_inline
def _opponent(state: Any, prior_noise: Any, b: int, leader: int, runner: int) -> int:
    """Return the opponent of b on the next row: the leader, or a known candidate.

    Any choice by past rows is valid. A known candidate has no residual and allows larger bets, so that it may drop b
    sooner than the leader does; the expected growth of the wealth decides. Without predictions `prior_noise` is None,
    and Numba leaves out the search.
    """
    opponent = leader if b != leader else runner
    if prior_noise is not None:
        largest = expected_growth(state, b, opponent)
        for o in range(state.active.size):
            if prior_noise[o] == 0.0 and state.active[o] > 0.0 and o != b:
                growth = expected_growth(state, b, o)
                if growth > largest:
                    opponent, largest = o, growth
    return opponent


def drop_hopeless(state: Any) -> None:
    """Drop the candidates that can no longer catch up on the rows left; a kernel.

    Each is compared with the candidate whose largest possible total loss is smallest.
    """
    leader = _smallest_bound(state)
    for b in range(state.total_loss.size):
        if (
            b != leader
            and state.active[b] > 0.0
            and is_refuted(state, b, leader, state.total_loss[b] - state.total_loss[leader], 0.0, state.rows_seen[0])
        ):
            drop(state, b, leader, math.inf)


def _smallest_bound(state: Any) -> int:
    """Return the active candidate with the smallest largest possible total loss."""
    found = -1
    for a in range(state.total_loss.size):
        if state.active[a] > 0.0 and (
            found < 0 or state.total_loss[a] - state.known_gain[a] < state.total_loss[found] - state.known_gain[found]
        ):
            found = a
    return found
