"""Lemma (paper L215): the birthday test fires early on every i.i.d. input, E[tau] <= 2 sqrt(T).

The lemma says so for large T; in fact it holds for every T (erratum 3): the expectation is a finite sum, which
is computed here exactly, and measured by playing the test on i.i.d. draws.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola import bounds, instances, statistics
from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, band, levels, pick
from tombola.learners.full import BirthdayTest
from tombola.playing import play
from tombola.pool import Pool
from tombola.report.chart import Chart, Line
from tombola.streams import repetitions
from tombola.types import Seed


@dataclass(frozen=True)
class Birthday(Claim):
    """E[tau] <= 2 sqrt(T), exactly and as played."""

    name: ClassVar[str] = "birthday"
    title: ClassVar[str] = "The birthday lemma"
    source: ClassVar[str] = "Lemma 1 (L215)"
    statement: ClassVar[str] = "On i.i.d. rows the birthday test fires after at most 2 √T rounds, on average."
    meaning: ClassVar[str] = (
        "Draw from T different rows with replacement, and some row soon comes twice, as with birthdays in a classroom. "
        "A learner can use that to find out whether it is fed i.i.d. draws. A row of a shuffled list comes only once."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Play at a few horizons."""
        return [{"T": 4**i, "plays": 4000 if full else 400} for i in range(2, 8 if full else 7)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Measure the round in which the test fires, in plays of the learner itself."""
        T = unit["T"]
        exact, bound = bounds.birthday_mean(T), bounds.birthday(T)
        taus = (fired(T, child) for child in repetitions(seed, unit["plays"]))
        return [{"T": T, "play": r, "tau": tau, "exact": exact, "bound": bound} for r, tau in enumerate(taus)]

    def verdict(self, rows: Rows) -> Verdict:
        """Compare the exact mean, the measured mean and the bound at every horizon."""
        worst, agree = 0.0, True
        for T in levels(rows, "T"):
            exact, bound = pick(rows, "exact", T=T)[0], pick(rows, "bound", T=T)[0]
            measured = statistics.mean(pick(rows, "tau", T=T), level=1 - 1e-5)
            agree = agree and measured.low <= exact <= measured.high
            worst = max(worst, float(exact / bound))
        words = "agree with it" if agree else "differ from it"
        outcome: Outcome = "holds" if agree and worst <= 1 else "refuted"
        return Verdict(outcome, f"exact mean at most {worst:.2f} of 2 √T; plays {words}", printed="2 √T")

    def chart(self, rows: Rows) -> Chart:
        """Show measured and exact means under the bound."""
        x = np.array(levels(rows, "T"), dtype=np.float64)
        lines = [
            Line(name, x, np.array([pick(rows, column, T=T)[0] for T in x]))
            for name, column in (("2 √T", "bound"), ("exact", "exact"))
        ]
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="round in which the test fires",
            bands=(band(rows, "measured", "T", "tau"),),
            lines=tuple(lines),
            alt="The measured round in which the test fires lies on its exact mean, below 2 √T at every horizon.",
        )


def fired(horizon: int, seed: Seed) -> int:
    """Return the round in which the test fires in one play on i.i.d. rows.

    Action 1 has no loss and the test forgets what it saw, so the play leaves action 0 exactly two rounds after tau.
    That is at most horizon + 3; the same rows four times over leave room for it, and are the same distribution.
    """
    rows = Pool(np.tile(instances.birthday(horizon).losses, (4, 1)))
    trace = play(BirthdayTest(grid=horizon), rows, order="iid", seed=seed)
    return int(np.flatnonzero(trace.actions != 0)[0]) - 1
