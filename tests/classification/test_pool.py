"""Labelled pools."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tombola.classification import LabelledPool
from tombola.errors import PoolError


def test_bad_pools_are_rejected(one_sentence: Callable[[object], str]) -> None:
    nan, inf = float("nan"), float("inf")
    bad: list[tuple[tuple[Any, ...], str]] = [
        (([1.0], [2]), "labels must be 0 or 1, got 2 in row 0"),
        (([1.0, 2.0], [0, -1]), "got -1 in row 1"),
        (([1.0], [0.5]), "got 0.5"),
        (([1.0], [nan]), "got nan"),
        (([1.0], ["yes"]), "labels must be numbers"),
        (([1.0], [0, 1]), "for each of the 1 rows"),
        (([1.0, nan], [0, 1]), "features must be finite, got nan in row 1"),
        (([[1.0, inf]], [0]), "got inf in row 0, column 1"),
        (([], []), "at least one row"),
        (([["a"]], [0]), "features must be numbers"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "features must be numbers"),
        (([1.0], [0], [0.0]), "weights must be above 0 and at most 1, got 0.0 in row 0"),
        (([1.0], [0], [1.5]), "weights must be"),
        (([1.0], [0], [1.0, 1.0]), "weights must be"),
    ]
    for arguments, words in bad:
        with pytest.raises(PoolError) as error:
            LabelledPool(*arguments)
        assert words in one_sentence(error.value)


def test_pool_keeps_its_own_copy_and_rounds_weights() -> None:
    features = np.array([1.0, 2.0])
    pool = LabelledPool(features, [True, False], [1e-9, 0.3])
    features[0] = 7
    assert pool.features[0, 0] == 1.0
    assert pool.weights[0] == 2.0**-20
    assert abs(pool.weights[1] - 0.3) <= 2.0**-21
    assert len(pool) == 2
    with pytest.raises(ValueError, match="read-only"):
        pool.labels[0] = 0
