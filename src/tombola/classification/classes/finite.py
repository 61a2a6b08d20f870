"""Finite hypothesis classes: given as a matrix, and the class of all labellings.

A row of the matrix is a hypothesis, a column a point; its entries are the labels. All labellings
cannot be learned.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass, Ties, sauer_shelah
from tombola.classification.dimension import class_matrix, littlestone_dimension, vc_dimension
from tombola.errors import PoolError
from tombola.learners.parameters import integer
from tombola.rng import uniform


@dataclass(frozen=True)
class FiniteClass(HypothesisClass):
    """Finite hypothesis class: rows of `matrix` are hypotheses, columns are points.

    The only feature of a row is the index of its point.

    matrix: labels 0 and 1, shape (hypotheses, points), as tuples, lists or an array.
    ties: tie rules that the class supports: which of several hypotheses of smallest error predicts.

    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> chain.vc, chain.littlestone(), chain.size
    (1, 2, 4)
    """

    matrix: tuple[tuple[int, ...], ...] | Any
    ties: ClassVar[tuple[Ties, ...]] = ("first", "last", "middle", "random")
    dimensions: ClassVar[int | None] = 1

    def __post_init__(self) -> None:
        rows = class_matrix("FiniteClass", self.matrix).tolist()
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in rows))

    def __repr__(self) -> str:
        return f"FiniteClass({self.size} hypotheses, {self.points} points)"

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """The labels 0 and 1 of `matrix` as an array, shape (hypotheses, points)."""
        return np.array(self.matrix, np.int64)

    @property
    def size(self) -> int:
        """The number of hypotheses."""
        return len(self.matrix)

    @property
    def points(self) -> int:
        """The number of points."""
        return len(self.matrix[0])

    @cached_property
    def vc(self) -> int | None:
        """The VC dimension, found by search."""
        return vc_dimension(self.array)

    def growth(self, points: int) -> int | None:
        return min(self.size, sauer_shelah(points, self.vc or 0))

    def littlestone(self, points: int | None = None) -> float | None:
        return littlestone_dimension(self.array)

    def point_of(self, row: Floats) -> int:
        """Return the index of the point of a row; PoolError if there is no such point.

        row: features of the row, shape (1,): the index of its point.
        """
        value = float(row[0])
        if not (value.is_integer() and 0 <= value < self.points):
            raise PoolError(
                f"FiniteClass: the feature must be the number of a point, 0..{self.points - 1}, "
                f"got {value:g}; "
                "give the column of the matrix."
            )
        return int(value)

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> "_FiniteERM":
        return _FiniteERM(self, ties)


class _FiniteERM:
    """Add up the errors of every hypothesis, and predict by a smallest one."""

    def __init__(self, hypotheses: FiniteClass, ties: Ties) -> None:
        self._class = hypotheses
        self._ties = ties
        self._columns = np.ascontiguousarray(hypotheses.array.T)
        self._errors = np.zeros(hypotheses.size)

    def learn(self, row: Floats, label: int, weight: float) -> None:
        self._errors += weight * (self._columns[self._class.point_of(row)] != label)

    def predict(self, row: Floats, rng: RngState) -> int:
        leaders = np.flatnonzero(self._errors == self._errors.min())
        if self._ties == "random":
            with np.errstate(over="ignore"):
                place = int(uniform(rng) * leaders.size)
        else:
            place = {"first": 0, "last": leaders.size - 1, "middle": (leaders.size - 1) // 2}[
                self._ties
            ]
        return int(self._columns[self._class.point_of(row), leaders[place]])


@dataclass(frozen=True)
class AllLabellings(HypothesisClass):
    """Hypothesis class of all labellings of `points` points, numbered from 0.

    A row has one feature, the number of its point. The minimiser labels a point by the majority of
    its labels; ties, and points never seen, are 0 if `ties` is "first" and 1 if it is "last".

    >>> AllLabellings(99).vc, AllLabellings(3).growth(2), AllLabellings(3).littlestone()
    (99, 4, 3)
    """

    points: int = integer(least=1)
    ties: ClassVar[tuple[Ties, ...]] = ("first", "last")

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
    """Count the labels of every point, and predict their majority, or `otherwise`."""

    def __init__(self, otherwise: int) -> None:
        self._otherwise = otherwise
        self._gains: dict[tuple[float, ...], float] = {}

    def learn(self, row: Floats, label: int, weight: float) -> None:
        point = tuple(row.tolist())
        self._gains[point] = self._gains.get(point, 0.0) + (weight if label == 1 else -weight)

    def predict(self, row: Floats, rng: RngState) -> int:
        gain = self._gains.get(tuple(row.tolist()), 0.0)
        return self._otherwise if gain == 0 else int(gain > 0)
