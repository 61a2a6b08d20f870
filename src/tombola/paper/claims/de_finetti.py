"""Theorem A.1 (L844): exact distance of draws without replacement from i.i.d.

Diaconis and Freedman 1980; i.i.d. draws may be mixtures.

Diaconis and Freedman 1980. Their norm is twice the total variation distance; the paper prints their constant for the
total variation distance, and an error term as large as the main term (erratum 46). The meaning for users is shown with
an interval of `tombola.confidence`: its miss probabilities on fresh samples and on the list differ by at most the
distance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tombola._types import Floats, Seed
from tombola.confidence import Serfling
from tombola.paper import pvalues
from tombola.paper.base import Claim, Overrides, Row, Rows, Unit, Verdict, levels, select
from tombola.paper.claims.concentration import ROUNDING, Intervals, intervals_by_ones, with_half_radius
from tombola.paper.curves import exact_column, reference_lines
from tombola.report.chart import Chart

# Limit of n/k times the distance between 2k draws without and with replacement from 2n balls, by Diaconis and Freedman
# (1980), in their norm: twice the total variation distance.
DISTANCE_CONSTANT = math.sqrt(2 / (math.pi * math.e))
# Level of the interval; it is computed for k up to _TRIED only, since it takes time k^2.
_LEVEL, _TRIED = 0.05, 300
# Distribution of red balls in 2k draws from 2n balls, by n and k.
_Law: TypeAlias = Callable[[int, int], Floats]


def _reds_without_replacement(n: int, k: int) -> Floats:
    """Return the distribution of red balls in 2k draws without replacement.

    There are n red and n black balls. Entry j is the probability of j red ones, shape (2k + 1,).

    >>> _reds_without_replacement(1, 1).round(3).tolist()
    [0.0, 1.0, 0.0]
    """
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.pmf(np.arange(2 * k + 1), 2 * n, n, 2 * k))


def _reds_with_replacement(n: int, k: int) -> Floats:
    """Return the distribution of red balls in 2k draws with replacement.

    There are n red and n black balls. Entry j is the probability of j red ones, shape (2k + 1,).

    >>> _reds_with_replacement(1, 1).round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(2 * k + 1), 2 * k, 0.5))


def _total_variation(one: Floats, other: Floats) -> float:
    """Return the total variation distance of two distributions on the same values.

    >>> round(_total_variation(_reds_without_replacement(1, 1), _reds_with_replacement(1, 1)), 9)
    0.5
    """
    return math.fsum(np.abs(one - other)) / 2


def replacement_distance(n: int, k: int) -> float:
    """Return the total variation distance of draws without and with replacement.

    The distributions are those of the red balls among 2k draws from n red and n black balls.

    n, k: half the numbers of balls and of draws.

    >>> round(replacement_distance(100, 1) * 100, 3)
    0.251
    """
    return _total_variation(_reds_without_replacement(n, k), _reds_with_replacement(n, k))


def _least_distance(law: Floats, n: int, k: int) -> float:
    """Return a lower bound on the distance to any mixture of i.i.d. draws.

    It is the difference on the event that separates both distributions. A mixture gives the event at most the largest
    probability under one binomial distribution, over p in 0, 1/200, .., 1.
    """
    from scipy.stats import binom

    event = np.flatnonzero(law > _reds_with_replacement(n, k))
    most = max(float(binom.pmf(event, 2 * k, p).sum()) for p in np.linspace(0, 1, 201))
    return float(law[event].sum()) - most


@dataclass(frozen=True)
class DeFinetti(Claim, name="de-finetti", expected="holds as corrected"):
    """Distance of draws without and with replacement: about 0.242 k/n.

    It is the total variation distance of the red balls in 2k draws from 2n balls.

    2k balls are drawn from n red and n black ones, k = 1 to 1,000, k/n = 1/10 to 1/1,000.

    Fields, which faults replace: law (distribution of the red balls without replacement, by n and k), norm (distance of
    two distributions), interval (class of confidence intervals).

    Title: How far a shuffled list is from fresh samples
    Source: Theorem A.1 (L844)
    Statement: 2k draws without replacement from n red and n black balls are √(2/(πe)) k/n away from every mixture of
        i.i.d. draws, in total variation, as n grows.
    Meaning: The first few rows of a long shuffled list look like fresh samples; the difference grows with the
        share of the list seen. Guarantees for samples may fail on the list, but only late.
    Limits: Passes if, for k ≥ 100 and k/n ≤ 1/100, the exact distance is the printed constant times k/n, or half of it
        (the corrected constant), up to a relative error of 1/k + k/n; if no mixture of i.i.d. draws is nearer; and if a
        confidence interval at level 5 % misses at most 5 % of the lists, and differs on i.i.d. samples by at most the
        distance.
    """

    law: _Law = _reds_without_replacement
    norm: Callable[[Floats, Floats], float] = _total_variation
    interval: Intervals = Serfling

    def units(self, *, full: bool) -> list[Unit]:
        counts = (1, 2, 5, 10, 30, 100, 300, 1000, *((3000, 10_000) if full else ()))
        return [{"k": k, "n": share * k} for k in counts for share in (10, 100, 1000)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        n, k = unit["n"], unit["k"]
        law = self.law(n, k)
        far = {"distance": self.norm(law, _reds_with_replacement(n, k)), "least": _least_distance(law, n, k)}
        return [{**unit, **far, **(self._misses(law, n, k) if k <= _TRIED else {})}]

    def _misses(self, law: Floats, n: int, k: int) -> Row:
        """Return the miss probability of the interval, on the list and on samples.

        The interval is for the share of red balls.
        """
        ends = intervals_by_ones(self.interval, 2 * n, 2 * k, _LEVEL)
        outside = (ends.lows > 0.5 + ROUNDING) | (ends.highs < 0.5 - ROUNDING)
        return {"on_list": float(law[outside].sum()), "on_samples": float(_reds_with_replacement(n, k)[outside].sum())}

    def verdict(self, rows: Rows) -> Verdict:
        far = [row for row in rows if row["k"] >= 100 and row["n"] >= 100 * row["k"]]
        scaled = [row["distance"] * row["n"] / row["k"] for row in far]
        tried = [row for row in rows if row["k"] <= _TRIED]
        unbeaten = bool((select(rows, "least") >= select(rows, "distance") - 1e-9).all())
        missed = float(select(tried, "on_list").max())
        gaps = np.abs(select(tried, "on_samples") - select(tried, "on_list")) - select(tried, "distance")
        measured = (
            f"n/k times the distance is {min(scaled):.4f} to {max(scaled):.4f} for k ≥ 100, k/n ≤ 1/100; "
            f"{'no' if unbeaten else 'a'} mixture is nearer; an interval at 5 % misses {100 * missed:.3g} % of lists"
        )
        texts = (f"{DISTANCE_CONSTANT:.4f} k/n + O(k/n)", f"{DISTANCE_CONSTANT / 2:.4f} k/n + o(k/n) as k → ∞")
        sound = [pvalues.exact(ok) for ok in (unbeaten, missed <= _LEVEL, float(gaps.max()) <= ROUNDING)]
        near = {c: [pvalues.exact(_near(row, c)) for row in far] for c in (DISTANCE_CONSTANT, DISTANCE_CONSTANT / 2)}
        if not self.any_rejected(near[DISTANCE_CONSTANT]):
            return self.verdict_from(sound, measured, *texts)
        return self.verdict_from([*sound, *near[DISTANCE_CONSTANT / 2]], measured, *texts, outcome="holds as corrected")

    def chart(self, rows: Rows) -> Chart:
        shares = (10, 100, 1000)
        scaled = [
            {**row, "share": row["n"] // row["k"], "scaled": row["distance"] * row["n"] / row["k"]} for row in rows
        ]
        return Chart(
            title=self.title,
            x_label="pairs of draws, k",
            y_label="n/k × total variation distance",
            bands=tuple(exact_column(scaled, f"k/n = 1/{share}", "k", "scaled", share=share) for share in shares),
            lines=reference_lines(
                levels(rows, "k"),
                {
                    "printed: √(2/πe)": lambda _: DISTANCE_CONSTANT,
                    "corrected: half of it": lambda _: DISTANCE_CONSTANT / 2,
                },
            ),
            log_y=False,
            alt="With more draws the scaled distance settles at half of the printed constant.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle: red first": {"law": lambda n, k: np.eye(2 * k + 1)[min(n, 2 * k)]},
            "draws with replacement": {"law": _reds_with_replacement},
            "twice as many balls": {"law": lambda n, k: _reds_without_replacement(2 * n, k)},
            "the norm of Diaconis and Freedman": {"norm": lambda one, other: 2 * _total_variation(one, other)},
            "half of Serfling's radius": {"interval": with_half_radius(Serfling)},
        }


def _near(row: Row, constant: float) -> bool:
    """Return whether n/k times the distance is this constant.

    Terms omitted by the theorem are allowed for.
    """
    return bool(abs(row["distance"] * row["n"] / row["k"] / constant - 1) <= 1 / row["k"] + row["k"] / row["n"])
