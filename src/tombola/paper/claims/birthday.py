"""Lemma 3.1 (L215): the birthday test stops early on i.i.d. input, E[tau] <= 2 sqrt(T).

The lemma is stated for large T and holds for every T (erratum 4). The expectation is a finite sum, computed exactly
here, and estimated by playing the test on i.i.d. draws.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola import bounds, instances
from tombola._play import play
from tombola._types import Seed
from tombola.learners import BirthdayTest, FollowTheLeader
from tombola.learners.base import Learner
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, levels, select
from tombola.paper.curves import mean_band, reference_lines
from tombola.pool import Pool
from tombola.report.chart import Chart
from tombola.rng import repetition_seeds


@dataclass(frozen=True)
class Birthday(Claim, name="birthday", expected="holds", alpha=5e-4, verdict_only=("mean", "bound")):
    """E[tau] <= 2 sqrt(T), exact and measured.

    Title: The birthday lemma
    Source: Lemma 3.1 (L215)
    Statement: On i.i.d. rows the birthday test stops after at most 2 √T rounds, on average.
    Meaning: Draw from T different rows with replacement, and some row soon repeats, like birthdays in a classroom.
        A learner can use this to detect i.i.d. draws. In a shuffled list every row comes once.
    Limits: from the theorem: the exact mean, a finite sum, is at most 2 √T; plays must have that mean (Student,
        two sides)
    """

    test: Callable[[int], Learner] = BirthdayTest
    order: OrderLike = "iid"
    mean: Callable[[int], float] = bounds.birthday_mean
    bound: Callable[[int], float] = bounds.birthday

    def units(self, *, full: bool) -> list[Unit]:
        return [{"T": 4**i, "plays": 4000 if full else 400} for i in range(2, 8 if full else 7)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        rows = repeated_pool(T)
        taus = (
            stopping_round(self.test(T), rows, self.order, child) for child in repetition_seeds(seed, unit["plays"])
        )
        return [{"T": T, "play": r, "tau": tau} for r, tau in enumerate(taus)]

    def verdict(self, rows: Rows) -> Verdict:
        at = levels(rows, "T")
        worst = max(self.mean(T) / self.bound(T) for T in at)
        agree = [pvalues.mean_equals(select(rows, "tau", T=T), self.mean(T)) for T in at]
        words = "differ from it" if self.any_rejected(agree) else "agree with it"
        measured = f"exact mean at most {worst:.2f} of 2 √T; plays {words}"
        return self.verdict_from([*agree, pvalues.exact(worst <= 1)], measured, "2 √T")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="round in which the test stops",
            bands=(mean_band(rows, "measured", "T", "tau"),),
            lines=reference_lines(levels(rows, "T"), {"2 √T": self.bound, "exact": self.mean}),
            alt="The measured round in which the test stops lies on its exact mean, below 2 √T at every horizon.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no test": {"test": lambda _: FollowTheLeader()},
            "a grid with one point less": {"test": lambda T: BirthdayTest(T - 1)},
            "no draws: rows as listed": {"order": "given"},
            "draws without replacement": {"order": "random"},
            "the mean as printed": {"mean": lambda T: self.mean(T) - 1},
            "the bound 1.25 √T": {"bound": lambda T: 1.25 * T**0.5},
        }


def repeated_pool(T: int) -> Pool:
    """Return the birthday pool four times over: the same distribution, and enough rounds to stop.

    >>> repeated_pool(2).losses[:, 0].tolist()
    [0.5, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5, 1.0]
    """
    return Pool(np.tile(instances.birthday(T).losses, (4, 1)))


def stopping_round(learner: Learner, rows: Pool, order: OrderLike, seed: Seed) -> int:
    """Return tau, the round in which the test stops, in one play on i.i.d. rows.

    Action 1 has no loss and the test restarts from scratch, so the play leaves action 0 exactly two rounds after tau,
    which is at most T + 3.
    """
    trace = play(learner, rows, order=order, seed=seed)
    return int(np.argmax(trace.actions != 0)) - 1
