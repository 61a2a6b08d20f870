"""Trace: what happened in one play, round by round, in every setting."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tombola._types import Floats, Order, Rounds
from tombola.budget.budget import NO_BALANCE, Balance
from tombola.order import OrderModel
from tombola.pool import Pool

# Rows per NumPy call: under 0.1 s, so that Ctrl-C is handled in between.
ROWS_PER_STEP = 1 << 21


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """What happened in one play, round by round.

    `losses` are those of the actions played, `expected_losses` the same averaged over the learner's own coin in that
    round (they are equal when it throws none), `probabilities` what the chosen actions had, `plays` how often each action was
    played. The comparator is the best fixed action; under a budget the best fixed mix within it, for labels the best
    hypothesis, whose predictions are the actions.

    Under a budget, `costs` (rounds x resources) are in their own units, and `balance` says what is spent. An added null
    action is the last one. In fluid play (`mixed`) nothing is drawn: `actions` is -1 and `probabilities` NaN. `full_feedback`
    tells whether the learner was shown the losses of all actions.
    """

    learner: Any
    model: OrderModel
    order: Order
    actions: Rounds
    probabilities: Floats
    losses: Floats
    expected_losses: Floats
    plays: Floats
    comparator: Callable[[], Floats]
    switches: int = 0
    switching_price: float = 0.0
    costs: Floats
    balance: Balance = NO_BALANCE
    mixed: bool = False
    full_feedback: bool = False
    labels: Rounds = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.actions.size)

    @property
    def loss(self) -> float:
        """The total loss of the actions played, switches not included."""
        return float(self.losses.sum())

    @property
    def expected_loss(self) -> float:
        """The total loss, averaged over the learner's coin in every round."""
        return float(self.expected_losses.sum())

    @property
    def regret(self) -> float:
        """Loss and price of the switches, minus the loss of the comparator."""
        return self.loss + self.switching_price * self.switches - self.comparator_loss

    @property
    def expected_regret(self) -> float:
        """The regret with `expected_loss` in the place of `loss`."""
        return self.expected_loss + self.switching_price * self.switches - self.comparator_loss

    @cached_property
    def comparator_losses(self) -> Floats:
        """The loss of the comparator in every round."""
        return self.comparator()

    @cached_property
    def comparator_loss(self) -> float:
        """The total loss of the comparator on the rows that came."""
        return float(self.comparator_losses.sum())

    def regret_against(self, losses: Floats) -> float:
        """Return the regret against another comparator, which has these losses, round by round."""
        return self.loss + self.switching_price * self.switches - float(np.sum(losses))

    @cached_property
    def curve(self) -> Floats:
        """The regret after every round, switches not included."""
        return np.cumsum(self.losses - self.comparator_losses)

    @property
    def rewards(self) -> Floats:
        """1 - loss, round by round."""
        return 1.0 - self.losses

    @property
    def reward(self) -> float:
        """The total reward."""
        return float(self.rewards.sum())

    @property
    def comparator_reward(self) -> float:
        """What the comparator collects."""
        return self.horizon - self.comparator_loss

    @property
    def spending(self) -> Floats:
        """What was spent up to every round, by resource."""
        return np.cumsum(self.costs, axis=0)

    @property
    def overspent(self) -> tuple[bool, ...]:
        """Whether the costs add up to more than the amount, in exact arithmetic, by resource: never."""
        amounts = self.balance.amounts
        totals = [sum(map(Fraction, self.costs[:, j].tolist())) for j in range(len(amounts))]
        return tuple(total > Fraction(amount) for total, amount in zip(totals, amounts, strict=True))

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions, where labels are predicted."""
        return int(np.count_nonzero(self.losses)) if self.labels.size else 0

    def __repr__(self) -> str:
        parts = [f"{self.model} order", f"{self.horizon} rounds", f"loss {self.loss:.6g}", f"regret {self.regret:.6g}"]
        if self.labels.size:
            parts.append(f"{self.mistakes} mistakes")
        elif self.balance.amounts:
            parts.append(f"left {self.balance.left}")
        else:
            parts.append(f"{self.switches} switches")
        return f"Trace({self.learner!r}, {', '.join(parts)})"


def best_action(pool: Pool, order: Order) -> Floats:
    """Return the loss, round by round, of the best fixed action of the pool.

    >>> best_action(Pool([[1, 0], [1, 0], [0, 1]]), np.array([2, 0, 1], np.uint32)).tolist()
    [1.0, 0.0, 0.0]
    """
    return _in_pieces(order, lambda rows: pool.losses[rows, pool.best])


def best_each_round(pool: Pool, order: Order) -> Floats:
    """Return the smallest loss of every row: the comparator of dynamic regret.

    >>> best_each_round(Pool([[1, 0], [0, 1]]), np.array([0, 1], np.uint32)).tolist()
    [0.0, 0.0]
    """
    return _in_pieces(order, lambda rows: pool.losses[rows].min(axis=1))


def _in_pieces(order: Order, losses_of: Callable[[Order], Floats]) -> Floats:
    """Return the losses of all rows in this order; Ctrl-C stops it in between."""
    losses = np.empty(order.size)
    for start in range(0, order.size, ROWS_PER_STEP):
        piece = order[start : start + ROWS_PER_STEP]
        losses[start : start + piece.size] = losses_of(piece)
    return losses
