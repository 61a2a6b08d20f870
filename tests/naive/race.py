"""The race in obvious lines, from the theory page: everything is computed again from all rows, slow and plain."""

import math
from typing import Any

FIXED = [0.9 / 2**q for q in range(6)]


def wealth(rows: Any, pairs: Any, shift: Any, N: Any) -> Any:
    """Return the wealth after rows of losses, where pairs[i] = (b, o) are the candidate and its opponent in row i."""
    fixed, learned, squares, bets = [1.0] * 6, 1.0, 0.0, 0
    for i, (b, o) in enumerate(pairs):
        lead = sum(row[b] - row[o] for row in rows[:i])
        d = rows[i][b] - rows[i][o]
        m = shift if N == math.inf else (N * shift - lead) / (N - i)
        if m >= 1:
            continue
        gain = 1.0 if N == math.inf else N / (N - i)
        cap = 0.95 / (1 + m) if m > -1 else math.inf
        fixed = [w * (1 + min(gain * bet, cap) * (d - m)) for w, bet in zip(fixed, FIXED, strict=True)]
        edge = gain * max(0.0, (lead - i * shift) / (i + 10))
        variance = (0.5 + squares) / (bets + 2)
        learned *= 1 + min(edge / (variance + edge**2), cap) * (d - m)
        squares += (d - lead / (i + 10)) ** 2
        bets += 1
    return sum(fixed) / 12 + learned / 2


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
        out = [b for b in active if wealth(seen, opponents[b], 0.0, N) >= 1 / level]
        if len(out) == len(active):
            out.remove(order[0])
        active = [b for b in active if b not in out]
        leader = ranked(seen, active, k)[0]
        active = [b for b in active if not impossible(seen, b, leader, 0.0, N)]
        history.append(list(active))
    return history
