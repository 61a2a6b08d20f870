"""Event log: damaged, replaced and forged files raise SessionError, or are read exactly as written."""

import json
import math
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from damaged_files import changed_cells
from fuzz.driver import damage
from tombola import UCB1, Exp3
from tombola.errors import SessionError, TombolaError
from tombola.learners.spec import to_spec
from tombola.worklists import Outcome, SessionFile, event_log
from tombola.worklists.event_log import EventLog

pytestmark = pytest.mark.usefixtures("plainly")

NAMES = ["a", "b", "c"]
IDS = [f"row {number}" for number in range(40)]

# Path of a session file, and its content.
Whole = tuple[Path, str]
Check = Callable[[object], str]


def start(path: Path) -> SessionFile:
    return SessionFile.start(path, IDS, NAMES, UCB1(), seed=3)


def execute(path: Path, statement: str, *values: Any) -> list[Any]:
    """Change a file with SQL, as any program can."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def read_content(path: Path) -> str:
    """Return everything a session file can return, and its next steps."""
    with SessionFile.open(path) as run:
        view = run.view()
        found: list[Any] = [
            view.tickets,
            view.outcomes,
            sorted(view.amended),
            sorted(view.cancelled),
            run.ids(),
            run.names,
        ]
        found += [
            run.seed,
            run.status().to_json(),
            *(run.ticket_of(task.id) for task in run.pending),
        ]
        found += [run.next(), run.record(3, loss=0.5), run.record(4, loss=0.5), run.pending]
        assert run._session is not None
        return repr(found) + str(run._session._live.runner.memory.tobytes().hex())


@pytest.fixture
def whole(tmp_path: Path) -> Whole:
    """A session file with every kind of event, and its content."""
    path = tmp_path / "whole.run"
    with SessionFile.start(path, IDS, NAMES, Exp3(), seed=3) as run:
        run.next(12)
        run.record_all(Outcome(round_, (round_ % 5) / 8) for round_ in (1, 4, 2, 7, 9))
        run.amend(2, loss=1.0)
        run.cancel(5)
        run.next(3)
        run.record(13, reward=0.25)
    return path, read_content(Path(shutil.copy(path, tmp_path / "truth.run")))


@pytest.fixture
def survives(whole: Whole, tmp_path: Path, one_sentence: Check) -> Callable[[], bool]:
    """Return whether the damaged file x.run has its true content; otherwise it must raise one sentence."""

    def check() -> bool:
        try:
            found = read_content(tmp_path / "x.run")
        except TombolaError as error:
            one_sentence(error)
            return False
        finally:
            (tmp_path / "x.run-journal").unlink(missing_ok=True)
        assert found == whole[1], "silently wrong"
        return True

    return check


@pytest.mark.parametrize(
    "seeds",
    [
        range(150),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.full) for n in range(1000, 6000, 500)),
    ],
)
def test_damaged_bytes(
    seeds: range, whole: Whole, tmp_path: Path, survives: Callable[[], bool]
) -> None:
    refused = 0
    for seed in seeds:
        (tmp_path / "x.run").write_bytes(damage(whole[0].read_bytes(), seed))
        refused += not survives()
    assert refused > 20


def test_changed_cell(whole: Whole, tmp_path: Path, survives: Callable[[], bool]) -> None:
    tried = 0
    for change in changed_cells(whole[0], tmp_path / "x.run"):
        assert not survives(), change
        tried += 1
    assert tried > 300


@pytest.mark.parametrize("table", ["events", "pool", "about"])
def test_missing_record(
    table: str, whole: Whole, tmp_path: Path, survives: Callable[[], bool]
) -> None:
    for (row,) in execute(whole[0], f"SELECT rowid FROM {table}"):
        shutil.copy(whole[0], tmp_path / "x.run")
        execute(tmp_path / "x.run", f"DELETE FROM {table} WHERE rowid = ?", row)
        assert not survives(), row


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER harm BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE more (x)",
        "ALTER TABLE events ADD COLUMN more TEXT",
        "DROP TABLE pool",
    ],
)
def test_changed_schema(statement: str, whole: Whole) -> None:
    execute(whole[0], statement)
    with pytest.raises(SessionError, match="damaged"):
        SessionFile.open(whole[0])


def test_changed_index_of_rows(tmp_path: Path, one_sentence: Check) -> None:
    """Two rows change places in the index alone."""
    path = tmp_path / "a.run"
    with start(path) as run:
        run.next(4)
        second, third = (id_.encode() for id_ in run.ids()[1:3])
    content = path.read_bytes()
    for id_, place, swapped in ((second, b"\2", b"\3"), (third, b"\3", b"\2")):
        assert content.count(id_ + place) == 1
        content = content.replace(id_ + place, id_ + swapped)
    path.write_bytes(content)
    with SessionFile.open(path) as run:
        assert run.ticket_of(run.ids()[3]) == 4
        with pytest.raises(SessionError, match="damaged") as caught:
            run.ticket_of(second.decode())
        one_sentence(caught.value)


def test_start_on_a_full_disk_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(EventLog, "_write_start", fail)
    with pytest.raises(SessionError, match="disk is full"):
        start(tmp_path / "calls.run")
    assert list(tmp_path.iterdir()) == []


def test_added_event(whole: Whole) -> None:
    added = "SELECT 1 + max(number), 'ticket', 16, '[0, 0.5]', randomblob(8) FROM events"
    execute(whole[0], f"INSERT INTO events {added}")
    with pytest.raises(SessionError, match="end at its last event"):
        read_content(whole[0])


@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "and gone on from"])
def test_backup_copied_over_open_file(grown: bool, tmp_path: Path, one_sentence: Check) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with start(path) as run:
        run.next(3)
        shutil.copyfile(path, backup)
        for _ in range(5):
            run.next()
        with path.open("r+b") as file:  # the same file, with the old content
            file.write(backup.read_bytes())
        # as many changes as the open file has seen, so that SQLite itself takes them for the same
        if grown:
            with SessionFile.open(path) as another:
                for round_ in (1, 2, 3):
                    another.record(round_, loss=0.5)
                for _ in range(2):
                    another.next()
        before = path.read_bytes()
        for _ in range(2):
            with pytest.raises(SessionError) as refused:
                run.next()
            assert "backup" in one_sentence(refused.value)
        assert path.read_bytes() == before
    with SessionFile.open(path) as again:
        assert again.view().issued == (5 if grown else 3)


def test_replaced_file(tmp_path: Path, one_sentence: Check) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with start(path) as run:
        run.next(3)
        shutil.copyfile(path, backup)
        os.replace(backup, path)
        with pytest.raises(SessionError) as refused:
            run.next()
        assert "replaced" in one_sentence(refused.value)
        path.unlink()
        with pytest.raises(SessionError):
            run.next()


def test_open_rejects_race_file(tmp_path: Path) -> None:
    EventLog.create(tmp_path / "x.race", "Race", {"kind": "race"}, ["a"]).close()
    with pytest.raises(SessionError, match="write tombola race instead"):
        SessionFile.open(tmp_path / "x.race")


def test_durability_settings(tmp_path: Path) -> None:
    with start(tmp_path / "my.run") as run:
        log = run._log
        assert log._rows("PRAGMA synchronous") == [(3,)], (
            "EXTRA: also the directory, after the journal is gone"
        )
        assert log._rows("PRAGMA fullfsync") == [(1,)]
        assert log._rows("PRAGMA journal_mode") == [("delete",)]
        assert log._rows("PRAGMA trusted_schema") == [(0,)]


ABOUT: dict[str, Any] = {
    "kind": "session",
    "learner": to_spec(UCB1()),
    "actions": ["a", "b"],
    "seed": 1,
    "columns": ["id"],
    "id_column": "id",
    "delimiter": ",",
    "outcome": [None, 0.0, 1.0],
}


def forged(path: Path, *events: tuple[Any, ...], **about: Any) -> Path:
    """Write a session of UCB1 with these events and this configuration; every digest fits.

    An event of None leaves out a number.
    """
    # A forger may write NaN.
    with mock.patch.object(event_log, "_encode_json", json.dumps):
        log = EventLog.create(path, "forger", ABOUT | about, ["p", "q", "r"])
        with closing(log), log.writing():
            for event in events:
                if event is None:
                    log._position = log._end = log._end._replace(number=log._end.number + 1)
                else:
                    log.append(*event)
    return path


FIRST, SECOND = ("ticket", 1, [0, 1.0]), ("ticket", 2, [1, 1.0])
ANSWER = ("outcome", 1, [0.5])


@pytest.mark.parametrize(
    "events",
    [
        *([("ticket", 1, value)] for value in (3.5, [0], [0, 1.0, 2], [0, "1.0"], [True, 1.0])),
        *([("ticket", 1, value)] for value in ([2, 1.0], [0, math.nan], [1, 1.0], [0, 0.5])),
        *([("ticket", number, [0, 1.0])] for number in (10**9, 0)),
        *(
            [FIRST, ("outcome", 1, value)]
            for value in (None, 0.5, {"loss": 0.5}, {"loss": {"a": 1}}, [7.0])
        ),
        *(
            [FIRST, ("outcome", 1, value)]
            for value in ([math.nan], [0.5, 0.5], [True], [], ["0.5"])
        ),
        *([FIRST, ("outcome", number, [0.5])] for number in (-1, 3)),
        *(
            [FIRST, event]
            for event in (FIRST, ("cancel", 1, "x"), ("cancel", 2, None), ("call", 1, None))
        ),
        *([FIRST, ("cancel", 1, None), event] for event in (ANSWER, ("cancel", 1, None))),
        *([FIRST, ANSWER, event] for event in (ANSWER, ("cancel", 1, None))),
        *(
            [
                FIRST,
                ANSWER,
                ("ticket", 2, [action, 1.0]),
                ("outcome", 2, [0.5]),
                ("amend", 1, [0.25]),
            ]
            for action in (10**9, -1)
        ),
        *([FIRST, ANSWER, SECOND, ("amend", 1, value)] for value in ([2.0], {"loss": 0.25})),
        [FIRST, ("amend", 1, [0.25])],
        [FIRST, None, ANSWER],
    ],
    ids=str,
)
def test_forged_event(events: list[Any], tmp_path: Path, one_sentence: Check) -> None:
    """They were tracebacks, and the ticket before an amended outcome was not looked at: its action went into arrays."""
    path = forged(tmp_path / "r.run", *events)
    for ask in (SessionFile.status, SessionFile.view, SessionFile.next):
        with SessionFile.open(path) as run, pytest.raises(SessionError) as caught:
            ask(run)
        one_sentence(caught.value)


@pytest.mark.parametrize(
    "about",
    [
        {"actions": 3},
        {"seed": "x"},
        {"seed": None},
        {"budget": 3.5},
        {"budget": [1, 2, 3, 4, 5, 6]},
        {"learner": []},
    ],
    ids=str,
)
def test_forged_configuration(about: dict[str, Any], tmp_path: Path, one_sentence: Check) -> None:
    path = forged(tmp_path / "r.run", FIRST, **about)
    with pytest.raises(SessionError) as caught:
        SessionFile.open(path)
    one_sentence(caught.value)


def test_forged_but_valid_file_opens(tmp_path: Path) -> None:
    with SessionFile.open(forged(tmp_path / "r.run", FIRST, ANSWER, SECOND)) as run:
        assert [(play.ticket, play.action) for play in run.pending] == [(2, "b")]


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_row_needs_its_predecessor(missing: int, tmp_path: Path) -> None:
    with start(tmp_path / "calls.run") as run:
        order = run.ids()
        execute(tmp_path / "calls.run", "DELETE FROM pool WHERE place = ?", missing)
        with pytest.raises(SessionError, match=f"row {missing + 1} is missing"):
            run.ticket_of(order[missing])
    with pytest.raises(SessionError, match="the list of rows has changed"):
        SessionFile.open(tmp_path / "calls.run")


def test_failed_connection_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = []

    class Broken(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("disk I/O error")

        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Broken))
    with pytest.raises(SessionError, match="disk"):
        EventLog(tmp_path / "calls.run", "SessionFile", "rwc")
    assert len(closed) == 1
