"""One look at a whole list, which tells whether its order is unlike that of its shuffles.

Of every column two numbers are taken: its largest sum of deviations from the mean (CUSUM), which sees steps and drifts,
and its first autocorrelations (Ljung and Box 1978), which see rows that echo or alternate. Each is turned into its
exponent, -ln of the probability of so much in a long list, and the largest one speaks for the table. Its rank among those of
shuffles of the table says how surprising it is: in random order the table is one more shuffle, so the probability is right
for any length, any values and any ties (Besag and Clifford 1991).
"""

import math

import numpy as np

from tombola._types import Floats, Order, RngState
from tombola.engine.compiler import compile_loop
from tombola.rng import integers, new_rng

LAGS = 10
LONGEST = 10_000  # rows; of a longer list, means of as many rows in a row are looked at, and shuffled
KEPT = 4  # as many shuffles may come out as the table does before it counts as one of them
MOST = 100_000  # shuffles


def look(table: Floats, level: float, seed: np.random.SeedSequence) -> tuple[float, int]:
    """Return the probability of an order like this one, and the column that shows it most.

    It takes as many shuffles as it needs to tell whether the probability is at most `level`.

    >>> table = np.repeat([[0.0, 1.0], [1.0, 1.0]], 50, axis=0)
    >>> probability, column = look(table, 0.01, np.random.SeedSequence(0))
    >>> probability <= 0.01, column
    (True, 0)
    """
    shuffles = math.ceil(KEPT / level) - 1
    rows = prepared(table)
    if shuffles > MOST or not rows.size:
        return 1.0, 0
    own = np.zeros(rows.shape[1])
    arguments = (rows, np.arange(len(rows)), np.zeros(len(rows)), own, new_rng(seed), shuffles, KEPT)
    probability = compile_loop(compare, arguments)(*arguments)
    return float(probability), int(np.argmax(own))


def prepared(table: Floats) -> Floats:
    """Return the columns with mean 0 and mean square 1, or 0 where they are constant; long ones shortened."""
    each = -(-len(table) // LONGEST)
    rows = table[: len(table) // each * each].reshape(-1, each, table.shape[1]).mean(axis=1) if each > 1 else table
    off = rows - rows.mean(axis=0) if len(rows) else rows
    size = np.sqrt((off * off).mean(axis=0)) if len(rows) else 1.0
    return np.ascontiguousarray(np.where(size > 1e-9, off / np.maximum(size, 1e-9), 0.0))


def compare(rows: Floats, order: Order, line: Floats, own: Floats, rng: RngState, shuffles: int, kept: int) -> float:
    """Return the share of orders that are as striking as this one, which counts itself; enough to tell it from `kept`.

    What each column says of this order is written into `own`; `line` is a place for a column to stand in.
    """
    most = 0.0
    for column in range(own.size):
        stand(line, rows, order, column)
        own[column] = max(step_exponent(line), echo_exponent(line))
        most = max(most, own[column])
    found = 0
    for done in range(shuffles):
        for i in range(order.size - 1, 0, -1):
            j = integers(rng, i + 1)
            order[i], order[j] = order[j], order[i]
        if as_striking(line, rows, order, most - 1e-9):
            found += 1
        if found == kept:
            return kept / (done + 1.0)
    return (found + 1.0) / (shuffles + 1.0)


def as_striking(line: Floats, rows: Floats, order: Order, most: float) -> bool:
    """Tell whether any column in this order has so large an exponent."""
    for column in range(rows.shape[1]):
        stand(line, rows, order, column)
        if step_exponent(line) >= most or echo_exponent(line) >= most:
            return True
    return False


def stand(line: Floats, rows: Floats, order: Order, column: int) -> None:
    """Let a column stand in this order."""
    for i in range(order.size):
        line[i] = rows[order[i], column]


def step_exponent(line: Floats) -> float:
    """Return 2 D^2 - ln 2, D being the largest sum of deviations over sqrt(n): the tail of a Brownian bridge."""
    total = most = 0.0
    for i in range(line.size):
        total += line[i]
        most = max(most, abs(total))
    return 2.0 * most * most / line.size - math.log(2.0)


def echo_exponent(line: Floats) -> float:
    """Return -ln of the tail of chi-square, with as many degrees as lags, at the statistic of Ljung and Box."""
    n, half = float(line.size), 0.0
    for lag in range(1, min(LAGS + 1, line.size)):
        product = 0.0
        for i in range(lag, line.size):
            product += line[i] * line[i - lag]
        half += (n + 2.0) * product * product / (2.0 * n * (n - lag))
    term = tail = 1.0
    for i in range(1, LAGS // 2):
        term *= half / i
        tail += term
    return half - math.log(tail)
