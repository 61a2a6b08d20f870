"""Bounds on the regret of learners with bandit feedback, each with the model of input in which it is proved."""

import math


def ucb1(horizon: int, actions: int) -> float:
    """Bound the regret of UCB1 on i.i.d. rows only, whatever the gaps between the actions.

    Auer, Cesa-Bianchi and Fischer 2002, Theorem 1: an action with gap D costs at most 8 ln T / D + (1 + pi^2 / 3) D.
    Actions with a gap below sqrt(8 (k-1) ln T / T) cost at most that gap in every round, the others at most this much.

    >>> round(ucb1(10_000, 2), 1)
    1721.1
    """
    others = actions - 1
    return min(float(horizon), math.sqrt(32 * others * horizon * math.log(horizon)) + (1 + math.pi**2 / 3) * others)


def exp3(horizon: int, actions: int, rate: float | None = None) -> float:
    """Bound the regret of Exp3 in every order: ln k / rate + rate k T / 2, or sqrt(2 k T ln k) for the tuned rate.

    Bubeck and Cesa-Bianchi 2012, Theorem 3.1; Lattimore and Szepesvari 2020, Theorem 11.2.

    >>> round(exp3(10_000, 2), 1)
    166.5
    """
    if rate is None:
        return math.sqrt(2 * actions * horizon * math.log(actions))
    return math.log(actions) / rate + rate * actions * horizon / 2


def tsallis_inf(horizon: int, actions: int) -> float:
    """Bound the regret of Tsallis-INF in every order: 4 sqrt(k T) + 1 (Zimmert and Seldin 2021, Theorem 1).

    >>> tsallis_inf(10_000, 4)
    801.0
    """
    return 4 * math.sqrt(actions * horizon) + 1


def successive_elimination(horizon: int, actions: int) -> float:
    """Bound the regret of SuccessiveElimination on i.i.d. rows only, whatever the gaps between the actions.

    Slivkins 2019, section 1.3, with the constants of its proof: all means are within their radii but with chance
    2 k / T^3; then an action with gap D is played at most 1 + 32 ln T / D^2 times.

    >>> round(successive_elimination(10_000, 2), 1)
    2429.9
    """
    missed = 2 * actions / horizon**2
    return min(float(horizon), 4 * math.sqrt(2 * actions * horizon * math.log(horizon)) + actions + missed)


def explore_then_commit(horizon: int, actions: int, rounds: int) -> float:
    """Bound the regret of ExploreThenCommit in random order: (k-1) m + sqrt(2 ln k (F+m) (F+1) / m), F = T - k m.

    Exploring costs at most (k-1) m. With m rows seen of each action, F rows still to come and the best action b, the
    committed action a costs at most F max_a (X_a - X_b) more, where X is the mean of an action over the rows to come
    minus its mean over the rows seen. By Serfling 1974 X is sub-Gaussian with variance (F+m)(F+1) / (4 m F^2), so
    X_a - X_b with four times that (Cauchy-Schwarz), and a maximum of k of them is on average at most
    sqrt(2 ln k (F+m)(F+1) / m) / F. I.i.d. rows are a mixture of pools in random order, so it holds there too.

    >>> round(explore_then_commit(10_000, 2, 500), 1)
    986.9
    """
    left = horizon - actions * rounds
    if left <= 0:
        return float(horizon)
    later = math.sqrt(2 * math.log(actions) * (left + rounds) * (left + 1) / rounds)
    return min(float(horizon), (actions - 1) * rounds + later)
