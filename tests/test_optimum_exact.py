"""The linear program of budgets against an exact solver: every vertex, in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tombola.budget import Budget, optimum
from tombola.budget.optimum import best_mix, dual_prices, frontier, mean_costs
from tombola.pool import Pool

Line = list[Fraction]


def solve(matrix: list[Line], right: Line) -> Line | None:
    """Solve a square system by elimination, in fractions; None if it has no unique solution."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        pivot = next((r for r in range(column, size) if rows[r][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column]
        rows[column] = [value / head for value in rows[column]]
        for r in range(size):
            if r != column and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]


def exact(rewards: Line, costs: list[Line], rates: Line) -> tuple[Fraction, Line] | None:
    """Return the value of the program, and the smallest sum of prices, by its vertices and those of its dual.

    Primal: max r.x, C x + s = rho, sum x = 1, all at least 0. Its basic solutions are all tried.
    """
    k, m = len(rewards), len(rates)
    columns = [[*costs[a], Fraction(1)] for a in range(k)]
    columns += [[Fraction(int(i == j)) for i in range(m)] + [Fraction(0)] for j in range(m)]
    values = [*rewards, *[Fraction(0)] * m]
    best, duals = None, []
    for basis in combinations(range(k + m), m + 1):
        x = solve([[columns[c][row] for c in basis] for row in range(m + 1)], [*rates, Fraction(1)])
        if x is None or min(x) < 0:
            continue
        value = sum((values[c] * share for c, share in zip(basis, x, strict=True)), Fraction(0))
        if best is None or value > best:
            best = value
    if best is None:
        return None
    for basis in combinations(range(k + m), m + 1):
        y = solve([columns[c] for c in basis], [values[c] for c in basis])
        if y is None or min(y[:m], default=Fraction(0)) < 0:
            continue
        if all(values[c] <= sum(a * b for a, b in zip(columns[c], y, strict=True)) for c in range(k + m)):
            duals.append(y)
    return best, [min(y[j] for y in duals) for j in range(m)] + [max(y[j] for y in duals) for j in range(m)]


def program(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rewards = rng.integers(0, 9, k) / 8
    costs = rng.integers(0, 9, (k, m)) / 8
    costs[0] = 0.0
    return rewards, costs, rng.integers(1, 9, m) / 16


def fractions(array: np.ndarray) -> Line:
    return [Fraction(float(value)) for value in array.tolist()]


@pytest.mark.parametrize("part", range(5))
def test_mix_and_prices_are_those_of_an_exact_solver(part: int) -> None:
    """A hundred random programs a part, with ties: value, feasibility, and prices between the extreme dual vertices."""
    for number in range(100):
        rewards, costs, rates = program(np.random.default_rng([part, number]))
        found = exact(fractions(rewards), [fractions(row) for row in costs], fractions(rates))
        assert found is not None
        value, extremes = found
        mix, _ = best_mix(rewards, costs, rates)
        assert rewards @ mix == pytest.approx(float(value), abs=1e-9)
        assert (costs.T @ mix <= rates + 1e-9).all()
        prices, m = dual_prices(rewards, costs, rates), rates.size
        assert rates @ prices + (rewards - costs @ prices).max() == pytest.approx(float(value), abs=1e-9)
        for j in range(m):
            assert float(extremes[j]) - 1e-9 <= prices[j] <= float(extremes[m + j]) + 1e-9


def test_a_halved_price_would_be_noticed() -> None:
    rewards, costs, rates = np.array([0.0, 0.4, 0.9]), np.array([[0.0], [0.2], [0.9]]), np.array([0.5])
    half = dual_prices(rewards, costs, rates) / 2
    value = rewards @ best_mix(rewards, costs, rates)[0]
    assert rates @ half + (rewards - costs @ half).max() > value + 0.05


def test_the_frontier_is_the_curve_of_the_best_mixes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        pool = Pool(rng.random((30, 6)), costs=rng.random((30, 6)))
        cost, loss, _ = frontier(pool)
        for at in np.linspace(cost[0], cost[-1], 7):
            best = optimum(pool, Budget(float(at) * pool.rows, null="add"))
            mixed, _ = best_mix(1 - pool.means, mean_costs(pool), np.array([at]))
            assert float(np.interp(at, cost, loss)) == pytest.approx(float(1 - (1 - pool.means) @ mixed), abs=1e-9)
            assert 1 - best.value <= float(np.interp(at, cost, loss)) + 1e-9
