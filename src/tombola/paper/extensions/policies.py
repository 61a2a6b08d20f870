"""Theorem C2 on thresholds, and the best choice per row within a budget.

docs/theory/context.md.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola._types import Floats, Integers, Seed
from tombola.bounds.classification import erm_policies, training_rows
from tombola.budget.budget import Budget
from tombola.budget.optimum import best_per_row
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, select, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.pvalues import ROUNDING, exact, mean_at_most
from tombola.pool import Pool
from tombola.report.chart import Chart

# Factor of the rows between two trainings of the minimiser.
_GROWTH = 1.5
# Probability that a label is random: from noise-free to pure noise.
_NOISES = (0.0, 0.5, 1.0)
# Rows and actions of the tables whose choices are all enumerated.
_TABLE_ROWS, _TABLE_ACTIONS = 6, 3


@dataclass(frozen=True)
class ThresholdRegret(Extension, name="threshold-regret", expected="holds", alpha=1e-5, verdict_only=("allowed",)):
    """Regret of ERM over thresholds, retrained at growth 1.5, in random order.

    Fields, which faults replace: minimiser (index of the threshold to play, from the mistakes of each on the rows
    seen), allowed (function of the proved bound that returns the limit of the verdict).

    Title: Empirical risk minimisation over policies learns at block starts
    Source: our Theorem C2 (docs/theory/context.md)
    Statement: In random order on T rows, ERM over a class with N different policies on the list, retrained when the
        rows have grown by a factor, has regret at most 1 + Σ L √((1 + 1/n) T ln N / (2n(T − n))); the sum is over
        blocks, each of L rounds after n rows.
    Meaning: Rare training is enough, and the class may be infinite: only its policies on this list count.
    Limits: Passes if the mean regret over orders is at most the bound, for T = 64 and 256 (1,024 in a full run) and
        several shares of random labels (t-test).
    """

    minimiser: Callable[[Floats], int] = lambda mistakes: int(mistakes.argmin())
    allowed: Callable[[float], float] = unchanged

    def units(self, *, full: bool) -> list[Unit]:
        horizons = (64, 256, 1024) if full else (64, 256)
        return [{"T": T, "noise": noise, "orders": 100 if full else 20} for T in horizons for noise in _NOISES]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        generator = np.random.default_rng(seed)
        T = unit["T"]
        features = generator.permutation(T)
        labels = np.where(generator.random(T) < unit["noise"], generator.integers(0, 2, T), features >= T // 2)
        return [
            {**unit, "regret": self._regret(features[order], labels[order].astype(np.int64))}
            for order in (generator.permutation(T) for _ in range(unit["orders"]))
        ]

    def _regret(self, features: Integers, labels: Integers) -> float:
        T, lost = len(labels), 0.0
        # mistakes[t, j]: whether threshold j, which predicts 1 from feature j on, is wrong on row t.
        mistakes = ((features[:, None] >= np.arange(T + 1)) != (labels[:, None] == 1)).astype(np.float64)
        starts = training_rows(T, _GROWTH)
        lost += float(mistakes[: starts[0], 0].sum())
        for n, end in zip(starts, [*starts[1:], T], strict=True):
            lost += float(mistakes[n:end, self.minimiser(mistakes[:n].sum(axis=0))].sum())
        return lost - float(mistakes.sum(axis=0).min())

    def verdict(self, rows: Rows) -> Verdict:
        pvalues, shares = [], []
        for T, noise in itertools.product(levels(rows, "T"), levels(rows, "noise")):
            regrets, bound = select(rows, "regret", T=T, noise=noise), erm_policies(T, T + 1, _GROWTH)
            pvalues.append(mean_at_most(regrets, self.allowed(bound)))
            shares.append(float(regrets.mean()) / bound)
        measured = f"mean regret at most {max(shares):.2f} of the bound, in {len(rows):,} plays"
        return self.verdict_from(pvalues, measured, "regret ≤ 1 + Σ L √((1 + 1/n) T ln N / (2n(T − n)))")

    def chart(self, rows: Rows) -> Chart:
        bands = tuple(
            exact_column(rows, f"noise {noise:g}", "T", "regret", noise=noise) for noise in levels(rows, "noise")
        )
        return Chart(
            title=self.title, x_label="rows T", y_label="mean regret", bands=bands,
            lines=reference_lines(levels(rows, "T"), {"bound": lambda T: erm_policies(int(T), T + 1, _GROWTH)}),
            alt="The regret of thresholds is far below the bound.",
        )  # fmt: skip

    def faults(self) -> dict[str, Overrides]:
        return {
            "the worst threshold": {"minimiser": lambda mistakes: int(mistakes.argmax())},
            "a threshold that ignores the rows": {"minimiser": lambda _: 0},
            "a hundredth of the bound promised": {"allowed": lambda bound: bound / 100},
        }


def _one_price(pool: Pool, amount: float) -> float:
    """Return the least loss at one price for all rows: a fault.

    It may leave a part of the budget unspent.
    """
    losses, costs = np.asarray(pool.losses), np.asarray(pool.costs).reshape(pool.rows, pool.k)
    index, found = np.arange(pool.rows), float(losses.max())
    for price in (0.0, *np.geomspace(1e-4, 1e4, 200)):
        chosen = (losses + price * costs).argmin(axis=1)
        if costs[index, chosen].sum() <= amount:
            found = min(found, float(losses[index, chosen].mean()))
    return found


@dataclass(frozen=True)
class RowOptimum(Extension, name="row-optimum", expected="holds"):
    """Best choice per row within a budget: by prices, by an LP, by enumeration.

    Fields, which faults replace: value (least mean loss of a pool within a total budget, as computed by the package).

    Title: The best choice per row within a budget is found by one price
    Source: our Theorem C6, by duality (docs/theory/context.md)
    Statement: The least mean loss of a choice of one action per row with mean cost at most ρ, rows divisible, is the
        maximum over prices p ≥ 0 of mean min_a (ℓ_a + p c_a) − p ρ, with ℓ_a and c_a the loss and the cost of action a
        on the row; no choice of whole rows within the budget is better.
    Meaning: Routers at two prices around the rate are enough to mix the best choice, so the comparator of a budget is
        exact.
    Limits: Passes if, on random tables and three budgets, the value differs from that of a linear program by less than
        1e-7, and no choice of whole rows, all of them tried, has a smaller mean loss.
    """

    value: Callable[[Pool, float], float] = lambda pool, amount: best_per_row(pool, Budget(amount))

    def units(self, *, full: bool) -> list[Unit]:
        return [{"costs": costs, "tables": 20 if full else 4} for costs in ("equal", "random")]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        generator = np.random.default_rng(seed)
        return [self._table(unit, generator, part) for _ in range(unit["tables"]) for part in (0.2, 0.5, 0.8)]

    def _table(self, unit: Unit, generator: np.random.Generator, part: float) -> Row:
        shape = (_TABLE_ROWS, _TABLE_ACTIONS)
        losses, costs = generator.random(shape), generator.random(shape)
        if unit["costs"] == "equal":
            costs = np.tile(np.arange(_TABLE_ACTIONS) / 2, (_TABLE_ROWS, 1))
        costs[:, 0] = 0.0  # the null action
        amount = part * float(costs[:, -1].sum())
        found = self.value(Pool(losses, costs=costs), amount)
        return {
            **unit, "part": part, "value": found, "program": _linear_program(losses, costs, amount),
            "whole_rows": _best_of_all(losses, costs, amount),
        }  # fmt: skip

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["value"] - row["program"]) for row in rows)
        beaten = max(row["value"] - row["whole_rows"] for row in rows)
        measured = f"off by at most {off:.0e} from the linear program in {len(rows)} tables"
        return self.verdict_from(
            [exact(off < 1e-7 and beaten <= ROUNDING)], measured, "max over p of mean min_a (ℓ + p c) − p ρ"
        )  # fmt: skip

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title, x_label="budget, share of the last action's cost", y_label="mean loss",
            bands=tuple(
                exact_column(rows, f"{costs} costs", "part", "value", costs=costs) for costs in levels(rows, "costs")
            ),
            log_x=False, log_y=False, alt="The least loss falls with the budget.",
        )  # fmt: skip

    def faults(self) -> dict[str, Overrides]:
        return {
            "one price, money left": {"value": _one_price},
            "budget ignored": {"value": lambda pool, _: float(np.asarray(pool.losses).min(axis=1).mean())},
            "a tenth more budget": {"value": lambda pool, amount: self.value(pool, 1.1 * amount)},
        }


def _linear_program(losses: Floats, costs: Floats, amount: float) -> float:
    """Return the optimum of the program with one mix for each row, by HiGHS."""
    from scipy.optimize import linprog

    rows, actions = losses.shape
    found: Any = linprog(
        losses.ravel(), A_ub=costs.ravel()[None], b_ub=[amount], A_eq=np.kron(np.eye(rows), np.ones(actions)),
        b_eq=np.ones(rows), bounds=(0, 1), method="highs",
    )  # fmt: skip
    return float(found.fun) / float(rows)


def _best_of_all(losses: Floats, costs: Floats, amount: float) -> float:
    """Return the least mean loss of all choices of whole rows within the amount."""
    choices = np.array(list(itertools.product(range(losses.shape[1]), repeat=len(losses))))
    index = np.arange(len(losses))
    spent, lost = costs[index, choices].sum(axis=1), losses[index, choices].mean(axis=1)
    return float(lost[spent <= amount].min())
