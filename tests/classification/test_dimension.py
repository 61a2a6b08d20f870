"""Dimensions of classes against brute force, growth functions by counting, and the learners they govern."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from naive import classes as naive
from tombola import Hedge, play
from tombola.classification import (
    ERM,
    AllLabellings,
    Experts,
    FiniteClass,
    Halving,
    Intervals,
    LabelledPool,
    StandardOptimal,
    Stumps,
    Thresholds,
    Unions,
    attack_thresholds,
    littlestone_dimension,
    vc_dimension,
)
from tombola.errors import ParameterError, PoolError


def test_thresholds_on_points() -> None:
    for points in range(1, 40):
        matrix = Thresholds().on_points(points)
        assert (
            littlestone_dimension(matrix)
            == (points + 1).bit_length() - 1
            == Thresholds().littlestone(points)
        )
        assert vc_dimension(matrix) == 1
        assert len(np.unique(matrix, axis=0)) == Thresholds().growth(points)


def test_intervals_and_unions_on_points() -> None:
    for points in range(1, 8):
        for hypotheses in (Intervals(), Unions(2)):
            matrix = hypotheses.on_points(points)
            distinct = {tuple(row) for row in matrix.tolist()}
            assert len(distinct) == hypotheses.growth(points)
            assert (
                vc_dimension(matrix)
                == min(points, hypotheses.vc or 0)
                == naive.vc(sorted(distinct))
            )
            if points <= 5:
                expected = naive.littlestone(frozenset(distinct))
                assert littlestone_dimension(matrix) == hypotheses.littlestone(points) == expected


def test_thousand_random_classes() -> None:
    generator = np.random.default_rng(0)
    seen = set()
    for _ in range(1000):
        size, points = generator.integers(1, 13), generator.integers(1, 6)
        matrix = (generator.random((size, points)) < generator.choice([0.2, 0.5])).astype(int)
        distinct = frozenset(tuple(row) for row in matrix.tolist())
        dimensions = vc_dimension(matrix), littlestone_dimension(matrix)
        assert dimensions == (naive.vc(sorted(distinct)), naive.littlestone(distinct))
        seen.add(dimensions)
    assert len(seen) >= 6, "the classes must be of many kinds"


@pytest.mark.usefixtures("short_work")
def test_unrealisable_labels_over_finite_class() -> None:
    chain = FiniteClass([[0, 0], [0, 1]])
    pool = LabelledPool([0, 1, 0, 1, 0], [1, 1, 1, 0, 0])
    for learner in (StandardOptimal(chain), Halving(chain), Experts(chain, Hedge())):
        assert play(learner, pool, seed=0).horizon == 5


@pytest.mark.usefixtures("short_work")
def test_bad_classes_are_rejected(one_sentence: Callable[[object], str]) -> None:
    cases: tuple[Any, ...] = ([], [[]], [[0, 2]], [[0], [0, 1]], "abc", [["a"]], [[float("nan")]])
    for bad in cases:
        for call in (FiniteClass, vc_dimension, littlestone_dimension):
            with pytest.raises(ParameterError) as error:
                call(bad)
            assert "matrix of 0 and 1" in one_sentence(error.value)
    big = (np.arange(5000)[:, None] >> np.arange(13)) & 1
    for call in (vc_dimension, littlestone_dimension):
        with pytest.raises(ParameterError, match="at most 4096") as error:
            call(big)
        one_sentence(error.value)
    wrong: dict[str, Callable[[], object]] = {
        "points": lambda: AllLabellings(0),
        "features": lambda: Stumps(0),
        "intervals": lambda: Unions(21),
        "rounds": lambda: attack_thresholds(ERM(Thresholds()), 0, seed=0),
        "used up": lambda: attack_thresholds(ERM(Thresholds(), "middle"), 100, seed=0),
        r"0\.\.1": lambda: play(ERM(FiniteClass([[0, 1]])), LabelledPool([2.0], [0]), seed=0),
    }
    for words, reject in wrong.items():
        with pytest.raises((ParameterError, PoolError), match=words) as refused:
            reject()
        one_sentence(refused.value)
