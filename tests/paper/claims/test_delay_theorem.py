"""Claim `delay-theorem`: exact regret of the delay trap in given order."""

import itertools

import numpy as np
import pytest

from tombola.paper.claims.delay_theorem import _trap_regret


@pytest.mark.parametrize(("T", "d"), [(4, 0), (8, 1), (12, 2), (12, 5)])
def test_trap_regret_equals_all_sign_sequences(T: int, d: int) -> None:
    blocks = T // (d + 1)
    regrets = [(d + 1) * abs(sum(signs)) / 2 for signs in itertools.product((-1, 1), repeat=blocks)]
    assert _trap_regret(T, d) == pytest.approx(float(np.mean(regrets)), rel=1e-12)
