"""Play under a budget: run a budgeted learner over a whole order, compiled, and return what happened."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola.budget import Budget, Ledger, resources_of
from tombola.delay import DelayLike, RowDelays, delays_of
from tombola.errors import ParameterError
from tombola.optimum import Optimum, optimum
from tombola.order import Model, OrderLike, model_of, rows_in
from tombola.playing import waiting
from tombola.pool import Pool
from tombola.streams import Streams
from tombola.types import Floats, Order, Rounds, Seed

if TYPE_CHECKING:
    from tombola.budgeted.base import BudgetedLearner
    from tombola.budgeted.purse import Stop


@dataclass(frozen=True, eq=False, kw_only=True)
class BudgetTrace:
    """What happened in one play under a budget, round by round.

    `costs` (rounds x resources) are in their own units; `plays` says how often each action was played, in fluid play
    how much of it. In fluid play (`mixed`) nothing is drawn: `actions` is -1 and `chances` NaN. An added null action is
    the last one.
    """

    learner: "BudgetedLearner"
    model: Model
    order: Order
    mixed: bool
    actions: Rounds
    chances: Floats
    rewards: Floats
    costs: Floats
    plays: Floats
    ledger: Ledger
    pool: Pool
    budget: Budget

    @cached_property
    def optimum(self) -> Optimum:
        """The comparator: the best fixed mix of the pool within the budget."""
        return optimum(self.pool, self.budget)

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.rewards.size)

    @property
    def reward(self) -> float:
        """The total reward, 1 - loss summed over the rounds."""
        return float(self.rewards.sum())

    @property
    def comparator_reward(self) -> float:
        """What the best fixed mix collects, T * OPT_LP."""
        return self.horizon * self.optimum.value

    @property
    def regret(self) -> float:
        """T * OPT_LP minus the reward."""
        return self.comparator_reward - self.reward

    @property
    def spending(self) -> Floats:
        """What was spent up to every round, by resource."""
        return np.cumsum(self.costs, axis=0)

    @property
    def overspent(self) -> tuple[bool, ...]:
        """Whether the costs add up to more than the amount, in exact arithmetic, by resource: never."""
        totals = [sum(map(Fraction, self.costs[:, j].tolist())) for j in range(self.costs.shape[1])]
        return tuple(total > Fraction(amount) for total, amount in zip(totals, self.ledger.amounts, strict=True))

    def __repr__(self) -> str:
        return (
            f"BudgetTrace({self.learner!r}, {self.model} order, {self.horizon} rounds, reward {self.reward:.6g} of "
            f"{self.comparator_reward:.6g}, regret {self.regret:.6g})"
        )


def play_budget(
    learner: "BudgetedLearner",
    pool: Pool,
    budget: Budget,
    order: OrderLike = "random",
    delay: DelayLike | RowDelays = 0,
    stop: "Stop" = "fits",
    *,
    mixed: bool = False,
    seed: Seed,
) -> BudgetTrace:
    """Play `learner` over the rows of `pool` within `budget`, and return the trace.

    `stop="strict"` is the paper's rule: when less than one maximal cost is left of a resource, only the null action is
    played. `stop="fits"` plays whatever has a worst cost that still fits. A play whose feedback is still on its way
    has its worst cost reserved. `mixed=True` is the fluid play of the paper: every action is played a little, as the
    mix says; otherwise one action is drawn.

    >>> from tombola.budgeted import EmpiricalLP
    >>> pool = Pool.from_rewards([[0.0, 1.0]] * 8, costs=[[0.0, 1.0]] * 8)
    >>> trace = play_budget(EmpiricalLP(), pool, Budget(4.0), mixed=True, seed=0)
    >>> round(trace.reward, 9), round(trace.regret, 9), trace.overspent
    (4.0, 0.0, (False,))
    """
    from tombola.budgeted.loop import Table, new_tally
    from tombola.budgeted.player import BudgetPlayer

    if not isinstance(budget, Budget):
        raise ParameterError(f"play_budget: budget must be a Budget, got {budget!r}; write Budget(90.0).")
    resources = resources_of(pool)
    limits = budget.limits(pool.k, resources, pool.costs)
    streams = Streams(seed)
    rows = rows_in(order, pool.rows, streams.order())
    player = BudgetPlayer(learner, limits, rows.size, streams.learner(learner), stop=stop, mixed=mixed)
    losses: Any = np.asarray(pool.losses)
    costs: Any = np.asarray(pool.costs).reshape(pool.rows, -1)
    labels = np.append(np.arange(pool.k), -1) if limits.added else np.arange(pool.k)
    tally = new_tally(player.terms.actions, resources, rows.size)
    player.play(Table(losses, costs, labels, rows), waiting(delays_of(delay, rows)), tally)
    return BudgetTrace(
        learner=learner,
        model=model_of(order),
        order=rows,
        mixed=mixed,
        actions=np.full(rows.size, -1) if mixed else tally.actions,
        chances=tally.chances,
        rewards=tally.rewards,
        costs=tally.costs,
        plays=tally.mass,
        ledger=_ledger(player),
        pool=pool,
        budget=budget,
    )


def _ledger(player: Any) -> Ledger:
    from tombola.budgeted.purse import ledger_of

    return ledger_of(player.purse, player.limits.amounts)
