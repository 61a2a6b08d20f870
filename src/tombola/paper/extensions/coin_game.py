"""The game on coin pools as a linear program.

In a coin pool each row is a loss of 1 for exactly one of two actions.

By symmetry over orders a learner is the probability x(n, s) of playing action 1 after n rows of which action 1 lost s.
The expected regret on the pool in which action 1 loses w of T rows is linear in x. The minimax learner is therefore the
solution of a linear program, and its value is a lower bound for all learners.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from tombola._types import Floats

# Distribution of the order: (T, w, n, s) -> P(s of the first n rows are marked), for T rows with w of them marked.
Paths = Callable[[int, int, int, int], float]


def shuffled_probability(T: int, w: int, n: int, s: int) -> float:
    """Return P(s of the first n rows are marked), in random order.

    T, w: number of rows, and of marked rows.

    >>> shuffled_probability(4, 2, 2, 1)
    0.6666666666666666
    """
    return math.comb(w, s) * math.comb(T - w, n - s) / math.comb(T, n) if 0 <= n - s <= T - w else 0.0


def unshuffled_probability(T: int, w: int, n: int, s: int) -> float:
    """Return P(s of the first n rows are marked), if marked rows come first: 0 or 1.

    T, w: number of rows, and of marked rows.
    """
    return float(s == min(n, w))


def _next_loss_probability(T: int, w: int, n: int, s: int, paths: Paths) -> float:
    """Return P(action 1 loses the next row) after n rows of which it lost s."""
    here = paths(T, w, n, s)
    follow = paths(T, w, n + 1, s + 1)
    if here == 0:
        return 0.0
    return (w - s) / (T - n) if paths is shuffled_probability else min(1.0, follow / here)


def game_matrix(T: int, delay: int = 0, paths: Paths = shuffled_probability) -> tuple[Floats, Floats]:
    """Return A and b: the regret on coin pool w is A[w] x + b[w].

    Coin pool w has T rows, in each of which one of two actions loses 1; action 1 loses w of them. A strategy x has the
    probability of action 1 in each state (n, s): n rounds played, s of them lost by action 1. Shapes of A and b:
    (T + 1, T (T + 1) / 2) and (T + 1,).

    delay: of the feedback, d rounds; the first mix is played d more times, the last d mixes are not played.
    paths: distribution of the order, random by default.
    """
    places = [(n, s) for n in range(T) for s in range(n + 1)]
    A, b = np.zeros((T + 1, len(places))), np.zeros(T + 1)
    for w in range(T + 1):
        b[w] = -min(w, T - w)
        for i, (n, s) in enumerate(places):
            times = 1 + min(delay, T - 1) if n == 0 else float(n < T - delay)
            q, here = _next_loss_probability(T, w, n, s, paths), times * paths(T, w, n, s)
            A[w, i] += here * (2 * q - 1)
            b[w] += here * (1 - q)
    return A, b


def min_factor(A: Floats, b: Floats, limits: Floats) -> float:
    """Return the smallest v with regret <= v * limits on all pools for some learner.

    A, b: as returned by `game_matrix`, or some of their rows: a learner x has regrets A x + b.
    limits: a positive number per pool, as many as rows of A.
    """
    size = A.shape[1]
    found = linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.column_stack([A, -limits]),
        b_ub=-b,
        bounds=[(0.0, 1.0)] * size + [(None, None)],
        method="highs",
    )
    return float(np.asarray(found.fun, dtype=np.float64))


def minimax_regret(T: int) -> float:
    """Return the minimax regret on 0/1 losses of two actions (Cover 1965).

    It is T C(T-1, floor((T-1)/2)) / 2^T.

    T: number of rounds.

    >>> minimax_regret(8)
    1.09375
    """
    return T * math.comb(T - 1, (T - 1) // 2) / 2.0**T


def leader_strategy(T: int) -> Floats:
    """Return the probability of action 1 in every state, by follow the leader.

    Ties are 1/2. Entry n (n + 1) / 2 + s is for n rounds in which action 1 lost s times; shape (T (T + 1) / 2,).

    T: number of rounds.
    """
    return np.array([0.5 + 0.5 * np.sign(n - 2 * s) for n in range(T) for s in range(n + 1)])


def hedge_strategy(T: int) -> Floats:
    """Return the probability of action 1 in every state, by Hedge at its tuned rate.

    Entry n (n + 1) / 2 + s is for n rounds in which action 1 lost s times; shape (T (T + 1) / 2,).

    T: number of rounds.
    """
    rate = math.sqrt(8 * math.log(2) / T)
    return np.array([1 / (1 + math.exp(rate * (2 * s - n))) for n in range(T) for s in range(n + 1)])
