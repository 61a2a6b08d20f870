"""Learners under a budget with bandit feedback: two of the literature, an oracle."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms
from tombola.learners import BudgetedBanditLearner
from tombola.learners.bandit.counts import update_mean
from tombola.learners.budgeted.means import (
    add_costs,
    new_answer_state,
    plan_is_due,
    schedule_next_plan,
    share_unseen,
    solve,
    write_planned_mix,
)


class Weights(NamedTuple):
    """State of PrimalDualBwK; weights are those of the resources and of time.

    caution: logarithmic factor C of the confidence radius.
    """

    rate: float
    step: float
    caution: float
    ceilings: Floats
    seen: Floats
    means: Floats
    costs: Floats
    weights: Floats


@dataclass(frozen=True)
class PrimalDualBwK(BudgetedBanditLearner):
    """PD-BwK (Badanidiyuru, Kleinberg, Slivkins 2013): best reward per price.

    Prices are weights (1 + eps)^(lower cost) with eps = sqrt(ln(d) / B); time is one of the d = m +
    1 resources. The confidence radius is sqrt(C v / N) + C / N with C = caution ln(T k (m+1)).
    """

    caution: float = 1.0

    def init(self, terms: BudgetTerms) -> Weights:
        k, m, T = terms.actions, terms.resources, terms.horizon
        budget = max(terms.rate * T, 1e-9)
        return Weights(
            rate=terms.rate,
            step=min(1.0, math.sqrt(math.log(m + 1) / budget)),
            caution=self.caution * math.log(T * k * (m + 1)),
            ceilings=new_answer_state(terms, growth=1.0).ceilings,
            seen=np.zeros(k),
            means=np.zeros(k),
            costs=np.zeros((k, m)),
            weights=np.ones(m + 1),
        )

    @staticmethod
    def mix(state: Weights, mix: Floats) -> None:
        resources, total = state.weights.size - 1, 0.0
        for j in range(resources + 1):
            total += state.weights[j]
        best, most = 0, -1.0
        for action in range(mix.size):
            mix[action] = 0.0
            if state.ceilings[action] > 0.0:
                price = state.weights[resources] * state.rate
                for j in range(resources):
                    price += state.weights[j] * lower_bound(state, state.costs[action, j], action)
                upper = 1.0 - lower_bound(state, state.means[action], action)
                value = math.inf if state.seen[action] == 0.0 else upper / max(price / total, 1e-12)
                if value > most:
                    best, most = action, value
        mix[best] = 1.0

    @staticmethod
    def observe(
        state: Weights, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        resources = state.weights.size - 1
        for j in range(resources):
            state.weights[j] *= (1.0 + state.step) ** lower_bound(
                state, state.costs[action, j], action
            )
        state.weights[resources] *= (1.0 + state.step) ** state.rate
        largest = 0.0
        for j in range(resources + 1):
            largest = max(largest, state.weights[j])
        for j in range(resources + 1):
            state.weights[j] /= largest
        update_mean(state.seen, state.means, action, loss)
        for j in range(resources):
            state.costs[action, j] += (costs[j] - state.costs[action, j]) / state.seen[action]


def lower_bound(state: Weights, mean: float, action: int) -> float:
    """Return the lower confidence bound of a mean."""
    seen = state.seen[action]
    if seen == 0.0:
        return 0.0
    return float(max(0.0, mean - math.sqrt(state.caution * mean / seen) - state.caution / seen))


class PlannerState(NamedTuple):
    """State of the LP learners, and `first`, the rounds of exploration."""

    growth: float
    horizon: float
    first: float
    prices: Floats
    ceilings: Floats
    answered: Floats
    seen: Floats
    means: Floats
    costs: Floats
    marks: Floats
    following: Floats
    played: Floats
    fitted: Floats
    basis: Floats


def new_state(growth: float, first: float, terms: BudgetTerms) -> PlannerState:
    """Return the state before the first round."""
    values = new_answer_state(terms, growth)._asdict()
    return PlannerState(
        first=first, **{name: values[name] for name in PlannerState._fields if name in values}
    )


@dataclass(frozen=True)
class Planner(BudgetedBanditLearner):
    """Base of learners that play the mix of a linear program."""

    growth: float = 1.2

    @staticmethod
    def mix(state: PlannerState, mix: Floats) -> None:
        write_planned_mix(state, mix)

    @staticmethod
    def observe(
        state: PlannerState, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        update_mean(state.seen, state.means, action, loss)
        add_costs(state, action, costs)

    @staticmethod
    def needs_plan(state: PlannerState, fits: Floats) -> bool:
        return plan_is_due(state, state.answered[0], fits)


@dataclass(frozen=True)
class EpsilonFirstLP(Planner):
    """Epsilon-first (Tran-Thanh et al. 2010): explore by turns, then solve the LP.

    Means are updated in all rounds, and the LP has the rest of the budget, as in EmpiricalLP.
    """

    share: float = 0.1

    def init(self, terms: BudgetTerms) -> PlannerState:
        return new_state(self.growth, self.share * terms.horizon, terms)

    def plan(self, state: PlannerState, left: Floats, fits: Floats, rng: RngState) -> None:
        rest = schedule_next_plan(state, fits)
        able = np.flatnonzero((fits > 0) & (state.ceilings > 0))
        if state.answered[0] < state.first and able.size:
            state.played[:] = 0.0
            state.played[able[np.argmin(state.seen[able])]] = 1.0
            state.following[0] = state.answered[0] + 1
            return
        rewards = np.where(state.seen > 0, 1.0 - state.means, 0.0)
        solve(
            state,
            np.minimum(rewards, state.ceilings),
            state.costs,
            left / rest,
            np.flatnonzero(fits),
        )


@dataclass(frozen=True)
class Oracle(Planner):
    """Learner that knows all means and deviations, but not which action has which.

    Each action has a posterior over the k types, with normal likelihoods; that types are distinct
    is not used. Once every action was tried, the LP has the posterior means, plus the posterior
    deviation for the reward. The best play with this knowledge may be better. `types` has (loss,
    its deviation, cost, its deviation) of each type, costs in units of the budget.
    """

    types: tuple[tuple[float, ...], ...] = ()

    def init(self, terms: BudgetTerms) -> PlannerState:
        return new_state(self.growth, 0.0, terms)

    def plan(self, state: PlannerState, left: Floats, fits: Floats, rng: RngState) -> None:
        rest = schedule_next_plan(state, fits)
        loss, loss_sd, cost, cost_sd = np.array(self.types).T
        real = state.ceilings > 0
        n = state.seen[real][:, None]
        distance = n * ((state.means[real][:, None] - loss) / np.maximum(loss_sd, 0.02)) ** 2
        distance += (
            n * ((state.costs[real, :1] - cost) / np.maximum(cost_sd, 0.02 * cost + 1e-6)) ** 2
        )
        logs = -0.5 * distance - n * np.log(
            np.maximum(loss_sd, 0.02) * np.maximum(cost_sd, 0.02 * cost + 1e-6)
        )
        probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        rewards, costs = np.zeros(real.size), np.zeros((real.size, 1))
        mean = probabilities @ (1.0 - loss)
        deviation = np.sqrt(np.maximum(0.0, probabilities @ (1.0 - loss) ** 2 - mean**2))
        rewards[real], costs[real, 0] = mean + deviation, probabilities @ cost
        untried = real & (state.seen == 0)
        rewards[untried], costs[untried] = 2.0, 0.0
        solve(state, rewards, costs, left / rest, np.flatnonzero(fits))
        share_unseen(state, rewards, costs)
