"""Decision stumps: one feature, one cut, either side (Iba and Langley 1992)."""

from dataclasses import dataclass
from math import comb, inf
from typing import ClassVar

from tombola import _validate
from tombola.classification.classes.line import LineClass


@dataclass(frozen=True)
class Stumps(LineClass):
    """Label by one cut on one feature: h(x) = [x_f >= c] or h(x) = [x_f < c].

    `features` is their number, d. The VC dimension is the largest v with C(v, floor(v/2)) <= 2 d (Gey 2018, "Vapnik-
    Chervonenkis dimension of axis-parallel cuts"): about log2 d.

    >>> Stumps(1).vc, Stumps(2).vc, Stumps(30).vc, Stumps(64).vc
    (2, 3, 7, 9)
    """

    features: int
    entries: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _validate.integer("Stumps", "features", self.features, least=1)

    @property
    def dimensions(self) -> int | None:
        """The number of features of a row."""
        return self.features

    @property
    def switches(self) -> int:
        """Return 1: labels along a feature change once."""
        return 1

    @property
    def vc(self) -> int | None:
        """The VC dimension: the largest d with C(d, floor(d/2)) <= 2 * features."""
        size = 1
        while comb(size + 1, (size + 1) // 2) <= 2 * self.features:
            size += 1
        return size

    def growth(self, points: int) -> int | None:
        """Return the largest number of labellings of n points by stumps.

        points: n.
        """
        return sum(min(comb(points, size), 2 * self.features) for size in range(points + 1))

    def littlestone(self, points: int | None = None) -> float | None:
        """Return infinity; None (unknown) for a limited number of points."""
        return inf if points is None else None
