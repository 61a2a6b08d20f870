"""One-sided paired tests of "L(a) <= L(b)" for rows that are a sample of rows like these.

p[a, b] is the p-value of H_ab: "the mean loss of a is at most that of b". A small value proves "b before a".
"""

import numpy as np

from tombola._types import Floats
from tombola.engine.compiler import compile_loop
from tombola.racing.bets import STRATEGY_WEIGHTS, update_wealth
from tombola.racing.elimination import State, count_row

ORDERS = 8  # e-values are averaged over this many orders fixed by a seed; more orders only reduce their noise


def pair_pvalues(losses: Floats, *, seed: int = 0) -> Floats:
    """Return the p-value of H_ab for every ordered pair, shape (k, k); 1 on the diagonal.

    Losses of 0 and 1 get the exact conditional binomial test (McNemar): of m rows on which a and b differ, a alone
    loses w, p = P(Bin(m, 1/2) >= w). Other losses get 1 / E with E a betting e-value for independent rows, because
    sign-flip and signed-rank tests are tests of symmetry and not of the mean.

    >>> pair_pvalues(np.array([[1.0, 0.0]] * 5)).tolist()
    [[1.0, 0.03125], [1.0, 1.0]]
    """
    if np.isin(losses, (0.0, 1.0)).all():
        return _binomial_pvalues(losses)
    return np.asarray(np.minimum(1.0, 1.0 / np.maximum(pair_evalues(losses, seed=seed), 1e-300)))


def _binomial_pvalues(losses: Floats) -> Floats:
    from scipy.stats import binom

    alone = losses.T @ (1.0 - losses)  # alone[a, b]: rows on which a loses and b does not
    pvalues = np.asarray(binom.sf(alone - 1.0, alone + alone.T, 0.5))
    pvalues[alone + alone.T == 0.0] = 1.0
    return pvalues


def pair_evalues(losses: Floats, *, seed: int = 0) -> Floats:
    """Return betting e-values of all H_ab for independent rows, averaged over random orders, shape (k, k)."""
    k = losses.shape[1]
    total = np.zeros((k, k))
    for order in _orders(losses.shape[0], seed):
        total += _wealth(losses[order])
    return total / ORDERS


def _orders(rows: int, seed: int) -> list["np.typing.NDArray[np.int64]"]:
    generator = np.random.default_rng(seed)
    return [generator.permutation(rows) for _ in range(ORDERS)]


def _wealth(rows: Floats) -> Floats:
    """Return the wealth of every ordered pair after these rows, each row an independent draw."""
    n, k = rows.shape
    state = _state(k, n)
    loop = compile_loop(bet_on_all_pairs, (state, rows))
    loop(state, rows)
    wealth: Floats = state.wealth.sum(axis=1).reshape(k, k)
    np.fill_diagonal(wealth, 1.0)
    return wealth


def _state(k: int, n: int) -> State:
    empty = np.zeros(k)
    return State(
        active=np.ones(k), total_loss=np.zeros(k), drop_row=empty, dropped_against=empty, wealth_at_drop=empty,
        current_wealth=empty, rows_seen=np.zeros(1),
        done=np.zeros(1), wealth=np.tile(STRATEGY_WEIGHTS, (k * k, 1)), squared_residuals=np.zeros(k * k), n_bets=np.zeros(k * k),
        settled=np.zeros((1, k)), deposit=np.zeros((1, k)), decision=empty, lead=empty, rule_values=empty,
        known_loss=empty, known_gain=empty, offset=empty, predicted_mean=empty, residual_low=np.zeros((1, k)),
        rows=float(n), population=np.inf, threshold=np.inf, margin=0.0, rule_parameter=0.0,
    )  # fmt: skip


def bet_on_all_pairs(state: State, rows: Floats) -> None:
    """Update the wealth of all ordered pairs, row by row."""
    for i in range(rows.shape[0]):
        losses, k = rows[i], rows.shape[1]
        for a in range(k):
            for b in range(k):
                if a != b:
                    update_wealth(
                        state, a * k + b, state.total_loss[a] - state.total_loss[b], losses[a] - losses[b], 0.0
                    )
        count_row(state, losses)
