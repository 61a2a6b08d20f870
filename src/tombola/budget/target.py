"""Regret under a loss target: excess spending plus a penalty for excess loss."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats, Integers
from tombola.budget.budget import Budget
from tombola.budget.optimum import optimum

# Multiple of the dual price that a loss above the target costs in the regret. At 1, a learner could
# miss the target without more regret.
_TARGET_PENALTY = 2.0


class TargetRegret(NamedTuple):
    """Regret of a play that must reach a mean loss at the least cost.

    target: mean loss to reach.
    cost: mean cost per round of the cheapest mix that reaches it, in cost units.
    price: cost that this mix saves if the target is raised, per unit of mean loss (dual price).
    """

    target: float
    cost: float
    price: float

    def regret(self, rounds: Integers, losses: Floats, spent: Floats) -> Floats:
        """Return the regret after some numbers of rounds, in cost units, shape (..., n).

        After t rounds it is spent - t cost + 2 price max(0, losses - t target). It is negative for
        a play that spent less than the cheapest mix and reached the target.

        rounds: numbers of rounds, shape (n,).
        losses, spent: total loss and total cost after so many rounds, shape (..., n).
        """
        above = np.maximum(0.0, losses - self.target * rounds)
        return np.asarray(spent - self.cost * rounds + _TARGET_PENALTY * self.price * above)


def target_regret(pool: Any, budget: Budget | None) -> TargetRegret | None:
    """Return the `TargetRegret` of a budget with a target; None without a target.

    Raises UnreachableError if no mix of actions reaches the target.

    >>> from tombola.pool import Pool
    >>> target_regret(Pool.from_rewards([[0.0, 1.0]] * 4, costs=[[0.0, 1.0]] * 4), Budget(target=0.25))
    TargetRegret(target=0.25, cost=0.75, price=1.0)
    >>> target_regret(Pool([[0.0, 1.0]]), None)
    """
    if budget is None or budget.target is None:
        return None
    best = optimum(pool, budget)
    price = float(best.prices[0])
    return TargetRegret(
        budget.target, float(best.cost[0]), price if math.isfinite(price) else pool.rows * best.unit
    )
