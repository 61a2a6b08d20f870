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
from tombola.classification.classes.base import HypothesisClass, Ties
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
from tombola.classification.segment_tree import Tree, ranked_tree
from tombola.classification.switch_dp import COUNT, FEATURE, LABEL, RULES, SwitchDP, new_switch_dp
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import compile_loop, compile_step
from tombola.learners.parameters import integer
from tombola.rng import new_rng


@dataclass(frozen=True)
class LineClass(HypothesisClass):
    """Base class of hypothesis classes whose label changes a few times on a line.

    A hypothesis is a first label and the values of one feature at which the label switches.

    entries: number of labels that may come first, before all switches: 1 for label 0 only, 2 for
        both.
    """

    ties: ClassVar[tuple[Ties, ...]] = ("first", "last", "middle", "random")
    entries: ClassVar[int] = 1

    @property
    def dimensions(self) -> int | None:
        return 1

    @property
    @abstractmethod
    def switches(self) -> int:
        """The largest number of label changes along the feature, from small to large."""

    @property
    def vc(self) -> int | None:
        return self.switches

    def littlestone(self, points: int | None = None) -> float | None:
        if points is None:
            return math.inf
        return littlestone_dimension(self.on_points(points)) if points else 0

    def on_points(self, points: int) -> NDArray[np.int64]:
        """Return all labellings of the points 0, 1, .., shape (labellings, points).

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
        return _LineERM(new_vectors(RULES[ties], self.entries, self.switches, dimensions, horizon))

    def play(
        self, ties: Ties, pool: LabelledPool, order: Order, arrivals: ArrivalSchedule, rng: RngState
    ) -> Integers:
        """Play ERM over an order of rows, compiled; return the predicted labels, (rounds,)."""
        tree, dp, rows = self._ranked(pool, ties)
        labels = np.zeros(order.size, np.int64)
        arguments = (tree, dp, rng, rows, order, arrivals, labels)
        compile_loop(predict_all, arguments)(*arguments)
        return labels

    def best_labels(self, pool: LabelledPool) -> Integers:
        self.check(pool.dimensions)
        tree, dp, rows = self._ranked(pool, "first")
        arguments = (tree, dp, rows, new_rng(np.random.SeedSequence(0)))
        compile_loop(learn_all, arguments)(*arguments)
        cuts = dp.cuts[: dp.place[COUNT]]
        passed = np.searchsorted(cuts, pool.features[:, dp.place[FEATURE]], side="right")
        labels: Integers = (dp.place[LABEL] + passed) % 2
        return labels

    def _ranked(self, pool: LabelledPool, ties: Ties) -> tuple[Tree, SwitchDP, LabelledRows]:
        """Return an empty tree and minimiser for the ranks of a pool, and its rows."""
        keys, values = pool.ranks
        tree = ranked_tree(values, pool.dimensions, self.switches)
        dp = new_switch_dp(RULES[ties], self.entries, self.switches)
        return tree, dp, LabelledRows(pool.features, keys, pool.labels, pool.weights)


class _LineERM:
    """Find minimisers on lines as rows arrive, in O(log T) per row."""

    def __init__(self, vectors: tuple[Integers, Floats, Words]) -> None:
        self._vectors = vectors
        row = np.zeros(vectors[0][FEATURES])
        rng = new_rng(np.random.SeedSequence(0))
        self._learn = compile_step(learn_one, (*vectors, row, 0, 1.0))
        self._predict = compile_step(predict_one, (*vectors, rng, row))

    def learn(self, row: Floats, label: int, weight: float) -> None:
        self._learn(*self._vectors, row, label, weight)

    def predict(self, row: Floats, rng: RngState) -> int:
        return int(self._predict(*self._vectors, rng, row))


@dataclass(frozen=True)
class Thresholds(LineClass):
    """Hypothesis class: label 1 from some number on, h(x) = 1 if x >= c.

    >>> Thresholds().vc, Thresholds().growth(10), Thresholds().littlestone(10), Thresholds().littlestone()
    (1, 11, 3, inf)
    """

    switches: ClassVar[int] = 1

    def littlestone(self, points: int | None = None) -> float | None:
        return math.inf if points is None else (points + 1).bit_length() - 1


@dataclass(frozen=True)
class Intervals(LineClass):
    """Hypothesis class: label 1 on one interval, h(x) = 1 if a <= x < b.

    >>> Intervals().vc, Intervals().growth(10)
    (2, 56)
    """

    switches: ClassVar[int] = 2


@dataclass(frozen=True)
class Unions(LineClass):
    """Hypothesis class: label 1 on a union of at most so many intervals a <= x < b.

    intervals: largest number of intervals, 1 to 20.

    >>> Unions(3).vc, Unions(3).growth(6)
    (6, 64)
    """

    intervals: int = integer(least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _validate.real("Unions", "intervals", self.intervals, most=20)

    @property
    def switches(self) -> int:
        return 2 * self.intervals


@dataclass(frozen=True)
class Stumps(LineClass):
    """Hypothesis class of one cut on one feature: h(x) = [x_f >= c] or [x_f < c].

    Decision stumps (Iba and Langley 1992). The VC dimension is the largest v with C(v, floor(v/2))
    <= 2 d (Gey 2018, "Vapnik-Chervonenkis dimension of axis-parallel cuts"): about log2 d.

    features: d, the number of features of a row.
    entries: 2, either label may come first.

    >>> Stumps(1).vc, Stumps(2).vc, Stumps(30).vc, Stumps(64).vc
    (2, 3, 7, 9)
    """

    features: int = integer(least=1)
    entries: ClassVar[int] = 2
    switches: ClassVar[int] = 1

    @property
    def dimensions(self) -> int | None:
        return self.features

    @property
    def vc(self) -> int | None:
        size = 1
        while math.comb(size + 1, (size + 1) // 2) <= 2 * self.features:
            size += 1
        return size

    def growth(self, points: int) -> int | None:
        return sum(min(math.comb(points, size), 2 * self.features) for size in range(points + 1))

    def littlestone(self, points: int | None = None) -> float | None:
        return math.inf if points is None else None
