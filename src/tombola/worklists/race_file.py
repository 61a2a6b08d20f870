"""RaceFile: a race in a file, for several processes, safe against kills.

The file is an append-only event log (`tombola.worklists.event_log`): the settings, the rows in
the order of the list, and every call, answer, lease and raised limit with a chained digest. The
race itself is rebuilt from them. A driver (`tombola.racing.driver`) uses the file as its event log
and holds the race. `next`, `lease` and `record` are for processes that make no calls themselves,
such as `tombola race next`, `tombola race record` and `tombola serve`.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from tombola import __version__, _validate
from tombola._formatting import is_encodable
from tombola.errors import MALFORMED_DATA_ERRORS, FeedbackError, ParameterError, SessionError
from tombola.racing._race import Race, conflicting_answer, is_same_answer
from tombola.racing.events import Call, Event, EventSink, MemoryLog
from tombola.racing.settings import RULES, RaceSettings, distinct_names
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import Strata
from tombola.tables.cells import RowList
from tombola.tables.names import without_kind_word
from tombola.worklists.event_log import EventLog, LogEvent
from tombola.worklists.work_file import Assignment, Description, Outcome, WorkFile, errors_at

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
# The further field of a gate with several metrics: the losses by the others.
_OTHERS = "others"
# First bytes of every file of SQLite.
_SQLITE_MAGIC = b"SQLite format 3\0"
# Settings that may be raised while a race runs.
_LIMITS = ("max_calls", "max_cost")


class RaceFile(WorkFile[None]):
    """A race in a file; several processes may open it, each with its own object.

    Made by `RaceFile.start`, `RaceFile.open` or `RaceFile.at`; a context manager that closes the
    file. The function `tombola.race` uses it as its event log. Attributes beside the parameters of
    `start`: earlier_limits (max_calls and max_cost before each raise, oldest first), and columns,
    id_column, delimiter of the user's list ("row" and "," without one). The settings have the
    present limits.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with RaceFile.start(f"{folder.name}/my.race", RaceSettings(("a", "b"), seed=1), ["x", "y", "z"]) as file:
    ...     tickets = file.next()
    ...     file.record(tickets[0].ticket, loss=0.5), file.record(tickets[0].ticket, loss=0.5)
    (True, False)
    >>> with RaceFile.open(f"{folder.name}/my.race") as file:
    ...     [ticket.action for ticket in file.pending]
    ['b']
    >>> folder.cleanup()
    """

    kind = "race"
    _alternative = "RaceFile.open(path) there"

    def __init__(self, log: EventLog) -> None:
        # The first files had no number.
        rules = log.about.get("rules", 1)
        if rules != RULES:
            raise SessionError(
                f"Race: expected a race by rules {RULES}, got {log.path} by rules {rules!r:.20} of "
                "another version of tombola, whose verdict these rules could change; use the "
                "version that wrote it."
            )
        self._rows: tuple[str, ...] | None = None
        # Issued calls by row and candidate; None until they are needed.
        self._calls: dict[tuple[str, str], list[Call]] | None = None
        with log.malformed_data_as_error():
            self._first_settings = self.settings = RaceSettings.from_json(
                log.about["race"]
            ).with_seed()
            stored = log.about.get("side_information")
            self.side = SideInformation.from_json(stored, log.length, len(self.settings.candidates))
            self.strata = Strata.from_json(log.about.get("strata"), log.length)
            # A race that was not started from a table has only the names of its rows.
            stored_list = log.about.get("list") or {
                "columns": ["row"],
                "id_column": "row",
                "delimiter": ",",
            }
            self.columns = tuple(str(name) for name in stored_list["columns"])
            self.id_column = str(stored_list["id_column"])
            self.delimiter = str(stored_list["delimiter"])
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
            (`set_limits`).
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
        on_file = 0 if side is None else side.n_known
        settings = settings.with_seed().with_pilot(len(names), on_file)
        about = {
            "kind": "race",
            "tombola": __version__,
            "rules": RULES,
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
            candidate_names = {*settings.candidates}
            columns = enumerate(row_list.columns)
            own = [
                at
                for at, name in columns
                if candidate_names.isdisjoint((name, without_kind_word(name)))
            ]
            list_columns = [row_list.columns[at] for at in own]
            about["list"] = {
                "columns": list_columns,
                "id_column": row_list.id_column,
                "delimiter": row_list.delimiter,
            }
            cells = ([row[at] for at in own] for row in row_list.cells)
        return cls(EventLog.create(Path(path), "Race", about, names, VIEWS, cells))

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "RaceFile":
        """Open an existing race file; SessionError if it is missing or damaged."""
        return cls.of_log(EventLog.open(Path(path), "Race", "race"))

    @classmethod
    def of_log(cls, log: EventLog) -> "RaceFile":
        """Return the race of an open event log, as `open`."""
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

        Parameters are those of `start`. Settings without a seed accept the seed of the file. Limits
        may differ from run to run: another `max_calls` or `max_cost` is stored, None keeps the one
        of the file.
        """
        if not Path(path).exists():
            return cls.start(path, settings, rows, evaluator_config, side, strata)
        file = cls.open(path)
        if settings.seed is None:
            settings = replace(settings, seed=file.settings.seed)
        if settings.pilot is None:
            settings = replace(settings, pilot=file.settings.pilot)
        if settings.horizon is None:
            settings = replace(settings, horizon=file.settings.horizon)
        identity = {
            **settings.to_json(),
            "rows": distinct_names("rows", rows),
            **(evaluator_config or {}),
        }
        stored = {**file.settings.to_json(), "rows": file.rows, **file.evaluator_config}
        side = side or SideInformation.of(settings.candidates, identity["rows"])
        # Other evidence is another race: the digest covers all of it.
        identity["answers on file"] = side.digest
        stored["answers on file"] = file.side.digest
        identity["groups"] = strata
        stored["groups"] = file.strata
        limits = {name: identity[name] for name in _LIMITS if identity[name] != stored[name]}
        different = [
            name
            for name in {**identity, **stored}
            if identity.get(name) != stored.get(name) and name not in _LIMITS
        ]
        if different:
            file.close()
            raise SessionError(
                f"Race: {path} holds another race, with different {' and '.join(different)}; "
                "give the same again, or use another file."
            )
        try:
            file.set_limits(**limits)
        except ParameterError:
            file.close()
            raise
        return file

    @property
    def race(self) -> Race:
        """The `Race` after all events in the file, also of other processes; only read it."""
        with self._reading():
            return self._current_race()

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in the order of the list; read when they are first used."""
        if self._rows is None:
            with self._locked(), self._log.reading():
                self._rows = tuple(self._log.ids())
        return self._rows

    @property
    def done(self) -> bool:
        """Whether the race is answered, out of rows, or ended by a limit or failure."""
        return self.race.done

    def describe(self) -> Description:
        """Return the settings that do not change."""
        settings = self.settings
        return Description(
            kind="race",
            rows=self._log.length,
            actions=settings.candidates,
            n_listed=len(settings.candidates),
            full_feedback=False,
            columns=self.columns,
            id_column=self.id_column,
            delimiter=self.delimiter,
            direction=settings.kind,
            range=(float(settings.range[0]), float(settings.range[1])),
            unit=settings.unit,
            cost_columns=("cost",),
            default_cost=settings.default_cost,
            evaluator=self.evaluator_config or None,
            repeats=bool(settings.pilot)
            or (settings.first_reading == "expected" and settings.answers != "once"),
        )

    def _issue(self, count: int | None, *, is_optional: bool = True) -> list[int]:
        calls = self._current_race().calls(count)
        for call in calls:
            self._write(Event("call", call.ticket))
        return [call.ticket for call in calls]

    def _pending_numbers(self) -> list[int]:
        return [call.ticket for call in self._current_race().pending]

    def _items(self, numbers: Iterable[int]) -> list[Assignment]:
        race = self._current_race()
        return [self._assignment(race.call(number)) for number in numbers]

    def tickets_of(self, calls: Iterable[Call]) -> list[Assignment]:
        """Return the tickets of calls of the race, with the times of their issue."""
        with self._reading():
            return [self._assignment(call) for call in calls]

    def _assignment(self, call: Call) -> Assignment:
        since = self._since(call.ticket)
        return Assignment(call.ticket, call.row, call.candidate, since=since, run=call.run)

    def assignment(self, ticket: int) -> Assignment:
        """Return the issued ticket with this number; FeedbackError if it was not issued."""
        with self._reading():
            self._check_issued(self._current_race(), ticket)
            return self._items([ticket])[0]

    def _check_issued(self, race: Race, ticket: Any) -> None:
        """Raise FeedbackError unless a ticket of the race was issued."""
        if race.call(ticket).ticket not in self._answers:
            raise FeedbackError(
                f"Race.record: expected a ticket that has been issued, got {ticket}; list the next "
                f"calls with tombola race next {shlex.quote(str(self.path))}."
            )

    def ticket_of(self, id: str, action: str = "", run: int | None = None) -> int:
        """Return the ticket of a candidate on a row; FeedbackError if it was not issued.

        run: which call of the cell; None if it was called once.
        """
        with self._reading():
            race = self._current_race()
            if self._calls is None:
                self._calls = {}
                for ticket in self._answers:
                    call = race.call(ticket)
                    self._calls.setdefault((call.row, call.candidate), []).append(call)
            calls = self._calls.get((id, action), [])
        return ticket_of_run(calls, id, action, run)

    @property
    def _lease_size(self) -> int:
        return len(self.settings.candidates)

    def record_all(self, outcomes: Iterable[Outcome]) -> int:
        """Record many answers, all or none, as `record`; return how many are new."""
        with self._writing():
            race = self._current_race()
            # All are checked before the first one is stored: a rejected batch changes nothing.
            new: dict[int, Event] = {}
            for outcome in outcomes:
                with errors_at(outcome.source):
                    answer = self._answer(outcome)
                    self._check_issued(race, answer.ticket)
                    answer = race.checked(answer)
                    before = new.get(answer.ticket) or self._answers[answer.ticket]
                    if before is None:
                        new[answer.ticket] = answer
                    elif not is_same_answer(before, answer):
                        raise conflicting_answer(before, answer, self.settings.units)
            for answer in new.values():
                race.apply(answer)
                self._write(answer)
            return len(new)

    def _answer(self, outcome: Outcome) -> Event:
        """Return an outcome as an event, with the cost of a call that reports none."""
        cost = outcome.cost
        if isinstance(cost, list | tuple) and len(cost) == 1:
            cost = cost[0]
        if cost is None:
            cost = 0.0 if outcome.failed else self.settings.default_cost
        if cost is None:
            raise FeedbackError(
                "race record: expected the cost of the call, because the race has --max-cost, got "
                "none; write for example --cost 0.02."
            )
        loss = outcome.loss
        if outcome.reward is not None:
            if loss is not None:
                raise FeedbackError(
                    "race record: expected a loss or a reward, got both; leave one out."
                )
            loss = 1.0 - _validate.real("race record", "reward", outcome.reward, least=0, most=1)
        return Event("answer", outcome.ticket, loss, cost, outcome.failed)

    def set_limits(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """Change limits of the race, as `Race.set_limits`; None keeps a limit."""
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

    def rows_of(self, assignments: Sequence[Assignment]) -> list[tuple[str, ...]]:
        """Return the row of each ticket: cells in the user's list, in the order of columns."""
        if self._log.about.get("list") is None:
            return [(assignment.id,) for assignment in assignments]
        with self._reading():
            race = self._current_race()
            places = [race.call(assignment.ticket).row_index + 1 for assignment in assignments]
            return [tuple(cells) for cells in self._log.cells_of(places)]

    def verify(self) -> int:
        """Replay every event from the first one; return their number.

        SessionError if a digest does not fit, or an event is not one of this race.
        """
        with self._reading():
            for _ in self._log.ids():
                pass
            self._forget()
            self._current()
            self._current_race()
            return self._log.position

    def replay(self) -> tuple[Event, ...]:
        """Return all calls and answers of the file in order, of all processes."""
        with self._reading():
            return tuple(self._events)

    def counts(self) -> dict[str, Any]:
        """Return the numbers of rows, calls and candidates left, and whether it is done.

        left: pairs of a row and a candidate neither evaluated nor known before.
        """
        race = self.race
        return {
            "rows": len(race.rows),
            "rows_counted": race.rows_counted,
            "issued": race.calls_made,
            "answered": race.calls_answered,
            "pending": race.calls_made - race.calls_answered,
            "left": race.calls_left,
            "active": len(race.active),
            "done": race.done,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `RaceReport.to_json`, kind, pending, active, leader, summary."""
        from tombola.racing.report import RaceReport

        with self._reading():
            race = self._current_race()
            return {
                **RaceReport.from_file(self, race).to_json(),
                "kind": self.kind,
                "pending": [assignment.to_json() for assignment in self.pending],
                "active": list(race.active),
                "leader": race.leader,
                "summary": self.summary(),
            }

    def summary(self) -> str:
        """Return one line on the state: the verdict, or the progress until there is one."""
        from tombola.racing.driver import progress_line

        race = self.race
        return race.verdict if race.done else progress_line(race)

    def export(self, path: str | PathLike[str]) -> int:
        """Write all answers, by arrival, to a .csv or .parquet table; return how many."""
        from tombola.worklists.ticket_tables import export_answers

        return export_answers(self, Path(path))

    def _forget(self) -> None:
        super()._forget()
        self._race: Race | None = None
        self._events: list[Event] = []
        # Answer of each issued call, None while it is pending.
        self._answers: dict[int, Event | None] = {}
        self._calls = None
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
            and value.keys() - {_OTHERS} == _ANSWER_FIELDS.keys()
            and self._answers.get(ticket) is None
        ):
            others = value.get(_OTHERS, [])
            if not all(type(value[name]) in types for name, types in _ANSWER_FIELDS.items()):
                raise ValueError("malformed answer")
            if not all(type(other) is float for other in others):
                raise ValueError("malformed losses of further metrics")
            self._apply(Event("answer", ticket, **{**value, _OTHERS: tuple(others)}))
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
            self._race.set_limits(**limits)

    def _current_race(self) -> Race:
        """Return the race after all events read so far; it is built on first use."""
        if self._race is None:
            self._race = Race.restore(
                self.settings, self.rows, self._events, self.side, self.strata
            )
        return self._race

    def _write(self, event: Event) -> None:
        value: dict[str, Any] | None = None
        if event.kind == "answer":
            value = {name: getattr(event, name) for name in _ANSWER_FIELDS}
            if event.others:
                value[_OTHERS] = list(event.others)
        self._log.append(event.kind, event.ticket, value)
        self._remember(event)

    def _remember(self, event: Event) -> None:
        self._events.append(event)
        self._calls = None
        self._answers[event.ticket] = event if event.kind == "answer" else None


def ticket_of_run(
    calls: Sequence[Call] | Sequence[Assignment], row: str, candidate: str, run: int | None
) -> int:
    """Return the ticket of a run among the calls of a candidate on a row.

    FeedbackError if there is none, or several and no run is given: rows of races on random answers
    come again, and which answer belongs to which call must be stated.
    """
    matching = [call.ticket for call in calls if run in (None, call.run)]
    if len(matching) == 1:
        return matching[0]
    where = f"{candidate!r} on {row!r}" + ("" if run is None else f", run {run}")
    if matching:
        raise FeedbackError(
            f"race record: expected the run of {where}, which was called {len(matching)} times, "
            "got none; add a column run, or ticket, as race next printed it."
        )
    raise FeedbackError(
        f"race record: expected a call that has been issued, got {where}; request it with tombola "
        "race next."
    )


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
    on_file = 0 if side is None else side.n_known
    return settings.with_seed().with_pilot(len(rows), on_file), (
        MemoryLog() if log is None else log
    )
