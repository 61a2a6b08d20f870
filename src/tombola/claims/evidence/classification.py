"""Errata of classification (L687-L813)."""

import itertools
import math

from tombola.claims.evidence.base import Erratum, Evidence
from tombola.claims.evidence.delay import signs_agree


def _future() -> Evidence:
    T, t = 10, 8
    after = [1.0 for s in range(1, T + 1) if s > t]
    since = [1.0 for s in range(1, T + 1) if s >= t]
    return Evidence(printed=sum(after) / (T - t + 1), corrected=sum(since) / (T - t + 1), truth=1)


def _second_moment() -> Evidence:
    n, mean = 16, 1.0  # all losses are 1
    return Evidence(printed=1 / n, corrected=1 / (4 * n) + mean**2, truth=mean**2)


def _differences() -> Evidence:
    T, n = 1024, 16
    return Evidence(2 * math.exp(-n), 2 * math.exp(-n / 2), signs_agree(T, n))


def _growth() -> Evidence:
    n, vc = 10, 2
    points = 2 * n
    labellings = {tuple(a <= x < b for x in range(points)) for a in range(points + 1) for b in range(a, points + 1)}
    return Evidence((math.e * n / vc) ** vc, (2 * math.e * n / vc) ** vc, len(labellings))


def _swaps() -> Evidence:
    orders = list(itertools.permutations(range(3)))
    pairs = [(a, b) for a in orders for b in orders]
    kept = sum(len({b[0], *a[1:]}) == len({a[0], *b[1:]}) == 3 for a, b in pairs)
    return Evidence(printed=len(pairs), corrected=len(pairs) / 3, truth=kept)


def _radius() -> Evidence:
    n, vc, delta = 1000, 1, 0.05
    printed = (math.sqrt(8 * vc / n * math.log(2 * math.e * n / vc)) + math.sqrt(8 / n * math.log(2 / delta))) / 2
    corrected = math.sqrt(4 * (vc * math.log(2 * math.e * n / vc) + math.log(4 / delta)) / n)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        misses = 4 * (math.e * n / vc) ** vc * math.exp(-n * middle**2 / 4)
        low, high = (middle, high) if misses > delta else (low, middle)
    return Evidence(printed, corrected, low)


def _last_round() -> Evidence:
    T = t = 10
    return Evidence(printed=(T - t + 1) - 1, corrected=(T - t + 2) - 1, truth=len(range(t, T + 1)))


def _sign() -> Evidence:
    best_now, best_mean, mine_now, mine_mean = 0.0, 0.5, 1.0, 0.5
    printed = (mine_now - mine_mean) + (best_now - best_mean)
    corrected = (mine_now - mine_mean) + (best_mean - best_now)
    return Evidence(printed, corrected, truth=mine_now - best_now)


def _events() -> Evidence:
    T = 1000
    return Evidence(printed=1, corrected=3, truth=T * (1 - (1 - 1 / T) ** 2) + 1)


def _bound() -> Evidence:
    T, vc = 100, 99
    pool = [t % vc for t in range(T)]  # one point comes twice; of all labellings one is right
    seen: set[int] = set()
    mistakes = 0
    for point in pool:
        mistakes += point not in seen  # a minimiser may say anything about a new point
        seen.add(point)
    repaired = 1 + math.pi * math.sqrt(2 * vc * T * math.log(math.e * T / vc))
    return Evidence(8 * math.sqrt(vc * T * math.log(T / vc)), repaired, mistakes)


ERRATA = (
    Erratum(
        36, 697, "typo", "1/(T−t+1) Σ over s > t", "Σ over s ≥ t",
        "mean of future losses that are all 1, T = 10, t = 8", "equals", _future,
    ),
    Erratum(
        37, 732, "false", "E[mean²] ≤ 1/(t−1)", "variance ≤ 1/(4(t−1))",
        "second moment of a mean of 16 losses that are all 1", "at most", _second_moment,
    ),
    Erratum(
        38, 754, "false", "2 exp(−(t−1)ε²) for every π′", "2 exp(−(t−1)ε²/2)",
        "chance of a difference of 1, T = 1024, 16 rows", "at most", _differences,
    ),
    Erratum(
        39, 764, "false", "2(t−1) points: ≤ (e(t−1)/d)^d labellings", "≤ (2e(t−1)/d)^d",
        "labellings of 20 points by intervals (d = 2)", "at most", _growth,
    ),
    Erratum(
        40, 764, "gap", "swapping π(s) and π′(s) keeps the measure", "it does not; union over the pool instead",
        "pairs of orders of 3 rows that a swap leaves orders", "equals", _swaps,
    ),
    Erratum(
        41, 704, "gap", "½(√(8d/n ln(2en/d)) + √(8/n ln(2/δ)))", "√(4(d ln(2en/d) + ln(4/δ))/n), by this proof",
        "radius at which its own last display (L765) is δ, n = 1000, d = 1", "at most", _radius,
    ),
    Erratum(
        42, 786, "typo", "ε_(T−t+1)", "ε_(T−t+2)",
        "rows of the future at t = T, by which the radius divides", "equals", _last_round,
    ),
    Erratum(
        43, 792, "typo", "+ (ℓ_t(h*) − mean of h*)", "+ (mean of h* − ℓ_t(h*))",
        "regret of a round with losses 1 and 0 and means 1/2", "at most", _sign, "arithmetic",
    ),
    Erratum(
        44, 810, "typo", "+ T·1/T", "two events, and round 1: + 3",
        "regret of unclean rounds and round 1, T = 1000", "at most", _events,
    ),
    Erratum(
        45, 782, "false", "8√(dT ln(T/d))", "1 + π√(2dT ln(eT/d))",
        "mistakes of a minimiser over all labellings, T = 100, d = 99", "at most", _bound,
    ),
)  # fmt: skip
