"""Lower bounds: the linear program of coin pools against exact regrets, and samples against all subsets."""

import itertools

import numpy as np
import pytest

from tombola.lab.exact import random_order
from tombola.learners import Hedge
from tombola.paper.extensions import lower_bounds
from tombola.pool import Pool


@pytest.mark.usefixtures("short_work")
@pytest.mark.parametrize("T", [1, 4, 7])
def test_regret_of_hedge_equals_exact_regret(T: int) -> None:
    """Hedge as a point of the linear program, against the exact tree over all orders."""
    A, b = lower_bounds._game_matrix(T)
    regrets = A @ lower_bounds._hedge_strategy(T) + b
    for w in range(T + 1):
        pool = Pool(np.array([[0.0, 1.0]] * w + [[1.0, 0.0]] * (T - w)))
        assert regrets[w] == pytest.approx(random_order(Hedge(), pool), abs=1e-12)


def test_value_of_the_game() -> None:
    for T, value in ((8, 1.093750), (20, 1.761971), (40, 2.507414)):
        assert lower_bounds._min_factor(
            *lower_bounds._game_matrix(T), np.ones(T + 1)
        ) == pytest.approx(value, abs=1e-6)
        assert lower_bounds._minimax_regret(T) == pytest.approx(value, abs=1e-6)
    A, b = lower_bounds._game_matrix(8)
    assert lower_bounds._min_factor(
        A,
        b,
        np.minimum(
            A @ lower_bounds._leader_strategy(8) + b, A @ lower_bounds._hedge_strategy(8) + b
        ),
    ) == pytest.approx(1.187, abs=1e-3)


def test_probability_without_replacement_equals_all_subsets() -> None:
    subsets = list(itertools.combinations([1, 1, 1, -1, -1, 0], 3))
    for i, j in itertools.product(range(4), repeat=2):
        hits = sum(s.count(1) == i and s.count(-1) == j for s in subsets)
        assert i + j > 3 or lower_bounds._without_replacement(6, 3, 2, 3, i, j) == pytest.approx(
            hits / len(subsets)
        )
