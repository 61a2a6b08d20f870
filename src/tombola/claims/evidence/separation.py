"""Errata of the section on the separation (L210-L257)."""

import math
from fractions import Fraction

import numpy as np

from tombola.claims.evidence.base import Erratum, Evidence


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


def _survival() -> Evidence:
    T = 23
    terms = [math.prod((T - s) / T for s in range(t)) for t in range(T + 2)]
    return Evidence(printed=sum(terms[1:]), corrected=sum(terms[:-1]), truth=first_repetition(T))


def _sum() -> Evidence:
    T = 3
    terms = [math.comb(T, t) * math.factorial(t) / T**t for t in range(T + 1)]
    x, weights = np.polynomial.laguerre.laggauss(10)  # exact for polynomials of degree 19
    return Evidence(printed=sum(terms[:-1]), corrected=sum(terms), truth=float(weights @ (1 + x / T) ** T))


def _cost_of_the_test() -> Evidence:
    T = 100
    return Evidence(printed=4 * math.sqrt(T), corrected=2 * math.sqrt(T), truth=first_repetition(T))


ERRATA = (
    Erratum(
        1, 231, "false", "P[τ>t] = T···(T−t) / T···T", "t factors: T···(T−t+1) / T^t",
        "E[τ] at T = 23", "equals", _survival,
    ),
    Erratum(
        2, 236, "typo", "Σ from t = 0 to T−1", "Σ from t = 0 to T",
        "the sum that is ∫ (1+x/T)^T e^−x dx, at T = 3", "equals", _sum,
    ),
    Erratum(
        4, 253, "typo", "4√T, as proved in the lemma (L218: for T sufficiently large)", "2√T, for every T ≥ 1",
        "bound on E[τ] at T = 100", "tighter", _cost_of_the_test,
    ),
)  # fmt: skip
