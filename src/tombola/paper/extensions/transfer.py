"""Lemmas 1 and 2 (docs/theory/transfer.md): deviations and drift in random order.

Means deviate as rarely as on i.i.d. rows, and the drift of a learner (its losses minus the means of
its actions) is bounded.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tombola import bounds
from tombola._play import play
from tombola._types import Seed
from tombola.learners import (
    UCB1,
    UCB2,
    FixedAction,
    FollowTheLeader,
    FrugalUCB,
    SuccessiveElimination,
)
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import exact_band, exact_column, reference_lines
from tombola.paper.extensions import Orders, all_orders, as_listed, distinct_lists
from tombola.paper.pvalues import ROUNDING, exact
from tombola.paper.rows import Row, Rows, levels, select
from tombola.pool import Pool
from tombola.report.chart import Chart

# Probability of a late deviation, or its bound, as a function of rows, ones, least and level; see
# `_deviation_probability`.
_Probability = Callable[[int, int, int, float], float]


def _deviation_probability(rows: int, ones: int, least: int, level: float) -> float:
    """Return the exact P(some mean of the first n >= `least` entries is >= `level`).

    The entries are in random order.

    rows, ones: entries of a 0/1 column, and ones among them.
    """
    below = {0: 1.0}
    reached = []
    for n in range(1, rows + 1):
        step: dict[int, float] = {}
        for s, probability in below.items():
            probability_of_one = (ones - s) / (rows - n + 1)
            for total, share in ((s + 1, probability_of_one), (s, 1 - probability_of_one)):
                if n >= least and total >= level * n - ROUNDING:
                    reached.append(probability * share)
                elif share > 0:
                    step[total] = step.get(total, 0.0) + probability * share
        below = step
    return math.fsum(reached)


def _chernoff(rows: int, ones: int, least: int, level: float) -> float:
    """Return the bound of Lemma 1: exp(-m kl(y, mean)), with m = `least`, y = `level`."""
    p, q = level, ones / rows
    first = p * math.log(p / q) if p > 0 else 0.0
    return math.exp(-least * (first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)))


class Deviations(Extension, name="deviations", expected="holds", verdict_only=("bound",)):
    """Probability of a late deviation of the mean over its bound, all 0/1 columns.

    Title: Deviations are as on i.i.d. rows
    Source: our Lemma 1 (docs/theory/transfer.md)
    Statement: In a shuffled column with mean μ, some mean of the first n ≥ m entries is at least y
        > μ with probability at most exp(−m kl(y, μ)), where kl is the Kullback-Leibler divergence
        of two coins; it is the bound for fresh samples at n = m alone.
    Meaning: Confidence bounds for fresh samples hold for the rows seen of a shuffled list, with the
        same constants, although its rows are not independent.
    Limits: Passes if the exact probability is at most the bound, for every column of 6, 12 and 30
        losses 0 or 1, several m and several y. The bound is attained in some cases.
    Alt: The exact probability stays below the bound for every number of ones.
    """

    probability: _Probability = component(_deviation_probability)
    bound: _Probability = component(_chernoff)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(N=(6, 12, 30, 60) if full else (6, 12, 30))

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        N = unit["N"]
        times = sorted({max(1, round(N * share)) for share in (0.02, 0.2, 0.5, 0.9)})
        for ones, least in itertools.product(range(1, N), times):
            for step in (0.1, 0.4, 0.7, 1.0):
                level = ones / N + step * (1 - ones / N)
                probability = self.probability(N, ones, least, level)
                yield {"N": N, "ones": ones, "m": least, "y": level, "probability": probability}

    def verdict(self, rows: Rows) -> Verdict:
        shares = [
            row["probability"] / self.bound(row["N"], row["ones"], row["m"], row["y"])
            for row in rows
        ]
        measured = f"at most {max(shares):.4f} of the bound in {len(rows)} exact cases"
        return self.verdict_from([exact(max(shares) <= 1 + ROUNDING)], measured, "exp(−m kl(y, μ))")

    def chart(self, rows: Rows) -> Chart:
        N = max(levels(rows, "N"))
        least = levels(rows, "m", N=N)[1]
        mine = [row for row in rows if (row["N"], row["m"]) == (N, least)][1::4]
        limits = {row["ones"]: _chernoff(N, row["ones"], least, row["y"]) for row in mine}
        bands = [exact_column(mine, "exact probability", "ones", "probability")]
        lines = reference_lines(list(limits), {"exp(−m kl)": limits.__getitem__})
        label = f"probability of a deviation after {least} rows or later"
        return self.make_chart(label, bands, lines, x_label=f"ones among {N} rows", log="y")

    def faults(self) -> dict[str, Overrides]:
        def ones_first(rows: int, ones: int, least: int, level: float) -> float:
            return float(any(min(n, ones) >= level * n - ROUNDING for n in range(least, rows + 1)))

        return {
            "no shuffle": {"probability": ones_first},
            "exponent too large by a tenth": {"bound": lambda *at: _chernoff(*at) ** 1.1},
            "bound divided by 2": {"bound": lambda *at: _chernoff(*at) / 2},
        }


_LEARNERS: dict[str, Learner] = {
    "UCB1": UCB1(),
    "UCB2": UCB2(),
    "SuccessiveElimination": SuccessiveElimination(),
    "FrugalUCB": FrugalUCB(price=0.0),
    "follow the leader": FollowTheLeader(),
}
_POOLS: dict[str, list[list[float]]] = {
    "in turn": [[1.0, 0.0], [0.0, 1.0]] * 3,
    "referee": [[0.7, 1.0]] * 3 + [[0.3, 0.0]] * 2,
    "three": [[0.0, 1.0, 0.5]] * 3 + [[1.0, 0.0, 0.5]] * 3,
}


class Drift(Extension, name="drift", expected="holds", verdict_only=("allowed",)):
    """Drift of learners, averaged over all orders of small pools, against its bound.

    Drift is the loss of the actions played minus the sum of their mean losses in the pool.

    Title: The drift of random order
    Source: our Lemma 2 (docs/theory/transfer.md)
    Statement: For every learner in random order, regret = Σ gap × plays + drift, where the gap is
        the excess mean loss of an action; the drift is at most ((π/2) √T + 1.31) √(ln k / 2), or
        (π/4) √T for two actions.
    Meaning: A proof that counts the plays of bad actions on fresh samples holds for a shuffled list
        too, plus the drift, because the remaining rows differ from those seen.
    Limits: Passes if the drift, averaged over all orders of three pools of 5 and 6 rows, is at most
        the bound for every learner, and positive for some.
    Alt: Every drift is below the bound; some are above 0, and some below.
    """

    learners: Mapping[str, Learner] = component(_LEARNERS)
    orders: Orders = component(all_orders)
    allowed: Callable[[int, int], float] = component(bounds.drift)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(learner=_LEARNERS, pool=_POOLS)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        learner = self.learners[unit["learner"]]
        losses = np.array(_POOLS[unit["pool"]])
        means = losses.mean(axis=0)
        regret = 0.0
        gaps = 0.0
        orders = distinct_lists(losses, self.orders)
        for order in orders:
            trace = play(learner, Pool(order), order="given", seed=seed)
            regret += float(trace.losses.sum() - losses.sum(axis=0).min())
            gaps += float((means[trace.actions] - means.min()).sum())
        T, k = losses.shape
        return [
            {**unit, "T": T, "k": k, "regret": regret / len(orders), "gaps": gaps / len(orders)}
        ]

    def verdict(self, rows: Rows) -> Verdict:
        drifts = [row["regret"] - row["gaps"] for row in rows]
        limits = [max(self.allowed(row["T"], row["k"]), ROUNDING) for row in rows]
        shares = [drift / limit for drift, limit in zip(drifts, limits, strict=True)]
        measured = (
            f"drift from {min(drifts):.3f} to {max(drifts):.3f}, at most "
            f"{max(shares):.2f} of its bound"
        )
        fine = max(shares) <= 1 + ROUNDING and max(drifts) > ROUNDING
        return self.verdict_from([exact(fine)], measured, "(π/4) √T for two actions")

    def chart(self, rows: Rows) -> Chart:
        x = range(1, len(rows) + 1)
        bands = [
            exact_band(
                "drift",
                np.array(x, dtype=np.float64),
                select(rows, "regret") - select(rows, "gaps"),
            )
        ]
        lines = reference_lines(
            x, {"bound": lambda i: bounds.drift(rows[i - 1]["T"], rows[i - 1]["k"])}
        )
        return self.make_chart(
            "drift, exact", bands, lines, x_label="learner and pool, by number", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "drift left out": {"allowed": lambda *_: 0.0},
            "a tenth of the drift": {"allowed": lambda T, k: bounds.drift(T, k) / 10},
            "nothing is learned": {"learners": dict.fromkeys(_LEARNERS, FixedAction(1))},
        }
