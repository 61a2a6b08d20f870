"""Claim `birthday`: the mean of the stopping time, by the definition and by simulation."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tombola import bounds


def test_mean_is_within_the_bound_up_to_5000() -> None:
    ratios = [bounds.birthday_mean(T) / bounds.birthday(T) for T in range(1, 5001)]
    assert max(ratios) == ratios[0] == 1.0
    assert all(later < earlier for earlier, later in pairwise(ratios)), "the ratio falls with T"
    assert ratios[-1] > math.sqrt(math.pi / 8)


@pytest.mark.parametrize("T", range(1, 13))
def test_mean_by_definition(T: int) -> None:
    """E[tau]: tau = t + 1 if the first t losses differ and the next is one of them."""
    exact, differ = Fraction(0), Fraction(1)
    for t in range(1, T + 1):
        exact += (t + 1) * differ * Fraction(t, T)
        differ *= Fraction(T - t, T)
    assert differ == 0
    assert bounds.birthday_mean(T) == pytest.approx(float(exact), rel=1e-14)


def test_mean_of_a_million_simulations() -> None:
    """Four standard errors: a correct formula fails with probability 6.4e-5 over the choice of the (fixed) seed."""
    T, rng, taus = 100, np.random.default_rng(20), []
    for _ in range(10):
        draws = rng.integers(0, T, (100_000, 60), dtype=np.int8)
        seen, tau = np.zeros((100_000, T), dtype=bool), np.zeros(100_000, dtype=np.int64)
        plays = np.arange(100_000)
        for t in range(60):
            repeated = seen[plays, draws[:, t]] & (tau == 0)
            tau[repeated] = t + 1
            seen[plays, draws[:, t]] = True
        assert (tau > 0).all(), "60 different of 100 has probability 1.1e-10"
        taus.append(tau)
    tau = np.concatenate(taus)
    assert tau.size == 1_000_000
    assert abs(tau.mean() - bounds.birthday_mean(T)) < 4 * tau.std() / 1000
