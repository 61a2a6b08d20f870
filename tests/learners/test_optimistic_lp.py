"""OptimisticLP's theorem: its radius exactly, its event over whole plays, its bound; each with what must be caught."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from tombola import Pool, instances, play
from tombola._types import Floats
from tombola.bounds import optimistic_lp
from tombola.bounds.budget import optimistic_log
from tombola.budget.budget import Budget, BudgetTerms
from tombola.learners import OptimisticLP
from tombola.learners.budgeted.optimistic_lp import lower_confidence_bounds
from tombola.paper.claims.constraints import AlwaysPlay
from tombola.trace import Trace

Low = Callable[[Floats, Floats, float], Floats]


def too_low(means: Floats, counts: Floats, log: float) -> Floats:
    """The radius divided by two: what must be caught."""
    return lower_confidence_bounds(means, counts, log / 4)


def worst_excess(low: Low) -> float:
    """Return the largest P(low > mean) e^log, exactly, over all 0/1 columns of 2, 7 and 24 rows and all counts."""
    worst = 0.0
    for rows in (2, 7, 24):
        for ones in range(rows + 1):
            for n in range(1, rows + 1):
                seen = np.arange(max(0, n - rows + ones), min(n, ones) + 1)
                probabilities = hypergeom.pmf(seen, rows, ones, n)
                for log in (0.5, 1.0, 2.0, 4.0):
                    over = low(seen / n, np.full(seen.size, float(n)), log) > ones / rows + 1e-12
                    worst = max(worst, float(probabilities[over].sum()) * math.exp(log))
    return worst


def test_radius_covers_and_half_does_not() -> None:
    assert worst_excess(lower_confidence_bounds) <= 1.0
    assert worst_excess(too_low) > 2.0


def breaks(trace: Trace, pool: Pool, log: float, low: Low) -> bool:
    """Tell whether any mean of the plays of an action, of any length, ever promised what the pool does not hold."""
    costs: Any = pool.costs
    for action in range(pool.k):
        rows = trace.order[trace.actions == action]
        counts = np.arange(1.0, rows.size + 1.0)
        for column in (np.asarray(pool.losses)[:, action], costs[:, action, 0]):
            if (low(np.cumsum(column[rows]) / counts, counts, log) > column.mean() + 1e-12).any():
                return True
    return False


def test_promises_hold_over_whole_plays() -> None:
    """At delta = 1/2 the event fails in at most half of the plays; 60 plays, fewer than 50 with
    luck below 1e-6.

    (The union is so generous that it never fails here. With a quarter of the radius most plays
    break it.)
    """
    rng = np.random.default_rng(3)
    pool = Pool(
        rng.integers(0, 2, (120, 3)).astype(float), costs=rng.integers(0, 2, (120, 3)).astype(float)
    )
    learner, log = OptimisticLP(delta=0.5), optimistic_log(120, 4, 1, 0.5)
    traces = [play(learner, pool, budget=Budget(40.0, null="add"), seed=seed) for seed in range(60)]
    assert sum(breaks(trace, pool, log, lower_confidence_bounds) for trace in traces) <= 1
    assert sum(breaks(trace, pool, log / 16, lower_confidence_bounds) for trace in traces) > 40


def ugly(T: int) -> dict[str, tuple[Pool, float]]:
    """Return pools with the amounts to spend: ties, constants, rows that change half-way, rare and large costs."""
    rng = np.random.default_rng(1)
    rare = np.zeros((T, 2))
    rare[:, 1] = rng.random(T) < 0.01
    same = np.tile([0.0, 1.0], (T, 1))
    return {
        "three": (instances.three_actions(T, seed=0), T / 2),
        "rich": (instances.hindsight(T, "rich"), T / 2),
        "rare": (Pool.from_rewards(np.tile([0.0, 0.5], (T, 1)), costs=rare), T / 400),
        "same": (Pool.from_rewards(same, costs=same), T / 2),
    }


@pytest.mark.full
def test_bound_holds_on_extreme_pools() -> None:
    T = 1 << 16
    for name, (pool, amount) in ugly(T).items():
        trace = play(OptimisticLP(), pool, budget=Budget(amount, worst=1.0, null=0), seed=0)
        bound = OptimisticLP().bound(BudgetTerms(pool.k, 1, T, min(1.0, amount / T), 0), 0.05)
        assert bound is not None
        assert trace.regret <= bound <= T, name
        assert not any(trace.overspent)
    pool = Pool.from_rewards(np.tile([0.0, 1.0], (T, 1)), costs=np.tile([0.0, 1.0], (T, 1)))
    idle = play(AlwaysPlay(), pool, budget=Budget(float(T), worst=1.0, null=0), seed=0)
    assert idle.regret > optimistic_lp(T, 2, 1, 1.0, 0.05)


def test_bound_is_capped_and_falls() -> None:
    assert optimistic_lp(1, 1, 1, 1.0, 0.5) == 1.0
    assert optimistic_lp(100, 3, 1, 0.0, 0.05) == 100.0
    shares = [optimistic_lp(1 << e, 3, 1, 0.5, 0.05) / (1 << e) for e in (14, 16, 18, 20)]
    assert shares == sorted(shares, reverse=True)
    assert OptimisticLP(delta=0.05).bound(BudgetTerms(3, 1, 100, 0.5, 0), 0.01) is None
