"""Errata of the section on the separation (L210-L257)."""

import math
from fractions import Fraction

import numpy as np

from tombola.paper.errata.base import Evidence, erratum


def first_repetition(T: int) -> float:
    """Return E[tau] by its definition, the mean of the round in which the first loss comes again, without rounding.

    >>> first_repetition(2)
    2.5
    """
    mean, differ = Fraction(0), Fraction(1)
    for t in range(1, T + 1):
        mean += (t + 1) * differ * Fraction(t, T)
        differ *= Fraction(T - t, T)
    return float(mean)


@erratum(1, 231, "false", "equals")
def _survival() -> Evidence:
    """E[τ] at T = 23.

    Printed: P[τ>t] = T···(T−t) / T···T
    Correct: t factors: T···(T−t+1) / T^t
    """
    T = 23
    terms = [math.prod((T - s) / T for s in range(t)) for t in range(T + 2)]
    return Evidence(printed=sum(terms[1:]), corrected=sum(terms[:-1]), truth=first_repetition(T))


@erratum(2, 236, "typo", "equals")
def _sum() -> Evidence:
    """The sum that is ∫ (1+x/T)^T e^−x dx, at T = 3.

    Printed: Σ from t = 0 to T−1
    Correct: Σ from t = 0 to T
    """
    T = 3
    terms = [math.comb(T, t) * math.factorial(t) / T**t for t in range(T + 1)]
    x, weights = np.polynomial.laguerre.laggauss(10)  # exact for polynomials of degree 19
    return Evidence(printed=sum(terms[:-1]), corrected=sum(terms), truth=float(weights @ (1 + x / T) ** T))


@erratum(4, 253, "typo", "tighter")
def _cost_of_the_test() -> Evidence:
    """Bound on E[τ] at T = 100.

    Printed: 4√T, as proved in the lemma (L218: for T sufficiently large)
    Correct: 2√T, for every T ≥ 1
    """
    T = 100
    return Evidence(printed=4 * math.sqrt(T), corrected=2 * math.sqrt(T), truth=first_repetition(T))
