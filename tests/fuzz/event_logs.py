"""Session and race files of every kind: damaged as bytes, changed as tables, or forged with digests that fit."""

import json
import sqlite3
import tempfile
import warnings
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from fuzz.driver import damage
from fuzz.forging import change_events, change_inside, choice, hostile
from fuzz.saved_sessions import PRICED, SPEND
from tombola.errors import TombolaError
from tombola.learners import UCB2, EmpiricalLP, Exp3, Hedge, Simulation, ThompsonSampling, ThriftyLP
from tombola.racing.events import Event
from tombola.racing.settings import RaceSettings
from tombola.worklists import SessionFile, session_file
from tombola.worklists.event_log import EventLog, LogEvent
from tombola.worklists.race_file import VIEWS, RaceFile

ROWS = [f"row {i}" for i in range(40)]
NAMES = ["a", "b", "c"]


class Kind(NamedTuple):
    """A kind of session: learner, actions, budget, rounds, and whether tickets are amended and cancelled."""

    learner: Any
    actions: int = 3
    budget: Any = None
    rounds: int = 15
    amended: bool = False
    cancelled: bool = False


RUNS = (
    Kind(Exp3()),
    Kind(Exp3(), amended=True, cancelled=True),
    Kind(UCB2(), amended=True),
    Kind(ThompsonSampling(), cancelled=True),
    Kind(Hedge(), amended=True),
    Kind(Simulation(Hedge()), cancelled=True),
    Kind(EmpiricalLP(), 2, SPEND, cancelled=True),
    Kind(ThriftyLP(), 2, SPEND),
    Kind(ThriftyLP(), 3, PRICED),
    Kind(Exp3(), rounds=40),
    Kind(UCB2(), rounds=0),
)
RACES = (
    RaceSettings(("x", "y", "z"), 3, max_cost=30.0),
    RaceSettings(("x", "y", "z"), 4, within=0.2, on_failure="stop"),
    RaceSettings(("x", "y", "z"), 5, top=2, max_calls=60),
    RaceSettings(("x", "y"), 6, baseline="y", better=True, reading="beyond"),
)


def runs(path: Path, seed: int) -> str:
    """Damage a session file, change a cell of it, or forge one with digests that fit."""
    return tried(path / f"{seed}.run", seed, *started_run((seed // 3) % len(RUNS)))


def races(path: Path, seed: int) -> str:
    """Do the same to a race file."""
    return tried(path / f"{seed}.race", seed, *started_race((seed // 3) % len(RACES)))


def tried(file: Path, seed: int, whole: bytes, said: str) -> str:
    """Return the result of a try: other content than the written one is wrong, unless it was forged and is valid."""
    file.write_bytes(damage(whole, seed) if seed % 3 == 0 else whole)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if seed % 3 == 2:
                return forged(file, seed)
            if seed % 3 == 1:
                change_tables(file, np.random.default_rng([seed, 37]))
            return "same" if content(file, goes_on=True) == said else "wrong"
    finally:
        file.unlink(missing_ok=True)


def forged(file: Path, seed: int) -> str:
    """Forge a file, and return whether its content is that of its events, given by the public calls."""
    written = content(file)
    events = forge(file, np.random.default_rng([seed, 41]))
    now, again = content(file), run_again if file.suffix == ".run" else race_again
    return "same" if now == written else "other" if now == again(file, events) else "wrong"


def content(file: Path, *, goes_on: bool = False) -> str:
    """Return everything that a file can return; with `goes_on` also what it does next."""
    with SessionFile.open(file) if file.suffix == ".run" else RaceFile.open(file) as opened:
        return repr([read(opened), *(next_steps(opened) if goes_on else ())])


def read(file: SessionFile | RaceFile) -> list[Any]:
    facts: list[Any]
    if isinstance(file, RaceFile):
        race = file.race
        facts = [
            race.verdict,
            race.answer,
            race.proved,
            race.pending,
            race.dropped,
            race.mean_losses,
            race.cost,
        ]
        facts += [
            race.failures,
            race.failed_call,
            race.leader,
            race.rows,
            file.replay(),
            file.settings,
        ]
        return [*facts, race.rule.state]
    view = file.view()
    facts = [
        file.status().to_json(),
        file.pending,
        file.names,
        file.seed,
        view.tickets,
        view.outcomes,
    ]
    return [*facts, sorted(view.amended), sorted(view.cancelled), repr(file.state)]


def next_steps(file: SessionFile | RaceFile) -> list[Any]:
    if isinstance(file, RaceFile):
        return [
            file.next(4),
            [file.record(call.ticket, loss=0.5) for call in file.race.pending[:2]],
        ]
    found: list[Any] = [
        [file.ticket_of(task.id) for task in file.pending[:1]],
        file.ids(),
        file.next(3) if file.issued < file.horizon else [],
    ]
    rng = np.random.default_rng(1)
    found += [
        file.record(play.ticket, **outcome(file, play.ticket, rng)) for play in file.pending[:1]
    ]
    return [*found, repr(file.state)]


def started(file: Path) -> tuple[bytes, str]:
    """Return the bytes of a file, and its content."""
    whole = file.read_bytes()
    return whole, content(file, goes_on=True)


@cache
def started_run(kind: int) -> tuple[bytes, str]:
    """Return the bytes of a run of some kind, and all that it says."""
    learner, actions, budget, rounds, amended, cancelled = RUNS[kind]
    with tempfile.TemporaryDirectory() as folder:
        file, rng = Path(folder) / "calls.run", np.random.default_rng(kind)
        with SessionFile.start(
            file, ROWS, NAMES[:actions], learner, budget=budget, seed=kind
        ) as run:
            for _ in range(0, rounds, 5):
                run.next(5)
                waiting = [play.ticket for play in run.pending]
                for ticket in waiting if rounds == len(ROWS) else waiting[::2]:
                    run.record(ticket, **outcome(run, ticket, rng))
            answered = [event.key for event in read_log(file)[1] if event.kind == "outcome"]
            for ticket in answered[:3] if amended else []:
                run.amend(ticket, **outcome(run, ticket, rng))
            for play in run.pending[:2] if cancelled else []:
                run.cancel(play.ticket)
        return started(file)


def outcome(run: SessionFile, ticket: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return something that may be told of a ticket."""
    action = run.names.index(run.assignment(ticket).action)
    setting, losses = (
        run.feedback_model,
        rng.integers(0, 5, run.feedback_model.n_listed_actions) / 4,
    )
    arguments: dict[str, Any] = {
        "loss": losses.tolist() if setting.full_feedback else float(losses[action])
    }
    if run.budget is not None:
        limits = setting.limits  # type: ignore[attr-defined]
        prices, worst = (
            limits.prices[: setting.n_listed_actions],
            limits.worst[: setting.n_listed_actions],
        )
        costs = np.where(np.isnan(prices), worst * rng.random(worst.shape), prices)
        arguments["cost"] = (costs if setting.full_feedback else costs[action]).tolist()
    return arguments


def read_log(file: Path) -> tuple[dict[str, Any], list[LogEvent], list[str]]:
    log = EventLog.open(file, "forger", "session" if file.suffix == ".run" else "race")
    with closing(log), log.reading():
        return dict(log.about), list(log.unread()), list(log.ids())


def forge(file: Path, rng: np.random.Generator) -> list[LogEvent]:
    """Write a file anew, with events or decisions changed, through the project's own event log: every digest fits."""
    about, events, ids = read_log(file)
    kind = about["kind"]
    if rng.random() < 0.2:
        name = choice(rng, list(about))
        about[name] = change_inside(about[name], rng)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
        events = change_events(
            events, LogEvent(1, "ticket", 1, [0, 1.0]), lambda event: change_event(event, rng), rng
        )
    if rng.random() < 0.05:
        ids.remove(choice(rng, ids))
    file.unlink()
    try:
        with mock.patch(
            "tombola.worklists.event_log._encode_json", json.dumps
        ):  # a forger writes NaN
            kept = EventLog.create(file, "forger", {**about, "kind": kind}, ids, VIEWS)
            with closing(kept), kept.writing():
                for event in events:
                    kept.append(event.kind, event.key, event.value)
    except (OverflowError, RecursionError, UnicodeEncodeError):
        raise TombolaError("no file can hold that") from None
    return events


def change_event(event: LogEvent, rng: np.random.Generator) -> LogEvent:
    """Return an event with another value, key or kind."""
    match int(rng.integers(6)):
        case 4:
            return event._replace(
                key=choice(rng, [0, -1, event.key + 1, 41, 10**9, 2**62, -(2**63)])
            )
        case 5:
            kinds = [
                "ticket",
                "outcome",
                "amend",
                "cancel",
                "lease",
                "limits",
                "call",
                "answer",
                "",
            ]
            return event._replace(kind=choice(rng, kinds))
        case _:
            return event._replace(value=change_inside(event.value, rng))


def run_again(file: Path, events: list[LogEvent]) -> str:
    """Return what a run says that began the same, and is told the same by the public calls."""
    other = file.with_suffix(".again")
    about, _, ids = read_log(file)
    with mock.patch("tombola.worklists.event_log._encode_json", json.dumps):
        EventLog.create(other, "SessionFile", about, ids, session_file.VIEWS).close()
    try:
        with SessionFile.open(other) as run:
            for event in events:
                if event.kind == "ticket":
                    run.next()
                elif event.kind == "cancel":
                    run.cancel(event.key)
                elif event.kind == "outcome" and not (
                    run.budget and event.key not in [one.ticket for one in run.pending]
                ):
                    run.record(
                        event.key, **run.feedback_model.to_observe_kwargs(tuple(event.value))
                    )
                elif event.kind == "amend":
                    run.amend(event.key, **run.feedback_model.to_observe_kwargs(tuple(event.value)))
            return repr([read(run)])
    finally:
        other.unlink()


@cache
def started_race(kind: int) -> tuple[bytes, str]:
    """Return the bytes of a race that is under way, and all that it says."""
    with tempfile.TemporaryDirectory() as folder:
        file, rng = Path(folder) / "my.race", np.random.default_rng(kind)
        with RaceFile.start(file, RACES[kind], ROWS) as race:
            for _ in range(8):
                for call in race.next()[: int(rng.integers(1, 4))]:
                    failed = bool(rng.random() < 0.05)
                    loss = None if failed else float(rng.integers(0, 5)) / 4
                    race.record(call.ticket, loss=loss, cost=float(rng.random()), failed=failed)
        return started(file)


def race_again(file: Path, events: list[LogEvent]) -> str:
    """Return what a race says that began the same, and is told the same by the public calls."""
    other = file.with_suffix(".again")
    with RaceFile.open(file) as kept:
        settings, rows = kept.settings, kept.rows
    try:
        with RaceFile.start(other, settings, rows) as kept:
            for event in events:
                arguments = {} if event.kind == "call" else event.value
                kept.append(Event(event.kind, event.key, **arguments))  # type: ignore[arg-type]
            return repr([read(kept)])
    finally:
        other.unlink()


def change_tables(file: Path, rng: np.random.Generator) -> None:
    """Change something in the tables of a file, as any program can: a cell, a line, their order, or their form."""
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as tables,
        suppress(sqlite3.Error, OverflowError, UnicodeEncodeError),
    ):
        names = [
            row[0] for row in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        table = choice(rng, names)
        columns = [row[1] for row in tables.execute(f"PRAGMA table_info({table})")]
        ids = [row[0] for row in tables.execute(f"SELECT rowid FROM {table}")]
        column = choice(rng, columns)
        row, two = (choice(rng, ids) if ids else 0 for _ in range(2))
        match int(rng.integers(12)):
            case 0 | 1 | 2 | 3 | 4:
                tables.execute(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (_cell(rng), row)
                )
            case 5:
                tables.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            case 6:
                taken = f"(SELECT {column} FROM {table} WHERE rowid = {two})"
                tables.execute(f"UPDATE {table} SET {column} = {taken} WHERE rowid = {row}")
            case 7:
                tables.execute(
                    f"INSERT INTO {table} SELECT {_moved(columns)} FROM {table} WHERE rowid = {row}"
                )
            case 8:
                tables.execute(
                    f"UPDATE {table} SET {column} = CAST({column} AS BLOB) WHERE rowid = {row}"
                )
            case 9:
                pragma = choice(rng, ["user_version", "application_id", "schema_version"])
                tables.execute(f"PRAGMA {pragma} = {choice(rng, [0, 1, 3, -1, 2**31 - 1])}")
            case 10:
                tables.execute(choice(rng, FORMS).format(table=table, column=column))
            case _:
                for rowid, moved in ((row, -7), (two, row), (-7, two)):
                    tables.execute(f"UPDATE {table} SET rowid = {moved} WHERE rowid = {rowid}")


FORMS = [
    "DROP TABLE {table}",
    "DELETE FROM {table}",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} ADD COLUMN more TEXT",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "CREATE TRIGGER harm AFTER INSERT ON {table} BEGIN DELETE FROM events; END",
    "CREATE TRIGGER harm BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER harm AFTER INSERT ON events BEGIN UPDATE events SET value = 'null'; END",
    "CREATE VIEW more AS SELECT * FROM {table}",
    "CREATE INDEX more ON {table} ({column})",
    "CREATE TEMP VIEW {table} AS SELECT 1",
]


def _moved(columns: list[str]) -> str:
    """Return the columns, the first, which numbers them, moved on."""
    return ", ".join([f"{columns[0]} || '1'", *columns[1:]])


def _cell(rng: np.random.Generator) -> Any:
    value = hostile(rng)
    return value if isinstance(value, int | float | str | None) else json.dumps(value).encode()
