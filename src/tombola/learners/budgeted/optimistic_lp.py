"""Optimistic LP: optimal mix for upper rewards and lower costs (bandit feedback).

Badanidiyuru, Kleinberg and Slivkins 2013 and Agrawal and Devanur 2014 for i.i.d. rows;
docs/theory/budget.md has the theorem for random order, and its proof.
"""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.budget import optimistic_log, optimistic_lp
from tombola.budget.budget import BudgetTerms
from tombola.learners.bandit.counts import update_mean
from tombola.learners.budgeted.base import BudgetedBanditLearner
from tombola.learners.budgeted.means import (
    AnswerState,
    add_costs,
    new_answer_state,
    plan_is_due,
    schedule_next_plan,
    share_unseen,
    solve,
    write_planned_mix,
)
from tombola.learners.parameters import real


@dataclass(frozen=True)
class OptimisticLP(BudgetedBanditLearner):
    """Play the optimal mix of the LP of optimistic means (bandit feedback).

    Optimistic are upper confidence bounds of rewards and lower confidence bounds of costs. For an
    action observed n times, a mean p may be as low as p - sqrt(2 v g / n), where v = p (1 - p), or
    1/4 if p > 1/2, and g = ln(2 (k+1) (m+1) T / delta) for k actions, m resources and T rounds;
    costs with a price are known. Solved again when the plays of an action have grown by a factor,
    or the rounds to come have shrunk by it. In random order without delay its regret is at most
    `bounds.optimistic_lp(...)`, of order sqrt(k T g) ln(T) / rate. Few rows and many actions need
    less caution: see `ThriftyLP`.

    delta: error probability of the confidence bounds.
    growth: factor after which the LP is solved again.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(OptimisticLP(), instances.three_actions(4096, seed=0), budget=Budget(2048), seed=0)
    >>> trace.regret < 400, trace.overspent
    (True, (False,))
    """

    delta: float = real(0.05, above=0, below=1)
    growth: float = real(1.44, above=1)

    def init(self, terms: BudgetTerms) -> AnswerState:
        log = optimistic_log(terms.horizon, terms.actions, terms.resources, self.delta)
        return new_answer_state(terms, self.growth, log)

    mix = staticmethod(write_planned_mix)

    @staticmethod
    def observe(
        state: AnswerState, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        update_mean(state.seen, state.means, action, loss)
        add_costs(state, action, costs)

    @staticmethod
    def needs_plan(state: AnswerState, fits: Floats) -> bool:
        return plan_is_due(state, state.answered[0], fits)

    def plan(self, state: AnswerState, left: Floats, fits: Floats, rng: RngState) -> None:
        rates = left / schedule_next_plan(state, fits)
        lows = lower_confidence_bounds(
            np.column_stack([state.means, state.costs]), state.seen[:, None], state.log
        )
        rewards = np.minimum(state.ceilings, 1.0 - lows[:, 0])
        costs = np.where(np.isnan(state.prices), lows[:, 1:], state.prices)
        solve(state, rewards, costs, rates, np.flatnonzero(fits))
        share_unseen(state, rewards, costs)

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        if delta < self.delta:  # the bound is proved for the parameter only
            return None
        return optimistic_lp(
            terms.horizon, terms.actions, terms.resources, terms.rate, self.delta, self.growth
        )


def lower_confidence_bounds(means: Floats, counts: Floats, log: float) -> Floats:
    """Return lower confidence bounds of pool means, shape (k,); 0 if not observed.

    The bound of a mean p of n values is p - sqrt(2 v log / n), at least 0, where v = p (1 - p), or
    1/4 if p > 1/2, and log is that of the inverse error probability.

    means, counts: mean of the observed values of each action, and their number n, shapes (k,).

    >>> lower_confidence_bounds(np.array([0.5, 0.5]), np.array([0.0, 200.0]), 4.0).round(9).tolist()
    [0.0, 0.4]
    """
    variances = np.where(means <= 0.5, means * (1.0 - means), 0.25)
    radii = np.sqrt(2.0 * variances * log / np.maximum(counts, 1.0))
    return np.where(counts > 0, np.maximum(0.0, means - radii), 0.0)
