"""Bets on one pair of candidates, with one strategy for the last row.

On a list every pair without a tie is certain after the last row. Rows that are a sample never make
a pair certain: it counts only if the wealth reaches the threshold by the last row. `bet_on_pair`
therefore gives HORIZON_SHARE of the wealth to a strategy with that goal. Were the sum of the
differences a Brownian motion with variance v per row, the probability q of ending above a goal
would be a martingale under equal means, and wealth proportional to q the best way to reach 1 / q(0)
by the last row. With q = Phi(u), its bet is phi(u) / Phi(u) / sqrt((N - n) v). Here q is the wealth
as a share of its goal, so that the bet recovers from changes of the estimated v. A bet in [0, 1)
that depends on past rows only keeps the wealth an e-process for every law of the rows: the
approximation affects power, not validity.
"""

import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from tombola._types import Floats
from tombola.racing.rules.bets import STRATEGY_WEIGHTS, update_wealth

# Initial wealth of the strategy that aims at the last row; the other half of the wealth can decide
# earlier.
_HORIZON_SHARE = 0.5
# The goal of this strategy is the threshold, moved up by this many standard deviations: the normal
# approximation falls a little short of its goal.
_GOAL_RESERVE = 0.4
# Largest bet towards the last row: above the one of other strategies, because pairs with small
# differences need it.
_MAX_BET = 0.99
# Wealth at which the bets towards the last row alone give up: a recovery is as good as impossible,
# and costs time.
_ABANDONED = 1e-4
# Least share of the goal for which the normal quantile is computed; below it the quantile of this
# share is used.
_MIN_SHARE = 1e-12


def pair_weights(population: float, horizon_share: float = _HORIZON_SHARE) -> Floats:
    """Return the initial wealth of a bettor by strategy; sums to 1.

    There are 4 strategies on a list, those of `update_wealth` in the same order, and 5 for rows
    that are a sample (infinite population): the fifth aims at the last row, with wealth
    `horizon_share`.

    >>> pair_weights(100).size, pair_weights(math.inf).tolist()
    (4, [0.25, 0.125, 0.0625, 0.0625, 0.5])
    """
    if population != math.inf:
        return STRATEGY_WEIGHTS
    return np.append((1.0 - horizon_share) * STRATEGY_WEIGHTS, horizon_share)


def share_of_goal(
    threshold: float, horizon_share: float = _HORIZON_SHARE, reserve: float = _GOAL_RESERVE
) -> float:
    """Return 1 / goal, in (0, 1), of the strategy that aims at the last row.

    `horizon_share` is its initial wealth. It stops betting at the goal: the threshold that decides
    a pair, moved up by `reserve` standard deviations of the normal approximation of the wealth.

    >>> round(1.0 / share_of_goal(20.0, 1.0), 1)
    48.9
    """
    return float(ndtr(ndtri(1.0 / threshold) - reserve)) / horizon_share


def bet_on_pair(state: Any, bettor: int, lead: float, d: float) -> float:
    """Bet on one row against "the mean of d is at most 0"; return the wealth.

    A kernel. d is the loss of one candidate minus that of the other; `lead` is the sum of d before
    this row, `bettor` the row of `state.wealth`. It includes the strategy that aims at the last
    row, if the rows are a sample.
    """
    wealth = state.wealth[bettor]
    if wealth.size > STRATEGY_WEIGHTS.size:
        variance = (0.5 + state.squared_residuals[bettor]) / (state.n_bets[bettor] + 2.0)
        share = wealth[STRATEGY_WEIGHTS.size] * state.goal_share
        wealth[STRATEGY_WEIGHTS.size] *= (
            1.0 + _horizon_bet(share, (state.rows - state.rows_seen[0]) * variance) * d
        )
    return float(update_wealth(state, bettor, lead, d, 0.0))


def bet_on_goal(state: Any, bettor: int, lead: float, d: float) -> None:
    """Bet on one row with only the strategy that aims at the last row.

    Parameters as of `bet_on_pair`. Nothing is done once its wealth has reached the goal
    (`share_of_goal`) or has fallen to almost 0.
    """
    wealth = state.wealth[bettor]
    share = wealth[STRATEGY_WEIGHTS.size] * state.goal_share
    if share < 1.0 and wealth[STRATEGY_WEIGHTS.size] > _ABANDONED:
        n = state.n_bets[bettor]
        variance = (0.5 + state.squared_residuals[bettor]) / (n + 2.0)
        wealth[STRATEGY_WEIGHTS.size] *= 1.0 + _horizon_bet(share, (state.rows - n) * variance) * d
        residual = d - lead / (n + 10.0)
        state.squared_residuals[bettor] += residual * residual
        state.n_bets[bettor] = n + 1.0


def _horizon_bet(share: float, variance_left: float) -> float:
    """Return the bet of the strategy that aims at the last row, in [0, 0.99].

    share: its wealth as a share of its goal; variance_left: of the sum of differences over the rows
        left.

    >>> _horizon_bet(1.0, 50.0), round(_horizon_bet(0.5, 50.0), 4), _horizon_bet(1e-9, 50.0) < _horizon_bet(1e-9, 40.0)
    (0.0, 0.1128, True)
    """
    if share >= 1.0 or variance_left <= 0.0:
        return 0.0
    return min(
        _isoperimetric(max(share, _MIN_SHARE))
        / (max(share, _MIN_SHARE) * math.sqrt(variance_left)),
        _MAX_BET,
    )


def _isoperimetric(q: float) -> float:
    """Return phi(Phi^-1(q)): the normal density at the q-quantile, 0 < q < 1.

    The quantile is the approximation of Abramowitz and Stegun 26.2.23.

    >>> round(_isoperimetric(0.5), 4), round(_isoperimetric(0.001), 4)
    (0.3989, 0.0034)
    """
    t = math.sqrt(-2.0 * math.log(min(q, 1.0 - q)))
    u = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (
        1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    )
    return math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
