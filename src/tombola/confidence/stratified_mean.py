"""Stratified mean: strata of known size, each sampled in random order."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from tombola.confidence.base import Interval
from tombola.confidence.betting import Betting
from tombola.errors import ParameterError


class StratifiedMean:
    """Confidence sequence for the mean of a list in strata of known size.

    Strata are groups of rows, each sampled in random order; rows may be drawn from any of them at any time.
    Each of s strata has a betting confidence sequence at level / s; the bounds are averaged by stratum size.

    sizes: number of rows of each stratum, by name.
    level: error probability of the interval, at all times simultaneously.

    >>> strata = StratifiedMean({"north": 100, "south": 300})
    >>> strata.extend([0.0] * 60 + [1.0] * 60, ["north"] * 60 + ["south"] * 60)
    >>> strata.mean, round(strata.interval().low, 2)
    (0.75, 0.69)
    """

    def __init__(self, sizes: Mapping[str, int], level: float = 0.05) -> None:
        if not sizes:
            raise ParameterError("StratifiedMean: expected the size of every stratum, got none; write {'north': 400}.")
        self.sizes = dict(sizes)
        self._sequences = {name: Betting(population=size, level=level / len(sizes)) for name, size in sizes.items()}

    def extend(self, values: Any, strata: Any) -> None:
        """Add values in [0, 1] with their strata.

        If one of them is invalid, none is added, and ParameterError is raised.

        values: shape (n,).
        strata: the name of the stratum of each value, shape (n,).
        """
        numbers, names = np.asarray(values, np.float64), np.asarray(strata, dtype=object)
        if numbers.ndim != 1 or names.shape != numbers.shape:
            raise ParameterError(
                f"StratifiedMean: expected a stratum for each of {numbers.size} values, got {names.size}; name one for "
                "each."
            )
        counts = Counter(names.tolist())
        for name, count in counts.items():
            if name not in self._sequences:
                known = ", ".join(self.sizes)
                raise ParameterError(f"StratifiedMean: expected a stratum of {known}, got {name!r}; give its size too.")
            if self._sequences[name].counts[0] + count > self.sizes[name]:
                raise ParameterError(
                    f"StratifiedMean: expected at most {self.sizes[name]:,} rows of {name}, its given size, got more; "
                    "give its true size."
                )
        if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
            raise ParameterError("StratifiedMean: expected values in [0, 1], got others; rescale the values.")
        for name in counts:
            self._sequences[name].extend(numbers[names == name])

    def interval(self) -> Interval:
        """Return the present interval for the mean of the whole list."""
        return Interval(self._weighted(0), self._weighted(1))

    @property
    def mean(self) -> float:
        """The sample means of the strata, averaged by size; nan while one has no values."""
        samples = [(size, self._sequences[name]) for name, size in self.sizes.items()]
        if not all(sequence.counts[0] for _, sequence in samples):
            return math.nan
        return sum(size * float(sequence.means[0]) for size, sequence in samples) / sum(self.sizes.values())

    def _weighted(self, end: int) -> float:
        ends = [size * self._sequences[name].interval()[end] for name, size in self.sizes.items()]
        return sum(ends) / sum(self.sizes.values())
