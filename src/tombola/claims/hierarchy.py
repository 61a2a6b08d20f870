"""Theorem (paper L885): for every learner, regret i.i.d. <= random order <= adversarial, computed exactly."""

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, levels, pick
from tombola.claims.curves import certain
from tombola.exact import worst_case
from tombola.learners.bandit import UCB1
from tombola.learners.base import Learner
from tombola.learners.full import FollowTheLeader, Hedge
from tombola.report.chart import Chart
from tombola.types import Seed

LEARNERS: dict[str, Learner] = {"follow the leader": FollowTheLeader(), "Hedge": Hedge(), "UCB1": UCB1()}
KINDS = list(itertools.product([0.0, 1.0], repeat=2))
MODELS = {"iid": "i.i.d. draws", "random": "random order", "adversarial": "adversarial order"}
ROUNDING = 1e-9


@dataclass(frozen=True)
class Hierarchy(Claim):
    """Worst-case regrets over all inputs with two actions and losses 0 or 1, one horizon after the other."""

    name: ClassVar[str] = "hierarchy"
    title: ClassVar[str] = "Three models of the same rows"
    source: ClassVar[str] = "theorem on the hierarchy (L885)"
    statement: ClassVar[str] = (
        "Every learner's worst regret on i.i.d. rows is at most its worst in random order, and that at most its worst "
        "in adversarial order."
    )
    meaning: ClassVar[str] = (
        "Shuffling makes any list easier than its worst order, though not quite as easy as fresh samples. A promise "
        "for the worst order always holds for your shuffled list; a promise for fresh samples does not."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Walk all inputs of every length up to 6, or 8."""
        return [{"learner": name, "T": T} for name in LEARNERS for T in range(1, 9 if full else 7)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Compute the three worst cases; the i.i.d. one over distributions with chances in twelfths."""
        regrets = worst_case(LEARNERS[unit["learner"]], KINDS, unit["T"])
        values: dict[str, Any] = {model: float(getattr(regrets, model)) for model in MODELS}
        return [{**unit, **values}]

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for both inequalities in every row."""
        iid, random, adversarial = (pick(rows, model) for model in MODELS)
        broken = int(((iid > random + ROUNDING) | (random > adversarial + ROUNDING)).sum())
        strict = int(((iid < random - ROUNDING) & (random < adversarial - ROUNDING)).sum())
        last = max(row["T"] for row in rows)
        measured = (
            f"both inequalities in {len(rows) - broken} of {len(rows)} exact comparisons up to T = {last}, "
            f"both strict in {strict}"
        )
        return Verdict("refuted" if broken else "holds", measured, "i.i.d. ≤ random order ≤ adversarial")

    def chart(self, rows: Rows) -> Chart:
        """Show the three worst cases of one learner."""
        name = rows[0]["learner"]
        x = np.array(levels(rows, "T", learner=name), dtype=np.float64)
        return Chart(
            title=f"{self.title}: {name}",
            x_label="rows of the pool, T",
            y_label="worst expected regret, exact",
            bands=tuple(
                certain(words, x, np.array([pick(rows, model, T=T, learner=name)[0] for T in x]))
                for model, words in MODELS.items()
            ),
            log_x=False,
            log_y=False,
            alt="The worst regret in random order lies between that on i.i.d. rows and that in adversarial order.",
        )
