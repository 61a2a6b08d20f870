"""Theorem 4.9 (L622): elimination in blocks has regret and switches of order sqrt(k T) up to logarithms.

Gaps shrink like 1/sqrt(T), so that the rate is tested and not the gap. Each learner is tested against its own
guarantee: SerflingElimination against its bound, its switches, and the probability of dropping the best action; the
paper's elimination, which drops nothing at these horizons, against its exact regret. In given order the pools show the
losses of the best action first, so that elimination without a shuffle drops it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tombola import bounds, instances
from tombola._compare import compare
from tombola._types import Seed
from tombola.bounds.switching import elimination_counts
from tombola.confidence.intervals import serfling_radius
from tombola.engine.loop import SWITCHES
from tombola.learners import UCB1, UCB2, FrugalUCB, SerflingElimination, SimulationSuccessiveElimination
from tombola.learners.base import Learner
from tombola.learners.switching.stages import State
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, levels, select, slope
from tombola.paper.curves import mean_band, reference_lines
from tombola.pool import Pool
from tombola.report.chart import Chart

# Failure probability of SerflingElimination, and gaps in units of 1/sqrt(T).
DELTA, GAPS = 0.1, (0.5, 8.0, 16.0)
TIGHT = "Serfling elimination"
WORDS = ("√(k T log³ T)", "√(k T log T)")
LEARNERS: dict[str, Learner] = {
    "faithful": SimulationSuccessiveElimination(),
    TIGHT: SerflingElimination(delta=DELTA),
    "UCB2": UCB2(),
    "FrugalUCB": FrugalUCB(),
}


@dataclass(frozen=True)
class Narrow(SerflingElimination):
    """SerflingElimination with 0.3 times its radius: a fault."""

    @staticmethod
    def radius(state: State, action: int) -> float:
        return 0.3 * serfling_radius(state.seen[action], state.population, state.level)


def listed(T: int, gap: float, seed: Seed) -> Pool:
    """Return two actions, the second better by `gap`, with the losses of the better one first.

    >>> listed(8, 0.25, seed=0).losses[:, 1].tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    losses = np.array(instances.gap(T, 2, gap, seed=seed).losses, dtype=np.float64)
    return Pool(losses[np.lexsort((losses[:, 0], -losses[:, 1]))])


def faithful_regret(T: int, gap: float) -> float:
    """Return the exact regret of the paper's elimination with two actions while it drops nothing.

    It is half the difference of the total losses plus the switches; T is a power of two.

    >>> faithful_regret(1024, 0.1)
    70.0
    """
    ones = round(T * 0.5) - round(T * (0.5 - gap))
    return ones / 2 + bounds.simulation_elimination_switches(T, 2)


@dataclass(frozen=True)
class Switching(Claim, name="switching", expected="holds as corrected", alpha=5e-4, verdict_only=("bound",)):
    """Regret plus switches on pools with two actions and gaps of 1/2, 8 and 16 over sqrt(T).

    Title: When every change costs
    Source: Theorem 4.9 (L622)
    Statement: In random order, regret and switches together are O(√(k T log³ T)), with k log T switches.
    Meaning: Each change of action (another model, another tool) costs as much as a loss of 1. Playing in long blocks
        keeps switches few. The printed radius is too wide to drop any action at usual horizons; radii for finite
        lists are valid too, and drop actions early.
    Limits: from the theorem: the bound of Serfling elimination at δ = 0.1, its slope in T and its switches; the
        best action dropped in 10 % of the plays at most (binomial); the exact regret of the faithful one
        (Student, two sides)
    """

    learners: Mapping[str, Learner] = field(default_factory=lambda: LEARNERS)
    order: OrderLike = "random"
    bound: Callable[..., float] = bounds.elimination
    price: float = 1.0

    def units(self, *, full: bool) -> list[Unit]:
        powers = range(12, 19) if full else (12, 14, 16)
        return [{"T": 2**i, "gap": gap, "plays": 200 if full else 60} for i in powers for gap in GAPS]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T, count = unit["T"], unit["plays"]
        pool = listed(T, unit["gap"] / T**0.5, seed)
        runs = compare(pool, self.learners, self.order, repetitions=count, switching_price=self.price, seed=seed)
        rows: list[Row] = []
        for name in self.learners:
            cell = runs.cell(name)
            for r, regret in enumerate(runs.regrets(name)):
                about = {"T": T, "gap": unit["gap"], "learner": name, "play": r, "regret": float(regret)}
                worse = {"worse": int(cell.plays[r, 0]), "switches": int(cell.sums[r, -1, SWITCHES])}
                rows.append({**about, **worse})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        settings = [(T, gap) for T in at for gap in levels(rows, "gap")]
        checks = [check for T, gap in settings for check in self._checks(rows, T, gap)]
        hard = {gap: [select(rows, "regret", T=T, gap=gap, learner=TIGHT) for T in at] for gap in levels(rows, "gap")}
        rate = [self.bound(T, 2, delta=DELTA) for T in at]
        checks += [pvalues.slope_at_most(at, regrets, rate) for regrets in hard.values()]
        checks += [pvalues.binomial_tail(*_dropped(rows, gap), DELTA) for gap in hard]
        widest = levels(rows, "gap")[-1]
        improved = float(select(rows, "regret", T=at[-1], gap=widest, learner=TIGHT).mean())
        wide = float(select(rows, "regret", T=at[-1], gap=widest, learner="faithful").mean())
        share = max(
            float(regrets.mean()) / bound for many in hard.values() for regrets, bound in zip(many, rate, strict=True)
        )
        slopes = ", ".join(f"{slope(rows, 'T', 'regret', gap=gap, learner=TIGHT).value:.2f}" for gap in hard)
        lost, plays = np.sum([_dropped(rows, gap) for gap in hard], axis=0)
        measured = (
            f"Serfling elimination at most {share:.2f} of its bound, slopes {slopes}; T = {at[-1]}, "
            f"gap {widest:g}/√T: {improved:.0f}, faithful {wide:.0f} (nothing dropped, as computed); "
            f"best dropped in {lost} of {plays} plays"
        )
        return self.verdict_from(checks, measured, *WORDS, outcome="holds as corrected")

    def _checks(self, rows: Rows, T: int, gap: float) -> list[float]:
        tight = [row for row in rows if row["T"] == T and row["gap"] == gap and row["learner"] == TIGHT]
        most = bounds.elimination_switches(T, 2, DELTA)
        faithful: dict[str, Any] = {"T": T, "gap": gap, "learner": "faithful"}
        made = select(rows, "switches", **faithful)
        return [
            pvalues.mean_at_most(select(tight, "regret"), self.bound(T, 2, delta=DELTA)),
            pvalues.exact(float(select(tight, "switches").max()) <= most),
            pvalues.exact(bool((made == bounds.simulation_elimination_switches(T, 2)).all())),
            pvalues.mean_equals(select(rows, "regret", **faithful), faithful_regret(T, gap / T**0.5)),
        ]

    def chart(self, rows: Rows) -> Chart:
        widest = levels(rows, "gap")[-1]
        curves: dict[str, Callable[[int], float]] = {
            "bound of Serfling elimination": lambda T: self.bound(T, 2, delta=DELTA),
            "nothing learned": lambda T: faithful_regret(T, widest / T**0.5),
        }
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label=f"regret plus switches (2 actions, gap {widest:g}/√T)",
            bands=tuple(mean_band(rows, name, "T", "regret", learner=name, gap=widest) for name in self.learners),
            lines=reference_lines(levels(rows, "T"), curves),
            alt="The paper's elimination stays on the line of a learner that learns nothing; the others are far below "
            "it, and all grow like √T.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "0.3 of the radius": {"learners": {**self.learners, TIGHT: Narrow(delta=DELTA)}},
            "switches not counted": {"price": 0.0},
            "a learner that switches often": {"learners": {**self.learners, TIGHT: UCB1()}},
            "a twentieth of the bound": {"bound": lambda *size, **options: self.bound(*size, **options) / 20},
        }


def drops_best(row: Row) -> bool:
    """Return whether the best action was dropped, which the plays of the worse action reveal.

    >>> drops_best({"T": 1000, "worse": 500}), drops_best({"T": 1000, "worse": 900})
    (False, True)
    """
    last = elimination_counts(row["T"], 2, DELTA)[-1]
    return bool(row["worse"] > max(-(-3 * last // 2), row["T"] - last))


def _dropped(rows: Rows, gap: float) -> tuple[int, int]:
    """Return the number of plays that dropped the best action, and of all plays, with this gap."""
    tight = [row for row in rows if row["learner"] == TIGHT and row["gap"] == gap]
    return sum(drops_best(row) for row in tight), len(tight)
