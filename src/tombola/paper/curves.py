"""Curves of a chart that carry no noise: exact values, lines to compare with, and spikes from a base line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.paper.base import Measures, levels, pick
from tombola.report.chart import Band, Line
from tombola.report.figures import POINTS


def certain(name: str, x: Floats, y: Floats) -> Band:
    """Return exact values as a curve; its interval is the value itself.

    >>> certain("exact", np.array([1.0, 2.0]), np.array([3.0, 4.0])).low.tolist()
    [3.0, 4.0]
    """
    return Band(name, x, y, y, y)


def exactly(rows: Measures, name: str, over: str, column: str, **where: Any) -> Band:
    """Return a column that was computed, over the levels of another, as a curve.

    >>> exactly([{"T": 4, "regret": 2.5}, {"T": 2, "regret": 1.5}], "exact", "T", "regret").middle.tolist()
    [1.5, 2.5]
    """
    at = levels(rows, over, **where)
    values = [pick(rows, column, **{over: x}, **where)[0] for x in at]
    return certain(name, np.array(at, dtype=np.float64), np.array(values))


def lines(at: Sequence[float], curves: Mapping[str, Callable[[Any], float]]) -> tuple[Line, ...]:
    """Return lines to compare with, each by its name and what it is at these places.

    >>> [line.y.tolist() for line in lines([1, 4], {"√T": lambda T: T**0.5, "T": float})]
    [[1.0, 2.0], [1.0, 4.0]]
    """
    x = np.array(at, dtype=np.float64)
    return tuple(
        Line(name, x, np.array([curve(place) for place in at], dtype=np.float64)) for name, curve in curves.items()
    )


def spikes(name: str, x: Floats, y: Floats, base: float) -> Band:
    """Return one upright line for each value, from the base line to it, not joined to its neighbours.

    Short curves have markers; the gaps at the end make it a long one, since a spike needs none.

    >>> spikes("ratio", np.array([3.0]), np.array([0.5]), base=1.0).middle[:4].tolist()
    [1.0, 0.5, nan, nan]
    """
    heights = np.column_stack([np.full(x.size, base), y, np.full(x.size, np.nan)]).ravel()
    return certain(
        name, np.append(np.repeat(x, 3), np.repeat(x[-1:], POINTS)), np.append(heights, np.full(POINTS, np.nan))
    )
