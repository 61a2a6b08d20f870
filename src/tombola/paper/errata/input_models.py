"""Errata of Section 3, the separation, and of the appendices.

L205-L257 and L837-L937.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from tombola.paper.claims.input_models import DISTANCE_CONSTANT, replacement_distance
from tombola.paper.errata.base import Evidence, erratum


def _first_repetition(T: int) -> float:
    """Return E[tau], the mean round of the first repeated loss, without rounding."""
    mean = Fraction(0)
    differ = Fraction(1)
    for t in range(1, T + 1):
        mean += (t + 1) * differ * Fraction(t, T)
        differ *= Fraction(T - t, T)
    return float(mean)


@erratum(1, 231, "typo", "equals", "E[τ] at T = 23")
def _survival() -> Evidence:
    """Printed: P[τ>t] = T···(T−t) / T···T. Correct: t factors: T···(T−t+1) / T^t."""
    T = 23
    terms = [math.prod((T - s) / T for s in range(t)) for t in range(T + 2)]
    return Evidence(printed=sum(terms[1:]), corrected=sum(terms[:-1]), truth=_first_repetition(T))


@erratum(2, 236, "typo", "equals", "The sum that is ∫ (1+x/T)^T e^−x dx, at T = 3")
def _sum() -> Evidence:
    """Printed: Σ from t = 0 to T−1. Correct: Σ from t = 0 to T."""
    T = 3
    terms = [math.comb(T, t) * math.factorial(t) / T**t for t in range(T + 1)]
    x, weights = np.polynomial.laguerre.laggauss(10)  # exact for polynomials of degree 19
    return Evidence(
        printed=sum(terms[:-1]), corrected=sum(terms), truth=float(weights @ (1 + x / T) ** T)
    )


@erratum(4, 253, "typo", "tighter", "Bound on E[τ] at T = 100")
def _cost_of_the_test() -> Evidence:
    """Printed: 4√T, as proved in the lemma (L218: for T sufficiently large). Correct: 2√T, for every T ≥ 1."""
    T = 100
    return Evidence(
        printed=4 * math.sqrt(T), corrected=2 * math.sqrt(T), truth=_first_repetition(T)
    )


@erratum(46, 847, "false", "equals", "Distance at n = 10^6, k = 10^3")
def _distance() -> Evidence:
    """Printed: √(2/(πe)) k/n + O(k/n) in total variation.

    Correct: ½ √(2/(πe)) k/n + o(k/n), as k → ∞ (twice that in the norm of Diaconis and Freedman,
        twice the supremum).
    """
    n = 10**6
    k = 10**3
    return Evidence(
        DISTANCE_CONSTANT * k / n, DISTANCE_CONSTANT / 2 * k / n, replacement_distance(n, k)
    )


@erratum(47, 892, "typo", "equals", "Pools of 3 rows of 5 kinds")
def _multisets() -> Evidence:
    """Printed: all subsets of T elements. Correct: all multisets of size T."""
    kinds = 5
    T = 3
    subsets = math.comb(kinds, T)
    multisets = math.comb(kinds + T - 1, T)
    sequences = {tuple(sorted(draws)) for draws in itertools.product(range(kinds), repeat=T)}
    return Evidence(printed=subsets, corrected=multisets, truth=len(sequences))


@erratum(48, 921, "loose", "tighter", "Probability of 0.2 or more away from 1/2, 20 of 100 rows")
def _hoeffding() -> Evidence:
    """Printed: 2 exp(−s x²). Correct: 2 exp(−2 s x²)."""
    # a mean of 20 rows that is 0.2 or more away from 1/2
    N = 100
    ones = 50
    s = 20
    off = 4
    ways = sum(
        math.comb(ones, x) * math.comb(N - ones, s - x)
        for x in range(s + 1)
        if abs(x - s // 2) >= off
    )
    deviation = off / s
    truth = ways / math.comb(N, s)
    return Evidence(2 * math.exp(-s * deviation**2), 2 * math.exp(-2 * s * deviation**2), truth)
