"""Regression on history: components, leave-one-out errors and predictions against numpy."""

from typing import Any

import numpy as np
import pytest

from tombola.evidence.regression import (
    _DEVIATION_LIMIT,
    _MAX_COMPONENTS,
    _PENALTIES,
    _components_of,
    dot,
    fit_deviations,
    fit_mean,
    new_fit,
    split_losses,
)


@pytest.mark.usefixtures("short_work")
def test_components_are_those_of_singular_value_decomposition() -> None:
    history = np.random.default_rng(3).random((60, 20)) * np.linspace(0.2, 1.0, 20)
    components, intercept, prior, scale = _components_of(history)
    assert components.shape == (60, _MAX_COMPONENTS)
    assert np.allclose(components.T @ components, 60 * np.eye(_MAX_COMPONENTS), atol=1e-6)
    _, sizes, _ = np.linalg.svd(history - history.mean(axis=0))
    assert np.allclose(np.sqrt(20 * (scale**2 + prior**2) * 60), sizes[:_MAX_COMPONENTS], rtol=1e-3)
    assert intercept == pytest.approx(history.mean())


def test_noise_is_variance_besides_rows_and_columns() -> None:
    rng = np.random.default_rng(5)
    history = (
        0.4 + 0.1 * rng.random((400, 1)) + 0.1 * rng.random(10) + rng.normal(0.0, 0.05, (400, 10))
    )
    assert new_fit(history, 1).noise == pytest.approx(0.05**2, rel=0.1)
    assert new_fit(2.0 * history, 1).noise == 0.125


@pytest.mark.parametrize("n", [0, 1, 3, 4, 11])
def test_dot_sums_all_products(n: int) -> None:
    one, two = np.random.default_rng(n).random((2, 12))
    assert dot(one, two, n) == pytest.approx(float(one[:n] @ two[:n]))


def ridge(features: Any, target: Any, penalty: float, new: Any) -> Any:
    """Return the predictions of new rows by ridge regression with a free intercept."""
    centre = features.mean(axis=0)
    x = features - centre
    weights = np.linalg.solve(
        x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (target - target.mean())
    )
    return target.mean() + (new - centre) @ weights


def leave_one_out(features: Any, target: Any, penalty: float) -> Any:
    """Return the errors of n regressions, each without one row."""
    keep = ~np.eye(len(target), dtype=bool)
    return np.array(
        [
            target[i] - ridge(features[k], target[k], penalty, features[i])
            for i, k in enumerate(keep)
        ]
    )


def test_two_levels_match_naive_regression() -> None:
    """Errors are those of n refits, each without one row; predictions are those of the best penalty."""
    rng = np.random.default_rng(4)
    rows, n, k = 90, 40, 3
    skill = rng.normal(size=(rows, 2))
    history = 0.5 + 0.1 * (skill @ rng.normal(size=(2, 6))) / 2
    losses = 0.5 + 0.1 * (skill @ rng.normal(size=(2, k))) / 2 + rng.normal(0.0, 0.02, (rows, k))
    fit, order = new_fit(history.clip(0, 1), k), rng.permutation(rows)[:n]
    fit.order[:n], fit.losses[:n], fit.fitted[:] = order, losses[order], np.arange(k)
    split_losses(fit.losses, fit.fitted, fit.mean_targets, fit.targets, n, k)
    fit_mean(fit, n)
    fit_deviations(fit, n, k)
    features = fit.components * fit.scale
    prior = fit.components @ fit.prior
    mean, deviations = (
        losses[order].mean(axis=1),
        losses[order] - losses[order].mean(axis=1, keepdims=True),
    )
    errors = {
        (start, penalty): leave_one_out(features[order], mean - start * prior[order], penalty)
        for start in (0, 1)
        for penalty in _PENALTIES
    }
    start, penalty = min(errors, key=lambda choice: float((errors[choice] ** 2).sum()))
    assert np.allclose(fit.mean_errors[:n, 0], errors[start, penalty], atol=1e-9)
    predicted = start * prior + ridge(
        features[order], mean - start * prior[order], penalty, features
    )
    assert np.allclose(fit.mean_fits[:, 0], predicted, atol=1e-9)
    pooled = {
        penalty: np.column_stack(
            [leave_one_out(features[order], deviations[:, c], penalty) for c in range(k)]
        )
        for penalty in _PENALTIES
    }
    penalty = min(pooled, key=lambda choice: float((pooled[choice] ** 2).sum()))
    assert np.allclose(fit.errors[:n], pooled[penalty], atol=1e-9)
    for c in range(k):
        fits = ridge(features[order], deviations[:, c], penalty, features)
        limit = _DEVIATION_LIMIT * fits.std()
        assert np.allclose(
            fit.fits[:, c], fits.clip(fits.mean() - limit, fits.mean() + limit), atol=1e-9
        )
