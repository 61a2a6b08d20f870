"""Regression on history: its components are those of a singular value decomposition."""

import numpy as np
import pytest

from tombola.confidence.regression import _MAX_COMPONENTS, _components_of


def test_components_are_those_of_singular_value_decomposition() -> None:
    history = np.random.default_rng(3).random((60, 20)) * np.linspace(0.2, 1.0, 20)
    components, intercept, prior, scales = _components_of(history)
    assert components.shape == (60, _MAX_COMPONENTS)
    assert np.allclose(components.T @ components, 60 * np.eye(_MAX_COMPONENTS), atol=1e-6)
    _, sizes, _ = np.linalg.svd(history - history.mean(axis=0))
    assert np.allclose(np.sqrt(20 * (scales[0] - 1e-9) ** 2 * 60), sizes[:_MAX_COMPONENTS], rtol=1e-3)
    assert intercept == pytest.approx(history.mean())
    assert np.allclose(scales[1] ** 2 + prior**2, scales[0] ** 2, atol=1e-6)
