"""WholePasses: the best candidate in expectation, all rows asked pass by pass (Theorem R2).

A pass asks every row once, and the passes of a race have the same rows. Programs that repeat a task
in epochs do so. Rows need not be drawn: bets are fixed before a pass, and the evidence counts at its
end (docs/theory/random_answers.md). Candidates are dropped there, and a race that is decided needs
no further pass. Rows drawn with replacement (`FreshAnswers`) decide sooner, where they are possible.
"""

from typing import Any

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.evidence.finished_runs import pass_wealth
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.elimination import best_two, count_row, drop, finish


class WholePasses(Elimination):
    """Rule for the best candidate in expectation by whole passes; see `Elimination`.

    Bettor b k + o bets that b is worse than o. The wealth against b is the average over all its
    opponents, with equal and fixed weights; that of a dropped opponent stands still.

    rows: of the list. passes: largest number of passes, for which the bets are planned.
    """

    def __init__(
        self, candidates: int, rows: int, population: float, level: float, *, passes: int
    ) -> None:
        self.passes = passes
        self.list_rows = rows
        # Losses of the passes so far; those of a dropped candidate stay 0 and are not read.
        self._losses = np.zeros((passes, rows, candidates))
        super().__init__(candidates, rows * passes, population, level)

    def init(self) -> Any:
        k = self.candidates
        return self.initial_state(bettors=k * k, threshold=1.0 / self.level, weights=np.ones(1))

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        """Count a row; `update` bets at the end of a pass, in Python."""
        count_row(state, losses)

    def update(self, losses: Floats) -> None:
        """Process the next row of the pass; at its last row bet, and drop candidates."""
        state = self.state
        current, row = divmod(self.rows_seen, self.list_rows)
        active = self.active
        self._losses[current, row, active] = losses[active]
        self._add_squares(losses, active)
        count_row(state, losses)
        if row == self.list_rows - 1:
            self._end_pass(current + 1)
        finish(state, 1.0)

    def play(self, table: Rows, order: Order) -> int:
        raise TypeError("WholePasses.play: repeated answers are not a table")

    def _add_squares(self, losses: Floats, active: list[int]) -> None:
        """Add the squares of the differences of a row, from which needs are estimated."""
        k = self.candidates
        for b in active:
            bettors = b * k + np.array(active)
            self.state.squared_residuals[bettors] += (losses[b] - losses[active]) ** 2
            self.state.n_bets[bettors] += 1.0

    def _end_pass(self, passes: int) -> None:
        """Bet on the passes so far, and drop the candidates that are refuted."""
        state = self.state
        k = self.candidates
        active = self.active
        for b in active:
            others = [o for o in active if o != b]
            differences = self._losses[:passes, :, [b]] - self._losses[:passes, :, others]
            wealth = pass_wealth(differences, level=self.level, planned=self.passes)
            state.wealth[[b * k + o for o in others], 0] = wealth[-1]
            opponents = [b * k + o for o in range(k) if o != b]
            state.current_wealth[b] = state.wealth[opponents, 0].mean()
        leader, _ = best_two(state.active, state.total_loss)
        refuted = [b for b in active if state.current_wealth[b] >= state.threshold]
        for b in refuted:
            # If all are refuted, the leader stays, so that one candidate is left.
            if len(refuted) < len(active) or b != leader:
                drop(state, b, leader, state.current_wealth[b])

    def open_questions(self) -> list[OpenQuestion]:
        return self.questions_about_leader()
