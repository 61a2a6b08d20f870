"""Exact test of a share by one planned look at labels 0 and 1, sharper by strata of a judge.

docs/theory/judge.md. The scores of a judge divide the list into at most two strata before labels
are seen. Given the number of labels in each stratum, their ones are independent hypergeometric
numbers. The p-value is the largest tail probability over all ways to divide the ones of the list.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats

# Share of the level for ways to divide the ones that the labels contradict (Berger and Boos 1994):
# these may then be left out.
_IMPLAUSIBLE_SHARE = 0.02
# Least variance of a label, and least share of rows without one: keep divisors above 0.
_MIN_VARIANCE = 1e-9
# Steps of a bisection: shares are exact to 2 ** -40.
_BISECTIONS = 40
# Statistics within this distance count as equal, so that rounding leaves out no equal sample.
_ROUNDING = 1e-9
# Ways to divide the ones that are computed at most; longer ranges are covered by intervals.
_MAX_WAYS = 2000


class Stratum(NamedTuple):
    """Labels of one stratum: its number of rows, of labels, and of labels that are 1."""

    rows: int
    labels: int
    ones: int


def split_by_judge(judge: Floats) -> Any:
    """Return the stratum of each row, 0 or 1, by the scores of a judge alone.

    The cut is where the variance within the strata would be least if the scores were the
    probabilities of a label 1. All rows are in stratum 0 if the judge gives one score only.

    judge: scores in [0, 1], shape (rows,).

    >>> split_by_judge(np.array([0.9, 0.1, 0.8, 0.2])).tolist()
    [1, 0, 1, 0]
    """
    scores = np.sort(judge)
    rows = scores.size
    sums = np.cumsum(scores)
    below = np.arange(1, rows)
    means = sums[:-1] / below
    others = (sums[-1] - sums[:-1]) / (rows - below)
    within = below * means * (1.0 - means) + (rows - below) * others * (1.0 - others)
    within = np.where(np.diff(scores) > 0.0, within, np.inf)
    if not np.isfinite(within).any():
        return np.zeros(rows, np.int64)
    return (judge > scores[int(np.argmin(within))]).astype(np.int64)


def single_look_p_value(strata: Sequence[Stratum], most: int, level: float) -> float:
    """Return a p-value of "at most `most` rows of the list are 1", by one look.

    The number of labels must not depend on the labels. The p-value is at most t with probability
    at most t, for every t, if the hypothesis holds.

    strata: one or two.
    most: number of ones that the hypothesis allows, of all rows.
    level: the p-value is sharpest for a test at this level.

    >>> round(single_look_p_value([Stratum(1000, 20, 20)], 800, level=0.05), 4)
    0.011
    """
    if sum(stratum.ones for stratum in strata) > most:
        return 0.0
    if len(strata) == 1:
        (stratum,) = strata
        masses = _masses(stratum, np.array([min(most, stratum.rows)]))
        return float(masses[0, stratum.ones :].sum())
    first, second = strata
    statistic = _statistic(first, second, most)
    extreme = statistic >= statistic[first.ones, second.ones] - _ROUNDING
    implausible = _IMPLAUSIBLE_SHARE * level
    # The numbers of ones of the first stratum that its labels do not contradict. Those below
    # most - second.rows count, too: without them a list far inside the hypothesis would be
    # rejected, because its labels leave out all other ways.
    low, high = _plausible(first, min(first.rows, most), implausible)
    if low > high:
        return implausible
    # The second stratum has as many ones as the hypothesis allows. Within an interval of ways both
    # strata have their largest number: extreme samples have more ones, so this is an upper bound.
    starts = np.unique(np.linspace(low, high + 1, min(high - low + 1, _MAX_WAYS) + 1).astype(int))
    in_first = starts[1:] - 1
    in_second = np.minimum(second.rows, most - starts[:-1])
    tails = ((_masses(first, in_first) @ extreme) * _masses(second, in_second)).sum(axis=1)
    return min(1.0, float(tails.max()) + implausible)


def _plausible(stratum: Stratum, most: int, level: float) -> tuple[int, int]:
    """Return the least and the largest number of ones, up to `most`, that labels do not contradict.

    Both tail probabilities are monotone in the number: bisection.
    """

    def is_possible(total: int, part: slice) -> bool:
        masses = _masses(stratum, np.array([total]))
        return 2.0 * float(masses[0, part].sum()) > level

    least = _bisect(0, most + 1, lambda total: is_possible(total, slice(stratum.ones, None)))
    beyond = _bisect(0, most + 1, lambda total: not is_possible(total, slice(stratum.ones + 1)))
    return least, beyond - 1


def _bisect(low: int, high: int, is_reached: Any) -> int:
    """Return the least number from low to high - 1 that is reached, else `high`."""
    while low < high:
        middle = (low + high) // 2
        if is_reached(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _statistic(first: Stratum, second: Stratum, most: int) -> Floats:
    """Return the score statistic for all numbers of ones, nondecreasing in both.

    The estimate minus the hypothesis, divided by its deviation at the most likely shares of ones
    under the hypothesis. Any nondecreasing statistic is valid; this one needs few labels.
    """
    first_ones = np.arange(first.labels + 1.0)[:, None]
    second_ones = np.arange(second.labels + 1.0)[None, :]
    if not first.labels or not second.labels:
        return first_ones + second_ones
    rows = first.rows + second.rows
    weight = first.rows / rows
    other_weight = second.rows / rows
    mean = most / rows
    low = np.full((first.labels + 1, second.labels + 1), max(0.0, (mean - other_weight) / weight))
    high = np.full(low.shape, min(1.0, mean / weight))
    # The slope of the likelihood falls along the shares with the mean of the hypothesis: bisection.
    for _ in range(_BISECTIONS):
        share = (low + high) / 2.0
        other = (mean - weight * share) / other_weight
        slope = (first_ones - first.labels * share) / _variance(share) * other_weight
        slope -= (second_ones - second.labels * other) / _variance(other) * weight
        low = np.where(slope > 0.0, share, low)
        high = np.where(slope > 0.0, high, share)
    share = (low + high) / 2.0
    other = (mean - weight * share) / other_weight
    estimate = weight * first_ones / first.labels + other_weight * second_ones / second.labels
    variance = weight**2 * _variance(share) / first.labels * _unlabelled(first)
    variance += other_weight**2 * _variance(other) / second.labels * _unlabelled(second)
    statistic = (estimate - mean) / np.sqrt(variance)
    return np.maximum.accumulate(np.maximum.accumulate(statistic, axis=0), axis=1)


def _variance(share: Floats) -> Floats:
    return np.maximum(share * (1.0 - share), _MIN_VARIANCE)


def _unlabelled(stratum: Stratum) -> float:
    return max(1.0 - stratum.labels / stratum.rows, _MIN_VARIANCE)


def _masses(stratum: Stratum, ones: Any) -> Floats:
    """Return the hypergeometric probabilities of 0..labels ones, shape (len(ones), labels + 1).

    ones: numbers of ones among the rows of the stratum.
    """
    rows = stratum.rows
    labels = stratum.labels
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, rows + 1.0)))])
    drawn = np.arange(labels + 1)
    total = np.asarray(ones)[:, None]
    zeros = rows - total
    possible = (drawn <= total) & (labels - drawn <= zeros)
    taken = np.minimum(drawn, total)
    rest = np.minimum(labels - drawn, zeros)
    size = (
        logs[total]
        - logs[taken]
        - logs[total - taken]
        + logs[zeros]
        - logs[rest]
        - logs[zeros - rest]
    )
    size -= logs[rows] - logs[labels] - logs[rows - labels]
    return np.where(possible, np.exp(size), 0.0)


def labels_needed(shares: Sequence[tuple[int, float]], threshold: float, level: float) -> int:
    """Return the labels at which a single look decides, if the shares of ones stay.

    All rows if no smaller number does. Either direction: their mean above or below the threshold.

    shares: rows and share of ones of each stratum, one or two.

    >>> labels_needed([(2000, 0.95)], 0.9, 0.05)
    114
    """
    rows = sum(size for size, _ in shares)
    mean = sum(size * share for size, share in shares) / rows
    if mean < threshold:
        shares = [(size, 1.0 - share) for size, share in shares]
        threshold = 1.0 - threshold
    most = math.floor(threshold * rows + _ROUNDING)

    def is_decided(labels: int) -> bool:
        counts = [round(labels * size / rows) for size, _ in shares]
        strata = [
            Stratum(size, count, round(share * count))
            for (size, share), count in zip(shares, counts, strict=True)
        ]
        return single_look_p_value(strata, most, level) <= level

    # The p-value falls with the number of labels but for rounding of the ones.
    return _bisect(1, rows, is_decided)
