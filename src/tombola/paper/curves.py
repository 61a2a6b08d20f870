"""Curves for the charts of claims: means, exact values, reference lines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tombola import _statistics
from tombola._types import Floats
from tombola.paper.rows import Rows, levels, select
from tombola.report.chart import Band, Line
from tombola.report.figures import MAX_MARKED_POINTS


def mean_band(rows: Rows, name: str, over: str, column: str, **where: Any) -> Band:
    """Return the means of a column with 95 % intervals, one point per x-value.

    rows: measurements of a claim, column -> value; several, such as repeated plays, per value of
        `over`.
    name: of the curve in the legend.
    over, column: columns of the x-axis and of the y-axis.
    where: columns with their required values; other rows are ignored.
    """
    at = levels(rows, over, **where)
    means = [_statistics.mean(select(rows, column, **{over: x}, **where)) for x in at]
    return Band(
        name,
        np.array(at, dtype=np.float64),
        *(np.array([mean[i] for mean in means]) for i in range(3)),
    )


def exact_band(name: str, x: Floats, y: Floats) -> Band:
    """Return exact values as a curve with intervals of width 0."""
    return Band(name, x, y, y, y)


def exact_column(rows: Rows, name: str, over: str, column: str, **where: Any) -> Band:
    """Return a column of exact values as `mean_band` does, with intervals of width 0.

    Parameters are those of `mean_band`.

    >>> exact_column([{"T": 4, "regret": 2.5}, {"T": 2, "regret": 1.5}], "exact", "T", "regret").middle.tolist()
    [1.5, 2.5]
    """
    at = levels(rows, over, **where)
    values = [select(rows, column, **{over: x}, **where).mean() for x in at]
    return exact_band(name, np.array(at, dtype=np.float64), np.array(values))


def reference_lines(
    at: Sequence[float], curves: Mapping[str, Callable[[Any], float]]
) -> tuple[Line, ...]:
    """Return named functions, such as bounds, as lines of a chart.

    at: x-values.
    curves: name in the legend -> function of x.

    >>> [line.y.tolist() for line in reference_lines([1, 4], {"√T": lambda T: T**0.5, "T": float})]
    [[1.0, 2.0], [1.0, 4.0]]
    """
    x = np.array(at, dtype=np.float64)
    return tuple(
        Line(name, x, np.array([curve(place) for place in at], dtype=np.float64))
        for name, curve in curves.items()
    )


def spikes(name: str, x: Floats, y: Floats, base: float) -> Band:
    """Return a curve of vertical segments, from the height `base` to each value.

    NaN between the segments keeps them apart.

    >>> spikes("ratio", np.array([3.0]), np.array([0.5]), base=1.0).middle[:4].tolist()
    [1.0, 0.5, nan, nan]
    """
    heights = np.column_stack([np.full(x.size, base), y, np.full(x.size, np.nan)]).ravel()
    # Curves of at most POINTS points get markers, which a spike must not have: pad with gaps.
    padded_x = np.append(np.repeat(x, 3), np.repeat(x[-1:], MAX_MARKED_POINTS))
    return exact_band(name, padded_x, np.append(heights, np.full(MAX_MARKED_POINTS, np.nan)))
