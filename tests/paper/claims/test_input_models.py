"""Claims `concentration` and `de-finetti`: tails against all subsets, distances by their definition."""

import itertools
import math
from fractions import Fraction

import pytest

from tombola.paper.claims.input_models import (
    _deviation_tails,
    _ones_in_random_order,
    replacement_distance,
)


@pytest.mark.parametrize(("N", "s"), [(1, 1), (4, 2), (6, 3), (7, 7)])
def test_tails_equal_all_subsets(N: int, s: int) -> None:
    deviations, probabilities = _deviation_tails(_ones_in_random_order(N, s), N, s)
    for ones in range(N + 1):
        pool = [1] * ones + [0] * (N - ones)
        off = [
            abs(Fraction(sum(drawn), s) - Fraction(ones, N))
            for drawn in itertools.combinations(pool, s)
        ]
        for seen in range(s + 1):
            at = abs(Fraction(seen, s) - Fraction(ones, N))
            truth = Fraction(sum(x >= at for x in off), len(off))
            assert deviations[ones, seen] == pytest.approx(float(at), abs=1e-15)
            assert probabilities[ones, seen] == pytest.approx(float(truth), abs=1e-13)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 6)])
def test_distance_by_definition(n: int, k: int) -> None:
    without = [
        Fraction(math.comb(n, x) * math.comb(n, 2 * k - x), math.comb(2 * n, 2 * k))
        for x in range(2 * k + 1)
    ]
    replaced = [Fraction(math.comb(2 * k, x), 4**k) for x in range(2 * k + 1)]
    truth = sum(abs(a - b) for a, b in zip(without, replaced, strict=True)) / 2
    assert replacement_distance(n, k) == pytest.approx(float(truth), abs=1e-13)
    events = itertools.chain.from_iterable(
        itertools.combinations(range(2 * k + 1), r) for r in range(2 * k + 2)
    )
    if k <= 3:
        largest = max(abs(float(sum(without[x] - replaced[x] for x in event))) for event in events)
        assert largest == float(truth), "total variation is the largest difference over events"
