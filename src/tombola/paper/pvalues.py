"""P-values of the checks of a verdict.

A p-value is P(data at least this extreme) if the statement is true.

A check is rejected if its p-value is at most its share of alpha, so a true statement is rejected
with at most that probability. An exact statement has the p-value 0 or 1. Power is tested by fault
injection (`tombola.paper.runner`).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from scipy.special import bdtrc, chdtr, chdtrc, stdtr, stdtrit

from tombola import _statistics
from tombola._types import Floats
from tombola.paper.rows import Rows, distinct, select

# Absolute tolerance of comparisons between computed values: above the rounding errors of sums over
# 10^6 rounds.
ROUNDING = 1e-9
# Least number of cells for which counts that are too even are rejected. Few cells are often
# perfectly even.
_MIN_COUNTS_FOR_EVENNESS = 16


def exact(statement: bool) -> float:  # noqa: FBT001 - a statement, not a switch
    """Return the p-value of a computed statement: 1 if it is true, 0 if not."""
    return 1.0 if statement else 0.0


def mean_at_most(values: Floats, limit: float) -> float:
    """Return the p-value of "the mean is at most the limit" (t, one-sided).

    It is 1 for a single value, which has no standard error.

    values: independent samples, such as the regrets of several plays.

    >>> round(mean_at_most(np.array([1.0, 2.0, 3.0]), limit=1.0), 4), mean_at_most(np.array([1.0, 1.0]), limit=1.0)
    (0.1127, 1.0)
    """
    mean = float(np.mean(values))
    tolerance = ROUNDING * max(1.0, abs(limit))
    if mean <= limit + tolerance or values.size < 2:
        return 1.0
    error = float(np.std(values, ddof=1)) / math.sqrt(values.size)
    return float(stdtr(values.size - 1, (limit - mean) / error)) if error > 0 else 0.0


def means_at_most(
    rows: Rows, by: Sequence[str], limit: Callable[..., float], column: str = "regret"
) -> tuple[list[float], float]:
    """Return a p-value of `mean_at_most` per setting, and the largest mean / limit.

    rows: measurements of a claim, column -> value.
    by: columns of a setting; the mean is over all rows with the same values of them.
    limit: values of these columns -> limit, such as a bound on the regret.

    >>> means_at_most([{"T": 4, "regret": 1.0}, {"T": 4, "regret": 3.0}], ["T"], lambda T: T)
    ([1.0], 0.5)
    """
    checks = []
    shares = []
    for setting in distinct(rows, *by):
        values = select(rows, column, **dict(zip(by, setting, strict=True)))
        most = limit(*setting)
        checks.append(mean_at_most(values, most))
        shares.append(float(values.mean()) / most)
    return checks, max(shares)


def mean_equals(values: Floats, mean: float) -> float:
    """Return the p-value of "the true mean is this one" (Student's t, two-sided).

    >>> round(mean_equals(np.array([1.0, 2.0, 3.0]), mean=3.0), 4)
    0.2254
    """
    return min(1.0, 2 * min(mean_at_most(values, mean), mean_at_most(-values, -mean)))


def binomial_tail(misses: int, plays: int, probability: float) -> float:
    """Return the p-value of "the miss probability is at most p": P(X >= misses).

    >>> round(binomial_tail(3, plays=20, probability=0.05), 4), binomial_tail(0, plays=20, probability=0.05)
    (0.0755, 1.0)
    """
    return 1.0 if misses <= 0 else float(bdtrc(misses - 1, plays, probability))


def binomial_equals(hits: int, plays: int, probability: float) -> float:
    """Return the p-value of "the hit probability is p" (binomial, two-sided).

    >>> binomial_equals(5, plays=10, probability=0.5), round(binomial_equals(10, plays=10, probability=0.5), 5)
    (1.0, 0.00195)
    """
    lower, upper = (
        binomial_tail(plays - hits, plays, 1 - probability),
        binomial_tail(hits, plays, probability),
    )
    return min(1.0, 2 * min(lower, upper))


def counts_uniform(counts: Floats) -> float:
    """Return the p-value of "all cells are equally likely" (chi-square, two-sided).

    Counts that are too even are rejected too, if there are enough cells to tell. It is 1 for fewer
    than two cells and for no counts at all.

    >>> counts_uniform(np.array([0.0, 100.0])) < 1e-9, counts_uniform(np.full(50, 10.0)) < 1e-9
    (True, True)
    """
    expected = float(np.mean(counts))
    if counts.size < 2 or expected == 0:
        return 1.0
    statistic = float(np.sum((counts - expected) ** 2)) / expected
    uneven = float(chdtrc(counts.size - 1, statistic))
    too_even = float(chdtr(counts.size - 1, statistic))
    return min(1.0, 2 * min(uneven, too_even if counts.size >= _MIN_COUNTS_FOR_EVENNESS else 1.0))


def growth(
    relation: Literal["at most", "at least"],
    horizons: Sequence[float],
    regrets: list[Floats],
    limits: Sequence[float],
) -> float:
    """Return the p-value of "mean regret grows at most (or least) as fast as limits".

    The slopes of both in log T are compared (regression of logarithms, Student's t). The p-value is
    1, so that nothing is rejected, for fewer than three horizons, and if a mean regret is not
    positive.

    regrets: `regrets[i]` are the regrets of the plays at `horizons[i]`.
    limits: the rate that is tested, at each horizon; its slope counts, not its size.

    >>> regrets = [T * np.linspace(0.9, 1.1, 20) for T in (10, 100, 1000)]
    >>> [growth(relation, [10, 100, 1000], regrets, [3, 10, 32]) < 1e-6 for relation in ("at most", "at least")]
    [True, False]
    """
    x = np.array(horizons, dtype=np.float64)
    # No slope without three horizons, and no logarithm of a mean that is not positive: the check
    # passes.
    if x.size < 3 or min(float(np.mean(values)) for values in regrets) <= 0:
        return 1.0
    estimate = _statistics.slope(x, regrets)
    allowed = float(np.polyfit(np.log(x), np.log(np.array(limits, dtype=np.float64)), 1)[0])
    excess = estimate.value - allowed
    error = estimate.half_width / float(
        stdtrit(x.size - 2, 0.975)
    )  # the half width is a 95 % t interval
    degrees = sum(values.size - 1 for values in regrets)
    return float(
        min(
            1.0, 2 * stdtr(degrees, -max(0.0, excess if relation == "at most" else -excess) / error)
        )
    )


def bonferroni(pvalues: Iterable[float]) -> float:
    """Return the p-value of "all statements are true": smallest times count.

    It is at most 1.

    pvalues: one per statement.

    >>> bonferroni([0.2, 0.01, 1.0])
    0.03
    """
    all_values = list(pvalues)
    return min(1.0, len(all_values) * min(all_values, default=1.0))
