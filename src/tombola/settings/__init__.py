"""Settings: what a learner meets, as values; `setting_of` finds the one that a learner is made for."""

from typing import Any

from tombola.budget import Allowance
from tombola.errors import LearnerError
from tombola.settings.bandit import Bandit
from tombola.settings.base import Live, Setting
from tombola.settings.budgeted import Budgeted
from tombola.settings.budgeted_bandit import BudgetedBandit
from tombola.settings.full import Full

SETTINGS: dict[str, type[Setting]] = {
    "full": Full,
    "bandit": Bandit,
    "budgeted": Budgeted,
    "budgeted-bandit": BudgetedBandit,
}

__all__ = ["SETTINGS", "Bandit", "Budgeted", "BudgetedBandit", "Full", "Live", "Setting", "kind_of", "setting_of"]


def setting_of(
    learner: Any, horizon: int, *, actions: int, allowance: Allowance | None = None, features: int | None = None
) -> Setting:
    """Return the setting of a learner: so many rounds and actions, what may be spent, how many features are shown.

    The feedback of a learner is one of the short names, or a kind of setting itself.

    >>> from tombola import UCB1
    >>> setting_of(UCB1(), 100, actions=3).width
    1
    """
    return kind_of(learner).made(learner, horizon, actions=actions, allowance=allowance, features=features)


def kind_of(learner: Any) -> type[Setting]:
    """Return the kind of setting that a learner is made for."""
    feedback = getattr(learner, "feedback", None)
    kind = feedback if isinstance(feedback, type) else SETTINGS.get(str(feedback))
    if isinstance(learner, type) or kind is None or not issubclass(kind, Setting):
        raise LearnerError(_no_learner(learner))
    return kind


def _no_learner(given: Any) -> str:
    if isinstance(given, type):
        return f"{given.__name__}: expected a learner, got its class; write {given.__name__}()."
    if isinstance(given, str):
        return f"{given!r}: expected a learner, got a name; write tombola.{given}(), without quotes."
    return (
        f"{type(given).__name__}: expected a learner, whose feedback is one of {', '.join(map(repr, SETTINGS))}, got "
        f"{given!r}; write for example UCB1()."
    )
