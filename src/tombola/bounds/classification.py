"""Bounds of empirical risk minimisation (ERM) over labels or policies.

They hold in random order. T is the horizon, v the VC dimension (`vc`), n the number of rows seen.
Sources: Section 5 of Bernasconi et al. 2025 (errata 37-45 in docs/errata.md), and Theorem C2 of
docs/theory/context.md.
"""

import math

from tombola import _validate
from tombola.bounds.common import growing_counts
from tombola.bounds.full_information import follow_the_leader


def erm_printed(horizon: int, vc: int) -> float:
    r"""Return the printed regret bound of ERM, which is false for v near T.

    .. math:: 8 \sqrt{v T \ln (T / v)}

    Bernasconi et al. 2025, Theorem 5.3. With all labellings of 100 points, v = T = 100, the bound
    is 0, and ERM can be wrong every time (erratum 45).

    >>> erm_printed(100, 100), round(erm_printed(100, 99), 1)
    (0.0, 79.8)
    """
    return 8 * math.sqrt(vc * horizon * math.log(max(horizon / vc, 1.0)))


def erm_corrected(horizon: int, vc: int) -> float:
    r"""Bound the regret of ERM by its printed proof with corrected constants.

    .. math:: 3 + 32 \sqrt{v T \ln (2 e T / v)}

    Bernasconi et al. 2025, Theorem 5.3, corrected by errata 41 and 45. `erm` is smaller.

    >>> round(erm_corrected(10_000, 1))
    10570
    """
    return 3 + 32 * math.sqrt(vc * horizon * math.log(2 * math.e * max(horizon / vc, 1.0)))


def erm(horizon: int, vc: int, delay: int = 0) -> float:
    r"""Bound the regret of ERM in random order, at most T.

    .. math:: d + 1 + \pi \sqrt{2 v T \ln (e T / v)}

    docs/theory/context.md: a union over the labellings of the pool, of which there are at
    most (e T / v)^v, and Serfling 1974; no ghost sample. With delay d it is follow the leader on
    the revealed rows.

    >>> round(erm(10_000, 1))
    1421
    """
    size = min(vc, horizon)
    if size == 0:
        return float(min(horizon, delay + 1))
    log = size * math.log(math.e * horizon / size)
    return min(float(horizon), delay + 1 + math.pi * math.sqrt(2 * horizon * log))


def erm_by_growth(horizon: int, labellings: int, delay: int = 0) -> float:
    r"""Bound the regret of ERM in random order by the number of labellings N.

    .. math:: d + 1 + \sqrt{2 \ln N} \sum_{n=1}^{T-1-d} \frac{T}{T-n} \sqrt{\frac{T-n+1}{T n}}

    It is `follow_the_leader` with N actions.

    labellings: N, number of different labellings of the pool by hypotheses of the class.

    >>> round(erm_by_growth(10_000, 10_001))
    1342
    """
    return min(float(horizon), follow_the_leader(horizon, labellings, delay))


def uniform_convergence_printed(seen: int, vc: int, delta: float) -> float:
    r"""Return the printed radius of error rates, too small for v near 2 e n.

    It is meant to bound |pool error - observed error| for all hypotheses with probability 1 - delta
    (Bernasconi et al. 2025, Lemma 5.1; erratum 41).

    .. math:: \frac{1}{2} \left(\sqrt{\frac{8 v}{n} \ln \frac{2 e n}{v}}
       + \sqrt{\frac{8}{n} \ln \frac{2}{\delta}}\right)

    >>> round(uniform_convergence_printed(1000, 1, 0.05), 3)
    0.217
    """
    first = math.sqrt(8 * vc / seen * math.log(2 * math.e * seen / vc))
    return (first + math.sqrt(8 / seen * math.log(2 / delta))) / 2


def uniform_convergence_corrected(seen: int, vc: int, delta: float) -> float:
    r"""Return the printed radius of error rates, corrected by erratum 41.

    It is the last display in the proof of Lemma 5.1 of Bernasconi et al. 2025, solved.

    .. math:: \sqrt{\frac{4 (v \ln (2 e n / v) + \ln (4 / \delta))}{n}}

    >>> round(uniform_convergence_corrected(1000, 1, 0.05), 3)
    0.228
    """
    log = vc * math.log(2 * math.e * max(seen / vc, 1.0)) + math.log(4 / delta)
    return math.sqrt(4 * log / seen)


def uniform_convergence(seen: int, horizon: int, vc: int, delta: float) -> float:
    r"""Bound |pool error - observed error| of all hypotheses, with prob. 1 - delta.

    .. math:: \sqrt{\frac{(v \ln (e T / v) + \ln (2 / \delta)) f}{2 n}}, \qquad f = 1 - \frac{n -
    1}{T}

    A union over at most (e T / v)^v labellings, and Serfling 1974.

    >>> round(uniform_convergence(1000, 10_000, 1, 0.05), 3)
    0.079
    """
    size = min(vc, horizon)
    log = (size * math.log(math.e * horizon / size) if size else 0.0) + math.log(2 / delta)
    return math.sqrt(log * (1 - (seen - 1) / horizon) / (2 * seen))


def halving(hypotheses: int) -> float:
    r"""Bound the mistakes of Halving in every order, if a hypothesis is always right.

    .. math:: \log_2 |H|

    hypotheses: |H|, number of hypotheses of the class.

    >>> halving(8)
    3.0
    """
    return math.log2(hypotheses)


def erm_policies(horizon: int, restrictions: float, growth: float = 1.5) -> float:
    r"""Bound the regret of ERM over policies in random order.

    .. math:: 1 + \sum_{\mathrm{blocks}} L \sqrt{\frac{(1 + 1/n) \, T \ln N}{2 n (T - n)}}

    A block of L rounds plays the policy that is best on the n rows before it
    (docs/theory/context.md, Theorem C2).

    restrictions: N, number of different policies on this list.
    growth: factor of the rows seen between two trainings.

    >>> round(erm_policies(256, 257), 1)
    74.6
    """
    _validate.integer("erm_policies", "horizon", horizon, least=1)
    _validate.real("erm_policies", "growth", growth, above=1)
    starts = growing_counts(horizon, growth)
    total = 1.0
    for n, end in zip(starts, [*starts[1:], horizon], strict=True):
        total += (end - n) * math.sqrt(
            (1 + 1 / n) * horizon * math.log(restrictions) / (2 * n * (horizon - n))
        )
    return total
