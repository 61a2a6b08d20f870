"""Thrifty LP: optimal mix of posterior means plus a bonus for rare actions.

The beliefs are those of `Thrifty` (an empirical-Bayes prior), the little more follows MOSS (Audibert and Bubeck 2009),
with the rounds left; the mix comes from the linear program of the budget left, as in `EmpiricalLP`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms
from tombola.learners.budgeted.base import BudgetedBanditLearner, check_growth
from tombola.learners.budgeted.means import (
    add_costs,
    initial_answers,
    initial_plan,
    loss_to_reach_target,
    plan_is_due,
    schedule_next_plan,
    solve,
    target_fields,
    write_planned_mix,
)
from tombola.learners.switching.prior import CENTRE, SPREAD, TRIED, UNIFORM_VARIANCE, add_loss, update_posterior

# Reward above the largest possible one that is entered for an action to be tried, so that the LP prefers it to all
# others.
_TRIAL_REWARD = 1.0


class State(NamedTuple):
    """Parameters; known prices; answers; posterior; next plan; the plan.

    growth, horizon, target, idle: parameters; the target is infinite, and the added null action -1, if there is none.
    prices, ceilings: costs known in advance (NaN if unknown), and largest rewards.
    answered: all answers.
    chosen, limits: plays of each action, and plays at which the next plan is due.
    within, prior, posterior_mean, posterior_var, noise_var, errors: as in `thrifty.State`.
    seen, means, costs: answers, mean loss and mean costs of each action.
    marks, following: answers of each action, and of all, at which the next plan is due.
    played, fitted, basis: mix of the last plan, actions that fitted then, and basis of its LP.
    """

    growth: float
    horizon: float
    target: float
    idle: float
    prices: Floats
    ceilings: Floats
    answered: Floats
    chosen: Floats
    limits: Floats
    within: Floats
    prior: Floats
    seen: Floats
    means: Floats
    posterior_mean: Floats
    posterior_var: Floats
    noise_var: Floats
    errors: Floats
    costs: Floats
    marks: Floats
    following: Floats
    played: Floats
    fitted: Floats
    basis: Floats


@dataclass(frozen=True)
class ThriftyLP(BudgetedBanditLearner):
    """Solve the LP of posterior mean rewards and costs (bandit feedback).

    Mean losses are shrunk to those of the other actions, as far as these are alike, and an action chosen n times is
    taken to earn sqrt(d) ln(R/(k n)) / 2 more, where d is its posterior variance and R the number of
    plays that rounds and money are left for. Costs are means, with half a play at the mean of all actions. An action
    never chosen is tried at any cost, as long as that can pay: it is the best yet with the probability
    1 / (tried + 1), then better by the spread of the means, or by c (1 - c) / 3 as a variance around their centre c if
    that is wider, in R plays. Nothing is proved, so `bound` is None; `OptimisticLP` has a bound.

    growth: factor of the plays of an action, or of the rounds to come, after which the LP is solved again.

    >>> from tombola.budget.budget import Budget
    >>> from tombola import instances, play
    >>> trace = play(ThriftyLP(), instances.three_actions(4096, seed=0), budget=Budget(2048), seed=0)
    >>> trace.regret < 200, trace.overspent
    (True, (False,))
    """

    supports_target: ClassVar[bool] = True
    growth: float = 1.44

    def __post_init__(self) -> None:
        check_growth(self)

    def init(self, terms: BudgetTerms) -> State:
        k = terms.actions
        return State(
            growth=float(self.growth),
            **target_fields(terms),
            chosen=np.zeros(k),
            limits=np.zeros(k),
            within=np.zeros(1),
            prior=np.zeros(3),
            posterior_mean=np.zeros(k),
            posterior_var=np.zeros(k),
            noise_var=np.zeros(k),
            errors=np.zeros(k),
            **initial_answers(terms),
            **initial_plan(terms),
        )

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        write_planned_mix(state, mix)
        for action in range(mix.size):
            state.chosen[action] += mix[action]
            if state.chosen[action] >= state.limits[action]:
                state.following[0] = 0.0

    @staticmethod
    def observe(state: State, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        add_loss(state, action, loss)
        add_costs(state, action, costs)

    @staticmethod
    def needs_plan(state: State, fits: Floats) -> bool:
        if not plan_is_due(state, state.answered[0], fits):
            return False
        update_posterior(state, UNIFORM_VARIANCE, UNIFORM_VARIANCE)  # here, for here it is compiled
        return True

    def plan(self, state: State, left: Floats, fits: Floats, rng: RngState) -> None:
        remaining = schedule_next_plan(state, fits)
        state.limits[:] = state.chosen + np.maximum(1.0, (state.growth - 1.0) * state.seen)
        costs, mean_cost = _expected_costs(state)
        plays = min(remaining, _affordable_plays(left, mean_cost))
        rewards = np.minimum(state.ceilings, 1.0 - state.posterior_mean + _exploration_bonuses(state, plays))
        fresh = (state.seen == 0.0) & (state.chosen < 1.0) & (state.ceilings > 0.0)
        if fresh.any() and _worth_trying(state, plays):
            rewards[fresh] = 1.0 + _TRIAL_REWARD
            costs[fresh] = np.nan_to_num(state.prices[fresh], nan=0.0)
        needed_loss = loss_to_reach_target(state, float(state.seen @ state.means), remaining)
        solve(state, rewards, costs, left / remaining, np.flatnonzero(fits), needed_loss)


def _expected_costs(state: State) -> tuple[Floats, Floats]:
    """Return the expected costs of every action, and the average costs of those tried.

    Shapes are (k, m) and (m,). A known price is the cost; else half a play at the average is added to the mean.
    """
    tried = state.seen > 0.0
    mean_cost = state.costs[tried].mean(axis=0) if tried.any() else np.zeros(state.costs.shape[1])
    answers = state.seen[:, None]
    costs = (answers * state.costs + 0.5 * mean_cost) / (answers + 0.5)
    return np.where(np.isnan(state.prices), costs, state.prices), mean_cost


def _exploration_bonuses(state: State, plays: float) -> Floats:
    """Return the reward added to each action for exploration, shape (k,).

    Pending plays count as answered, because their answers arrive soon.

    plays: number of plays that rounds and money are left for.
    """
    answers = np.maximum(1.0, np.maximum(state.seen, state.chosen))
    logs = np.log(np.maximum(1.0, plays / (state.seen.size * answers)))
    return np.asarray(np.sqrt(state.posterior_var * np.maximum(1.0, state.seen) / answers) * logs / 2.0)


def _affordable_plays(left: Floats, mean_cost: Floats) -> float:
    """Return the number of plays of average cost that the budget left pays for.

    Infinite if nothing costs.

    left: unspent budget, shape (m,).
    mean_cost: average cost of a play, shape (m,).
    """
    some = mean_cost > 0.0
    return float((left[some] / mean_cost[some]).min()) if some.any() else math.inf


def _worth_trying(state: State, plays: float) -> bool:
    """Return whether trying an unseen action is expected to pay.

    True as long as fewer than two actions have answers.

    plays: number of plays that rounds and money are left for.
    """
    tried = state.seen > 0.0
    if tried.sum() < 2:
        return True
    centre = state.prior[CENTRE]
    wide = max(state.prior[SPREAD], centre * (1.0 - centre) / 3.0)  # some are all alike, and then one is not
    gain = plays * math.sqrt(wide) / (state.prior[TRIED] + 1.0)
    return bool(gain >= centre - state.posterior_mean[tried].min())
