"""Models of row-centred losses: randomised trees, and ridge regression.

A model predicts loss - (mean of the row over actions): the difficulty of a row says nothing about
the choice. `fit` returns a fitted model with `predict(features)` and `out_of_bag`, the predictions
for the training rows by parts that did not see them; models are compared by these, never by
predictions on rows they were trained on.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

import numpy as np

from tombola._types import Floats, Integers, Rows
from tombola.errors import ParameterError
from tombola.policies.trees import FlatTrees, flatten_trees

# Squared singular values below this share of the largest are dropped: the least penalty shrinks
# them to nothing.
_RELATIVE_RANK = 1e-10
# Penalties of ridge to choose from, from 0.01 to 10,000 in half powers of ten, times the mean
# square of a standardised feature.
_PENALTIES = 10.0 ** np.arange(-2.0, 4.5, 0.5)

# Forests of scikit-learn that can be flattened, if they are fitted with bootstrap.
_FORESTS = ("RandomForestRegressor", "ExtraTreesRegressor")
# Folds of the cross-validation that stands in for out-of-bag predictions.
_FOLDS = 5


class Fitted(Protocol):
    """Protocol of a fitted model: an object with `predict(features)` and `out_of_bag`."""

    @property
    def out_of_bag(self) -> Floats:
        """As `predict`, for the training rows, by parts that did not see the row."""

    def predict(self, features: Floats) -> Floats:
        """Return predicted losses minus their row means, shape (rows, actions).

        features: shape (rows, features), NaN where missing.
        """


class Model(Protocol):
    """Protocol of a model family with its parameters: an object with `fit`."""

    def fit(self, features: Floats, centred: Floats, seed: int) -> Fitted:
        """Fit the model and return the fitted one.

        features: shape (rows, features), NaN where missing.
        centred: losses minus their row means, shape (rows, actions).
        """


@dataclass(frozen=True)
class Trees:
    """Model family: extremely randomised trees of scikit-learn, with bootstrap.

    Geurts, Ernst and Wehenkel 2006. Fitted trees are flattened into arrays and walked by one
    compiled kernel.

    min_leaf: smallest number of rows in a leaf.
    max_features: share of the features that are tried at each split.
    """

    min_leaf: int = 3
    trees: int = 50
    max_features: float = 1 / 3

    def fit(self, features: Floats, centred: Floats, seed: int) -> "FittedTrees":
        """Fit a forest to centred losses, as `Model.fit`; needs scikit-learn."""
        try:
            from sklearn.ensemble import ExtraTreesRegressor
        except ImportError:
            raise ParameterError(
                "Trees: expected scikit-learn, got none; install it with pip install "
                "'tombola[context]'."
            ) from None
        forest = ExtraTreesRegressor(
            self.trees,
            min_samples_leaf=self.min_leaf,
            max_features=self.max_features,
            bootstrap=True,
            n_jobs=1,
            random_state=seed,
        )
        return _fit_forest(forest, features, centred)


@dataclass(frozen=True)
class Ridge:
    """Model family: ridge regression on standardised features, without parameters.

    The penalty is that of a fixed grid with the least leave-one-out error.
    """

    def fit(self, features: Floats, centred: Floats, seed: int) -> "FittedRidge":
        """Fit the regression to centred losses, as `Model.fit`; `seed` is not used."""
        filler = _medians(features)
        filled = _fill(features, filler)
        shift = filled.mean(axis=0)
        scale = filled.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        middle = centred.mean(axis=0)
        left, values, right = _thin_svd((filled - shift) / scale)
        target = left.T @ (centred - middle)
        least = np.inf
        out_of_bag = centred * 0.0
        weights = np.zeros((right.shape[1], centred.shape[1]))
        for penalty in _PENALTIES * len(centred):
            shrink = values**2 / (values**2 + penalty)
            smooth = left @ (shrink[:, None] * target)
            # Diagonal of the hat matrix, the intercept included.
            leverage = np.minimum((left**2 * shrink).sum(axis=1) + 1.0 / len(centred), 1 - 1e-9)
            without = centred - (centred - middle - smooth) / (1.0 - leverage)[:, None]
            error = float(((centred - without) ** 2).mean())
            if error < least:
                least = error
                out_of_bag = without
                weights = right.T @ ((values / (values**2 + penalty))[:, None] * target)
        return FittedRidge(filler, shift, scale, weights, middle, out_of_bag)


@dataclass(frozen=True, eq=False)
class FittedRidge:
    """Weights of standardised features, and leave-one-out predictions.

    filler: median of each feature, which replaces missing values.
    shift, scale: mean and standard deviation of each feature.
    weights, intercept: shapes (features, actions) and (actions,).
    """

    filler: Floats
    shift: Floats
    scale: Floats
    weights: Floats
    intercept: Floats
    out_of_bag: Floats

    def predict(self, features: Floats) -> Floats:
        standard = (_fill(features, self.filler) - self.shift) / self.scale
        return np.asarray(standard @ self.weights + self.intercept)


@dataclass(frozen=True)
class SklearnModel:
    """A regressor with the interface of scikit-learn as a model.

    `Routed` and `RoutedLP` wrap such regressors themselves. Forests with bootstrap are flattened as
    those of `Trees`; the out-of-bag predictions of others come from cross-validation. Missing
    features become medians.

    regressor: any object with `fit(features, targets)` and `predict(features)`; it is copied, never
        fitted itself.

    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.arange(20.0)[:, None]
    >>> fitted = SklearnModel(LinearRegression()).fit(x, np.hstack([x, -x]), seed=0)
    >>> fitted.predict(np.array([[3.0]])).round(6).tolist(), fitted.out_of_bag.shape
    ([[3.0, -3.0]], (20, 2))
    """

    regressor: Any

    def fit(self, features: Floats, centred: Floats, seed: int) -> Fitted:
        """Fit a copy of the regressor to centred losses, as `Model.fit`."""
        whole = self._copy(seed)
        if type(whole).__name__ in _FORESTS and whole.bootstrap:
            return _fit_forest(whole, features, centred)
        filler = _medians(features)
        filled = _fill(features, filler)
        out_of_bag = np.zeros(centred.shape)
        whole.fit(filled, centred)
        fold = np.random.default_rng(seed).permutation(len(centred)) % _FOLDS
        for number in range(_FOLDS):
            part = self._copy(seed)
            part.fit(filled[fold != number], centred[fold != number])
            out_of_bag[fold == number] = part.predict(filled[fold == number])
        return FittedSklearn(whole, filler, out_of_bag)

    def _copy(self, seed: int) -> Any:
        """Return an unfitted copy with a fixed random state and one thread."""
        if not hasattr(self.regressor, "get_params"):
            return deepcopy(self.regressor)
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputRegressor
        from sklearn.utils import get_tags

        copy = clone(self.regressor)
        # Repeatable: a random state of its own stays, and threads could add numbers in another
        # order.
        unset = {name for name, value in copy.get_params().items() if value is None}
        copy.set_params(
            **{
                name: value
                for name, value in (("random_state", seed), ("n_jobs", 1))
                if name in unset
            }
        )
        return copy if get_tags(copy).target_tags.multi_output else MultiOutputRegressor(copy)


@dataclass(frozen=True, eq=False)
class FittedSklearn:
    """A fitted regressor with the medians that replace missing features.

    filler: median of each feature.
    out_of_bag: predictions for the training rows, by copies that did not see the row.
    """

    regressor: Any
    filler: Floats
    out_of_bag: Floats

    def predict(self, features: Floats) -> Floats:
        return np.asarray(self.regressor.predict(_fill(features, self.filler)), np.float64)


class FittedTrees(FittedSklearn):
    """A forest as `FlatTrees`, with the medians that replace missing features."""


@dataclass(frozen=True, eq=False)
class _FittedMean:
    """The mean of several fitted models."""

    parts: tuple[Fitted, ...]
    out_of_bag: Floats

    def predict(self, features: Floats) -> Floats:
        return np.asarray(np.mean([part.predict(features) for part in self.parts], axis=0))


def _thin_svd(design: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the SVD by the smaller Gram matrix, four times as fast as LAPACK's."""
    wide = design.shape[1] > design.shape[0]
    squares, vectors = np.linalg.eigh(design @ design.T if wide else design.T @ design)
    large = squares > _RELATIVE_RANK * max(float(squares[-1]), 1e-300)
    values = np.sqrt(squares[large])
    vectors = vectors[:, large]
    if wide:
        return vectors, values, (design.T @ vectors / values).T
    return design @ vectors / values, values, vectors.T


def fit_models(
    models: Sequence[Model], features: Floats, losses: Floats, seed: int
) -> list[Fitted]:
    """Fit all models to losses minus their row means; return them, see `with_mean`."""
    centred = losses - losses.mean(axis=1, keepdims=True)
    return with_mean([model.fit(features, centred, seed) for model in models])


def with_mean(fitted: list[Fitted]) -> list[Fitted]:
    """Return the models; of several, also one that predicts the mean of their predictions."""
    if len(fitted) < 2:
        return fitted
    return [
        *fitted,
        _FittedMean(tuple(fitted), np.mean([model.out_of_bag for model in fitted], axis=0)),
    ]


def choose(fitted: list[Fitted], losses: Floats) -> tuple[Fitted | None, float]:
    """Return the model with the least mean out-of-bag loss, and that loss.

    A model plays the action with its smallest out-of-bag prediction in each row. The model is None,
    and the loss that of the best fixed action, if none beats it.

    losses: of the training rows, shape (rows, actions).
    """
    best = None
    least = float(losses.mean(axis=0).min())
    for model in fitted:
        loss = float(losses_of(losses, actions_of(model.out_of_bag)).mean())
        if loss < least:
            best = model
            least = loss
    return best, least


def losses_of(losses: Floats, actions: Integers) -> Floats:
    """Return the loss of the action of each row; `losses` has shape (rows, actions)."""
    return np.asarray(losses[np.arange(len(losses)), actions])


def actions_of(predictions: Floats) -> Integers:
    """Return the action with the smallest prediction in each row; NaN never wins."""
    return np.asarray(
        np.where(np.isfinite(predictions), predictions, np.inf).argmin(axis=1), np.int64
    )


def _fit_forest(forest: Any, features: Floats, centred: Floats) -> FittedTrees:
    """Fit a forest of scikit-learn with bootstrap, and flatten it."""
    filler = _medians(features)
    filled = _fill(features, filler).astype(np.float32)  # scikit-learn compares features as float32
    forest.fit(filled, centred)
    flat = flatten_trees(forest)
    return FittedTrees(flat, filler, _out_of_bag(flat, forest.estimators_samples_, filled, centred))


def _out_of_bag(flat: FlatTrees, samples: Any, features: Rows, centred: Floats) -> Floats:
    """Return predictions by trees that did not draw a row, or the mean of others."""
    rows = len(centred)
    unseen = np.ones((len(samples), rows), bool)
    for tree, drawn in enumerate(samples):
        unseen[tree, drawn] = False
    total, count = flat.sum_unseen(features, unseen)
    # The mean of the other rows, so that the row itself is never used.
    others = (centred.sum(axis=0) - centred) / max(rows - 1, 1)
    return np.asarray(np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], others))


def _medians(features: Floats) -> Floats:
    """Return the median of each feature, 0 where all rows lack it."""
    known = np.isfinite(features)
    empty = ~known.any(axis=0)
    safe = np.where(known, features, np.nan)
    safe[:, empty] = 0.0
    return np.asarray(np.nanmedian(safe, axis=0))


def _fill(features: Floats, filler: Floats) -> Floats:
    return np.asarray(np.where(np.isfinite(features), features, filler))


def fill_missing(features: Floats) -> Floats:
    """Return a copy of the features with column medians in place of missing values."""
    return _fill(features, _medians(features))


def as_models(owner: str, models: Any) -> tuple[Model, ...]:
    """Return models and regressors of scikit-learn as models; ParameterError for others.

    owner: class of the user, for the message.
    """
    model_list = tuple(models)
    if not model_list or not all(hasattr(model, "fit") for model in model_list):
        raise ParameterError(
            f"{owner}: expected models with fit and predict, got {model_list!r}; write (Trees(),)."
        )
    # `fit` of a regressor of scikit-learn has no seed, and the regressor itself predicts.
    return tuple(
        SklearnModel(model)
        if hasattr(model, "predict") and "seed" not in signature(model.fit).parameters
        else model
        for model in model_list
    )
