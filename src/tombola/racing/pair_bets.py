"""Bets on one pair of candidates: the strategies of a race, and one that aims at the last row.

On a list every pair without a tie is certain after the last row. Rows that are a sample never make a pair certain: it
counts only if the wealth reaches the threshold by the last row. `bet_on_pair` therefore gives HORIZON_SHARE of the
wealth to a strategy with that goal. Were the sum S of the differences a Brownian motion with variance v per row,
P(S_N >= goal | S_n) = Phi((S_n - goal) / sqrt((N - n) v)) would be a martingale under equal means, worth 1 / P(S_N >=
goal) times its start in the best case. Its relative derivative by S is the bet. A bet in [0, 1) that depends on past rows
only keeps the wealth an e-process for every law of the rows, so the approximation affects power and not validity.
"""

import math
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.bets import MAX_LOSS_SHARE, STRATEGY_WEIGHTS, update_wealth

# Share of the wealth for the strategy that aims at the last row.
HORIZON_SHARE = 0.5
# Below this the quotient phi / Phi is replaced by its asymptotic series, before Phi underflows.
FAR_TAIL = -8.0


def pair_weights(population: float) -> Floats:
    """Return the initial wealth by strategy: 4 strategies on a list, 5 for rows that are a sample.

    >>> pair_weights(100).size, pair_weights(math.inf).tolist()
    (4, [0.25, 0.125, 0.0625, 0.0625, 0.5])
    """
    if population != math.inf:
        return STRATEGY_WEIGHTS
    return np.append((1.0 - HORIZON_SHARE) * STRATEGY_WEIGHTS, HORIZON_SHARE)


def bet_on_pair(state: Any, bettor: int, lead: float, d: float) -> float:
    """Update one bettor against "the mean of d is at most 0", and return its total wealth.

    `lead` is the sum of the differences before this row.
    """
    wealth = state.wealth[bettor]
    if wealth.size > STRATEGY_WEIGHTS.size:
        variance = (0.5 + state.squared_residuals[bettor]) / (state.n_bets[bettor] + 2.0)
        wealth[STRATEGY_WEIGHTS.size] *= (
            1.0 + horizon_bet(lead, state.rows_seen[0], state.rows, variance, state.threshold) * d
        )
    return float(update_wealth(state, bettor, lead, d, 0.0))


def horizon_bet(lead: float, n: float, rows: float, variance: float, threshold: float) -> float:
    """Return the bet of row n + 1 that aims at the threshold by the last row.

    The goal is sqrt(2 ln(threshold)) standard deviations of the sum of all rows. That is further out than the quantile
    1 / threshold of the normal law, which leaves a reserve for the other strategies and for the approximation.
    """
    if n >= rows:
        return 0.0
    deviation = math.sqrt((rows - n) * variance)
    goal = math.sqrt(2.0 * math.log(threshold) * rows * variance)
    return min(normal_hazard((lead - goal) / deviation) / deviation, MAX_LOSS_SHARE)


def normal_hazard(u: float) -> float:
    """Return phi(u) / Phi(u), density over distribution function of the normal law.

    >>> round(normal_hazard(0.0), 4), round(normal_hazard(-9.0), 2)
    (0.7979, 9.11)
    """
    if u < FAR_TAIL:
        return -u - 1.0 / u
    return math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi) / (0.5 * math.erfc(-u / math.sqrt(2.0)))
