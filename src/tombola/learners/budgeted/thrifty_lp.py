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
    aim_of,
    enough_now,
    no_answers,
    no_plan,
    note_plan,
    plan_is_due,
    play_planned,
    solve,
)
from tombola.learners.switching.prior import CENTRE, SPREAD, TRIED, UNIFORM, believe, notice

# Reward above the largest possible one that is entered for an action to be tried, so that the LP prefers it to all
# others.
_MORE = 1.0


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
    that is wider, in R plays. Nothing is proved, so `bound` is None;
    `OptimisticLP` has a bound.

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
            **aim_of(terms),
            chosen=np.zeros(k),
            limits=np.zeros(k),
            within=np.zeros(1),
            prior=np.zeros(3),
            posterior_mean=np.zeros(k),
            posterior_var=np.zeros(k),
            noise_var=np.zeros(k),
            errors=np.zeros(k),
            **no_answers(terms),
            **no_plan(terms),
        )

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        play_planned(state, mix)
        for action in range(mix.size):
            state.chosen[action] += mix[action]
            if state.chosen[action] >= state.limits[action]:
                state.following[0] = 0.0

    @staticmethod
    def observe(state: State, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        notice(state, action, loss)
        add_costs(state, action, costs)

    @staticmethod
    def needs_plan(state: State, fits: Floats) -> bool:
        if not plan_is_due(state, state.answered[0], fits):
            return False
        believe(state, UNIFORM, UNIFORM)  # here, for here it is compiled
        return True

    def plan(self, state: State, left: Floats, fits: Floats, rng: RngState) -> None:
        rest = note_plan(state, fits)
        state.limits[:] = state.chosen + np.maximum(1.0, (state.growth - 1.0) * state.seen)
        costs, usual = _expected_costs(state)
        plays = min(rest, affordable(left, usual))
        rewards = np.minimum(state.ceilings, 1.0 - state.posterior_mean + bonuses(state, plays))
        fresh = (state.seen == 0.0) & (state.chosen < 1.0) & (state.ceilings > 0.0)
        if fresh.any() and _worth_trying(state, plays):
            rewards[fresh] = 1.0 + _MORE
            costs[fresh] = np.nan_to_num(state.prices[fresh], nan=0.0)
        enough = enough_now(state, float(state.seen @ state.means), rest)
        solve(state, rewards, costs, left / rest, np.flatnonzero(fits), enough)


def _expected_costs(state: State) -> tuple[Floats, Floats]:
    """Return the expected costs of every action, and the average costs of those tried.

    Shapes are (k, m) and (m,). A known price is the cost; else half a play at the average is added to the mean.
    """
    tried = state.seen > 0.0
    usual = state.costs[tried].mean(axis=0) if tried.any() else np.zeros(state.costs.shape[1])
    often = state.seen[:, None]
    costs = (often * state.costs + 0.5 * usual) / (often + 0.5)
    return np.where(np.isnan(state.prices), costs, state.prices), usual


def bonuses(state: State, plays: float) -> Floats:
    """Return the reward added to each action for exploration, shape (k,).

    Pending plays count as answered, because their answers arrive soon.

    plays: number of plays that rounds and money are left for.
    """
    often = np.maximum(1.0, np.maximum(state.seen, state.chosen))
    logs = np.log(np.maximum(1.0, plays / (state.seen.size * often)))
    return np.asarray(np.sqrt(state.posterior_var * np.maximum(1.0, state.seen) / often) * logs / 2.0)


def affordable(left: Floats, usual: Floats) -> float:
    """Return the number of plays of average cost that the budget left pays for.

    Infinite if nothing costs.

    left: unspent budget, shape (m,).
    usual: average cost of a play, shape (m,).
    """
    some = usual > 0.0
    return float((left[some] / usual[some]).min()) if some.any() else math.inf


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
