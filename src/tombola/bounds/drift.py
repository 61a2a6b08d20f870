"""Drift: what random order can cost beside the mean gaps of the actions played (docs/theory/transfer.md, Lemma 2)."""

import math


def drift(horizon: int, actions: int) -> float:
    """Bound how much any learner's loss in random order can exceed that of its actions' means in the whole pool.

    ((pi/2) sqrt(T) + 1.31) sqrt(ln k / 2), and (pi/4) sqrt(T) for k = 2: the rows still to come have other means than
    the pool, but not by more than this (Serfling 1974), however the actions are chosen from the past.

    >>> round(drift(10_000, 2), 1), round(drift(10_000, 10), 1)
    (78.5, 169.9)
    """
    if actions == 2:
        return math.pi / 4 * math.sqrt(horizon)
    return (math.pi / 2 * math.sqrt(horizon) + 1.31) * math.sqrt(math.log(actions) / 2)


def drift_of_counts(horizon: int, counts: list[float], spreads: list[float] | None = None) -> float:
    """Bound the drift of a learner that plays its worse actions at most so often on average: sum_a s_a sqrt(h_T n_a).

    h_T = T (H_T - 1) / (T - 1), at most ln T for T >= 5. `spreads` are the standard deviations over the pool of
    loss(a) - loss(best), at most 1 each.

    >>> round(drift_of_counts(10_000, [100.0]), 1)
    29.6
    """
    if horizon == 1:
        return 0.0
    harmonic = math.fsum(1 / t for t in range(2, horizon + 1))
    each = zip(counts, [1.0] * len(counts) if spreads is None else spreads, strict=True)
    return math.fsum(spread * math.sqrt(horizon * harmonic / (horizon - 1) * count) for count, spread in each)
