"""Bounds for delayed feedback: the printed theorem, the corrected one, and what delay costs in adversarial order."""

import math
from collections.abc import Callable
from typing import TypeAlias

from tombola.bounds.full_information import hedge
from tombola.bounds.limits import capped

Bound: TypeAlias = Callable[[int], float]


def follow_the_leader_iid(horizon: int, actions: int) -> float:
    """Bound follow the leader on i.i.d. rows: 1 + sqrt(2 ln k) sum_{n=1}^{T-1} 1/sqrt(n), at most 1 + 2 sqrt(2 T ln k).

    After n rows the leader is worse than the best action by at most the largest error of k mean differences in [-1, 1],
    which is sqrt(2 ln k / n) on average (maximum of sub-Gaussian variables).

    >>> round(follow_the_leader_iid(1000, 2), 2)
    73.73
    """
    bound = 1 + math.sqrt(2 * math.log(actions)) * math.fsum(1 / math.sqrt(n) for n in range(1, horizon))
    return capped(bound, horizon, actions)


def simulation_printed(horizon: int, actions: int, delay: int = 0, base: Bound | None = None) -> float:
    """Bound Simulation as the theorem is printed (L337): 5 sqrt(T ln T) + d log2 T + sum_{i<=log2 T} R(2^i).

    `base` bounds the learner it trains, on n i.i.d. rows; follow the leader if left out. The proof has gaps (see
    errata 8 to 11); `simulation` is the bound that is proved.

    >>> round(simulation_printed(1024, 2))
    663
    """
    blocks = range(math.floor(math.log2(horizon)) + 1)
    return 5 * math.sqrt(horizon * math.log(horizon)) + delay * math.log2(horizon) + _trainings(blocks, actions, base)


def simulation(horizon: int, actions: int, delay: int = 0, base: Bound | None = None) -> float:
    """Bound Simulation in random order: 1 + c sqrt(T ln k) + d ceil(log2 T) + sum_{i<ceil(log2 T)} R(2^i), at most T.

    c sqrt(T ln k) is sqrt(2 ln k) sum_i L_i T/(T-n) sqrt((T-n+1)/(Tn)) with n = 2^i and L_i = min(n, T-n); c is below
    4.18 for every T. The proof is for the schedules LemmaSchedule and GrowingSchedule(2), not for Paper (docs/theory/delay.md).

    >>> round(simulation(2**16, 2))
    2285
    """
    count = math.ceil(math.log2(horizon))
    sizes = [2**i for i in range(count)]
    spread = math.fsum(
        min(n, horizon - n) * horizon / (horizon - n) * math.sqrt((horizon - n + 1) / (horizon * n)) for n in sizes
    )
    total = 1 + math.sqrt(2 * math.log(actions)) * spread + delay * count + _trainings(range(count), actions, base)
    return capped(total, horizon, actions)


def interleaved(horizon: int, actions: int, delay: int) -> float:
    """Bound d+1 interleaved copies of Hedge in every order: (d+1) sqrt(T' ln k / 2) with T' = ceil(T/(d+1)).

    Weinberger and Ordentlich 2002; Joulani, Gyorgy and Szepesvari 2013. Delay multiplies, as it must in this model.

    >>> round(interleaved(1000, 2, 9)), round(interleaved(1000, 2, 99))
    (59, 186)
    """
    copies = min(delay + 1, horizon)
    return capped(copies * hedge(-(-horizon // copies), actions), horizon, actions)


def _trainings(blocks: range, actions: int, base: Bound | None) -> float:
    return math.fsum(follow_the_leader_iid(2**i, actions) if base is None else base(2**i) for i in blocks)
