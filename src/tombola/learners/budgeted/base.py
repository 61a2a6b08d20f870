"""Base classes of learners under budgets.

They are learners as in `learners.base` that observe costs besides losses. The engine enforces the
budget, so no learner can overspend.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms
from tombola.learners.base import Kernels, kernel_by_name
from tombola.learners.parameters import Checked


@dataclass(frozen=True)
class BudgetedBase(Checked, ABC):
    """Base class of learners under budgets, for both kinds of feedback.

    Subclass `BudgetedLearner` or `BudgetedBanditLearner` instead, like a `Learner`, and define
    `init` and the static methods `mix` and `observe`. Costs are in [0, 1], with one rate (budget
    per round) for all resources.

    feedback: "budgeted" or "budgeted-bandit".
    learns: whether `check_learner` tests that it beats uniform play; False for baselines and slow
        learners.
    supports_target: whether it can minimise costs under a loss target.
    """

    feedback: ClassVar[str]
    mixes: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    supports_target: ClassVar[bool] = False

    @abstractmethod
    def init(self, terms: BudgetTerms) -> Any:
        """Return the state before the first round, a named tuple of numbers and arrays.

        terms: the budget as the learner knows it, with the numbers of actions, resources and
            rounds.
        """

    @staticmethod
    @abstractmethod
    def mix(state: Any, mix: Floats) -> None:
        """Write the probability of every action, with sum 1, into `mix`, shape (k,)."""

    @staticmethod
    def needs_plan(state: Any, fits: Floats) -> bool:
        """Return whether `plan` must run before the next round; a kernel.

        After `plan` it must return False. `fits` is 1 for each action that the budget left can pay
        for, shape (k,).
        """
        return False

    def plan(self, state: Any, left: Floats, fits: Floats, rng: RngState) -> None:
        """Compute between two rounds in plain Python; write the result into `state`.

        left: unspent budget of each of the m resources, shape (m,), for costs in [0, 1].
        fits: 1 for each action that it can pay for, else 0, shape (k,).
        """

    @property
    def plans(self) -> bool:
        """Whether this learner may plan between rounds: it overrides `needs_plan`."""
        return type(self).needs_plan is not BudgetedBase.needs_plan

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the static methods as functions to compile, as `Learner.kernels`."""
        return Kernels(
            act=None,
            mix=kernel_by_name(self, "mix"),
            observe=kernel_by_name(self, "observe", self.feedback),
            needs_plan=kernel_by_name(self, "needs_plan", "budgeted"),
        )

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        """Return a bound on the regret in random order, or None if none is proved.

        For every pool, with probability 1 - delta, the reward of the best fixed mix within the
        budget exceeds that of this learner by at most the bound, in total over all rounds. `terms`
        are those of `init`.
        """
        return None


@dataclass(frozen=True)
class BudgetedLearner(BudgetedBase):
    """Base class of learners under budgets that observe whole rows.

    As `BudgetedBase`, with `observe(state, round, played, losses, costs)`.
    """

    feedback: ClassVar[str] = "budgeted"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        """Update the state in place with the row of a round; a kernel.

        round: in which the row was played, from 1.
        played: share of each action, shape (k,): the mix itself under `play(mixed=True)`, else 1 at
            the action drawn.
        losses, costs: of all actions, shapes (k,) and (k, m) for m resources; both in [0, 1], costs
            by scaling.
        """


@dataclass(frozen=True)
class BudgetedBanditLearner(BudgetedBase):
    """Base class of learners under budgets that observe only the action played.

    As `BudgetedBase`, with `observe(state, round, action, probability, loss, costs)`.
    """

    feedback: ClassVar[str] = "budgeted-bandit"

    @staticmethod
    @abstractmethod
    def observe(
        state: Any, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        """Update the state in place with loss and costs of the action played; a kernel.

        round: in which it was played, from 1.
        action, probability: the action, from 0, and its probability then.
        loss, costs: of the action, both in [0, 1]; costs of m resources, shape (m,).
        """
