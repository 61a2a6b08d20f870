"""Dual descent: best action at current prices, prices by subgradient steps.

Balseiro, Lu and Mirrokni ("The best of many worlds: dual mirror descent for online allocation
problems"), with the squared distance. There a row is seen before its action is chosen; here after
it, so the best action is for the means.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import BudgetTerms
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.budgeted.means import add_row
from tombola.learners.budgeted.primal_dual import resource_use
from tombola.learners.parameters import real


class _State(NamedTuple):
    rate: float
    step: float
    null: float
    seen: Floats  # number of rows; `losses` (k,) and `costs` (k, m) are their sums
    losses: Floats
    costs: Floats
    prices: Floats  # dual prices, shape (m,)


@dataclass(frozen=True)
class DualDescent(BudgetedLearner):
    """Play the best action at dual prices p, updated by subgradient steps.

    The action is argmax_a of mean reward minus priced mean cost; p <- max(0, p + step (c_t . x_t -
    rho)).

    Here c_t are the costs and x_t the mix of round t, and rho is the rate, the budget per round.
    Before the first feedback it plays the null action.

    step: size of a step; None is 1 / (rho sqrt(T)), because prices are in [0, 1/rho].

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(DualDescent(), instances.three_actions(4096, seed=0), budget=Budget(2048), seed=0)
    >>> trace.regret < 200, trace.overspent
    (True, (False,))
    """

    step: float | None = real(None, above=0)

    def init(self, terms: BudgetTerms) -> _State:
        k = terms.actions
        m = terms.resources
        tuned = 1 / (max(terms.rate, 1e-9) * math.sqrt(terms.horizon))
        return _State(
            rate=terms.rate,
            step=tuned if self.step is None else self.step,
            null=float(terms.null),
            seen=np.zeros(1),
            losses=np.zeros(k),
            costs=np.zeros((k, m)),
            prices=np.zeros(m),
        )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        best = int(state.null)
        least = math.inf
        for action in range(mix.size):
            mix[action] = 0.0
            total = state.losses[action]
            for j in range(state.prices.size):
                total += state.prices[j] * state.costs[action, j]
            if state.seen[0] > 0.0 and total < least:
                best = action
                least = total
        mix[best] = 1.0

    @staticmethod
    def observe(state: _State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        add_row(state.seen, state.losses, state.costs, losses, costs)
        for j in range(state.prices.size):
            state.prices[j] = max(
                0.0, state.prices[j] + state.step * (resource_use(played, costs, j) - state.rate)
            )
