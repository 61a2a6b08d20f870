"""Permutation test of random order on a complete list.

Two statistics per column: the largest partial sum of deviations from the mean (CUSUM), for steps
and drifts, and the first autocorrelations (Ljung and Box 1978), for rows that repeat or alternate.
Each is converted to its exponent, -ln of its asymptotic tail probability, and the statistic of the
table is the largest exponent. Its rank among the statistics of random shuffles gives the p-value:
in random order the list itself is one more shuffle, so the p-value is valid for any length, any
values and any ties (Besag and Clifford 1991).
"""

import math

import numpy as np

from tombola._types import Floats, Order, RngState
from tombola.engine.compiler import Workload, compile_loop
from tombola.rng import integers, new_rng

# Autocorrelations (lags 1 to 10) in the statistic of Ljung and Box; even, so that the tail has a
# closed form.
_N_LAGS = 10
# Longer lists are reduced to means of consecutive rows, which bounds the time of a shuffle.
_MAX_ROWS = 10_000
# Besag and Clifford's h: sampling stops once this many shuffles reach the statistic of the list,
# because the p-value is then known well enough.
_EXCEEDING_LIMIT = 4
# No test is run at a level that needs more shuffles (EXCEEDING_LIMIT / level): it would take too
# long.
_MAX_SHUFFLES = 100_000
# Columns with a standard deviation up to this count as constant: only rounding errors vary.
_MIN_DEVIATION = 1e-9


def permutation_test(
    table: Floats, level: float, seed: np.random.SeedSequence
) -> tuple[float, int]:
    """Return (p-value of random order, index of the column with the most evidence).

    `table` has shape (rows, columns). The statistic of a column is large for steps, drifts and
    autocorrelation; shuffles of the rows give its law. Draws as many shuffles as needed to decide
    whether the p-value is at most `level`. (1.0, 0) without a test if that would take more than
    100,000 shuffles, or the table is empty.

    >>> table = np.repeat([[0.0, 1.0], [1.0, 1.0]], 50, axis=0)
    >>> p_value, column = permutation_test(table, 0.01, np.random.SeedSequence(0))
    >>> p_value <= 0.01, column
    (True, 0)
    """
    shuffles = math.ceil(_EXCEEDING_LIMIT / level) - 1
    rows = _standardise(table)
    if shuffles > _MAX_SHUFFLES or not rows.size:
        return 1.0, 0
    statistics = np.zeros(rows.shape[1])
    scratch = np.zeros(len(rows))
    arguments = (
        rows,
        np.arange(len(rows)),
        scratch,
        statistics,
        new_rng(seed),
        shuffles,
        _EXCEEDING_LIMIT,
    )
    # In random order a tenth of the shuffles is more than usually needed; 4 us per row and 1 us per
    # value.
    with Workload(shuffles / 10 * len(rows) * (4e-6 + 1e-6 * rows.shape[1])).active():
        p_value = compile_loop(_sequential_p_value, arguments)(*arguments)
    return float(p_value), int(np.argmax(statistics))


def _standardise(table: Floats) -> Floats:
    """Return the columns of a table with mean 0 and variance 1; constant ones are 0.

    Lists of more than 10,000 rows are reduced to means of consecutive rows.
    """
    block = -(-len(table) // _MAX_ROWS)
    rows = (
        table[: len(table) // block * block].reshape(-1, block, table.shape[1]).mean(axis=1)
        if block > 1
        else table
    )
    off = rows - rows.mean(axis=0) if len(rows) else rows
    size = np.sqrt((off * off).mean(axis=0)) if len(rows) else 1.0
    return np.ascontiguousarray(
        np.where(size > _MIN_DEVIATION, off / np.maximum(size, _MIN_DEVIATION), 0.0)
    )


def _sequential_p_value(
    rows: Floats,
    order: Order,
    line: Floats,
    statistics: Floats,
    rng: RngState,
    shuffles: int,
    limit: int,
) -> float:
    """Return the sequential Monte Carlo p-value (Besag and Clifford 1991).

    It stops after `limit` shuffles of `order` with a statistic as large, or after all `shuffles`.
    `line` is scratch space for one column; `statistics` is output, one per column of `rows` in the
    first order.
    """
    most = 0.0
    for column in range(statistics.size):
        _copy_in_order(line, rows, order, column)
        statistics[column] = max(_step_exponent(line), _autocorrelation_exponent(line))
        most = max(most, statistics[column])
    exceeding = 0
    for done in range(shuffles):
        for i in range(order.size - 1, 0, -1):
            j = integers(rng, i + 1)
            order[i], order[j] = order[j], order[i]
        # Equal statistics, up to rounding, count as exceeding.
        if _exceeds(line, rows, order, most - 1e-9):
            exceeding += 1
        if exceeding == limit:
            return limit / (done + 1.0)
    return (exceeding + 1.0) / (shuffles + 1.0)


def _exceeds(line: Floats, rows: Floats, order: Order, threshold: float) -> bool:
    """Return whether any column reaches `threshold` in this order; `line` is scratch."""
    for column in range(rows.shape[1]):
        _copy_in_order(line, rows, order, column)
        if _step_exponent(line) >= threshold or _autocorrelation_exponent(line) >= threshold:
            return True
    return False


def _copy_in_order(line: Floats, rows: Floats, order: Order, column: int) -> None:
    """Write a column in this order into `line`."""
    for i in range(order.size):
        line[i] = rows[order[i], column]


def _step_exponent(line: Floats) -> float:
    """Return the exponent of the CUSUM statistic: 2 D^2 - ln 2.

    D = largest partial sum / sqrt(n); its tail probability is that of a Brownian bridge.
    """
    total = most = 0.0
    for i in range(line.size):
        total += line[i]
        most = max(most, abs(total))
    return 2.0 * most * most / line.size - math.log(2.0)


def _autocorrelation_exponent(line: Floats) -> float:
    """Return the exponent of the Ljung-Box statistic Q: -ln P(chi-square >= Q)."""
    n = float(line.size)
    half = 0.0
    for lag in range(1, min(_N_LAGS + 1, line.size)):
        product = 0.0
        for i in range(lag, line.size):
            product += line[i] * line[i - lag]
        half += (n + 2.0) * product * product / (2.0 * n * (n - lag))
    # For an even number of degrees 2 d the tail is exp(-Q/2) times the first d terms of the series
    # of exp(Q/2).
    term = tail = 1.0
    for i in range(1, _N_LAGS // 2):
        term *= half / i
        tail += term
    return half - math.log(tail)
