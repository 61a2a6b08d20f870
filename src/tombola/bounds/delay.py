"""Bounds for delayed feedback (Bernasconi et al. 2025, Section 4; proofs in docs/theory/delay.md).

T is the horizon, k the number of actions, d the constant delay of the feedback in rounds. R(n) is
`base`, the regret bound of the base learner on n i.i.d. rows; None is follow the leader.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from tombola.bounds.common import capped, sum_of_inverse_roots
from tombola.bounds.full_information import hedge

# Bound on the regret of a learner on n i.i.d. rows, as a function of n.
_RegretBound: TypeAlias = Callable[[int], float]


def follow_the_leader_iid(horizon: int, actions: int) -> float:
    r"""Bound the regret of follow the leader on i.i.d. rows.

    .. math:: 1 + \sqrt{2 \ln k} \sum_{n=1}^{T-1} \frac{1}{\sqrt{n}} \leq 1 + 2 \sqrt{2 T \ln k}

    After n rows the leader is worse than the best action by at most the largest error of k mean
    differences in [-1, 1], which is sqrt(2 ln k / n) in expectation (maximum of sub-Gaussian
    variables).

    >>> round(follow_the_leader_iid(1000, 2), 2)
    73.73
    """
    return capped(
        1 + math.sqrt(2 * math.log(actions)) * sum_of_inverse_roots(horizon - 1), horizon, actions
    )


def simulation_printed(
    horizon: int, actions: int, delay: int = 0, base: _RegretBound | None = None
) -> float:
    r"""Return the regret bound of Simulation as printed, which is not proved.

    .. math:: 5 \sqrt{T \ln T} + d \log_2 T + \sum_{i \leq \log_2 T} R(2^i)

    Bernasconi et al. 2025, Theorem 4.2. The proof has gaps (errata 8 to 11); `simulation` is the
    proved bound.

    base: R, function of the horizon that bounds the regret of the base learner on i.i.d. rows; None
        is that of follow the leader.

    >>> round(simulation_printed(1024, 2))
    663
    """
    blocks = range(math.floor(math.log2(horizon)) + 1)
    return (
        5 * math.sqrt(horizon * math.log(horizon))
        + delay * math.log2(horizon)
        + _trainings(blocks, actions, base)
    )


def simulation(
    horizon: int, actions: int, delay: int = 0, base: _RegretBound | None = None
) -> float:
    r"""Bound the regret of Simulation in random order; at most T.

    .. math:: 1 + d \lceil \log_2 T \rceil + \sum_{i < \lceil \log_2 T \rceil} R(2^i)
       + \sqrt{2 \ln k} \sum_i L_i \frac{T}{T - n} \sqrt{\frac{T - n + 1}{T n}}

    with :math:`n = 2^i` and :math:`L_i = \min(n, T - n)`. The last term is below 4.18 sqrt(T ln k)
    for every T. The bound is Theorem 4.2 of Bernasconi et al. 2025 with its proof corrected.
    Simulation plays block i, the rounds after the first 2^i, as the base learner does when trained
    on draws from the rows before. The proof covers LemmaSchedule(d) and GrowingSchedule(2), not
    PaperSchedule (docs/theory/delay.md, section 2). With GrowingSchedule(2) a delay adds only d
    (Theorem 3 there): `Simulation.bound` returns that smaller bound.

    base: R, function of the horizon that bounds the regret of the base learner on i.i.d. rows; None
        is that of follow the leader.

    >>> round(simulation(2**16, 2))
    2285
    """
    count = math.ceil(math.log2(horizon))
    sizes = [2**i for i in range(count)]
    spread = math.fsum(
        min(n, horizon - n) * horizon / (horizon - n) * math.sqrt((horizon - n + 1) / (horizon * n))
        for n in sizes
    )
    total = (
        1
        + math.sqrt(2 * math.log(actions)) * spread
        + delay * count
        + _trainings(range(count), actions, base)
    )
    return capped(total, horizon, actions)


def interleaved(horizon: int, actions: int, delay: int) -> float:
    r"""Bound the regret of d+1 interleaved copies of Hedge in every order.

    .. math:: (d+1) \sqrt{T' \ln k / 2}, \qquad T' = \lceil T / (d+1) \rceil

    Weinberger and Ordentlich 2002; Joulani, Gyorgy and Szepesvari 2013. In every order, delay
    multiplies the regret.

    >>> round(interleaved(1000, 2, 9)), round(interleaved(1000, 2, 99))
    (59, 186)
    """
    copies = min(delay + 1, horizon)
    return capped(copies * hedge(-(-horizon // copies), actions), horizon, actions)


def _trainings(blocks: range, actions: int, base: _RegretBound | None) -> float:
    return math.fsum(
        follow_the_leader_iid(2**i, actions) if base is None else base(2**i) for i in blocks
    )
