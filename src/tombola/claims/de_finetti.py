"""Theorem (paper L844): how far draws without replacement are from every mixture of i.i.d. draws, computed exactly.

Diaconis and Freedman 1980. The paper prints the constant of the L1 norm for the total variation distance, which is half
of it, and an error term as large as the term itself (erratum 46).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, levels, pick
from tombola.claims.curves import certain
from tombola.report.chart import Chart, Line
from tombola.types import Floats, Seed

CONSTANT = math.sqrt(2 / (math.pi * math.e))
NEAR = 0.02


def urn(n: int, k: int) -> tuple[Floats, Floats]:
    """Return the laws of the red balls in 2k draws from n red and n black ones: without and with replacement.

    >>> [law.round(3).tolist() for law in urn(1, 1)]
    [[0.0, 1.0, 0.0], [0.25, 0.5, 0.25]]
    """
    from scipy.stats import binom, hypergeom

    red = np.arange(2 * k + 1)
    return hypergeom.pmf(red, 2 * n, n, 2 * k), binom.pmf(red, 2 * k, 0.5)


def distance(n: int, k: int) -> float:
    """Return the total variation distance of the two laws: the largest difference of chances of one event.

    >>> round(distance(1, 1), 9), round(distance(100, 1) * 100, 3)
    (0.5, 0.251)
    """
    without, replaced = urn(n, k)
    return math.fsum(np.abs(without - replaced)) / 2


def least_distance(n: int, k: int) -> float:
    """Return a lower bound on the distance to any mixture of i.i.d. draws, by the event that tells the two laws apart.

    A mixture gives the event at most the largest chance that one binomial law does, over p in 0, 1/200, .., 1.
    """
    from scipy.stats import binom

    without, replaced = urn(n, k)
    event = np.flatnonzero(without > replaced)
    chances = [float(binom.pmf(event, 2 * k, p).sum()) for p in np.linspace(0, 1, 201)]
    return float(without[event].sum()) - max(chances)


@dataclass(frozen=True)
class DeFinetti(Claim):
    """Distance of the hypergeometric law from the binomial one, n/k times: 0.242 in total variation, 0.484 in L1."""

    name: ClassVar[str] = "de-finetti"
    title: ClassVar[str] = "How far a shuffled list is from fresh samples"
    source: ClassVar[str] = "theorem of Diaconis and Freedman (L844)"
    statement: ClassVar[str] = (
        "The law of 2k draws from 2n balls without replacement is √(2/(πe)) k/n away from that of every mixture of "
        "i.i.d. draws, in total variation, as n grows."
    )
    meaning: ClassVar[str] = (
        "The first few rows of a long shuffled list look like fresh samples; the difference grows with the share of "
        "the list that you have seen. So what holds for samples may fail on the list, but only late."
    )
    expected: ClassVar[Outcome] = "holds as corrected"

    def units(self, *, full: bool) -> list[Unit]:
        """Draw more and more balls, from urns so large that k/n stays small."""
        counts = (1, 2, 5, 10, 30, 100, 300, 1000, *((3000, 10_000) if full else ()))
        return [{"k": k, "n": share * k} for k in counts for share in (10, 100, 1000)]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Compute the distance, and the least that any mixture can reach."""
        n, k = unit["n"], unit["k"]
        return [{**unit, "distance": distance(n, k), "least": least_distance(n, k)}]

    def verdict(self, rows: Rows) -> Verdict:
        """Compare n/k times the distance with both constants, where k is large and k/n small."""
        far = [row for row in rows if row["k"] >= 100 and row["n"] >= 100 * row["k"]]
        scaled = np.array([row["distance"] * row["n"] / row["k"] for row in far])
        unbeaten = bool((pick(rows, "least") >= pick(rows, "distance") - 1e-9).all())
        words = "no mixture is nearer" if unbeaten else "a mixture is nearer"
        measured = (
            f"n/k times the distance is {scaled.min():.4f} to {scaled.max():.4f} for k ≥ 100, k/n ≤ 1/100; {words}"
        )
        texts = {"printed": f"{CONSTANT:.4f} k/n + O(k/n)", "corrected": f"{CONSTANT / 2:.4f} k/n + o(k/n) as k → ∞"}
        for outcome, constant in (("holds", CONSTANT), ("holds as corrected", CONSTANT / 2)):
            if unbeaten and bool((np.abs(scaled / constant - 1) < NEAR).all()):
                return Verdict(outcome, measured, **texts)  # type: ignore[arg-type]
        return Verdict("refuted", measured, **texts)

    def chart(self, rows: Rows) -> Chart:
        """Show n/k times the distance over k, with both constants."""
        shares = (10, 100, 1000)
        x = np.array(levels([row for row in rows if row["n"] == 100 * row["k"]], "k"), dtype=np.float64)
        bands = [
            certain(f"k/n = 1/{share}", x, np.array([pick(rows, "distance", k=k, n=share * k)[0] * share for k in x]))
            for share in shares
        ]
        return Chart(
            title=self.title,
            x_label="pairs of draws, k",
            y_label="n/k × total variation distance",
            bands=tuple(bands),
            lines=(
                Line("printed: √(2/πe)", x, np.full(x.size, CONSTANT)),
                Line("corrected: half of it", x, np.full(x.size, CONSTANT / 2)),
            ),
            log_y=False,
            alt="With more draws the scaled distance settles at half of the printed constant.",
        )
