"""RaceFile: a race in a file, for several processes at once; killed at any moment, it goes on without repeating a call.

The file is the same kind as that of a live session (`tombola.persistence.event_log`): the settings, the rows as the list has them,
and every call and answer as it happened, each sealed by a digest. The race itself is made again from them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from tombola import __version__
from tombola._formatting import is_encodable
from tombola._process_bound import ProcessBound
from tombola.errors import MALFORMED_DATA_ERRORS, ParameterError, SessionError
from tombola.persistence import event_log as journal
from tombola.racing._race import Race
from tombola.racing.events import Call, Event, EventSink, MemoryLog
from tombola.racing.options import Settings, distinct

VIEWS = (
    """CREATE VIEW answers AS
        SELECT key AS ticket, json_extract(value, '$.loss') AS loss, json_extract(value, '$.cost') AS cost,
            json_extract(value, '$.failed') AS failed
        FROM events WHERE kind = 'answer'""",
)


class RaceFile(ProcessBound):
    """A race that several processes may open at once (each for itself).

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with RaceFile.start(f"{folder.name}/my.race", Settings(("a", "b"), seed=1), ["x", "y", "z"]) as file:
    ...     calls = file.calls()
    ...     file.record(calls[0].ticket, loss=0.5), file.record(calls[0].ticket, loss=0.5)
    (True, False)
    >>> with RaceFile.open(f"{folder.name}/my.race") as file:
    ...     [call.candidate for call in file.race.pending]
    ['b']
    >>> folder.cleanup()
    """

    _alternative = "RaceFile.open(path) there"

    def __init__(self, kept: journal.EventLog) -> None:
        self.path = kept.path
        self._kept = kept
        self._bind_to_process()
        with kept.reading():
            self.rows = tuple(kept.ids())
        try:
            self.settings = Settings.from_json(kept.about["race"])
        except MALFORMED_DATA_ERRORS as error:
            said = " ".join(str(error).split())
            raise SessionError(
                f"RaceFile: {self.path} was written by another version of tombola ({said}); use that one."
            ) from None
        self.means: dict[str, Any] = kept.about.get("means") or {}
        kept.fits = is_event
        self._race: Race | None = None
        self._events: list[Event] = []

    @classmethod
    def start(
        cls, path: str | PathLike[str], settings: Settings, rows: Sequence[Any], means: dict[str, Any] | None = None
    ) -> "RaceFile":
        """Write a new file; one that exists is never overwritten. `means` may say how the calls are made."""
        names = distinct("rows", rows)
        for name in (*settings.candidates, *names):
            if not is_encodable(name):
                raise ParameterError(f"Race: names must be text, got {name!r} with a half sign; repair it.")
        about = {"kind": "race", "tombola": __version__, "race": settings.to_json(), "means": means}
        return cls(journal.EventLog.create(Path(path), "Race", about, names, VIEWS))

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "RaceFile":
        """Open the file of a race."""
        kept = journal.EventLog.open(Path(path), "Race", "race")
        try:
            return cls(kept)
        except BaseException:
            kept.close()
            raise

    @classmethod
    def at(
        cls, path: str | PathLike[str], settings: Settings, rows: Sequence[Any], means: dict[str, Any] | None = None
    ) -> "RaceFile":
        """Open the file of this very race, or start it."""
        if not Path(path).exists():
            return cls.start(path, settings, rows, means)
        file = cls.open(path)
        given = {**settings.to_json(), "rows": distinct("rows", rows), **(means or {})}
        found = {**file.settings.to_json(), "rows": file.rows, **file.means}
        other = [name for name in {**given, **found} if given.get(name) != found.get(name)]
        if other:
            file.close()
            raise SessionError(
                f"Race: {path} holds another race, with other {' and '.join(other)}; give the same again, "
                "or take another file."
            )
        return file

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of this file should know."""
        return tuple(self._kept.notes)

    @property
    def race(self) -> Race:
        """The race as the file has it now: look at it, and let the file change it."""
        with self._reading() as race:
            return race

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that has happened."""
        with self._reading():
            return tuple(self._events)

    def calls(self, count: int | None = None) -> list[Call]:
        """Hand out the next calls, as `Race.calls` does; never one twice."""
        with self._writing() as race:
            calls = race.calls(count)
            for call in calls:
                self._write(Event("call", call.ticket))
            return calls

    def record(self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False) -> bool:
        """Take in an answer, as `Race.record` does; when this returns, it is on the disk."""
        return self.record_all([Event("answer", ticket, loss, cost, failed)]) == 1

    def record_all(self, answers: Iterable[Event]) -> int:
        """Take in many answers, all or none, and return how many are news."""
        with self._writing() as race:
            return sum([self._take_in(race, answer) for answer in answers])

    def append(self, event: Event) -> None:
        """Keep an event of a race that is run elsewhere in this process; when this returns, it is on the disk."""
        with self._writing() as race:
            race.repeat(Event("call", event.ticket))
            if event.kind == "call":
                self._write(event)
            else:
                self._take_in(race, event)

    def replay(self) -> tuple[Event, ...]:
        """Return the events kept so far, in the order in which they happened."""
        return self.events

    def tickets(self) -> dict[tuple[str, str], int]:
        """Return the ticket of every call that was handed out, by candidate and row."""
        race = self.race
        calls = [race.call(event.ticket) for event in self.events]
        return {(call.candidate, call.row): call.ticket for call in calls}

    def close(self) -> None:
        """Close the file; what was recorded is on the disk already."""
        self._kept.close()

    def __enter__(self) -> "RaceFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[Race]:
        with self._locked(), self._forgetting(), self._kept.writing():
            yield self._current()

    @contextmanager
    def _reading(self) -> Iterator[Race]:
        with self._locked(), self._forgetting(), self._kept.reading():
            yield self._current()

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Forget what is in memory if anything fails, also the writing: the file is what counts."""
        try:
            yield
        except BaseException:
            self._race = None
            self._kept.restart()
            raise

    def _current(self) -> Race:
        """Return the race, with everything that has happened in the file since the last call."""
        if self._race is None:
            self._race, self._events = Race.restore(self.settings, self.rows), []
            self._kept.restart()
        for event in self._kept.news():
            found = self._event(event)
            self._race.repeat(found)
            self._events.append(found)
        return self._race

    def _event(self, kept: journal.LogEvent) -> Event:
        """Return what happened in the race, as it is kept in the file."""
        if kept.kind == "call":
            return Event("call", kept.key)
        if kept.kind == "answer":
            return Event("answer", kept.key, **kept.value)
        raise SessionError(f"RaceFile: expected a call or an answer, got {kept.kind!r}; use a later version.")

    def _take_in(self, race: Race, answer: Event) -> bool:
        news = race.record(answer.ticket, loss=answer.loss, cost=answer.cost, failed=answer.failed)
        if news:
            self._write(race.answer_to(answer.ticket))
        return news

    def _write(self, event: Event) -> None:
        value = None if event.kind == "call" else {"loss": event.loss, "cost": event.cost, "failed": event.failed}
        self._kept.append(event.kind, event.ticket, value)
        self._events.append(event)


def is_event(kept: journal.LogEvent) -> bool:
    """Tell whether an event has the form of a call or an answer; the race says whether it could happen.

    >>> is_event(journal.LogEvent(1, "call", 3, 0, None)), is_event(journal.LogEvent(1, "answer", 3, 0, [0.5]))
    (True, False)
    """
    if kept.again != 0:  # nothing happens twice
        return False
    if kept.kind == "answer":
        forms = {"loss": (float, type(None)), "cost": (float,), "failed": (bool,)}
        value = kept.value
        return (
            isinstance(value, dict) and value.keys() == forms.keys() and all(type(value[n]) in forms[n] for n in forms)
        )
    return kept.kind != "call" or kept.value is None


def journal_at(given: EventSink | str | PathLike[str] | None, settings: Settings, rows: Sequence[str]) -> EventSink:
    """Return where the events of a race are kept: a journal, the file at a path, or, if nothing is given, in memory."""
    if given is None:
        return MemoryLog()
    return RaceFile.at(given, settings, rows) if isinstance(given, str | PathLike) else given
