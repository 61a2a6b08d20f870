"""The race: the best of k candidates on a list of rows, with as few calls as the level allows (docs/theory/race.md)."""

from tombola.racing._plan import Plan, plan
from tombola.racing._race import Race
from tombola.racing.driver import Interrupted, race
from tombola.racing.events import Call, Dropped, Event, EventSink, MemoryLog
from tombola.racing.options import Settings, fingerprint
from tombola.racing.subprocess_evaluator import SubprocessEvaluator

__all__ = [
    "Call",
    "Dropped",
    "Event",
    "EventSink",
    "Interrupted",
    "MemoryLog",
    "Plan",
    "Race",
    "Settings",
    "SubprocessEvaluator",
    "fingerprint",
    "plan",
    "race",
]
