"""Claim `impossibility`: the least regret over all ways to spend."""

import pytest

from tombola.paper.claims.impossibility import _least_regret, _regrets_by_spending


@pytest.mark.parametrize("T", [2, 4, 8, 16])
def test_least_regret_is_a_sixteenth(T: int) -> None:
    assert _least_regret(T) == pytest.approx(T / 16, abs=1e-9)
    assert _regrets_by_spending(T).max(axis=0).min() >= T / 16 - 1e-12
