"""Bounds of a mean difference from paired rows that are a sample (docs/theory/gate.md).

A gain is the loss of the old version minus that of the new one on a row, in [-1, 1]. Rows are
independent draws. For a shift s the null hypothesis H_s says: the mean gain is at most s. A wealth
that is multiplied by 1 + bet (gain - s) / (1 + s), with a bet in [0, 1] that depends on earlier
rows only, has a mean of at most 1 under H_s.

one look    bets that aim at the last row, in several random orders; the average wealth is tested
any looks   bets without an aim, in the order of the rows; the largest wealth so far is tested

The lower bound is the last shift of a fixed grid up to which every H_s is rejected. All functions
are plain NumPy, over many orders and shifts at a time.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import bdtrc, ndtr, ndtri

from tombola._types import Floats

# "1": the sample size is fixed before the first look. "any": the bound holds at every look.
Looks = Literal["1", "any"]
# Random orders of the rows whose wealth is averaged, for one look; more of them hardly add power.
_ORDERS = 8
# Bets over all orders and shifts, about ten seconds; longer tables get fewer orders.
_MAX_BETS = 400_000_000
# The goal of bets that aim at the last row is the threshold, moved up by this many standard
# deviations: the normal approximation falls a little short of its goal.
_GOAL_RESERVE = 0.1
# Largest share of the wealth that one bet may lose.
_MAX_BET = 0.99
# Wealth at which bets that aim at the last row give up: a recovery is as good as impossible.
_ABANDONED = 1e-4
# Rows between two removals of the shifts that are decided; removing costs about one row of bets.
_ROWS_PER_CHECK = 16
# Share of the level that "no row got worse" may use, unless the margin needs all of it.
_NO_LOSS_SHARE = 0.2
# Bets without an aim: initial wealth, and pseudo-rows of gain 0 of the two that estimate the mean.
_WEIGHTS = (0.5, 0.25, 0.125, 0.125)
_PRIOR_ROWS = (20.0, 200.0)
# Bets of the other two, for clear and for noisy differences, and the largest bet of all four.
_FIXED_BETS = (0.8, 0.3)
_MAX_RUNNING_BET = 0.95
# Wealth beyond this proves nothing more at any usual level.
_MAX_WEALTH = 1e100
# Distance of two shifts of the grid; around 0 the shifts are a tenth apart from each other.
_STEP = 0.001
_SMALLEST_SHIFT = 1e-6


def shift_grid(points: Sequence[float] = ()) -> Floats:
    """Return the shifts of a bound, sorted: a fixed grid in (-1, 1), and `points`.

    >>> grid = shift_grid([-0.02])
    >>> bool((np.diff(grid) > 0).all()), -0.02 in grid, 0.0 in grid, float(grid[-1])
    (True, True, True, 0.999)
    """
    coarse = np.arange(1, round(1.0 / _STEP)) * _STEP
    fine = _SMALLEST_SHIFT * 1.1 ** np.arange(math.log(_STEP / _SMALLEST_SHIFT) / math.log(1.1))
    own = [point for point in points if -1.0 < point < 1.0]
    # A point that equals one of the grid but for rounding replaces it.
    positive = np.concatenate([fine, coarse])
    grid = np.concatenate([-positive, [0.0], positive])
    near = np.isclose(grid[:, None], own, rtol=0.0, atol=1e-9).any(axis=1) if own else False
    return np.unique(np.concatenate([grid[~np.broadcast_to(near, grid.shape)], own]))


def lower_bound(
    gains: Floats,
    level: float,
    *,
    sizes: Floats | None = None,
    looks: Looks = "1",
    margin: float | None = None,
    points: Sequence[float] = (),
    binary: bool = False,
    seed: int = 0,
) -> float:
    """Return a lower bound of the mean gain; it is too high with probability at most `level`.

    gains: (n,), in [-1, 1], of independent rows; of a cluster, the sum over its rows divided by the
        largest possible size of a cluster.
    sizes: (n,), of a cluster, its size divided by the largest one; None: single rows. The bound is
        about (mean of gains) / (mean of sizes).
    looks: "1" for a number of rows that was fixed before; "any" if the rows arrive in this order,
        and the bound is looked at as often as one likes.
    margin: the bound -margin matters most; it gets the whole level if no gain is negative.
    points: shifts to test beside those of the grid.
    binary: scores are 0 or 1 by declaration, so that the mean 0 is tested by McNemar's exact test.
    seed: of the random orders, for one look.

    >>> lower_bound(np.zeros(149), 0.05, margin=0.02), lower_bound(np.zeros(148), 0.05, margin=0.02) < -0.02
    (-0.02, True)
    """
    own = points if margin is None else (*points, -margin)
    shifts = shift_grid(own)
    rejected = rejections(
        gains, shifts, level, sizes=sizes, looks=looks, margin=margin, binary=binary, seed=seed
    )
    n_rejected = len(shifts) if rejected.all() else int(np.argmin(rejected))
    return float(shifts[n_rejected - 1]) if n_rejected else -1.0


def rejections(
    gains: Floats,
    shifts: Floats,
    level: float,
    *,
    sizes: Floats | None = None,
    looks: Looks = "1",
    margin: float | None = None,
    binary: bool = False,
    seed: int = 0,
) -> Any:
    """Return for each shift whether "the mean gain is at most this" is rejected at `level`.

    Parameters as of `lower_bound`; each shift in (-1, 1) has the whole level.
    """
    n = len(gains)
    weights = np.ones(n) if sizes is None else sizes
    if looks == "any":
        return running_wealth(gains[None, :], weights[None, :], shifts)[0] >= 1.0 / level
    no_loss = (
        np.zeros(len(shifts)) if sizes is not None else _no_loss_level(n, shifts, level, margin)
    )
    levels = level - no_loss
    orders = max(1, min(_ORDERS, _MAX_BETS // (n * len(shifts))))
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(n) for _ in range(orders)])
    wealth = planned_wealth(gains[places], weights[places], shifts, levels)
    # The orders are exchangeable, so the largest average over the first 1, 2, ... orders is valid
    # too (Ramdas and Manole 2023).
    averages = np.cumsum(wealth, axis=0) / np.arange(1, orders + 1)[:, None]
    with np.errstate(divide="ignore"):
        rejected = averages.max(axis=0) >= 1.0 / levels
    if (gains >= 0.0).all():
        rejected |= no_loss > 0.0
    if binary:
        rejected[shifts == 0.0] = mcnemar_pvalue(gains) <= level
    return rejected


def mcnemar_pvalue(gains: Floats) -> float:
    """Return the exact p-value of "the mean gain is at most 0", for independent rows.

    Of m rows with a gain of 1 or below 0, w have a gain of 1: P(Bin(m, 1/2) >= w). Gains between
    the integers are rounded down, which keeps the test valid for every law on [-1, 1].

    >>> mcnemar_pvalue(np.array([1.0] * 5 + [0.0] * 4)), mcnemar_pvalue(np.zeros(3))
    (0.03125, 1.0)
    """
    better = int((gains >= 1.0).sum())
    differing = better + int((gains < 0.0).sum())
    return float(bdtrc(better - 1, differing, 0.5)) if better else 1.0


def _no_loss_level(n: int, shifts: Floats, level: float, margin: float | None) -> Floats:
    """Return the level, by shift, that is spent on rejecting if no gain is negative.

    If the mean gain is at most s < 0, a gain is negative with probability at least -s, and none of
    n is with probability at most (1 + s)^n.
    """
    cost = np.where(shifts < 0.0, (1.0 + np.minimum(shifts, 0.0)) ** n, math.inf)
    allowed = cost <= _NO_LOSS_SHARE * level
    if margin is not None and 0.0 < margin < 1.0 and (1.0 - margin) ** n <= level:
        allowed |= shifts <= -margin
    return np.where(allowed, cost, 0.0)


def planned_wealth(gains: Floats, sizes: Floats, shifts: Floats, levels: Floats) -> Floats:
    """Return the wealth after the last row of bets that aim at it, shape (orders, shifts).

    gains, sizes: (orders, n), rows in the order in which they are bet on. levels: (shifts,).

    Were the sum of the gains a Brownian motion, wealth proportional to the probability q of
    reaching the goal would be the best way to reach it by the last row. Its bet is
    phi(u) / (q sqrt(variance of the rows left)) with q = Phi(u). Bets stop at the goal.
    """
    orders, n = gains.shape
    wealth = np.ones(orders * len(shifts))
    with np.errstate(divide="ignore"):
        # A level of 0 cannot be reached: no bets.
        least = np.maximum(levels, 1e-12)
        share_of_goal = np.tile(ndtr(ndtri(least) - _GOAL_RESERVE), orders)
    shift = np.tile(shifts, orders)
    order = np.repeat(np.arange(orders), len(shifts))
    total = np.zeros(len(wealth))
    squares = np.zeros(len(wealth))
    active = np.arange(len(wealth))
    for t in range(n):
        if t % _ROWS_PER_CHECK == 0:
            open_bets = (wealth[active] * share_of_goal[active] < 1.0) & (
                wealth[active] > _ABANDONED
            )
            active = active[open_bets]
            total = total[open_bets]
            squares = squares[open_bets]
            own_shift = shift[active]
            own_order = order[active]
            own_goal = share_of_goal[active]
            own_wealth = wealth[active]
            if not len(active):
                break
        x = (gains[own_order, t] - own_shift * sizes[own_order, t]) / (1.0 + own_shift)
        q = np.minimum(own_wealth * own_goal, 1.0)
        u = ndtri(np.maximum(q, 1e-12))
        variance = (0.5 + squares) / (t + 2.0)
        bet = np.exp(-0.5 * u * u) / (
            np.maximum(q, 1e-12) * np.sqrt(2.0 * math.pi * (n - t) * variance)
        )
        bet[q >= 1.0] = 0.0
        own_wealth = own_wealth * (1.0 + np.minimum(bet, _MAX_BET) * x)
        wealth[active] = own_wealth
        residual = x - total / (t + 10.0)
        squares += residual * residual
        total += x
    return wealth.reshape(orders, len(shifts))


def running_wealth(gains: Floats, sizes: Floats, shifts: Floats) -> Floats:
    """Return the largest wealth after any number of rows, shape (orders, shifts).

    gains, sizes: (orders, n), rows in the order of arrival. The bets do not depend on n, so that a
    table that grows keeps the wealth of its first rows.
    """
    orders, n = gains.shape
    strategies = np.tile(np.array(_WEIGHTS)[:, None, None], (1, orders, len(shifts)))
    largest = np.ones((orders, len(shifts)))
    total = np.zeros((orders, len(shifts)))
    squares = np.zeros((orders, len(shifts)))
    for t in range(n):
        x = (gains[:, t, None] - shifts * sizes[:, t, None]) / (1.0 + shifts)
        variance = (0.5 + squares) / (t + 2.0)
        for j, prior in enumerate(_PRIOR_ROWS):
            # The mean of a normal law around the average gain, restricted to positive values.
            mean = total / (t + prior)
            edge = 0.5 * (mean + np.sqrt(mean * mean + 2.55 * variance / (t + prior)))
            bet = np.minimum(edge / (variance + edge * edge), _MAX_RUNNING_BET)
            strategies[j] *= 1.0 + bet * x
        for j, fixed in enumerate(_FIXED_BETS, start=len(_PRIOR_ROWS)):
            strategies[j] *= 1.0 + fixed * x
        # A lower wealth is valid too; the limit keeps products finite.
        np.minimum(strategies, _MAX_WEALTH, out=strategies)
        np.maximum(largest, strategies.sum(axis=0), out=largest)
        residual = x - total / (t + 10.0)
        squares += residual * residual
        total += x
    return largest
