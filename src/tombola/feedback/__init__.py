"""Feedback models: the part of a row that a learner sees after the delay."""

from typing import Any

from tombola.budget.budget import BudgetRun
from tombola.errors import LearnerError
from tombola.feedback.bandit import BanditFeedback
from tombola.feedback.base import FeedbackModel, StepRunner
from tombola.feedback.budgeted import BudgetedBanditFeedback, BudgetedFeedback
from tombola.feedback.full import FullFeedback

# Feedback model by the value of a learner's attribute `feedback`.
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
    "StepRunner",
    "feedback_type",
    "make_feedback_model",
]


def make_feedback_model(
    learner: Any,
    horizon: int,
    *,
    actions: int,
    budget_run: BudgetRun | None = None,
    features: int | None = None,
) -> FeedbackModel:
    """Return the feedback model of a learner, by its attribute `feedback`.

    Raises LearnerError for an unknown `feedback`, and ParameterError if budget or features do not
    fit the learner. The parameters are those of `FeedbackModel.for_learner`.

    >>> from tombola import UCB1
    >>> make_feedback_model(UCB1(), 100, actions=3).outcome_width
    1
    """
    return feedback_type(learner).for_learner(
        learner, horizon, actions=actions, budget_run=budget_run, features=features
    )


def feedback_type(learner: Any) -> type[FeedbackModel]:
    """Return the subclass of `FeedbackModel` of a learner's attribute `feedback`.

    The attribute is a key of `FEEDBACK_MODELS`, such as "bandit", or such a subclass itself;
    LearnerError for anything else, and for a class.
    """
    feedback = getattr(learner, "feedback", None)
    kind = feedback if isinstance(feedback, type) else FEEDBACK_MODELS.get(str(feedback))
    if isinstance(learner, type) or kind is None or not issubclass(kind, FeedbackModel):
        raise LearnerError(
            f"{learner!r:.80}: expected a learner with feedback one of "
            f"{', '.join(map(repr, FEEDBACK_MODELS))}, got "
            f"{type(learner).__name__}; write for example UCB1(), with parentheses and without "
            "quotes."
        )
    return kind
