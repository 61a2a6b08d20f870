"""Tsallis-INF with many actions."""

import numpy as np

from naive import bandit as naive
from tombola.learners import (
    TsallisInf,
)
from twin_cases import Case, after, follow


def test_tsallis_inf_with_huge_estimates() -> None:
    """Late answers to rare actions make estimates that differ by orders of magnitude."""
    losses = np.random.default_rng(0).random((150, 40))
    runner = follow(Case(TsallisInf(), naive.TsallisInf), losses, after(150, 20))
    assert runner.state.totals.max() > 40
