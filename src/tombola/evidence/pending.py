"""Interval of a mean while some outcomes are pending, with every outcome that has arrived.

Outcomes may be late because of their value, so that neither skipping the pending ones nor guessing
them is valid. Filling them in with their worst value is, if the evidence never falls when a value
rises. Wealth with constant bets is such evidence (docs/theory/confidence.md, Theorem P):

    m_t = (N mu - x_1 - ... - x_{t-1}) / (N - t + 1),   bet_t = min(bet, 0.9 / m_t),
    W_n(mu) = mean over the bets of prod_{t <= n} (1 + bet_t (x_t - m_t)).

If the mean of the list is at most mu, W reaches 1 / level with probability at most `level`, and W
rises with every x_t. For the lower end pending losses become 0, for the upper end 1. The bets of
other sequences of this folder adapt to the data: filled-in values would move them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.evidence.base import Interval
from tombola.evidence.certificate import Certificate

# Bets whose wealth is averaged: from one that needs thousands of rows to one for ten.
_BETS = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2])
# Largest share of the wealth that a row can lose; below 1, so that no wealth is 0.
_MAX_SHARE = 0.9
# Slack of a sum of losses, per row of the list, before a mean counts as impossible.
_SLACK = 1e-9
# Share of the level of a certificate for intervals with pending outcomes. The other intervals are
# three per cent wider for it.
_PENDING_SHARE = 0.2
# Halvings of the interval of candidate means.
_BISECTIONS = 40


def pending_interval(losses: Any, *, population: float, level: float = 0.05) -> Interval:
    """Return the interval of the mean loss of an action, of which some outcomes are pending.

    It holds at all times simultaneously with probability 1 - level, whatever decides which outcomes
    are late, also their own values. The action must be chosen before the row or its features are
    seen. Raises ParameterError for losses outside of [0, 1], and for more losses than rows.

    losses: of the rows on which the action was played, in the order of play; NaN where pending.
    population: number of rows of the list, or math.inf if rows come back.
    level: probability that the interval is wrong at any time.

    >>> losses = np.tile([0.0, 1.0], 100)
    >>> losses[::10] = math.nan
    >>> low, high = pending_interval(losses, population=400)
    >>> round(low, 2), round(high, 2)
    (0.42, 0.68)
    """
    values = np.asarray(losses, np.float64).ravel()
    _validate.real("pending_interval", "level", level, above=0, below=1)
    pending = np.isnan(values)
    known = values[~pending]
    if not ((known >= 0) & (known <= 1)).all() or values.size > population:
        raise ParameterError(
            "pending_interval: expected losses in [0, 1], NaN where pending, at most one per row "
            f"of {population:g}, got {values.size} from {known.min(initial=0.0):g} to "
            f"{known.max(initial=0.0):g}; give the losses of one action in the order of play."
        )
    low = lower_bound(np.where(pending, 0.0, values), population, level / 2.0)
    high = 1.0 - lower_bound(np.where(pending, 0.0, 1.0 - values), population, level / 2.0)
    return Interval(low, high)


def narrowed_by_pending(
    certificate: Certificate, plays: Sequence[Any], level: float
) -> Certificate:
    """Return a certificate whose intervals use every outcome that has arrived.

    Each interval is cut by that of `pending_interval`, if an outcome of the action is pending. The
    certificate must have been computed at `betting_level(level)`: the intervals of this function
    have the rest.

    plays: losses of each action in the order of play, NaN where pending.
    level: error probability of the result.

    >>> from tombola.evidence import certify_plays
    >>> before = certify_plays([], [], actions=1, population=640, level=betting_level(0.05))
    >>> losses = np.append(math.nan, np.tile([0.0, 1.0], 150))
    >>> low, high = narrowed_by_pending(before, [losses], 0.05).interval(0)
    >>> round(low, 2), round(high, 2)
    (0.42, 0.58)
    """
    lows = certificate.lows.copy()
    highs = certificate.highs.copy()
    share = _PENDING_SHARE * level / len(plays)
    for action, losses in enumerate(plays):
        if np.isnan(losses).any():
            low, high = pending_interval(losses, population=certificate.population, level=share)
            # Not empty, even if one of the two has missed the mean.
            lows[action], highs[action] = np.clip([lows[action], highs[action]], low, high)
    return replace(certificate, lows=lows, highs=highs, level=level)


def betting_level(level: float) -> float:
    """Return the part of the level for intervals that stop at the first pending outcome."""
    return (1.0 - _PENDING_SHARE) * level


def lower_bound(values: Floats, population: float, level: float) -> float:
    """Return a lower confidence bound for the mean of a list, at all times.

    values: in the order of play, in [0, 1]; pending ones are 0.
    """
    threshold = math.log(1.0 / level)
    # The mean is at least what has arrived, divided by the length of the list.
    low = float(values.sum()) / population
    if _log_wealth(values, population, low) < threshold:
        return low
    # The last rejected mean is the bound; wealth falls as the mean rises.
    high = 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if _log_wealth(values, population, middle) >= threshold:
            low = middle
        else:
            high = middle
    return low


def _log_wealth(values: Floats, population: float, mean: float) -> float:
    """Return the largest logarithm of the wealth against "the mean is at most `mean`"."""
    if values.size == 0:
        return 0.0
    rows = np.arange(values.size)
    if math.isinf(population):
        means = np.full(values.size, mean)
    else:
        left = population * mean - np.append(0.0, np.cumsum(values)[:-1])
        if (left < -_SLACK * population).any():
            return math.inf  # the values seen sum up to more than such a list has
        # Above 1 the bet would lose for sure; to leave it out would break the order.
        means = np.clip(left / (population - rows), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        bets = np.minimum(_BETS[:, None], _MAX_SHARE / means)
    logs = np.cumsum(np.log1p(bets * (values - means)), axis=1)
    largest = logs.max(axis=0)
    mixed = largest + np.log(np.exp(logs - largest).mean(axis=0))
    return float(mixed.max())
