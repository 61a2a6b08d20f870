"""Bounds for delayed feedback: the printed theorem, the corrected one, and what delay costs in adversarial order."""

import math
from collections.abc import Callable
from typing import TypeAlias

from tombola.bounds.full import hedge

Bound: TypeAlias = Callable[[int], float]


def follow_the_leader_iid(horizon: int, actions: int) -> float:
    """Bound follow the leader on i.i.d. rows: 1 + sqrt(2 ln k) sum_{n=1}^{T-1} 1/sqrt(n), at most 1 + 2 sqrt(2 T ln k).

    After n rows the leader is worse than the best action by at most the largest error of k mean differences in [-1, 1],
    which is sqrt(2 ln k / n) on average (maximum of sub-Gaussian variables).

    >>> round(follow_the_leader_iid(1000, 2), 2)
    73.73
    """
    if actions == 1:
        return 0.0
    return 1 + math.sqrt(2 * math.log(actions)) * math.fsum(1 / math.sqrt(n) for n in range(1, horizon))


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
    """Bound Simulation in random order: 1 + 6.97 sqrt(T ln k) + d ceil(log2 T) + sum_{i<ceil(log2 T)} R(2^i).

    Erratum 11: past and future means of k differences are 2 sqrt(2 ln k / 2^i) apart on average, and blocks
    double (the constant is 6.83 when T is a power of two). The logarithm of T is not needed.

    >>> round(simulation(1024, 2))
    350
    """
    count = math.ceil(math.log2(horizon))
    constant = 6.83 if 2**count == horizon else 6.97
    concentration = constant * math.sqrt(horizon * math.log(actions))
    return 1 + concentration + delay * count + _trainings(range(count), actions, base)


def interleaved(horizon: int, actions: int, delay: int) -> float:
    """Bound d+1 interleaved copies of Hedge in every order: (d+1) sqrt(T' ln k / 2) with T' = ceil(T/(d+1)).

    Weinberger and Ordentlich 2002; Joulani, Gyorgy and Szepesvari 2013. Delay multiplies, as it must in this model.

    >>> round(interleaved(1000, 2, 9)), round(interleaved(1000, 2, 99))
    (59, 186)
    """
    copies = min(delay + 1, horizon)
    return copies * hedge(-(-horizon // copies), actions)


def _trainings(blocks: range, actions: int, base: Bound | None) -> float:
    return math.fsum(follow_the_leader_iid(2**i, actions) if base is None else base(2**i) for i in blocks)
