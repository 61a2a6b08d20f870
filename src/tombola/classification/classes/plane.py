"""Classes in the plane, rectangles and half-planes, searched exactly.

A search takes about n^3 small steps for n different points. It is repeated only after a mistake,
because a minimiser that labels a new row correctly is still one. It is meant for a few thousand
rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass, Ties
from tombola.engine.compiler import compile_loop


class _PlaneERM:
    """Search a class in the plane again whenever its hypothesis was wrong."""

    def __init__(
        self, search: Callable[[Floats, Floats], Floats], label: Callable[[Floats, Floats], int]
    ) -> None:
        self._search = search
        self._label = label
        self._gains: dict[tuple[float, float], float] = {}
        self._found: Floats | None = None

    def learn(self, row: Floats, label: int, weight: float) -> None:
        point = (float(row[0]), float(row[1]))
        self._gains[point] = self._gains.get(point, 0.0) + (weight if label == 1 else -weight)
        if self._found is not None and self._label(self._found, row) != label:
            self._found = None

    def predict(self, row: Floats, rng: RngState) -> int:
        if not self._gains:
            return 0
        if self._found is None:
            points = sorted(self._gains)
            self._found = self._search(
                np.array(points), np.array([self._gains[point] for point in points])
            )
        return self._label(self._found, row)


@dataclass(frozen=True)
class _PlaneClass(HypothesisClass):
    """Base class of classes of rows with two features."""

    dimensions: ClassVar[int | None] = 2

    def littlestone(self, points: int | None = None) -> float | None:
        return np.inf if points is None else None


@dataclass(frozen=True)
class Rectangles(_PlaneClass):
    """Hypothesis class: label 1 inside an axis-aligned rectangle, or nowhere.

    Rows have two features. Of several rectangles of smallest error, the leftmost predicts: smallest
    left side, then smallest right side.

    >>> Rectangles().vc
    4
    """

    vc: ClassVar[int | None] = 4

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> _PlaneERM:
        return _PlaneERM(_find_rectangle, _in_rectangle)


def _find_rectangle(points: Floats, gains: Floats) -> Floats:
    """Return (left, right, bottom, top) of a best rectangle; left > right if empty."""
    levels, ranks = np.unique(points[:, 1], return_inverse=True)
    rectangle = np.array([1.0, 0.0, 1.0, 0.0])
    arguments = (points, gains, ranks.astype(np.float64), levels, np.zeros(levels.size), rectangle)
    compile_loop(_best_rectangle, arguments)(*arguments)
    return rectangle


def _best_rectangle(
    points: Floats, gains: Floats, ranks: Floats, levels: Floats, sums: Floats, rectangle: Floats
) -> None:
    """Search all pairs of sides by Kadane's scan for the `rectangle`; a kernel.

    points, gains: sorted by x. ranks, levels: rank of each y, and the distinct values of y. sums:
        scratch space.
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
            total = 0.0
            start = 0
            for level in range(sums.size):
                if total <= 0.0:
                    total = 0.0
                    start = level
                total += sums[level]
                if total > best:
                    best = total
                    rectangle[0] = points[left, 0]
                    rectangle[1] = points[right, 0]
                    rectangle[2] = levels[start]
                    rectangle[3] = levels[level]


def _in_rectangle(rectangle: Floats, row: Floats) -> int:
    """Return the label of a row by a rectangle, its border included; a kernel."""
    return int(rectangle[0] <= row[0] <= rectangle[1] and rectangle[2] <= row[1] <= rectangle[3])


@dataclass(frozen=True)
class Halfplanes(_PlaneClass):
    """Hypothesis class: label 1 on one side of a line in the plane.

    Rows have two features. Ties go to the first line found. The minimiser tries all lines through
    two points seen. Points on the line may go to either side, because a line can be tilted by an
    arbitrarily small angle. The search is exact as far as float64 can tell on which side of a line
    a point lies: always for whole numbers up to 2^25.

    >>> Halfplanes().vc, Halfplanes().growth(4)
    (3, 14)
    """

    vc: ClassVar[int | None] = 3

    def growth(self, points: int) -> int | None:
        return points * points - points + 2 if points else 1

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> _PlaneERM:
        return _PlaneERM(_find_halfplane, _in_halfplane)


def _find_halfplane(points: Floats, gains: Floats) -> Floats:
    """Return a half-plane of largest gain: two points of its line, side, part.

    A side of 0 stands for all of the plane or none of it.
    """
    everything = float(gains.sum())
    halfplane = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0 if everything > 0 else 0.0, 0.0])
    arguments = (points, gains, np.zeros(gains.size), halfplane, np.array([max(everything, 0.0)]))
    compile_loop(_best_halfplane, arguments)(*arguments)
    return halfplane


def _best_halfplane(
    points: Floats, gains: Floats, along: Floats, halfplane: Floats, best: Floats
) -> None:
    """Search all lines through two points for the `halfplane`; a kernel.

    along: scratch space, position of each point on the line, infinite off the line. best: output,
        its gain.
    """
    for first in range(gains.size):
        for second in range(first + 1, gains.size):
            x, y = points[first, 0], points[first, 1]
            dx = points[second, 0] - x
            dy = points[second, 1] - y
            above, below = 0.0, 0.0
            for other in range(gains.size):
                side = dx * (points[other, 1] - y) - dy * (points[other, 0] - x)
                along[other] = np.inf
                if side > 0.0:
                    above += gains[other]
                elif side < 0.0:
                    below += gains[other]
                else:
                    along[other] = dx * (points[other, 0] - x) + dy * (points[other, 1] - y)
            for split in range(gains.size):
                if along[split] < np.inf:
                    ahead, behind = _gains_along_line(along, gains, split)
                    _try_halfplane(
                        halfplane, best, above + ahead, (x, y, dx, dy, 1.0, along[split], 1.0)
                    )
                    _try_halfplane(
                        halfplane, best, above + behind, (x, y, dx, dy, 1.0, along[split], -1.0)
                    )
                    _try_halfplane(
                        halfplane, best, below + ahead, (x, y, dx, dy, -1.0, along[split], 1.0)
                    )
                    _try_halfplane(
                        halfplane, best, below + behind, (x, y, dx, dy, -1.0, along[split], -1.0)
                    )
            _try_halfplane(halfplane, best, above, (x, y, dx, dy, 1.0, np.inf, 1.0))
            _try_halfplane(halfplane, best, below, (x, y, dx, dy, -1.0, np.inf, 1.0))


def _gains_along_line(along: Floats, gains: Floats, split: int) -> tuple[float, float]:
    """Return the gains on the line from the point `split` on, and up to it, inclusive."""
    ahead = 0.0
    behind = 0.0
    for other in range(gains.size):
        if along[other] < np.inf:
            if along[other] >= along[split]:
                ahead += gains[other]
            if along[other] <= along[split]:
                behind += gains[other]
    return ahead, behind


def _try_halfplane(halfplane: Floats, best: Floats, gain: float, plane: tuple[float, ...]) -> None:
    """Store a half-plane in `halfplane` if its gain is larger than `best`."""
    if gain > best[0]:
        best[0] = gain
        for index in range(7):
            halfplane[index] = plane[index]


def _in_halfplane(halfplane: Floats, row: Floats) -> int:
    """Return the label of a row by a half-plane of `_find_halfplane`."""
    x, y, dx, dy, way, split, part = halfplane.tolist()
    if way == 0.0:
        return int(split)
    side = dx * (float(row[1]) - y) - dy * (float(row[0]) - x)
    if side != 0.0:
        return int(side * way > 0.0)
    return int(part * (dx * (float(row[0]) - x) + dy * (float(row[1]) - y) - split) >= 0.0)
