"""Claim `repair`: mean number of plays before the test stops, against all training sequences."""

import itertools
from fractions import Fraction

import pytest

from tombola.paper.claims.repair import _mean_plays_of_test


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_mean_plays_of_test_equals_all_trainings(n: int) -> None:
    """Over all n^n sequences of draws: action 0 is played up to the round after the first repetition."""
    total = Fraction(0)
    for draws in itertools.product(range(n), repeat=n):
        first = next((t for t in range(n) if draws[t] in draws[:t]), n)
        total += min(first + 2, n)
    assert _mean_plays_of_test(n) == pytest.approx(float(total / n**n), rel=1e-12)
