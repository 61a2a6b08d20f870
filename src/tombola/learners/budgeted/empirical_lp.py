"""Empirical LP: optimal mix of the empirical means for the remaining budget."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.budget import empirical_lp, next_solve
from tombola.budget.budget import BudgetTerms
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.budgeted.means import (
    RowState,
    add_row,
    loss_to_reach_target,
    means_of,
    new_row_state,
    plan_is_due,
    solve,
    write_planned_mix,
)
from tombola.learners.parameters import real


@dataclass(frozen=True)
class EmpiricalLP(BudgetedLearner):
    """Play the optimal mix of the LP of the empirical means.

    Its rate is (budget left) / (rounds without feedback). With a target, it minimises the cost for
    the mean loss that is still needed. The default choice under a budget with full feedback. The LP
    is solved for the actions that still fit, so play with `stop="fits"`. Before the first feedback
    it plays the null action. In random order without delay its regret is at most
    `bounds.empirical_lp(...)`, of order sqrt(T)/rate (docs/theory/budget.md): the margin of
    `SerflingLP` is not needed.

    growth: the LP is solved again when the rows seen have grown by this factor, when the rounds to
        come have shrunk by its square, and when an action of the mix no longer fits.
    supports_target: True, it can minimise costs under a loss target.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(EmpiricalLP(), instances.three_actions(4096, seed=0), budget=Budget(2048), mixed=True, seed=0)
    >>> trace.regret < 40, trace.overspent
    (True, (False,))
    """

    supports_target: ClassVar[bool] = True
    growth: float = real(1.2, above=1)

    def init(self, terms: BudgetTerms) -> RowState:
        return new_row_state(terms, self.growth)

    mix = staticmethod(write_planned_mix)

    @staticmethod
    def observe(state: RowState, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        for action in range(losses.size):
            state.lost[0] += played[action] * losses[action]
        add_row(state.seen, state.losses, state.costs, losses, costs)

    @staticmethod
    def needs_plan(state: RowState, fits: Floats) -> bool:
        return plan_is_due(state, state.seen[0], fits)

    def plan(self, state: RowState, left: Floats, fits: Floats, rng: RngState) -> None:
        seen = float(state.seen[0])
        state.fitted[:] = fits
        state.following[0] = next_solve(int(seen), int(state.horizon), state.growth)
        if seen == 0.0:
            return
        rewards, costs = means_of(state)
        remaining = max(1.0, state.horizon - seen)
        needed_loss = loss_to_reach_target(state, float(state.lost[0]), remaining)
        solve(state, rewards, costs, left / remaining, np.flatnonzero(fits), needed_loss)

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        return empirical_lp(
            terms.horizon, terms.actions, terms.resources, terms.rate, delta, self.growth
        )
