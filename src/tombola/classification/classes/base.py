"""Base classes of hypothesis classes and of their online ERM."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import comb
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats, Integers, RngState
from tombola.classification.pool import LabelledPool
from tombola.errors import PoolError
from tombola.learners.parameters import Checked
from tombola.rng import new_rng

# Rule that selects one of several hypotheses of smallest error: the first, last or middle one in
# the order of the class, or one drawn with equal probabilities.
Ties: TypeAlias = Literal["first", "last", "middle", "random"]


class OnlineERM(Protocol):
    """Protocol of an empirical risk minimiser (ERM) that is updated row by row."""

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Add a row of features, shape (d,); `weight` in (0, 1] is the loss of a mistake."""

    def predict(self, row: Floats, rng: RngState) -> int:
        """Return the label of a row by a hypothesis of smallest error so far.

        Only the tie rule "random" draws from `rng`.
        """


@dataclass(frozen=True)
class HypothesisClass(Checked, ABC):
    """Base class of hypothesis classes: functions from features to labels 0 and 1.

    Subclasses are frozen dataclasses; they implement `vc` and `online_erm`, and may override the
    others.

    ties: tie rules that the class supports: which of several hypotheses of smallest error predicts.
    """

    ties: ClassVar[tuple[Ties, ...]] = ("first",)

    @property
    def dimensions(self) -> int | None:
        """The number of features that a row must have; None if any number is allowed."""
        return None

    @property
    @abstractmethod
    def vc(self) -> int | None:
        """The VC dimension; None if unknown."""

    @abstractmethod
    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> OnlineERM:
        """Return a new empirical risk minimiser (ERM) of the class, without rows.

        ties: tie rule, one of the class attribute `ties`.
        horizon: largest number of rows that it will learn.
        dimensions: number of features of a row.
        """

    def growth(self, points: int) -> int | None:
        """Return the growth function: the largest number of labellings of n points.

        It is an upper bound (Sauer-Shelah) where the number is not known, and None if the VC
        dimension is unknown.
        """
        return None if self.vc is None else sauer_shelah(points, self.vc)

    def littlestone(self, points: int | None = None) -> float | None:
        """Return the Littlestone dimension, possibly infinite; None if unknown.

        It is the number of mistakes that an adversary can force on every learner, with labels by
        some hypothesis. ParameterError if the search takes too long.

        points: largest number of different feature rows that may occur; None for no limit.
            `FiniteClass` ignores it.
        """
        return None

    def check(self, dimensions: int) -> None:
        """Raise PoolError unless rows with `dimensions` features fit the class."""
        if self.dimensions is not None and dimensions != self.dimensions:
            raise PoolError(
                f"{type(self).__name__}: rows must have {plural(self.dimensions, 'feature')}, "
                f"got {dimensions}; choose the columns first, or write Stumps({dimensions})."
            )

    def best_labels(self, pool: LabelledPool) -> Integers:
        """Return the labels of all rows by the best hypothesis, shape (rows,).

        The best one has the smallest total weight of errors on the pool.
        """
        self.check(pool.dimensions)
        erm = self.online_erm("first", pool.rows, pool.dimensions)
        rng = new_rng(np.random.SeedSequence(0))
        for row, label, weight in zip(
            pool.features, pool.labels.tolist(), pool.weights.tolist(), strict=True
        ):
            erm.learn(row, label, weight)
        with np.errstate(over="ignore"):
            return np.array([erm.predict(row, rng) for row in pool.features], np.int64)


def sauer_shelah(points: int, vc: int) -> int:
    """Return the Sauer-Shelah bound sum_{i <= d} C(n, i) (Sauer 1972, Shelah 1972).

    It bounds the number of labellings of n points by a class of VC dimension d.

    >>> sauer_shelah(3, 5), sauer_shelah(10, 2)
    (8, 56)
    """
    return sum(comb(points, size) for size in range(min(points, vc) + 1))
