"""Theorem (paper L257): the birthday test has no regret on i.i.d. inputs, and linear regret in random order.

And the remark after the template (L289): Simulation repairs it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tombola import instances
from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, band, levels, pick, slope
from tombola.comparing import compare
from tombola.learners.full import BirthdayTest
from tombola.reductions import Lemma, Simulation
from tombola.report.chart import Chart, Line
from tombola.types import Seed

LEARNERS: dict[str, Any] = {
    "birthday test": lambda T: BirthdayTest(grid=T),
    "Simulation": lambda T: Simulation(BirthdayTest(grid=T), Lemma()),
}


def horizons(*, full: bool) -> list[Unit]:
    """Return the horizons of both claims, one a unit."""
    return [{"T": 2**i, "plays": 200 if full else 40} for i in range(8, 19 if full else 16)]


def measure(unit: Unit, learner: str, orders: list[str], seed: Seed) -> list[Row]:
    """Play a learner on the birthday pool."""
    pool = instances.birthday(unit["T"])
    runs = compare(pool, {learner: LEARNERS[learner]}, orders, repetitions=unit["plays"], relabel=False, seed=seed)
    return [
        {"T": unit["T"], "learner": learner, "order": order, "play": r, "regret": float(regret)}
        for order in orders
        for r, regret in enumerate(runs.regrets(learner, order, expected=True))
    ]


@dataclass(frozen=True)
class Separation(Claim):
    """Regret of the birthday test on its pool: slope 1/2 with i.i.d. draws, exactly (T+1)/2 in random order."""

    name: ClassVar[str] = "separation"
    title: ClassVar[str] = "One learner, one pool: drawn with replacement, and shuffled"
    source: ClassVar[str] = "Theorem 2 (L257)"
    statement: ClassVar[str] = (
        "The birthday test has regret O(√(T log T)) on every i.i.d. input, "
        "and linear regret on some pool in random order."
    )
    meaning: ClassVar[str] = (
        "What works on fresh samples can fail on a shuffled list, although every row looks the same. A guarantee "
        "for i.i.d. data says nothing about your list until somebody proves it for random order."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Play at doubling horizons."""
        return horizons(full=full)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play the test on its pool, with and without replacement."""
        return measure(unit, "birthday test", ["iid", "random"], seed)

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for slope 1/2 with i.i.d. draws and for the exact value in random order."""
        iid, at = slope(rows, "T", "regret", order="iid"), levels(rows, "T")
        off = max(float(np.abs(pick(rows, "regret", T=T, order="random") - (T + 1) / 2).max()) for T in at)
        measured = f"i.i.d. slope {iid}; in random order (T+1)/2, " + ("exactly" if off == 0 else f"off by {off:.1g}")
        if off > 1e-6 * at[-1] or iid.low > 0.5:
            return Verdict("refuted", measured)
        return Verdict("holds" if iid.high < 0.75 else "inconclusive", measured, "√(T log T) against T")

    def chart(self, rows: Rows) -> Chart:
        """Show the regret in both models."""
        x = np.array(levels(rows, "T"), dtype=np.float64)
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret of the birthday test",
            bands=(
                band(rows, "random order", "T", "regret", order="random"),
                band(rows, "i.i.d. draws", "T", "regret", order="iid"),
            ),
            lines=(Line("2 √T", x, 2 * np.sqrt(x)),),
            alt="In random order the regret grows in proportion to T, with i.i.d. draws like the square root of T.",
        )


@dataclass(frozen=True)
class Repair(Claim):
    """Simulation(BirthdayTest) in random order: regret like sqrt(T)."""

    name: ClassVar[str] = "repair"
    title: ClassVar[str] = "Simulation repairs what random order broke"
    source: ClassVar[str] = "the template (L262-L290)"
    statement: ClassVar[str] = (
        "Trained on its own past in i.i.d. order, the test has regret of order √T in random order."
    )
    meaning: ClassVar[str] = (
        "Past rows can be drawn again, as often as you like, with replacement. So a learner for i.i.d. data can be "
        "trained on them, and what it does there is what to do next on the shuffled list."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Play at doubling horizons."""
        return horizons(full=full)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Play the test alone in both models, and inside Simulation in random order."""
        test = measure(unit, "birthday test", ["iid", "random"], seed)
        return test + measure(unit, "Simulation", ["random"], seed)

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for slope 1/2 and for a constant between 1.4 and 1.9."""
        found = slope(rows, "T", "regret", learner="Simulation")
        at = [T for T in levels(rows, "T") if T >= 2**10]
        ratios = [float(pick(rows, "regret", T=T, learner="Simulation").mean()) / T**0.5 for T in at]
        measured = f"slope {found}; regret / √T between {min(ratios):.2f} and {max(ratios):.2f}"
        if found.low > 0.6 or max(ratios) > 2.5:
            return Verdict("refuted", measured)
        return Verdict("holds" if found.high < 0.65 else "inconclusive", measured, "√T")

    def chart(self, rows: Rows) -> Chart:
        """Show the regret with and without Simulation."""
        x = np.array(levels(rows, "T"), dtype=np.float64)
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="regret of the birthday test",
            bands=(
                band(rows, "shuffled", "T", "regret", learner="birthday test", order="random"),
                band(rows, "shuffled, with Simulation", "T", "regret", learner="Simulation", order="random"),
                band(rows, "i.i.d. draws", "T", "regret", learner="birthday test", order="iid"),
            ),
            lines=(Line("√T", x, np.sqrt(x)),),
            alt="Shuffled, the birthday test has regret T/2; with Simulation it runs parallel to the square root of T.",
        )
