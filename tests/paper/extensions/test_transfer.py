"""Claims `deviations` and `drift`."""

import itertools

import pytest

from tombola.paper.extensions.transfer import _deviation_probability


@pytest.mark.parametrize(
    ("N", "ones", "m", "y"), [(5, 2, 1, 0.5), (6, 3, 2, 0.75), (6, 1, 3, 1 / 3)]
)
def test_deviation_probability_equals_all_orders(N: int, ones: int, m: int, y: float) -> None:
    columns = set(itertools.permutations([1] * ones + [0] * (N - ones)))
    hits = sum(any(sum(c[:n]) >= y * n - 1e-9 for n in range(m, N + 1)) for c in columns)
    assert _deviation_probability(N, ones, m, y) == pytest.approx(hits / len(columns))
