"""Hypothesis class of a model with `fit` and `predict`, refitted as data grows."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass, Ties
from tombola.errors import ParameterError
from tombola.learners.parameters import real


@dataclass(frozen=True)
class Estimator(HypothesisClass):
    """Hypothesis class of a classifier with the interface of scikit-learn.

    Its minimiser is approximate: the fitted model. Until both labels were seen, it predicts the one
    seen; at first 0.

    model: with `fit` and `predict`; it is copied, never changed.
    growth_factor: the model is refitted whenever the number of rows seen has grown by this factor.
    dimension: VC dimension of the model's class; None if unknown, and then there is no bound on the
        regret.
    """

    model: Any
    growth_factor: float = real(1.25, least=1)
    dimension: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (
            callable(getattr(self.model, "fit", None))
            and callable(getattr(self.model, "predict", None))
        ):
            raise ParameterError(
                f"Estimator: model must have the methods fit and predict, got {self.model!r}; "
                "write for example Estimator(DecisionTreeClassifier(max_depth=1))."
            )

    @property
    def vc(self) -> int | None:
        return self.dimension

    def online_erm(self, ties: Ties, horizon: int, dimensions: int) -> "_EstimatorERM":
        return _EstimatorERM(self.model, self.growth_factor, horizon, dimensions)


class _EstimatorERM:
    """Fit a copy of the model whenever the data has grown by a factor."""

    def __init__(self, model: Any, factor: float, horizon: int, dimensions: int) -> None:
        self._model = model
        self._factor = factor
        self._rows = np.zeros((horizon, dimensions))
        self._labels = np.zeros(horizon, np.int64)
        self._weights = np.zeros(horizon)
        self._seen = 0
        self._next = 1
        self._fitted: Any = None

    def learn(self, row: Floats, label: int, weight: float) -> None:
        self._rows[self._seen] = row
        self._labels[self._seen] = label
        self._weights[self._seen] = weight
        self._seen += 1

    def predict(self, row: Floats, rng: RngState) -> int:
        if self._seen >= self._next:
            self._fit()
        if self._fitted is None:
            return int(self._labels[0])
        return int(self._fitted.predict(np.asarray(row, np.float64).reshape(1, -1))[0])

    def _fit(self) -> None:
        rows, labels, weights = (
            part[: self._seen] for part in (self._rows, self._labels, self._weights)
        )
        if labels.min() == labels.max():
            return
        self._next = max(self._seen + 1, int(self._factor * self._seen))
        model = copy.deepcopy(self._model)
        even = bool((weights == weights[0]).all())
        self._fitted = (
            model.fit(rows, labels) if even else model.fit(rows, labels, sample_weight=weights)
        )
