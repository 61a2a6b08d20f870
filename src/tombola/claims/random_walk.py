"""The multi-scale random walk (Dekel, Ding, Koren and Peres 2014) in its given order and shuffled, as rows.

In the given order, actions can only be compared by switching between them, and regret with switches grows like
T^(2/3); shuffled, the same rows are noise like any other, and a learner that switches seldom does better than that.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tombola import instances, statistics
from tombola.comparing import compare
from tombola.learners.base import Learner
from tombola.learners.switching import BatchedExp3, FrugalUCB
from tombola.pool import Pool
from tombola.statistics import Estimate
from tombola.streams import repetitions
from tombola.types import Seed

LEARNERS: dict[str, Learner] = {"FrugalUCB": FrugalUCB(), "BatchedExp3": BatchedExp3()}
SPREAD = 0.25


def stretched(walk: Pool) -> Pool:
    """Return the walk with standard deviation 1/4 and the gap (2/T)^(1/3) / 2 between two actions, clipped to [0, 1].

    The walk of the proof has sigma = 1/(9 log2 T) to stay in [0, 1] for sure, and a gap so small that up to millions of
    rounds a few switches cost more than the worse action does; this one shows at thousands what it shows at billions.
    """
    T = walk.rows
    losses = np.array(walk.losses, dtype=np.float64)
    best = int(np.argmin(losses.sum(axis=0)))
    factor = SPREAD * 9 * math.log2(T) / math.sqrt(math.log2(T) / 2)
    wide = np.repeat(0.5 + factor * (losses[:, [1 - best]] - 0.5), 2, axis=1)
    wide[:, best] -= 0.5 * (2 / T) ** (1 / 3)
    return Pool(wide.clip(0.0, 1.0))


def measure(
    horizon: int, walks: int, *, seed: Seed, learners: Mapping[str, Learner] = LEARNERS
) -> list[dict[str, Any]]:
    """Play the learners on `walks` walks, in their given order and shuffled; one row for each play.

    >>> rows = measure(256, walks=2, seed=0)
    >>> len(rows), sorted(rows[0])
    (8, ['T', 'learner', 'order', 'play', 'regret', 'switches'])
    """
    rows = []
    for play, walk_seed in enumerate(repetitions(seed, walks)):
        pool = stretched(instances.random_walk(horizon, seed=walk_seed))
        runs = compare(pool, learners, ["given", "random"], repetitions=1, switching_price=1.0, seed=walk_seed)
        for setting, cell in runs.cells.items():
            regret = float(runs.regrets(setting.learner, setting.order)[0])
            switches = int(cell.sums[0, -1, 3])
            rows.append(
                {"T": horizon, "order": setting.order, "learner": setting.learner, "play": play}
                | {"regret": regret, "switches": switches}
            )
    return rows


def slopes(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], Estimate]:
    """Return the slope of log mean regret on log T for every learner and order, with its 95 % interval."""
    horizons = sorted({row["T"] for row in rows})
    found = {}
    for learner, order in sorted({(row["learner"], row["order"]) for row in rows}):
        mine = [row for row in rows if (row["learner"], row["order"]) == (learner, order)]
        regrets = [np.array([row["regret"] for row in mine if row["T"] == T]) for T in horizons]
        found[learner, order] = statistics.slope(np.array(horizons, dtype=np.float64), regrets)
    return found
