"""Outcome: what came of a ticket, as it is told, and the numbers it means."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola.errors import FeedbackError
from tombola.feedback import FeedbackModel
from tombola.feedback.base import EncodedOutcome

Losses = float | tuple[float, ...]


class Outcome(NamedTuple):
    """What came of a ticket: a loss or a reward; one number, or one for every action if whole rows are seen.

    Under a budget also what it cost, one number for each resource, unless that is on the price list.
    """

    round: int
    loss: Any = None
    reward: Any = None
    cost: Any = None

    def numbers(self, setting: FeedbackModel, action: int) -> EncodedOutcome:
        """Return the losses, and the costs if there are any, as the setting counts them; a reward is 1 - loss.

        >>> from tombola.feedback import Bandit, Full
        >>> Outcome(3, reward=0.25).numbers(BanditFeedback(2, 9), 0), Outcome(3, [0, "0.5"]).numbers(FullFeedback(2, 9), 0)
        ((0.75,), (0.0, 0.5))
        """
        return (*self._losses(setting), *setting.parse_costs("SessionFile.record", action, self.cost))

    def _losses(self, setting: FeedbackModel) -> EncodedOutcome:
        if (self.loss is None) == (self.reward is None):
            raise FeedbackError(
                f"SessionFile.record: expected either a loss or a reward for ticket {self.round}, got "
                f"{'neither' if self.loss is None else 'both'}; give one of them."
            )
        given, name = (self.loss, "loss") if self.reward is None else (self.reward, "reward")
        if (
            type(given) is float and 0.0 <= given <= 1.0 and not setting.full_feedback
        ):  # what follows takes ten times as long
            return (given if self.reward is None else 1.0 - given,)
        values = _numbers(given)
        wanted = (setting.n_listed_actions,) if setting.full_feedback else ()
        if values.shape != wanted or not ((values >= 0) & (values <= 1)).all():
            one, advice = "one number in [0, 1]", "rescale it before you record it"
            if setting.full_feedback:
                one, advice = (
                    f"{setting.n_listed_actions} numbers in [0, 1], one for every action",
                    "give the whole row",
                )
            raise FeedbackError(f"SessionFile.record: {name} must be {one}, got {given!r}; {advice}.")
        losses = values if self.reward is None else 1.0 - values
        return tuple(np.atleast_1d(losses).tolist())

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data, as it was told."""
        given = (("loss", self.loss), ("reward", self.reward), ("cost", self.cost))
        return {name: _numbers(value).tolist() for name, value in given if value is not None}


def outcome_from(round: int, data: dict[str, Any]) -> Outcome:
    """Return the outcome that was written as plain data.

    >>> outcome_from(3, {"reward": 0.25})
    Outcome(round=3, loss=None, reward=0.25, cost=None)
    """
    return Outcome(round, data.get("loss"), data.get("reward"), data.get("cost"))


def _numbers(given: Any) -> Any:
    try:
        return np.asarray(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return np.full(0, math.nan)
