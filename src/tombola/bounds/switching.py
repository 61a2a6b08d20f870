"""Bounds on regret with a price on switches, on the switches themselves, and what elimination needs to drop an action.

Proofs: docs/theory/switching.md. Regret here counts the price of every switch, in losses.
"""

import math

from tombola.bounds.common import capped, drift


def elimination_counts(horizon: int, actions: int, delta: float | None = None) -> list[int]:
    """Return the counts at which SerflingElimination may drop actions: each is half as large again as the one before.

    The first is the smallest with twice Hoeffding's radius below 1, before which nothing can be dropped, but at most
    T/k; the last is below T/2, since two actions must reach it in time.

    >>> elimination_counts(1000, 2, delta=0.1)
    [11, 17, 26, 39, 59, 89, 134, 201, 302, 453]
    """
    counts = _grown(1, horizon)
    for _ in range(2):
        first = math.ceil(2 * elimination_depth(len(counts), horizon, actions, delta))
        counts = _grown(max(1, min(first, horizon // actions)), horizon)
    return counts


def elimination_depth(decisions: int, horizon: int, actions: int, delta: float | None = None) -> float:
    """Return ln(k S / delta) for S decisions; delta = 1/T if None.

    >>> round(elimination_depth(10, horizon=1000, actions=2, delta=0.1), 3)
    5.298
    """
    return math.log(actions * decisions * horizon if delta is None else actions * decisions / delta)


def elimination_switches(horizon: int, actions: int, delta: float | None = None) -> int:
    """Bound the switches of SerflingElimination: k - 1 until each of its counts, and k - 1 more.

    >>> elimination_switches(2**16, 2)
    19
    """
    return min(horizon - 1, (actions - 1) * (len(elimination_counts(horizon, actions, delta)) + 1))


def elimination(horizon: int, actions: int, price: float = 1.0, delta: float | None = None) -> float:
    """Bound the regret of SerflingElimination in random order: 4 sqrt(k T L) + k (2 L + 1) + drift + delta T.

    And the price of its switches. L = ln(k S / delta) with S decisions and delta = 1/T if None: of order
    sqrt(k T ln T), where the paper has sqrt(k T (ln T)^3) (its theorem on switching costs, L622).

    >>> round(elimination(10**6, 2))
    24674
    """
    level = 1 / horizon if delta is None else delta
    depth = elimination_depth(len(elimination_counts(horizon, actions, delta)), horizon, actions, delta)
    regret = 4 * math.sqrt(actions * horizon * depth) + actions * (2 * depth + 1) + drift(horizon, actions)
    switches = elimination_switches(horizon, actions, delta)
    return capped(regret + level * horizon, horizon, actions) + price * switches


def simulation_elimination_switches(horizon: int, actions: int) -> int:
    """Bound the switches of SimulationSuccessiveElimination: (2^i0 - 1) + k (ceil(log2 T) - i0), i0 = ceil(log2 k).

    That many it makes when nothing is dropped and every stretch fits into the horizon.

    >>> simulation_elimination_switches(2**16, 2)
    31
    """
    i0 = (actions - 1).bit_length()
    blocks = max(0, (horizon - 1).bit_length() - i0)
    return 0 if actions == 1 else max(0, min(horizon - 1, 2**i0 - 1 + actions * blocks))


def simulation_elimination(horizon: int, actions: int, price: float = 1.0) -> float:
    """Bound the regret of SimulationSuccessiveElimination in random order, of order sqrt(k T (ln T)^3), and switches.

    The paper's theorem (L622) with the constants its proof gives: rounds of block i cost at most 4 e_{i-1} each, since
    an action that was not dropped after block i-1 is worse by no more; the rounds before cost at most 1 each. At any
    usual horizon that is the horizon itself.

    >>> simulation_elimination(2**16, 2)
    65567.0
    """
    i0 = (actions - 1).bit_length()
    regret = 2.0 ** (i0 + 1) + 1 + drift(horizon, actions)
    for block in range(i0 + 1, (horizon - 1).bit_length()):
        regret += (min(2 ** (block + 1), horizon) - 2**block) * 4 * _radius(horizon, actions, block - 1)
    switches = simulation_elimination_switches(horizon, actions)
    return capped(regret, horizon, actions) + price * switches


def difference_needed(horizon: int, actions: int) -> float:
    """Return the difference of means above which SimulationSuccessiveElimination can drop an action in time.

    Twice its last radius that still matters; above 1 no action can be dropped, whatever the losses are.

    >>> round(difference_needed(2**16, 2), 2)
    2.58
    """
    last = (horizon - 1).bit_length() - 2
    return 2 * _radius(horizon, actions, last) if last >= (actions - 1).bit_length() else math.inf


def first_elimination(actions: int, gap: float = 1.0) -> int:
    """Return the first horizon at which SimulationSuccessiveElimination can drop an action that looks worse by `gap`.

    Not at all larger ones: its radius grows with ln T until one more block fits in.

    >>> first_elimination(2, gap=0.5)
    2097153
    """
    power = 1
    while difference_needed(2**power + 1, actions) >= gap:
        power += 1
    return int(2**power + 1)


def exp3_block(horizon: int, actions: int, price: float = 1.0) -> int:
    """Return the length of the blocks of BatchedExp3, (2 price)^(2/3) (T / (2 k ln k))^(1/3), rounded up.

    >>> exp3_block(2**16, 2)
    46
    """
    if actions == 1:
        return horizon
    length = math.pow(2 * price, 2 / 3) * math.pow(horizon / (2 * actions * math.log(actions)), 1 / 3)
    return max(1, min(horizon, math.ceil(length)))


def batched_exp3(horizon: int, actions: int, price: float = 1.0, block: int | None = None) -> float:
    """Bound the regret of BatchedExp3 in every order: B sqrt(2 k N ln k) for N blocks of B rounds, and N - 1 switches.

    Exp3 on the losses of whole blocks (Arora, Dekel and Tewari 2012, on mini-batches; `bounds.exp3`).

    >>> round(batched_exp3(2**16, 2))
    4315
    """
    if actions == 1:
        return 0.0
    length = exp3_block(horizon, actions, price) if block is None else block
    count = math.ceil(horizon / length)
    return capped(length * math.sqrt(2 * actions * count * math.log(actions)), horizon, actions) + price * (count - 1)


def tsallis_block(number: int, actions: int, price: float = 1.0) -> int:
    """Return the length of block n = 1, 2, .. of TsallisSwitching, 1.5 price sqrt(n / k), rounded up.

    >>> [tsallis_block(n, actions=2) for n in (1, 4, 5, 400)]
    [2, 3, 3, 22]
    """
    return max(1, math.ceil(1.5 * price * math.sqrt(number / actions)))


def tsallis_switching(horizon: int, actions: int, price: float = 1.0) -> float:
    """Bound the regret of TsallisSwitching in every order, and a switch for every block but the first.

    sum_n eta_n B_n^2 sqrt(k) / 2 + 4 (sqrt(k) - 1) / eta_N for the N blocks begun, of order
    (price k)^(1/3) T^(2/3) + sqrt(k T) (Rouyer, Seldin and Cesa-Bianchi 2021; constants from our own proof).

    >>> round(tsallis_switching(2**16, 2))
    7680
    """
    rounds, number, spread, rate = 0, 0, 0.0, math.inf
    while rounds < horizon:
        number += 1
        length = tsallis_block(number, actions, price)
        rate = math.sqrt(8 / number) / length
        spread += rate * length * length * math.sqrt(actions) / 2
        rounds += length
    if actions == 1:
        return 0.0
    return capped(spread + 4 * (math.sqrt(actions) - 1) / rate, horizon, actions) + price * (number - 1)


def _grown(first: int, horizon: int) -> list[int]:
    """The counts from `first` on that are below T/2, but at least one."""
    counts = [first]
    while 2 * -(-3 * counts[-1] // 2) < horizon:
        counts.append(-(-3 * counts[-1] // 2))
    return counts


def _radius(horizon: int, actions: int, block: int) -> float:
    """The paper's e_i = sqrt(10 k (ln T)^3 / 2^i)."""
    return math.sqrt(10 * actions * math.pow(math.log(horizon), 3) / 2.0**block)
