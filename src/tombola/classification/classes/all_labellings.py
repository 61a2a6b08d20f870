"""All labellings of a finite domain, a class that cannot be learned."""

from dataclasses import dataclass
from typing import ClassVar

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass, Ties, sauer_shelah


@dataclass(frozen=True)
class AllLabellings(HypothesisClass):
    """Every labelling of `points` points; a row has one feature, its point.

    The minimiser labels a point by the majority of its labels; ties, and points never seen, are 0 if `ties` is "first"
    and 1 if it is "last".

    >>> AllLabellings(99).vc, AllLabellings(3).growth(2), AllLabellings(3).littlestone()
    (99, 4, 3)
    """

    points: int
    ties: ClassVar[tuple[Ties, ...]] = ("first", "last")

    def __post_init__(self) -> None:
        _validate.integer("AllLabellings", "points", self.points, least=1)

    @property
    def vc(self) -> int | None:
        return self.points

    def growth(self, points: int) -> int | None:
        return sauer_shelah(min(points, self.points), self.points)

    def littlestone(self, points: int | None = None) -> float | None:
        return self.points if points is None else min(points, self.points)

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> "_MajorityERM":
        return _MajorityERM(otherwise=int(ties == "last"))


class _MajorityERM:
    """Count the labels of every point, and predict their majority.

    otherwise: label for ties and for points never seen.
    """

    def __init__(self, otherwise: int) -> None:
        self._otherwise = otherwise
        self._gains: dict[tuple[float, ...], float] = {}

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Count the label of the point of a row, with this weight."""
        point = tuple(row.tolist())
        self._gains[point] = self._gains.get(point, 0.0) + (weight if label == 1 else -weight)

    def predict(self, row: Floats, rng: RngState) -> int:
        """Return the majority label of the point of a row; `rng` is unused."""
        gain = self._gains.get(tuple(row.tolist()), 0.0)
        return self._otherwise if gain == 0 else int(gain > 0)
