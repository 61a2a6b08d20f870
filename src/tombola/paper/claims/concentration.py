"""Theorem C.1 (L918): concentration without replacement, exactly.

Hoeffding 1963, Serfling 1974.

For 0/1 pools the mean of s rows is hypergeometric, so every probability is a finite sum. For all pools of N rows and
all s: the printed tail 2 exp(-s x^2) at every deviation (valid, but wider than needed by sqrt(2), erratum 48), and the
intervals of `tombola.confidence` at four levels.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola._types import Floats, Seed
from tombola.confidence import EmpiricalBernsteinSerfling, Hoeffding, Serfling
from tombola.paper import pvalues
from tombola.paper.base import Claim, Outcome, Overrides, Row, Rows, Unit, Verdict, levels, select
from tombola.paper.curves import exact_column
from tombola.report.chart import Chart, Line

# Absolute tolerance in comparisons of a mean in [0, 1] with the end of an interval: far above rounding errors, below
# the distance 1/N of two means.
ROUNDING = 1e-12
# Class of confidence intervals of `tombola.confidence`: (rows of the pool, miss probability, number of columns) ->
# object with `extend(rows)`, `lows` and `highs`.
Intervals: TypeAlias = Callable[[float, float, int], Any]


class _Ends(NamedTuple):
    """Lower and upper ends of intervals, by the number of ones among the rows seen.

    lows, highs: shape (seen + 1,).
    """

    lows: Floats
    highs: Floats


def intervals_by_ones(interval: Intervals, population: float, seen: int, level: float) -> _Ends:
    """Return confidence intervals of the mean of a 0/1 pool, by the ones seen.

    Entry j of `lows` and `highs`, shape (seen + 1,), is for j ones among the rows seen.

    interval: class of confidence intervals, such as `Hoeffding`.
    population, seen: number of rows of the pool, and of rows seen.
    level: miss probability of an interval.

    >>> from tombola.confidence import Hoeffding
    >>> intervals_by_ones(Hoeffding, 10, 2, 0.05).highs.tolist()
    [0.8, 0.9, 1.0]
    """
    confidence = interval(population, level, seen + 1)
    confidence.extend((np.arange(seen)[:, None] < np.arange(seen + 1)).astype(np.float64))
    return _Ends(confidence.lows, confidence.highs)


def _miss_probabilities(law: Floats, ends: _Ends, population: int) -> Floats:
    """Return the miss probability of intervals, by the number of ones in the pool.

    The result has shape (population + 1,).
    """
    means = np.arange(population + 1)[:, None] / population
    outside = (means < ends.lows - ROUNDING) | (means > ends.highs + ROUNDING)
    return np.asarray(np.where(outside, law, 0.0).sum(axis=1))


def with_half_radius(interval: Intervals) -> Intervals:
    """Return a constructor of intervals with half the radius: a fault.

    The radius is proportional to sqrt(ln(2 / level)), so a larger level halves it.

    interval: class of confidence intervals, such as `Hoeffding`; the result is called like it.

    >>> from tombola.confidence import Hoeffding
    >>> kinds = (Hoeffding, with_half_radius(Hoeffding))
    >>> whole, half = (intervals_by_ones(kind, 10**6, 1000, 0.05).highs[500] for kind in kinds)
    >>> round(float((half - 0.5) / (whole - 0.5)), 9)
    0.5
    """
    return lambda population, level, actions: interval(population, min(0.999, 2 * (level / 2) ** 0.25), actions)


# Levels (miss probabilities) of the intervals that are tested; the chart shows SHOWN.
_LEVELS = (0.5, 0.2, 0.05, 0.01)
# Level of the intervals in the chart.
_SHOWN = 0.05
# Confidence intervals by name.
_KINDS: dict[str, Intervals] = {
    "hoeffding": Hoeffding,
    "serfling": Serfling,
    "bernstein": EmpiricalBernsteinSerfling,
}


def _ones_in_random_order(N: int, s: int) -> Floats:
    """Return the distribution of the ones among s of N rows in random order.

    Row i is for the pool with i ones, column j for j ones among the s rows.

    >>> _ones_in_random_order(2, 1).round(9).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(np.arange(s + 1)[None, :], N, np.arange(N + 1)[:, None], s))


def _ones_first(N: int, s: int) -> Floats:
    """Return the same as `_ones_in_random_order`, for a list with its ones first.

    It is a fault: the list is not shuffled.

    >>> _ones_first(2, 1).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    return np.eye(s + 1)[np.minimum(np.arange(N + 1), s)]


def _ones_with_replacement(N: int, s: int) -> Floats:
    """Return the same as `_ones_in_random_order` for s draws with replacement.

    >>> _ones_with_replacement(2, 1).round(9).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(s + 1)[None, :], s, np.arange(N + 1)[:, None] / N))


def _deviation_tails(law: Floats, N: int, s: int) -> tuple[Floats, Floats]:
    """Return the deviations of all 0/1 pools of N rows, and their exact tails.

    A deviation is |mean of s rows - mean of the pool|. Row i is for the pool with i ones; tails are the probabilities
    of a deviation at least as large. Both have the shape of `law`.

    >>> [part.round(9).tolist() for part in _deviation_tails(_ones_in_random_order(2, 1), 2, 1)]
    [[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]
    """
    ones, seen = np.arange(N + 1)[:, None], np.arange(s + 1)[None, :]
    deviations = np.abs(seen * N - ones * s)  # integers, so that ties are exact
    reached = deviations[:, None, :] >= deviations[:, :, None]
    return deviations / (N * s), np.einsum("kij,kj->ki", reached, law)


def _largest_excess(exact: Floats, exponents: Floats) -> float:
    """Return the largest probability / (2 exp(-exponent)).

    Above 1, the bound 2 exp(-exponent) is violated. It is computed in logarithms to avoid underflow.

    >>> _largest_excess(np.array([0.5, 0.0]), np.array([0.0, 9999.0]))
    0.25
    """
    possible = exact > 0
    logs = np.log(exact[possible]) - math.log(2) + exponents[possible]
    return math.exp(min(700.0, float(logs.max())))


@dataclass(frozen=True)
class Concentration(Claim, name="concentration", expected="holds"):
    """Tail probability of the sample mean and coverage of intervals, all 0/1 pools.

    Fields, which faults replace: law (probability of j ones among s of N rows at [i, j], for pools with i ones, by N
    and s), rate (factor in the exponent of the printed tail), intervals (classes of confidence intervals, by name).

    Title: How well the first rows estimate the mean of the list
    Source: Theorem C.1 (L918)
    Statement: The mean of s rows in random order differs from the mean of the list by x or more with probability at
        most 2 exp(−s x²).
    Meaning: For every list, the rows seen so far estimate its mean up to a known radius, which shrinks to 0 at the
        end of the list. Hoeffding's original radius is the printed one divided by √2.
    Limits: Passes if, for every 0/1 pool of 1 to 100 rows and every s, the exact probability of a difference x or more
        is at most 2 exp(−s x²) for all x, and every confidence interval misses the mean of the list with an exact
        probability of at most its level. Nothing is sampled.
    """

    law: Callable[[int, int], Floats] = _ones_in_random_order
    rate: float = 1.0
    intervals: Mapping[str, Intervals] = field(default_factory=lambda: _KINDS)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"N": N} for N in ((1, 2, 3, 5, 10, 20, 50, 100, 200) if full else (1, 2, 3, 5, 10, 20, 50, 100))]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        return [self._row(unit["N"], s) for s in range(1, unit["N"] + 1)]

    def _row(self, N: int, s: int) -> Row:
        law = self.law(N, s)
        deviations, exact = _deviation_tails(law, N, s)
        row: dict[str, Any] = {"N": N, "s": s, "printed": _largest_excess(exact, self.rate * s * deviations**2)}
        for name, interval in self.intervals.items():
            misses = [
                float(_miss_probabilities(law, intervals_by_ones(interval, N, s, level), N).max()) / level
                for level in _LEVELS
            ]
            shown = intervals_by_ones(interval, N, s, _SHOWN)
            row |= {name: max(misses), f"{name}_radius": float((shown.highs - shown.lows).max()) / 2}
        radii = {"printed_radius": math.sqrt(math.log(2 / _SHOWN) / (self.rate * s))}
        return {**row, **radii, "exact_radius": float(np.where(exact > _SHOWN, deviations, 0.0).max())}

    def verdict(self, rows: Rows) -> Verdict:
        worst = {name: float(select(rows, name).max()) for name in self.intervals}
        printed = float(select(rows, "printed").max())
        measured = (
            f"largest probability over the printed bound {printed:.3f}; misses of the intervals over their level "
            + (", ".join(f"{name} {value:.2f}" for name, value in worst.items()))
        )
        words = ("2 exp(−s x²)", "2 exp(−2 s x²)")
        outcome: Outcome = "holds" if printed <= 1 else "refuted as printed"
        return self.verdict_from([pvalues.exact(max(worst.values()) <= 1)], measured, *words, outcome=outcome)

    def chart(self, rows: Rows) -> Chart:
        N = levels(rows, "N")[-1]
        names = {"exact": "exact, worst pool", "serfling": "Serfling", "printed": "printed", "hoeffding": "Hoeffding"}
        exact, serfling, *others = (
            exact_column(rows, words, "s", f"{name}_radius", N=N) for name, words in names.items()
        )
        return Chart(
            title=self.title,
            x_label=f"rows seen, s (of N = {N})",
            y_label="radius at 5 %",
            bands=(exact, serfling),
            lines=tuple(Line(other.name, other.x, other.middle) for other in others),
            log_x=False,
            log_y=False,
            alt="The exact radius lies below Serfling's, and Serfling's below Hoeffding's and the printed one; "
            "the first two shrink to 0 as all rows are seen.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle: ones first": {"law": _ones_first},
            "draws with replacement": {"law": _ones_with_replacement},
            "half of Hoeffding's radius": {"intervals": {**self.intervals, "hoeffding": with_half_radius(Hoeffding)}},
            "half of Serfling's radius": {"intervals": {**self.intervals, "serfling": with_half_radius(Serfling)}},
            "a pool taken for half its size": {
                "intervals": {**self.intervals, "serfling": lambda N, *rest: Serfling(max(N // 2, rest[1] - 1), *rest)}
            },
            "the exponent 4 s x²": {"rate": 4.0},
        }
