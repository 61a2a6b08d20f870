"""Regret bound of ERM over policies (Theorem C2, docs/theory/context.md)."""

import math

from tombola import _validate


def training_rows(horizon: int, growth: float) -> list[int]:
    """Return the numbers of rows seen at which policies are trained.

    They increase from 1, and are below T.

    horizon: T, number of rows.
    growth: factor of the rows seen between two trainings.

    >>> training_rows(12, 1.5)
    [1, 2, 3, 4, 6, 9]
    """
    found, n = [], 1
    while n < horizon:
        found.append(n)
        n = max(n + 1, int(growth * n))
    return found


def erm_policies(horizon: int, restrictions: float, growth: float = 1.5) -> float:
    """Bound the regret of ERM over policies in random order.

    It is 1 + the sum of L sqrt((1 + 1/n) T ln N / (2 n (T - n))) over blocks of L rounds, trained on n rows.

    horizon: T, number of rows.
    restrictions: N, number of different policies on this list.
    growth: factor of the rows seen between two trainings.

    >>> round(erm_policies(256, 257), 1)
    74.6
    """
    _validate.integer("erm_policies", "horizon", horizon, least=1)
    _validate.real("erm_policies", "growth", growth, above=1)
    starts = training_rows(horizon, growth)
    total = 1.0
    for n, end in zip(starts, [*starts[1:], horizon], strict=True):
        total += (end - n) * math.sqrt((1 + 1 / n) * horizon * math.log(restrictions) / (2 * n * (horizon - n)))
    return total
