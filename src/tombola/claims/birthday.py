"""Lemma (paper L215): the birthday test fires early on every i.i.d. input, E[tau] <= 2 sqrt(T).

The lemma says so for large T; in fact it holds for every T (erratum 4): the expectation is a finite sum, which
is computed here exactly, and measured by playing the test on i.i.d. draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola import bounds, instances
from tombola.claims import chances
from tombola.claims.base import Claim, Measure, Measures, Parts, Ruling, Unit, Verdict, band, levels, pick
from tombola.learners.base import Learner
from tombola.learners.full import BirthdayTest, FollowTheLeader
from tombola.order import OrderLike
from tombola.playing import play
from tombola.pool import Pool
from tombola.report.chart import Chart, Line
from tombola.streams import repetitions
from tombola.types import Seed


@dataclass(frozen=True)
class Birthday(Claim):
    """E[tau] <= 2 sqrt(T), exactly and as played."""

    test: Callable[[int], Learner] = BirthdayTest
    order: OrderLike = "iid"
    mean: Callable[[int], float] = bounds.birthday_mean
    bound: Callable[[int], float] = bounds.birthday

    name: ClassVar[str] = "birthday"
    title: ClassVar[str] = "The birthday lemma"
    source: ClassVar[str] = "Lemma 1 (L215)"
    statement: ClassVar[str] = "On i.i.d. rows the birthday test fires after at most 2 √T rounds, on average."
    meaning: ClassVar[str] = (
        "Draw from T different rows with replacement, and some row soon comes twice, as with birthdays in a classroom. "
        "A learner can use that to find out whether it is fed i.i.d. draws. A row of a shuffled list comes only once."
    )
    expected: ClassVar[Ruling] = "holds"
    limits: ClassVar[str] = (
        "from the theorem: the exact mean, a finite sum, is at most 2 √T; plays must have that mean (Student, two sides)"
    )
    luck: ClassVar[float] = 5e-4
    judging: ClassVar[tuple[str, ...]] = ("mean", "bound")

    def units(self, *, full: bool) -> list[Unit]:
        """Play at a few horizons."""
        return [{"T": 4**i, "plays": 4000 if full else 400} for i in range(2, 8 if full else 7)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Measure]:
        """Measure the round in which the test fires, in plays of the learner itself."""
        T = unit["T"]
        taus = (fired(self.test(T), T, self.order, child) for child in repetitions(seed, unit["plays"]))
        return [{"T": T, "play": r, "tau": tau} for r, tau in enumerate(taus)]

    def verdict(self, rows: Measures) -> Verdict:
        """Compare the exact mean with the bound, and the measured one with it, at every horizon."""
        at = levels(rows, "T")
        worst = max(self.mean(T) / self.bound(T) for T in at)
        agree = [chances.equal(pick(rows, "tau", T=T), self.mean(T)) for T in at]
        words = "differ from it" if self.fails(agree) else "agree with it"
        refuted = self.fails([*agree, chances.exact(worst <= 1)])
        measured = f"exact mean at most {worst:.2f} of 2 √T; plays {words}"
        return Verdict("refuted" if refuted else "holds", measured, printed="2 √T")

    def chart(self, rows: Measures) -> Chart:
        """Show measured and exact means under the bound."""
        at = levels(rows, "T")
        x = np.array(at, dtype=np.float64)
        curves = {"2 √T": self.bound, "exact": self.mean}
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="round in which the test fires",
            bands=(band(rows, "measured", "T", "tau"),),
            lines=tuple(Line(name, x, np.array([curve(T) for T in at])) for name, curve in curves.items()),
            alt="The measured round in which the test fires lies on its exact mean, below 2 √T at every horizon.",
        )

    def saboteurs(self) -> dict[str, Parts]:
        """Break the test, the draws, the mean and the bound."""
        return {
            "no test": {"test": lambda _: FollowTheLeader()},
            "a grid with one point less": {"test": lambda T: BirthdayTest(T - 1)},
            "no draws: rows as listed": {"order": "given"},
            "draws without replacement": {"order": "random"},
            "the mean as printed": {"mean": lambda T: self.mean(T) - 1},
            "the bound 1.25 √T": {"bound": lambda T: 1.25 * T**0.5},
        }


def fired(learner: Learner, horizon: int, order: OrderLike, seed: Seed) -> int:
    """Return the round in which the test fires in one play on i.i.d. rows.

    Action 1 has no loss and the test forgets what it saw, so the play leaves action 0 exactly two rounds after tau.
    That is at most horizon + 3; the same rows four times over leave room for it, and are the same distribution.
    """
    rows = Pool(np.tile(instances.birthday(horizon).losses, (4, 1)))
    trace = play(learner, rows, order=order, seed=seed)
    return int(np.argmax(trace.actions != 0)) - 1
