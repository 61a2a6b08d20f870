"""Base of routers: learners that choose the action by the features of a row.

A router is a learner under a feedback model of this folder. `play`, `compare` and `Session` take it
as any other learner; the features are those of the pool, or the argument of `Session.act`.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats
from tombola.budget.budget import BudgetRun
from tombola.errors import FeedbackError, ParameterError

# Rows with known losses before the first training; fewer are too few to compare models of the
# features.
FIRST_BLOCK = 16


class Router:
    """Mixin of learners that choose by features; their repr has only changed parameters.

    >>> from tombola.policies import Routed
    >>> Routed(risk=2.0)
    Routed(risk=2.0)
    """

    # Training takes longer than loading the compiler, so that sessions never interpret the kernels.
    plans: ClassVar[bool] = True
    learns: ClassVar[bool] = True

    def __repr__(self) -> str:
        router: Any = self
        default = type(self)()
        names = [field.name for field in fields(router)]
        changed = [name for name in names if getattr(self, name) != getattr(default, name)]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in changed)
        return f"{type(self).__name__}({values})"


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Mixin of feedback models that show the features of a row before the decision."""

    uses_features: ClassVar[bool] = True
    features: int = 1

    @classmethod
    def for_learner(
        cls,
        learner: Any,
        horizon: int,
        *,
        actions: int,
        budget_run: BudgetRun | None,
        features: int | None,
    ) -> Self:
        """Return the model for a learner and a number of features; none with a budget."""
        name = type(learner).__name__
        if budget_run is not None:
            raise ParameterError(
                f"budget: expected none with {name}, got one; leave the budget out, or leave the "
                "features out and write ThriftyLP()."
            )
        make: Any = cls  # with the fields of the feedback model, which the mixin does not have
        return make(actions, horizon, features=feature_count(name, features))  # type: ignore[no-any-return]

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return self.features

    def encode_features(self, features: Any) -> Floats:
        """Return the features given to `Session.act`, NaN for a missing one."""
        try:
            row = np.atleast_1d(np.array(features, dtype=np.float64))
        except (TypeError, ValueError):
            row = np.zeros(0)
        if row.shape != (self.features,) or np.isinf(row).any():
            raise FeedbackError(
                f"Session.act: features must be {plural(self.features, 'number')}, NaN for a "
                f"missing one, got {features!r}; write act(features), or give Session the number of "
                "features."
            )
        return row


def feature_count(name: str, features: Any) -> int:
    """Return the number of features of a row; ParameterError if there are none.

    name: of the learner, for the message.
    """
    if isinstance(features, int | np.integer) and not isinstance(features, bool) and features > 0:
        return int(features)
    raise ParameterError(
        f"{name}: features must be a whole number of 1 or more, got {features!r}; write "
        "Pool(losses, features=...), or Session(..., features=4) with their number."
    )
