"""Simulated races."""

from typing import Any

import numpy as np
import pytest

from tombola.pool import Pool
from tombola.racing import plan

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ({"top": 2}, ("a", "b")),
        ({"baseline": "c", "better": True}, ("a", "b")),
        ({"within": 0.2}, ("a",)),
        ({"question": "ranks"}, ("a", "b", "c")),
        ({"question": "ranks", "candidate": "b"}, ("b: rank 2",)),
    ],
)
def test_plan_of_questions(question: Any, answer: tuple[str, ...]) -> None:
    pool = Pool(
        np.random.default_rng(1).random((150, 3)) * [0.1, 0.5, 1.0], actions=["a", "b", "c"]
    )
    [one] = plan(pool, seed=1, shuffles=8, **question)
    assert one.answers == [(answer, 8)]
    assert (one.decided, one.wrong) == (1.0, 0.0)
    assert one.share < 0.8


def test_plan_of_ranks_reports_wrong_orders() -> None:
    """Rows of tied candidates at a level of .9: some shuffles must claim an order against the file."""
    pool = Pool(np.tile(np.eye(2), (6, 1)), actions=["a", "b"])
    [one] = plan(pool, seed=1, shuffles=60, levels=(0.9,), question="ranks")
    assert 0.0 < one.wrong <= 0.9
