"""Concentration without replacement (paper L918-L937): Hoeffding 1963 and Serfling 1974, with exact chances.

For 0/1 pools the mean of s rows is hypergeometric, so every chance is a finite sum. All pools of N rows, all s and all
deviations that can occur are tried. The paper prints 2 exp(-s x^2), valid but sqrt(2) wide (erratum 48).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tombola.claims.base import Claim, Outcome, Row, Rows, Unit, Verdict, levels, pick
from tombola.claims.curves import certain
from tombola.report.chart import Chart, Line
from tombola.types import Floats, Seed

DELTA = 0.05
RATES: dict[str, Callable[[int, int], float]] = {
    "printed": lambda s, _: s,
    "hoeffding": lambda s, _: 2 * s,
    "serfling": lambda s, N: 2 * s / (1 - (s - 1) / N),
}


def tails(N: int, s: int) -> tuple[Floats, Floats]:
    """Return all deviations |mean of s rows - mean of the pool| of all 0/1 pools of N rows, and their exact tails.

    One row for each number of ones; an entry of the second is the chance of a deviation at least as large.

    >>> [part.round(9).tolist() for part in tails(2, 1)]
    [[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]
    """
    from scipy.stats import hypergeom

    ones, seen = np.arange(N + 1)[:, None], np.arange(s + 1)[None, :]
    chances = hypergeom.pmf(seen, N, ones, s)
    deviations = np.abs(seen * N - ones * s)  # whole numbers: ties are ties
    reached = deviations[:, None, :] >= deviations[:, :, None]
    return deviations / (N * s), np.einsum("kij,kj->ki", reached, chances)


def excess(exact: Floats, exponents: Floats) -> float:
    """Return the largest chance / (2 exp(-exponent)), computed in logarithms: both can be as small as they like.

    >>> excess(np.array([0.5, 0.0]), np.array([0.0, 9999.0]))
    0.25
    """
    possible = exact > 0
    logs = np.log(exact[possible]) - math.log(2) + exponents[possible]
    return math.exp(min(700.0, float(logs.max())))


@dataclass(frozen=True)
class Concentration(Claim):
    """Chances of deviations below 2 exp(-rate x^2), for all 0/1 pools and all numbers of rows seen."""

    name: ClassVar[str] = "concentration"
    title: ClassVar[str] = "How well the first rows tell the mean of the list"
    source: ClassVar[str] = "Hoeffding and Serfling without replacement (L918)"
    statement: ClassVar[str] = (
        "The mean of s rows in random order is x or more away from that of the list with chance at most 2 exp(−s x²)."
    )
    meaning: ClassVar[str] = (
        "However the list looks, what you have seen of it tells its mean to within a radius that you can write down, "
        "and that shrinks to nothing as you come to its end. Hoeffding's own radius is the printed one over √2."
    )
    expected: ClassVar[Outcome] = "holds"

    def units(self, *, full: bool) -> list[Unit]:
        """Take all 0/1 pools of a few sizes."""
        return [{"N": N} for N in ((1, 2, 3, 5, 10, 20, 50, 100, 200) if full else (1, 2, 3, 5, 10, 20, 50, 100))]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        """Compute, for every s, the worst chance over its bound, the worst misses at 5 %, and the radii."""
        return [self._row(unit["N"], s) for s in range(1, unit["N"] + 1)]

    def _row(self, N: int, s: int) -> Row:
        deviations, exact = tails(N, s)
        row: dict[str, Any] = {"N": N, "s": s}
        for name, rate in RATES.items():
            radius = math.sqrt(math.log(2 / DELTA) / rate(s, N))
            row[name] = excess(exact, rate(s, N) * deviations**2)
            row[f"{name}_misses"] = float(np.where(deviations > radius, exact, 0.0).max())
            row[f"{name}_radius"] = radius
        inside = np.where(exact > DELTA, deviations, 0.0).max()
        return {**row, "exact_radius": float(inside)}

    def verdict(self, rows: Rows) -> Verdict:
        """Ask for every ratio of chance and bound to be at most 1."""
        worst = {name: float(pick(rows, name).max()) for name in RATES}
        misses = {name: 100 * float(pick(rows, f"{name}_misses").max()) for name in RATES}
        measured = (
            f"largest chance over bound: {worst['printed']:.3f} printed, {worst['hoeffding']:.3f} Hoeffding, "
            f"{worst['serfling']:.3f} Serfling; misses at 5 %: {misses['printed']:.1f}, {misses['hoeffding']:.1f}, "
            f"{misses['serfling']:.1f} %"
        )
        words = ("2 exp(−s x²)", "2 exp(−2 s x²)")
        if max(worst["hoeffding"], worst["serfling"]) > 1:
            return Verdict("refuted", measured, *words)
        return Verdict("holds" if worst["printed"] <= 1 else "refuted as printed", measured, *words)

    def chart(self, rows: Rows) -> Chart:
        """Show the radii at 5 % over the rows seen, for the largest pools."""
        N = levels(rows, "N")[-1]
        x = np.array(levels(rows, "s", N=N), dtype=np.float64)
        radii = {name: np.array([pick(rows, f"{name}_radius", N=N, s=s)[0] for s in x]) for name in ("exact", *RATES)}
        return Chart(
            title=self.title,
            x_label=f"rows seen, s (of N = {N})",
            y_label="radius at 5 %",
            bands=(certain("exact, worst pool", x, radii["exact"]), certain("Serfling", x, radii["serfling"])),
            lines=(Line("printed", x, radii["printed"]), Line("Hoeffding", x, radii["hoeffding"])),
            log_x=False,
            log_y=False,
            alt="The exact radius lies below Serfling's, and that below Hoeffding's and the printed one; the first two "
            "shrink to nothing as all rows are seen.",
        )
