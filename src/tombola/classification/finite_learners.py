"""Learners over a finite class: Halving, the Standard Optimal Algorithm, Experts.

Angluin 1988; Littlestone 1988; Ben-David et al. 2009.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, Integers, RngState
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.dimension import MistakeTrees, columns_of
from tombola.classification.learner import LabelLearner
from tombola.errors import ParameterError
from tombola.feedback import FullFeedback, StepRunner
from tombola.learners.base import Learner


@dataclass(frozen=True)
class Halving(LabelLearner):
    """Predict by the majority of the consistent hypotheses; a tie is a 0.

    A hypothesis is consistent if it has made no mistake so far. If some hypothesis of H is always
    right, it makes at most log2 |H| mistakes in every order. When none is left it starts again with
    all.

    >>> from tombola import play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> play(Halving(chain), LabelledPool([1, 2, 0], [1, 1, 1]), order="given", seed=0).actions.tolist()
    [0, 1, 0]
    """

    hypotheses: FiniteClass

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_ConsistentPredictor":
        return _ConsistentPredictor(self.hypotheses, self.hypotheses.array, int.bit_count)


@dataclass(frozen=True)
class StandardOptimal(LabelLearner):
    """Predict the label with the larger remaining Littlestone dimension; a tie is a 0.

    Only hypotheses without a mistake count. If some hypothesis is always right, it makes at most d
    mistakes in every order, where d is the Littlestone dimension of H, and no learner can do
    better. When none is left it starts again with all. Dimensions are found by search.

    >>> from tombola import play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> trace = play(StandardOptimal(chain), LabelledPool([0, 1, 2], [0, 1, 1]), order="given", seed=0)
    >>> trace.mistakes <= chain.littlestone()
    True
    """

    hypotheses: FiniteClass

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_ConsistentPredictor":
        _, columns = columns_of("StandardOptimal", self.hypotheses.array)
        return _ConsistentPredictor(
            self.hypotheses, np.unique(self.hypotheses.array, axis=0), MistakeTrees(columns).depth
        )


class _ConsistentPredictor:
    """Predict the label whose consistent hypotheses are larger in `size`; a tie is a 0.

    Sets of hypotheses are bit sets; the hypotheses are the rows of `matrix`.
    """

    def __init__(
        self, hypotheses: FiniteClass, matrix: Integers, size: Callable[[int], int]
    ) -> None:
        self._class = hypotheses
        self._matrix = matrix
        self._size = size
        self._alive = self._everyone = (1 << len(matrix)) - 1

    def predict(self, row: Floats) -> tuple[int, float]:
        ones = self._ones(row)
        return int(self._size(self._alive & ones) > self._size(self._alive & ~ones)), 1.0

    def learn(self, row: Floats, label: int, weight: float) -> None:
        ones = self._ones(row)
        self._alive &= ones if label == 1 else ~ones
        self._alive = self._alive or self._everyone

    def _ones(self, row: Floats) -> int:
        return sum(1 << int(h) for h in np.flatnonzero(self._matrix[:, self._class.point_of(row)]))


@dataclass(frozen=True)
class Experts(LabelLearner):
    """Predict by the hypothesis that `base`, a full-information learner, chooses.

    Each hypothesis is an action of `base`. The regret over T rounds is that of `base` over |H|
    actions: at most sqrt(T ln |H| / 2) in every order for Hedge.

    >>> from tombola import Hedge, play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0], [0, 1], [1, 1]])
    >>> play(Experts(chain, Hedge()), LabelledPool([0, 1] * 50, [0, 1] * 50), seed=0).regret < 13
    True
    """

    hypotheses: FiniteClass
    base: Learner

    def __post_init__(self) -> None:
        if getattr(self.base, "feedback", None) != "full" or self.base.needs_round:
            raise ParameterError(
                "Experts: base must be a full-information learner that does not ask for the "
                "round of a row, "
                f"got {self.base!r}; write for example Experts(chain, Hedge())."
            )

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_ExpertsPredictor":
        return _ExpertsPredictor(
            self.hypotheses, FullFeedback(self.hypotheses.size, horizon).step_runner(self.base, rng)
        )

    def bound(self, horizon: int) -> float | None:
        return self.base.bound(self.hypotheses.size, horizon)


class _ExpertsPredictor:
    """Play a learner round by round with hypotheses as actions."""

    def __init__(self, hypotheses: FiniteClass, live: StepRunner) -> None:
        self._class = hypotheses
        self._live = live
        self._columns = np.ascontiguousarray(hypotheses.array.T)
        self._played = 0

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the label of the chosen hypothesis; probabilities of equal labels add up."""
        column = self._columns[self._class.point_of(row)]
        action, probability = self._live.act(self._played)
        self._played += 1
        label = int(column[action])
        mix = self._live.runner.mix
        return label, probability if mix is None else float(mix[column == label].sum())

    def learn(self, row: Floats, label: int, weight: float) -> None:
        errors = weight * (self._columns[self._class.point_of(row)] != label)
        self._live.learn(self._played, 0, 1.0, tuple(errors))
