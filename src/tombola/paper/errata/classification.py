"""Errata of classification (L687-L813)."""

import itertools
import math

from tombola import bounds
from tombola.paper.errata.base import Evidence, erratum
from tombola.paper.errata.delay import equal_rows_probability


@erratum(36, 697, "typo", "equals", "Mean of future losses that are all 1, T = 10, t = 8")
def _future() -> Evidence:
    """Printed: 1/(T−t+1) Σ over s > t. Correct: Σ over s ≥ t."""
    T = 10
    t = 8
    after = [1.0 for s in range(1, T + 1) if s > t]
    since = [1.0 for s in range(1, T + 1) if s >= t]
    return Evidence(printed=sum(after) / (T - t + 1), corrected=sum(since) / (T - t + 1), truth=1)


@erratum(37, 732, "false", "at most", "Second moment of a mean of 16 losses that are all 1")
def _second_moment() -> Evidence:
    """Printed: E[mean²] ≤ 1/(t−1). Correct: variance ≤ 1/(4(t−1))."""
    # all losses are 1
    n = 16
    mean = 1.0
    return Evidence(printed=1 / n, corrected=1 / (4 * n) + mean**2, truth=mean**2)


@erratum(38, 754, "false", "at most", "Probability of a difference of 1, T = 1024, 16 rows")
def _differences() -> Evidence:
    """Printed: 2 exp(−(t−1)ε²) for every π′. Correct: 2 exp(−(t−1)ε²/2)."""
    T = 1024
    n = 16
    return Evidence(2 * math.exp(-n), 2 * math.exp(-n / 2), equal_rows_probability(T, n))


@erratum(39, 764, "false", "at most", "Labellings of 20 points by intervals (d = 2)")
def _growth() -> Evidence:
    """Printed: 2(t−1) points: ≤ (e(t−1)/d)^d labellings. Correct: ≤ (2e(t−1)/d)^d."""
    n = 10
    vc = 2
    points = 2 * n
    labellings = {
        tuple(a <= x < b for x in range(points))
        for a in range(points + 1)
        for b in range(a, points + 1)
    }
    return Evidence((math.e * n / vc) ** vc, (2 * math.e * n / vc) ** vc, len(labellings))


@erratum(40, 764, "gap", "equals", "Pairs of orders of 3 rows that a swap leaves orders")
def _swaps() -> Evidence:
    """Printed: swapping π(s) and π′(s) keeps the measure. Correct: it does not; union over the pool instead."""
    orders = list(itertools.permutations(range(3)))
    pairs = [(a, b) for a in orders for b in orders]
    n_kept = sum(len({b[0], *a[1:]}) == len({a[0], *b[1:]}) == 3 for a, b in pairs)
    return Evidence(printed=len(pairs), corrected=len(pairs) / 3, truth=n_kept)


@erratum(
    41, 704, "false", "at most", "Error after 190 of 1024 rows, with all rules allowed (d = 1024)"
)
def _radius() -> Evidence:
    """Printed: ½(√(8d/n ln(2en/d)) + √(8/n ln(2/δ))) for every d.

    Correct: √(4(d ln(2en/d) + ln(4/δ))/n) for d ≤ n, by this proof, whose own last display (L765)
        asks for more than is
    printed; nothing beyond.
    """
    T = 1024
    n = 190
    delta = 0.05
    seen = {row * 7919 % T for row in range(n)}  # whichever rows they are
    # The rule is right on these rows and wrong on the rest.
    wrong = [row not in seen for row in range(T)]
    off = sum(wrong) / T - sum(wrong[row] for row in seen) / n
    corrected = min(1.0, bounds.uniform_convergence_corrected(n, T, delta))
    return Evidence(bounds.uniform_convergence_printed(n, T, delta), corrected, off)


@erratum(42, 786, "typo", "equals", "Rows of the future at t = T, by which the radius divides")
def _last_round() -> Evidence:
    """Printed: ε_(T−t+1). Correct: ε_(T−t+2)."""
    T = t = 10
    return Evidence(printed=(T - t + 1) - 1, corrected=(T - t + 2) - 1, truth=len(range(t, T + 1)))


@erratum(
    43, 792, "typo", "at most", "Regret of a round with losses 1 and 0 and means 1/2", "arithmetic"
)
def _sign() -> Evidence:
    """Printed: + (ℓ_t(h*) − mean of h*). Correct: + (mean of h* − ℓ_t(h*))."""
    best_now = 0.0
    best_mean = 0.5
    mine_now = 1.0
    mine_mean = 0.5
    printed = (mine_now - mine_mean) + (best_now - best_mean)
    corrected = (mine_now - mine_mean) + (best_mean - best_now)
    return Evidence(printed, corrected, truth=mine_now - best_now)


@erratum(44, 810, "typo", "at most", "Regret of unclean rounds and round 1, T = 1000")
def _events() -> Evidence:
    """Printed: + T·1/T. Correct: two events, and round 1: + 3."""
    T = 1000
    return Evidence(printed=1, corrected=3, truth=T * (1 - (1 - 1 / T) ** 2) + 1)


@erratum(
    45, 782, "false", "at most", "Mistakes of a minimiser over all labellings, T = 100, d = 99"
)
def _bound() -> Evidence:
    """Printed: 8√(dT ln(T/d)). Correct: 1 + π√(2dT ln(eT/d))."""
    T = 100
    vc = 99
    pool = [t % vc for t in range(T)]  # one point comes twice; of all labellings one is right
    seen: set[int] = set()
    mistakes = 0
    for point in pool:
        mistakes += point not in seen  # a minimiser may say anything about a new point
        seen.add(point)
    repaired = 1 + math.pi * math.sqrt(2 * vc * T * math.log(math.e * T / vc))
    return Evidence(8 * math.sqrt(vc * T * math.log(T / vc)), repaired, mistakes)
