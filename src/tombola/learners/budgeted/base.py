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

    Subclass `BudgetedLearner` or `BudgetedBanditLearner` instead; they list the methods to define. Costs and rates are
    in the common scale of `tombola.budget.budget.Budget`: costs in [0, 1], one rate (budget per round) for all
    resources.

    feedback: key of `tombola.feedback.FEEDBACK_MODELS`: "budgeted" or "budgeted-bandit".
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

        False unless overridden. After `plan` it must return False.

        state: as returned by `init`.
        fits: 1 for each action that the budget left can pay for, else 0, shape (k,).
        """
        return False

    def plan(self, state: Any, left: Floats, fits: Floats, rng: RngState) -> None:  # noqa: B027 - some never plan
        """Compute between two rounds in plain Python; write the result into `state`.

        The engine calls it when `needs_plan` returns True. It does nothing unless overridden.

        state: as returned by `init`, changed in place.
        left: unspent budget of each of the m resources, with costs scaled to [0, 1], shape (m,).
        fits: 1 for each action that the budget left can pay for, else 0, shape (k,).
        rng: random generator of the learner, changed by every draw.
        """

    @property
    def plans(self) -> bool:
        """Whether this learner may plan between rounds: it overrides `needs_plan`."""
        return type(self).needs_plan is not BudgetedBase.needs_plan

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the methods `mix`, `observe` and `needs_plan` as functions to compile.

        In the result, `act` is None. Raises LearnerError for a parameter that the engine does not pass.

        actions, horizon: number of actions and of rounds; not used.
        """
        return Kernels(
            act=None,
            mix=kernel_by_name(self, "mix"),
            observe=kernel_by_name(self, "observe", self.feedback),
            needs_plan=kernel_by_name(self, "needs_plan", "budgeted"),
        )

    def bound(self, terms: BudgetTerms, delta: float) -> float | None:
        """Return a bound on the regret in random order, or None if none is proved.

        For every pool, with probability 1 - delta, the reward of the best fixed mix within the budget exceeds that of
        this learner by at most the bound, in total over all rounds. None unless overridden.

        terms: numbers of actions, resources and rounds; rate, prices and target; costs are scaled to [0, 1].
        delta: error probability, in (0, 1).
        """
        return None


@dataclass(frozen=True)
class BudgetedLearner(BudgetedBase):
    """Base class of learners under budgets that observe whole rows.

    Subclass it as a frozen dataclass and define three methods; help() of each has the parameters:

    - `init(self, terms)` returns the state before the first round, a named tuple of numbers and arrays;
    - `mix(state, mix)`, static, writes the probability of each of the k actions into the array `mix`, shape (k,);
    - `observe(state, round, played, losses, costs)`, static, updates the arrays of the state with one row.

    `terms` is a `BudgetTerms`: the budget as the learner knows it. Costs are scaled to [0, 1]. The static methods are
    kernels: Numba compiles them, so they use numbers and arrays only. Optional: `needs_plan` and `plan`, to compute in
    plain Python between rounds, and `bound`.

    feedback: "budgeted", the learner observes losses and costs of all actions.
    """

    feedback: ClassVar[str] = "budgeted"

    @staticmethod
    @abstractmethod
    def observe(state: Any, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        """Update the state in place with the row of a round; a kernel.

        state: as returned by `init`.
        round: round in which the row was played, from 1.
        played: share of each action, shape (k,): the mix itself under `play(mixed=True)`, else 1 at the action drawn.
        losses, costs: of all actions, shapes (k,) and (k, m) for m resources; both in [0, 1], costs by scaling.
        """


@dataclass(frozen=True)
class BudgetedBanditLearner(BudgetedBase):
    """Base class of learners under budgets that observe only the action played.

    Subclass it as a frozen dataclass and define three methods; help() of each has the parameters:

    - `init(self, terms)` returns the state before the first round, a named tuple of numbers and arrays;
    - `mix(state, mix)`, static, writes the probability of each of the k actions into the array `mix`, shape (k,);
    - `observe(state, round, action, probability, loss, costs)`, static, updates the arrays of the state.

    `terms` is a `BudgetTerms`: the budget as the learner knows it. Costs are scaled to [0, 1]. The static methods are
    kernels: Numba compiles them, so they use numbers and arrays only. Optional: `needs_plan` and `plan`, to compute in
    plain Python between rounds, and `bound`.

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
        loss, costs: of the action; the loss in [0, 1], and the costs of m resources, scaled to [0, 1], shape (m,).
        """


def check_growth(learner: Any) -> None:
    """Raise ParameterError unless growth > 1 and delta, if any, is in (0, 1).

    learner: an instance with the attribute `growth`, and possibly `delta`; its class is named in the message.
    """
    name = type(learner).__name__
    _validate.real(name, "growth", learner.growth, above=1)
    if hasattr(learner, "delta"):
        _validate.real(name, "delta", learner.delta, above=0, below=1)
