"""The linear program of budgets against an exact solver: every vertex, in fractions."""

import numpy as np
import pytest

from naive.optimum import exact, fractions, program
from tombola.budget import Budget, optimum
from tombola.budget.optimum import (
    _best_mix_many_resources,
    best_mix,
    dual_prices,
    frontier,
    mean_costs,
)
from tombola.pool import Pool


@pytest.mark.parametrize("part", range(5))
def test_mix_and_prices_equal_exact_solver(part: int) -> None:
    """A hundred random programs a part, with ties: value, feasibility, and prices between the extreme dual vertices."""
    for number in range(100):
        rewards, costs, rates = program(np.random.default_rng([part, number]))
        found = exact(fractions(rewards), [fractions(row) for row in costs], fractions(rates))
        assert found is not None
        value, extremes = found
        for solve, tolerance in ((best_mix, 1e-9), (_best_mix_many_resources, 1e-6)):
            mix, _ = solve(rewards, costs, rates, None)
            assert mix.min() >= 0
            assert mix.sum() == pytest.approx(1)
            assert rewards @ mix == pytest.approx(float(value), abs=tolerance)
            assert (costs.T @ mix <= rates + tolerance).all()
        prices, m = dual_prices(rewards, costs, rates), rates.size
        assert rates @ prices + (rewards - costs @ prices).max() == pytest.approx(
            float(value), abs=1e-9
        )
        for j in range(m):
            assert float(extremes[j]) - 1e-9 <= prices[j] <= float(extremes[m + j]) + 1e-9


def test_halved_price_would_be_detected() -> None:
    rewards, costs, rates = (
        np.array([0.0, 0.4, 0.9]),
        np.array([[0.0], [0.2], [0.9]]),
        np.array([0.5]),
    )
    half = dual_prices(rewards, costs, rates) / 2
    value = rewards @ best_mix(rewards, costs, rates)[0]
    assert rates @ half + (rewards - costs @ half).max() > value + 0.05


def test_frontier_is_curve_of_best_mixes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        pool = Pool(rng.random((30, 6)), costs=rng.random((30, 6)))
        cost, loss, _ = frontier(pool)
        for at in np.linspace(cost[0], cost[-1], 7):
            best = optimum(pool, Budget(float(at) * pool.rows, null="add"))
            mixed, _ = best_mix(1 - pool.means, mean_costs(pool), np.array([at]))
            assert float(np.interp(at, cost, loss)) == pytest.approx(
                float(1 - (1 - pool.means) @ mixed), abs=1e-9
            )
            assert 1 - best.value <= float(np.interp(at, cost, loss)) + 1e-9
