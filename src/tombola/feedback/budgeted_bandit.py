"""Budgets with bandit feedback: after the delay, the loss and the costs of the action played are seen, and no more."""

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
    """The loss and the costs of the action played are seen, and no more is spent than allowed.

    Costs on the price list need not be told, nor what an added null action loses and costs.
    """

    full_feedback: ClassVar[bool] = False

    @property
    def outcome_width(self) -> int:
        """How many numbers an outcome has: a loss, and a cost for each resource."""
        return 1 + self.resources

    @classmethod
    def for_learner(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        """Return the setting of a learner that sees what it plays, so one action is played at a time."""
        if budget_run is not None and budget_run.mixed:
            raise ParameterError(
                f"play: mixed is for learners that see whole rows, got {type(learner).__name__}, which sees the action "
                "played; leave mixed out."
            )
        return super().for_learner(learner, horizon, actions=actions, budget_run=budget_run, features=features)

    def make_observe(self, observe: Kernel) -> Kernel:
        """Return the kernel that tells a learner of a round: what came of the action played."""

        def tell(state: Any, round: int, workspace: Workspace, slot: int) -> None:
            action = workspace.actions[slot]
            observe(
                state, round, action, workspace.probabilities[slot], workspace.row[action], workspace.scaled[action]
            )

        return tell

    def outcome_views(self, outcome: Floats) -> tuple[Floats, Floats]:
        """Return the places in an outcome for the loss and the costs, as they are mostly given."""
        return outcome[:1].reshape(()), outcome[1:].reshape(()) if self.resources == 1 else outcome[1:]

    @property
    def unpack_outcome(self) -> Kernel:
        """The kernel that writes a valid outcome into the row at hand."""
        return unpack_action_outcome

    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        """Return the loss of the action played, then its costs."""
        costs = self.parse_costs("Session.observe", action, given.get("cost"))
        if action < self.n_listed_actions:
            return (parse_loss(*loss_or_reward(round, given, "cost")), *costs)
        if (
            any(value is not None for value in given.values())
            and parse_loss(*loss_or_reward(round, given, "cost")) != 1.0
        ):
            raise FeedbackError(
                f"Session.observe: the null action of round {round} was added, and loses 1, got {dict(given)}; "
                "write observe(ticket)."
            )
        return (1.0, *costs)

    def parse_costs(self, who: str, action: int, cost: Any) -> EncodedOutcome:
        """Return the costs of the action played."""
        return self._parse_cost_table(who, cost, slice(action, action + 1))

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"loss": outcome[0], "cost": outcome[1:]}

    def decode(self, outcome: EncodedOutcome) -> tuple[Any, EncodedOutcome]:
        """Return the loss, and the costs."""
        return outcome[0], outcome[1:]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        """Return the loss of the action that was played."""
        return outcome[0]

    def costs(self, action: int, outcome: EncodedOutcome) -> EncodedOutcome:
        """Return what the action that was played cost, of each resource."""
        return outcome[1:]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the loss and the costs of the action; nothing, if it is an added null action."""
        return {"loss": float(losses[action]), "cost": costs[action]} if action < self.n_listed_actions else {}


def unpack_action_outcome(workspace: Workspace, prices: Floats, action: int, outcome: Floats) -> bool:
    """Write loss and costs of the action played into the row at hand; an added null action loses 1."""
    return (action < workspace.n_listed or outcome[0] == 1.0) and unpack_action(
        workspace, prices, action, outcome[0], outcome[1:]
    )
