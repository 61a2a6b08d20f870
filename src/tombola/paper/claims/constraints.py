"""Theorem 4.5 (L458): with budgets, Simulation has sublinear regret in random order and zero violation.

Each learner is tested against the bound of its own parameters, at horizons where the bound is below the regret of
doing nothing. The bounds hold with probability 1 - delta, so plays that miss them are counted. A play ended by the
stop rule is a miss too, since the margin should prevent it. On the second pool the better action alternates between
blocks of the list: irrelevant in random order, misleading in given order.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tombola import bounds
from tombola._play import play
from tombola._types import Floats, Seed
from tombola.budget.budget import Budget, BudgetTerms
from tombola.instances import three_actions
from tombola.learners import BudgetedLearner, BudgetSimulation, EmpiricalLP, SerflingLP
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, levels, select
from tombola.paper.curves import mean_band
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Budget per round, failure probability of the bounds, and actions of the pools.
RATE, DELTA, ACTIONS = 0.8, 0.05, 3
WORDS = ("margin 2ε, L536 without 2^i", "margin 3ε, strict stop")


class NullState(NamedTuple):
    """Index of the null action."""

    null: float


@dataclass(frozen=True)
class AlwaysNull(BudgetedLearner):
    """Always play the null action: a fault that earns nothing."""

    def init(self, terms: BudgetTerms) -> NullState:
        return NullState(float(terms.null))

    @staticmethod
    def mix(state: NullState, mix: Floats) -> None:
        for action in range(mix.size):
            mix[action] = 1.0 if action == int(state.null) else 0.0

    @staticmethod
    def observe(state: NullState, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        pass


def flipping(T: int, *, seed: Seed) -> Pool:
    """Return rows in which one of two actions earns 1, alternating between blocks of 2^i rows.

    Each action costs 0.9 on average.

    >>> flipping(8, seed=0).losses[:, 1:].argmin(axis=1).tolist()
    [0, 0, 1, 1, 0, 0, 0, 0]
    """
    turn = np.array([(max(1, t).bit_length() - 1) % 2 for t in range(T)])
    dear = np.repeat((np.arange(T) < round(0.9 * T)).astype(np.float64)[:, None], 2, axis=1)
    costs = np.column_stack([np.zeros(T), np.random.default_rng(seed).permuted(dear, axis=0)])
    return Pool.from_rewards(np.column_stack([np.zeros(T), 1 - turn, turn]), costs=costs)


POOLS: dict[str, Callable[..., Pool]] = {"three actions": three_actions, "flipping": flipping}


def faithful_bound(margin: float) -> Callable[[int], float]:
    """Return the bound of BudgetSimulation with this margin as a function of the horizon."""
    return lambda T: bounds.budget_simulation(T, ACTIONS, 1, RATE, DELTA, margin)


LEARNERS: dict[str, BudgetedLearner] = {
    "as printed": BudgetSimulation(delta=DELTA, margin=2.0),
    "margin 3": BudgetSimulation(delta=DELTA, margin=3.0),
    "Serfling LP": SerflingLP(delta=DELTA),
    "empirical LP": EmpiricalLP(growth=1.2),
}
BOUNDS: dict[str, Callable[[int], float]] = {
    "as printed": faithful_bound(2.0),
    "margin 3": faithful_bound(3.0),
    "Serfling LP": lambda T: bounds.serfling_lp(T, ACTIONS, 1, RATE, DELTA),
}
# Learners with a margin that should keep the stop rule from ending the play.
UNSTOPPED = ("margin 3", "Serfling LP")


def budget_play(
    learner: BudgetedLearner, pool: Pool, order: OrderLike, overdraft: float, seed: Seed, *, fluid: bool
) -> dict[str, Any]:
    """Play once at the rate of the claims; return regret, T OPT, and whether it overspent or stopped.

    Fluid play uses the strict stop rule and charges expected costs.
    """
    amount = RATE * pool.rows
    how: dict[str, Any] = {"stop": "strict", "mixed": True} if fluid else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning that the horizon is too short is expected here
        budget = Budget(amount * overdraft, worst=1.0, null=0)
        trace = play(learner, pool, order, budget=budget, seed=seed, **how)
    over = math.fsum([*trace.costs[:, 0].tolist(), -amount]) > 0  # fsum: the sign is exact
    result = {"most": trace.comparator_reward, "regret": float(trace.regret)}
    return result | {"overspent": over, "stopped": bool(trace.balance.left[0] < 1)}


@dataclass(frozen=True)
class Constraints(Claim, name="constraints", expected="holds as corrected", alpha=5e-4, verdict_only=("bounds",)):
    """Regret and spending of BudgetSimulation and of two linear programs, at a rate of 0.8.

    Title: A budget that is never exceeded
    Source: Theorem 4.5 (L458)
    Statement: With a budget for each of m resources, Simulation has regret Õ(√T) and zero violation in random
        order.
    Meaning: Work through a list under a dollar cap. The cap is never exceeded, in any run. The paper's algorithm
        plays the null action for a long time first; solving the linear program of the rows seen, again and again,
        with the budget left, loses almost nothing.
    Limits: from the theorem: each learner's own bound, below T OPT at these horizons, is missed by at most 5 % of the
        plays, as is the stop (binomial); no play overspends
    """

    learners: Mapping[str, BudgetedLearner] = field(default_factory=lambda: LEARNERS)
    bounds: Mapping[str, Callable[[int], float]] = field(default_factory=lambda: BOUNDS)
    order: OrderLike = "random"
    overdraft: float = 1.0

    def units(self, *, full: bool) -> list[Unit]:
        sizes = {2**16: 40, 2**18: 20, 2**20: 10} if full else {2**16: 10}
        return [{"T": T, "pool": pool, "plays": plays} for T, plays in sizes.items() for pool in POOLS]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        rows: list[Row] = []
        for repetition, child in enumerate(repetition_seeds(seed, unit["plays"])):
            pool = POOLS[unit["pool"]](T, seed=child)
            for name, learner in self.learners.items():
                about = {"T": T, "pool": unit["pool"], "learner": name, "play": repetition}
                fluid = name != "empirical LP"
                rows.append(about | budget_play(learner, pool, self.order, self.overdraft, child, fluid=fluid))
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        over = sum(bool(row["overspent"]) for row in rows)
        settings = sorted({(row["T"], row["pool"], row["learner"]) for row in rows if row["learner"] in self.bounds})
        checks, shares = [pvalues.exact(over == 0)], []
        for T, pool, name in settings:
            where = {"T": T, "pool": pool, "learner": name}
            regrets, bound = select(rows, "regret", **where), self.bounds[name](T)
            checks.append(pvalues.binomial_tail(int((regrets > bound).sum()), regrets.size, DELTA))
            checks.append(pvalues.exact(bound < float(select(rows, "most", **where).min())))
            shares.append(float(regrets.mean()) / bound)
            if name in UNSTOPPED:
                checks.append(pvalues.binomial_tail(int(select(rows, "stopped", **where).sum()), regrets.size, DELTA))
        last = levels(rows, "T")[-1]
        lost = {name: 100 * _share(rows, name, last) for name in self.learners}
        measured = (
            f"{over} of {len(rows)} runs overspent; regret at most {max(shares):.2f} of the bounds; "
            f"T = {last} loses, of T OPT: " + ", ".join(f"{name} {percent:.1f} %" for name, percent in lost.items())
        )
        return self.verdict_from(checks, measured, *WORDS, outcome="holds as corrected")

    def chart(self, rows: Rows) -> Chart:
        shares = [{**row, "share": 100 * (1 - row["regret"] / row["most"])} for row in rows]
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="reward in % of the best fixed mix",
            bands=tuple(mean_band(shares, name, "T", "share", learner=name) for name in self.learners),
            log_y=False,
            alt="The empirical LP collects nearly everything; the others start to play late and collect less.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "always the null action": {"learners": {**self.learners, "margin 3": AlwaysNull()}},
            "margin dropped": {"learners": {**self.learners, "Serfling LP": EmpiricalLP()}},
            "half as much again to spend": {"overdraft": 1.5},
            "a tenth of the bounds": {"bounds": {name: _tenth(bound) for name, bound in self.bounds.items()}},
        }


def _share(rows: Rows, learner: str, T: int) -> float:
    """Return the mean share of T OPT lost by a learner."""
    return float((select(rows, "regret", learner=learner, T=T) / select(rows, "most", learner=learner, T=T)).mean())


def _tenth(bound: Callable[[int], float]) -> Callable[[int], float]:
    return lambda T: bound(T) / 10
