"""L3 (docs/theory/lower.md): the least cost of a delay for any learner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tombola._play import play
from tombola._types import Seed
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions.coin_game import game_matrix, min_factor, minimax_regret
from tombola.paper.extensions.delay_shift import LEARNERS, one_early
from tombola.paper.pvalues import exact
from tombola.pool import Pool
from tombola.report.chart import Chart


@dataclass(frozen=True)
class DelayFloor(Extension, name="delay-floor", expected="holds"):
    """Smallest regret that a delay causes, against its lower bound.

    Learners play pools in which one action never loses; the best learner is that of a linear program.

    Fields, which faults replace: learners (learners under test, by name), played_delay (delay of the plays as a
    function of d), counted_delay (delay in the linear program as a function of d).

    Title: The least cost of a delay
    Source: our L3 (docs/theory/lower.md)
    Statement: With delay d and k actions every learner has a pool with regret at least (d + 1)(1 − 1/k); the least
        worst-case regret with two actions is between max(V, (d+1)/2) and V + d/2, where V is the least one without
        delay.
    Meaning: Before the first feedback no learner has any information. The cost d (1 − 1/k) of a delay in our bounds
        cannot be lowered.
    Limits: Passes if, computed exactly, the mean regret of each learner over the choice of the best action is at least
        (d + 1)(1 − 1/k), for d = 0 to 20 and k = 2 and 5, and the value of the linear program is between the two bounds
        for two actions, within 1e-6.
    """

    learners: Mapping[str, Learner] = field(default_factory=lambda: LEARNERS)
    played_delay: Callable[[int], int] = unchanged
    counted_delay: Callable[[int], int] = unchanged

    def units(self, *, full: bool) -> list[Unit]:
        constant: list[Unit] = [{"learner": name, "k": k} for name in LEARNERS for k in (2, 5)]
        return [*constant, {"learner": "any", "k": 2, "T": 40 if full else 20}]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        k = unit["k"]
        if unit["learner"] == "any":
            T = unit["T"]
            found: list[Row] = []
            for d in (0, 1, 3, 6):
                value = min_factor(*game_matrix(T, self.counted_delay(d)), np.ones(T + 1))
                high = minimax_regret(T) + d / 2
                found.append(
                    {**unit, "d": d, "regret": value, "floor": max(minimax_regret(T), (d + 1) / 2), "high": high}
                )
            return found
        learner, T = self.learners[unit["learner"]], 40
        rows: list[Row] = []
        for d in (0, 1, 5, 20):
            regrets = []
            for best in range(k):
                losses = np.ones((T, k))
                losses[:, best] = 0.0
                trace = play(learner, Pool(losses), delay=self.played_delay(d), seed=seed)
                regrets.append(float(trace.expected_losses.sum()))
            floor = (d + 1) * (1 - 1 / k)
            rows.append({**unit, "T": T, "d": d, "regret": float(np.mean(regrets)), "floor": floor, "high": float(T)})
        return rows

    def verdict(self, rows: Rows) -> Verdict:
        low = min(row["regret"] - row["floor"] for row in rows)
        high = max(row["regret"] - row["high"] for row in rows)
        game_rows = [row for row in rows if row["learner"] == "any"]
        values = ", ".join(f"{row['regret']:.2f} at d = {row['d']}" for row in sorted(game_rows, key=lambda r: r["d"]))
        measured = f"never below the floor (least margin {low:.1e}); best learner {values}"
        fine = low >= -1e-6 and high <= 1e-6 and bool(game_rows)
        return self.verdict_from([exact(fine)], measured, "(d + 1)(1 − 1/k)")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="delay d",
            y_label="mean regret over which action is best",
            bands=tuple(exact_column(rows, name, "d", "regret", learner=name, k=2) for name in LEARNERS),
            lines=reference_lines(levels(rows, "d", learner="Hedge"), {"(d + 1) / 2": lambda d: (d + 1) / 2}),
            log_x=False,
            log_y=False,
            alt="Every learner is on or above the line (d + 1) / 2.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "feedback one round early": {"played_delay": one_early},
            "no delay at all": {"played_delay": lambda _: 0},
            "delay left out of the game": {"counted_delay": lambda _: 0},
            "delay counted thrice": {"counted_delay": lambda d: 3 * d},
        }
