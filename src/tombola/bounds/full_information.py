"""Regret bounds for full information, losses in [0, 1], every pool.

A bound for every sequence (adversarial order) holds in random order too. Proofs: docs/theory/delay.md.
"""

import math

import numpy as np

from tombola.bounds.common import capped

PHI, ALPHA = 2.37, 1.243


def follow_the_leader(horizon: int, actions: int, delay: int = 0) -> float:
    """Bound follow the leader in random order, for every tie rule.

    The smaller one of d + 1 + sqrt(2 ln k) sum_{n=1}^{T-1-d} T/(T-n) sqrt((T-n+1)/(Tn)), about d + pi sqrt(2 T ln k),
    and sqrt((1+d)^2 + c^2) + (k-2) c, where c = T/(2 sqrt(T-1)) sum_{n=1}^{T-1-d} 1/sqrt(n(T-n)), at most
    (pi/2) T/sqrt(T-1): that one is better for up to four actions.

    >>> round(follow_the_leader(1000, 2), 1), round(follow_the_leader(1000, 10), 1), follow_the_leader(10, 2, delay=20)
    (48.2, 210.5, 10.0)
    """
    if actions == 1 or delay >= horizon - 1:
        return capped(float(horizon), horizon, actions)
    seen = np.arange(1, horizon - delay, dtype=np.float64)
    left = horizon - seen
    many = math.sqrt(2 * math.log(actions)) * float(np.sum(horizon / left * np.sqrt((left + 1) / (horizon * seen))))
    few = horizon / (2 * math.sqrt(horizon - 1)) * float(np.sum(1 / np.sqrt(seen * left)))
    return capped(min(delay + 1 + many, math.hypot(1 + delay, few) + (actions - 2) * few), horizon, actions)


def hedge(horizon: int, actions: int, rate: float | None = None, delay: int = 0) -> float:
    """Bound Hedge in random order.

    ln k / rate + rate T / 8 + d (1 - 1/k); sqrt(T ln k / 2) + d (1 - 1/k) at the best rate.

    Cesa-Bianchi and Lugosi 2006, Theorem 2.2, for d = 0, where it holds in every order. In random order a delay is a
    shift: it repeats the first mix d times and costs no more (docs/theory/delay.md, Theorem 3).

    >>> round(hedge(1000, 2), 2), round(hedge(1000, 2, rate=0.1), 2), round(hedge(1000, 2, delay=10), 2)
    (18.62, 19.43, 23.62)
    """
    return capped(_weights(horizon, actions, rate, 0) + first_mix(actions, delay), horizon, actions)


def hedge_given_order(horizon: int, actions: int, rate: float | None = None, delay: int = 0) -> float:
    """Bound Hedge in every order.

    ln k / rate + rate T (1 + 2d) / 8; sqrt(T (1 + 2d) ln k / 2) at the best rate, None.

    A late row leaves the mix where it was: a row moves a mix by at most rate / 4 in total variation (tilting by
    exp(-rate loss)), so d rows add rate d / 4 a round. In the worst order delay multiplies.

    >>> round(hedge_given_order(1000, 2, delay=10), 2)
    85.31
    """
    return capped(_weights(horizon, actions, rate, delay), horizon, actions)


def hedge_anytime(horizon: int, actions: int, delay: int = 0) -> float:
    """Bound HedgeAnytime in random order: sqrt(T ln k) + d (1 - 1/k).

    ln k / rate_T + sum_t rate_t / 8 for rates that fall (known: Gerchinovitz 2011; Bubeck 2011).

    >>> round(hedge_anytime(1000, 2), 2), round(hedge_anytime(1000, 2, delay=10), 2)
    (26.33, 31.33)
    """
    return capped(math.sqrt(horizon * math.log(actions)) + first_mix(actions, delay), horizon, actions)


def ada_hedge(horizon: int, actions: int, kappa: float = 1.0, delay: int = 0) -> float:
    """Bound AdaHedge in every order.

    (1 + 1/kappa) (b/2 + sqrt(b^2/4 + kappa T ln k / 4)), b = (2/3) kappa ln k + 1.

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 6, with kappa kept and the quadratic solved exactly: the
    mixability gap D has D^2 <= kappa V ln k + b D, where V, the sum of the variances of the losses under the mixes, is
    at most T / 4. A delay adds `any_delay`, in random order only.

    >>> round(ada_hedge(1000, 2), 2), round(ada_hedge(1000, 2, kappa=1.5), 2)
    (27.83, 28.32)
    """
    log = math.log(actions)
    half = kappa * log / 3 + 0.5
    gap = half + math.sqrt(half * half + kappa * horizon * log / 4)
    return capped((1 + 1 / kappa) * gap + any_delay(actions, delay), horizon, actions)


def flip_flop(horizon: int, actions: int, delay: int = 0) -> float:
    """Bound FlipFlop in every order.

    c/2 sqrt(T ln k) + c ((c + 2/3) ln k + sqrt(ln k) + 1) + 1, where c = 5.64.

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 15 and Corollary 16, with (L+ - L*)(L* - L-)/(L+ - L-) at
    most T / 4. It is also at most 5.64 times the regret of follow the leader, plus 3.73. A delay adds `any_delay`, in
    random order only.

    >>> round(flip_flop(1000, 2), 1)
    110.2
    """
    c = PHI / (PHI - 1) + PHI / ALPHA + 2
    log = math.log(actions)
    prompt = c / 2 * math.sqrt(horizon * log) + c * ((c + 2 / 3) * log + math.sqrt(log) + 1) + 1
    return capped(prompt + any_delay(actions, delay), horizon, actions)


def first_mix(actions: int, delay: int) -> float:
    """Bound the cost of d rounds of the uniform mix: d (1 - 1/k).

    >>> first_mix(2, delay=10)
    5.0
    """
    return delay * (1 - 1 / actions)


def any_delay(actions: int, delay: int) -> float:
    """Bound the cost of a delay in random order for a learner with a uniform start.

    d (1 - 1/k) + (2 sqrt(d) + 1.31) sqrt(ln k / 2), for mixes that depend on the revealed rows and rng alone; the
    second term is for the d mixes that are never played (docs/theory/delay.md, Theorem 3).

    >>> any_delay(2, delay=0), round(any_delay(2, delay=100), 1)
    (0.0, 62.5)
    """
    unplayed = (2 * math.sqrt(delay) + 1.31) * math.sqrt(math.log(actions) / 2)
    return first_mix(actions, delay) + unplayed if delay > 0 else 0.0


def birthday_mean(horizon: int) -> float:
    """Return the expected first round with a repeated loss, i.i.d. on {1/T, ..., T/T}.

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
    """Bound the expected firing round of the birthday test on i.i.d. input: 2 sqrt(T).

    It bounds what the test costs before follow the leader starts; in random order the test may never fire.

    >>> birthday(100)
    20.0
    """
    return 2 * math.sqrt(horizon)


def _weights(horizon: int, actions: int, rate: float | None, delay: int) -> float:
    """Exponential weights: what the first weights cost, and what the rounds cost."""
    rounds = horizon * (1 + 2 * delay)
    if rate is None:
        return math.sqrt(rounds * math.log(actions) / 2)
    return math.log(actions) / rate + rate * rounds / 8
