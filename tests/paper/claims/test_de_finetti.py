"""Claim `de-finetti`: total variation distance by its definition."""

import itertools
import math
from fractions import Fraction

import pytest

from tombola.paper.claims import de_finetti


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 6)])
def test_distance_by_definition(n: int, k: int) -> None:
    without = [Fraction(math.comb(n, x) * math.comb(n, 2 * k - x), math.comb(2 * n, 2 * k)) for x in range(2 * k + 1)]
    replaced = [Fraction(math.comb(2 * k, x), 4**k) for x in range(2 * k + 1)]
    truth = sum(abs(a - b) for a, b in zip(without, replaced, strict=True)) / 2
    assert de_finetti.replacement_distance(n, k) == pytest.approx(float(truth), abs=1e-13)
    events = itertools.chain.from_iterable(itertools.combinations(range(2 * k + 1), r) for r in range(2 * k + 2))
    if k <= 3:
        largest = max(abs(float(sum(without[x] - replaced[x] for x in event))) for event in events)
        assert largest == float(truth), "total variation is the largest difference over events"
