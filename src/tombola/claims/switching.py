"""Theorem (paper L622): elimination in blocks has regret and switches of order sqrt(k T) up to logarithms in random order.

And T^(2/3) in adversarial order (Dekel, Ding, Koren and Peres 2014): the multi-scale random walk, given and shuffled.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tombola import bounds, instances
from tombola.claims import random_walk
from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, band, levels, pick, slope
from tombola.comparing import compare
from tombola.learners.bandit import UCB2
from tombola.learners.base import Learner
from tombola.learners.switching import FrugalUCB, SerflingElimination, SimulationSuccessiveElimination
from tombola.report.chart import Chart, Line
from tombola.types import Seed


def _learners() -> dict[str, Learner]:
    return {
        "faithful": SimulationSuccessiveElimination(),
        "Serfling elimination": SerflingElimination(delta=0.1),
        "UCB2": UCB2(),
        "FrugalUCB": FrugalUCB(),
    }


@dataclass(frozen=True)
class Switching(Claim):
    """Regret plus switches on a pool with two actions and gap 0.1."""

    learners: dict[str, Learner] = field(default_factory=_learners)

    name: ClassVar[str] = "switching"
    title: ClassVar[str] = "When every change costs"
    source: ClassVar[str] = "Theorem 5 (L622)"
    statement: ClassVar[str] = (
        "In random order, regret and switches together are O(√(k T log³ T)), with k log T switches."
    )
    meaning: ClassVar[str] = (
        "Loading another model, retooling a line: each change of action costs as much as a whole loss. Playing in long "
        "blocks keeps changes few. The printed radius is so wide that nothing is ever dropped at a usual horizon; "
        "radii for finite lists are valid too, and drop actions early."
    )
    expected: ClassVar[Outcome] = "holds as corrected"

    def units(self, *, full: bool) -> list[Unit]:
        """Play at doubling horizons."""
        return [{"T": 2**i, "plays": 100 if full else 20} for i in range(10, 19 if full else 17, 1 if full else 2)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play all learners on the same orders, at a price of 1."""
        pool = instances.gap(unit["T"], 2, 0.1, seed=seed)
        runs = compare(pool, self.learners, repetitions=unit["plays"], switching_price=1.0, seed=seed)
        return [
            {
                "T": unit["T"],
                "learner": name,
                "play": r,
                "regret": float(regret),
                "switches": int(runs.cell(name).sums[r, -1, 3]),
            }
            for name in self.learners
            for r, regret in enumerate(runs.regrets(name))
        ]

    def verdict(self, rows: Rows) -> Verdict:
        """Ask that bounds hold, that the faithful one never drops an action, and that the tight one does."""
        at = levels(rows, "T")
        most = all(
            pick(rows, "switches", T=T, learner="faithful").max() <= bounds.simulation_elimination_switches(T, 2)
            for T in at
        )
        below = all(
            pick(rows, "regret", T=T, learner="faithful").mean() <= bounds.simulation_elimination(T, 2) for T in at
        )
        tight = all(
            pick(rows, "regret", T=T, learner="Serfling elimination").mean() <= bounds.elimination(T, 2) for T in at
        )
        found = {name: slope(rows, "T", "regret", learner=name) for name in ("faithful", "FrugalUCB")}
        last = {name: float(pick(rows, "regret", T=at[-1], learner=name).mean()) for name in self.learners}
        measured = f"T = {at[-1]}: " + ", ".join(f"{name} {value:.0f}" for name, value in last.items())
        measured += f"; slopes {found['faithful'].value:.2f} faithful, {found['FrugalUCB'].value:.2f} FrugalUCB"
        improved = last["Serfling elimination"] < last["faithful"] / 2
        outcome: Outcome = (
            "refuted" if not (most and below and tight) else "holds as corrected" if improved else "inconclusive"
        )
        return Verdict(outcome, measured, "√(k T log³ T)", "√(k T log T)")

    def chart(self, rows: Rows) -> Chart:
        """Show regret plus switches."""
        x = np.array(levels(rows, "T"), dtype=np.float64)
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret plus switches (2 actions, gap 0.1)",
            bands=tuple(band(rows, name, "T", "regret", learner=name) for name in self.learners),
            lines=(Line("gap × T / 2: nothing learned", x, 0.05 * x),),
            alt="The faithful elimination stays on the line of those who learn nothing; the others bend away from it early.",
        )


@dataclass(frozen=True)
class RandomWalk(Claim):
    """The multi-scale random walk: T^(2/3) in its given order, less when shuffled."""

    learner: Learner = field(default_factory=FrugalUCB)

    name: ClassVar[str] = "random-walk"
    title: ClassVar[str] = "The pool on which switching hurts, given and shuffled"
    source: ClassVar[str] = "Dekel et al. 2014; L583"
    statement: ClassVar[str] = (
        "In adversarial order regret with switches grows like T^(2/3); shuffled, the same rows allow √T."
    )
    meaning: ClassVar[str] = (
        "Losses that wander slowly can only be compared by changing back and forth. Shuffle the rows and the wandering is gone."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Walk at doubling horizons."""
        return [{"T": 2**i, "walks": 60 if full else 20} for i in range(8, 18 if full else 15)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play on walks in their given order, and shuffled."""
        return list(random_walk.measure(unit["T"], unit["walks"], seed=seed, learners={"learner": self.learner}))

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for a clearly smaller slope when shuffled."""
        given, shuffled = (slope(rows, "T", "regret", order=order) for order in ("given", "random"))
        measured = f"slope {given} given, {shuffled} shuffled"
        if given.value <= shuffled.value or given.high < 0.5:
            return Verdict("refuted", measured)
        apart = shuffled.high < 2 / 3 and given.value - shuffled.value > 0.1
        return Verdict("holds" if apart else "inconclusive", measured, "T^(2/3) against √T")

    def chart(self, rows: Rows) -> Chart:
        """Show both orders."""
        x = np.array(levels(rows, "T"), dtype=np.float64)
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret plus switches",
            bands=(
                band(rows, "given order", "T", "regret", order="given"),
                band(rows, "shuffled", "T", "regret", order="random"),
            ),
            lines=(Line("T^(2/3)", x, x ** (2 / 3)), Line("√T", x, np.sqrt(x))),
            alt="In given order the regret runs parallel to T to the power 2/3, shuffled it is flatter.",
        )
