"""Rows of claims: filter them, and read their columns."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats

# One measurement of a unit, such as {"T": 1024, "play": 0, "regret": 12.5}: column -> JSON value. A
# row usually repeats the settings of its unit.
Row: TypeAlias = Mapping[str, Any]
# Rows of all units of a claim, in any order: the table that the verdict and the chart read.
Rows: TypeAlias = Sequence[Row]


def matching(rows: Rows, **where: Any) -> Rows:
    """Return the rows (measurements of a claim) that have these values of columns.

    >>> matching([{"T": 2, "play": 0}, {"T": 4, "play": 0}], T=4)
    [{'T': 4, 'play': 0}]
    """
    return [row for row in rows if all(row[name] == value for name, value in where.items())]


def select(rows: Rows, column: str, **where: Any) -> Floats:
    """Return one column of the `matching` rows, as a float64 array in row order.

    >>> select([{"T": 2, "regret": 1.5}, {"T": 4, "regret": 2.5}], "regret", T=4).tolist()
    [2.5]
    """
    return np.array([row[column] for row in matching(rows, **where)], dtype=np.float64)


def levels(rows: Rows, column: str, **where: Any) -> list[Any]:
    """Return the distinct values of a column of the `matching` rows, sorted.

    >>> levels([{"T": 4}, {"T": 2}, {"T": 4}], "T")
    [2, 4]
    """
    return sorted({row[column] for row in matching(rows, **where)})


def distinct(rows: Rows, *columns: str) -> list[tuple[Any, ...]]:
    """Return the distinct tuples of values of several columns, sorted.

    >>> distinct([{"T": 4, "k": 2}, {"T": 2, "k": 3}, {"T": 4, "k": 2}], "T", "k")
    [(2, 3), (4, 2)]
    """
    return sorted({tuple(row[name] for name in columns) for row in rows})


def slope(rows: Rows, over: str, column: str, **where: Any) -> Estimate:
    """Return the slope of log mean(column) on log(over), with its 95 % interval.

    Raises ParameterError for fewer than three values of `over`, and if a mean is not positive.

    rows: measurements of a claim, column -> value.
    over: column of the x-axis, such as the horizon; positive numbers, with several rows each.
    where: columns with their required values; other rows are ignored.
    """
    at = levels(rows, over, **where)
    values = [select(rows, column, **{over: x}, **where) for x in at]
    return _statistics.slope(np.array(at, dtype=np.float64), values)
