"""Simulated races."""

import numpy as np
import pytest

from tombola.pool import Pool
from tombola.racing import plan

pytestmark = pytest.mark.usefixtures("plainly")


def test_plan_of_other_questions() -> None:
    pool = Pool((np.random.default_rng(1).random((150, 3)) < [0.1, 0.15, 0.8]).astype(float), actions=["a", "b", "c"])
    [top] = plan(pool, seed=1, shuffles=5, top=2)
    assert top.answers == [(("a", "b"), 5)]
    [gate] = plan(pool, seed=1, shuffles=5, baseline="c")
    assert gate.answers == [(("a", "b"), 5)]
    [near] = plan(pool, seed=1, shuffles=5, within=0.2)
    assert near.wrong == 0
    assert near.share < 1


def test_plan_of_ranks() -> None:
    losses = np.random.default_rng(1).random((150, 3)) * [0.1, 0.5, 1.0]
    pool = Pool(losses, actions=["a", "b", "c"])
    [whole] = plan(pool, seed=1, shuffles=8, question="ranks")
    assert whole.answers == [(("a", "b", "c"), 8)]
    assert (whole.decided, whole.wrong) == (1.0, 0.0)
    assert whole.share < 0.8
    [place] = plan(pool, seed=1, shuffles=8, question="ranks", candidate="b")
    assert place.answers == [(("b: rank 2",), 8)]


def test_plan_of_ranks_reports_wrong_orders() -> None:
    """Rows of tied candidates at a level of .9: some shuffles must claim an order against the file."""
    pool = Pool(np.tile(np.eye(2), (6, 1)), actions=["a", "b"])
    [one] = plan(pool, seed=1, shuffles=60, levels=(0.9,), question="ranks")
    assert 0.0 < one.wrong <= 0.9
