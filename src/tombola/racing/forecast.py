"""Forecast: how many more rows a race probably takes. Measured to be about right, not proved; a guess to plan by."""

import math

from tombola.racing.bets import SAFE
from tombola.racing.elimination import Elimination


def rows_needed(field: Elimination) -> int | None:
    """Return about how many more rows it takes, if the differences stay as they are; None before the first row.

    A difference of mean D and variance v takes n = 2 v ln(1 / level) / D^2 rows of an endless list, and n / (1 + n / N)
    of one of N rows. However small v is, no row multiplies a wealth by more than about 1 + D, for the next might be the
    worst possible: at least n = ln(1 / level) / ln(1 + D) rows, and N (1 - exp(-n / N)) of a list of N rows.
    """
    if field.done:
        return 0
    if field.seen == 0:
        return None
    return min(max([1, *(_more(field, *question) for question in field.doubts())]), field.rows - field.seen)


def _more(field: Elimination, edge: float, variance: float, goal: float) -> int:
    if edge <= 0.0:
        return field.rows - field.seen
    noisy = 2.0 * max(variance, edge * edge) * math.log(goal) / (edge * edge)
    capped, length = math.log(goal) / math.log1p(SAFE * edge), field.population
    least = capped if length == math.inf else -length * math.expm1(-capped / length)
    return math.ceil(max(noisy / (1.0 + noisy / length), least)) - field.seen
