"""Settings: what a learner meets, as values; `feedback_model` finds the one that a learner is made for."""

from typing import Any

from tombola.budget.budget import BudgetRun
from tombola.errors import LearnerError
from tombola.feedback.bandit import BanditFeedback
from tombola.feedback.base import FeedbackModel, Live
from tombola.feedback.budgeted import BudgetedFeedback
from tombola.feedback.budgeted_bandit import BudgetedBanditFeedback
from tombola.feedback.full import FullFeedback

FEEDBACK_MODELS: dict[str, type[FeedbackModel]] = {
    "full": FullFeedback,
    "bandit": BanditFeedback,
    "budgeted": BudgetedFeedback,
    "budgeted-bandit": BudgetedBanditFeedback,
}

__all__ = [
    "FEEDBACK_MODELS",
    "BanditFeedback",
    "BudgetedBanditFeedback",
    "BudgetedFeedback",
    "FeedbackModel",
    "FullFeedback",
    "Live",
    "feedback_type",
    "make_feedback_model",
]


def make_feedback_model(
    learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None = None, features: int | None = None
) -> FeedbackModel:
    """Return the setting of a learner: so many rounds and actions, what may be spent, how many features are shown.

    The feedback of a learner is one of the short names, or a kind of setting itself.

    >>> from tombola import UCB1
    >>> make_feedback_model(UCB1(), 100, actions=3).outcome_width
    1
    """
    return feedback_type(learner).for_learner(
        learner, horizon, actions=actions, budget_run=budget_run, features=features
    )


def feedback_type(learner: Any) -> type[FeedbackModel]:
    """Return the kind of setting that a learner is made for."""
    feedback = getattr(learner, "feedback", None)
    kind = feedback if isinstance(feedback, type) else FEEDBACK_MODELS.get(str(feedback))
    if isinstance(learner, type) or kind is None or not issubclass(kind, FeedbackModel):
        raise LearnerError(_no_learner(learner))
    return kind


def _no_learner(given: Any) -> str:
    if isinstance(given, type):
        return f"{given.__name__}: expected a learner, got its class; write {given.__name__}()."
    if isinstance(given, str):
        return f"{given!r}: expected a learner, got a name; write tombola.{given}(), without quotes."
    return (
        f"{type(given).__name__}: expected a learner, whose feedback is one of {', '.join(map(repr, FEEDBACK_MODELS))}, got "
        f"{given!r}; write for example UCB1()."
    )
