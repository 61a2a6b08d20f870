"""Instances: example pools from the literature, each with its source.

The given order of a pool is the adversarial one, if there is one. Shares are exact counts, so the
best action is known. The horizon is T, the number of rows; k is the number of actions.
"""

import math
from typing import Literal

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers, Seed
from tombola.errors import ParameterError
from tombola.pool import Pool

__all__ = [
    "balanced",
    "birthday",
    "correlated",
    "delay_trap",
    "gap",
    "heavy_ties",
    "hindsight",
    "littlestone",
    "mistake_tree",
    "random_walk",
    "split",
    "three_actions",
]

# Largest number of rounds of `littlestone`, whose pool has 2^rounds actions.
_MAX_LITTLESTONE_ROUNDS = 20


def birthday(horizon: int) -> Pool:
    """Return the pool on which the birthday test has linear regret in random order.

    Action 0 has the losses 1/T, 2/T, .., T/T, action 1 has 0. No loss comes twice, so a test for
    repeated losses never fires, although it soon does on i.i.d. draws (Bernasconi et al. 2025,
    Theorem 3.2).

    >>> birthday(4).losses.tolist()
    [[0.25, 0.0], [0.5, 0.0], [0.75, 0.0], [1.0, 0.0]]
    """
    T = _validate.integer("birthday", "horizon", horizon, least=1)
    return Pool(np.column_stack([np.arange(1, T + 1) / T, np.zeros(T)]))


def gap(
    horizon: int, actions: int, gap: float, *, mean: float = 0.5, best: int = -1, seed: Seed
) -> Pool:
    """Return a pool of 0/1 losses with one action better than the others by `gap`.

    The instance of the lower bounds (Auer, Cesa-Bianchi, Freund and Schapire 2002, Theorem 5.1), as
    a pool: in each column the ones are counted exactly (rounded to whole rows) and shuffled
    independently.

    gap: difference of the mean losses, from 0 to `mean`.
    mean: mean loss of all actions but the best, in [0, 1].
    best: index of the best action; -1 is the last one.

    >>> gap(100, 3, 0.2, seed=0).losses.sum(axis=0).tolist()
    [50.0, 50.0, 30.0]
    """
    T, k = _size("gap", horizon, actions)
    _validate.real("gap", "mean", mean, least=0, most=1)
    _validate.real("gap", "gap", gap, least=0, most=mean)
    if _validate.integer("gap", "best", best, least=-k) >= k:
        raise ParameterError(
            f"gap: best must be one of {k} actions, got {best}; write for example best=0."
        )
    ones = np.full(k, round(T * mean))
    ones[best] = round(T * (mean - gap))
    return Pool(_shuffled(_columns(T, ones), _generator("gap", seed)))


def split(horizon: int, share: float = 0.55) -> Pool:
    """Return alternating rows (1, 0) and (0, 1), on which the leader keeps losing.

    They alternate as long as both are left; the other rows are all alike (folklore; compare
    Shalev-Shwartz 2012, Example 2.2). While they alternate, the leader (action 0 at a tie) loses in
    every round: twice the loss of either action.

    share: share of the rows (1, 0), in [0, 1]; their number is rounded.

    >>> split(5, 0.6).losses.tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    T = _validate.integer("split", "horizon", horizon, least=1)
    first = round(T * _validate.real("split", "share", share, least=0, most=1))
    both = min(first, T - first)
    rest = 0 if first > both else 1
    return Pool(np.eye(2)[[0, 1] * both + [rest] * (T - 2 * both)])


def balanced(horizon: int, actions: int, *, seed: Seed) -> Pool:
    """Return a pool of 0/1 losses with the same total for every action.

    The total is half the number of rows, rounded down; each column is shuffled independently.
    Nothing can be learned, and all regret is noise.

    >>> balanced(10, 3, seed=0).losses.sum(axis=0).tolist()
    [5.0, 5.0, 5.0]
    """
    T, k = _size("balanced", horizon, actions)
    return Pool(_shuffled(_columns(T, np.full(k, T // 2)), _generator("balanced", seed)))


def correlated(horizon: int, actions: int, *, gap: float, seed: Seed) -> Pool:
    """Return a pool of losses that rise and fall together; the last action is best.

    It is better than the others by `gap`, in [0, 1], in every row. Full feedback shows this in one
    round; bandit feedback, which never shows a difference, has to find it in the noise of the rows.

    >>> correlated(4, 2, gap=0.25, seed=0).losses.sum(axis=0).tolist()
    [2.5, 1.5]
    """
    T, k = _size("correlated", horizon, actions)
    _validate.real("correlated", "gap", gap, least=0, most=1)
    hard = _generator("correlated", seed).permutation(np.arange(T) < T // 2).astype(np.float64)
    losses = np.repeat(gap + (1 - gap) * hard[:, None], k, axis=1)
    losses[:, -1] = (1 - gap) * hard
    return Pool(losses)


def heavy_ties(horizon: int, actions: int, *, seed: Seed) -> Pool:
    """Return losses in {0, 1/2, 1} with many ties between actions.

    Most rows are the same for all actions, and several actions are equally good. Four rows in five
    carry no information. In the others the last half of the actions (at least two) lose 0 or 1/2,
    with equal totals, and the rest lose 1/2 more on average. It shows the effect of the rule for
    ties of a learner.

    >>> pool = heavy_ties(50, 4, seed=0)
    >>> int((pool.losses.max(axis=1) == pool.losses.min(axis=1)).sum()) >= 40
    True
    """
    T, k = _size("heavy_ties", horizon, actions)
    generator = _generator("heavy_ties", seed)
    informative = T // 5
    steps = _shuffled(_columns(informative, np.full(k, informative // 2)), generator) / 2
    steps[:, : k - max(2, k // 2)] += 0.5
    same = np.repeat(generator.integers(0, 3, size=(T - informative, 1)) / 2, k, axis=1)
    return Pool(generator.permutation(np.concatenate([steps, same])))


def littlestone(rounds: int, *, seed: Seed) -> Pool:
    """Return losses of thresholds on a binary search with random labels.

    (Littlestone 1988.) Point t is the middle of the interval that the labels so far leave, its
    label a fair coin. An action is one of the 2^rounds thresholds at that resolution, a row is
    their 0/1 losses on one point. In the given order every action has, for every history, an
    expected loss of 1/2, so that every learner expects rounds/2 mistakes, while one threshold makes
    none; shuffled, following the leader expects at most 1 + 1/2 + .. + 1/rounds (VC dimension 1).

    rounds: number of rows, at most 20; there are 2^rounds actions.

    >>> pool = littlestone(3, seed=0)
    >>> pool.losses.shape, float(pool.losses.sum(axis=0).min())
    ((3, 8), 0.0)
    """
    T = _validate.integer("littlestone", "rounds", rounds, least=1)
    if T > _MAX_LITTLESTONE_ROUNDS:
        raise ParameterError(
            f"littlestone: rounds must be at most {_MAX_LITTLESTONE_ROUNDS}, for 2^rounds "
            f"actions, got {T}; "
            f"write for example rounds=10."
        )
    return Pool(mistake_tree(_generator("littlestone", seed).integers(0, 2, size=T).tolist()))


def mistake_tree(labels: list[int]) -> Floats:
    """Return the 0/1 losses of 2^n thresholds on the n points of a binary search.

    The result has shape (n, 2^n): points, thresholds. Threshold h = 0 .. 2^n - 1 predicts label 1
    on points above h, else 0, and has loss 1 where it is wrong. Point t is the middle of the
    interval of the thresholds that predict all labels before it; exactly one threshold predicts all
    n labels.

    >>> mistake_tree([1, 0]).tolist()
    [[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    """
    thresholds = np.arange(2 ** len(labels))
    low, high = 0, thresholds.size
    rows = []
    for label in labels:
        point = (low + high) // 2
        rows.append((thresholds < point) != (label == 1))
        low, high = (low, point) if label == 1 else (point, high)
    return np.array(rows, dtype=np.float64)


def random_walk(horizon: int, actions: int = 2, *, seed: Seed) -> Pool:
    """Return the multi-scale random walk, hard with switching costs.

    Dekel, Ding, Koren and Peres 2014, section 3: W(t) = W(rho(t)) + N(0, sigma^2) with rho(t) = t -
    2^delta(t), 2^delta(t) the largest power of two that divides t. All actions lose W(t) + 1/2, the
    best one (drawn at random) epsilon less, clipped to [0, 1]; sigma = 1/(9 log2 T) and epsilon =
    (k/T)^(1/3) sigma. In the given order two actions can only be compared by switching between
    them, and regret with switches is of order T^(2/3); shuffled, the walk is noise like any other.

    >>> losses = random_walk(64, seed=0).losses
    >>> float(abs(losses[:, 0] - losses[:, 1]).max().round(4))
    0.0058
    """
    T = _validate.integer("random_walk", "horizon", horizon, least=2)
    k = _validate.integer("random_walk", "actions", actions, least=2)
    generator = _generator("random_walk", seed)
    sigma = 1 / (9 * math.log2(T))
    best = generator.integers(k)
    noise = generator.normal(0.0, sigma, size=T + 1)
    walk = np.zeros(T + 1)
    for t in range(1, T + 1):
        walk[t] = walk[t & (t - 1)] + noise[t]  # t & (t - 1) drops the lowest bit: t - 2^delta(t)
    losses = np.repeat(walk[1:, None] + 0.5, k, axis=1)
    losses[:, best] -= (k / T) ** (1 / 3) * sigma
    return Pool(losses.clip(0.0, 1.0))


def delay_trap(horizon: int, delay: int, *, seed: Seed) -> Pool:
    """Return blocks of delay + 1 equal rows, (1, 0) or (0, 1) by a fair coin.

    After Weinberger and Ordentlich 2002. In the given order, with this delay d, nothing is known of a block while it
    lasts: every learner has an expected loss of T/2 and a regret of about sqrt((d + 1) T / (2 pi)).
        In random order the
    delay only adds about d to the regret. The last block may be shorter.

    >>> delay_trap(6, 2, seed=3).losses.tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    """
    T = _validate.integer("delay_trap", "horizon", horizon, least=1)
    length = _validate.integer("delay_trap", "delay", delay, least=0) + 1
    rng = _generator("delay_trap", seed).integers(0, 2, size=-(-T // length))
    return Pool(np.eye(2)[np.repeat(rng, length)[:T]])


def three_actions(horizon: int, *, seed: Seed) -> Pool:
    """Return a pool of three actions with 0/1 rewards and independent 0/1 costs.

    Mean rewards are (0, .4, .9) and mean costs (0, .2, .9), counted exactly. Action 0 is the null
    action. At a budget of .5 per row the best mix is (0, 4/7, 3/7); at .1 it is (1/2, 1/2, 0).

    >>> three_actions(10, seed=0).costs.sum(axis=0).ravel().tolist()
    [0.0, 2.0, 9.0]
    """
    T = _validate.integer("three_actions", "horizon", horizon, least=1)
    generator = _generator("three_actions", seed)
    rewards, costs = (
        _shuffled(_columns(T, np.round(T * np.array(means)).astype(np.int64)), generator)
        for means in ((0.0, 0.4, 0.9), (0.0, 0.2, 0.9))
    )
    return Pool.from_rewards(rewards, actions=["null", "cheap", "dear"], costs=costs)


def hindsight(horizon: int, then: Literal["rich", "poor"]) -> Pool:
    """Return a pool that shows why budgets need random order.

    T/2 rows are alike, then comes a rich or a poor half. After Mannor, Tsitsiklis and Yu 2009
    (there for constraints on averages). Action 0 is null; action 1 earns 1/2 at a cost of 1 in the
    first half, then, if rich, 1 at a cost of 1, if poor, 0 at a cost of 0. With a budget of T/2 the
    best fixed mix earns 3T/8 if rich (play half of the time), T/4 if poor (play always). In the
    given order a learner that spends s in the first half earns at most T/2 - s/2 if rich and s/2 if
    poor, so it has a regret of at least (s - T/4)/2 in the one case and (T/2 - s)/2 in the other:
    T/16 in one of them, for every learner. Shuffled, the same rows are easy.

    >>> hindsight(4, "rich").costs[:, 1, 0].tolist(), hindsight(4, "poor").costs[:, 1, 0].tolist()
    ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    """
    T = _validate.integer("hindsight", "horizon", horizon, least=2)
    if then not in ("rich", "poor"):
        raise ParameterError(
            f"hindsight: then must be 'rich' or 'poor', got {then!r}; write then='rich'."
        )
    rewards = np.zeros((T, 2))
    costs = np.zeros((T, 2))
    rewards[: T // 2, 1] = 0.5
    costs[: T // 2, 1] = 1.0
    rewards[T // 2 :, 1] = costs[T // 2 :, 1] = 1.0 if then == "rich" else 0.0
    return Pool.from_rewards(rewards, actions=["null", "play"], costs=costs)


def _size(owner: str, horizon: int, actions: int) -> tuple[int, int]:
    return _validate.integer(owner, "horizon", horizon, least=1), _validate.integer(
        owner, "actions", actions, least=1
    )


def _generator(owner: str, seed: Seed) -> np.random.Generator:
    return np.random.default_rng(_validate.seed_sequence(owner, seed))


def _columns(rows: int, ones: Integers) -> Floats:
    """Return columns of 0/1 losses with these numbers of ones, first."""
    return (np.arange(rows)[:, None] < ones).astype(np.float64)


def _shuffled(columns: Floats, generator: np.random.Generator) -> Floats:
    """Return every column shuffled on its own."""
    return generator.permuted(columns, axis=0)
