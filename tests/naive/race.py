"""The race in obvious lines, from the theory page: everything is computed again from all rows, slow and plain."""

import math
from typing import Any


def belief(excess: Any, count: Any, variance: Any) -> Any:
    """Return the mean of a normal law cut off below 0, by the same approximation."""
    return (excess / count + math.sqrt((excess / count) ** 2 + 2.55 * variance / count)) / 2


def bets(lead: Any, i: Any, shift: Any, N: Any, rows: Any, variance: Any) -> Any:
    """Return the four bets before they are capped."""
    gain = 1.0 if N == math.inf else N / (N - i)
    edges = [gain * belief(gain * (lead - i * shift), gain * i + prior, variance) for prior in (20, 0.03 * rows)]
    return [edge / (variance + edge**2) for edge in edges] + [0.8 * gain, 0.3 * gain]


def wealth(rows: Any, pairs: Any, shift: Any, N: Any, length: Any) -> Any:
    """Return the wealth after rows of losses, where pairs[i] = (b, o) are the candidate and its opponent in row i."""
    purses, squares, count = [1 / 2, 1 / 4, 1 / 8, 1 / 8], 0.0, 0
    for i, (b, o) in enumerate(pairs):
        lead = sum(row[b] - row[o] for row in rows[:i])
        d = rows[i][b] - rows[i][o]
        m = shift if N == math.inf else (N * shift - lead) / (N - i)
        if m < 1:
            cap = 0.95 / (1 + m) if m > -1 else math.inf
            sizes = bets(lead, i, shift, N, length, (0.5 + squares) / (count + 2))
            purses = [w * (1 + min(bet, cap) * (d - m)) for w, bet in zip(purses, sizes, strict=True)]
            squares += (d - lead / (i + 10)) ** 2
            count += 1
    return sum(purses)


def totals(rows: Any, k: Any) -> Any:
    """Return the sum of each column."""
    return [sum(row[a] for row in rows) for a in range(k)]


def ranked(rows: Any, active: Any, k: Any) -> Any:
    """Return the candidates in the race by their losses so far, the lowest numbers first among equals."""
    sums = totals(rows, k)
    return sorted(active, key=lambda a: (sums[a], a))


def impossible(rows: Any, b: Any, o: Any, shift: Any, N: Any) -> Any:
    """Tell whether b could not be so near to o even if it won every row that is left."""
    if N == math.inf:
        return False
    lead = sum(row[b] - row[o] for row in rows)
    return lead - N * shift > N - len(rows) + 1e-9 * N


def best(table: Any, level: Any, N: Any = None) -> Any:
    """Return who is in the race after each row: a list of lists, up to the end of the race."""
    N = len(table) if N is None else N
    k = len(table[0])
    active, history = list(range(k)), []
    opponents: Any = {b: [] for b in range(k)}
    for i in range(len(table)):
        if len(active) == 1:
            break
        past, seen = table[:i], table[: i + 1]
        order = ranked(past, active, k)
        for b in active:
            opponents[b].append((b, order[0] if b != order[0] else order[1]))
        out = [b for b in active if wealth(seen, opponents[b], 0.0, N, len(table)) >= 1 / level]
        if len(out) == len(active):
            out.remove(order[0])
        active = [b for b in active if b not in out]
        leader = ranked(seen, active, k)[0]
        active = [b for b in active if not impossible(seen, b, leader, 0.0, N)]
        history.append(list(active))
    return history
