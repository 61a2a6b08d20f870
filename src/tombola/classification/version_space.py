"""Learners that keep the consistent hypotheses: Halving, Standard Optimal Algorithm.

Angluin 1988; Littlestone 1988.
"""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, RngState
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.dimension import MistakeTrees, columns_of
from tombola.classification.learner import LabelLearner


@dataclass(frozen=True)
class Halving(LabelLearner):
    """Predict by the majority of the consistent hypotheses; a tie is a 0.

    If some hypothesis is always right, it makes at most log2 |H| mistakes in every order. When none is left it starts
    again with all.

    hypotheses: a finite class H.

    >>> from tombola import play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> play(Halving(chain), LabelledPool([1, 2, 0], [1, 1, 1]), order="given", seed=0).actions.tolist()
    [0, 1, 0]
    """

    hypotheses: FiniteClass

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_HalvingPredictor":
        """Return a new predictor: all hypotheses are consistent; ignore the parameters."""
        return _HalvingPredictor(self.hypotheses)


class _HalvingPredictor:
    """Hold the consistent hypotheses, and predict by their majority."""

    def __init__(self, hypotheses: FiniteClass) -> None:
        self._class = hypotheses
        self._alive = np.ones(hypotheses.size, bool)

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the majority label of the consistent hypotheses, with probability 1."""
        votes = self._class.array[self._alive, self._class.point_of(row)]
        return int(2 * votes.sum() > votes.size), 1.0

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Remove the hypotheses that do not give `label` to `row`; ignore `weight`."""
        self._alive &= self._class.array[:, self._class.point_of(row)] == label
        if not self._alive.any():
            self._alive[:] = True


@dataclass(frozen=True)
class StandardOptimal(LabelLearner):
    """Predict the label with the larger remaining Littlestone dimension.

    Only hypotheses without a mistake count; a tie is a 0.

    If some hypothesis is always right, it makes at most d mistakes in every order, where d is the Littlestone dimension
    of H, and no learner can do better. When no hypothesis is left it starts again with all. Dimensions are found by
    search.

    hypotheses: a finite class H.

    >>> from tombola import play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> trace = play(StandardOptimal(chain), LabelledPool([0, 1, 2], [0, 1, 1]), order="given", seed=0)
    >>> trace.mistakes <= chain.littlestone()
    True
    """

    hypotheses: FiniteClass

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_OptimalPredictor":
        """Return a new predictor: all hypotheses are consistent; ignore the parameters."""
        return _OptimalPredictor(self.hypotheses)


class _OptimalPredictor:
    """Hold the consistent hypotheses and the depths of their mistake trees."""

    def __init__(self, hypotheses: FiniteClass) -> None:
        self._class = hypotheses
        self._distinct = np.unique(hypotheses.array, axis=0)
        self._everyone, columns = columns_of("StandardOptimal", hypotheses.array)
        self._trees = MistakeTrees(columns)
        self._alive = self._everyone

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the label whose consistent hypotheses have the deeper mistake tree."""
        ones = self._ones(row)
        return int(self._trees.depth(self._alive & ones) > self._trees.depth(self._alive & ~ones)), 1.0

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Remove the hypotheses that do not give `label` to `row`; ignore `weight`."""
        ones = self._ones(row)
        self._alive &= ones if label == 1 else ~ones
        self._alive = self._alive or self._everyone

    def _ones(self, row: Floats) -> int:
        return sum(1 << int(h) for h in np.flatnonzero(self._distinct[:, self._class.point_of(row)]))
