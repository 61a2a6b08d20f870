"""Confidence sequences in closed form, without replacement, and for lists in strata.

Waudby-Smith and Ramdas (2020). If the pool has mean m and the first i - 1 values have sum S, the
unseen rows have mean m_i = (N m - S) / (N - i + 1). The product of exp(b_i (x_i - m_i) - cost_i) is
a supermartingale for every m, if the bets b_i depend on the past only. Ville's inequality, applied
to it and to its mirror image, gives an interval around a weighted mean.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.evidence.base import Confidence, Interval, intersect
from tombola.evidence.betting import Betting, finite_gain, mean_estimate, variance_estimate

# Sample size near which `HoeffdingSequence` is tightest; it is little wider at other sizes.
_TUNING_COUNT = 100.0
# Largest bet of `BernsteinSequence`; bets must stay below 1, where their cost is infinite.
_MAX_BERNSTEIN_BET = 0.5


class _SequenceState(NamedTuple):
    """State of the sequences in closed form, one entry per action."""

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats  # sum of squared errors
    gain_squares: Floats  # sum of squared gains (`finite_gain`)
    numerator: Floats  # weighted sums; their ratio is the centre of the interval
    denominator: Floats
    cost: Floats  # sum of the costs of all bets; it widens the interval
    population: float
    log_level: float  # ln(2 / level)


class _ClosedForm(Confidence):
    """Base class of the confidence sequences in closed form; see `Confidence`."""

    anytime_valid: ClassVar[bool] = True

    def init(self) -> _SequenceState:
        zeros: dict[str, Any] = dict.fromkeys(_SequenceState._fields, np.zeros(self.actions))
        known = {
            "high": np.ones(self.actions),
            "population": self.population,
            "log_level": math.log(2.0 / self.level),
        }
        return _SequenceState(**{**zeros, **known})


class HoeffdingSequence(_ClosedForm):
    """Hoeffding confidence sequence with Robbins' mixture over all constant bets.

    Valid at all sample sizes simultaneously. `actions` is the number of means, each with its own
    values and interval; parameters as in `Confidence`. With g_i = N / (N - i + 1) for a population
    of N rows, and V = (g_1^2 + ... + g_n^2) / 4, the half width at count n is sqrt((V + r) (2 ln(1
    / level) + ln(1 + V / r))) / (4 V), where r makes it tightest near a count of 100.

    >>> sequence = HoeffdingSequence(population=1000)
    >>> sequence.extend([0.0, 1.0] * 50)
    >>> round(sequence.interval().width, 3)
    0.284
    """

    @staticmethod
    def update_state(state: _SequenceState, action: int, value: float) -> None:
        g = finite_gain(state.population, state.counts[action])
        state.numerator[action] += g * (
            value + state.total[action] / (state.population - state.counts[action])
        )
        state.denominator[action] += g * g
        state.counts[action] += 1.0
        state.total[action] += value
        # 2 ln(1 / level): the mixture is two-sided by itself, so the factor 2 in log_level is taken
        # back.
        twice = 2.0 * (state.log_level - math.log(2.0))
        rest = _TUNING_COUNT / 4.0 / (twice + math.log(1.0 + twice))
        spread = state.denominator[action] / 4.0
        radius = (
            math.sqrt((spread + rest) * (twice + math.log(1.0 + spread / rest)))
            / state.denominator[action]
        )
        centre = state.numerator[action] / state.denominator[action]
        intersect(state, action, centre - radius, centre + radius, state.population)


class BernsteinSequence(_ClosedForm):
    """Empirical Bernstein confidence sequence, narrow for a small variance.

    Valid at all sample sizes simultaneously. `actions` is the number of means, each with its own
    values and interval; parameters as in `Confidence`. The bet b_i, at most 1/2, depends on the
    values before x_i, and g_i = N / (N - i + 1) for a population of N rows. The half width at count
    n is (ln(2 / level) + sum of costs) / (b_1 g_1 + ... + b_n g_n). The cost of x_i is (x_i -
    m_i)^2 (-ln(1 - b_i) - b_i), where m_i is the mean of the values before and one pseudo-value of
    1/2.

    >>> sequence = BernsteinSequence(population=2000)
    >>> sequence.extend([0.5, 0.51] * 500)
    >>> round(sequence.interval().width, 3)
    0.011
    """

    @staticmethod
    def update_state(state: _SequenceState, action: int, value: float) -> None:
        n = state.counts[action]
        g = finite_gain(state.population, state.counts[action])
        guess = mean_estimate(state.total[action], n)
        variance = variance_estimate(state.squares[action], n)
        squared_error = (value - guess) * (value - guess)
        state.squares[action] += squared_error
        state.gain_squares[action] += g * g
        # Optimal for count n is g_i sqrt(2 log_level / (variance (g_1^2 + ... + g_n^2))). Here n is
        # the current count; the extra logarithm keeps the sum of the costs finite.
        spread = max(variance, 1e-12) * state.gain_squares[action] * math.log(1.0 + (n + 1.0))
        bet = min(_MAX_BERNSTEIN_BET, g * math.sqrt(2.0 * state.log_level / spread))
        state.numerator[action] += bet * (value + state.total[action] / (state.population - n))
        state.denominator[action] += bet * g
        state.cost[action] += squared_error * (-math.log1p(-bet) - bet)
        state.counts[action] += 1.0
        state.total[action] += value
        centre = state.numerator[action] / state.denominator[action]
        radius = (state.log_level + state.cost[action]) / state.denominator[action]
        intersect(state, action, centre - radius, centre + radius, state.population)


class StratifiedMean:
    """Confidence sequence for the mean of a list in strata of known size.

    Strata are groups of rows of known number, each sampled in random order; rows may be drawn from
    any of them at any time. Each of s strata has a betting confidence sequence at level / s; the
    bounds are averaged by stratum size.

    >>> strata = StratifiedMean({"north": 100, "south": 300})
    >>> strata.extend([0.0] * 60 + [1.0] * 60, ["north"] * 60 + ["south"] * 60)
    >>> strata.mean, round(strata.interval().low, 2)
    (0.75, 0.69)
    """

    def __init__(self, sizes: Mapping[str, int], level: float = 0.05) -> None:
        if not sizes:
            raise ParameterError(
                "StratifiedMean: expected the size of every stratum, got none; write {'north': "
                "400}."
            )
        self.sizes = dict(sizes)
        self._sequences = {
            name: Betting(population=size, level=level / len(sizes)) for name, size in sizes.items()
        }

    def extend(self, values: Any, strata: Any) -> None:
        """Add values in [0, 1] with the names of their strata; all or none."""
        numbers = np.asarray(values, np.float64)
        names = np.asarray(strata, dtype=object)
        if numbers.ndim != 1 or names.shape != numbers.shape:
            raise ParameterError(
                f"StratifiedMean: expected a stratum for each of {numbers.size} values, got "
                f"{names.size}; name one for "
                "each."
            )
        counts = Counter(names.tolist())
        for name, count in counts.items():
            if name not in self._sequences:
                known = ", ".join(self.sizes)
                raise ParameterError(
                    f"StratifiedMean: expected a stratum of {known}, got {name!r}; give its size "
                    "too."
                )
            if self._sequences[name].counts[0] + count > self.sizes[name]:
                raise ParameterError(
                    f"StratifiedMean: expected at most {self.sizes[name]:,} rows of {name}, its "
                    "given size, got more; "
                    "give its true size."
                )
        if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
            raise ParameterError(
                "StratifiedMean: expected values in [0, 1], got others; rescale the values."
            )
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
        return sum(size * float(sequence.means[0]) for size, sequence in samples) / sum(
            self.sizes.values()
        )

    def _weighted(self, end: int) -> float:
        ends = [size * self._sequences[name].interval()[end] for name, size in self.sizes.items()]
        return sum(ends) / sum(self.sizes.values())
