"""Record of a router in a play: `Trace.router`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tombola._types import Floats, Integers
from tombola.policies.guard import Stakes
from tombola.policies.models import losses_of


@dataclass(frozen=True)
class Block:
    """Hold one training, and the rows for which its router is in use.

    start, end: number of rows with known losses at this training and at the next one.
    model: name of the best model; None if none beats the best fixed action, so that there is no
        router.
    out_of_bag_loss: mean loss of the model on its training rows, by parts that did not see them.
    """

    start: int
    end: int
    model: str | None
    out_of_bag_loss: float


@dataclass(frozen=True, eq=False, repr=False)
class RouterRecord:
    """Safe learner, router and guard of one play of `Routed`, round by round.

    The guard draws which of the two plays; the unguarded router is the router as if it played every
    round. `Trace.expected_loss` is averaged over the guard's draws: the guarantee is about it.

    losses: of all actions, in the order of play, rounds x actions.
    safe_actions, router_actions: choices of the safe learner and of the unguarded router.
    stakes: probability of playing the router in each round, and the accounts of the guard.
    blocks: the trainings; empty if the delay is not constant.
    """

    losses: Floats
    safe_actions: Integers
    router_actions: Integers
    stakes: Stakes
    blocks: tuple[Block, ...]

    @cached_property
    def safe_losses(self) -> Floats:
        """The losses of the safe learner, round by round, shape (rounds,)."""
        return losses_of(self.losses, self.safe_actions)

    @cached_property
    def router_losses(self) -> Floats:
        """The losses of the router as if it played every round, shape (rounds,)."""
        return losses_of(self.losses, self.router_actions)

    @property
    def safe_loss(self) -> float:
        """The total loss of the safe learner, as if it played every round."""
        return float(self.safe_losses.sum())

    @property
    def router_loss(self) -> float:
        """The total loss of the router, as if it played every round."""
        return float(self.router_losses.sum())

    @property
    def expected_loss(self) -> float:
        """The total loss, averaged over the guard's draws; `risk` is about it."""
        p = self.stakes.probabilities
        return float((p * self.router_losses + (1.0 - p) * self.safe_losses).sum())

    @property
    def share_of_gap(self) -> float:
        """The part of the gap that `expected_loss` closes; 1 is perfect, 0 without a gap.

        (F - expected_loss) / (F - B), where F is the total loss of the best fixed action and B that
        of the best action of every row. Negative if the best fixed action is better than this play.
        """
        fixed = float(self.losses.sum(axis=0).min())
        oracle = float(self.losses.min(axis=1).sum())
        return (fixed - self.expected_loss) / (fixed - oracle) if fixed > oracle else 0.0

    def __repr__(self) -> str:
        return (
            f"RouterRecord({len(self.losses)} rows, loss {self.expected_loss:.4g} on average over "
            f"the guard's draws, safe learner {self.safe_loss:.4g})"
        )


def as_actions(choices: Floats, safe: Integers) -> Integers:
    """Return the actions of a router, those of the safe learner while there is no router."""
    return np.where(choices < 0, safe, choices).astype(np.int64)
