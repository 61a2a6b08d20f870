"""Base classes of learners under budgets.

They are frozen dataclasses like every learner, and observe costs besides losses. Kernels, as in `learners.base`:

    mix(state, mix)                                           write the probability of every action
    needs_plan(state, fits)                                   optional; fits[a] is 1 if action a is affordable
    observe(state, round, played, losses, costs)              BudgetedLearner: losses (k,), costs (k, m)
    observe(state, round, action, probability, loss, costs)   BudgetedBanditLearner: costs (m,)

`played` is the mix if it is played as such (`mixed=True`), otherwise 1 at the action drawn. Costs are in the common
scale of `Budget`: in [0, 1], with the same rate (budget per round) for all m resources. The engine enforces the budget,
so no learner can overspend. Feedback may be late, out of order or missing.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms
from tombola.learners.base import Kernels, kernel_by_name


@dataclass(frozen=True)
class BudgetedBase(ABC):
    """Base class of learners under budgets, for both kinds of feedback.

    Subclass `BudgetedLearner` or `BudgetedBanditLearner` instead. All costs and rates are in the common scale of
    `tombola.budget.budget.Budget`.

    feedback: kind of feedback.
    mixes: True, it returns the probability of every action.
    learns: whether `check_learner` tests that it beats uniform play; False for baselines and slow learners.
    supports_target: whether it can minimise costs under a loss target.
    """

    feedback: ClassVar[str]
    mixes: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    supports_target: ClassVar[bool] = False

    @abstractmethod
    def init(self, terms: BudgetTerms) -> Any:
        """Return the state before the first round, a named tuple of numbers and arrays.

        terms: numbers of actions, resources and rounds; rate, prices and target; costs are scaled to [0, 1].
        """

    @staticmethod
    @abstractmethod
    def mix(state: Any, mix: Floats) -> None:
        """Write the probability of every action into `mix`, shape (k,); a kernel.

        state: as returned by `init`.
        mix: output; nonnegative, with sum 1.
        """

    @staticmethod
    def needs_plan(state: Any, fits: Floats) -> bool:
        """Return whether `plan` must run before the next round; a kernel.

        state: as returned by `init`.
        fits: 1 for each affordable action, shape (k,).
        """
        return False

    def plan(self, state: Any, left: Floats, fits: Floats, rng: RngState) -> None:  # noqa: B027 - some never plan
        """Compute between two rounds in plain Python; write the result into `state`.

        state: as returned by `init`, changed in place.
        left: unspent budget per resource, with costs scaled to [0, 1], shape (m,).
        fits: 1 for each affordable action, shape (k,).
        rng: random generator of the learner.
        """

    @property
    def plans(self) -> bool:
        """Whether this learner plans between rounds: it overrides `needs_plan`."""
        return type(self).needs_plan is not BudgetedBase.needs_plan

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the kernels `mix`, `observe` and `needs_plan` to compile.

        actions, horizon: number of actions and of rounds.
        """
        return Kernels(
            act=None,
            mix=kernel_by_name(self, "mix"),
            observe=kernel_by_name(self, "observe", self.feedback),
            needs_plan=kernel_by_name(self, "needs_plan", "budgeted"),
        )

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        """Return a bound on the regret in random order, or None if none is proved.

        The regret is at most this with probability 1 - delta, for every pool.

        terms: numbers of actions, resources and rounds; rate, prices and target; costs are scaled to [0, 1].
        delta: error probability, in (0, 1).
        """
        return None


@dataclass(frozen=True)
class BudgetedLearner(BudgetedBase):
    """Base class of learners under budgets that observe whole rows.

    Subclass it as a frozen dataclass with `init`, and the static methods `mix` and `observe`.

    feedback: "budgeted", the learner observes losses and costs of all actions.
    """

    feedback: ClassVar[str] = "budgeted"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        """Update the state in place with the row of a round; a kernel.

        state: as returned by `init`.
        round: round in which the row was played, from 1.
        played: the mix itself if played as a mix (`mixed=True`), otherwise 1 at the action drawn, shape (k,).
        losses, costs: of all actions, shapes (k,) and (k, m); both in [0, 1], costs by scaling.
        """


@dataclass(frozen=True)
class BudgetedBanditLearner(BudgetedBase):
    """Base class of learners under budgets that observe only the action played.

    Subclass it as a frozen dataclass with `init`, and the static methods `mix` and `observe`.

    feedback: "budgeted-bandit", the learner observes loss and costs of the action played.
    """

    feedback: ClassVar[str] = "budgeted-bandit"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        """Update the state in place with loss and costs of the action played; a kernel.

        state: as returned by `init`.
        round: round in which it was played, from 1.
        action, probability: the action, from 0, and its probability then.
        loss, costs: of the action; costs are scaled to [0, 1], shape (m,).
        """


def check_growth(learner: Any) -> None:
    """Raise ParameterError unless growth > 1 and delta, if any, is in (0, 1).

    learner: named in the message; has a field `growth`, and possibly `delta`.
    """
    name = type(learner).__name__
    _validate.real(name, "growth", learner.growth, above=1)
    if hasattr(learner, "delta"):
        _validate.real(name, "delta", learner.delta, above=0, below=1)
