"""RaceFile: a race in a file, for several processes, safe against kills.

The file is an append-only event log (`tombola.worklists.event_log`): the settings, the rows in
the order of the list, and every call, answer, lease and raised limit with a chained digest. The
race itself is rebuilt from them. A driver (`tombola.racing.driver`) uses the file as its event log
and holds the race. `calls`, `lease` and `record` are for processes that make no calls themselves,
such as `tombola race next`, `tombola race record` and `tombola serve`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from tombola import __version__
from tombola._formatting import is_encodable
from tombola.errors import MALFORMED_DATA_ERRORS, ParameterError, SessionError
from tombola.racing._race import Race, conflicting_answer, is_same_answer
from tombola.racing.events import Call, Event, EventSink, MemoryLog
from tombola.racing.options import RaceSettings, distinct_names
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import Strata
from tombola.tables.cells import RowList
from tombola.tables.names import without_kind_word
from tombola.worklists.event_log import EventLog, LogEvent
from tombola.worklists.leases import LeasedFile

# SQL statements that create the views of a race file, for people who open it with SQLite. The only
# view, `answers`, has one line per answer: ticket, loss, cost, failed.
VIEWS = (
    """CREATE VIEW answers AS
        SELECT key AS ticket, json_extract(value, '$.loss') AS loss, json_extract(value, '$.cost') AS cost,
            json_extract(value, '$.failed') AS failed
        FROM events WHERE kind = 'answer'""",
)

# Fields of the value of an answer event, with their types in JSON.
_ANSWER_FIELDS: dict[str, tuple[type, ...]] = {
    "loss": (float, type(None)),
    "cost": (float,),
    "failed": (bool,),
}
# First bytes of every file of SQLite.
_SQLITE_MAGIC = b"SQLite format 3\0"
# Settings that may be raised while a race runs.
_LIMITS = ("max_calls", "max_cost")


class RaceFile(LeasedFile[None, Call]):
    """A race in a file; several processes may open it, each with its own object.

    Made by `RaceFile.start`, `RaceFile.open` or `RaceFile.at`; a context manager that closes the
    file. The function `tombola.race` uses it as its event log. Attributes beside the parameters of
    `start`: earlier_limits (max_calls and max_cost before each raise, oldest first), and columns,
    id_column, delimiter of the user's list ("row" and "," without one). The settings have the
    present limits.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with RaceFile.start(f"{folder.name}/my.race", RaceSettings(("a", "b"), seed=1), ["x", "y", "z"]) as file:
    ...     calls = file.calls()
    ...     file.record(calls[0].ticket, loss=0.5), file.record(calls[0].ticket, loss=0.5)
    (True, False)
    >>> with RaceFile.open(f"{folder.name}/my.race") as file:
    ...     [call.candidate for call in file.race.pending]
    ['b']
    >>> folder.cleanup()
    """

    _alternative = "RaceFile.open(path) there"

    def __init__(self, log: EventLog) -> None:
        with log.reading():
            self.rows = tuple(log.ids())
        with log.malformed_data_as_error():
            self._first_settings = self.settings = RaceSettings.from_json(
                log.about["race"]
            ).with_seed()
            stored = log.about.get("side_information")
            self.side = SideInformation.from_json(
                stored, len(self.rows), len(self.settings.candidates)
            )
            self.strata = Strata.from_json(log.about.get("strata"), len(self.rows))
            # A race that was not started from a table has only the names of its rows.
            listed = log.about.get("list") or {
                "columns": ["row"],
                "id_column": "row",
                "delimiter": ",",
            }
            self.columns = tuple(str(name) for name in listed["columns"])
            self.id_column, self.delimiter = str(listed["id_column"]), str(listed["delimiter"])
        self.evaluator_config: dict[str, Any] = log.about.get("evaluator") or {}
        super().__init__(log)

    @classmethod
    def start(
        cls,
        path: str | PathLike[str],
        settings: RaceSettings,
        rows: Sequence[Any],
        evaluator_config: dict[str, Any] | None = None,
        side: SideInformation | None = None,
        strata: Strata | None = None,
        row_list: RowList | None = None,
    ) -> "RaceFile":
        """Create the file of a new race; SessionError if the file exists already.

        settings: a missing seed is drawn and stored. Only limits can be changed afterwards
            (`raise_limits`).
        rows: their names, all different.
        evaluator_config: how calls are made, as JSON data (`SubprocessEvaluator.to_json`); None if
            unknown.
        side: losses known before the race (answers on file), and other numbers of each row
            (history); None without.
        strata: groups of the rows; None without.
        row_list: the user's list with its columns, which tables of calls show; None: only the names
            of the rows.
        """
        names = distinct_names("rows", rows)
        for name in (*settings.candidates, *names):
            if not is_encodable(name):
                raise ParameterError(
                    f"Race: names must be valid Unicode, got {name!r} with a lone surrogate; "
                    "repair it."
                )
        settings = settings.with_seed()
        about = {
            "kind": "race",
            "tombola": __version__,
            "race": settings.to_json(),
            "evaluator": evaluator_config,
        }
        if side is not None and (stored := side.to_json()) is not None:
            about["side_information"] = stored
        if strata is not None:
            about["strata"] = strata.to_json()
        cells = None
        if row_list is not None:
            # Columns of candidates hold answers, which a table to fill in must not show.
            taken = {*settings.candidates}
            columns = enumerate(row_list.columns)
            own = [at for at, name in columns if taken.isdisjoint((name, without_kind_word(name)))]
            kept = [row_list.columns[at] for at in own]
            about["list"] = {
                "columns": kept,
                "id_column": row_list.id_column,
                "delimiter": row_list.delimiter,
            }
            cells = ([row[at] for at in own] for row in row_list.cells)
        return cls(EventLog.create(Path(path), "Race", about, names, VIEWS, cells))

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "RaceFile":
        """Open an existing race file; SessionError if it is missing or damaged."""
        log = EventLog.open(Path(path), "Race", "race")
        with log.closed_on_error():
            return cls(log)

    @classmethod
    def at(
        cls,
        path: str | PathLike[str],
        settings: RaceSettings,
        rows: Sequence[Any],
        evaluator_config: dict[str, Any] | None = None,
        side: SideInformation | None = None,
        strata: Strata | None = None,
    ) -> "RaceFile":
        """Open the file of this race, or start it; SessionError if it is another race.

        Parameters are those of `start`. Settings without a seed accept the seed of the file. A
        higher `max_calls` or `max_cost` is stored, and the race goes on.
        """
        if not Path(path).exists():
            return cls.start(path, settings, rows, evaluator_config, side, strata)
        file = cls.open(path)
        if settings.seed is None:
            settings = replace(settings, seed=file.settings.seed)
        given = {
            **settings.to_json(),
            "rows": distinct_names("rows", rows),
            **(evaluator_config or {}),
        }
        stored = {**file.settings.to_json(), "rows": file.rows, **file.evaluator_config}
        side = side or SideInformation.of(settings.candidates, given["rows"])
        # Other evidence is another race: the digest covers all of it.
        given["answers on file"], stored["answers on file"] = side.digest, file.side.digest
        given["groups"], stored["groups"] = strata, file.strata
        limits = [name for name in _LIMITS if None not in (given[name], stored[name])]
        raised = {name: given[name] for name in limits if given[name] > stored[name]}
        different = [
            name
            for name in {**given, **stored}
            if given.get(name) != stored.get(name) and name not in raised
        ]
        if different:
            file.close()
            raise SessionError(
                f"Race: {path} holds another race, with different {' and '.join(different)}; "
                "give the same again "
                "(a limit may be higher), or use another file."
            )
        if raised:
            file.raise_limits(**raised)
        return file

    @property
    def race(self) -> Race:
        """The `Race` after all events in the file, also of other processes; only read it."""
        with self._reading():
            return self._current_race()

    def calls(self, count: int | None = None) -> list[Call]:
        """Issue the next calls, candidates to evaluate on rows; no call is issued twice.

        Returns an empty list if none is possible now: the race is over, a limit is reached, or
        pending answers come first.

        count: largest number of calls; None: all that the next row needs.
        """
        with self._writing():
            return self._items(self._issue(count))

    def _issue(self, count: int | None, *, is_optional: bool = True) -> list[int]:
        calls = self._current_race().calls(count)
        for call in calls:
            self._write(Event("call", call.ticket))
        return [call.ticket for call in calls]

    def _pending_numbers(self) -> list[int]:
        return [call.ticket for call in self._current_race().pending]

    def _items(self, numbers: Iterable[int]) -> list[Call]:
        race = self._current_race()
        return [race.call(number) for number in numbers]

    @property
    def _lease_size(self) -> int:
        return len(self.settings.candidates)

    def record(
        self, ticket: int, *, loss: float | None = None, cost: float = 0.0, failed: bool = False
    ) -> bool:
        """Record the answer to a call; it is on the disk on return.

        Returns True, or False if the same answer was recorded before; ConflictError if another one
        was, FeedbackError if the call was not issued or the answer is not valid.

        loss: in [0, 1]; None if the call failed.
        cost: at least 0, in the unit of the limit `max_cost`.
        """
        return self.record_all([Event("answer", ticket, loss, cost, failed)]) == 1

    def record_all(self, answers: Iterable[Event]) -> int:
        """Record events of kind "answer", all or none; return how many are new."""
        count = 0
        with self._writing():
            race = self._current_race()
            for answer in answers:
                if race.record(
                    answer.ticket, loss=answer.loss, cost=answer.cost, failed=answer.failed
                ):
                    self._write(race.recorded(answer.ticket))
                    count += 1
        return count

    def raise_limits(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """Raise limits of the race, which goes on; None keeps a limit.

        ParameterError if a new limit is lower.
        """
        with self._writing():
            before = self.settings
            changed = before.with_limits(max_calls, max_cost)
            if changed != before:
                value = {name: getattr(changed, name) for name in _LIMITS}
                self._log.append("limits", 0, value)
                self._use_limits(value)

    def append(self, event: Event) -> None:
        """Store an event of a running race; it is on the disk on return.

        An answer that another process has recorded meanwhile is ignored if it is the same, else
        ConflictError.
        """
        with self._writing():
            before = self._answers.get(event.ticket)
            if event.kind == "answer" and before is not None:
                if not is_same_answer(before, event):
                    raise conflicting_answer(before, event, self.settings.units)
                return
            if event.kind == "call" and event.ticket in self._answers:
                return
            if self._race is not None:
                self._race.apply(event)
            self._write(event)

    def rows_of(self, calls: Sequence[Call]) -> list[tuple[str, ...]]:
        """Return the row of each call: cells in the user's list, in the order of columns."""
        if self._log.about.get("list") is None:
            return [(call.row,) for call in calls]
        with self._locked(), self._log.reading():
            return [
                tuple(cells) for cells in self._log.cells_of([call.row_index + 1 for call in calls])
            ]

    def replay(self) -> tuple[Event, ...]:
        """Return all calls and answers of the file in order, of all processes."""
        with self._reading():
            return tuple(self._events)

    def tickets(self) -> dict[tuple[str, str], int]:
        """Return the ticket numbers of all issued calls by (candidate name, row name)."""
        race = self.race
        calls = [race.call(ticket) for ticket in self._answers]
        return {(call.candidate, call.row): call.ticket for call in calls}

    def _forget(self) -> None:
        super()._forget()
        self._race: Race | None = None
        self._events: list[Event] = []
        # Answer of each issued call, None while it is pending.
        self._answers: dict[int, Event | None] = {}
        self.settings = self._first_settings
        self.earlier_limits: tuple[tuple[int | None, float | None], ...] = ()

    def _current(self) -> None:
        for stored in self._log.unread():
            try:
                self._replay(stored)
            except MALFORMED_DATA_ERRORS as error:
                reason = " ".join(str(error).split())
                raise self._log.damage_error(
                    f"event {stored.number} does not fit: {reason}"
                ) from None

    def _replay(self, stored: LogEvent) -> None:
        _, kind, ticket, value = stored
        if kind == "lease":
            self._replay_lease(ticket, value, self._answers)
        elif kind == "limits" and value.keys() == set(_LIMITS):
            self._use_limits(value)
        elif kind == "call" and value is None and ticket not in self._answers:
            self._apply(Event("call", ticket))
        elif (
            kind == "answer"
            and value.keys() == _ANSWER_FIELDS.keys()
            and self._answers.get(ticket) is None
        ):
            if not all(type(value[name]) in types for name, types in _ANSWER_FIELDS.items()):
                raise ValueError("malformed answer")
            self._apply(Event("answer", ticket, **value))
        else:
            raise ValueError(
                "unknown kind of event, or a ticket that was issued or answered before"
            )

    def _apply(self, event: Event) -> None:
        """Apply an event to the race, which checks it, if the race was built before."""
        if self._race is not None:
            self._race.apply(event)
        self._remember(event)

    def _use_limits(self, limits: dict[str, Any]) -> None:
        before = self.settings
        self.settings = before.with_limits(**limits)
        self.earlier_limits = (*self.earlier_limits, (before.max_calls, before.max_cost))
        if self._race is not None:
            self._race.raise_limits(**limits)

    def _current_race(self) -> Race:
        """Return the race after all events read so far; it is built on first use."""
        if self._race is None:
            self._race = Race.restore(
                self.settings, self.rows, self._events, self.side, self.strata
            )
        return self._race

    def _write(self, event: Event) -> None:
        value = (
            None
            if event.kind == "call"
            else {name: getattr(event, name) for name in _ANSWER_FIELDS}
        )
        self._log.append(event.kind, event.ticket, value)
        self._remember(event)

    def _remember(self, event: Event) -> None:
        self._events.append(event)
        self._answers[event.ticket] = event if event.kind == "answer" else None


def is_race_file(path: Path) -> bool:
    """Return whether a file may be a race file: it starts as an SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def open_log(
    log: EventSink | str | PathLike[str] | None,
    settings: RaceSettings,
    rows: Sequence[str],
    side: SideInformation | None = None,
    strata: Strata | None = None,
) -> tuple[RaceSettings, EventSink]:
    """Return the settings with a seed, and the event log of a race.

    settings: a missing seed is drawn, or that of the race file.
    log: an event log is returned as it is, a path opens or starts a race file (`RaceFile.at`), None
        is one in memory.
    """
    if isinstance(log, str | PathLike):
        file = RaceFile.at(log, settings, rows, side=side, strata=strata)
        return file.settings, file
    return settings.with_seed(), MemoryLog() if log is None else log
