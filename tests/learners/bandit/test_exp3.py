"""Exp3 with vanishing weights."""

import numpy as np

from naive import bandit as naive
from tombola.learners import (
    Exp3,
)
from twin_cases import Case, after, follow


def test_exp3_survives_weights_that_vanish() -> None:
    """A rate so high that every weight falls below the smallest float many times over."""
    losses = np.ones((150, 2))
    runner = follow(Case(Exp3(rate=200.0), naive.Exp3, {"rate": 200.0}), losses, after(150))
    assert runner.state.base[0] > 1000
