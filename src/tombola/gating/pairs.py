"""Paired losses of two versions, and the comparison that is made from them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tombola._types import Floats
from tombola.evidence.paired import Looks
from tombola.gating.result import MAX_ROWS, Comparison, DifferingRow, Verdict
from tombola.gating.versions import Version
from tombola.units import Units

# Gains that differ from 0 or from the limit by less are equal to it: sums are rounded.
ROUNDING = 1e-9
# Probability with which "rows that would settle it" settle it, as a normal quantile.
_POWER_QUANTILE = 0.84
# Rows of our test for each row of the normal approximation (docs/theory/gate.md).
_ROWS_FACTOR = 1.15
# A forecast of more rows is no help.
_MANY_ROWS = 1e9


class Pairs(NamedTuple):
    """Paired losses of two versions by one metric.

    runs: (rows, 2, runs), losses of the old and the new version; NaN where a row has fewer runs.
    old, new: (rows,), their means over the runs of a row. clusters: label of each row, or None.
    dropped: rows of both that lack a score and are left out.
    """

    version: str
    metric: str
    units: Units
    rows: list[str]
    runs: Floats
    old: Floats
    new: Floats
    clusters: list[str] | None
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def group(self, base: Version, by: str, group: str) -> "Pairs":
        """Return the pairs of the rows of one group."""
        labels = base.labels[by]
        return self.at([place for place, row in enumerate(self.rows) if labels.get(row) == group])

    def at(self, places: Sequence[int]) -> "Pairs":
        """Return the pairs of some rows."""
        return self._replace(
            rows=[self.rows[place] for place in places],
            runs=self.runs[list(places)],
            old=self.old[list(places)],
            new=self.new[list(places)],
            clusters=self.clusters and [self.clusters[place] for place in places],
        )


class Forecast(NamedTuple):
    """Rows that would settle a question, and what the rows at hand settle.

    rows: that probably settle it, more than those read; None if the gain is at the limit.
    equal: whether the versions are assumed to be equal; else the mean gain stays as it is.
    settled: the smallest allowed loss, in [0, 1], that the rows at hand probably settle.
    """

    rows: int | None
    equal: bool
    settled: float


def make_comparison(
    pairs: Pairs,
    verdict: Verdict,
    forecast: Forecast,
    group: str,
    within: float | None,
    low: float,
    high: float,
    pass_level: float,
    worse_level: float,
    count: int,
) -> Comparison:
    """Return a comparison from its verdict and the bounds of the mean gain, in losses.

    count: rows or clusters that the bounds are from. Other parameters as of `Comparison`.
    """
    units = pairs.units
    gains = pairs.old - pairs.new
    differences = np.argsort(gains, kind="stable")
    worse = [at for at in differences[:MAX_ROWS] if gains[at] < -ROUNDING]
    better = [at for at in differences[::-1][:MAX_ROWS] if gains[at] > ROUNDING]
    return Comparison(
        pairs.version,
        pairs.metric,
        group,
        units,
        within,
        verdict,
        units.number(float(pairs.old.mean())),
        units.number(float(pairs.new.mean())),
        units.gap(low),
        units.gap(high),
        pass_level,
        worse_level,
        len(gains),
        count,
        int((gains > ROUNDING).sum()),
        int((gains < -ROUNDING).sum()),
        forecast.rows,
        forecast.equal,
        units.gap(forecast.settled),
        tuple(_differing(pairs, int(at)) for at in worse),
        tuple(_differing(pairs, int(at)) for at in better),
    )


def _differing(pairs: Pairs, at: int) -> DifferingRow:
    number = pairs.units.number
    return DifferingRow(pairs.rows[at], number(float(pairs.old[at])), number(float(pairs.new[at])))


def forecast_rows(
    variance: float,
    gain: float,
    margin: float,
    count: int,
    level: float,
    looks: Looks,
    bounds: tuple[float, float],
    *,
    equal: bool,
) -> Forecast:
    """Return the rows that would probably settle the question, and the loss that `count` settle.

    bounds: of the mean gain, now. equal: the versions are assumed to be equal; else the mean gain is
    assumed to stay as it is. The rows are more than `count`, and None if the gain is at the limit.
    """
    if looks == "1":
        strength = _ROWS_FACTOR * float(_POWER_QUANTILE - ndtri(level)) ** 2
    else:
        strength = 2.0 * (math.log(1.0 / level) + 1.5)
    spread = max(variance, 1e-12)
    # Even without any difference between the versions n rows settle no less than this.
    settled = max(math.sqrt(strength * spread / count), 1.0 - level ** (1.0 / count))
    edge = margin if equal else abs(gain + margin)
    needed = strength * spread / edge**2 if edge > 0.0 else math.inf
    # The interval at hand may be wider than one of such a variance; it shrinks as 1 / sqrt(rows).
    upwards = equal or gain + margin > 0.0
    width = gain - bounds[0] if upwards else bounds[1] - gain
    if edge > 0.0 and variance > 0.0:
        # Without a difference Theorem G2 settles the question, at a number of rows of its own.
        settled = max(settled, gain - bounds[0])
        needed = max(needed, count * (width / edge) ** 2)
    if equal and margin < 1.0:
        needed = max(needed, math.log(level) / math.log1p(-margin))
    needed = max(needed, count + 1.0)
    rows = None if needed > _MANY_ROWS else math.ceil(needed)
    return Forecast(rows, equal, min(settled, 1.0))
