"""Corollary 4.4 (L421): regret O(sqrt(T log T) + d log T) with delay d.

Two other learners have smaller bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tombola import bounds
from tombola._types import Seed
from tombola.learners import Uniform
from tombola.order import OrderLike
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, levels, select, slope
from tombola.paper.claims.delay_theorem import (
    BOUND_TOO_SMALL,
    LEARNERS,
    Learners,
    bound_checks,
    bound_formula_checks,
    bound_of,
    play_learners,
)
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.source_faults import SourceFault
from tombola.report.chart import Chart

# Regret bound as printed and as corrected, for the verdict.
_WORDS = ("O(√(T log T) + d log T)", "d + π √(2 T log k) by following the leader")


def _default_learners() -> Learners:
    """Return three learners for delayed feedback, as functions of the delay."""
    return {name: LEARNERS[name] for name in ("Simulation", "Simulation, not waiting", "follow the leader")}


@dataclass(frozen=True)
class DelayCorollary(Claim, name="delay-corollary", expected="holds", alpha=5e-4, verdict_only=("bound",)):
    """Regret with delay d: Simulation, Simulation without waiting, follow the leader.

    Two actions: a pool in which they differ clearly with d = 1 to 1,000, and one in which they differ by 1/√T with d =
    16 and T = 256 to 16,384.

    Fields, which faults replace: learners (functions from d to the learner under test, by name), order (order of the
    rows), played_delay (delay of the plays as a function of d), bound (limit of the mean regret, by name of the
    learner, T, k and d).

    Title: Three ways to handle delayed feedback
    Source: Corollary 4.4 (L421)
    Statement: Some learner has regret O(√(T log T) + d log T) in random order with feedback d rounds late.
    Meaning: Waiting for feedback before each block is not needed: learn from the feedback that has arrived. Following
        the leader on it has regret at most d + π √(2 T log k), without the logarithm and without knowing d.
    Limits: Passes if the mean regret of each learner is at most its own bound and at most the printed one (t-test); if
        each bound equals the plain sum of its terms, which is checked because the bounds are 2.5 to 10 times the
        regrets; and if, where the actions differ by 1/√T, the regret grows in T at most as fast as √(T ln T)
        (regression of logarithms).
    """

    learners: Learners = field(default_factory=_default_learners)
    order: OrderLike = "random"
    played_delay: Callable[[int], int] = int
    bound: Callable[[str, int, int, int], float] = bound_of

    def units(self, *, full: bool) -> list[Unit]:
        top, plays = (18, 100) if full else (14, 40)
        delays = [{"pool": "split", "T": 2**top, "d": d, "plays": plays} for d in (1, 10, 100, 1000)]
        return delays + [{"pool": "hard", "T": 2**i, "d": 16, "plays": plays} for i in range(8, top + 1)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        return play_learners(unit, self.learners, self.order, self.played_delay, seed)

    def verdict(self, rows: Rows) -> Verdict:
        below, corrected = bound_checks(rows, self.bound)
        as_printed, printed = bound_checks(rows, lambda _, *size: bounds.simulation_printed(*size))
        at = levels(rows, "T", pool="hard")
        rate = [(T * np.log(T)) ** 0.5 for T in at]
        hard = {name: [select(rows, "regret", pool="hard", learner=name, T=T) for T in at] for name in self.learners}
        flat = [pvalues.slope_at_most(at, regrets, rate) for regrets in hard.values()]
        slopes = ", ".join(f"{slope(rows, 'T', 'regret', pool='hard', learner=name).value:.2f}" for name in hard)
        measured = f"at most {corrected:.2f} of their bounds, {printed:.2f} of the printed one; slopes in T {slopes}"
        return self.verdict_from(
            [*below, *as_printed, *flat, *bound_formula_checks(rows, self.bound)], measured, *_WORDS
        )

    def chart(self, rows: Rows) -> Chart:
        chosen = [row for row in rows if row["pool"] == "split"]
        T = levels(chosen, "T")[0]
        curves: dict[str, Callable[[int], float]] = {
            "printed bound": lambda d: bounds.simulation_printed(T, 2, d),
            "bound of Simulation": lambda d: self.bound("Simulation", T, 2, d),
            "bound of the leader": lambda d: self.bound("follow the leader", T, 2, d),
        }
        return Chart(
            title=self.title,
            x_label=f"delay d, in rounds (T = {T:,} rows)",
            y_label="regret in random order",
            bands=tuple(mean_band(chosen, name, "d", "regret", learner=name) for name in self.learners),
            lines=reference_lines(levels(chosen, "d"), curves),
            alt="Simulation pays for every wait; not waiting, or following the leader, pays far less; all are below "
            "their bounds.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"order": "given"},
            "feedback that never comes": {"played_delay": lambda _: 10**6},
            "a leader that does not learn": {"learners": {**self.learners, "follow the leader": lambda _: Uniform()}},
            "Simulation that does not learn": {"learners": {**self.learners, "Simulation": lambda _: Uniform()}},
            "a twentieth of the bounds": {"bound": lambda *setting: self.bound(*setting) / 20},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        leader = "bounds.full_information:follow_the_leader"
        return {
            "bound of Simulation / 1.6": BOUND_TOO_SMALL,
            "bound of the leader / 1.6": SourceFault(leader, "capped(min(", "capped(0.625 * min("),
        }
