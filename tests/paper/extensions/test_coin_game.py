"""Linear program of the coin game: regrets of played learners, and the known values of the game."""

import numpy as np
import pytest

from tombola.exact import random_order
from tombola.learners import Hedge
from tombola.paper.extensions.coin_game import game_matrix, hedge_strategy, leader_strategy, min_factor, minimax_regret
from tombola.pool import Pool


@pytest.mark.parametrize("T", [1, 4, 7])
def test_regret_of_hedge_equals_exact_regret(T: int) -> None:
    """Hedge as a point of the linear program, against the exact tree over all orders."""
    A, b = game_matrix(T)
    regrets = A @ hedge_strategy(T) + b
    for w in range(T + 1):
        pool = Pool(np.array([[0.0, 1.0]] * w + [[1.0, 0.0]] * (T - w)))
        assert regrets[w] == pytest.approx(random_order(Hedge(), pool), abs=1e-12)


def test_value_of_the_game() -> None:
    for T, value in ((8, 1.093750), (20, 1.761971), (40, 2.507414)):
        assert min_factor(*game_matrix(T), np.ones(T + 1)) == pytest.approx(value, abs=1e-6)
        assert minimax_regret(T) == pytest.approx(value, abs=1e-6)
    A, b = game_matrix(8)
    assert min_factor(A, b, np.minimum(A @ leader_strategy(8) + b, A @ hedge_strategy(8) + b)) == pytest.approx(
        1.187, abs=1e-3
    )
