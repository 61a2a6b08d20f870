"""The bound of OptimisticLP in random order with bandit feedback (docs/theory/budget_bandit.md)."""

import math

import numpy as np


def optimistic_log(horizon: int, actions: int, resources: int, delta: float) -> float:
    """Return g = ln(1/delta'), with delta shared by the 2 (k+1) (m+1) T events of the proof.

    >>> round(optimistic_log(1024, 3, 1, 0.05), 3)
    12.7
    """
    return math.log(2 * (actions + 1) * (resources + 1) * horizon / delta)


def optimistic_lp(horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 1.44) -> float:
    """Bound T OPT minus the reward of OptimisticLP in random order without delay, but with probability `delta`; at most T.

    After n rounds what was promised is off by at most D(n) = k + (2 sqrt(2 growth) + 1/sqrt(2)) sqrt(g k n), and the
    rate has fallen by at most eta(n) = (D(n) + sqrt(g k n / 2) + sqrt(2 g n)) / (T - n). As long as what is left pays
    for one play of any action, a round loses eta(n) / rate; the rounds after that are lost.

    >>> round(optimistic_lp(2**20, 3, 1, 0.5, 0.05)), optimistic_lp(2**12, 3, 1, 0.5, 0.05) == 2**12
    (290477, True)
    """
    g = optimistic_log(horizon, actions, resources, delta)
    n = np.arange(horizon, dtype=np.float64)
    off = np.minimum(n, actions + (2 * math.sqrt(2 * growth) + math.sqrt(0.5)) * np.sqrt(g * actions * n))
    eta = (off + np.sqrt(g * actions * n / 2) + np.sqrt(2 * g * n)) / (horizon - n)
    unsafe = np.flatnonzero((horizon - n) * (rate - eta) < 1)
    safe = int(unsafe[0]) - 1 if unsafe.size else horizon - 1
    if safe < 1:
        return float(horizon)
    lost = np.minimum(1.0, eta[:safe] / rate).sum()
    return min(float(horizon), float(lost + off[safe] + math.sqrt(safe * g / 2)) + horizon - safe)
