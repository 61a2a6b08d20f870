"""Half-planes, with an exact search of the minimiser."""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats
from tombola.classification.classes.base import HypothesisClass, Ties
from tombola.classification.classes.plane import PlaneERM, run_compiled


@dataclass(frozen=True)
class Halfplanes(HypothesisClass):
    """Label 1 on one side of a line. Ties go to the first line found.

    A line through two points seen is tilted as little as you like about a point on it, so that points on the line may
    go to either side. The search is exact as far as float64 can tell on which side of a line a point lies: always
    for whole numbers up to 2^25.

    >>> Halfplanes().vc, Halfplanes().growth(4)
    (3, 14)
    """

    @property
    def dimensions(self) -> int | None:
        return 2

    @property
    def vc(self) -> int | None:
        return 3

    def growth(self, points: int) -> int | None:
        return points * points - points + 2 if points else 1

    def littlestone(self, points: int | None = None) -> float | None:
        return np.inf if points is None else None

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> PlaneERM:
        return PlaneERM(_find_halfplane, _in_halfplane)


def _find_halfplane(points: Floats, gains: Floats) -> Floats:
    """Return a half-plane of largest gain: two points of its line, side, part.

    A side of 0 stands for all of the plane or none of it. `_in_halfplane` evaluates the result.

    points: shape (n, 2).
    gains: of label 1 over label 0 at each point, shape (n,).
    """
    everything = float(gains.sum())
    found = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0 if everything > 0 else 0.0, 0.0])
    run_compiled(_best_halfplane, points, gains, np.zeros(gains.size), found, np.array([max(everything, 0.0)]))
    return found


def _best_halfplane(points: Floats, gains: Floats, along: Floats, found: Floats, best: Floats) -> None:
    """Search all lines through two points for the largest gain; a kernel.

    points, gains: as in `_find_halfplane`.
    along: scratch space, position of each point on the line; infinite for points off the line.
    found: output, the half-plane.
    best: output, its gain, shape (1,).
    """
    for first in range(gains.size):
        for second in range(first + 1, gains.size):
            x, y = points[first, 0], points[first, 1]
            dx, dy = points[second, 0] - x, points[second, 1] - y
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
                    _try_halfplane(found, best, above + ahead, (x, y, dx, dy, 1.0, along[split], 1.0))
                    _try_halfplane(found, best, above + behind, (x, y, dx, dy, 1.0, along[split], -1.0))
                    _try_halfplane(found, best, below + ahead, (x, y, dx, dy, -1.0, along[split], 1.0))
                    _try_halfplane(found, best, below + behind, (x, y, dx, dy, -1.0, along[split], -1.0))
            _try_halfplane(found, best, above, (x, y, dx, dy, 1.0, np.inf, 1.0))
            _try_halfplane(found, best, below, (x, y, dx, dy, -1.0, np.inf, 1.0))


def _gains_along_line(along: Floats, gains: Floats, split: int) -> tuple[float, float]:
    """Return the gains on the line from a point on, and up to it, both inclusive.

    along: position of each point on the line, infinite for points off the line.
    gains: of label 1 over label 0 at each point.
    split: index of the point.
    """
    ahead, behind = 0.0, 0.0
    for other in range(gains.size):
        if along[other] < np.inf:
            if along[other] >= along[split]:
                ahead += gains[other]
            if along[other] <= along[split]:
                behind += gains[other]
    return ahead, behind


def _try_halfplane(found: Floats, best: Floats, gain: float, plane: tuple[float, ...]) -> None:
    """Store a half-plane if its gain is larger than that of all before.

    found, best: output, half-plane and its gain.
    gain, plane: of the candidate.
    """
    if gain > best[0]:
        best[0] = gain
        for index in range(7):
            found[index] = plane[index]


def _in_halfplane(found: Floats, row: Floats) -> int:
    """Return the label of a row by a half-plane; a kernel.

    found: as returned by `_find_halfplane`.
    row: features, shape (2,).
    """
    x, y, dx, dy, way, split, part = found.tolist()
    if way == 0.0:
        return int(split)
    side = dx * (float(row[1]) - y) - dy * (float(row[0]) - x)
    if side != 0.0:
        return int(side * way > 0.0)
    return int(part * (dx * (float(row[0]) - x) + dy * (float(row[1]) - y) - split) >= 0.0)
