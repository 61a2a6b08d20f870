"""Bounds on regret under budgets, with probability 1 - delta.

Regret is T OPT minus the reward, where OPT is the reward per round of the best fixed mix within the
budget (the value of a linear program). The reward of a play is 1 minus its loss, and costs are in
[0, 1]. T is the horizon, k the number of actions, m that of resources, rho the rate: the budget per
round, the same for every resource. `growth` is the factor of the rows seen between two linear
programs. Proofs: docs/theory/budget.md.
"""

import math
from itertools import pairwise

import numpy as np

from tombola.bounds.common import counts_below, growing_counts


def primal_dual(horizon: int, actions: int, resources: int, rate: float, delta: float) -> float:
    r"""Bound the regret of PrimalDual on i.i.d. rows, with probability 1 - delta.

    Play is fluid (whole mixes are charged), and ends when less than 1 of a budget is left (strict
    stop).

    .. math:: \left(1 + \frac{1}{\rho}\right) \sqrt{\frac{T \ln k}{2}} + \frac{1}{\rho}
       \sqrt{\frac{T \ln (m+1)}{2}} + \frac{1}{\rho} + \left(2 + \frac{1}{\rho}\right) \sqrt{\frac{T
       \ln (3/\delta)}{2}}

    The terms are the regret of the actions, that of the prices, the budget left at the stop, and
    three martingales. Castiglioni, Celli and Kroer 2022 have the order; the constants are those of
    exponential weights.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].

    >>> round(primal_dual(10000, 3, 1, 0.5, 0.05))
    914
    """
    actions_part = (1 + 1 / rate) * math.sqrt(horizon * math.log(actions) / 2)
    prices_part = math.sqrt(horizon * math.log(resources + 1) / 2) / rate
    return (
        actions_part
        + prices_part
        + 1 / rate
        + (2 + 1 / rate) * math.sqrt(horizon * math.log(3 / delta) / 2)
    )


def budget_epsilon(block: int, horizon: int, actions: int, resources: int, delta: float) -> float:
    r"""Return the confidence radius epsilon of a block of BudgetSimulation.

    .. math:: \epsilon_i = \sqrt{6 \cdot 2^{-i} \ln \frac{m k \log_2 T}{\delta}}

    The mean rewards and costs of the rows before block i, and of its own rows, are meant to be
    within epsilon_i of those of the pool, for all actions and resources at once (Bernasconi et al.
    2025, proof of Theorem 4.5).

    block: i, a block of 2^i rounds.

    >>> round(budget_epsilon(12, 2**16, 3, 1, 0.05), 4)
    0.1003
    """
    log = math.log(resources * actions * max(1.0, math.log2(horizon)) / delta)
    return math.sqrt(6 * 2.0**-block * log)


def budget_first_play(
    horizon: int, actions: int, resources: int, rate: float, delta: float, margin: float = 2.0
) -> int:
    r"""Return the first round, from 1, in which BudgetSimulation may play at all.

    Before, it plays the null action. It waits for the first block i with epsilon_i
    (`budget_epsilon`) small enough:

    .. math:: \rho - \mathrm{margin} \cdot \epsilon_i \geq \rho / 2,

    which has the rounds from 2^i + 1 on (Bernasconi et al. 2025, Theorem 4.5; erratum 16).

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].
    margin: margin of the rate in units of epsilon, 2 as printed, 3 in the corrected proof.

    >>> budget_first_play(2**16, 3, 1, 0.5, 0.05), budget_first_play(2**16, 3, 1, 0.1, 0.05)
    (4097, 131073)
    """
    block = 0
    while rate - margin * budget_epsilon(block, horizon, actions, resources, delta) < rate / 2:
        block += 1
    return int(2**block) + 1


def budget_simulation_printed(
    horizon: int, actions: int, resources: int, rate: float, delta: float
) -> float:
    r"""Return the regret bound of BudgetSimulation as printed, which is false.

    .. math:: \sum_{i \leq i^*} 2^i + \frac{6}{\rho} \sum_i \epsilon_i + \sum_i
    R_{2^i}(\mathrm{PrimalDual}, \rho/2)

    i* is the first block with plays, epsilon_i is `budget_epsilon`, and R is `primal_dual`, the
    regret in a training of 2^i rounds. Each epsilon_i lacks a factor 2^i (Bernasconi et al. 2025,
    Theorem 4.5, erratum 19).

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].

    >>> round(budget_simulation_printed(2**16, 3, 1, 0.5, 0.05))
    24143
    """
    first = budget_first_play(horizon, actions, resources, rate, delta)
    blocks = range(1, math.ceil(math.log2(max(horizon, 2))) + 1)
    gaps = sum(budget_epsilon(i, horizon, actions, resources, delta) for i in blocks)
    return (
        2 * (first - 1)
        + 6 / rate * gaps
        + _training(blocks, horizon, actions, resources, rate, delta)
    )


def budget_simulation(
    horizon: int, actions: int, resources: int, rate: float, delta: float, margin: float = 3.0
) -> float:
    r"""Bound the regret of Simulation(PrimalDual) in random order (corrected proof).

    .. math:: T_{\mathrm{null}} + \sum_{i \geq i^*} 2^i \epsilon_i \left(3 + \frac{1 +
       \mathrm{margin}}{\rho}\right) + \sum_{i \geq i^*} R_{2^i}(\mathrm{PrimalDual}, \rho/2)

    It is at most T. T_null is the number of rounds before the first play (`budget_first_play`) in
    block i*, epsilon_i is `budget_epsilon`, and R is `primal_dual`, the regret in a training of 2^i
    rounds. T is a power of two, and the loss by the end of play when less than 1 of the budget is
    left is not counted.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].
    margin: margin of the rate in units of epsilon; 3 is enough to stay within the budget.

    >>> budget_simulation(2**12, 3, 1, 0.5, 0.05) == 2**12, budget_simulation(2**24, 3, 1, 0.5, 0.05) < 2**20
    (True, True)
    """
    first = budget_first_play(horizon, actions, resources, rate, delta, margin)
    blocks = range(int(math.log2(first - 1)), math.ceil(math.log2(max(horizon, 2))))
    gaps = sum(2.0**i * budget_epsilon(i, horizon, actions, resources, delta) for i in blocks)
    total = first - 1 + (3 + (1 + margin) / rate) * gaps
    return min(float(horizon), total + _training(blocks, horizon, actions, resources, rate, delta))


def _training(
    blocks: range, horizon: int, actions: int, resources: int, rate: float, delta: float
) -> float:
    share = delta / (3 * max(1.0, math.log2(horizon)))
    return sum(primal_dual(2**i, actions, resources, rate / 2, share) for i in blocks)


def lp_log(horizon: int, actions: int, resources: int, delta: float, growth: float) -> float:
    r"""Return the logarithm in the confidence radii of SerflingLP.

    .. math:: \ln \frac{N (m+1) (2k+1)}{\delta}

    N is the number of linear programs, k that of actions, m that of resources; delta is shared by N
    (m+1) (2k+1) events of the proof.

    growth: factor of the rows seen between two linear programs.

    >>> round(lp_log(1024, 3, 1, 0.05, 2.0), 3)
    7.937
    """
    events = max(1, len(growing_counts(horizon, growth))) * (resources + 1) * (2 * actions + 1)
    return math.log(events / delta)


def _lp_radius(seen: int, population: int, log: float) -> float:
    """Return Serfling's radius for the mean of n of N rows, sqrt(f log / (2 n))."""
    return math.sqrt((1 - (seen - 1) / population) * log / (2 * seen))


def lp_margin(seen: int, rounds: int, horizon: int, log: float) -> float:
    """Return the margin by which SerflingLP lowers its budget per round.

    The cost per round of a mix chosen on past rows exceeds the observed one by at most this much.
    It is T/(T-n) r + sqrt((2 - (b-1)/(T-n)) log / (2b)): r is Serfling's radius of the mean of n
    past rows, and the second term that of the next block of b rows and of the learner's own
    randomness.

    seen, rounds: n, the number of past rows, below T, and b, that of the rounds of the next block.
    log: logarithm of the inverse error probability (`bounds.budget.lp_log`).

    >>> round(lp_margin(512, 512, 1024, 8.0), 3)
    0.214
    """
    rest = horizon - seen
    ahead = math.sqrt((1 + 1 - (rounds - 1) / rest) * log / (2 * rounds))
    return horizon / rest * _lp_radius(seen, horizon, log) + ahead


def serfling_lp_first_play(
    horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 2.0
) -> int | None:
    """Return the first round, from 1, in which SerflingLP may play at all.

    None if there is none. Before, it plays the null action and spends nothing, so the round is
    known in advance: the first one of a block with (B-1) / (rounds left) above its
    `bounds.budget.lp_margin`, for the budget B = rho T.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].
    growth: factor of the rows seen between two linear programs.

    >>> serfling_lp_first_play(4096, 3, 1, 0.5, 0.05), serfling_lp_first_play(500, 25, 1, 0.1, 0.05)
    (129, None)
    """
    log = lp_log(horizon, actions, resources, delta, growth)
    sizes = growing_counts(horizon, growth)
    for seen, following in zip(sizes, [*sizes[1:], horizon], strict=False):
        if (rate * horizon - 1) / (horizon - seen) > lp_margin(
            seen, following - seen, horizon, log
        ):
            return seen + 1
    return None


def serfling_lp(
    horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 2.0
) -> float:
    r"""Bound the regret of SerflingLP in random order without delay; at most T.

    It holds with probability 1 - delta, whether actions are drawn or whole mixes are charged.

    .. math:: \sum_{\mathrm{blocks}} L \left(e + M + \frac{1/T + e + M}{\rho}\right)

    A block of L rounds after n rows has Serfling's radius e and the margin M
    (`bounds.budget.lp_margin`); it costs L if (rho T - 1)/T <= M, because then it plays the null
    action, which earns nothing. The sum is of order sqrt(T ln(m k ln T / delta)) / rho.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].
    growth: factor of the rows seen between two linear programs.

    >>> serfling_lp(2**20, 3, 1, 0.5, 0.05) < 0.06 * 2**20
    True
    """
    log = lp_log(horizon, actions, resources, delta, growth)
    sizes = growing_counts(horizon, growth)
    total = 1.0
    for seen, following in zip(sizes, [*sizes[1:], horizon], strict=False):
        length = following - seen
        radius = _lp_radius(seen, horizon, log)
        margin = lp_margin(seen, length, horizon, log)
        loss = (
            radius + margin + (1 / horizon + radius + margin) / rate
        )  # at least 1 where nothing is played
        total += length * min(1.0, loss)
    return min(float(horizon), total)


def next_solve(seen: int, horizon: int, growth: float) -> int:
    """Return the number of rows at which EmpiricalLP solves its next linear program.

    It is min(g n, T - (T - n) / g^2) for n rows seen and the growth g, rounded down, and at least n
    + 1.

    >>> next_solve(100, 1000, 1.2), next_solve(990, 1000, 1.2)
    (120, 993)
    """
    by_data = seen * growth
    by_rest = horizon - (horizon - seen) / (growth * growth)
    return max(seen + 1, math.floor(min(by_data, by_rest)))


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

    docs/theory/budget.md, Theorem 4a:

    .. math:: 1 + \sum_{\mathrm{safe\ blocks}} L \min \left(1, \, e + e' + \frac{e + \eta}{\rho +
       e}\right) + \sum_{\mathrm{other\ blocks}} L + \mathrm{noise}

    A block of L rounds follows n rows. e is Serfling's radius of the mean of these rows, and e' =
    T/(T-n) e that of the mean of the other rows. eta bounds the fall of the rate, the budget left
    per round left, below rho. A block is safe if the budget left at its end pays for one play of
    any action. The noise is the deviation of the rewards in the safe blocks from their means.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].
    growth: factor of the rows seen between two linear programs.
    sampled: whether one action is drawn per round; else whole mixes are charged (fluid play), with
        less noise.

    >>> round(empirical_lp(2**14, 3, 1, 0.5, 0.05)), round(empirical_lp(2**14, 3, 1, 0.5, 0.05, sampled=False))
    (5077, 4628)
    """
    sizes = counts_below(horizon, 1, lambda seen: next_solve(seen, horizon, growth))
    log = math.log(max(1, len(sizes)) * (resources + 1) * (actions + 2) / delta)
    total = 1.0
    done = 1
    noise = 0.0
    lost = 0.0
    spread = 0.0
    eta = 0.0
    for seen, following in pairwise(sizes):
        length = following - seen
        left = horizon - following
        radius = math.sqrt(
            min(1 - (seen - 1) / horizon, (1 - seen / horizon) * (1 + 1 / seen)) * log / (2 * seen)
        )
        ahead = horizon / (horizon - seen) * radius
        loss = radius + ahead + (radius + eta) / (rate + radius)
        variance = length * (1 - (length - 1) / (horizon - seen) + sampled)
        lost = lost + length * ahead / left
        spread = spread + variance / left**2
        eta = lost + math.sqrt(log / 2 * spread)
        if left * (rate - eta) < 1:
            break
        total = total + length * min(1.0, loss)
        done = following
        noise = noise + variance
    return min(float(horizon), total + math.sqrt(log / 2 * noise) + horizon - done)


def optimistic_log(horizon: int, actions: int, resources: int, delta: float) -> float:
    r"""Return the logarithm g in the confidence radii of OptimisticLP.

    .. math:: g = \ln \frac{2 (k+1) (m+1) T}{\delta}

    >>> round(optimistic_log(1024, 3, 1, 0.05), 3)
    12.7
    """
    return math.log(2 * (actions + 1) * (resources + 1) * horizon / delta)


def optimistic_lp(
    horizon: int, actions: int, resources: int, rate: float, delta: float, growth: float = 1.44
) -> float:
    r"""Bound T OPT minus the reward of OptimisticLP in random order without delay.

    OPT is the reward per round of the best fixed mix within the budget. The bound holds with
    probability 1 - delta, and is at most T. After n rounds the optimistic estimates by which
    OptimisticLP plans exceed the rewards by at most D(n) in total, and the rate, the budget left
    per round left, has fallen by at most eta(n):

    .. math:: D(n) = k + \left(2 \sqrt{2 \, \mathrm{growth}} + \frac{1}{\sqrt 2}\right) \sqrt{g k
       n}, \qquad \eta(n) = \frac{D(n) + \sqrt{g k n / 2} + \sqrt{2 g n}}{T - n}

    g is `bounds.budget.optimistic_log`. As long as the budget left pays for one play of any action,
    a round costs eta(n) / rate; the rounds after that are lost. `growth` is the factor of the plays
    of an action between two plans.

    rate: rho, the budget per round, the same for every resource; costs are in [0, 1].

    >>> round(optimistic_lp(2**20, 3, 1, 0.5, 0.05)), optimistic_lp(2**12, 3, 1, 0.5, 0.05) == 2**12
    (290477, True)
    """
    g = optimistic_log(horizon, actions, resources, delta)
    n = np.arange(horizon, dtype=np.float64)
    off = np.minimum(
        n, actions + (2 * math.sqrt(2 * growth) + math.sqrt(0.5)) * np.sqrt(g * actions * n)
    )
    eta = (off + np.sqrt(g * actions * n / 2) + np.sqrt(2 * g * n)) / (horizon - n)
    unsafe = np.flatnonzero((horizon - n) * (rate - eta) < 1)
    safe = int(unsafe[0]) - 1 if unsafe.size else horizon - 1
    if safe < 1:
        return float(horizon)
    lost = np.minimum(1.0, eta[:safe] / rate).sum()
    return min(float(horizon), float(lost + off[safe] + math.sqrt(safe * g / 2)) + horizon - safe)


def budget_given_order(horizon: int) -> float:
    """Return a lower bound on regret in given order with a budget of T / 2: T / 16.

    Every learner has at least this regret on one of the pools `instances.hindsight`.

    >>> budget_given_order(1600)
    100.0
    """
    return horizon / 16
