"""Opponents: the mean of several candidates to bet against (docs/theory/race.md, section 2).

The leader is noisy, and in the first rows random. The opponent of candidate b is therefore the mean
of the best h others. h is the number with the largest ratio of the lead of this mean over b to the
standard deviation of the difference: a bet on it grows fastest. Both come from past rows only: from
the totals, and from a matrix of sums of products of losses.
"""

from typing import Any

from tombola._types import Floats
from tombola.engine.intrinsics import no_inline
from tombola.racing.rules.bets import bet_at_variance

# Largest number of candidates for which products are kept: a row takes k^2 / 2 multiplications.
MOST_CANDIDATES = 256
# Variance, in a pseudo-row, of the difference of two candidates. That of a mean of h has
# (1 + 1 / h) / 2 of it.
_PRIOR_VARIANCE = 0.25


@no_inline
def rank_candidates(ranked: Any, active: Floats, total_loss: Floats, count: int) -> None:
    """Write the best active candidates by total loss into `ranked`, at most `count`; a kernel.

    The places behind the last one are -1. `ranked` is None where every candidate has a single
    opponent, and Numba leaves out the body.
    """
    if ranked is None:
        return
    size = 0
    for i in range(ranked.size):
        ranked[i] = -1.0
    for a in range(total_loss.size):
        if active[a] > 0.0:
            place = size
            while place > 0 and total_loss[a] < total_loss[int(ranked[place - 1])]:
                place -= 1
            if place < count:
                if size < count:
                    size += 1
                for i in range(size - 1, place, -1):
                    ranked[i] = ranked[i - 1]
                ranked[place] = a


@no_inline
def count_opponents(
    opponents: Floats,
    total_loss: Floats,
    products: Floats,
    n: float,
    b: int,
    most: int,
    pseudo_rows: float,
    factor: float,
) -> tuple[int, float]:
    """Return how many of `opponents` candidate b bets against, and the variance of that; a kernel.

    The opponents are numbered from the best on, and end with -1. The variance is that of the loss
    of b minus the mean loss of its opponents, over the n rows so far and `pseudo_rows`. A larger
    mean is taken if its ratio is larger by `factor`.
    """
    chosen = 1
    least = _PRIOR_VARIANCE
    largest = 0.0
    total = 0.0
    cross = 0.0
    square = 0.0
    for h in range(1, most + 1):
        o = int(opponents[h - 1])
        if o < 0:
            break
        total += total_loss[o]
        cross += products[b, o]
        square += products[o, o]
        for i in range(h - 1):
            square += 2.0 * products[int(opponents[i]), o]
        lead = total_loss[b] - total / h
        spread = products[b, b] - 2.0 * cross / h + square / (h * h)
        if n > 0.0:
            spread -= lead * lead / n
        prior = pseudo_rows * _PRIOR_VARIANCE * (1.0 + 1.0 / h) / 2.0
        variance = (spread + prior) / (n + pseudo_rows)
        ratio = max(lead, 0.0) ** 2 / variance
        if h == 1 or ratio > largest * factor:
            chosen = h
            largest = ratio
            least = variance
    return chosen, least


def mean_opponent(opponents: Floats, values: Floats, count: int) -> float:
    """Return the mean of `values` over the first `count` of `opponents`; a kernel."""
    amount = 0.0
    for i in range(count):
        amount += values[int(opponents[i])]
    return amount / count


def bet_against_mean(
    state: Any,
    products: Floats,
    losses: Floats,
    bettor: int,
    b: int,
    most: int,
    pseudo_rows: float,
    factor: float,
) -> float:
    """Bet on one row that candidate b is worse than a mean of `state.opponents`; return the wealth.

    A kernel. The other parameters are those of `count_opponents`.
    """
    opponents = state.opponents
    count, variance = count_opponents(
        opponents, state.total_loss, products, state.rows_seen[0], b, most, pseudo_rows, factor
    )
    lead = state.total_loss[b] - mean_opponent(opponents, state.total_loss, count)
    d = losses[b] - mean_opponent(opponents, losses, count)
    return bet_at_variance(state, bettor, lead, d, 0.0, variance)


@no_inline
def add_products(products: Any, active: Floats, losses: Floats) -> None:
    """Add the products of the losses of a row, for active candidates; a kernel.

    Sums of dropped candidates stay as they are, and are not read any more. `products` is None where
    every candidate has a single opponent, and Numba leaves out the body.
    """
    if products is None:
        return
    for a in range(losses.size):
        if active[a] > 0.0 and losses[a] != 0.0:
            for b in range(a + 1):
                if active[b] > 0.0:
                    products[a, b] += losses[a] * losses[b]
                    products[b, a] = products[a, b]
