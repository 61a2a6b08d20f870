"""Best: find the best candidate (Theorem 1 of docs/theory/race.md).

The bettor of candidate b bets that b is not the best. Its opponent is the mean of the best few other
candidates (`opponents`); past rows determine which. Candidate b is dropped when the wealth of its bettor
reaches 1 / level, or when b can no longer catch up. The best candidate is ever dropped with
probability at most `level`, for any number of candidates and of looks. After the last row the
answer is exact.
"""

from typing import Any

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.elimination import bet_and_drop, drop_hopeless, finish


class Best(Elimination):
    """Rule for the best candidate: drop candidates until one is left."""

    supports_predictions = True
    averages_opponents = True

    def init(self) -> Any:
        return self.initial_state(bettors=self.candidates, threshold=1.0 / self.level)

    def open_questions(self) -> list[OpenQuestion]:
        best = self.leader
        threshold = self.state.threshold
        return [
            OpenQuestion(self.gap(best, b), self.variance(b), threshold)
            for b in self.active
            if b != best
        ]

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        bet_and_drop(state, losses)
        finish(state, 1.0)

    @staticmethod
    def settle(state: Any) -> None:
        drop_hopeless(state)
        finish(state, 1.0)
