"""Claim `concentration`: tail probabilities against all subsets."""

import itertools
from fractions import Fraction

import pytest

from tombola.paper.claims import concentration


@pytest.mark.parametrize(("N", "s"), [(1, 1), (4, 2), (6, 3), (7, 7)])
def test_tails_equal_all_subsets(N: int, s: int) -> None:
    deviations, probabilities = concentration._deviation_tails(concentration._ones_in_random_order(N, s), N, s)
    for ones in range(N + 1):
        pool = [1] * ones + [0] * (N - ones)
        off = [abs(Fraction(sum(drawn), s) - Fraction(ones, N)) for drawn in itertools.combinations(pool, s)]
        for seen in range(s + 1):
            at = abs(Fraction(seen, s) - Fraction(ones, N))
            truth = Fraction(sum(x >= at for x in off), len(off))
            assert deviations[ones, seen] == pytest.approx(float(at), abs=1e-15)
            assert probabilities[ones, seen] == pytest.approx(float(truth), abs=1e-13)
