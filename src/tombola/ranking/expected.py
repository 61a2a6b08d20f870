"""Ranks by expected answers on this list, from finished runs (Theorem R2).

docs/theory/random_answers.md. "a before b" is proved by the wealth against "the expected mean loss
of b is at most that of a". All k (k - 1) ordered pairs share the level, so that every claim is
strict: equal candidates are told apart with probability at most the level.
"""

import math

import numpy as np

from tombola._types import Floats
from tombola.evidence.finished_runs import group_runs, mean_interval, pass_wealth
from tombola.racing.rules.ranks import close_transitively

# Numbers of one block of pairs in memory; 6 strategies have six times as many.
_BLOCK = 4_000_000


def passes_of(runs: Floats) -> Floats:
    """Return passes (R, rows, k) from runs (runs, rows, k), NaN where there is no run."""
    return group_runs(np.moveaxis(runs, 0, -1))


def order_in_expectation(
    passes: Floats, level: float, *, run_effects: bool = False
) -> tuple["np.typing.NDArray[np.bool_]", Floats, Floats]:
    """Return the proved order (k, k), and bounds of the expected mean losses.

    passes: losses in [0, 1], shape (R, rows, k). The order is wrong in any pair with probability at
        most `level`; each interval has this level alone. run_effects: as of `pass_wealth`.

    >>> passes = np.tile([0.0, 1.0], (2, 20, 1))
    >>> order_in_expectation(passes, 0.05)[0].tolist()
    [[False, True], [False, False]]
    """
    n_passes, rows, k = passes.shape
    pairs = np.array([(a, b) for a in range(k) for b in range(k) if a != b]).reshape(-1, 2)
    share = level / max(1, len(pairs))
    before = np.zeros((k, k), bool)
    step = max(1, _BLOCK // (n_passes * rows))
    for start in range(0, len(pairs), step):
        first, second = pairs[start : start + step].T
        differences = passes[:, :, second] - passes[:, :, first]
        wealth = pass_wealth(differences, level=share, run_effects=run_effects)
        before[first, second] = wealth.max(axis=0) >= 1.0 / share
    low, high = mean_interval(passes, level, run_effects=run_effects)
    return close_transitively(before), low, high


def pair_goal(k: int, level: float) -> float:
    """Return the wealth that proves the order of a pair: the number of ordered pairs / level."""
    return max(1, k * (k - 1)) / level if level > 0.0 else math.inf
