"""Learners over a finite class: the Standard Optimal Algorithm and Experts."""

import itertools

import numpy as np
import pytest

from tombola import Hedge, play
from tombola.classification import (
    ERM,
    Experts,
    FiniteClass,
    LabelledPool,
    StandardOptimal,
    Thresholds,
    attack_thresholds,
)


@pytest.mark.usefixtures("short_work")
def test_hedge_over_class_beats_erm() -> None:
    """Littlestone order for ERM over thresholds, as places of 63 points: ERM errs every time, Hedge
    keeps its bound.

    The bound is on the expectation; 3 sqrt(T / 2) more has probability below exp(-9).
    """
    rows = attack_thresholds(ERM(Thresholds()), 63, seed=0).pool
    pool = LabelledPool(np.argsort(np.argsort(rows.features[:, 0])), rows.labels)
    assert play(ERM(Thresholds()), pool, order="given", seed=0).regret == 63
    learner = Experts(FiniteClass(Thresholds().on_points(63)), Hedge())
    limit = learner.bound(63)
    assert limit is not None
    assert play(learner, pool, order="given", seed=0).regret <= limit + 3 * np.sqrt(63 / 2)


def test_optimal_mistakes_at_most_dimension() -> None:
    matrix = Thresholds().on_points(4)
    chain = FiniteClass(matrix)
    for truth in matrix:
        for order in itertools.permutations(range(4)):
            pool = LabelledPool(list(order), truth[list(order)])
            assert play(StandardOptimal(chain), pool, order="given", seed=0).mistakes <= 2
