"""Elimination with delay (docs/theory/transfer.md): a delay costs d (H_k - 1) once, in random order."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tombola import bounds
from tombola._play import play
from tombola._types import Seed
from tombola.learners import SuccessiveElimination
from tombola.paper.base import Measure, Measures, Parts, Unit, Verdict, band, levels, pick
from tombola.paper.curves import lines
from tombola.paper.extensions.base import Beyond
from tombola.paper.extensions.delay_shift import on_time
from tombola.paper.extensions.frugal import as_proved
from tombola.paper.extensions.traps import trap
from tombola.paper.pvalues import at_most
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds

GAP = 0.8
T = 2**13


def share(k: int) -> float:
    """Return H_k - 1 = 1/2 + 1/3 + .. + 1/k."""
    return math.fsum(1 / j for j in range(2, k + 1))


@dataclass(frozen=True)
class LateElimination(Beyond, name="late-elimination", expected="holds", luck=1e-5, judging=("bound", "weight")):
    """Regret of successive elimination with delay, against its bound and against that without delay.

    Title: Elimination with late losses
    Source: our theorem on elimination with delay (docs/theory/transfer.md)
    Statement: Successive elimination in random order with delay d has the bound without delay and d (1/2 + .. +
        1/k) more, each round of it weighed with the gap.
    Meaning: If losses come late, go round the candidates that are still in: each wasted round then is shared by
        them, and with two candidates a delay of d rounds costs d/2, once.
    Limits: the bound; and for what delay adds, gap × (d (H_k − 1) + 3 (k − 1)), measured in pairs
    """

    order: str = "random"
    late: Callable[[int], int] = on_time
    bound: Callable[[float], float] = as_proved
    weight: float = 1.0

    def units(self, *, full: bool) -> list[Unit]:
        """Play two numbers of actions with two delays."""
        return [{"k": k, "d": d, "plays": 200 if full else 20} for k in (2, 5) for d in (256, 1024)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Measure]:
        """Play with and without delay on the same orders."""
        k, d = unit["k"], unit["d"]
        pool = trap(T, k, GAP)
        found: list[Measure] = []
        for r, child in enumerate(repetition_seeds(seed, unit["plays"])):
            late, prompt = (
                play(SuccessiveElimination(), pool, order=self.order, delay=delay, seed=child).regret
                for delay in (self.late(d), 0)
            )
            found.append({"k": k, "d": d, "play": r, "regret": float(late), "prompt": float(prompt)})
        return found

    def verdict(self, rows: Measures) -> Verdict:
        """Ask for regrets below the bound, and for delays that add no more than their share."""
        probabilities, shares = [], []
        for k, d in sorted({(row["k"], row["d"]) for row in rows}):
            regrets, prompt = pick(rows, "regret", k=k, d=d), pick(rows, "prompt", k=k, d=d)
            allowed = self.weight * GAP * (d * share(k) + 3 * (k - 1))
            limit = self.bound(bounds.successive_elimination(T, k, d))
            probabilities += [at_most(regrets, limit), at_most(regrets - prompt, allowed)]
            shares.append(f"{float((regrets - prompt).mean()) / allowed:.2f} (k = {k}, d = {d})")
        measured = f"delay adds {', '.join(shares)} of what it may"
        return self.judged(probabilities, measured, "d (1/2 + .. + 1/k)")

    def chart(self, rows: Measures) -> Chart:
        """Show the regret over the delay."""
        return Chart(
            title=self.title,
            x_label="delay d",
            y_label="regret",
            bands=tuple(band(rows, f"k = {k}", "d", "regret", k=k) for k in levels(rows, "k")),
            lines=lines(levels(rows, "d"), {"gap d / 2": lambda d: GAP * d / 2}),
            alt="The regret grows with the delay like the line for two actions, and a little faster for five.",
        )

    def faults(self) -> dict[str, Parts]:
        """No shuffle, answers twice as late, half of the delay's share, a bound that is too small."""
        return {
            "no shuffle": {"order": "given"},
            "answers twice as late": {"late": lambda d: 2 * d},
            "half of the delay's share": {"weight": 0.5},
            "bound divided by 20": {"bound": lambda bound: bound / 20},
        }
