"""Regret bounds for full information, losses in [0, 1], every pool.

A bound for every sequence (adversarial order) holds in random order too. T is the horizon, k the
number of actions, d the constant delay of the feedback in rounds. Proofs: docs/theory/delay.md.
"""

import math

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, sum_of_terms

# FlipFlop changes from follow the leader to AdaHedge when the mixability gap of the former exceeds
# PHI / ALPHA times that of the latter. PHI and ALPHA are the best constants for its bound (De Rooij
# et al. 2014, Theorem 15).
PHI = 2.37
# FlipFlop changes back when the mixability gap of AdaHedge exceeds ALPHA times that of follow the
# leader.
ALPHA = 1.243


def follow_the_leader(horizon: int, actions: int, delay: int = 0) -> float:
    r"""Bound the regret of follow the leader in random order, for every tie rule.

    .. math:: d + 1 + \sqrt{2 \ln k} \sum_{n=1}^{T-1-d} \frac{T}{T-n} \sqrt{\frac{T-n+1}{T n}}
       \;\approx\; d + \pi \sqrt{2 T \ln k}

    or, which is better for up to four actions,

    .. math:: \sqrt{(1+d)^2 + c^2} + (k-2) c, \qquad c = \frac{T}{2 \sqrt{T-1}} \sum_{n=1}^{T-1-d}
       \frac{1}{\sqrt{n (T-n)}} \leq \frac{\pi}{2} \frac{T}{\sqrt{T-1}}

    >>> round(follow_the_leader(1000, 2), 1), round(follow_the_leader(1000, 10), 1), follow_the_leader(10, 2, delay=20)
    (48.2, 210.5, 10.0)
    """
    if actions == 1 or delay >= horizon - 1:
        return capped(float(horizon), horizon, actions)

    def term(seen: Floats) -> Floats:
        left = horizon - seen
        return horizon / left * np.sqrt((left + 1) / (horizon * seen))

    count = horizon - 1 - delay
    many = math.sqrt(2 * math.log(actions)) * sum_of_terms(count, term)
    inverse_roots = sum_of_terms(count, lambda seen: 1 / np.sqrt(seen * (horizon - seen)))
    few = horizon / (2 * math.sqrt(horizon - 1)) * inverse_roots
    return capped(
        min(delay + 1 + many, math.hypot(1 + delay, few) + (actions - 2) * few), horizon, actions
    )


def hedge(horizon: int, actions: int, rate: float | None = None, delay: int = 0) -> float:
    r"""Bound the regret of Hedge in random order.

    .. math:: \frac{\ln k}{\eta} + \frac{\eta T}{8} + d \left(1 - \frac{1}{k}\right), \qquad
       \sqrt{\frac{T \ln k}{2}} + d \left(1 - \frac{1}{k}\right) \quad \text{at the best rate}

    Cesa-Bianchi and Lugosi 2006, Theorem 2.2, for d = 0, where it holds in every order. In random order a delay is a
    shift: it repeats the first mix d times and costs no more (docs/theory/delay.md, Theorem 3).

    rate: eta, the learning rate; None is the best one, sqrt(8 ln k / T).

    >>> round(hedge(1000, 2), 2), round(hedge(1000, 2, rate=0.1), 2), round(hedge(1000, 2, delay=10), 2)
    (18.62, 19.43, 23.62)
    """
    return capped(
        _weights(horizon, actions, rate, 0) + _first_mix(actions, delay), horizon, actions
    )


def hedge_given_order(
    horizon: int, actions: int, rate: float | None = None, delay: int = 0
) -> float:
    r"""Bound the regret of Hedge in every order.

    .. math:: \frac{\ln k}{\eta} + \frac{\eta T (1 + 2d)}{8}, \qquad
       \sqrt{\frac{T (1 + 2d) \ln k}{2}} \quad \text{at the best rate}

    A row moves a mix by at most rate / 4 in total variation (tilting by exp(-rate loss)), so d late
    rows add rate d / 4 per round.

    rate: eta, the learning rate; None is the best one, sqrt(8 ln k / (T (1 + 2d))).

    >>> round(hedge_given_order(1000, 2, delay=10), 2)
    85.31
    """
    return capped(_weights(horizon, actions, rate, delay), horizon, actions)


def hedge_anytime(horizon: int, actions: int, delay: int = 0) -> float:
    r"""Bound the regret of HedgeAnytime in random order.

    .. math:: \sqrt{T \ln k} + d \left(1 - \frac{1}{k}\right)

    From ln k / rate_T + sum_t rate_t / 8 for decreasing rates (Gerchinovitz 2011; Bubeck 2011).

    >>> round(hedge_anytime(1000, 2), 2), round(hedge_anytime(1000, 2, delay=10), 2)
    (26.33, 31.33)
    """
    return capped(
        math.sqrt(horizon * math.log(actions)) + _first_mix(actions, delay), horizon, actions
    )


def ada_hedge(horizon: int, actions: int, kappa: float = 2.0, delay: int = 0) -> float:
    r"""Bound the regret of AdaHedge in every order.

    .. math:: \left(1 + \frac{1}{\kappa}\right)
       \left(\frac{b}{2} + \sqrt{\frac{b^2}{4} + \frac{\kappa T \ln k}{4}}\right),
       \qquad b = \frac{2}{3} \kappa \ln k + 1

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 6, with kappa kept and the quadratic
    solved exactly: the mixability gap D has D^2 <= kappa V ln k + b D, where V, the sum of the
    variances of the losses under the mixes, is at most T / 4. A delay adds `added_by_delay`, in
    random order only.

    kappa: parameter of AdaHedge: factor of its learning rate.

    >>> round(ada_hedge(1000, 2, kappa=1.0), 2), round(ada_hedge(1000, 2), 2)
    (27.83, 29.41)
    """
    gap = _mixability_gap(horizon, actions, kappa)
    return capped((1 + 1 / kappa) * gap + added_by_delay(actions, delay), horizon, actions)


def flip_flop(horizon: int, actions: int, delay: int = 0) -> float:
    r"""Bound the regret of FlipFlop in every order.

    .. math:: c \left(\frac{b}{2} + \sqrt{\frac{b^2}{4} + \frac{T \ln k}{4}}\right) + 1, \qquad b =
       \frac{2}{3} \ln k + 1, \quad c = \frac{\varphi}{\varphi - 1} + \frac{\varphi}{\alpha} + 2 =
       5.64

    De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 15, with the mixability gap of AdaHedge's
    rounds bounded by T directly (docs/theory/delay.md, section 4). The regret is also at most 5.64
    times that of follow the leader, plus 3.73 (their Corollary 16). A delay adds `added_by_delay`,
    in random order only.

    >>> round(flip_flop(1000, 2), 1)
    79.4
    """
    c = PHI / (PHI - 1) + PHI / ALPHA + 2
    gap = _mixability_gap(horizon, actions, 1.0)
    return capped(c * gap + 1 + added_by_delay(actions, delay), horizon, actions)


def _mixability_gap(horizon: int, actions: int, kappa: float) -> float:
    """Return the largest D with D^2 <= kappa (T / 4) ln k + (2/3 kappa ln k + 1) D."""
    log = math.log(actions)
    half = kappa * log / 3 + 0.5
    return half + math.sqrt(half * half + kappa * horizon * log / 4)


def _first_mix(actions: int, delay: int) -> float:
    """Bound the cost of d rounds of the uniform mix."""
    return delay * (1 - 1 / actions)


def added_by_delay(actions: int, delay: int) -> float:
    r"""Bound the regret that a delay adds in random order, if the first mix is uniform.

    .. math:: d \left(1 - \frac{1}{k}\right) + (2 \sqrt{d} + 1.31) \sqrt{\frac{\ln k}{2}}

    It holds for mixes that depend on the revealed rows and the learner's own randomness only; the
    second term is for the d mixes that are never played (docs/theory/delay.md, Theorem 3).

    >>> added_by_delay(2, delay=0), round(added_by_delay(2, delay=100), 1)
    (0.0, 62.5)
    """
    unplayed = (2 * math.sqrt(delay) + 1.31) * math.sqrt(math.log(actions) / 2)
    return _first_mix(actions, delay) + unplayed if delay > 0 else 0.0


def birthday_mean(horizon: int) -> float:
    r"""Return the expected round of the first repeated loss, i.i.d. on {1/T, ..., T/T}.

    .. math:: \sum_{t=0}^{T} \prod_{s<t} \left(1 - \frac{s}{T}\right)

    This is exact, and the largest over all i.i.d. inputs (Bernasconi et al. 2025, proof of Lemma
    3.1, erratum 1).

    >>> birthday_mean(1), birthday_mean(2), round(birthday_mean(365), 2)
    (2.0, 2.5, 24.62)
    """
    total = 0.0
    unseen = 1.0
    t = 0
    while t <= horizon and unseen > 1e-300:
        total += unseen
        unseen *= 1 - t / horizon
        t += 1
    return total


def birthday(horizon: int) -> float:
    r"""Bound the expected round of the first repeated loss, on i.i.d. input.

    .. math:: 2 \sqrt{T}

    The birthday test (`BirthdayTest`) plays action 0 until one of its losses repeats, so this
    bounds the rounds that it wastes, each with a loss of at most 1. In random order no loss may
    ever repeat.

    >>> birthday(100)
    20.0
    """
    return 2 * math.sqrt(horizon)


def _weights(horizon: int, actions: int, rate: float | None, delay: int) -> float:
    """Bound the regret of exponential weights: ln k / rate + rate T (1 + 2 d) / 8."""
    rounds = horizon * (1 + 2 * delay)
    if rate is None:
        return math.sqrt(rounds * math.log(actions) / 2)
    return math.log(actions) / rate + rate * rounds / 8
