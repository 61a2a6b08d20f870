"""Event log: damaged, replaced and forged files raise SessionError, or are read exactly as written."""

import json
import math
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from damaged_files import cells, other
from tombola import UCB1, Exp3
from tombola.errors import FeedbackError, SessionError, TombolaError
from tombola.learners.spec import to_spec
from tombola.persistence import Outcome, SessionFile, event_log
from tombola.persistence.event_log import EventLog

pytestmark = pytest.mark.usefixtures("plainly")

NAMES = ["a", "b", "c"]
IDS = [f"row {number}" for number in range(40)]


def begin(path: Path) -> Path:
    """Write a session file with every kind of event."""
    with SessionFile.start(path, IDS, NAMES, Exp3(), seed=3) as run:
        run.next(12)
        run.record_all(Outcome(round_, (round_ % 5) / 8) for round_ in (1, 4, 2, 7, 9))
        run.amend(2, loss=1.0)
        run.cancel(5)
        run.next(3)
        run.record(13, reward=0.25)
    return path


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
        found += [run.seed, run.status().to_json(), run.round_of("row 17"), run.round_of("row 3")]
        found += [run.next(), run.record(3, loss=0.5), run.record(4, loss=0.5), run.pending]
        assert run._session is not None
        return repr(found) + str(run._session._live.runner.memory.tobytes().hex())


def survives(path: Path, truth: str, one_sentence: Callable[[object], str]) -> bool:
    """Return whether a damaged file has its true content; otherwise it must raise one sentence."""
    try:
        found = read_content(path)
    except TombolaError as error:
        one_sentence(error)
        return False
    finally:
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert found == truth, "silently wrong"
    return True


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Path, str]:
    """A session file, and its content."""
    path = begin(tmp_path / "whole.run")
    return path, read_content(Path(shutil.copy(path, tmp_path / "truth.run")))


def damaged_bytes(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        changed, place = bytearray(content), int(rng.integers(len(content)))
        length = int(rng.choice([1, 1, 1, 2, 8, 64, 4096]))
        match rng.integers(4):
            case 0:
                changed[place] ^= 1 << int(rng.integers(8))
            case 1:
                changed[place : place + length] = rng.bytes(len(changed[place : place + length]))
            case 2:
                changed[place : place + length] = bytes(len(changed[place : place + length]))
            case _:
                del changed[place:]
        yield bytes(changed)


def check_bytes(
    whole: tuple[Path, str], one_sentence: Callable[[object], str], count: int, seed: int
) -> dict[str, int]:
    path, truth = whole
    counts = {"whole": 0, "refused": 0}
    for changed in damaged_bytes(path.read_bytes(), count, seed):
        (path.parent / "x.run").write_bytes(changed)
        counts["whole" if survives(path.parent / "x.run", truth, one_sentence) else "refused"] += 1
    return counts


def test_damaged_bytes(whole: tuple[Path, str], one_sentence: Callable[[object], str]) -> None:
    assert check_bytes(whole, one_sentence, count=150, seed=1)["refused"] > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_damaged_bytes_many(seed: int, whole: tuple[Path, str], one_sentence: Callable[[object], str]) -> None:
    print(check_bytes(whole, one_sentence, count=500, seed=100 + seed))


def changed_cells(whole: Path, path: Path) -> Iterator[str]:
    """Write the file again and again, with another cell changed each time; return the change."""
    for index, (table, column, row, value) in enumerate(cells(whole)):
        for new in other(value)[index % 2 :: 2]:
            shutil.copy(whole, path)
            connection = sqlite3.connect(path)
            try:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
                connection.commit()
            except sqlite3.IntegrityError:
                continue
            finally:
                connection.close()
            yield f"{table}.{column} of row {row} is {new!r}"


def test_changed_cell(whole: tuple[Path, str], tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    path, truth = whole
    tried = 0
    with closing(sqlite3.connect(path)) as connection:
        (end,) = connection.execute("SELECT value FROM about WHERE name = ?", (event_log.END_NAME,)).fetchone()
    for change in changed_cells(path, tmp_path / "x.run"):
        # The same position of the last event with a blank, or as bytes, changes nothing.
        assert end in str(change) or not survives(tmp_path / "x.run", truth, one_sentence), change
        tried += 1
    assert tried > 300


@pytest.mark.parametrize("table", ["events", "pool", "about"])
def test_missing_record(
    table: str, whole: tuple[Path, str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    path, truth = whole
    with closing(sqlite3.connect(path)) as connection:
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
    for row in rows:
        shutil.copy(path, tmp_path / "x.run")
        with closing(sqlite3.connect(tmp_path / "x.run")) as connection, connection:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        assert not survives(tmp_path / "x.run", truth, one_sentence), row


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER harm BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE more (x)",
        "ALTER TABLE events ADD COLUMN more TEXT",
        "DROP TABLE pool",
    ],
)
def test_changed_schema(statement: str, whole: tuple[Path, str]) -> None:
    with closing(sqlite3.connect(whole[0])) as connection, connection:
        connection.execute(statement)
    with pytest.raises(SessionError, match="damaged"):
        SessionFile.open(whole[0])


def test_changed_index_of_rows(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    """Two rows change places in the index alone; an id that is in no row is another matter."""
    with SessionFile.start(tmp_path / "a.run", IDS, NAMES, Exp3(), seed=3) as run:
        second, third = (id_.encode() for id_ in run.ids()[1:3])
    content = (tmp_path / "a.run").read_bytes()
    for id_, place, swapped in ((second, b"\2", b"\3"), (third, b"\3", b"\2")):
        assert content.count(id_ + place) == 1
        content = content.replace(id_ + place, id_ + swapped)
    (tmp_path / "a.run").write_bytes(content)
    with SessionFile.open(tmp_path / "a.run") as run:
        assert run.round_of(run.ids()[3]) == 4
        with pytest.raises(SessionError, match="damaged") as caught:
            run.round_of(second.decode())
        one_sentence(caught.value)
        with pytest.raises(FeedbackError, match="check its name"):
            run.round_of("row 40")


def test_added_event(tmp_path: Path) -> None:
    whole = begin(tmp_path / "my.run")
    connection = sqlite3.connect(whole)
    connection.execute("INSERT INTO events SELECT 1 + max(number), 'ticket', 16, '[0, 0.5]', randomblob(8) FROM events")
    connection.commit()
    connection.close()
    with pytest.raises(SessionError, match="end at its last event"):
        read_content(whole)


@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "and gone on from"])
def test_backup_copied_over_open_file(grown: bool, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with SessionFile.start(path, IDS, NAMES, UCB1(), seed=3) as run:
        run.next(3)
        shutil.copyfile(path, backup)
        for _ in range(5):
            run.next()
        with path.open("r+b") as file:  # the same file, with the old content
            file.write(backup.read_bytes())
        if grown:  # as many changes as the open file has seen, so that SQLite itself takes them for the same
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
        assert again.view().round == (5 if grown else 3)


def test_replaced_file(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    path, backup = tmp_path / "my.run", tmp_path / "backup.run"
    with SessionFile.start(path, IDS, NAMES, UCB1(), seed=3) as run:
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
    with SessionFile.start(tmp_path / "my.run", IDS, NAMES, UCB1(), seed=3) as run:
        log = run._log
        assert log._rows("PRAGMA synchronous") == [(3,)], "EXTRA: also the directory, after the journal is gone"
        assert log._rows("PRAGMA fullfsync") == [(1,)]
        assert log._rows("PRAGMA journal_mode") == [("delete",)]
        assert log._rows("PRAGMA trusted_schema") == [(0,)]


OWN_COLUMNS: dict[str, Any] = {"columns": ["id"], "id_column": "id", "delimiter": ",", "outcome": [None, 0.0, 1.0]}


def forged(path: Path, *events: tuple[Any, ...], **about: Any) -> Path:
    """Write a session of UCB1 with these events and this configuration; every digest fits."""
    decided = {"kind": "session", "learner": to_spec(UCB1()), "actions": ["a", "b"], "seed": 1}
    decided |= OWN_COLUMNS | about
    # A forger may write NaN.
    with mock.patch.object(event_log, "_encode_json", json.dumps):
        log = EventLog.create(path, "forger", decided, ["p", "q", "r"])
        with log.writing():
            for event in events:
                log.append(*event)
    log.close()
    return path


FIRST, SECOND = ("ticket", 1, [0, 1.0]), ("ticket", 2, [1, 1.0])
ANSWER = ("outcome", 1, [0.5])


@pytest.mark.parametrize(
    "events",
    [
        [("ticket", 1, 3.5)],
        [("ticket", 1, [0])],
        [("ticket", 1, [0, 1.0, 2])],
        [("ticket", 10**9, [0, 1.0])],
        [("ticket", 0, [0, 1.0])],
        [("ticket", 1, [0, "1.0"])],
        [("ticket", 1, [True, 1.0])],
        [FIRST, ("outcome", 1, None)],
        [FIRST, ("outcome", 1, 0.5)],
        [FIRST, ("outcome", 1, {"loss": 0.5})],
        [FIRST, ("outcome", 1, {"loss": {"a": 1}})],
        [FIRST, ("outcome", -1, [0.5])],
        [FIRST, ("outcome", 3, [0.5])],
        [FIRST, ("cancel", 1, "x")],
        [FIRST, ("cancel", 2, None)],
        [FIRST, ("call", 1, None)],
        [FIRST, ANSWER, ("ticket", 2, [10**9, 1.0]), ("outcome", 2, [0.5]), ("amend", 1, [0.25])],
        [FIRST, ANSWER, ("ticket", 2, [-1, 1.0]), ("outcome", 2, [0.5]), ("amend", 1, [0.25])],
        [FIRST, ANSWER, SECOND, ("amend", 1, [2.0])],
        [FIRST, ANSWER, SECOND, ("amend", 1, {"loss": 0.25})],
        [FIRST, ("amend", 1, [0.25])],
        [FIRST, ANSWER, ANSWER],
        [FIRST, FIRST],
        [FIRST, ("outcome", 1, [7.0])],
        [FIRST, ("outcome", 1, [math.nan])],
        [FIRST, ("outcome", 1, [0.5, 0.5])],
        [FIRST, ("outcome", 1, [True])],
        [FIRST, ("outcome", 1, [])],
        [FIRST, ("outcome", 1, ["0.5"])],
        [FIRST, ("cancel", 1, None), ANSWER],
        [FIRST, ("cancel", 1, None), ("cancel", 1, None)],
        [FIRST, ANSWER, ("cancel", 1, None)],
        [("ticket", 1, [2, 1.0])],
        [("ticket", 1, [0, math.nan])],
        [("ticket", 1, [1, 1.0])],
        [("ticket", 1, [0, 0.5])],
    ],
    ids=str,
)
def test_forged_event(events: list[Any], tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    """They were tracebacks, and the ticket before an amended outcome was not looked at: its action went into arrays."""
    path = forged(tmp_path / "r.run", *events)
    for ask in (SessionFile.status, SessionFile.view, SessionFile.next):
        with SessionFile.open(path) as run, pytest.raises(SessionError) as caught:
            ask(run)
        one_sentence(caught.value)


@pytest.mark.parametrize(
    "about",
    [{"actions": 3}, {"seed": "x"}, {"seed": None}, {"budget": 3.5}, {"budget": [1, 2, 3, 4, 5, 6]}, {"learner": []}],
    ids=str,
)
def test_forged_configuration(about: dict[str, Any], tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    path = forged(tmp_path / "r.run", FIRST, **about)
    with pytest.raises(SessionError) as caught:
        SessionFile.open(path)
    one_sentence(caught.value)


def test_forged_but_valid_file_opens(tmp_path: Path) -> None:
    with SessionFile.open(forged(tmp_path / "r.run", FIRST, ANSWER, SECOND)) as run:
        assert [(play.round, play.action) for play in run.pending] == [(2, "b")]


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_row_needs_its_predecessor(missing: int, tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    with SessionFile.start(path, list("abcd"), ["a", "b"], UCB1(), seed=1) as run:
        order = run.ids()
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("DELETE FROM pool WHERE place = ?", (missing,))
        with pytest.raises(SessionError, match=f"row {missing + 1} is missing"):
            run.round_of(order[missing])
    with pytest.raises(SessionError, match="the list of rows has changed"):
        SessionFile.open(path)


def test_gap_in_event_numbers(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    kept = EventLog.create(
        tmp_path / "r.run", "forger",
        {"kind": "session", "learner": to_spec(UCB1()), "actions": ["a", "b"], "seed": 1, **OWN_COLUMNS},
        ["p", "q", "r"],
    )  # fmt: skip
    with kept.writing():
        kept.append(*FIRST)
        kept._position = kept._end = kept._end._replace(number=2)
        kept.append(*ANSWER)
    kept.close()
    with SessionFile.open(tmp_path / "r.run") as run, pytest.raises(SessionError) as caught:
        run.status()
    assert "event 2 has changed or is missing" in one_sentence(caught.value)


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
