"""What a learner under budgets is: an immutable recipe like any learner, which sees costs beside losses.

It gives a mix in every round; the kernels are plain functions over its state, which compile under Numba:

    mix(state, mix)                                write the probability of every action
    needs_plan(state, fits)                               tell whether `plan` is wanted; fits[a] is 1 if action a may be played

and one of these two, by what it sees of a round:

    observe(state, round, played, losses, costs)   learn from a row: what was played in that round (a mix in fluid play,
                                                   all on one action when the action was drawn), the losses of all
                                                   actions, and their costs, actions x resources
    observe(state, round, action, probability, loss, costs)   learn from a play: the action, the probability it had, its loss, and
                                                   its cost for every resource

Costs are in the common scale of `Budget`: in [0, 1], and every resource has the same rate. Learners do not enforce the
budget: the loop does, for all of them alike, so none can overspend. Feedback may come late, out of order or never.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetTerms


@dataclass(frozen=True)
class BudgetedBase(ABC):
    """A learner under budgets, whatever it sees: `init` and the static `mix`, and `needs_plan` and `plan` if it plans."""

    mixes: ClassVar[bool] = True
    supports_target: ClassVar[bool] = False  # whether it minds a target

    @abstractmethod
    def init(self, terms: BudgetTerms) -> Any:
        """Return the state before the first round: a named tuple of numbers and arrays."""

    @staticmethod
    @abstractmethod
    def mix(state: Any, mix: Floats) -> None:
        """Write the probability of every action into `mix`."""

    @staticmethod
    def needs_plan(state: Any, fits: Floats) -> bool:
        """Tell whether `plan` is wanted before the next round; some learners never plan."""
        return False

    def plan(self, state: Any, left: Floats, fits: Floats, rng: RngState) -> None:  # noqa: B027 - some never plan
        """Think in plain Python between two rounds; `left` is what is not spent, in the common scale."""

    @property
    def plans(self) -> bool:
        """Whether this learner ever plans."""
        return type(self).needs_plan is not BudgetedBase.needs_plan

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        """Return the proved bound on the regret in random order, of probability 1 - delta, or None if none is known."""
        return None


@dataclass(frozen=True)
class BudgetedLearner(BudgetedBase):
    """A learner under budgets that sees whole rows: subclass it as a frozen dataclass."""

    feedback: ClassVar[str] = "budgeted"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        """Learn from the row of a round."""


@dataclass(frozen=True)
class BudgetedBanditLearner(BudgetedBase):
    """A learner under budgets that sees what came of the action played: subclass it as a frozen dataclass."""

    feedback: ClassVar[str] = "budgeted-bandit"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, action: int, probability: float, loss: float, costs: Floats) -> None:
        """Learn from the play of a round."""


def check_growth(learner: Any) -> None:
    """Raise ParameterError unless the growth after which it plans again is above 1, and its delta, if any, a probability."""
    name = type(learner).__name__
    _validate.real(name, "growth", learner.growth, above=1)
    if hasattr(learner, "delta"):
        _validate.real(name, "delta", learner.delta, above=0, below=1)
