"""Outcome: what came of a ticket, as it is told, and the losses it means."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola.errors import FeedbackError

Losses = float | tuple[float, ...]


class Outcome(NamedTuple):
    """What came of a ticket: a loss or a reward; one number, or one for every action if feedback is full."""

    round: int
    loss: Any = None
    reward: Any = None

    def losses(self, feedback: str, actions: int) -> Losses:
        """Return the loss, or the losses of all actions; a reward is 1 - loss.

        >>> Outcome(3, reward=0.25).losses("bandit", 2), Outcome(3, [0, "0.5"]).losses("full", 2)
        (0.75, (0.0, 0.5))
        """
        if (self.loss is None) == (self.reward is None):
            raise FeedbackError(
                f"SessionFile.record: expected either a loss or a reward for ticket {self.round}, got "
                f"{'neither' if self.loss is None else 'both'}; give one of them."
            )
        given, name = (self.loss, "loss") if self.reward is None else (self.reward, "reward")
        values = _numbers(given)
        wanted = (actions,) if feedback == "full" else ()
        if values.shape != wanted or not ((values >= 0) & (values <= 1)).all():
            what = (
                f"{actions} numbers in [0, 1], one for every action" if feedback == "full" else "one number in [0, 1]"
            )
            advice = "give the whole row" if feedback == "full" else "rescale it before you record it"
            raise FeedbackError(f"SessionFile.record: {name} must be {what}, got {given!r}; {advice}.")
        losses = values if self.reward is None else 1.0 - values
        return tuple(losses.tolist()) if feedback == "full" else float(losses)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data, as it was told."""
        given, name = (self.loss, "loss") if self.reward is None else (self.reward, "reward")
        return {name: _numbers(given).tolist()}


def outcome_from(round: int, data: dict[str, Any]) -> Outcome:
    """Return the outcome that was written as plain data.

    >>> outcome_from(3, {"reward": 0.25})
    Outcome(round=3, loss=None, reward=0.25)
    """
    return Outcome(round, data.get("loss"), data.get("reward"))


def _numbers(given: Any) -> Any:
    try:
        return np.asarray(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return np.full(0, math.nan)
