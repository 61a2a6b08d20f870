"""Rank sets by plain Python, from the statement of Corollary 1: no kernels, no incremental closure."""

import math
from fractions import Fraction
from itertools import permutations


def order_of(losses, ties=True):
    """Return the true order of the columns by mean loss, ties in file order."""
    k = len(losses[0])
    totals = [sum(Fraction(row[a]).limit_denominator(1000) for row in losses) for a in range(k)]
    return sorted(range(k), key=lambda a: (totals[a], a)), totals


def closure(pairs, k):
    """Return all pairs that follow from these by transitivity."""
    closed, grown = set(pairs), True
    while grown:
        more = {(a, d) for a, b in closed for c, d in closed if b == c} | closed
        grown, closed = more != closed, more
    return closed


def claims_of(rows, population, level, bet):
    """Return the closed set of proved pairs (first, second) after each row; `bet` gives the wealth of a pair so far."""
    k = len(rows[0])
    goal = max(1, k * (k - 1) // 2) / level
    history: list[set[tuple[int, int]]] = []
    proved: set[tuple[int, int]] = set()
    for n in range(1, len(rows) + 1):
        for a, b in permutations(range(k), 2):
            if (a, b) in proved or (b, a) in proved:
                continue
            lead = sum(row[a] - row[b] for row in rows[:n])
            if bet(rows[:n], a, b, population) >= goal or lead > population - n + 1e-9 * population:
                proved = closure(proved | {(b, a)}, k)
        history.append(set(proved))
    return history


STAKE = (1 / 2, 1 / 4, 1 / 8, 1 / 8)


def wealth(rows, a, b, population, total_rows=None):
    """Return the wealth of the four bets of the race against "L(a) <= L(b)", written out row by row."""
    total_rows = population if total_rows is None else total_rows
    parts, lead, squares, count = list(STAKE), 0.0, 0.0, 0
    for n, row in enumerate(rows):
        d = row[a] - row[b]
        gain = 1.0 if population == math.inf else population / (population - n)
        m = 0.0 if population == math.inf else -lead / (population - n)
        if m < 1.0:
            cap = 0.95 / (1.0 + m) if m > -1.0 else math.inf
            variance = (0.5 + squares) / (count + 2.0)
            for j, prior in enumerate((20.0, 0.03 * total_rows)):
                weight = gain * n + prior
                mean = gain * lead / weight
                edge = gain * 0.5 * (mean + math.sqrt(mean * mean + 2.55 * variance / weight))
                parts[j] *= 1.0 + min(edge / (variance + edge * edge), cap) * (d - m)
            for j, share in ((2, 0.8), (3, 0.3)):
                parts[j] *= 1.0 + min(gain * share, cap) * (d - m)
            off = d - lead / (n + 10.0)
            squares += off * off
            count += 1
        lead += d
    return sum(parts)
