"""Naive twin of `evidence.pending`: exact fractions, one row and one bet after the other."""

from collections.abc import Sequence
from fractions import Fraction

BETS = [Fraction(bet).limit_denominator(100) for bet in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)]
SHARE = Fraction(9, 10)


def wealth(values: Sequence[Fraction], rows: int, mean: Fraction) -> Fraction | None:
    """Return the largest wealth of all prefixes; None if such a list does not exist."""
    products = [Fraction(1)] * len(BETS)
    largest = Fraction(1)
    total = Fraction(0)
    for t, value in enumerate(values):
        expected = (rows * mean - total) / (rows - t)
        if expected < 0:
            return None
        expected = min(expected, Fraction(1))
        for j, bet in enumerate(BETS):
            size = bet if expected == 0 else min(bet, SHARE / expected)
            products[j] *= 1 + size * (value - expected)
        total += value
        largest = max(largest, sum(products, Fraction(0)) / len(BETS))
    return None if rows * mean < total else largest


def is_rejected(values: Sequence[Fraction], rows: int, mean: Fraction, level: Fraction) -> bool:
    """Return whether "the mean is at most `mean`" is rejected at some time so far."""
    most = wealth(values, rows, mean)
    return most is None or most >= 1 / level
