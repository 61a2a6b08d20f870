"""Axis-aligned rectangles in the plane, searched exactly."""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats
from tombola.classification.classes.base import HypothesisClass, Ties
from tombola.classification.classes.plane import PlaneERM, run_compiled


@dataclass(frozen=True)
class Rectangles(HypothesisClass):
    """Label 1 inside an axis-aligned rectangle, or nowhere.

    Ties go to the first rectangle from left to right.

    >>> Rectangles().vc
    4
    """

    @property
    def dimensions(self) -> int | None:
        return 2

    @property
    def vc(self) -> int | None:
        return 4

    def littlestone(self, points: int | None = None) -> float | None:
        return np.inf if points is None else None

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> PlaneERM:
        return PlaneERM(_find_rectangle, _in_rectangle)


def _find_rectangle(points: Floats, gains: Floats) -> Floats:
    """Return (left, right, bottom, top) of a rectangle of largest gain.

    An empty rectangle has left > right.

    points: shape (n, 2).
    gains: of label 1 over label 0 at each point, shape (n,).
    """
    levels, ranks = np.unique(points[:, 1], return_inverse=True)
    found = np.array([1.0, 0.0, 1.0, 0.0])
    run_compiled(_best_rectangle, points, gains, ranks.astype(np.float64), levels, np.zeros(levels.size), found)
    return found


def _best_rectangle(points: Floats, gains: Floats, ranks: Floats, levels: Floats, sums: Floats, found: Floats) -> None:
    """Search all pairs of sides by Kadane's scan; a kernel.

    points, gains: sorted by x.
    ranks, levels: rank of each y, and the distinct values of y.
    sums: scratch space, gains by level.
    found: output, the rectangle.
    """
    best = 0.0
    for left in range(gains.size):
        if left > 0 and points[left, 0] == points[left - 1, 0]:
            continue
        for level in range(sums.size):
            sums[level] = 0.0
        for right in range(left, gains.size):
            sums[int(ranks[right])] += gains[right]
            if right + 1 < gains.size and points[right + 1, 0] == points[right, 0]:
                continue
            total, start = 0.0, 0
            for level in range(sums.size):
                if total <= 0.0:
                    total, start = 0.0, level
                total += sums[level]
                if total > best:
                    best = total
                    found[0], found[1] = points[left, 0], points[right, 0]
                    found[2], found[3] = levels[start], levels[level]


def _in_rectangle(found: Floats, row: Floats) -> int:
    """Return the label of a row by a rectangle, its border included; a kernel.

    found: as returned by `_find_rectangle`.
    """
    return int(found[0] <= row[0] <= found[1] and found[2] <= row[1] <= found[3])
