"""Checks of the outcomes that a user gives for a ticket, shared by the codecs.

`FeedbackModel.encode` of each kind of feedback checks an outcome with these functions, and encodes
it as numbers.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tombola._types import Floats
from tombola.errors import FeedbackError

# The outcome of a round as `outcome_width` floats; each feedback model defines their layout (its
# class docstring).
EncodedOutcome: TypeAlias = tuple[float, ...]


def loss_or_reward(round: int, outcome: Mapping[str, Any], *others: str) -> tuple[Any, str]:
    """Return the loss or reward that a user gave, unchecked, and its name, "loss" or "reward".

    Raises FeedbackError unless exactly one of the two is given, and for arguments other than these
    and `others`.
    """
    for name, value in outcome.items():
        if value is not None and name not in ("loss", "reward", *others):
            raise FeedbackError(
                f"Session.observe: expected nothing but a loss or a reward for round {round}, "
                f"got {name}; "
                "write observe(ticket, loss=...)."
            )
    loss = outcome.get("loss")
    reward = outcome.get("reward")
    if (loss is None) == (reward is None):
        with_others = "".join(f", {name}=..." for name in others)
        raise FeedbackError(
            f"Session.observe: expected either a loss or a reward for round {round}, got "
            f"{'neither' if loss is None else 'both'}; write observe(ticket, "
            f"loss=...{with_others})."
        )
    return (loss, "loss") if reward is None else (reward, "reward")


def copy_into(target: Floats, source: Any) -> bool:
    """Copy numbers into an array; return False, and change nothing, unless they are floats of the same shape."""
    try:
        numbers = np.asarray(source, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        return False
    if numbers.shape != target.shape:
        return False
    target[...] = numbers
    return True


def are_losses(losses: Floats) -> bool:
    """Return whether all numbers are in [0, 1] and none is NaN; a kernel."""
    valid = True
    for loss in losses:
        valid = valid and 0.0 <= loss <= 1.0
    return valid


def parse_row(actions: int, losses: Any, name: str) -> Floats:
    """Return the losses of all actions, shape (actions,), from losses or rewards.

    Raises FeedbackError unless they are `actions` numbers in [0, 1].

    name: "loss" or "reward"; a reward r becomes the loss 1 - r.
    """
    row = np.zeros(actions)
    if not copy_into(row, losses) or not ((row >= 0) & (row <= 1)).all():
        raise FeedbackError(
            f"Session.observe: {name} must be {actions} numbers in [0, 1], one for every action "
            "(this learner needs "
            f"the whole row), got {' '.join(repr(losses).split())}; give the whole row."
        )
    return row if name == "loss" else 1.0 - row


def parse_loss(number: Any, name: str) -> float:
    """Return one loss in [0, 1] from a loss or reward; FeedbackError otherwise.

    name: "loss" or "reward"; a reward r becomes the loss 1 - r.
    """
    try:
        value = float(number)
    except (OverflowError, TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise FeedbackError(
            f"Session.observe: {name} must be one number in [0, 1], got {number!r}; rescale it "
            "before you observe."
        )
    return value if name == "loss" else 1.0 - value
