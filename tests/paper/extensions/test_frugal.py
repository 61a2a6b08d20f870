"""Claim `frugal-ucb`: its pools."""

import pytest

from tombola.paper.extensions.frugal import trap_pool


def test_trap_has_its_gap() -> None:
    pool = trap_pool(1000, 3, 0.4)
    assert pool.means.tolist() == pytest.approx([0.3, 0.7, 0.7])
    assert pool.losses[:300, 0].sum() == 300
