"""Pools with costs that show something, each with its source."""

from typing import Literal

import numpy as np

from tombola import validate
from tombola.errors import ParameterError
from tombola.pool import Pool
from tombola.types import Floats, Seed


def three_actions(horizon: int, *, seed: Seed) -> Pool:
    """Return 0/1 rewards of mean (0, .4, .9) and independent 0/1 costs of mean (0, .2, .9), counted exactly.

    Action 0 is the null action. At a rate of .5 the best mix is (0, 4/7, 3/7); at .1 it is (1/2, 1/2, 0).

    >>> three_actions(10, seed=0).costs.sum(axis=0).ravel().tolist()
    [0.0, 2.0, 9.0]
    """
    T = validate.whole("three_actions", "horizon", horizon, least=1)
    rng = np.random.default_rng(validate.seed_sequence("three_actions", seed))
    rewards, costs = (_columns(T, means, rng) for means in ((0.0, 0.4, 0.9), (0.0, 0.2, 0.9)))
    return Pool.from_rewards(rewards, actions=["null", "cheap", "dear"], costs=costs)


def hindsight(horizon: int, then: Literal["rich", "poor"]) -> Pool:
    """Return the pool that shows why budgets need random order: T/2 rows alike, then a rich or a poor half.

    After Mannor, Tsitsiklis and Yu 2009 (there for constraints on averages). Action 0 is null; action 1 earns 1/2 at
    a cost of 1 in the first half, then, if rich, 1 at a cost of 1, if poor, 0 at a cost of 0. With a budget of T/2
    the best fixed mix earns 3T/8 if rich (play half of the time), T/4 if poor (play always). In the given order a
    learner that spends s in the first half earns at most T/2 - s/2 if rich and s/2 if poor, so it has a regret of at
    least (s - T/4)/2 in the one case and (T/2 - s)/2 in the other: T/16 in one of them, whatever it does. Shuffled,
    the same rows are easy.

    >>> hindsight(4, "rich").costs[:, 1, 0].tolist(), hindsight(4, "poor").costs[:, 1, 0].tolist()
    ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    """
    T = validate.whole("hindsight", "horizon", horizon, least=2)
    if then not in ("rich", "poor"):
        raise ParameterError(f"hindsight: then must be 'rich' or 'poor', got {then!r}; write then='rich'.")
    rewards, costs = np.zeros((T, 2)), np.zeros((T, 2))
    rewards[: T // 2, 1], costs[: T // 2, 1] = 0.5, 1.0
    rewards[T // 2 :, 1] = costs[T // 2 :, 1] = 1.0 if then == "rich" else 0.0
    return Pool.from_rewards(rewards, actions=["null", "play"], costs=costs)


def _columns(rows: int, means: tuple[float, ...], rng: np.random.Generator) -> Floats:
    """Return columns of zeros and ones with these shares of ones, each shuffled on its own."""
    ones = np.round(rows * np.array(means))
    return rng.permuted((np.arange(rows)[:, None] < ones).astype(np.float64), axis=0)
