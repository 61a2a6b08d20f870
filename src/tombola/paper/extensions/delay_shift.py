"""Theorem 3 (docs/theory/delay.md): in random order a delay is a shift.

It is checked on all orders of small pools.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tombola._play import play
from tombola._types import Floats, Seed
from tombola.learners import AdaHedge, FollowTheLeader, Hedge, HedgeAnytime, Interleaved
from tombola.learners.base import Learner
from tombola.paper.base import (
    Extension,
    Orders,
    Overrides,
    Row,
    Rows,
    Unit,
    Verdict,
    all_orders,
    as_listed,
    component,
    distinct_lists,
    levels,
    unchanged,
)
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.pvalues import ROUNDING, exact
from tombola.pool import Pool
from tombola.report.chart import Chart

# Learners of the claims on delay, by name: their mix depends on the revealed rows only.
LEARNERS: dict[str, Learner] = {
    "follow the leader": FollowTheLeader(),
    "Hedge": Hedge(),
    "Hedge, any time": HedgeAnytime(),
    "AdaHedge": AdaHedge(),
}
# Pools of the claim, by name.
_POOLS: dict[str, list[list[float]]] = {
    "one is best": [[0.0, 1.0, 1.0]] * 6,
    "turns": [[0.0, 1.0, 0.5]] * 3 + [[1.0, 0.0, 0.5]] * 2,
    "mixed": [[0.3, 0.1, 0.9], [0.8, 0.2, 0.4], [0.0, 1.0, 0.5], [0.6, 0.6, 0.1]],
}


def one_early(delay: int) -> int:
    """Return the delay minus one round, at least 0.

    It is the fault "feedback one round early" of claims on delay.
    """
    return max(0, delay - 1)


@dataclass(frozen=True)
class DelayShift(Extension, name="delay-shift", expected="holds", verdict_only=("counted_delay",)):
    """Regret with delay against the shifted sum of the rounds without delay.

    All orders of three pools of 4 to 6 rows and 3 actions are played, with every delay up to the number of rows.

    Fields, which faults replace: learners (name -> learner under test), orders (function from the number of rows to the
    orders to average over), played_delay and counted_delay (functions from d to the delay of the plays, and to the
    delay in the bound).

    Title: Delay is a shift
    Source: our Theorem 3 (docs/theory/delay.md)
    Statement: In random order, for every learner whose mix depends on the revealed rows only: a delay d repeats
        the first mix d times and leaves out the last d mixes, so Hedge has regret at most √(T ln k / 2) + d (1 −
        1/k).
    Meaning: With delayed feedback on a shuffled list, use the same learner as without delay, and do not tune it to the
        delay. The delay costs d times the regret of the first round, once.
    Limits: Passes if the expected regret with delay d equals the shifted sum within 1e-9, and is at most the bound of
        the learner.
    """

    learners: Mapping[str, Learner] = component(LEARNERS)
    orders: Orders = component(all_orders)
    played_delay: Callable[[int], int] = component(unchanged)
    counted_delay: Callable[[int], int] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"learner": name, "pool": pool} for name in LEARNERS for pool in _POOLS]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        learner = self.learners[unit["learner"]]
        losses = np.array(_POOLS[unit["pool"]])
        T, k = losses.shape
        parts = self._rounds(learner, losses, 0, seed)
        found: list[Row] = []
        for d in range(T + 1):
            regret = float(self._rounds(learner, losses, self.played_delay(d), seed).sum())
            shifted = float(min(d, T) * parts[0] + parts[: max(0, T - d)].sum())
            found.append({**unit, "T": T, "k": k, "d": d, "regret": regret, "shifted": shifted})
        return found

    def _rounds(self, learner: Learner, losses: Floats, delay: int, seed: Seed) -> Floats:
        """Return the expected regret of every round, averaged over the orders."""
        best = int(losses.sum(axis=0).argmin())
        orders = distinct_lists(losses, self.orders)
        rounds = np.zeros(len(losses))
        for order in orders:
            rows = np.array(order)
            rounds += play(learner, Pool(rows), order="given", delay=delay, seed=seed).expected_losses - rows[:, best]
        return rounds / len(orders)

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["regret"] - row["shifted"]) for row in rows)
        shares = []
        for row in rows:
            bound = LEARNERS[row["learner"]].bound(row["k"], row["T"], self.counted_delay(row["d"]))
            shares.append(row["regret"] / (bound or 1))
        measured = f"identity off by at most {off:.0e} in {len(rows)} cases; at most {max(shares):.2f} of the bound"
        words = "R(d) = d φ(0) + φ(0) + … + φ(T−1−d)"
        return self.verdict_from([exact(off < ROUNDING), exact(max(shares) <= 1 + ROUNDING)], measured, words)

    def chart(self, rows: Rows) -> Chart:
        pool = rows[0]["pool"]
        names = [name for name in LEARNERS if any(row["learner"] == name for row in rows)]
        return Chart(
            title=f"{self.title}: pool '{pool}'",
            x_label="delay d",
            y_label="expected regret, exact",
            bands=tuple(exact_column(rows, name, "d", "regret", learner=name, pool=pool) for name in names),
            lines=reference_lines(levels(rows, "d", pool=pool), {"d (1 − 1/k)": lambda d: d * (1 - 1 / rows[0]["k"])}),
            log_x=False,
            log_y=False,
            alt="Each round of delay adds at most the regret of the first round.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "feedback one round early": {"played_delay": one_early},
            "mixes that depend on the clock": {"learners": {name: Interleaved(Hedge(), delay=2) for name in LEARNERS}},
            "delay left out of the bound": {"counted_delay": lambda _: 0},
        }
