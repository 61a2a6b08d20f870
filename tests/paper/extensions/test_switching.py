"""Claims on switching costs: the trap pool, and the exploration loss counted from actions."""

import numpy as np
import pytest

from tombola.engine.compiler import interpreted
from tombola.learners import Thrifty
from tombola.paper.extensions.switching import _exploration_loss, trap_pool
from tombola.rng import new_rng


def test_trap_has_its_gap() -> None:
    pool = trap_pool(1000, 3, 0.4)
    assert pool.means.tolist() == pytest.approx([0.3, 0.7, 0.7])
    assert pool.losses[:300, 0].sum() == 300


@pytest.mark.parametrize("price", [0.0, 1.0, 5.0])
def test_exploration_loss_equals_the_budget_spent(price: float) -> None:
    """On losses without ties."""
    losses = np.random.default_rng(4).random((400, 3)) * [1.0, 0.9, 0.7]
    state, rng, played = Thrifty(price).init(3, 400), new_rng(np.random.SeedSequence(0)), []
    initial = float(state.exploration_budget[0])
    with interpreted():
        for row in losses:
            action, probability = Thrifty.act(state, rng)
            Thrifty.observe(state, action, probability, float(row[action]))
            played.append(action)
    spent = _exploration_loss(np.array(played), losses[np.arange(400), played], 3, price)
    assert spent > 0
    assert initial - state.exploration_budget[0] == pytest.approx(spent, abs=1e-9)
