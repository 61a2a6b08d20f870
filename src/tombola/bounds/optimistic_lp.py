"""The bound of OptimisticLP in random order with bandit feedback.

docs/theory/budget_bandit.md has the proof.
"""

import math

import numpy as np


def optimistic_log(horizon: int, actions: int, resources: int, delta: float) -> float:
    r"""Return the logarithm g in the confidence radii of OptimisticLP.

    .. math:: g = \ln \frac{2 (k+1) (m+1) T}{\delta}

    delta is shared by 2 (k+1) (m+1) T events of the proof.

    horizon, actions, resources: T, k and m, number of rounds, actions and resources.
    delta: error probability.

    >>> round(optimistic_log(1024, 3, 1, 0.05), 3)
    12.7
    """
    return math.log(2 * (actions + 1) * (resources + 1) * horizon / delta)


def optimistic_lp(horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 1.44) -> float:
    r"""Bound T OPT minus the reward of OptimisticLP in random order without delay.

    It holds with probability 1 - delta, and is at most T. After n rounds the promises differ from the rewards by at
    most D(n), and the rate has fallen by at most eta(n):

    .. math:: D(n) = k + \left(2 \sqrt{2 \, \mathrm{growth}} + \frac{1}{\sqrt 2}\right) \sqrt{g k n}, \qquad
       \eta(n) = \frac{D(n) + \sqrt{g k n / 2} + \sqrt{2 g n}}{T - n}

    g is `bounds.optimistic_lp.optimistic_log`. As long as the budget left pays for one play of any action, a round
    costs eta(n) / rate; the rounds after that are lost.

    horizon, actions, resources: T, k and m, number of rounds, actions and resources.
    rate: rho, budget per round and resource.
    delta: error probability.
    growth: factor of the plays of an action between two plans.

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
