"""L4 (docs/theory/lower.md): how near to the better one of follow the leader and Hedge any learner can be."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, Seed
from tombola.paper.base import Measure, Measures, Parts, Unit, Verdict, levels
from tombola.paper.curves import exactly, lines
from tombola.paper.extensions.base import Beyond
from tombola.paper.extensions.coin_game import Paths, game, hedge, leader, least, listed, shuffled
from tombola.paper.pvalues import exact
from tombola.report.chart import Chart

LIMIT = 1.2
Rivals = Callable[[Floats, Floats], Floats]


def better(first: Floats, second: Floats) -> Floats:
    """Return the smaller regret, pool by pool."""
    return np.minimum(first, second)


def everyone(T: int) -> range:
    """Return all pools."""
    return range(T + 1)


@dataclass(frozen=True)
class BetterOfTwo(Beyond, name="better-of-two", expected="holds"):
    """The value of the linear program, one horizon after the other.

    Title: No learner is within 1.2 of the better of two
    Source: our L4 (docs/theory/lower.md)
    Statement: With two actions, at T = 20, 40 and 64, every learner has a pool on which its regret in random
        order is more than 1.2 times that of the better one of follow the leader and tuned Hedge.
    Meaning: One learner cannot be nearly best on lists with a clear winner and on lists without one. AdaHedge
        with kappa = 1.5, measured within 1.4 but near exact ties, leaves little to be gained.
    Limits: 1.2, against the exact value of a linear program over all learners
    """

    rivals: Rivals = better
    pools: Callable[[int], range] = everyone
    paths: Paths = shuffled

    def units(self, *, full: bool) -> list[Unit]:
        """Solve for several horizons."""
        return [{"T": T} for T in (20, 40, 64)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Measure]:
        """Solve the program."""
        T = unit["T"]
        A, b = game(T, paths=self.paths)
        kept = list(self.pools(T))
        limits = self.rivals(A @ leader(T) + b, A @ hedge(T) + b)
        return [{"T": T, "factor": least(A[kept], b[kept], limits[kept])}]

    def verdict(self, rows: Measures) -> Verdict:
        """Ask for a factor above 1.2 at every horizon."""
        found = ", ".join(f"{row['factor']:.4f} at T = {row['T']}" for row in sorted(rows, key=lambda row: row["T"]))
        fine = all(row["factor"] > LIMIT for row in rows)
        return self.judged([exact(fine)], f"least factor {found}", "more than 1.2")

    def chart(self, rows: Measures) -> Chart:
        """Show the factor over the horizon."""
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="least factor of any learner",
            bands=(exactly(rows, "linear program", "T", "factor"),),
            lines=lines(levels(rows, "T"), {"1.2": lambda _: LIMIT}),
            log_y=False,
            alt="The least factor is above 1.2 at every horizon.",
        )

    def faults(self) -> dict[str, Parts]:
        """No shuffle, one rival only, the worse of the two, and a better action that is known."""
        return {
            "no shuffle": {"paths": listed},
            "Hedge is the only rival": {"rivals": lambda _, second: second},
            "the worse of the two": {"rivals": np.maximum},
            "the better action is known": {"pools": lambda T: range(T // 2)},
        }
