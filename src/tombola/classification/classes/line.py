"""Hypotheses with cuts on one feature: thresholds, intervals, unions, stumps."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tombola import _validate
from tombola._types import Floats, Integers, Order, RngState
from tombola.classification.classes.base import HypothesisClass, Ties, sauer_shelah
from tombola.classification.dimension import littlestone_dimension
from tombola.classification.erm_kernels import (
    FEATURES,
    LabelledRows,
    Words,
    learn_all,
    learn_one,
    new_vectors,
    predict_all,
    predict_one,
)
from tombola.classification.pool import LabelledPool
from tombola.classification.segment_tree import ranked_tree
from tombola.classification.switch_dp import COUNT, FEATURE, LABEL, RULES, new_switch_dp
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import compile_loop, compile_step
from tombola.rng import new_rng


@dataclass(frozen=True)
class LineClass(HypothesisClass):
    """Base class of hypothesis classes whose label changes a few times on a line.

    A hypothesis is a first label and the values of one feature at which the label switches. A subclass
    implements the property `switches`, the largest number of switches.

    ties: tie rules that the class supports, all four: which of several hypotheses of smallest error predicts.
    entries: number of labels that may come first, before all switches: 1 for label 0 only, 2 for both.
    """

    ties: ClassVar[tuple[Ties, ...]] = ("first", "last", "middle", "random")
    entries: ClassVar[int] = 1

    @property
    def dimensions(self) -> int | None:
        """Return 1: a row has one feature."""
        return 1

    @property
    @abstractmethod
    def switches(self) -> int:
        """The largest number of label changes along the feature, from small to large.

        Subclasses define it.
        """

    @property
    def vc(self) -> int | None:
        """The VC dimension: equal to `switches`, the largest number of label switches."""
        return self.switches

    def growth(self, points: int) -> int | None:
        """Return the number of labellings that the class gives to n different numbers.

        It is exact: the sum of C(n, i) over i <= switches.

        points: n.
        """
        return sauer_shelah(points, self.switches)

    def littlestone(self, points: int | None = None) -> float | None:
        """Return the Littlestone dimension: infinite without a limit, else exact.

        It is the number of mistakes that an adversary can force on every learner. ParameterError if the search takes
        too long.

        points: largest number of different values of the feature; None for no limit.
        """
        if points is None:
            return math.inf
        return littlestone_dimension(self.on_points(points)) if points else 0

    def on_points(self, points: int) -> NDArray[np.int64]:
        """Return all labellings of 0, 1, .. by the class, shape (labellings, points).

        Entries are labels 0 and 1.

        points: number of points.

        >>> Thresholds().on_points(2).tolist()
        [[0, 0], [1, 1], [0, 1]]
        """
        rows = [
            [sum(cut <= point for cut in cuts) % 2 for point in range(points)]
            for count in range(min(self.switches, points) + 1)
            for cuts in combinations(range(points), count)
        ]
        return np.array(rows, np.int64)

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> "_LineERM":
        """Return a new ERM by dynamic programming over switches, without rows.

        It is an `OnlineERM`, with the methods `learn` and `predict`.

        ties: which of several hypotheses of smallest error predicts; "random" draws from the `rng` of `predict`.
        horizon, dimensions: largest number of rows, and number of features of a row.
        """
        return _LineERM(new_vectors(RULES[ties], self.entries, self.switches, dimensions, horizon))

    def play(self, ties: Ties, pool: LabelledPool, order: Order, arrivals: ArrivalSchedule, rng: RngState) -> Integers:
        """Play ERM over an order, compiled; return the predicted labels, (rounds,).

        ties: which of several hypotheses of smallest error predicts.
        pool: rows with their labels.
        order: row of each round, from 0.
        arrivals: arrival schedule of the labels: when the label of each round becomes known.
        rng: random generator, used for ties="random" only.
        """
        keys, values = pool.ranks
        rows = LabelledRows(pool.features, keys, pool.labels, pool.weights)
        tree = ranked_tree(values, pool.dimensions, self.switches)
        labels = np.zeros(order.size, np.int64)
        arguments = (tree, new_switch_dp(RULES[ties], self.entries, self.switches), rng, rows, order, arrivals, labels)
        compile_loop(predict_all, arguments)(*arguments)
        return labels

    def best_labels(self, pool: LabelledPool) -> Integers:
        """Return the labels of all rows by the best hypothesis of the class, (rows,).

        The best one has the smallest total weight of errors on the pool.

        pool: rows with features, true labels and weights.
        """
        self.check(pool.dimensions)
        keys, values = pool.ranks
        rows = LabelledRows(pool.features, keys, pool.labels, pool.weights)
        tree = ranked_tree(values, pool.dimensions, self.switches)
        dp = new_switch_dp(RULES["first"], self.entries, self.switches)
        arguments = (tree, dp, rows, new_rng(np.random.SeedSequence(0)))
        compile_loop(learn_all, arguments)(*arguments)
        cuts = dp.cuts[: dp.place[COUNT]]
        passed = np.searchsorted(cuts, pool.features[:, dp.place[FEATURE]], side="right")
        labels: Integers = (dp.place[LABEL] + passed) % 2
        return labels


class _LineERM:
    """Find minimisers on lines as rows arrive, in O(log T) per row."""

    def __init__(self, vectors: tuple[Integers, Floats, Words]) -> None:
        self._vectors = vectors
        row, rng = np.zeros(vectors[0][FEATURES]), new_rng(np.random.SeedSequence(0))
        self._learn = compile_step(learn_one, (*vectors, row, 0, 1.0))
        self._predict = compile_step(predict_one, (*vectors, rng, row))

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Add the true label of a row."""
        self._learn(*self._vectors, row, label, weight)

    def predict(self, row: Floats, rng: RngState) -> int:
        """Predict by the current minimiser; recompute it only if it may have changed."""
        return int(self._predict(*self._vectors, rng, row))


@dataclass(frozen=True)
class Thresholds(LineClass):
    """Label 1 from some number on: h(x) = 1 if x >= c.

    Hypothesis class, without parameters: c is any number, or infinite. A row has one feature, x.

    >>> Thresholds().vc, Thresholds().growth(10), Thresholds().littlestone(10), Thresholds().littlestone()
    (1, 11, 3, inf)
    """

    @property
    def switches(self) -> int:
        """Return 1: labels along the line change once, from 0 to 1."""
        return 1

    def littlestone(self, points: int | None = None) -> float | None:
        """Return the Littlestone dimension: infinity, or floor(log2(points + 1)).

        points: largest number of different values of the feature; None for no limit, which gives infinity.
        """
        return math.inf if points is None else (points + 1).bit_length() - 1


@dataclass(frozen=True)
class Intervals(LineClass):
    """Label 1 from some number up to another: h(x) = 1 if a <= x < b.

    Hypothesis class, without parameters: a <= b are any numbers. A row has one feature, x.

    >>> Intervals().vc, Intervals().growth(10)
    (2, 56)
    """

    @property
    def switches(self) -> int:
        """Return 2: labels along the line change at a and at b."""
        return 2


@dataclass(frozen=True)
class Unions(LineClass):
    """Label 1 on a union of at most `intervals` intervals a <= x < b.

    intervals: largest number of intervals, 1 to 20.

    >>> Unions(3).vc, Unions(3).growth(6)
    (6, 64)
    """

    intervals: int

    def __post_init__(self) -> None:
        _validate.integer("Unions", "intervals", self.intervals, least=1)
        _validate.real("Unions", "intervals", self.intervals, most=20)

    @property
    def switches(self) -> int:
        """Return 2 * intervals: labels change at both ends of each interval."""
        return 2 * self.intervals


@dataclass(frozen=True)
class Stumps(LineClass):
    """Label by one cut on one feature: h(x) = [x_f >= c] or h(x) = [x_f < c].

    Decision stumps (Iba and Langley 1992). The VC dimension is the largest v with C(v, floor(v/2)) <= 2 d (Gey 2018,
    "Vapnik-Chervonenkis dimension of axis-parallel cuts"): about log2 d.

    features: d, the number of features of a row.
    entries: 2, either label may come first.

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
        """The VC dimension: the largest v with C(v, floor(v/2)) <= 2 * features."""
        size = 1
        while math.comb(size + 1, (size + 1) // 2) <= 2 * self.features:
            size += 1
        return size

    def growth(self, points: int) -> int | None:
        """Return the largest number of labellings that stumps can give to n points.

        points: n.
        """
        return sum(min(math.comb(points, size), 2 * self.features) for size in range(points + 1))

    def littlestone(self, points: int | None = None) -> float | None:
        """Return the Littlestone dimension: infinity for points=None, else None (unknown)."""
        return math.inf if points is None else None
