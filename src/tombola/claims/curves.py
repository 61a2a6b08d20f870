"""Curves of a chart that carry no noise: exact values, and spikes from a base line."""

import numpy as np

from tombola.report.chart import Band
from tombola.report.figures import POINTS
from tombola.types import Floats


def certain(name: str, x: Floats, y: Floats) -> Band:
    """Return exact values as a curve; its interval is the value itself.

    >>> certain("exact", np.array([1.0, 2.0]), np.array([3.0, 4.0])).low.tolist()
    [3.0, 4.0]
    """
    return Band(name, x, y, y, y)


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
