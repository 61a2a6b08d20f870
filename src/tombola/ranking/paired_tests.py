"""One-sided paired tests of "L(a) <= L(b)" for rows that are a sample.

p[a, b] is the p-value of H_ab: "the mean loss of a is at most that of b". A small value proves "b before a".
"""

import math

import numpy as np

from tombola._types import Floats
from tombola.racing.elimination import Elimination, EliminationState, OpenQuestion, count_row
from tombola.racing.pair_bets import bet_on_goal, pair_weights, share_of_goal
from tombola.racing.ranks import n_pairs

_ORDERS = 8  # random orders of the rows over which e-values are averaged; more orders only reduce their noise
_MAX_BETS = 500_000_000  # bets over all orders, about ten seconds; larger tables get fewer orders, at least one


def pair_pvalues(losses: Floats, *, level: float = 0.05, seed: int = 0) -> Floats:
    """Return the p-value of H_ab for every ordered pair, shape (k, k).

    H_ab is "the mean loss of a is at most that of b"; rows are independent. The diagonal is 1.

    Losses of 0 and 1 get the exact conditional binomial test (McNemar): of m rows on which a and b differ, a alone
    loses w, p = P(Bin(m, 1/2) >= w). Other losses get 1 / E with E a betting e-value for independent rows, because
    sign-flip and signed-rank tests are tests of symmetry and not of the mean.

    losses: in [0, 1], shape (rows, k).
    level: error probability of all pairs together, at which the bets aim; p-values are valid at any level.
    seed: of the orders in which rows are bet on.

    >>> pair_pvalues(np.array([[1.0, 0.0]] * 5)).tolist()
    [[1.0, 0.03125], [1.0, 1.0]]
    """
    if np.isin(losses, (0.0, 1.0)).all():
        return _binomial_pvalues(losses)
    return np.asarray(np.minimum(1.0, 1.0 / np.maximum(_pair_evalues(losses, level=level, seed=seed), 1e-300)))


def _binomial_pvalues(losses: Floats) -> Floats:
    from scipy.stats import binom

    alone = losses.T @ (1.0 - losses)  # alone[a, b]: rows on which a loses and b does not
    pvalues = np.asarray(binom.sf(alone - 1.0, alone + alone.T, 0.5))
    pvalues[alone + alone.T == 0.0] = 1.0
    return pvalues


def _pair_evalues(losses: Floats, *, level: float = 0.05, seed: int = 0) -> Floats:
    """Return betting e-values of all H_ab, shape (k, k); 1 on the diagonal.

    H_ab is "the mean loss of a is at most that of b". Under it an e-value has mean at most 1, so large ones refute it.
    Rows are independent; e-values are averaged over random orders.

    losses: in [0, 1], shape (rows, k).
    level: the bets aim at rejecting at level / number of pairs; the e-values are valid at any level.
    seed: of the random orders.
    """
    n, k = losses.shape
    generator, rule, total = np.random.default_rng(seed), _AllPairs(k, n, math.inf, level), np.zeros((k, k))
    # Fixed by the shape of the table, so the average stays an e-value.
    orders = max(1, min(_ORDERS, _MAX_BETS // (k * k * n)))
    for _ in range(orders):
        rule.play(losses, generator.permutation(n).astype(np.uint32))
        total += rule.evalues()
    return np.asarray(total / orders)


class _AllPairs(Elimination):
    """Bet on every ordered pair to the last row; no candidate is ever dropped.

    Built as every `Elimination`, with an infinite population. After `play`, `evalues` has the result.
    """

    def init(self) -> EliminationState:
        k, share = self.candidates, share_of_goal(n_pairs(self.candidates) / self.level, horizon_share=1.0)
        state = self.initial_state(bettors=k * k, threshold=math.inf, margin=share)
        # Only the wealth after the last row counts.
        return state._replace(wealth=np.tile(pair_weights(self.population, horizon_share=1.0), (k * k, 1)))

    def open_questions(self) -> list[OpenQuestion]:
        return []

    def evalues(self) -> Floats:
        """Return the wealth against H_ab, shape (k, k); 1 on the diagonal.

        H_ab is "the mean loss of a is at most that of b".
        """
        wealth: Floats = self.state.wealth.sum(axis=1).reshape(self.candidates, self.candidates)
        np.fill_diagonal(wealth, 1.0)
        return wealth

    @staticmethod
    def step(state: EliminationState, losses: Floats) -> None:
        k = losses.size
        for a in range(k):
            for b in range(k):
                if a != b:
                    bet_on_goal(state, a * k + b, state.total_loss[a] - state.total_loss[b], losses[a] - losses[b])
        count_row(state, losses)
