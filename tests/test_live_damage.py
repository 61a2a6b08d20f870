"""Files of runs that were damaged, replaced or written long ago: one sentence, or exactly what was written."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import UCB1, Exp3, Hedge, Learner, Session
from tombola.errors import FeedbackError, SessionError, TombolaError
from tombola.learners.spec import to_spec
from tombola.persistence import Outcome, SessionFile
from tombola.persistence import session_file as file_module
from tombola.persistence.event_log import EventLog
from tombola.rng import RngStreams

NAMES = ["a", "b", "c"]
IDS = [f"row {number}" for number in range(40)]


def begin(path: Path, learner: Learner | None = None) -> Path:
    """Write a run with every kind of event."""
    with SessionFile.start(path, IDS, NAMES, learner or Exp3(), seed=3) as run:
        run.next(12)
        run.record_all(Outcome(round_, (round_ % 5) / 8) for round_ in (1, 4, 2, 7, 9))
        run.amend(2, loss=1.0)
        run.cancel(5)
        run.next(3)
        run.record(13, reward=0.25)
    return path


def told(path: Path) -> str:
    """Return all that a run can say, and what it does next."""
    with SessionFile.open(path) as run:
        book = run.book()
        said = [book.tickets, book.outcomes, book.amended, book.cancelled, run.ids(), run.names, run.seed]
        said += [run.status().to_json(), run.round_of("row 17"), run.round_of("row 3")]
        said += [run.next(), run.record(3, loss=0.5), run.record(4, loss=0.5), run.pending]
        assert run.state is not None
        assert run._mind is not None
        return repr(said) + str(run._mind.runner.memory.tobytes().hex())


def glanced(path: Path) -> str:
    """Return what the quick commands say, which do not read every event."""
    with SessionFile.open(path) as run:
        run.brisk = True
        return repr([run.status().to_json(), run.status(), run.next(), run.pending])


def survives(
    path: Path, truth: str, one_sentence: Callable[[object], str], asked: Callable[[Path], str] = told
) -> bool:
    """Tell whether a damaged file says the truth; otherwise it must say one sentence."""
    try:
        said = asked(path)
    except TombolaError as error:
        one_sentence(error)
        return False
    finally:
        Path(f"{path}-journal").unlink(missing_ok=True)
    assert said == truth, "silently wrong"
    return True


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "EVENTS", 6)
    monkeypatch.setattr(file_module, "CHAPTER", 5)


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
    tmp_path: Path,
    one_sentence: Callable[[object], str],
    count: int,
    seed: int,
    asked: Callable[[Path], str] = told,
) -> dict[str, int]:
    truth = asked(Path(shutil.copy(begin(tmp_path / "whole.run"), tmp_path / "truth.run")))
    content, counts = (tmp_path / "whole.run").read_bytes(), {"whole": 0, "refused": 0}
    for changed in damaged_bytes(content, count, seed):
        (tmp_path / "x.run").write_bytes(changed)
        counts["whole" if survives(tmp_path / "x.run", truth, one_sentence, asked) else "refused"] += 1
    return counts


@pytest.mark.usefixtures("few_events")
def test_damaged_bytes_are_noticed(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    counts = check_bytes(tmp_path, one_sentence, count=150, seed=1)
    assert counts["refused"] > 20


@pytest.mark.usefixtures("few_events")
def test_damaged_bytes_never_make_the_status_wrong(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    counts = check_bytes(tmp_path, one_sentence, count=150, seed=2, asked=glanced)
    assert min(counts.values()) > 20


@pytest.mark.full
@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize("seed", range(10))
def test_five_hundred_damaged_files_are_noticed(
    seed: int, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    print(check_bytes(tmp_path, one_sentence, count=500, seed=100 + seed, asked=(told, glanced)[seed % 2]))


def cells(path: Path) -> Iterator[tuple[str, str, int, Any]]:
    """Return every cell of every table of a file."""
    connection = sqlite3.connect(path)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f"SELECT rowid, * FROM {table}")
        for row in cursor.fetchall():
            for column, value in zip(cursor.description[1:], row[1:], strict=True):
                yield table, column[0], row[0], value
    connection.close()


def spare(name: Any) -> bool:
    """Tell whether this is the name of what a file can do without: it is made again from the events."""
    return isinstance(name, str) and name.startswith(("checkpoint of ", "chapter after event "))


def other(value: Any) -> list[Any]:
    """Return other values for a cell: another number or digit, another type, none."""
    if isinstance(value, int):
        return [value + 1, -1 - value, "x"]
    if isinstance(value, bytes):
        return [bytes([value[0] ^ 1]) + value[1:], b"", value.hex(), None]
    if isinstance(value, str):
        swapped = [value.replace(digit, new, 1) for digit, new in ("12", "01", "58") if digit in value]
        return [*swapped, value + " ", "", value.encode(), "\udcff".encode("utf-8", "surrogatepass")]
    return ["x"]


def changed_cells(whole: Path, path: Path) -> Iterator[tuple[str, Any]]:
    """Write the file again and again, with another cell changed each time; return where, and what was there."""
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
            yield f"{table}.{column} of row {row} is {new!r}", value


@pytest.mark.usefixtures("few_events")
def test_every_changed_cell_is_noticed(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    whole, tried = begin(tmp_path / "whole.run"), 0
    truth = told(Path(shutil.copy(whole, tmp_path / "truth.run")))
    for where, value in changed_cells(whole, tmp_path / "x.run"):
        assert not survives(tmp_path / "x.run", truth, one_sentence) or spare(value), where
        tried += 1
    assert tried > 300


@pytest.mark.usefixtures("few_events")
def test_no_changed_cell_makes_the_status_wrong(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    whole, refused = begin(tmp_path / "whole.run"), 0
    truth = glanced(Path(shutil.copy(whole, tmp_path / "truth.run")))
    for where, value in changed_cells(whole, tmp_path / "x.run"):
        survived = survives(tmp_path / "x.run", truth, one_sentence, glanced)
        assert not survived or spare(value) or where.startswith(("events", "pool")), where
        refused += not survived
    assert refused > 60


@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize("table", ["events", "pool", "about", "state"])
def test_every_missing_line_is_noticed(table: str, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    whole = begin(tmp_path / "whole.run")
    truth = told(Path(shutil.copy(whole, tmp_path / "truth.run")))
    connection = sqlite3.connect(whole)
    rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
    connection.close()
    for row in rows:
        shutil.copy(whole, tmp_path / "x.run")
        connection = sqlite3.connect(tmp_path / "x.run")
        name = connection.execute(f"SELECT * FROM {table} WHERE rowid = ?", (row,)).fetchone()[0]
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        connection.commit()
        connection.close()
        assert survives(tmp_path / "x.run", truth, one_sentence) == spare(name), name


@pytest.mark.usefixtures("plainly")
def test_a_changed_index_of_the_rows_is_noticed(tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    """Two rows change places in the index alone; an id that is in no row is another matter."""
    with SessionFile.start(tmp_path / "a.run", IDS, NAMES, Exp3(), seed=3) as run:
        second, third = (id_.encode() for id_ in run.ids()[1:3])
    content = (tmp_path / "a.run").read_bytes()
    for id_, place, other in ((second, b"\2", b"\3"), (third, b"\3", b"\2")):
        assert content.count(id_ + place) == 1
        content = content.replace(id_ + place, id_ + other)
    (tmp_path / "a.run").write_bytes(content)
    with SessionFile.open(tmp_path / "a.run") as run:
        assert run.round_of(run.ids()[3]) == 4
        with pytest.raises(SessionError, match="damaged") as caught:
            run.round_of(second.decode())
        one_sentence(caught.value)
        with pytest.raises(FeedbackError, match="check its name"):
            run.round_of("row 40")


def test_an_event_added_by_another_hand_is_noticed(tmp_path: Path) -> None:
    whole = begin(tmp_path / "my.run")
    connection = sqlite3.connect(whole)
    connection.execute(
        "INSERT INTO events SELECT 1 + max(number), 'ticket', 16, 0, '[0, 0.5]', randomblob(8) FROM events"
    )
    connection.commit()
    connection.close()
    with pytest.raises(SessionError, match="end where it says"):
        told(whole)


@pytest.mark.parametrize("grown", [False, True], ids=["as it was", "and gone on from"])
def test_an_old_backup_copied_over_an_open_file_is_noticed(
    grown: bool, tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
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
        assert again.book().round == (5 if grown else 3)


def test_a_file_that_took_the_place_of_an_open_one_is_noticed(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
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


def test_a_race_or_another_database_is_no_session(tmp_path: Path) -> None:
    from tombola.persistence.event_log import EventLog

    EventLog.create(tmp_path / "x.race", "Race", {"kind": "race"}, ["a"]).close()
    with pytest.raises(SessionError, match="write tombola race instead"):
        SessionFile.open(tmp_path / "x.race")


def old_run(path: Path, learner: Learner, *, rounds: int, answered: int) -> Session:
    """Write a file as version 0.1 did, and return the session that it holds."""
    from tombola.learners.spec import to_spec
    from tombola.order import draw_order

    connection = sqlite3.connect(path)
    connection.executescript(
        """CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE pool (round INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
        CREATE TABLE events (number INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('ticket', 'outcome')),
            round INTEGER NOT NULL REFERENCES pool (round), action INTEGER, probability REAL, loss TEXT, reward TEXT,
            UNIQUE (kind, round));
        CREATE VIEW plays AS SELECT * FROM events;
        PRAGMA application_id = 1953459554; PRAGMA user_version = 1;"""
    )
    about = {
        "tombola run": "written by tombola.persistence", "tombola": "0.1.0", "learner": to_spec(learner),
        "actions": NAMES, "rows": len(IDS), "seed": 3,
    }  # fmt: skip
    connection.executemany("INSERT INTO about VALUES (?, ?)", [(k, json.dumps(v)) for k, v in about.items()])
    order = draw_order("random", len(IDS), RngStreams(3).order())
    connection.executemany("INSERT INTO pool VALUES (?, ?)", [(i + 1, IDS[row]) for i, row in enumerate(order)])
    session = Session(learner, NAMES, len(IDS), seed=3)
    for number in range(rounds + answered):
        if number < rounds:
            ticket = session.act()
            values: tuple[Any, ...] = (
                "ticket",
                ticket.round,
                int(ticket.action),
                float(ticket.probability),
                None,
                None,
            )
        else:
            loss: Any = [0.25, 0.5, 1.0] if learner.feedback == "full" else 0.25
            session.observe(session.tickets[number - rounds], loss=loss)
            values = ("outcome", number - rounds + 1, None, None, json.dumps(loss), None)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (number + 1, *values))
    connection.commit()
    connection.close()
    return session


@pytest.mark.parametrize("learner", [Exp3(), Hedge(rate=0.5)])
def test_an_old_file_still_opens_with_a_note(learner: Learner, tmp_path: Path) -> None:
    session = old_run(tmp_path / "old.run", learner, rounds=6, answered=4)
    with SessionFile.open(tmp_path / "old.run") as run:
        assert "without digests" in run.notes[0]
        assert run.book().tickets == list(session.tickets)
        assert run.book().outcomes == list(session.outcomes)
        ticket, (one,) = session.act(), run.next()
        assert (one.round, NAMES.index(one.action), one.probability) == ticket
    with SessionFile.open(tmp_path / "old.run") as run:
        assert run.notes == ()
        assert run.book().round == 7


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET action = (action + 1) % 3 WHERE number = 2",
        "UPDATE about SET value = '8' WHERE name = 'seed'",
        "UPDATE about SET value = '8' WHERE name = 'rows'",
        "UPDATE about SET value = '{' WHERE name = 'learner'",
        "DELETE FROM events WHERE number = 2",
        "DELETE FROM pool WHERE round = 2",
        "UPDATE events SET loss = '[]' WHERE number = 7",
        "UPDATE events SET round = 30 WHERE number = 7",
        "DROP TABLE events",
    ],
)
def test_a_damaged_old_file_is_one_sentence(change: str, tmp_path: Path, one_sentence: Callable[[object], str]) -> None:
    old_run(tmp_path / "old.run", Exp3(), rounds=6, answered=4)
    connection = sqlite3.connect(tmp_path / "old.run")
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(TombolaError) as refused:
        told(tmp_path / "old.run")
    one_sentence(refused.value)


def test_what_is_written_is_on_the_disk(tmp_path: Path) -> None:
    with SessionFile.start(tmp_path / "my.run", IDS, NAMES, UCB1(), seed=3) as run:
        database = run._journal._database
        assert database.rows("PRAGMA synchronous") == [(3,)], "EXTRA: also the directory, after the journal is gone"
        assert database.rows("PRAGMA fullfsync") == [(1,)]
        assert database.rows("PRAGMA journal_mode") == [("delete",)]
        assert database.rows("PRAGMA trusted_schema") == [(0,)]


def forged(path: Path, *events: tuple[Any, ...], **about: Any) -> Path:
    """Write a run of UCB1 and its events anew, some of them changed, so that every digest fits."""
    decided = {"kind": "session", "learner": to_spec(UCB1()), "actions": ["a", "b"], "seed": 1, **about}
    kept = EventLog.create(path, "forger", decided, ["p", "q", "r"])
    with kept.writing():
        for event in events:
            kept.append(*event)
    kept.close()
    return path


FIRST, SECOND = ("ticket", 1, [0, 1.0]), ("ticket", 2, [1, 1.0])
TOLD = ("outcome", 1, {"loss": 0.5})


@pytest.mark.usefixtures("plainly")
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
        [FIRST, ("outcome", 1, {"losses": 0.5})],
        [FIRST, ("outcome", 1, {"loss": {"a": 1}})],
        [FIRST, ("outcome", -1, {"loss": 0.5})],
        [FIRST, ("outcome", 3, {"loss": 0.5})],
        [FIRST, ("cancel", 1, "x")],
        [FIRST, ("cancel", 1, None, 1)],
        [FIRST, ("call", 1, None)],
        [FIRST, TOLD, ("ticket", 2, [10**9, 1.0]), ("outcome", 2, {"loss": 0.5}), ("amend", 1, {"loss": 0.25})],
        [FIRST, TOLD, ("ticket", 2, [-1, 1.0]), ("outcome", 2, {"loss": 0.5}), ("amend", 1, {"loss": 0.25})],
        [FIRST, TOLD, SECOND, ("amend", 1, {"loss": 0.25}, -1)],
        [FIRST, TOLD, SECOND, ("amend", 1, [0.25])],
    ],
    ids=str,
)
def test_an_event_that_cannot_happen_is_refused_though_its_digest_fits(
    events: list[Any], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    """They were tracebacks, and the ticket before an amended outcome was not looked at: its action went into arrays."""
    path = forged(tmp_path / "r.run", *events)
    for ask in (SessionFile.status, SessionFile.book, SessionFile.next):
        with SessionFile.open(path) as run, pytest.raises(SessionError) as caught:
            ask(run)
        one_sentence(caught.value)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    "about",
    [{"actions": 3}, {"seed": "x"}, {"seed": None}, {"budget": 3.5}, {"budget": [1, 2, 3, 4, 5, 6]}, {"learner": []}],
    ids=str,
)
def test_a_start_that_makes_no_run_is_refused_though_its_digest_fits(
    about: dict[str, Any], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    path = forged(tmp_path / "r.run", FIRST, **about)
    with pytest.raises(SessionError) as caught:
        SessionFile.open(path)
    one_sentence(caught.value)


@pytest.mark.usefixtures("plainly")
def test_what_is_forged_but_could_have_been_written_opens(tmp_path: Path) -> None:
    with SessionFile.open(forged(tmp_path / "r.run", FIRST, TOLD, SECOND)) as run:
        assert [(play.round, play.action) for play in run.pending] == [(2, "b")]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_row_is_not_read_without_the_one_before_it(missing: int, tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    with SessionFile.start(path, "abcd", ["a", "b"], UCB1(), seed=1) as run:
        order = run.ids()
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("DELETE FROM pool WHERE place = ?", (missing,))
        with pytest.raises(SessionError, match=f"row {missing + 1} is missing"):
            run.round_of(order[missing])
    with pytest.raises(SessionError, match="the list of rows is another one"):
        SessionFile.open(path)


@pytest.mark.usefixtures("plainly")
def test_a_gap_in_the_numbers_of_events_is_refused_though_every_digest_fits(
    tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    kept = EventLog.create(
        tmp_path / "r.run", "forger",
        {"kind": "session", "learner": to_spec(UCB1()), "actions": ["a", "b"], "seed": 1}, ["p", "q", "r"],
    )  # fmt: skip
    with kept.writing():
        kept.append(*FIRST)
        kept._here = kept._end = kept._end._replace(number=2)
        kept.append(*TOLD)
    kept.close()
    with SessionFile.open(tmp_path / "r.run") as run, pytest.raises(SessionError) as caught:
        run.status()
    assert "event 2 has changed or is missing" in one_sentence(caught.value)
