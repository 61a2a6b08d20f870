"""Elimination with delay (docs/theory/transfer.md): a delay d costs d (H_k - 1) once."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tombola import bounds
from tombola._play import play
from tombola._types import Seed
from tombola.learners import SuccessiveElimination
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, select, unchanged
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.extensions.frugal import trap
from tombola.paper.pvalues import mean_at_most
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

# Gap large enough that all other actions are dropped early.
GAP = 0.8
T = 2**13


def share(k: int) -> float:
    """Return H_k - 1 = 1/2 + 1/3 + .. + 1/k."""
    return math.fsum(1 / j for j in range(2, k + 1))


@dataclass(frozen=True)
class LateElimination(
    Extension, name="late-elimination", expected="holds", alpha=1e-5, verdict_only=("bound", "weight")
):
    """Regret of successive elimination with delay, against its bound and the regret without.

    Title: Elimination with late losses
    Source: our theorem on elimination with delay (docs/theory/transfer.md)
    Statement: Successive elimination in random order with delay d has the bound without delay and d (1/2 + .. +
        1/k) more, each round of it weighed with the gap.
    Meaning: With delayed losses, play the remaining candidates in turn: they share the wasted rounds, and with two
        candidates a delay of d rounds costs d/2, once.
    Limits: the bound; and for what delay adds, gap × (d (H_k − 1) + 3 (k − 1)), measured in pairs
    """

    order: str = "random"
    late: Callable[[int], int] = unchanged
    bound: Callable[[float], float] = unchanged
    weight: float = 1.0

    def units(self, *, full: bool) -> list[Unit]:
        return [{"k": k, "d": d, "plays": 200 if full else 20} for k in (2, 5) for d in (256, 1024)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        k, d = unit["k"], unit["d"]
        pool = trap(T, k, GAP)
        found: list[Row] = []
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            late, prompt = (
                play(SuccessiveElimination(), pool, order=self.order, delay=delay, seed=child).regret
                for delay in (self.late(d), 0)
            )
            found.append({"k": k, "d": d, "play": r, "regret": float(late), "prompt": float(prompt)})
        return found

    def verdict(self, rows: Rows) -> Verdict:
        probabilities, shares = [], []
        for k, d in sorted({(row["k"], row["d"]) for row in rows}):
            regrets, prompt = select(rows, "regret", k=k, d=d), select(rows, "prompt", k=k, d=d)
            allowed = self.weight * GAP * (d * share(k) + 3 * (k - 1))
            limit = self.bound(bounds.successive_elimination(T, k, d))
            probabilities += [mean_at_most(regrets, limit), mean_at_most(regrets - prompt, allowed)]
            shares.append(f"{float((regrets - prompt).mean()) / allowed:.2f} (k = {k}, d = {d})")
        measured = f"delay adds {', '.join(shares)} of its bound"
        return self.verdict_from(probabilities, measured, "d (1/2 + .. + 1/k)")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="delay d",
            y_label="regret",
            bands=tuple(mean_band(rows, f"k = {k}", "d", "regret", k=k) for k in levels(rows, "k")),
            lines=reference_lines(levels(rows, "d"), {"gap d / 2": lambda d: GAP * d / 2}),
            alt="The regret grows with the delay like the line for two actions, and a little faster for five.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "answers twice as late": {"late": lambda d: 2 * d},
            "half of the delay's share": {"weight": 0.5},
            "bound divided by 20": {"bound": lambda bound: bound / 20},
        }
