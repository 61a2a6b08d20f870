"""Strata: the mean of a list in parts of known size, each of which is drawn from in random order of its own."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from tombola.confidence.base import Interval
from tombola.confidence.betting import Betting
from tombola.errors import ParameterError


class Strata:
    """An interval for the mean of a list in strata, which holds at all counts at once; rows may be drawn from any.

    Each of s strata has a betting interval at level / s; weighted by their sizes they add up.

    >>> strata = Strata({"north": 100, "south": 300})
    >>> strata.extend([0.0] * 60 + [1.0] * 60, ["north"] * 60 + ["south"] * 60)
    >>> strata.mean, round(strata.interval().low, 2)
    (0.75, 0.69)
    """

    def __init__(self, sizes: Mapping[str, int], level: float = 0.05) -> None:
        if not sizes:
            raise ParameterError("Strata: expected the size of every stratum, got none; write {'north': 400}.")
        self.sizes = dict(sizes)
        self._seen = {name: Betting(population=size, level=level / len(sizes)) for name, size in sizes.items()}

    def extend(self, values: Any, strata: Any) -> None:
        """Take in values in [0, 1], with the stratum of each: all of them, or none."""
        numbers, names = np.asarray(values, np.float64), np.asarray(strata, dtype=object)
        if numbers.ndim != 1 or names.shape != numbers.shape:
            raise ParameterError(
                f"Strata: expected a stratum for each of {numbers.size} values, got {names.size}; name one for each."
            )
        found = Counter(names.tolist())
        for name, count in found.items():
            if name not in self._seen:
                known = ", ".join(self.sizes)
                raise ParameterError(f"Strata: expected a stratum of {known}, got {name!r}; give its size too.")
            if self._seen[name].counts[0] + count > self.sizes[name]:
                raise ParameterError(
                    f"Strata: expected at most {self.sizes[name]:,} rows of {name}, as was said, got more; give its "
                    "true size."
                )
        if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
            raise ParameterError("Strata: expected values in [0, 1], got others; rescale the values.")
        for name in found:
            self._seen[name].extend(numbers[names == name])

    def interval(self) -> Interval:
        """Return the interval that holds the mean of the list."""
        return Interval(self._weighted(0), self._weighted(1))

    @property
    def mean(self) -> float:
        """The estimate of the mean of the list; nan if a stratum has not been seen."""
        seen = [(size, self._seen[name]) for name, size in self.sizes.items()]
        if not all(one.counts[0] for _, one in seen):
            return math.nan
        return sum(size * float(one.means[0]) for size, one in seen) / sum(self.sizes.values())

    def _weighted(self, end: int) -> float:
        ends = [size * self._seen[name].interval()[end] for name, size in self.sizes.items()]
        return sum(ends) / sum(self.sizes.values())
