"""Journal: the file of a live run, a SQLite database that anybody can read: who plays, the rows in their order, events.

Each guarantee of a run is one of SQLite's. What `writing` encloses happens whole or not at all, also if the process
is killed in the middle: the next one to open the file rolls back. One process at a time writes, by a lock that dies
with its process. When `writing` ends without an error, the change is on the disk (synchronous=EXTRA). No round can have
two tickets, or two outcomes (UNIQUE). The file keeps SQLite's rollback journal, not its write-ahead log: that needs
shared memory, so it cannot work across machines, and can corrupt a file with two writers before SQLite 3.51.3.
"""

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tombola.errors import SessionError

FORMAT = 1
APPLICATION = int.from_bytes(b"tomb", "big")
PATIENCE = 60.0  # seconds to wait for another process

_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pool (round INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('ticket', 'outcome')),
        round INTEGER NOT NULL REFERENCES pool (round),
        action INTEGER, chance REAL, loss TEXT, reward TEXT,
        UNIQUE (kind, round))""",
    """CREATE VIEW plays AS
        SELECT ticket.round, pool.id, names.value AS action, ticket.chance, outcome.loss, outcome.reward
        FROM events AS ticket JOIN pool ON pool.round = ticket.round JOIN about ON about.name = 'actions'
        JOIN json_each(about.value) AS names ON names.key = ticket.action
        LEFT JOIN events AS outcome ON outcome.round = ticket.round AND outcome.kind = 'outcome'
        WHERE ticket.kind = 'ticket'""",
)


class Event(NamedTuple):
    """A ticket handed out (action, chance), or an outcome acknowledged (loss or reward), in the order they happened."""

    number: int
    kind: Literal["ticket", "outcome"]
    round: int
    action: int | None = None
    chance: float | None = None
    loss: Any = None
    reward: Any = None


class Journal:
    """One open file of a run; `about` says what was decided at the start."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection, self._process = connection, os.getpid()
        self.about: dict[str, Any] = {}

    @classmethod
    def create(cls, path: Path, about: dict[str, Any], ids: Sequence[str]) -> "Journal":
        """Make the file, whole or not at all; `ids` are the rows in the order in which they will be played."""
        journal = cls(path, _connect(path, "rwc"))
        try:
            with journal.writing():
                journal._write_start(about, ids)
        except BaseException:
            journal.close()
            raise
        journal.about = about
        return journal

    @classmethod
    def open(cls, path: Path) -> "Journal":
        """Open a file that `create` has made."""
        if not path.is_file():
            raise SessionError(f"Run: expected the file of a run, found none at {path}; start one, or check the path.")
        journal = cls(path, _connect(path, "rw"))
        try:
            with journal.reading():
                journal._read_about()
        except BaseException:
            journal.close()
            raise
        return journal

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Shut out other writers; when this ends, everything written is on the disk, or nothing after an error."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See the file as it is at one moment."""
        with self._transaction("BEGIN DEFERRED"):
            yield

    def events(self, after: int = 0) -> Iterator[Event]:
        """Return the events with a larger number, as they happened."""
        for row in self._rows("SELECT * FROM events WHERE number > ? ORDER BY number", after):
            yield Event(row[0], row[1], row[2], row[3], row[4], _value_in(row[5]), _value_in(row[6]))

    def append(self, event: Event) -> None:
        """Write an event; only inside `writing`."""
        chance = None if event.chance is None or math.isnan(event.chance) else event.chance
        values = (*event[:4], chance, _value_out(event.loss), _value_out(event.reward))
        self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def id_of(self, round_: int) -> str:
        """Return which row is played in a round."""
        return str(self._rows("SELECT id FROM pool WHERE round = ?", round_)[0][0])

    def round_of(self, row: str) -> int | None:
        """Return in which round a row is played, or None if there is no such row."""
        found = self._rows("SELECT round FROM pool WHERE id = ?", row)
        return int(found[0][0]) if found else None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if os.getpid() != self._process:
            raise SessionError(
                f"Run: {self.path} was opened by process {self._process}, got a call from its child {os.getpid()}; "
                "open it again in the child."
            )
        with _told(self.path):
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _write_start(self, about: dict[str, Any], ids: Sequence[str]) -> None:
        if self._rows("SELECT name FROM sqlite_master"):
            raise SessionError(f"Run.start: {self.path} exists already, and nothing is overwritten; take another name.")
        for statement in _SCHEMA:
            self._connection.execute(statement)
        self._connection.executemany(
            "INSERT INTO about VALUES (?, ?)", [(name, json.dumps(value)) for name, value in about.items()]
        )
        self._connection.executemany("INSERT INTO pool VALUES (?, ?)", enumerate(ids, start=1))
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _read_about(self) -> None:
        if self._rows("PRAGMA application_id")[0][0] != APPLICATION:
            raise SessionError(
                f"Run: expected the file of a run, got {self.path}, which is something else; give the file of a run."
            )
        version = self._rows("PRAGMA user_version")[0][0]
        if version != FORMAT:
            raise SessionError(
                f"Run: {self.path} has format {version}, this version of tombola reads {FORMAT}; "
                "use the version that wrote it."
            )
        self.about = {name: json.loads(value) for name, value in self._rows("SELECT name, value FROM about")}


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    with _told(path):
        address = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")  # macOS: otherwise its disk may still hold the write back
            connection.execute("PRAGMA trusted_schema = OFF")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            advice = "is held by another process for longer than a minute; end that one, then try again"
        elif code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            advice = "is not the file of a run, or is damaged; give the file of a run"
        else:
            advice = "could not be read or written; nothing was changed, so repair the cause and try again"
        raise SessionError(f"Run: {path} ({error}) {advice}.") from None


def _value_out(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _value_in(text: str | None) -> Any:
    return None if text is None else json.loads(text)
