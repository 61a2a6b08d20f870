"""Estimates with intervals: means, slopes, sampling without replacement."""

import math
from typing import NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.errors import ParameterError


class Estimate(NamedTuple):
    """An estimate from independent repetitions, with its confidence interval.

    low, high: ends of the interval; -inf and inf for a single repetition.
    repetitions: number of repetitions, or of points of a regression, behind the estimate.
    """

    value: float
    low: float
    high: float
    repetitions: int

    @property
    def half_width(self) -> float:
        """Half the length of the confidence interval."""
        return (self.high - self.low) / 2

    def linear(self, factor: float, offset: float = 0.0) -> "Estimate":
        """Return the estimate of `offset + factor * x`, x being the estimated quantity.

        >>> Estimate(0.25, 0.125, 0.5, 25).linear(-10, 10)
        Estimate(value=7.5, low=5.0, high=8.75, repetitions=25)
        """
        low, high = sorted((offset + factor * self.low, offset + factor * self.high))
        return Estimate(offset + factor * self.value, low, high, self.repetitions)

    def additional_repetitions(self, half_width: float) -> int:
        """Estimate the further repetitions needed for this half width.

        The half width shrinks with the square root of the number of repetitions. Raises
        ParameterError unless `half_width` is positive and the interval finite.

        >>> Estimate(10.0, 8.0, 12.0, 25).additional_repetitions(half_width=1.0)
        75
        """
        if not half_width > 0:
            raise ParameterError(
                "Estimate.additional_repetitions: half_width must be above 0, got "
                f"{half_width!r}; write for example "
                "0.1."
            )
        if not math.isfinite(self.half_width):
            raise ParameterError(
                "Estimate.additional_repetitions: expected an interval from two repetitions or "
                "more, got "
                f"{self.repetitions}; repeat it first."
            )
        return max(
            0, math.ceil(self.repetitions * (self.half_width / half_width) ** 2) - self.repetitions
        )

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean(values: Floats, level: float = 0.95) -> Estimate:
    """Return the mean of independent repetitions with its Student interval.

    The interval has the coverage `level`; it is infinite for a single repetition.

    >>> mean(np.array([1.0, 2.0, 3.0]))
    Estimate(value=2.0, low=-0.484..., high=4.484..., repetitions=3)
    """
    middle, low, high = (float(end[0]) for end in mean_band(values[:, None], level))
    return Estimate(middle, low, high, int(values.size))


def mean_band(values: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high of each column, as `mean` does.

    values: shape (repetitions, columns); each result has shape (columns,).

    >>> [ends.tolist() for ends in mean_band(np.array([[1.0, 2.0], [1.0, 4.0]]))]
    [[1.0, 3.0], [1.0, -9.706...], [1.0, 15.706...]]
    """
    from scipy.special import stdtrit

    rows = np.ascontiguousarray(
        values.T
    )  # sums along contiguous memory round as those of a single column do
    middle = rows.mean(axis=1)
    count = values.shape[0]
    if count < 2:
        return middle, np.full(middle.size, -math.inf), np.full(middle.size, math.inf)
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * (
        rows.std(axis=1, ddof=1) / math.sqrt(count)
    )
    return middle, middle - reach, middle + reach


def slope(horizons: Floats, regrets: list[Floats], level: float = 0.95) -> Estimate:
    """Return the slope of log mean regret on log horizon, with its interval.

    The weight of a point is the inverse variance of its log mean (delta method). If the points
    scatter more than these variances explain (the curve is not a straight line), the interval is
    widened by the square root of the ratio. Raises ParameterError for fewer than three horizons,
    and if a mean regret is not positive.

    regrets: `regrets[i]` are the regrets of the repetitions at `horizons[i]`.

    >>> slope(np.array([10.0, 100.0, 1000.0]), [np.full(5, x) for x in (1.0, 10.0, 100.0)]).value
    1.0
    """
    from scipy.special import stdtrit

    means = np.array([float(np.mean(r)) for r in regrets])
    if means.size < 3 or (means <= 0).any():
        raise ParameterError(
            "slope: expected a positive mean regret at three horizons or more, got "
            f"{means.tolist()}; "
            "compare on more pools, or with more repetitions."
        )
    errors = np.array(
        [float(np.std(r, ddof=1)) / math.sqrt(r.size) if r.size > 1 else 0.0 for r in regrets]
    )
    relative = errors / means
    # Floors: exact points (error 0) must not take all the weight.
    weights = 1.0 / np.square(np.maximum(relative, max(1e-3, float(relative.max()) / 30)))
    x, y = np.log(horizons), np.log(means)
    centre = float(np.average(x, weights=weights))
    spread = float(np.sum(weights * (x - centre) ** 2))
    value = float(np.sum(weights * (x - centre) * y) / spread)
    rest = y - float(np.average(y, weights=weights)) - value * (x - centre)
    excess = max(1.0, float(np.sum(weights * rest**2)) / (means.size - 2))
    reach = float(stdtrit(means.size - 2, (1 + level) / 2)) * math.sqrt(excess / spread)
    return Estimate(round(value, 12), value - reach, value + reach, int(means.size))


def serfling_factor(count: float, population: float) -> float:
    """Return the variance factor f of sampling without replacement.

    The bound on the variance of a mean of n independent draws, multiplied with f, holds for n draws
    without replacement from N rows. f is about 1 - n / N, and 0 when all rows are sampled. It is
    the minimum of 1 - (n - 1) / N (Serfling 1974) and (1 - n / N)(1 + 1 / n) (Bardenet and Maillard
    2015), which is the first form applied to the unseen rows.

    count: n, number of rows sampled, at least 1.
    population: N, number of rows; infinite for draws with replacement.
    """
    return min(1.0 - (count - 1.0) / population, (1.0 - count / population) * (1.0 + 1.0 / count))
