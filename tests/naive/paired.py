"""Bounds of a mean difference, one row and one shift at a time, from docs/theory/gate.md."""

import math
from collections.abc import Sequence
from statistics import NormalDist

NORMAL = NormalDist()


def planned(gains: Sequence[float], shift: float, level: float) -> float:
    """Return the wealth after the last row of bets that aim at it."""
    n = len(gains)
    goal = 1.0 / NORMAL.cdf(NORMAL.inv_cdf(level) - 0.1)
    wealth = 1.0
    seen: list[float] = []
    for t, gain in enumerate(gains):
        # Bets are given up, and resumed never, at the rows where that is checked.
        if t % 16 == 0 and (wealth >= goal or wealth <= 1e-4):
            break
        x = (gain - shift) / (1.0 + shift)
        squares = sum((y - sum(seen[:i]) / (i + 10.0)) ** 2 for i, y in enumerate(seen))
        q = max(min(wealth / goal, 1.0), 1e-12)
        bet = 0.0
        if q < 1.0:
            density = NORMAL.pdf(NORMAL.inv_cdf(q))
            bet = min(density / (q * math.sqrt((n - t) * (0.5 + squares) / (t + 2.0))), 0.99)
        wealth *= 1.0 + bet * x
        seen.append(x)
    return wealth


def running(gains: Sequence[float], shift: float) -> float:
    """Return the largest wealth so far of bets without an aim."""
    strategies = [0.5, 0.25, 0.125, 0.125]
    largest = 1.0
    seen: list[float] = []
    for t, gain in enumerate(gains):
        x = (gain - shift) / (1.0 + shift)
        squares = sum((y - sum(seen[:i]) / (i + 10.0)) ** 2 for i, y in enumerate(seen))
        variance = (0.5 + squares) / (t + 2.0)
        bets = []
        for prior in (20.0, 200.0):
            mean = sum(seen) / (t + prior)
            edge = 0.5 * (mean + math.sqrt(mean * mean + 2.55 * variance / (t + prior)))
            bets.append(min(edge / (variance + edge * edge), 0.95))
        strategies = [
            w * (1.0 + bet * x) for w, bet in zip(strategies, [*bets, 0.8, 0.3], strict=True)
        ]
        largest = max(largest, sum(strategies))
        seen.append(x)
    return largest
