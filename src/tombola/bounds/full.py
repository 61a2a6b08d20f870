"""Bounds for full feedback: on the expected regret, for losses in [0, 1] and every pool.

A bound for every sequence (adversarial order) holds in random order too.
"""

import math

import numpy as np

PHI, ALPHA = 2.37, 1.243


def follow_the_leader(horizon: int, actions: int, delay: int = 0) -> float:
    """Bound follow the leader in random order: d + 1 + sqrt(2 ln k) sum_{n=1}^{T-1} T/(T-n) sqrt((T-n+1)/(Tn)).

    docs/theory/delay.md (Serfling 1974): about d + pi sqrt(2 T ln k), for every way to break ties. It does
    not hold in adversarial order.

    >>> round(follow_the_leader(1000, 2), 1)
    115.9
    """
    if actions == 1:
        return 0.0
    seen = np.arange(1, horizon, dtype=np.float64)
    left = horizon - seen
    total = float(np.sum(horizon / left * np.sqrt((left + 1) / (horizon * seen))))
    return delay + 1 + math.sqrt(2 * math.log(actions)) * total


def hedge(horizon: int, actions: int, rate: float | None = None, delay: int = 0) -> float:
    """Bound Hedge in every order: ln k / rate + rate T (1 + 2d) / 8; sqrt(T (1 + 2d) ln k / 2) at the best rate, None.

    Cesa-Bianchi and Lugosi 2006, Theorem 2.2, for d = 0. A late row leaves the mix where it was: a row moves a mix by
    at most rate / 4 in total variation (tilting by exp(-rate loss)), so d rows add rate d / 4 a round.

    >>> round(hedge(1000, 2), 2), round(hedge(1000, 2, rate=0.1), 2), round(hedge(1000, 2, delay=10), 2)
    (18.62, 19.43, 85.31)
    """
    rounds = horizon * (1 + 2 * delay)
    if rate is None:
        return math.sqrt(rounds * math.log(actions) / 2)
    return math.log(actions) / rate + rate * rounds / 8


def hedge_anytime(horizon: int, actions: int) -> float:
    """Bound Hedge with rate sqrt(8 ln k / t) in every order: 2 sqrt(T ln k / 2) + sqrt(ln k / 8).

    Cesa-Bianchi and Lugosi 2006, Theorem 2.3.

    >>> round(hedge_anytime(1000, 2), 2)
    37.53
    """
    return 2 * math.sqrt(horizon * math.log(actions) / 2) + math.sqrt(math.log(actions) / 8)


def ada_hedge(horizon: int, actions: int) -> float:
    """Bound AdaHedge in every order: sqrt(T ln k) + 4/3 ln k + 2.

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 6: 2 sqrt(V ln k) + 4/3 ln k + 2, where V, the sum of the
    variances of the losses under the mixes, is at most T / 4.

    >>> round(ada_hedge(1000, 2), 2)
    29.25
    """
    log = math.log(actions)
    return 0.0 if actions == 1 else math.sqrt(horizon * log) + 4 / 3 * log + 2


def flip_flop(horizon: int, actions: int) -> float:
    """Bound FlipFlop in every order: c/2 sqrt(T ln k) + c ((c + 2/3) ln k + sqrt(ln k) + 1) + 1, where c = 5.64.

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 15 and Corollary 16, with (L+ - L*)(L* - L-)/(L+ - L-) at
    most T / 4. It is also at most 5.64 times the regret of follow the leader, plus 3.73.

    >>> round(flip_flop(1000, 2), 1)
    110.2
    """
    if actions == 1:
        return 0.0
    c = PHI / (PHI - 1) + PHI / ALPHA + 2
    log = math.log(actions)
    return c / 2 * math.sqrt(horizon * log) + c * ((c + 2 / 3) * log + math.sqrt(log) + 1) + 1


def birthday_mean(horizon: int) -> float:
    """Return the mean of the first round whose loss was seen before, for i.i.d. losses uniform on {1/T, ..., T/T}.

    Exactly sum_{t=0}^{T} prod_{s<t} (1 - s/T), the largest over all i.i.d. inputs (paper L231, erratum 1).

    >>> birthday_mean(1), birthday_mean(2), round(birthday_mean(365), 2)
    (2.0, 2.5, 24.62)
    """
    total, unseen, t = 0.0, 1.0, 0
    while t <= horizon and unseen > 1e-300:
        total += unseen
        unseen *= 1 - t / horizon
        t += 1
    return total


def birthday(horizon: int) -> float:
    """Bound the mean round in which the birthday test fires on i.i.d. input: 2 sqrt(T), for every T (paper L218).

    It bounds what the test costs before follow the leader starts; in random order the test may never fire.

    >>> birthday(100)
    20.0
    """
    return 2 * math.sqrt(horizon)
