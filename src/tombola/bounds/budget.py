"""Bounds under budgets: T * OPT_LP minus the reward, with probability 1 - delta.

Costs are in [0, 1] and every resource has the budget rate * T. docs/theory/budget.md has the proofs.
"""

import math


def primal_dual(horizon: int, actions: int, resources: int, rate: float, delta: float) -> float:
    """Bound PrimalDual on i.i.d. rows in fluid play with the strict stop.

    (1 + 1/rho) sqrt(T ln k / 2) + sqrt(T ln(m+1) / 2) / rho + 1/rho + (2 + 1/rho) sqrt(T ln(3/delta) / 2): regret of
    the actions, of the prices, the rest at the stop, and three martingales. Castiglioni, Celli and Kroer 2022 have
    the order; the constants are those of exponential weights.

    >>> round(primal_dual(10000, 3, 1, 0.5, 0.05))
    914
    """
    actions_part = (1 + 1 / rate) * math.sqrt(horizon * math.log(actions) / 2)
    prices_part = math.sqrt(horizon * math.log(resources + 1) / 2) / rate
    return actions_part + prices_part + 1 / rate + (2 + 1 / rate) * math.sqrt(horizon * math.log(3 / delta) / 2)


def budget_epsilon(block: int, horizon: int, actions: int, resources: int, delta: float) -> float:
    """Return the paper's epsilon_i = sqrt(6 * 2^-i ln(m k log2(T) / delta)) (L473).

    >>> round(budget_epsilon(12, 2**16, 3, 1, 0.05), 4)
    0.1003
    """
    log = math.log(resources * actions * max(1.0, math.log2(horizon)) / delta)
    return math.sqrt(6 * 2.0**-block * log)


def budget_first_play(
    horizon: int, actions: int, resources: int, rate: float, delta: float, margin: float = 2.0
) -> int:
    """Return the first round in which Simulation may play another action than null.

    L483; erratum 16.

    It waits for the first block i with rate - margin * epsilon_i >= rate / 2, which has the rounds from 2^i + 1 on.

    >>> budget_first_play(2**16, 3, 1, 0.5, 0.05), budget_first_play(2**16, 3, 1, 0.1, 0.05)
    (4097, 131073)
    """
    block = 0
    while rate - margin * budget_epsilon(block, horizon, actions, resources, delta) < rate / 2:
        block += 1
    return int(2**block) + 1


def budget_simulation_printed(horizon: int, actions: int, resources: int, rate: float, delta: float) -> float:
    """Return the right-hand side as printed (L536-L537), which is false.

    Each epsilon_i lacks a factor 2^i.

    Sum_{i <= i*} 2^i + 6/rho sum_i epsilon_i + sum_i R_{2^i}(PrimalDual, rho/2), erratum 19.

    >>> round(budget_simulation_printed(2**16, 3, 1, 0.5, 0.05))
    24143
    """
    first = budget_first_play(horizon, actions, resources, rate, delta)
    blocks = range(1, math.ceil(math.log2(max(horizon, 2))) + 1)
    gaps = sum(budget_epsilon(i, horizon, actions, resources, delta) for i in blocks)
    return 2 * (first - 1) + 6 / rate * gaps + _training(blocks, horizon, actions, resources, rate, delta)


def budget_simulation(
    horizon: int, actions: int, resources: int, rate: float, delta: float, margin: float = 3.0
) -> float:
    """Bound Simulation with base PrimalDual in random order (corrected proof).

    T_null + sum_{i >= i*} 2^i epsilon_i (3 + (1 + margin)/rho) + sum_{i >= i*} R_{2^i}(PrimalDual, rho/2), at most T;
    T a power of two, and without the loss of the strict stop in its last unit. Zero violation needs margin 3.

    >>> budget_simulation(2**12, 3, 1, 0.5, 0.05) == 2**12, budget_simulation(2**24, 3, 1, 0.5, 0.05) < 2**20
    (True, True)
    """
    first = budget_first_play(horizon, actions, resources, rate, delta, margin)
    blocks = range(int(math.log2(first - 1)), math.ceil(math.log2(max(horizon, 2))))
    gaps = sum(2.0**i * budget_epsilon(i, horizon, actions, resources, delta) for i in blocks)
    total = first - 1 + (3 + (1 + margin) / rate) * gaps
    return min(float(horizon), total + _training(blocks, horizon, actions, resources, rate, delta))


def _training(blocks: range, horizon: int, actions: int, resources: int, rate: float, delta: float) -> float:
    share = delta / (3 * max(1.0, math.log2(horizon)))
    return sum(primal_dual(2**i, actions, resources, rate / 2, share) for i in blocks)


def lp_blocks(horizon: int, growth: float) -> list[int]:
    """Return the row counts at which SerflingLP solves: growing by `growth`, below T.

    >>> lp_blocks(20, 2.0)
    [1, 2, 4, 8, 16]
    """
    sizes = [1] if horizon > 1 else []
    while sizes and (following := max(sizes[-1] + 1, math.floor(growth * sizes[-1]))) < horizon:
        sizes.append(following)
    return sizes


def lp_log(horizon: int, actions: int, resources: int, delta: float, growth: float) -> float:
    """Return ln(1/delta'); delta is shared by N (m+1) (2k+1) events.

    >>> round(lp_log(1024, 3, 1, 0.05, 2.0), 3)
    7.937
    """
    events = max(1, len(lp_blocks(horizon, growth))) * (resources + 1) * (2 * actions + 1)
    return math.log(events / delta)


def lp_radius(seen: int, population: int, log: float) -> float:
    """Return Serfling's radius for the mean of n of N rows.

    sqrt((1 - (n-1)/N) log / (2n)).

    >>> round(lp_radius(100, 100, 2.0), 4)
    0.01
    """
    return math.sqrt((1 - (seen - 1) / population) * log / (2 * seen))


def lp_margin(seen: int, rounds: int, horizon: int, log: float) -> float:
    """Return the margin of the cost per round of a mix chosen on `seen` rows.

    T/(T-n) times the radius of the past, plus that of the next block among the rest and of the learner's own rng.

    >>> round(lp_margin(512, 512, 1024, 8.0), 3)
    0.214
    """
    rest = horizon - seen
    ahead = math.sqrt((1 + 1 - (rounds - 1) / rest) * log / (2 * rounds))
    return horizon / rest * lp_radius(seen, horizon, log) + ahead


def serfling_lp_first_play(
    horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 2.0
) -> int | None:
    """Return the first round with a play of SerflingLP other than null, or None.

    Until then nothing is spent, so it is known beforehand: the first block with (B-1) / (rounds left) above its margin.

    >>> serfling_lp_first_play(4096, 3, 1, 0.5, 0.05), serfling_lp_first_play(500, 25, 1, 0.1, 0.05)
    (129, None)
    """
    log = lp_log(horizon, actions, resources, delta, growth)
    sizes = lp_blocks(horizon, growth)
    for seen, following in zip(sizes, [*sizes[1:], horizon], strict=False):
        if (rate * horizon - 1) / (horizon - seen) > lp_margin(seen, following - seen, horizon, log):
            return seen + 1
    return None


def serfling_lp(horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 2.0) -> float:
    """Bound SerflingLP in random order, without delay, fluid or sampled; at most T.

    Sum over blocks of n seen rows and L rounds, with radius e and margin M: L (e + M + (1/T + e + M) / rho), or L where
    (rho T - 1)/T <= M, which means null. It is of order sqrt(T ln(m k ln T / delta)) / rho.

    >>> serfling_lp(2**20, 3, 1, 0.5, 0.05) < 0.06 * 2**20
    True
    """
    log = lp_log(horizon, actions, resources, delta, growth)
    sizes = lp_blocks(horizon, growth)
    total = 1.0
    for seen, following in zip(sizes, [*sizes[1:], horizon], strict=False):
        length = following - seen
        radius, margin = lp_radius(seen, horizon, log), lp_margin(seen, length, horizon, log)
        loss = radius + margin + (1 / horizon + radius + margin) / rate  # at least 1 where nothing is played
        total += length * min(1.0, loss)
    return min(float(horizon), total)


def budget_given_order(horizon: int) -> float:
    """Return T/16, a lower bound in given order on one of the pools `hindsight`.

    >>> budget_given_order(1600)
    100.0
    """
    return horizon / 16
