"""Bounds for a price on switches: regret, and number of switches.

Also the differences that elimination needs to drop an action. Proofs: docs/theory/switching.md. T
is the horizon, k the number of actions. Regret here counts the `price` of every switch, in losses;
a switch is a change of the action from one round to the next. `delta` is the error probability of
elimination; None is 1/T.
"""

import math

from tombola.bounds.common import capped, counts_below, drift


def elimination_counts(horizon: int, actions: int, delta: float | None = None) -> list[int]:
    """Return the plays per action after which SerflingElimination may drop actions.

    Each is half as large again as the one before. The first is the smallest with twice Hoeffding's
    radius below 1, before which nothing can be dropped, but at most T/k. The last is below T/2,
    since two actions must reach it in time. `delta` is the probability that the best action is
    dropped; None is 1/T.

    >>> elimination_counts(1000, 2, delta=0.1)
    [11, 17, 26, 39, 59, 89, 134, 201, 302, 453]
    """
    counts = _grown(1, horizon)
    for _ in range(2):
        first = math.ceil(2 * elimination_log(len(counts), horizon, actions, delta))
        counts = _grown(max(1, min(first, horizon // actions)), horizon)
    return counts


def elimination_log(
    decisions: int, horizon: int, actions: int, delta: float | None = None
) -> float:
    r"""Return the logarithm in the confidence radii of SerflingElimination.

    .. math:: L = \ln \frac{k S}{\delta}

    decisions: S, number of times at which actions may be dropped.

    >>> round(elimination_log(10, horizon=1000, actions=2, delta=0.1), 3)
    5.298
    """
    return math.log(actions * decisions * horizon if delta is None else actions * decisions / delta)


def elimination_switches(horizon: int, actions: int, delta: float | None = None) -> int:
    """Bound the number of switches of SerflingElimination.

    .. math:: (k - 1) (S + 1)

    S is the length of `bounds.switching.elimination_counts`. The result is at most T - 1.

    >>> elimination_switches(2**16, 2)
    19
    """
    return min(horizon - 1, (actions - 1) * (len(elimination_counts(horizon, actions, delta)) + 1))


def elimination(
    horizon: int, actions: int, price: float = 1.0, delta: float | None = None
) -> float:
    r"""Bound the regret of SerflingElimination with switching costs, in random order.

    .. math:: 4 \sqrt{k T L} + k (2 L + 1) + \mathrm{drift}(T, k) + \delta T + \mathrm{price} \cdot
    (\mathrm{switches})

    L is `bounds.switching.elimination_log`. The bound is of order sqrt(k T ln T), where Theorem 4.9
    of Bernasconi et al. 2025 has sqrt(k T (ln T)^3).

    >>> round(elimination(10**6, 2))
    24674
    """
    level = 1 / horizon if delta is None else delta
    depth = elimination_log(
        len(elimination_counts(horizon, actions, delta)), horizon, actions, delta
    )
    regret = (
        4 * math.sqrt(actions * horizon * depth)
        + actions * (2 * depth + 1)
        + drift(horizon, actions)
    )
    switches = elimination_switches(horizon, actions, delta)
    return capped(regret + level * horizon, horizon, actions) + price * switches


def simulation_elimination_switches(horizon: int, actions: int) -> int:
    r"""Bound the number of switches of SimulationSuccessiveElimination.

    .. math:: (2^{i_0} - 1) + k (\lceil \log_2 T \rceil - i_0), \qquad i_0 = \lceil \log_2 k \rceil

    There are that many if no action is dropped and the last block ends at the horizon.

    >>> simulation_elimination_switches(2**16, 2)
    31
    """
    i0 = (actions - 1).bit_length()
    blocks = max(0, (horizon - 1).bit_length() - i0)
    return 0 if actions == 1 else max(0, min(horizon - 1, 2**i0 - 1 + actions * blocks))


def simulation_elimination(horizon: int, actions: int, price: float = 1.0) -> float:
    r"""Bound the regret of SimulationSuccessiveElimination, switching costs included.

    .. math:: 2^{i_0 + 1} + 1 + \mathrm{drift}(T, k) + \sum_{i > i_0} 4 \, e_{i-1} 2^i
       + \mathrm{price} \cdot (\mathrm{switches}), \qquad e_i = \sqrt{\frac{10 k (\ln T)^3}{2^i}}

    It holds in random order: Theorem 4.9 of Bernasconi et al. 2025, of order sqrt(k T (ln T)^3),
    with the constants of its proof: rounds of block i cost at most 4 e_{i-1} each, since an action
    that was not dropped after block i-1 is worse by no more. The rounds before cost at most 1 each.
    Block i has 2^i rounds, i_0 = ceil(log2 k). Without the switches the bound is at most T, and at
    any usual horizon it is T.

    >>> simulation_elimination(2**16, 2)
    65567.0
    """
    i0 = (actions - 1).bit_length()
    regret = 2.0 ** (i0 + 1) + 1 + drift(horizon, actions)
    for block in range(i0 + 1, (horizon - 1).bit_length()):
        regret += (
            (min(2 ** (block + 1), horizon) - 2**block) * 4 * _radius(horizon, actions, block - 1)
        )
    switches = simulation_elimination_switches(horizon, actions)
    return capped(regret, horizon, actions) + price * switches


def difference_needed(horizon: int, actions: int) -> float:
    """Return the gap above which SimulationSuccessiveElimination drops an action.

    It is a difference of observed mean losses: twice the radius at the last decision within the
    horizon. Above 1 no action can be dropped, for any losses; infinite without a decision.

    >>> round(difference_needed(2**16, 2), 2)
    2.58
    """
    last = (horizon - 1).bit_length() - 2
    return 2 * _radius(horizon, actions, last) if last >= (actions - 1).bit_length() else math.inf


def first_elimination_horizon(actions: int, gap: float = 1.0) -> int:
    """Return the least horizon at which the paper's elimination can drop an action.

    At shorter horizons SimulationSuccessiveElimination cannot drop an action with an observed mean
    loss `gap` above the least one. At larger horizons it may be impossible again: the radius grows
    with ln T until one more block fits.

    >>> first_elimination_horizon(2, gap=0.5)
    2097153
    """
    power = 1
    while difference_needed(2**power + 1, actions) >= gap:
        power += 1
    return int(2**power + 1)


def exp3_block(horizon: int, actions: int, price: float = 1.0) -> int:
    r"""Return the number of rounds of a block of BatchedExp3, with one action each.

    .. math:: \left\lceil (2 \, \mathrm{price})^{2/3} \left(\frac{T}{2 k \ln k}\right)^{1/3}
    \right\rceil

    >>> exp3_block(2**16, 2)
    46
    """
    if actions == 1:
        return horizon
    length = math.pow(2 * price, 2 / 3) * math.pow(
        horizon / (2 * actions * math.log(actions)), 1 / 3
    )
    return max(1, min(horizon, math.ceil(length)))


def batched_exp3(horizon: int, actions: int, price: float = 1.0, block: int | None = None) -> float:
    r"""Bound the regret of BatchedExp3 with switching costs, in every order.

    .. math:: B \sqrt{2 k N \ln k} + \mathrm{price} \cdot (N - 1)

    for N blocks of B rounds. It is Exp3 on the losses of whole blocks (Arora, Dekel and Tewari
    2012, on mini-batches; `bounds.exp3`).

    block: B; None is the best one for the bound.

    >>> round(batched_exp3(2**16, 2))
    4315
    """
    if actions == 1:
        return 0.0
    length = exp3_block(horizon, actions, price) if block is None else block
    count = math.ceil(horizon / length)
    return capped(
        length * math.sqrt(2 * actions * count * math.log(actions)), horizon, actions
    ) + price * (count - 1)


def tsallis_block(number: int, actions: int, price: float = 1.0) -> int:
    """Return the rounds of block n = 1, 2, .. of TsallisSwitching.

    It is ceil(1.5 price sqrt(n / k)).

    >>> [tsallis_block(n, actions=2) for n in (1, 4, 5, 400)]
    [2, 3, 3, 22]
    """
    return max(1, math.ceil(1.5 * price * math.sqrt(number / actions)))


def tsallis_switching(horizon: int, actions: int, price: float = 1.0) -> float:
    r"""Bound the regret of TsallisSwitching with switching costs, in every order.

    .. math:: \sum_{n=1}^{N} \frac{\eta_n B_n^2 \sqrt{k}}{2} + \frac{4 (\sqrt{k} - 1)}{\eta_N}
       + \mathrm{price} \cdot (N - 1)

    B_n is the length of block n (`bounds.switching.tsallis_block`), eta_n = sqrt(8 / n) / B_n its
    learning rate, and N the number of blocks up to the horizon. It is of order (price k)^(1/3)
    T^(2/3) + sqrt(k T) (Rouyer, Seldin and Cesa-Bianchi 2021; the constants are from our own
    proof).

    >>> round(tsallis_switching(2**16, 2))
    7680
    """
    rounds = 0
    number = 0
    spread = 0.0
    rate = math.inf
    while rounds < horizon:
        number += 1
        length = tsallis_block(number, actions, price)
        rate = math.sqrt(8 / number) / length
        spread += rate * length * length * math.sqrt(actions) / 2
        rounds += length
    if actions == 1:
        return 0.0
    return capped(spread + 4 * (math.sqrt(actions) - 1) / rate, horizon, actions) + price * (
        number - 1
    )


def _grown(first: int, horizon: int) -> list[int]:
    """The counts from `first` on that are below T/2, but at least one."""
    return counts_below(horizon / 2, first, lambda n: -(-3 * n // 2)) or [first]


def _radius(horizon: int, actions: int, block: int) -> float:
    """The printed e_i = sqrt(10 k (ln T)^3 / 2^i)."""
    return math.sqrt(10 * actions * math.pow(math.log(horizon), 3) / 2.0**block)
