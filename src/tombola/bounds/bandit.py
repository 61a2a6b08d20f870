"""Regret bounds of bandit learners: i.i.d. rows, random order, or every order.

A bound for i.i.d. rows that counts plays holds in random order with one more term, the `drift`: the
losses of the rows that remain differ from the means of the pool (docs/theory/transfer.md). T is the
horizon, k the number of actions, d the constant delay of the feedback in rounds.
"""

import math
from functools import lru_cache

import numpy as np

from tombola._types import Floats
from tombola.bounds.common import capped, drift

# Number of gaps on the grid over which `ucb2` takes the maximum.
_GAPS = 160
# Shares y of the gap that are tried in `ucb2_plays`.
_SHARES = np.arange(0.05, 0.7, 0.05)


def ucb1_iid(horizon: int, actions: int) -> float:
    r"""Bound the regret of UCB1 with scale 2 on i.i.d. rows, for all gaps.

    .. math:: \sqrt{8 (k-1) T \ln T} + \left(1 + \frac{\pi^2}{3}\right) (k-1)

    Scale 2 is the original exploration term, sqrt(2 ln t / n) after n losses of an action and t in
    all. The gap D of an action is its mean loss minus that of the best action. It is played at most
    8 ln T / D^2 + 1 + pi^2 / 3 times in expectation (Auer, Cesa-Bianchi and Fischer 2002, Theorem
    1). So it costs at most sqrt(8 ln T n) + (1 + pi^2/3) D if it is played n times, for every D.
    The counts add up to at most T (Cauchy and Schwarz).

    >>> round(ucb1_iid(10_000, 2), 1)
    862.7
    """
    others = actions - 1
    counts = math.sqrt(8 * others * horizon * math.log(horizon)) + (1 + math.pi**2 / 3) * others
    return capped(counts, horizon, actions)


def ucb1(horizon: int, actions: int) -> float:
    r"""Bound the regret of UCB1 with scale 2 in random order, without delay.

    It is the bound for i.i.d. rows, `ucb1_iid`, plus `drift`, the further loss in random order; at
    most T.

    >>> round(ucb1(10_000, 2), 1)
    941.2
    """
    return capped(ucb1_iid(horizon, actions) + drift(horizon, actions), horizon, actions)


def exp3(horizon: int, actions: int, rate: float | None = None) -> float:
    r"""Bound the regret of Exp3 in every order.

    .. math:: \frac{\ln k}{\eta} + \frac{\eta k T}{2}, \qquad
       \sqrt{2 k T \ln k} \quad \text{at the tuned rate}

    Bubeck and Cesa-Bianchi 2012, Theorem 3.1; Lattimore and Szepesvari 2020, Theorem 11.2.

    rate: eta, the learning rate; None is the tuned one, sqrt(2 ln k / (k T)).

    >>> round(exp3(10_000, 2), 1)
    166.5
    """
    tuned = math.sqrt(2 * actions * horizon * math.log(actions))
    bound = tuned if rate is None else math.log(actions) / rate + rate * actions * horizon / 2
    return capped(bound, horizon, actions)


def tsallis_inf(horizon: int, actions: int) -> float:
    r"""Bound the regret of Tsallis-INF in every order.

    .. math:: 4 \sqrt{k T} - 2 \sqrt{T}

    Zimmert and Seldin 2021, Theorem 1, with 4 sqrt(k T) + 1; this form by docs/theory/transfer.md.

    >>> tsallis_inf(10_000, 4)
    600.0
    """
    return capped((4 * math.sqrt(actions) - 2) * math.sqrt(horizon), horizon, actions)


def successive_elimination_iid(horizon: int, actions: int, delay: int = 0) -> float:
    r"""Bound the regret of SuccessiveElimination on i.i.d. rows, for all gaps.

    .. math:: \sqrt{32 (k-1) T \ln T} + (k-1) + \frac{2k}{T^2} + [d > 0] \, (k - 1 + d (H_k - 1))

    Slivkins 2019, section 1.3, with the constants of its proof. All means are within their radii
    except with probability 2 k / T^3; then an action with gap D is played at most 1 + 32 ln T / D^2
    times. The last term is for a delay d, with H_k = 1 + 1/2 + .. + 1/k (docs/theory/transfer.md;
    the order d log k is that of Lancewicki, Segal, Koren and Mansour 2021).

    >>> round(successive_elimination_iid(10_000, 2), 1), round(successive_elimination_iid(10_000, 2, delay=100), 1)
    (1717.8, 1768.8)
    """
    others = actions - 1
    bound = math.sqrt(32 * others * horizon * math.log(horizon)) + others + 2 * actions / horizon**2
    if delay > 0:
        bound += others + delay * math.fsum(1 / active for active in range(2, actions + 1))
    return capped(bound, horizon, actions)


def successive_elimination(horizon: int, actions: int, delay: int = 0) -> float:
    r"""Bound the regret of SuccessiveElimination in random order.

    It is the bound for i.i.d. rows, `successive_elimination_iid`, plus `drift`, the further loss in
    random order; at most T.

    >>> round(successive_elimination(10_000, 2), 1)
    1796.3
    """
    return capped(
        successive_elimination_iid(horizon, actions, delay) + drift(horizon, actions),
        horizon,
        actions,
    )


def explore_then_commit(horizon: int, actions: int, rounds: int) -> float:
    r"""Bound the regret of ExploreThenCommit in random order.

    .. math:: (k-1) m + \sqrt{\frac{2 \ln k \, (F+m) (F+1)}{m}}, \qquad F = T - k m

    Exploring costs at most (k-1) m. With m rows seen of each action, F rows still to come and the
    best action b, the committed action a costs at most F max_a (X_a - X_b) more, where X is the
    mean of an action over the rows to come minus its mean over the rows seen. By Serfling 1974 X is
    sub-Gaussian with variance (F+m)(F+1) / (4 m F^2), so X_a
    - X_b with four times that (Cauchy-Schwarz), and the expected maximum of k of them is at most
    sqrt(2 ln k (F+m)(F+1) / m) / F. I.i.d. rows are a mixture of pools in random order, so the
    bound holds there too.

    rounds: m, number of exploring plays of each action.

    >>> round(explore_then_commit(10_000, 2, 500), 1)
    986.9
    """
    left = horizon - actions * rounds
    if left <= 0:
        return capped(float(horizon), horizon, actions)
    later = math.sqrt(2 * math.log(actions) * (left + rounds) * (left + 1) / rounds)
    return capped((actions - 1) * rounds + later, horizon, actions)


def ucb2(horizon: int, actions: int, alpha: float = 0.5) -> float:
    r"""Bound the regret of UCB2 in random order.

    .. math:: \min_x \left(x T + (k-1) \max_D \, (D - x) \, n(D)\right) + \mathrm{drift}(T, k)

    D is a gap, the excess mean loss of an action over the best one, and n(D) bounds the plays of
    that action (`ucb2_plays`). Actions with a gap below x cost at most x per round. The bound is of
    order sqrt(k T ln T). n(D) is that of Auer, Cesa-Bianchi and Fischer 2002, proof of Theorem 2,
    summed exactly. It holds in random order too, since its events concern the mean of one action
    after a fixed number of plays (docs/theory/transfer.md).

    alpha: parameter of UCB2: plays of an action grow by the factor 1 + alpha between two decisions.

    >>> round(ucb2(2**16, 2))
    818
    """
    edges, plays = _plays_by_gap(horizon, alpha)
    worst = min(x * horizon + (actions - 1) * float(np.max((edges[1:] - x) * plays)) for x in edges)
    return capped(worst + drift(horizon, actions), horizon, actions)


def _ucb2_counts(horizon: int, alpha: float) -> list[int]:
    """Return the counts ceil((1 + alpha)^r) < T at which UCB2 reconsiders an action.

    >>> _ucb2_counts(20, 0.5)
    [1, 2, 3, 4, 6, 8, 12, 18]
    """
    counts = [1]
    power = 1.0
    while math.ceil(power) < horizon:
        power *= 1 + alpha
        if counts[-1] < math.ceil(power) < horizon:
            counts.append(math.ceil(power))
    return counts


def ucb2_plays(gap: float, horizon: int, alpha: float = 0.5) -> float:
    r"""Bound the expected plays by UCB2 of an action that is worse by `gap`.

    It holds on i.i.d. rows and in random order.

    .. math:: 1 + \min_y \sum_m L_m \min (1, P_a(m) + P_b(m))

    m = ceil((1 + alpha)^r) are the play counts at which UCB2 decides about an action again, and L_m
    the plays between two of them. P_a bounds the probability that the index of the action is at
    most the mean of the best action plus y, P_b that the index of the best action is above it. s
    runs over the same counts, of plays of the best action:

    .. math:: P_a = e^{-2 m (\mathrm{gap} - y - r)^2}, \quad r = \sqrt{\frac{(1+\alpha) \ln (e T /
       m)}{2 m}}, \qquad P_b = \sum_s e^{-2 s y^2} \left(\frac{e (m+s)}{s}\right)^{-(1+\alpha)}

    >>> round(ucb2_plays(0.3, 2**14)), ucb2_plays(0.0, 100)
    (241, 100.0)
    """
    m = np.array(_ucb2_counts(horizon, alpha), dtype=np.float64)
    lengths = np.diff([*m, horizon])
    radii = np.sqrt((1 + alpha) * np.log(math.e * horizon / m) / (2 * m))
    odds = np.power(math.e * (m[:, None] + m) / m, -(1 + alpha))
    least = float(horizon)
    for y in _SHARES * gap:
        looks = np.exp(-2 * m * np.maximum(0.0, gap - y - radii) ** 2) + odds @ np.exp(
            -2 * m * y * y
        )
        least = min(least, 1 + float(np.sum(lengths * np.minimum(1.0, looks))))
    return least


@lru_cache(maxsize=64)
def _plays_by_gap(horizon: int, alpha: float) -> tuple[Floats, Floats]:
    """Return gaps from 0 to 1, and the plays at each but the last; they fall."""
    edges = np.append(0.0, np.geomspace(0.1 / math.sqrt(horizon), 1.0, _GAPS))
    return edges, np.array([ucb2_plays(float(gap), horizon, alpha) for gap in edges[:-1]])
