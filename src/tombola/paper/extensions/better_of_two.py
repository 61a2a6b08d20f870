"""L4 (docs/theory/lower.md): least factor to the better of two learners.

They are follow the leader and Hedge.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, Seed
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions.coin_game import (
    Paths,
    game_matrix,
    hedge_strategy,
    leader_strategy,
    min_factor,
    shuffled_probability,
    unshuffled_probability,
)
from tombola.paper.pvalues import exact
from tombola.report.chart import Chart

# Below the values of the linear programs, 1.2096 to 1.2142, by more than their error.
_LIMIT = 1.2
# Function that combines the regrets of two learners, each of shape (pools,), pool by pool.
_Rivals = Callable[[Floats, Floats], Floats]


def _smaller_regret(first: Floats, second: Floats) -> Floats:
    """Return the smaller regret, pool by pool."""
    return np.minimum(first, second)


def all_pools(T: int) -> range:
    """Return 0..T, the numbers of all coin pools of T rows.

    In each row of a coin pool one of two actions loses 1; in pool w action 1 loses w of the rows.
    """
    return range(T + 1)


@dataclass(frozen=True)
class BetterOfTwo(Extension, name="better-of-two", expected="holds"):
    """Smallest factor by which any learner exceeds the better of two, per horizon.

    It is the value of a linear program over all learners.

    Fields, which faults replace: rivals (combines the regrets of follow the leader and Hedge, pool by pool), pools
    (numbers of the coin pools of T rows), paths (distribution of the order; see `Paths`).

    Title: No learner is within 1.2 of the better of two
    Source: our L4 (docs/theory/lower.md)
    Statement: With two actions, at T = 20, 40 and 64, every learner has a pool on which its regret in random
        order is more than 1.2 times that of the better one of follow the leader and tuned Hedge.
    Meaning: No learner is nearly best both on lists with a clear winner and on lists without one. AdaHedge,
        measured within 1.36 on 17 real tables, leaves little room for improvement except near exact ties.
    Limits: Passes if the smallest factor, the value of a linear program over all learners, exceeds 1.2 at each of the
        three horizons.
    """

    rivals: _Rivals = _smaller_regret
    pools: Callable[[int], range] = all_pools
    paths: Paths = shuffled_probability

    def units(self, *, full: bool) -> list[Unit]:
        return [{"T": T} for T in (20, 40, 64)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        A, b = game_matrix(T, paths=self.paths)
        kept = list(self.pools(T))
        limits = self.rivals(A @ leader_strategy(T) + b, A @ hedge_strategy(T) + b)
        return [{"T": T, "factor": min_factor(A[kept], b[kept], limits[kept])}]

    def verdict(self, rows: Rows) -> Verdict:
        found = ", ".join(f"{row['factor']:.4f} at T = {row['T']}" for row in sorted(rows, key=lambda row: row["T"]))
        fine = all(row["factor"] > _LIMIT for row in rows)
        return self.verdict_from([exact(fine)], f"least factor {found}", "more than 1.2")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="least factor of any learner",
            bands=(exact_column(rows, "linear program", "T", "factor"),),
            lines=reference_lines(levels(rows, "T"), {"1.2": lambda _: _LIMIT}),
            log_y=False,
            alt="The least factor is above 1.2 at every horizon.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"paths": unshuffled_probability},
            "Hedge is the only rival": {"rivals": lambda _, second: second},
            "the worse of the two": {"rivals": np.maximum},
            "the better action is known": {"pools": lambda T: range(T // 2)},
        }
