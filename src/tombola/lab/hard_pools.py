"""The hardest pool for a learner: all pools where that can be computed, else a search."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tombola import _validate
from tombola._play import play
from tombola._types import AnyLearner, Floats
from tombola.errors import ParameterError
from tombola.lab.exact import compositions, worst_pool
from tombola.pool import Pool

__all__ = ["HardPool", "hardest_pool"]

# Pools that a search plays all of; of more it climbs from several starts.
_MAX_POOLS = 200
# Starts of a climb.
_STARTS = 4


class HardPool(NamedTuple):
    """A pool on which a learner has a large expected regret in random order.

    regret: expected regret on `pool`.
    error: standard error of `regret`; 0 if it was computed over all orders.
    is_worst: whether it is proved that no pool of these rows has a larger expected regret.
    """

    regret: float
    error: float
    pool: Pool
    is_worst: bool


def hardest_pool(
    learner: AnyLearner,
    horizon: int,
    actions: int = 2,
    *,
    rows: Sequence[Sequence[float]] | Floats | None = None,
    delay: int = 0,
    plays: int = 200,
    seed: int = 0,
    limit: int = 500_000,
) -> HardPool:
    """Return the hardest pool of `horizon` rows for a learner.

    All orders of all pools are computed if that takes at most `limit` steps; the result is then
    certain. Otherwise pools are played in `plays` random orders, all pools if they are few, else by
    a climb that moves one row at a time. The regret of the pool found is measured again on other
    orders, because the largest of many measurements is too large.

    rows: rows that a pool may contain; None: all rows in which exactly one action has loss 1 (for
        two actions the hardest ones, docs/theory/lower.md).
    delay: rounds between a play and its feedback.

    >>> from tombola import FollowTheLeader
    >>> worst = hardest_pool(FollowTheLeader(), 4)
    >>> worst.is_worst, round(worst.regret, 4), worst.pool.losses.sum(axis=0).tolist()
    (True, 1.25, [3.0, 1.0])
    >>> hardest_pool(FollowTheLeader(), 4, delay=1).regret
    2.0
    """
    _validate.integer("hardest_pool", "horizon", horizon, least=1)
    _validate.integer("hardest_pool", "delay", delay, least=0)
    _validate.integer("hardest_pool", "plays", plays, least=2)
    table = np.eye(actions) if rows is None else np.asarray(rows, dtype=np.float64)
    try:
        regret, pool = worst_pool(learner, table, horizon, delay=delay, limit=limit)
    except ParameterError:
        return _search(learner, table, horizon, delay, plays, seed)
    return HardPool(regret, 0.0, pool, is_worst=True)


def _search(
    learner: AnyLearner, rows: Floats, horizon: int, delay: int, plays: int, seed: int
) -> HardPool:
    """Return the pool with the largest mean regret over the same orders."""
    measured: dict[tuple[int, ...], float] = {}

    def mean(counts: tuple[int, ...]) -> float:
        if counts not in measured:
            measured[counts] = float(
                _regrets(learner, rows, counts, delay, range(plays), seed).mean()
            )
        return measured[counts]

    if math.comb(horizon + len(rows) - 1, len(rows) - 1) <= _MAX_POOLS:
        best = max(compositions(horizon, len(rows)), key=mean)
    else:
        generator = np.random.default_rng(seed)
        starts = generator.multinomial(horizon, np.full(len(rows), 1 / len(rows)), size=_STARTS)
        best = max((_climb(tuple(start), mean) for start in starts.tolist()), key=mean)
    regrets = _regrets(learner, rows, best, delay, range(plays, 3 * plays), seed)
    error = float(regrets.std(ddof=1)) / math.sqrt(regrets.size)
    pool = Pool(np.repeat(rows, best, axis=0))
    return HardPool(float(regrets.mean()), error, pool, is_worst=False)


def _climb(counts: tuple[int, ...], mean: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """Return counts from which no move of one row raises the mean regret."""
    while True:
        moves = [
            tuple(count - (i == giver) + (i == taker) for i, count in enumerate(counts))
            for giver in range(len(counts))
            for taker in range(len(counts))
            if giver != taker and counts[giver]
        ]
        best = max(moves, key=mean)
        if mean(best) <= mean(counts):
            return counts
        counts = best


def _regrets(
    learner: AnyLearner,
    rows: Floats,
    counts: Sequence[int],
    delay: int,
    orders: range,
    seed: int,
) -> Floats:
    """Return the regret of each play, by expected losses, which vary less than losses."""
    pool = Pool(np.repeat(rows, counts, axis=0))
    best = float(np.asarray(pool.losses).sum(axis=0).min())
    seeds = (np.random.SeedSequence([seed, order]) for order in orders)
    traces = (play(learner, pool, delay=delay, seed=child) for child in seeds)
    return np.array([float(trace.expected_losses.sum()) for trace in traces]) - best
