"""Theorem B.1 (L885): i.i.d. <= random order <= adversarial, for every learner.

Computed exactly on small inputs, and played: on the worst pool the mean over orders is the exact value.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tombola._play import play
from tombola._types import Seed
from tombola.exact import Regrets, worst_case
from tombola.learners import UCB1, FollowTheLeader, Hedge
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, component, levels, select
from tombola.paper.curves import exact_column
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Learners of the claim, by name.
_LEARNERS: dict[str, Learner] = {"follow the leader": FollowTheLeader(), "Hedge": Hedge(), "UCB1": UCB1()}
# All rows of two losses 0 or 1.
_KINDS = list(itertools.product([0.0, 1.0], repeat=2))
# Input model -> text of the chart.
_MODELS = {"iid": "i.i.d. draws", "random": "random order", "adversarial": "adversarial order"}
# Tolerance of inequalities between exact values.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hierarchy(Claim, name="hierarchy", expected="holds", alpha=5e-4):
    """Worst-case regrets over all inputs with two actions and losses 0 or 1.

    Fields, which faults replace: exact (function from learner, rows and T to the worst regrets, as
    `tombola.exact.worst_case`), order (order of the rows in plays).

    Title: Three models of the same rows
    Source: Theorem B.1 (L885)
    Statement: Every learner's worst regret on i.i.d. rows is at most its worst in random order, and that at most
        its worst in adversarial order.
    Meaning: A shuffled list is easier than its worst order, and not quite as easy as fresh samples. A guarantee for
        the worst order always holds for a shuffled list; a guarantee for fresh samples need not.
    Limits: Passes if both inequalities hold between the exact worst regrets of every learner at every T from 1 to 6 (8
        in a full run), and if the mean regret of follow the leader over plays of its worst pool does not differ from
        the exact one (two-sided t-test).
    """

    exact: Callable[..., Regrets] = component(worst_case)
    order: OrderLike = "random"

    def units(self, *, full: bool) -> list[Unit]:
        walked = [{"learner": name, "T": T, "plays": 0} for name in _LEARNERS for T in range(1, 9 if full else 7)]
        plays = 4000 if full else 500
        return [unit | {"plays": plays} if unit["learner"] == "follow the leader" else unit for unit in walked]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        about = {"learner": unit["learner"], "T": unit["T"]}
        learner = _LEARNERS[unit["learner"]]
        regrets = self.exact(learner, _KINDS, unit["T"])
        values: dict[str, Any] = {model: float(getattr(regrets, model)) for model in _MODELS}
        rows: list[Row] = [{**about, "kind": "exact", **values}]
        for child in repetition_seeds(seed, unit["plays"]):
            trace = play(learner, regrets.random_input, order=self.order, seed=child)
            rows.append({**about, "kind": "play", "regret": trace.expected_regret})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        exact = [row for row in rows if row["kind"] == "exact"]
        ordered = [_ordered(row) for row in exact]
        strict = sum(row["iid"] < row["random"] - _ROUNDING < row["adversarial"] - 2 * _ROUNDING for row in exact)
        played = {(row["learner"], row["T"]) for row in rows if row["kind"] == "play"}
        agree = [
            pvalues.mean_equals(
                select(rows, "regret", kind="play", learner=name, T=T), select(exact, "random", learner=name, T=T)[0]
            )
            for name, T in sorted(played)
        ]
        measured = (
            f"both inequalities in {sum(ordered)} of {len(exact)} exact comparisons up to T = "
            f"{levels(exact, 'T')[-1]}, both strict in {strict}; plays "
            f"{'differ' if self.any_rejected(agree) else 'agree'}"
        )
        checks = [*map(pvalues.exact, ordered), *agree]
        return self.verdict_from(checks, measured, "i.i.d. ≤ random order ≤ adversarial")

    def chart(self, rows: Rows) -> Chart:
        name = rows[0]["learner"]
        mine = [row for row in rows if row["kind"] == "exact" and row["learner"] == name]
        return Chart(
            title=f"{self.title}: {name}",
            x_label="rows of the pool, T",
            y_label="worst expected regret, exact",
            bands=tuple(exact_column(mine, words, "T", model) for model, words in _MODELS.items()),
            log_x=False,
            log_y=False,
            alt="The worst regret in random order lies between that on i.i.d. rows and that in adversarial order.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "draws with replacement": {"order": "iid"},
            "i.i.d. taken for random order": {
                "exact": lambda *inputs: _exchanged(self.exact(*inputs), "iid", "random")
            },
            "random taken for adversarial order": {
                "exact": lambda *inputs: _exchanged(self.exact(*inputs), "random", "adversarial")
            },
            "a comparator that is not the best": {
                "exact": lambda *inputs: _less(self.exact(*inputs), "adversarial", 1.0)
            },
        }


def _ordered(row: Row) -> bool:
    return bool(row["iid"] <= row["random"] + _ROUNDING and row["random"] <= row["adversarial"] + _ROUNDING)


def _exchanged(regrets: Regrets, one: str, other: str) -> Regrets:
    return regrets._replace(**{one: getattr(regrets, other), other: getattr(regrets, one)})


def _less(regrets: Regrets, model: str, amount: float) -> Regrets:
    return regrets._replace(**{model: getattr(regrets, model) - amount})
