"""Errata of the appendix (L828-L937)."""

import itertools
import math

from tombola.paper.claims.de_finetti import CONSTANT, distance
from tombola.paper.errata.base import Evidence, erratum


@erratum(46, 847, "false", "equals")
def _distance() -> Evidence:
    """Distance at n = 10^6, k = 10^3.

    Printed: √(2/(πe)) k/n + O(k/n) in total variation
    Correct: ½ √(2/(πe)) k/n + o(k/n), as k → ∞ (twice that in the norm of Diaconis and Freedman, twice the
        supremum)
    """
    n, k = 10**6, 10**3
    return Evidence(CONSTANT * k / n, CONSTANT / 2 * k / n, distance(n, k))


@erratum(47, 892, "typo", "equals")
def _multisets() -> Evidence:
    """Pools of 3 rows of 5 kinds.

    Printed: all subsets of T elements
    Correct: all multisets of size T
    """
    kinds, T = 5, 3
    subsets, multisets = math.comb(kinds, T), math.comb(kinds + T - 1, T)
    found = {tuple(sorted(draws)) for draws in itertools.product(range(kinds), repeat=T)}
    return Evidence(printed=subsets, corrected=multisets, truth=len(found))


@erratum(48, 921, "loose", "tighter")
def _hoeffding() -> Evidence:
    """Probability of 0.2 or more away from 1/2, 20 of 100 rows.

    Printed: 2 exp(−s x²)
    Correct: 2 exp(−2 s x²)
    """
    N, ones, s, off = 100, 50, 20, 4  # a mean of 20 rows that is 0.2 or more away from 1/2
    ways = sum(math.comb(ones, x) * math.comb(N - ones, s - x) for x in range(s + 1) if abs(x - s // 2) >= off)
    deviation = off / s
    truth = ways / math.comb(N, s)
    return Evidence(2 * math.exp(-s * deviation**2), 2 * math.exp(-2 * s * deviation**2), truth)
