"""The race: the best of k candidates on a list of rows, with as few calls as the level allows (docs/theory/race.md)."""

from tombola.racing.events import Call, Dropped, Event, Journal
from tombola.racing.race import Race
from tombola.racing.settings import Settings, fingerprint

__all__ = ["Call", "Dropped", "Event", "Journal", "Race", "Settings", "fingerprint"]
