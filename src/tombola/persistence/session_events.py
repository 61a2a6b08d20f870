"""Events of a run as the file has them: which can happen at all, by their form; the replay says whether they did."""

import math
from typing import Any

from tombola.persistence.event_log import LogEvent

TOLD = {"loss", "reward", "cost"}


def is_event(event: LogEvent, actions: int, horizon: int) -> bool:
    """Tell whether an event has the form of one of a run with so many actions and rounds.

    >>> is_event(LogEvent(1, "ticket", 1, 0, [2, 0.5]), 3, 9), is_event(LogEvent(1, "ticket", 1, 0, [3, 0.5]), 3, 9)
    (True, False)
    """
    if not (_is_whole(event.key) and 1 <= event.key <= horizon and _is_whole(event.again) and event.again >= 0):
        return False
    if event.again > 0 and event.kind != "amend":  # nothing else happens twice
        return False
    if event.kind == "ticket":
        return _is_play(event.value, actions)
    if event.kind == "cancel":
        return event.value is None
    return event.kind not in ("outcome", "amend") or (isinstance(event.value, dict) and event.value.keys() <= TOLD)


def _is_play(value: Any, actions: int) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    action, probability = value
    is_chance = probability is None or (
        isinstance(probability, float) and math.isfinite(probability)
    )  # a learner may say any
    return _is_whole(action) and 0 <= action < actions and is_chance


def _is_whole(value: Any) -> bool:
    return type(value) is int
