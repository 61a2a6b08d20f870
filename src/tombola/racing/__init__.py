"""Races: find the best of k candidates on a list with few calls.

Theory: docs/theory/race.md.
"""

from tombola.racing._plan import Plan, plan
from tombola.racing._race import Race
from tombola.racing.driver import Interrupted, race
from tombola.racing.events import Call, Dropped, Event, EventSink, MemoryLog
from tombola.racing.settings import RaceSettings, hash_of_rows
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
    "RaceSettings",
    "SubprocessEvaluator",
    "hash_of_rows",
    "plan",
    "race",
]
