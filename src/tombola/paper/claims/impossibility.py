"""Budgets in adversarial order (L427): linear regret of every learner.

The statement is that of Mannor, Tsitsiklis and Yu 2009. Two lists share their first half. The spending there determines
the regret on both, and on one of them the regret is at least T/16, in every play of every learner. On short lists the
least regret of any learner, randomised or not, is the value of a linear program over spending: T/16, so the bound is
tight.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tombola._play import play
from tombola._types import Floats, Seed
from tombola.budget.budget import Budget
from tombola.budget.optimum import optimum
from tombola.instances import hindsight
from tombola.learners import BudgetedLearner, DualDescent, EmpiricalLP, PrimalDual
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select, slope
from tombola.paper.claims.constraints import AlwaysPlay
from tombola.paper.curves import mean_band, reference_lines
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Learners of the claim, by name.
_LEARNERS: dict[str, BudgetedLearner] = {
    "empirical LP": EmpiricalLP(),
    "primal-dual": PrimalDual(),
    "dual descent": DualDescent(),
}
# Second half of each of the two lists, which have the same first half.
_HALVES: tuple[Literal["rich"], Literal["poor"]] = ("rich", "poor")


def _regrets_by_spending(T: int) -> Floats:
    """Return the least regret on both lists, by plays in the first half.

    The minimum is over all numbers of plays in the second half within the budget T/2.

    >>> _regrets_by_spending(4).tolist()
    [[-0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    """
    rows: list[list[float]] = []
    for half in _HALVES:
        pool = hindsight(T, half)
        assert pool.costs is not None
        earned, cost = 1 - np.asarray(pool.losses)[:, 1], np.asarray(pool.costs)[:, 1, 0]
        best = T * optimum(pool, Budget(T / 2, worst=[0.0, 1.0])).value
        rows.append([])
        for spent in range(T // 2 + 1):
            first = spent * earned[0]
            later = [n * earned[-1] for n in range(T // 2 + 1) if spent * cost[0] + n * cost[-1] <= T / 2]
            rows[-1].append(best - first - max(later))
    return np.array(rows)


def _least_regret(T: int) -> float:
    """Return the least worst-case regret of any learner on the two lists of T rows.

    It is a linear program: the minimum over learners of the larger expected regret.

    >>> round(_least_regret(8), 9)
    0.5
    """
    from scipy.optimize import linprog

    regrets = _regrets_by_spending(T)
    ways = regrets.shape[1]
    found = linprog(
        [*np.zeros(ways), 1.0],
        A_ub=np.column_stack([regrets, -np.ones(2)]), b_ub=np.zeros(2),
        A_eq=[[*np.ones(ways), 0.0]], b_eq=[1.0], bounds=[(0, None)] * ways + [(None, None)],
    )  # fmt: skip
    return float(np.asarray(found.x, dtype=np.float64)[-1])


@dataclass(frozen=True)
class Impossibility(Claim, name="impossibility", expected="holds", alpha=5e-4, verdict_only=("least",)):
    """Regret with a budget on two lists with a common first half.

    It is linear in given order for every learner, and sublinear in random order.

    Fields, which faults replace: learners (name -> learner under test), order (order of the shuffled plays), amount
    (budget per round), least (smallest possible regret per round in given order).

    Title: Why budgets need the shuffle
    Source: Mannor et al. 2009 (cited at L427)
    Statement: With budgets in adversarial order, regret is linear for every learner; in random order it is not.
    Meaning: If the first half of a list is not informative about the second, spending early and spending late are
        both wrong on some list. In random order every part of the list represents the rest.
    Limits: Passes if, in given order, the larger regret of the two lists is at least T/16 in every play, and exactly
        T/16 for the best possible learner on lists of 2 to 32 rows (linear program). In random order the mean regret
        must be below T/16 at the largest horizon (t-test), and that of EmpiricalLP must grow at most as fast as √(T ln
        T) (regression).
    """

    learners: Mapping[str, BudgetedLearner] = component(_LEARNERS)
    order: OrderLike = "random"
    amount: float = 0.5
    least: float = 1 / 16

    def units(self, *, full: bool) -> list[Unit]:
        short: list[Unit] = [{"T": T, "plays": 0} for T in (2, 4, 8, 16, 32)]
        return short + [{"T": 4**i, "plays": 100 if full else 30} for i in range(4, 9 if full else 8)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        if unit["plays"] == 0:
            return [{"T": T, "kind": "least", "learner": "all", "play": 0, "regret": _least_regret(T)}]
        rows: list[Row] = []
        for repetition, child in enumerate(repetition_seeds(seed, unit["plays"])):
            for kind, order in (("given", "given"), ("random", self.order)):
                for name, learner in self.learners.items():
                    traces = [
                        play(learner, hindsight(T, half), order, budget=Budget(T * self.amount), seed=child)
                        for half in _HALVES
                    ]
                    worse = max(float(trace.regret) for trace in traces)
                    rows.append({"T": T, "kind": kind, "learner": name, "play": repetition, "regret": worse})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T", kind="random")
        given = min(row["regret"] / row["T"] for row in rows if row["kind"] == "given")
        exact = [row["regret"] / row["T"] for row in rows if row["kind"] == "least"]
        shuffled = {
            name: [select(rows, "regret", T=T, kind="random", learner=name) for T in at] for name in self.learners
        }
        checks = [
            pvalues.exact(given >= self.least - 1e-9),
            *(pvalues.exact(abs(value - self.least) <= 1e-9) for value in exact),
            *(pvalues.mean_at_most(regrets[-1], at[-1] * self.least) for regrets in shuffled.values()),
            pvalues.growth("at most", at, shuffled["empirical LP"], [(T * np.log(T)) ** 0.5 for T in at]),
        ]
        mean = max(float(regrets[-1].mean()) / at[-1] for regrets in shuffled.values())
        measured = (
            f"given order at least {given:.4f} T, the least of all learners {min(exact):.4f} T; "
            f"shuffled at most {mean:.4f} T at T = {at[-1]}, slope of the empirical LP {_slope(rows)}"
        )
        return self.verdict_from(checks, measured, "Ω(T) against Õ(√T)")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret on the worse of two lists",
            bands=tuple(
                mean_band(rows, f"{name}, {words}", "T", "regret", kind=kind, learner=name)
                for kind, words in (("given", "given order"), ("random", "shuffled"))
                for name in self.learners
            ),
            lines=reference_lines(levels(rows, "T", kind="random"), {"T / 16": lambda T: T / 16, "√T": math.sqrt}),
            alt="In given order the regret of every learner is at least T/16; in random order it grows like √T.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "always the null action": {"learners": {**self.learners, "empirical LP": AlwaysPlay()}},
            "twice the budget": {"amount": 1.0},
            "twice the lower bound": {"least": 1 / 8},
            "half the lower bound": {"least": 1 / 32},
        }


def _slope(rows: Rows) -> str:
    mine = [row for row in rows if row["kind"] == "random" and row["learner"] == "empirical LP"]
    means = [float(select(mine, "regret", T=T).mean()) for T in levels(mine, "T")]
    return f"{slope(mine, 'T', 'regret').value:.2f}" if min(means) > 0 and len(means) > 2 else "none"
