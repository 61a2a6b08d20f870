"""The race: the best of k candidates on a list of rows, with as few calls as the level allows (docs/theory/race.md)."""

from tombola.racing.ask_and_tell import Race
from tombola.racing.driver import Interrupted, race
from tombola.racing.events import Call, Dropped, Event, Keeper, Notes
from tombola.racing.file import RaceFile
from tombola.racing.planning import Plan, plan
from tombola.racing.programs import Programs
from tombola.racing.settings import Settings, fingerprint

__all__ = [
    "Call",
    "Dropped",
    "Event",
    "Interrupted",
    "Keeper",
    "Notes",
    "Plan",
    "Programs",
    "Race",
    "RaceFile",
    "Settings",
    "fingerprint",
    "plan",
    "race",
]
