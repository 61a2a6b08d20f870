"""Bandit feedback under a budget: loss and costs of the action played."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tombola._types import Floats
from tombola.budget.budget import BudgetRun
from tombola.engine.compiler import Kernel
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import EncodedOutcome, loss_or_reward, parse_loss
from tombola.feedback.budgeted import BudgetedFeedback, Workspace, unpack_action


@dataclass(frozen=True, eq=False)
class BudgetedBanditFeedback(BudgetedFeedback):
    """Reveal loss and costs of the action played; the tracker enforces the budget.

    An outcome is the loss, then one cost per resource. Costs on the price list may be left out, and so may the
    outcome of an added null action, which has loss 1 and cost 0.
    """

    full_feedback: ClassVar[bool] = False

    @property
    def outcome_width(self) -> int:
        return 1 + self.resources

    @classmethod
    def for_learner(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        # Only one action is observed, so a mix of all actions cannot be played.
        if budget_run is not None and budget_run.mixed:
            raise ParameterError(
                f"play: mixed is for learners with full feedback, got {type(learner).__name__}, which has bandit "
                "feedback; leave mixed out."
            )
        return super().for_learner(learner, horizon, actions=actions, budget_run=budget_run, features=features)

    def make_observe(self, observe: Kernel) -> Kernel:

        def observe_round(state: Any, round: int, workspace: Workspace, slot: int) -> None:
            action = workspace.actions[slot]
            observe(
                state, round, action, workspace.probabilities[slot], workspace.row[action], workspace.scaled[action]
            )

        return observe_round

    def _outcome_views(self, outcome: Floats) -> tuple[Floats, Floats]:
        return outcome[:1].reshape(()), outcome[1:].reshape(()) if self.resources == 1 else outcome[1:]

    @property
    def _unpack_outcome(self) -> Kernel:
        return _unpack_action_outcome

    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        costs = self.parse_costs("Session.observe", action, given.get("cost"))
        if action < self.n_listed_actions:
            return (parse_loss(*loss_or_reward(round, given, "cost")), *costs)
        if (
            any(value is not None for value in given.values())
            and parse_loss(*loss_or_reward(round, given, "cost")) != 1.0
        ):
            raise FeedbackError(
                f"Session.observe: the added null action of round {round} has loss 1, got {dict(given)}; "
                "write observe(ticket)."
            )
        return (1.0, *costs)

    def parse_costs(self, owner: str, action: int, cost: Any) -> tuple[float, ...]:
        return self._parse_cost_table(owner, cost, slice(action, action + 1))

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"loss": outcome[0], "cost": outcome[1:]}

    def decode(self, outcome: EncodedOutcome) -> tuple[Any, tuple[float, ...]]:
        return outcome[0], outcome[1:]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[0]

    def costs(self, action: int, outcome: EncodedOutcome) -> tuple[float, ...]:
        return outcome[1:]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        return {"loss": float(losses[action]), "cost": costs[action]} if action < self.n_listed_actions else {}


def _unpack_action_outcome(workspace: Workspace, prices: Floats, action: int, outcome: Floats) -> bool:
    """Copy loss and costs of the action into the current row; return validity."""
    return (action < workspace.n_listed or outcome[0] == 1.0) and unpack_action(
        workspace, prices, action, outcome[0], outcome[1:]
    )
