"""Story: a race told from its answers alone: who fell at which row against whom, the wealths, what was saved."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import __version__
from tombola._types import Floats
from tombola.racing._race import WORST, Race
from tombola.racing.events import Event
from tombola.racing.options import Settings, fingerprint

if TYPE_CHECKING:
    from tombola.persistence.race_file import RaceFile


class Standing(NamedTuple):
    """A candidate: its mean loss over the rows that count for it, and, if it is out, when, against whom, how surely."""

    name: str
    mean: float
    rows: int
    active: bool
    against: str
    wealth: float


@dataclass(frozen=True, eq=False)
class Story:
    """A race at one moment. `wealth[n, c]` is what the bet against candidate c is worth after n + 1 rows."""

    race: Race
    standings: tuple[Standing, ...]
    wealth: Floats
    survivors: Floats
    calls: Floats
    name: str = ""
    means: dict[str, Any] | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of the names of the rows, as the list has them."""
        return fingerprint(self.race.rows)

    @property
    def cost_saved(self) -> float | None:
        """What the calls that were not made would have cost at the mean cost of those answered: a guess."""
        race = self.race
        return race.cost / race.answered * race.calls_saved if race.cost and race.answered else None

    def to_json(self) -> dict[str, Any]:
        """Return the story as plain data; a wealth without end is the word certain."""
        race = self.race
        return {
            "verdict": race.verdict,
            "proved": race.proved,
            "answer": list(race.answer),
            "done": race.done,
            "candidates": [_plain(one) for one in self.standings],
            "rows": len(race.rows),
            "rows counted": race.rows_counted,
            "calls": race.calls_made,
            "calls saved": race.calls_saved,
            "failures": race.failures,
            "cost": race.cost,
            "cost saved, about": self.cost_saved,
            "settings": race.settings.to_json(),
            "hash of the rows": self.fingerprint,
            "means": self.means or None,
            "tombola": __version__,
        }


def story_of(file: "RaceFile") -> Story:
    """Return the story of the race in a file."""
    return tell(file.settings, file.rows, file.events, name=file.path.name, means=file.means)


def tell(
    settings: Settings,
    rows: Sequence[str],
    events: Iterable[Event],
    *,
    name: str = "",
    means: dict[str, Any] | None = None,
) -> Story:
    """Return the story of the race with these settings and rows to which these events happened.

    >>> from tombola.racing import race, MemoryLog
    >>> notes = MemoryLog()
    >>> found = race(["a", "b"], ["x", "y", "z"], lambda name, row: float(name == "b"), seed=1, journal=notes)
    >>> story = tell(found.settings, found.rows, notes.replay())
    >>> story.survivors.tolist(), story.standings[0].name
    ([2.0, 2.0, 1.0], 'a')
    """
    kept = tuple(events)
    race = Race.restore(settings, rows, kept)
    wealth, survivors, calls = _track(race, {event.ticket: event for event in kept if event.kind == "answer"})
    return Story(race, _standings(race), wealth, survivors, calls, name, means)


def _track(race: Race, answers: dict[int, Event]) -> tuple[Floats, Floats, Floats]:
    """Go through the rows that count once more, and write down how every one of them changed the race."""
    field, k = race.settings.field(len(race.rows)), len(race.candidates)
    wealth = np.full((race.rows_counted, k), math.nan)
    survivors, calls = [float(k)], [0.0]
    row = np.zeros(k)
    for place in range(race.rows_counted):
        active = field.active
        for a in active:
            loss = answers[place * k + a].loss
            row[a] = WORST if loss is None else loss
        field.update(row)
        wealth[place, active] = field.state.worth[active]
        survivors.append(float(len(field.active)))
        calls.append(calls[-1] + len(active))
    return wealth, np.array(survivors), np.array(calls)


def _standings(race: Race) -> tuple[Standing, ...]:
    """Return the candidates in the race, the best first, then those that are out, the last first."""
    means, counted = race.means, race.rows_counted
    stay = sorted(race.active, key=lambda name: means[name])
    still = [Standing(name, means[name], counted, active=True, against="", wealth=math.nan) for name in stay]
    gone = [
        Standing(one.candidate, means[one.candidate], one.row, active=False, against=one.against, wealth=one.wealth)
        for one in race.dropped
    ]
    return (*still, *reversed(gone))


def _plain(one: Standing) -> dict[str, Any]:
    wealth = "certain" if math.isinf(one.wealth) else None if math.isnan(one.wealth) else one.wealth
    mean = None if math.isnan(one.mean) else one.mean
    return {**one._asdict(), "mean": mean, "wealth": wealth, "against": one.against or None}
