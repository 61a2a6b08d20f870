"""Thrifty LP: optimal mix of posterior means plus a bonus for rare actions.

The posterior means come from an empirical-Bayes prior, as in `Thrifty`. The bonus has the form of
MOSS (Audibert and Bubeck 2009), with the rounds left in place of the horizon. The mix solves the
linear program of the budget left, as in `EmpiricalLP`.
"""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms
from tombola.budget.optimum import best_mix_one_resource, dual_prices
from tombola.learners.budgeted.base import BudgetedBanditLearner
from tombola.learners.budgeted.means import (
    AnswerState,
    add_costs,
    loss_to_reach_target,
    new_answer_state,
    plan_is_due,
    schedule_next_plan,
    solve,
    write_planned_mix,
)
from tombola.learners.parameters import real
from tombola.learners.switching.prior import (
    CENTRE,
    SPREAD,
    TRIED,
    UNIFORM_VARIANCE,
    add_loss,
    update_posterior,
)

# Multiple of the bonus sqrt(d) ln(R/(k n)); least spread of the means of actions never tried, and
# least prior variance of an action tried, over the variance of a coin. Chosen on two tables
# (docs/theory/budget.md).
_BONUS = 0.4
_LEAST_SPREAD = 0.15
_LEAST_PRIOR = 0.1
# Least variance of log costs between actions, so that some weight is left to the costs of the
# action itself.
_LEAST_LOG_SPREAD = 0.05
# Largest dual price that counts as 0: that of a resource which is not scarce.
_NO_PRICE = 1e-9


# Of each action: plays, plays at which the next plan is due, and the posterior as in
# `thrifty._State`.
_PER_ACTION = ("chosen", "limits", "posterior_mean", "posterior_var", "noise_var", "errors")
# Number and mean of the logarithms of the positive costs, by action and resource, and sum of their
# squared deviations, by resource; `within` and `prior` as in `thrifty._State`.
_State: Any = namedtuple(  # type: ignore[misc]
    "_State",
    (
        *AnswerState._fields,
        *_PER_ACTION,
        "log_counts",
        "log_means",
        "log_within",
        "within",
        "prior",
    ),
)


@dataclass(frozen=True)
class ThriftyLP(BudgetedBanditLearner):
    """Play the optimal mix of the LP of posterior means (bandit feedback).

    The mean loss of an action is shrunk to those of the other actions, the more so the less these
    differ. The reward of an action chosen n times gets a bonus of .4 sqrt(d) ln(R/(k n)), where d
    is its posterior variance, k the number of actions, and R the number of further plays that
    rounds and budget allow. Costs are shrunk in the same way, on the logarithmic scale. An action
    never chosen has cost 0 in the LP, unless its price is known, as long as a trial is expected to
    pay: its knowledge gradient, net of the dual prices of the resources, is positive. If these
    prices are 0 and there is no target, the trial is made at once. Nothing is proved, so `bound` is
    None; `OptimisticLP` has a bound. With a target, it minimises the cost for the mean loss that is
    still needed.

    growth: factor of the plays of an action, or of the rounds to come, after which the LP is solved
        again.
    supports_target: True, it can minimise costs under a loss target.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(ThriftyLP(), instances.three_actions(4096, seed=0), budget=Budget(2048), seed=0)
    >>> trace.regret < 200, trace.overspent
    (True, (False,))
    """

    supports_target: ClassVar[bool] = True
    growth: float = real(1.44, above=1)

    def init(self, terms: BudgetTerms) -> Any:
        k = terms.actions
        m = terms.resources
        costs = (*np.zeros((2, k, m)), np.zeros(m))
        answers = new_answer_state(terms, self.growth)
        return _State._make((*answers, *np.zeros((6, k)), *costs, np.zeros(1), np.zeros(3)))

    @staticmethod
    def mix(state: Any, mix: Floats) -> None:
        write_planned_mix(state, mix)
        for action in range(mix.size):
            state.chosen[action] += mix[action]
            if state.chosen[action] >= state.limits[action]:
                state.following[0] = 0.0

    @staticmethod
    def observe(
        state: Any, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        add_loss(state, action, loss)
        add_costs(state, action, costs)
        for j in range(costs.size):
            if costs[j] > 0.0:
                state.log_counts[action, j] += 1.0
                off = math.log(costs[j]) - state.log_means[action, j]
                state.log_means[action, j] += off / state.log_counts[action, j]
                state.log_within[j] += off * (math.log(costs[j]) - state.log_means[action, j])

    @staticmethod
    def needs_plan(state: Any, fits: Floats) -> bool:
        if not plan_is_due(state, state.answered[0], fits):
            return False
        # In this kernel, because kernels are compiled.
        update_posterior(state, UNIFORM_VARIANCE, 0.0, UNIFORM_VARIANCE, math.inf)
        return True

    def plan(self, state: Any, left: Floats, fits: Floats, rng: RngState) -> None:
        remaining = schedule_next_plan(state, fits)
        _write_beta_posterior(state)
        state.limits[:] = state.chosen + np.maximum(1.0, (state.growth - 1.0) * state.seen)
        costs, usual_cost = _expected_costs(state)
        plays = min(remaining, _affordable_plays(left, usual_cost))
        rewards = np.minimum(
            state.ceilings, 1.0 - state.posterior_mean + _exploration_bonuses(state, plays)
        )
        fresh = (state.seen == 0.0) & (state.chosen < 1.0) & (state.ceilings > 0.0)
        if fresh.any():
            known = np.flatnonzero(~fresh & (fits == 1.0))
            pays, is_free = _worth_trying(state, costs, left / remaining, remaining, known)
            paying = fresh & pays
            rewards[fresh & ~paying] = 0.0
            if is_free and state.target == math.inf:
                # Rounds alone are scarce. A bonus per round would have to exceed the best reward
                # for a single trial.
                rewards[paying] = state.ceilings[paying]
            # The value of a trial has its cost already: were it charged twice, dear tables would
            # never be explored.
            costs[paying] = np.nan_to_num(state.prices[paying], nan=0.0)
        needed_loss = loss_to_reach_target(state, float(state.seen @ state.means), remaining)
        solve(state, rewards, costs, left / remaining, np.flatnonzero(fits), needed_loss)


def _write_beta_posterior(state: Any) -> None:
    """Write posterior means and variances, and the noise of one loss, of a beta prior.

    The prior has the centre and spread of `update_posterior`. A loss is as noisy as a coin of the
    posterior mean, so that an action which lost as most others do is in less doubt than one which
    won.
    """
    centre = state.prior[CENTRE]
    spread = state.prior[SPREAD]
    coin = centre * (1.0 - centre)
    possible = 1.0 + float(state.seen @ (state.means * (1.0 - state.means)))
    share = min(1.0, (state.within[0] + 1.0) / possible)
    pseudo = (
        share * coin / max(_LEAST_PRIOR * coin, spread)
    )  # losses at the centre that the prior counts for
    state.posterior_mean[:] = (pseudo * centre + state.seen * state.means) / (pseudo + state.seen)
    state.noise_var[:] = share * state.posterior_mean * (1.0 - state.posterior_mean)
    state.posterior_var[:] = np.where(
        state.seen > 0.0, state.noise_var / (pseudo + state.seen), spread
    )


def _expected_costs(state: Any) -> tuple[Floats, Floats]:
    """Return the expected costs of every action, and those of an action never tried.

    A known price is the cost. Unknown mean costs count as draws from a lognormal distribution, so
    that an action far cheaper than the others is soon believed to be. Its variance, and that of the
    costs of one action, are estimated by moments; both start at 1, with the weight of one action,
    or one play. An action that has cost nothing so far is expected to cost nothing, and one never
    tried the mean over all tried.
    """
    tried = (state.seen > 0.0)[:, None]
    paid = tried & (state.costs > 0.0) & np.isnan(state.prices)
    logs = np.log(np.where(paid, state.costs, 1.0))
    numbers = paid.sum(axis=0)
    centre = logs.sum(axis=0) / np.maximum(1, numbers)
    noise = (1.0 + state.log_within) / (1.0 + np.maximum(0.0, state.log_counts - 1.0).sum(axis=0))
    errors = noise / np.maximum(1.0, state.seen)[:, None]
    surplus = np.where(paid, (logs - centre) ** 2 - errors, 0.0).sum(axis=0)
    spread = np.maximum(_LEAST_LOG_SPREAD, (1.0 + surplus) / (1.0 + numbers))
    weight = spread / (spread + errors)
    # The mean of a lognormal variable is exp(mean + variance/2), also a posteriori.
    own = np.exp(centre + weight * (logs - centre) + (1.0 - weight) * spread / 2.0)
    usual = (
        state.costs[state.seen > 0.0].mean(axis=0)
        if tried.any()
        else np.zeros(state.costs.shape[1])
    )
    costs = np.where(paid, own, np.where(tried, 0.0, usual))
    return np.where(np.isnan(state.prices), costs, state.prices), usual


def _exploration_bonuses(state: Any, plays: float) -> Floats:
    """Return the reward added to each action for exploration, shape (k,).

    Pending plays count as answered, because their answers arrive soon. `plays` are left by rounds
    and budget.
    """
    answers = np.maximum(1.0, np.maximum(state.seen, state.chosen))
    logs = np.log(np.maximum(1.0, plays / (state.seen.size * answers)))
    coin = state.prior[CENTRE] * (1.0 - state.prior[CENTRE])
    variances = np.where(
        state.seen > 0.0,
        state.posterior_var,
        np.maximum(state.posterior_var, UNIFORM_VARIANCE * coin),
    )
    return np.asarray(_BONUS * np.sqrt(variances * np.maximum(1.0, state.seen) / answers) * logs)


def _affordable_plays(left: Floats, usual_cost: Floats) -> float:
    """Return the number of plays of usual cost that the budget left pays for."""
    some = usual_cost > 0.0
    return float((left[some] / usual_cost[some]).min()) if some.any() else math.inf


def _worth_trying(
    state: Any, costs: Floats, rates: Floats, remaining: float, known: Any
) -> tuple[Any, bool]:
    """Return if a trial of each action is expected to pay, and if all prices are 0.

    The knowledge gradient with the best number of plays (Frazier and Powell 2010), of rewards net
    of the dual prices of money. It holds for actions never tried. An unknown cost has the usual one
    as its standard deviation, between actions and between plays. As long as fewer than two actions
    have answers, every trial pays and no price is known.

    costs, rates: expected costs, shape (k, m), and budget per round, shape (m,).
    known: indices of the affordable actions that were tried.
    """
    from scipy.special import ndtr

    if state.prior[TRIED] < 2.0:
        return np.ones(state.seen.size, dtype=bool), False
    # An idle action keeps the program feasible where the null action itself was never tried.
    earned = np.append(np.minimum(state.ceilings, 1.0 - state.posterior_mean)[known], 0.0)
    spent = np.vstack([costs[known], np.zeros(rates.size)])
    prices = _money_prices(earned, spent, rates)
    best = float((earned - spent @ prices).max())
    centre = state.prior[CENTRE]
    net = 1.0 - centre - costs @ prices
    unsure = np.where(np.isnan(state.prices), (costs * prices) ** 2, 0.0).sum(axis=1)
    spread = max(state.prior[SPREAD], _LEAST_SPREAD * centre * (1.0 - centre)) + unsure
    short = best - net
    value = np.full(net.size, -math.inf)
    plays = 1.0
    while plays < remaining:
        deviation = spread / np.sqrt(spread + (state.noise_var + unsure) / plays)
        z = -short / deviation
        gain = deviation * (np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) + z * ndtr(z))
        value = np.maximum(value, (remaining - plays) * gain - plays * np.maximum(0.0, short))
        plays *= 2.0
    return value > 0.0, bool((prices <= _NO_PRICE).all())


def _money_prices(rewards: Floats, costs: Floats, rates: Floats) -> Floats:
    """Return the dual prices of the resources of a plan, 0 for one without limit.

    As `dual_prices`, but directly for one resource, because a plan is made hundreds of times a run.

    >>> _money_prices(np.array([0.0, 0.4, 0.9]), np.array([[0.0], [0.2], [0.9]]), np.array([0.5])).round(9).tolist()
    [0.714285714]
    """
    prices = np.zeros(rates.size)
    limited = (rates > 0.0) & np.isfinite(rates)
    if not limited.any():
        return prices
    if rates.size > 1:
        prices[limited] = dual_prices(rewards, costs[:, limited], rates[limited])
        return prices
    pair = np.flatnonzero(best_mix_one_resource(rewards, costs[:, 0], float(rates[0])))
    if pair.size == 2:
        prices[0] = (rewards[pair[1]] - rewards[pair[0]]) / (costs[pair[1], 0] - costs[pair[0], 0])
    return prices
