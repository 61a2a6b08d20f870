"""L1 and L2 (docs/theory/lower.md): minimax regret in random order.

Also the regret of our learners.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tombola._types import Seed
from tombola.exact import worst_case, worst_pool
from tombola.learners import AdaHedge, FollowTheLeader, Hedge, HedgeAnytime
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions.better_of_two import all_pools
from tombola.paper.extensions.coin_game import game_matrix, min_factor, minimax_regret
from tombola.paper.pvalues import ROUNDING, exact
from tombola.report.chart import Chart

# Rows of a coin pool.
_KINDS = [[0.0, 1.0], [1.0, 0.0]]
# Learners of the claim, by name.
_LEARNERS: dict[str, Learner] = {
    "follow the leader": FollowTheLeader(),
    "Hedge": Hedge(),
    "Hedge, any time": HedgeAnytime(),
    "AdaHedge": AdaHedge(),
}


def _in_random_order(learner: Learner, T: int) -> float:
    """Return the largest expected regret over all coin pools in random order."""
    return worst_pool(learner, _KINDS, T)[0]


def _worst_order_regret(learner: Learner, T: int) -> float:
    """Return the largest regret of a learner over all lists of T coin rows.

    The order is the worst one.
    """
    return worst_case(learner, _KINDS, T).adversarial


@dataclass(frozen=True)
class Minimax(Extension, name="minimax", expected="holds", verdict_only=("bound",)):
    """Smallest worst-case regret of any learner, by linear program and formula.

    The worst-case regrets of our learners are compared with it. In a coin pool each row is a loss of 1 for exactly one
    of two actions; pool w has w losses of action 1.

    Fields, which faults replace: pools (numbers of the coin pools of T rows), worst (worst regret of a learner in T
    rounds), bound (function of the proved bound that returns the limit of the verdict), learners (learners under test,
    by name).

    Title: Minimax regret
    Source: our L1 and L2 (docs/theory/lower.md); Cover 1965
    Statement: With two actions and full information the best worst-case regret in random order is T C(T−1,
        ⌊(T−1)/2⌋) / 2^T, about 0.4 √T, the same as in the worst order; our learners are between it and their
        bounds.
    Meaning: Random order does not lower the minimax regret of two equal actions. The bounds of Hedge and similar
        learners cannot be improved by more than a small factor.
    Limits: Passes if the value of the linear program equals Cover's formula (in the statement) within 1e-6, and the
        exact worst regret of each learner is at least that value and at most the proved bound of the learner.
    """

    pools: Callable[[int], range] = all_pools
    worst: Callable[[Learner, int], float] = _in_random_order
    bound: Callable[[float], float] = unchanged
    learners: Mapping[str, Learner] = field(default_factory=lambda: _LEARNERS)

    def units(self, *, full: bool) -> list[Unit]:
        games: list[Unit] = [{"T": T, "learner": "any"} for T in ((8, 20, 40, 64) if full else (8, 20, 40))]
        return games + [{"T": T, "learner": name} for T in (6, 14) for name in _LEARNERS]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        if unit["learner"] != "any":
            learner = self.learners[unit["learner"]]
            return [{**unit, "regret": self.worst(learner, T), "floor": minimax_regret(T)}]
        A, b = game_matrix(T)
        kept = list(self.pools(T))
        return [{**unit, "regret": min_factor(A[kept], b[kept], np.ones(len(kept))), "floor": minimax_regret(T)}]

    def verdict(self, rows: Rows) -> Verdict:
        games = [row for row in rows if row["learner"] == "any"]
        played = [row for row in rows if row["learner"] != "any"]
        off = max(abs(row["regret"] - row["floor"]) for row in games)
        low = min(row["regret"] / row["floor"] for row in played)
        high = max(row["regret"] / self.bound(_LEARNERS[row["learner"]].bound(2, row["T"]) or 0.0) for row in played)
        measured = f"formula off by at most {off:.0e}; learners at least {low:.3f} of it, at most {high:.2f} of bounds"
        fine = off < 1e-6 and low >= 1 - ROUNDING and high <= 1 + ROUNDING
        return self.verdict_from([exact(fine)], measured, "T C(T−1, ⌊(T−1)/2⌋) / 2^T")

    def chart(self, rows: Rows) -> Chart:
        names = {"any": "best of all learners"} | {name: name for name in _LEARNERS}
        return Chart(
            title=self.title,
            x_label="rows of the pool, T",
            y_label="worst expected regret, exact",
            bands=tuple(exact_column(rows, words, "T", "regret", learner=name) for name, words in names.items()),
            lines=reference_lines(
                levels(rows, "T", learner="any"), {"0.399 √T": lambda T: math.sqrt(T / (2 * math.pi))}
            ),
            alt="The value of the game is on the line 0.399 √T, and every learner is above it.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"worst": _worst_order_regret},
            "bound divided by 2": {"bound": lambda bound: bound / 2},
            "the better action is known": {"pools": lambda T: range(T // 2)},
            "hardly any learning": {"learners": dict.fromkeys(_LEARNERS, Hedge(rate=1e-6))},
        }
