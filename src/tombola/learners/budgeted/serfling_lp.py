"""Serfling LP: the empirical LP with a proved safety margin.

docs/theory/budget.md has the theorem and its proof (Serfling 1974 for the radii).
"""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.budget import lp_log, lp_margin, serfling_lp
from tombola.budget.budget import BudgetTerms
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.budgeted.means import (
    RowState,
    add_row,
    means_of,
    new_row_state,
    solve,
    write_planned_mix,
)
from tombola.learners.parameters import real


@dataclass(frozen=True)
class SerflingLP(BudgetedLearner):
    """Play the optimal mix of the empirical LP with a margin on the rate.

    The LP may spend (B - 1) / (rounds left) - margin per round, where B is the budget left, scaled
    so that no cost is above 1. The margin is `bounds.lp_margin`: T/(T-n) Serfling radii of the n
    past rows plus one of the next block. With probability 1 - delta no block then spends more than
    (B - 1) / (rounds left) per round, the budget lasts to the end, and the regret is at most
    `bounds.serfling_lp(...)`, for every pool in random order without delay. With delays the budget
    is as safe, but the bound is not proved. On a short list the margin exceeds the rate and only
    the null action is played; `bounds.serfling_lp_first_play` computes it in advance.

    delta: error probability of the margins.
    growth: factor of the rows seen after which the LP is solved again.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(SerflingLP(), instances.three_actions(4096, seed=0), budget=Budget(2048), mixed=True, seed=0)
    >>> trace.regret < SerflingLP().bound(BudgetTerms(3, 1, 4096, 0.5, 0), 0.05), trace.overspent
    (True, (False,))
    """

    delta: float = real(0.05, above=0, below=1)
    growth: float = real(2.0, above=1)

    def init(self, terms: BudgetTerms) -> RowState:
        log = lp_log(terms.horizon, terms.actions, terms.resources, self.delta, self.growth)
        return new_row_state(terms, self.growth, log)

    mix = staticmethod(write_planned_mix)

    @staticmethod
    def observe(state: RowState, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        add_row(state.seen, state.losses, state.costs, losses, costs)

    @staticmethod
    def needs_plan(state: RowState, fits: Floats) -> bool:
        return bool(state.seen[0] >= state.following[0] and state.seen[0] < state.horizon)

    def plan(self, state: RowState, left: Floats, fits: Floats, rng: RngState) -> None:
        seen = int(state.seen[0])
        horizon = int(state.horizon)
        following = min(horizon, max(seen + 1, int(state.growth * seen)))
        state.following[0] = following
        rates = (left - 1.0) / (horizon - seen) - lp_margin(
            seen, following - seen, horizon, state.log
        )
        if (rates <= 0.0).any():
            state.played[:] = np.eye(fits.size)[int(state.null)]
            return
        solve(state, *means_of(state), rates, np.arange(fits.size))

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        if delta < self.delta:  # the bound is proved for the parameter only
            return None
        return serfling_lp(
            terms.horizon, terms.actions, terms.resources, terms.rate, self.delta, self.growth
        )
