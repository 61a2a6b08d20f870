"""The KL lower bound solves its equation."""

import pytest

from naive import bandit as naive
from tombola.learners.bandit.counts import kl_lower_bound


@pytest.mark.parametrize("mean", [0.0, 1e-300, 1e-13, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1 - 1e-16, 1.0])
@pytest.mark.parametrize("far", [0.0, 1e-12, 1e-6, 0.01, 0.5, 3.0, 40.0])
def test_kl_lower_bound_solves_its_equation(mean: float, far: float) -> None:
    low, high = 0.0, mean
    for _ in range(200):
        q = (low + high) / 2
        low, high = (q, high) if 0 < q < mean and naive.kl(mean, q) > far else (low, q)
    slack = 2e-12 if far >= 1e-6 else 1e-6  # for a tiny distance the equation itself is only known to rounding
    assert 0.0 <= kl_lower_bound(mean, far) <= mean
    assert kl_lower_bound(mean, far) == pytest.approx(high, abs=slack)
