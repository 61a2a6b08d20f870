"""Peers under budgets with bandit feedback: two from the literature, and an oracle; as learners, so they play alike."""

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
    """Rate, step, caution, null action; answers and means; the weights of the resources and of time."""

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
    """PD-BwK of Badanidiyuru, Kleinberg and Slivkins 2013: most upper reward for the price of lower costs.

    Prices are weights (1 + eps)^(lower cost) with eps = sqrt(ln(d) / B); time is one of the d = m + 1 resources. The
    confidence radius is sqrt(C v / N) + C / N with C = caution ln(T k (m+1)).
    """

    caution: float = 1.0

    def init(self, terms: BudgetTerms) -> Weights:
        """Start with equal weights."""
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
        """Try every action once, then play the one with the most reward for its price."""
        resources, total = state.weights.size - 1, 0.0
        for j in range(resources + 1):
            total += state.weights[j]
        best, most = 0, -1.0
        for action in range(mix.size):
            mix[action] = 0.0
            if state.ceilings[action] > 0.0:
                price = state.weights[resources] * state.rate
                for j in range(resources):
                    price += state.weights[j] * lowest(state, state.costs[action, j], action)
                upper = 1.0 - lowest(state, state.means[action], action)
                worth = math.inf if state.seen[action] == 0.0 else upper / max(price / total, 1e-12)
                if worth > most:
                    best, most = action, worth
        mix[best] = 1.0

    @staticmethod
    def observe(state: Weights, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        """Add the play to the means, and raise the prices by what it used at least."""
        resources = state.weights.size - 1
        for j in range(resources):
            state.weights[j] *= (1.0 + state.step) ** lowest(state, state.costs[action, j], action)
        state.weights[resources] *= (1.0 + state.step) ** state.rate
        largest = 0.0
        for j in range(resources + 1):
            largest = max(largest, state.weights[j])
        for j in range(resources + 1):
            state.weights[j] /= largest
        update_mean(state.seen, state.means, action, loss)
        for j in range(resources):
            state.costs[action, j] += (costs[j] - state.costs[action, j]) / state.seen[action]


def lowest(state: Weights, mean: float, action: int) -> float:
    """Return how low a mean may be."""
    seen = state.seen[action]
    if seen == 0.0:
        return 0.0
    return float(max(0.0, mean - math.sqrt(state.caution * mean / seen) - state.caution / seen))


class First(NamedTuple):
    """Growth, horizon, rounds of exploration; ceilings; answers and means; when to plan; the plan."""

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


def start(growth: float, first: float, terms: BudgetTerms) -> First:
    """Return a state that knows nothing."""
    values = new_answer_state(terms, growth)._asdict()
    return First(first=first, **{name: values[name] for name in First._fields if name in values})


@dataclass(frozen=True)
class Planner(BudgetedBanditLearner):
    """What the two below share."""

    growth: float = 1.2

    @staticmethod
    def mix(state: First, mix: Floats) -> None:
        """Play the mix of the last plan."""
        write_planned_mix(state, mix)

    @staticmethod
    def observe(state: First, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        """Add the play to the means."""
        update_mean(state.seen, state.means, action, loss)
        add_costs(state, action, costs)

    @staticmethod
    def needs_plan(state: First, fits: Floats) -> bool:
        """Plan when an action was seen often enough."""
        return plan_is_due(state, state.answered[0], fits)


@dataclass(frozen=True)
class EpsilonFirstLP(Planner):
    """Explore all actions in turn in the first tenth of the rounds (Tran-Thanh et al. 2010), then the LP of the means.

    Means go on being updated, and the LP has what is left of the money, as EmpiricalLP's.
    """

    share: float = 0.1

    def init(self, terms: BudgetTerms) -> First:
        """Start knowing nothing."""
        return start(self.growth, self.share * terms.horizon, terms)

    def plan(self, state: First, left: Floats, fits: Floats, rng: RngState) -> None:
        """Play what was seen least, or solve."""
        rest = schedule_next_plan(state, fits)
        able = np.flatnonzero((fits > 0) & (state.ceilings > 0))
        if state.answered[0] < state.first and able.size:
            state.played[:] = 0.0
            state.played[able[np.argmin(state.seen[able])]] = 1.0
            state.following[0] = state.answered[0] + 1
            return
        rewards = np.where(state.seen > 0, 1.0 - state.means, 0.0)
        solve(state, np.minimum(rewards, state.ceilings), state.costs, left / rest, np.flatnonzero(fits))


@dataclass(frozen=True)
class Oracle(Planner):
    """Knows the mean and the deviation of the loss and of the cost of every action, but not which action is which.

    For every action the probability of being each of the k, by what was seen of it (normal likelihoods; that no two
    can be the same is not used). The LP has the means of these beliefs, plus their deviation for the reward, once
    every action was tried. An approximation: the best possible play with this knowledge may be better. `types` has
    (loss, its sd, cost, its sd), costs in the common scale of the budget.
    """

    types: tuple[tuple[float, ...], ...] = ()

    def init(self, terms: BudgetTerms) -> First:
        """Start knowing the types."""
        return start(self.growth, 0.0, terms)

    def plan(self, state: First, left: Floats, fits: Floats, rng: RngState) -> None:
        """Solve the LP of what is believed."""
        rest = schedule_next_plan(state, fits)
        loss, loss_sd, cost, cost_sd = np.array(self.types).T
        real = state.ceilings > 0
        n = state.seen[real][:, None]
        off = n * ((state.means[real][:, None] - loss) / np.maximum(loss_sd, 0.02)) ** 2
        off += n * ((state.costs[real, :1] - cost) / np.maximum(cost_sd, 0.02 * cost + 1e-6)) ** 2
        logs = -0.5 * off - n * np.log(np.maximum(loss_sd, 0.02) * np.maximum(cost_sd, 0.02 * cost + 1e-6))
        probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        rewards, costs = np.zeros(real.size), np.zeros((real.size, 1))
        mean = probabilities @ (1.0 - loss)
        doubt = np.sqrt(np.maximum(0.0, probabilities @ (1.0 - loss) ** 2 - mean**2))
        rewards[real], costs[real, 0] = mean + doubt, probabilities @ cost
        fresh = real & (state.seen == 0)
        rewards[fresh], costs[fresh] = 2.0, 0.0
        solve(state, rewards, costs, left / rest, np.flatnonzero(fits))
        share_unseen(state, rewards, costs)
