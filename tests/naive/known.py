"""Naive twin of `Best` with answers on file: everything is recomputed from all rows."""

from typing import Any

from naive.race import choice, ranked, wealth


def bounds(table: Any, known: Any, i: Any, a: Any) -> Any:
    """Return the smallest and the largest total of candidate a, if the first i rows are answered."""
    seen = sum(row[a] for row in table[:i])
    low = [
        row[a] if is_known[a] else 0.0 for row, is_known in zip(table[i:], known[i:], strict=True)
    ]
    high = [
        row[a] if is_known[a] else 1.0 for row, is_known in zip(table[i:], known[i:], strict=True)
    ]
    return seen + sum(low), seen + sum(high)


def best(table: Any, known: Any, level: Any) -> Any:
    """Return the active candidates before the first and after each row, and the calls; `known` marks cells on file."""
    N, k = len(table), len(table[0])
    active, history, calls = list(range(k)), [], 0
    choices: Any = {b: [] for b in range(k)}
    # Answers on file may exclude candidates before the first row.
    smallest = min(bounds(table, known, 0, a)[1] for a in active)
    active = [b for b in active if bounds(table, known, 0, b)[0] <= smallest + 1e-9 * N]
    history.append(list(active))
    for i in range(N):
        if len(active) == 1:
            break
        calls += sum(not known[i][a] for a in active)
        order = ranked(table[:i], active, k)
        for b in active:
            choices[b].append(choice(table[:i], b, order, k))
        out = [b for b in active if wealth(table[: i + 1], choices[b], 0.0, N, N) >= 1 / level]
        if len(out) == len(active):
            out.remove(order[0])
        active = [b for b in active if b not in out]
        smallest = min(bounds(table, known, i + 1, a)[1] for a in active)
        active = [b for b in active if bounds(table, known, i + 1, b)[0] <= smallest + 1e-9 * N]
        history.append(list(active))
    return history, calls
