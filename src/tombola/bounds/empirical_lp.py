"""The bound of EmpiricalLP in random order (docs/theory/budget.md, Theorem 4a)."""

import math
from itertools import pairwise


def next_solve(seen: int, horizon: int, growth: float) -> int:
    r"""Return the number of rows at which EmpiricalLP solves its next linear program.

    .. math:: \min \left(g n, \; T - \frac{T - n}{g^2}\right)

    It is rounded down, and at least n + 1.

    seen, horizon: n and T, number of rows seen and of rounds.
    growth: g, factor of the rows seen between two linear programs.

    >>> next_solve(100, 1000, 1.2), next_solve(990, 1000, 1.2)
    (120, 993)
    """
    by_data, by_rest = seen * growth, horizon - (horizon - seen) / (growth * growth)
    return max(seen + 1, math.floor(min(by_data, by_rest)))


def _empirical_lp_blocks(horizon: int, growth: float) -> list[int]:
    """Return the row counts at which EmpiricalLP solves, if every action fits.

    >>> _empirical_lp_blocks(12, 1.5)
    [1, 2, 3, 4, 6, 9, 10, 11]
    """
    sizes, seen = [], 1
    while seen < horizon:
        sizes.append(seen)
        seen = next_solve(seen, horizon, growth)
    return sizes


def empirical_lp(
    horizon: int,
    actions: int,
    resources: int,
    rate: float,
    delta: float,
    growth: float = 1.2,
    *,
    sampled: bool = True,
) -> float:
    r"""Bound the regret of EmpiricalLP in random order with probability 1 - delta.

    .. math:: 1 + \sum_{\mathrm{safe\ blocks}} L \min \left(1, \, e + e' + \frac{e + \eta}{\rho + e}\right)
       + \sum_{\mathrm{other\ blocks}} L + \mathrm{noise}

    L is the number of rounds of a block, e is Serfling's radius of the past rows, e' = T/(T-n) e that of the rest, and
    eta how far the rate may have fallen. A block is safe if the budget left at its end pays for one play of any
    action.

    horizon, actions, resources: T, k and m, number of rounds, actions and resources.
    rate: rho, budget per round and resource.
    delta: error probability.
    growth: factor of the rows seen between two linear programs.
    sampled: whether one action is drawn per round; else whole mixes are charged (fluid play), with less noise.

    >>> round(empirical_lp(2**14, 3, 1, 0.5, 0.05)), round(empirical_lp(2**14, 3, 1, 0.5, 0.05, sampled=False))
    (5077, 4628)
    """
    sizes = _empirical_lp_blocks(horizon, growth)
    log = math.log(max(1, len(sizes)) * (resources + 1) * (actions + 2) / delta)
    total, done, noise, lost, spread, eta = 1.0, 1, 0.0, 0.0, 0.0, 0.0
    for seen, following in pairwise(sizes):
        length, left = following - seen, horizon - following
        radius = math.sqrt(min(1 - (seen - 1) / horizon, (1 - seen / horizon) * (1 + 1 / seen)) * log / (2 * seen))
        ahead = horizon / (horizon - seen) * radius
        loss = radius + ahead + (radius + eta) / (rate + radius)
        variance = length * (1 - (length - 1) / (horizon - seen) + sampled)
        lost, spread = lost + length * ahead / left, spread + variance / left**2
        eta = lost + math.sqrt(log / 2 * spread)
        if left * (rate - eta) < 1:
            break
        total, done, noise = total + length * min(1.0, loss), following, noise + variance
    return min(float(horizon), total + math.sqrt(log / 2 * noise) + horizon - done)
