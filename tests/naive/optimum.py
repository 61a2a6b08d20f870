"""Exact solver of the linear program of budgets: every vertex, in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np

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
    """Return the value of the program, and the smallest sum of prices, by its vertices and those of
    its dual.

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
        if all(
            values[c] <= sum(a * b for a, b in zip(columns[c], y, strict=True))
            for c in range(k + m)
        ):
            duals.append(y)
    return best, [min(y[j] for y in duals) for j in range(m)] + [
        max(y[j] for y in duals) for j in range(m)
    ]


def program(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    k, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rewards = rng.integers(0, 9, k) / 8
    costs = rng.integers(0, 9, (k, m)) / 8
    costs[0] = 0.0
    return rewards, costs, rng.integers(1, 9, m) / 16


def fractions(array: np.ndarray) -> Line:
    return [Fraction(float(value)) for value in array.tolist()]
