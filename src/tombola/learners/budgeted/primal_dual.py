"""Primal-dual: exponential weights on actions and on resource prices.

Castiglioni, Celli and Kroer 2022 ("Online learning with knapsacks: the best of both worlds"), with
negative entropy on both sides, as in Section 4.2 of the paper.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import BudgetTerms
from tombola.learners.budgeted.base import BudgetedLearner
from tombola.learners.full_information.hedge import write_exponential_weights


class _State(NamedTuple):
    rate: float  # budget per round
    # Learning rates of the actions and of the prices.
    primal_rate: float
    dual_rate: float
    totals: Floats  # of the actions, loss plus priced cost, shape (k,)
    # Of the resources and the slack, shape (m + 1,).
    savings: Floats
    weights: Floats
    prices: Floats  # of the resources, shape (m,)


@dataclass(frozen=True)
class PrimalDual(BudgetedLearner):
    """Play actions by exp(eta_P * (rewards minus priced costs)), and update prices.

    The price of a resource used above its rate rises.

    Round s has rewards r_s = 1 - losses, costs c_s, prices p_s and the mix x_s; rho is the rate,
    the budget per round. There are k actions, m resources and T rounds, and ~ means proportional
    to. Then x_t ~ exp(eta_P sum_{s<t} (r_s - p_s . c_s)). The prices are the first m entries of w_t
    / rho, where w_t ~ exp(eta_D sum_{s<t} (c_s . x_s - rho) / rho); the last entry of w_t is a
    slack, with exponent 0. eta_P = sqrt(8 ln k / T) / (1 + 1/rho) and eta_D = rho sqrt(8 ln(m+1) /
    T). On i.i.d. rows its regret is at most `bounds.primal_dual(...)` with probability 1 - delta.
    Late feedback is valued at the current prices.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(PrimalDual(), instances.three_actions(4096, seed=0), budget=Budget(2048), mixed=True, seed=0)
    >>> trace.regret < 200, trace.overspent
    (True, (False,))
    """

    def init(self, terms: BudgetTerms) -> _State:
        k = terms.actions
        m = terms.resources
        T = terms.horizon
        rate = max(terms.rate, 1e-9)  # a budget of next to nothing never exceeds it
        state = _State(
            rate=rate,
            primal_rate=math.sqrt(8 * math.log(k) / T) / (1 + 1 / rate),
            dual_rate=rate * math.sqrt(8 * math.log(m + 1) / T),
            totals=np.zeros(k),
            savings=np.zeros(m + 1),
            weights=np.zeros(m + 1),
            prices=np.zeros(m),
        )
        _set_prices(state)
        return state

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        write_exponential_weights(state.totals, state.primal_rate, mix)

    @staticmethod
    def observe(state: _State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        resources = state.prices.size
        for action in range(losses.size):
            charge = losses[action]
            for j in range(resources):
                charge += state.prices[j] * costs[action, j]
            state.totals[action] += charge
        for j in range(resources):
            state.savings[j] -= (resource_use(played, costs, j) - state.rate) / state.rate
        _set_prices(state)


def resource_use(played: Floats, costs: Floats, resource: int) -> float:
    """Return the use of a resource by a play: sum of share times cost; a kernel."""
    total = 0.0
    for action in range(played.size):
        total += played[action] * costs[action, resource]
    return total


def _set_prices(state: _State) -> None:
    """Set the prices by exponential weights; smaller savings have a larger price."""
    write_exponential_weights(state.savings, state.dual_rate, state.weights)
    for j in range(state.prices.size):
        state.prices[j] = state.weights[j] / state.rate
