"""One-sided paired tests of "L(a) <= L(b)" for rows that are a sample.

p[a, b] is the p-value of H_ab: "the mean loss of a is at most that of b". A small value proves "b
before a".
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.rules.base import Elimination, OpenQuestion
from tombola.racing.rules.elimination import count_row
from tombola.racing.rules.pair_bets import bet_on_goal, pair_weights, share_of_goal
from tombola.racing.rules.ranks import n_pairs

_ORDERS = 16  # random orders of the rows; more of them hardly add power
# bets over all orders, about ten seconds; larger tables get fewer orders, at least one
_MAX_BETS = 500_000_000
_GOAL_RESERVE = (
    0.1  # less than in a race: a row of orders that all just reach the threshold is enough
)


def pair_pvalues(
    losses: Floats, *, level: float = 0.05, seed: int = 0, binary: bool | None = None
) -> Floats:
    """Return the p-value of H_ab for every ordered pair, shape (k, k).

    losses: shape (rows, k). H_ab is "the mean loss of a is at most that of b"; rows are
        independent. The diagonal is 1.
    level: the bets aim at it, for all pairs together; p-values are valid at any level.
    seed: of the random orders of the rows; it must not be chosen by the result.
    binary: True: losses are 0 or 1, and get the exact conditional binomial test (McNemar): of m
        rows on which a and b differ, a alone loses w, p = P(Bin(m, 1/2) >= w). False: they get
        betting e-values in random orders of the rows, because sign-flip and signed-rank tests are
        tests of symmetry and not of the mean. None: nothing was declared; the losses choose the
        test, and p is twice its p-value. A choice without the factor could exceed the level
        (docs/theory/ranks.md).

    >>> pair_pvalues(np.array([[1.0, 0.0]] * 5), binary=True).tolist()
    [[1.0, 0.03125], [1.0, 1.0]]
    >>> pair_pvalues(np.array([[1.0, 0.0]] * 5)).tolist()
    [[1.0, 0.0625], [1.0, 1.0]]
    """
    if binary is None:
        is_binary = bool(np.isin(losses, (0.0, 1.0)).all())
        chosen = pair_pvalues(losses, level=level / 2.0, seed=seed, binary=is_binary)
        return np.minimum(2.0 * chosen, 1.0)
    if binary:
        return _binomial_pvalues(losses)
    n, k = losses.shape
    # The number of orders is fixed by the shape of the table, so it does not depend on the losses.
    orders = max(1, min(_ORDERS, _MAX_BETS // (k * k * n)))
    rng = np.random.default_rng(seed)
    return _betting_pvalues(losses, [rng.permutation(n) for _ in range(orders)], level=level)


def _binomial_pvalues(losses: Floats) -> Floats:
    from scipy.stats import binom

    alone = losses.T @ (1.0 - losses)  # alone[a, b]: rows on which a loses and b does not
    behind = alone.T
    pvalues = np.asarray(binom.sf(alone - 1.0, alone + behind, 0.5))
    pvalues[alone + behind == 0.0] = 1.0
    return pvalues


def _betting_pvalues(losses: Floats, orders: Sequence[Any], *, level: float = 0.05) -> Floats:
    """Return p-values of all H_ab from bets in several random orders of the rows.

    The e-values of independent random orders are exchangeable, so the largest of the averages over
    the first 1, 2, ... orders reaches 1 / p with probability at most p (Ramdas and Manole 2023).
    """
    n, k = losses.shape
    rule = _AllPairs(k, n, math.inf, level)
    total = np.zeros((k, k))
    largest = np.ones((k, k))
    for count, order in enumerate(orders, start=1):
        rule.play(losses, np.asarray(order, np.uint32))
        total += rule.evalues()
        np.maximum(largest, total / count, out=largest)
    return np.asarray(1.0 / largest)


class _AllPairs(Elimination):
    """Bet on every ordered pair to the last row; no candidate is ever dropped."""

    def init(self) -> Any:
        k = self.candidates
        share = share_of_goal(n_pairs(self.candidates) / self.level, 1.0, _GOAL_RESERVE)
        # Only the wealth after the last row counts.
        weights = pair_weights(self.population, horizon_share=1.0)
        return self.initial_state(
            bettors=k * k, threshold=math.inf, weights=weights, goal_share=share
        )

    def open_questions(self) -> list[OpenQuestion]:
        return []

    def evalues(self) -> Floats:
        """Return the wealth against H_ab after `play`, shape (k, k); 1 on the diagonal."""
        wealth: Floats = self.state.wealth.sum(axis=1).reshape(self.candidates, self.candidates)
        np.fill_diagonal(wealth, 1.0)
        return wealth

    @staticmethod
    def step(state: Any, losses: Floats) -> None:
        k = losses.size
        for a in range(k):
            for b in range(k):
                if a != b:
                    bet_on_goal(
                        state,
                        a * k + b,
                        state.total_loss[a] - state.total_loss[b],
                        losses[a] - losses[b],
                    )
        count_row(state, losses)
