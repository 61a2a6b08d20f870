"""Offline algorithms in random order (docs/theory/batch_to_online.md)."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from tombola._types import Floats, Seed
from tombola.lab.batch import BatchToOnline, Ridge
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.extensions import Orders, all_orders, as_listed
from tombola.paper.pvalues import ROUNDING, exact, growth
from tombola.paper.rows import Row, Rows, levels, select
from tombola.report.chart import Chart

# Penalty of the ridge regression in all units.
_PENALTY = 0.5
# Rows of the lists whose orders and subsets are all enumerated.
_SMALL = 6


def _make_list(rows: int, noise: float, seed: Seed) -> Floats:
    """Return inputs in [0, 1]^2 with a linear target, sorted by the first input."""
    generator = np.random.default_rng(seed)
    inputs = generator.random((rows, 2))
    target = inputs @ np.array([0.6, 0.3]) + noise * (generator.random(rows) - 0.5)
    table = np.column_stack([inputs, target])
    return table[np.argsort(table[:, 0])]


class OfflineToOnline(Extension, name="batch-to-online", expected="holds", alpha=1e-4):
    """Loss of an online learner from an offline one, against optimum plus stability.

    Title: An offline algorithm in random order loses its optimum plus its stability
    Source: our Theorem B1 (docs/theory/batch_to_online.md); Dong and Yoshida 2023
    Statement: In random order the learner that decides on row t by ridge regression on the rows
        before it has an expected loss of at most OPT + penalty |w|² (1 + ln T) plus the sum over t
        of the mean stability of t rows, where w is the best weight vector; without noise the sum
        is bounded.
    Meaning: A stable offline algorithm needs no change to work online on a shuffled list, and its
        regret is small if the optimum is.
    Limits: Passes if over all orders of lists of 6 rows the mean loss equals the sum of fitted loss
        and stability over all subsets within 1e-9, and is at most the bound; and if on longer
        lists without noise the loss grows at most as fast as ln T.
    Alt: Without noise the loss hardly grows with the number of rows.
    """

    orders: Orders = component(all_orders)
    learner: Callable[[float], BatchToOnline[Floats]] = component(
        lambda penalty: Ridge(penalty).online
    )
    stability: Callable[[Floats], float] = component(Ridge(_PENALTY).stability)
    shuffles: Callable[[np.random.Generator, int], Floats] = component(
        lambda generator, rows: generator.permutation(rows)
    )

    def units(self, *, full: bool) -> list[Unit]:
        small = grid(T=_SMALL, noise=(0.0, 0.5), list=(0, 1, 2))
        return small + grid(T=(64, 256, 1024, 4096) if full else (64, 256, 1024), noise=0.0, list=0)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        rows = unit["T"]
        noise = unit["noise"]
        table = _make_list(rows, noise, unit["list"])
        learner = self.learner(_PENALTY)
        if rows > _SMALL:
            generator = np.random.default_rng(seed)
            for play in range(10):
                shuffled = table[self.shuffles(generator, rows)]
                yield {**unit, "play": play, "loss": float(learner.losses(shuffled).sum())}
            return
        totals = [float(learner.losses(table[list(order)]).sum()) for order in self.orders(rows)]
        fitted = stability = 0.0
        for size in range(1, rows + 1):
            subsets = [table[list(chosen)] for chosen in itertools.combinations(range(rows), size)]
            fits = [
                Ridge.squared_errors(Ridge(_PENALTY).fit(part), part).mean() for part in subsets
            ]
            fitted += float(np.mean(fits))
            stability += float(np.mean([self.stability(part) for part in subsets]))
        best: Floats = np.asarray(np.linalg.lstsq(table[:, :2], table[:, 2], rcond=None)[0], float)
        yield {
            **unit,
            "play": 0,
            "loss": math.fsum(totals) / len(totals),
            "fitted": fitted,
            "stability": stability,
            "optimum": float(Ridge.squared_errors(best, table).sum()),
            "penalty": _PENALTY * float(best @ best) * (1 + math.log(rows)),
        }

    def verdict(self, rows: Rows) -> Verdict:
        small = [row for row in rows if row["T"] == _SMALL]
        long = [row for row in rows if row["T"] > _SMALL]
        off = max(abs(row["loss"] - row["fitted"] - row["stability"]) for row in small)
        limits = [row["optimum"] + row["penalty"] + row["stability"] for row in small]
        share = max(row["loss"] / limit for row, limit in zip(small, limits, strict=True))
        sizes = levels(long, "T")
        losses = [select(long, "loss", T=size) for size in sizes]
        slow = growth("at most", sizes, losses, [math.log(size) for size in sizes])
        measured = (
            f"identity off by {off:.0e} on {len(small)} lists; at most {share:.2f} of the bound; "
            f"without noise {losses[0].mean():.2f} at {sizes[0]} rows, {losses[-1].mean():.2f} at "
            f"{sizes[-1]}"
        )
        checks = [exact(off < ROUNDING), exact(share <= 1 + ROUNDING), slow]
        return self.verdict_from(checks, measured, "OPT + λ|w|²(1 + ln T) + Σ stability")

    def chart(self, rows: Rows) -> Chart:
        long = [row for row in rows if row["T"] > _SMALL]
        bands = [mean_band(long, "ridge regression, no noise", "T", "loss")]
        first = float(select(long, "loss", T=min(levels(long, "T"))).mean())
        start = min(levels(long, "T"))
        lines = reference_lines(
            levels(long, "T"), {"ln T, scaled": lambda T: first * math.log(T) / math.log(start)}
        )
        return self.make_chart("total loss", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        def sees_the_row(penalty: float) -> BatchToOnline[Floats]:
            ridge = Ridge(penalty)
            return _Peeking(ridge.fit, ridge.squared_errors)

        def half_of_the_rows(penalty: float) -> BatchToOnline[Floats]:
            ridge = Ridge(penalty)
            return BatchToOnline(lambda rows: ridge.fit(rows[::2]), ridge.squared_errors)

        return {
            "no shuffle": {"orders": as_listed},
            "learner sees the row": {"learner": sees_the_row},
            "every second row is not learned": {"learner": half_of_the_rows},
            "half the stability": {"stability": lambda rows: 0.5 * Ridge(_PENALTY).stability(rows)},
            "leverage left out": {"stability": lambda _: 0.0},
            "another penalty": {"learner": lambda penalty: Ridge(3 * penalty).online},
        }


class _Peeking(BatchToOnline[Floats]):
    """The fault of a learner that fits the present row, too."""

    def losses(self, rows: Floats) -> Floats:
        played = [
            self.loss(self.offline(rows[: t + 1]), rows[t : t + 1])[0] for t in range(len(rows))
        ]
        return np.array(played)
