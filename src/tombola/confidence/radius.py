"""Half widths of two-sided intervals for the mean of values in [0, 1], as kernels (Bardenet and Maillard 2015)."""

import math

SHARE = 7.0  # two Bernstein tails of two events each, and three events for the deviation (Bardenet and Maillard 2015)
LINEAR = 7 / 3 + 3 / math.sqrt(2.0)


def hoeffding(count: float, level: float) -> float:
    """Half width sqrt(ln(2 / level) / (2 count)): with and without replacement (Hoeffding 1963).

    >>> round(hoeffding(100.0, 0.05), 4)
    0.1358
    """
    if count < 1.0:
        return 1.0
    return min(1.0, math.sqrt(math.log(2.0 / level) / (2.0 * count)))


def unseen(count: float, population: float) -> float:
    """Serfling's factor on the variance: about the share of the pool that is not yet seen; 0 when all of it is.

    The second form is the first one applied to the rows that are left.
    """
    return min(1.0 - (count - 1.0) / population, (1.0 - count / population) * (1.0 + 1.0 / count))


def serfling(count: float, population: float, level: float) -> float:
    """Half width sqrt(f ln(2 / level) / (2 count)) with f = `unseen`: a pool drawn without replacement.

    >>> round(serfling(100.0, 1000.0, 0.05), 4)
    0.1289
    """
    if count < 1.0:
        return 1.0
    if count >= population:
        return 0.0
    return min(1.0, math.sqrt(unseen(count, population) * math.log(2.0 / level) / (2.0 * count)))


def bernstein_serfling(count: float, population: float, variance: float, level: float) -> float:
    """Half width sqrt(2 f v l / count) + c l / count with l = ln(7 / level), c = 7/3 + 3/sqrt(2) and f = `unseen`.

    `variance` is the empirical one, the mean of the squared distances from the mean (divisor `count`).

    >>> round(bernstein_serfling(1000.0, 10000.0, 0.01, 0.05), 4)
    0.0314
    """
    if count < 1.0:
        return 1.0
    if count >= population:
        return 0.0
    depth = math.log(SHARE / level)
    spread = math.sqrt(2.0 * unseen(count, population) * max(variance, 0.0) * depth / count)
    return min(1.0, spread + LINEAR * depth / count)
