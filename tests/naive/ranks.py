"""Rank sets by plain Python, from the statement of Corollary 1: no kernels, no incremental closure."""

from fractions import Fraction
from itertools import permutations

from naive import race


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


def wealth(rows, a, b, population, total_rows=None):
    """Return the wealth of the four bets of the race against "L(a) <= L(b)"."""
    return race.wealth(
        rows,
        [(a, [b], None)] * len(rows),
        0.0,
        population,
        population if total_rows is None else total_rows,
    )
