"""Append-only event log in one SQLite file, of `SessionFile` and `RaceFile`.

A file has three tables:

about    the configuration as JSON values, its digest, and the number and digest of the last event
pool     the row ids with their place, counted from 1, and the cells of the list's own columns
         (JSON)
events   number (counted from 1), kind, key (the ticket), value (JSON) and digest

Every event carries a digest of itself and of the digest before it, and so does every row id.
Reading verifies the chain, so that a changed, missing or added record raises SessionError. Digests
detect accidents, not attackers: the owner of the log checks the shape of every event and replays
it.

Durability: a transaction is atomic also under `kill -9` (SQLite repairs the file when it is opened
next), is on the disk when it returns (synchronous=EXTRA), and excludes other writers. A file that
stays open may be written ahead (`write_ahead`): a transaction then waits for one sync, not for
four. `close` leaves one file again (`tombola.worklists.write_ahead`).

    log = EventLog.create(path, "Owner", {"kind": "session", ...}, ids)
    with log.writing():                     # or log.reading(): a consistent snapshot
        for event in log.unread():          # LogEvent(number, kind, key, value); must be exhausted before append
            state.apply(event)
        log.append("ticket", 1, [0, 0.5])   # on the disk when the block ends

An exception inside `writing` undoes the appended events. The owner then drops its state and calls
`rewind`, and the next `unread` starts at the first event.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple

from tombola._files import network_drive
from tombola._formatting import escape_control
from tombola.errors import MALFORMED_DATA_ERRORS, LearnerError, SessionError
from tombola.worklists.write_ahead import (
    FORMAT,
    FORMAT_AHEAD,
    Header,
    MainFile,
    discard_log,
)

# Number in the header of an SQLite file that marks it as a file of tombola.
_APPLICATION_ID = int.from_bytes(b"tomb", "big")
# Seconds to wait for the lock of another process before SessionError; a transaction takes far less.
_LOCK_TIMEOUT = 60.0
# Row ids requested in one query, with one more row each for the digest; old SQLite allows 999
# parameters.
_IDS_PER_QUERY = 400
# Rows read at a time where one is requested: the next requests are for those after it.
_ROWS_AHEAD = 64
# Events verified at a time: bounds the memory of a replay.
_EVENTS_PER_CHUNK = 1000

# Table -> SQL that creates it.
_SCHEMA = {
    "about": "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "pool": "CREATE TABLE pool (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cells TEXT "
    "NOT NULL, "
    "digest BLOB NOT NULL)",
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key INTEGER "
    "NOT NULL, "
    "value TEXT NOT NULL, digest BLOB NOT NULL)",
}
# Name in the table `about` of the digest of the configuration, which is not itself part of the
# configuration.
_DIGEST = "digest"
# Name in the table `about` of the end of the log: number and digest of the last event, as a JSON
# list.
END_NAME = "end"


# SQL that selects the end of the log as it is stated, the digest of an event, and the last number.
_END_QUERY = (
    "SELECT (SELECT value FROM about WHERE name = ?), "
    "(SELECT digest FROM events WHERE number = ?), (SELECT max(number) FROM events)"
)


class DamagedFileError(SessionError):
    """Raised if the content of a file was changed or lost; only a backup helps."""


class LogEvent(NamedTuple):
    """One event of a log, with its position from 1.

    kind: type of the event, such as "ticket", "outcome", "call" or "answer".
    key: number of the ticket that the event is about; 0 if it is about none.
    value: JSON data; its form depends on the kind.
    """

    number: int
    kind: str
    key: int
    value: Any


class _Position(NamedTuple):
    """Number and digest of the last event before a position; number 0 is the start."""

    number: int
    digest: bytes


class EventLog:
    """An open SQLite file of row ids and events; built by `create` or `open`.

    owner: name of the class that uses the log, for error messages.
    mode: of the SQLite connection: "rw" opens an existing file, "rwc" creates one.

    Attributes: `about`, the configuration given to `create`, with the number of rows added as
        "rows"; and `length`, the
    same number.
    """

    def __init__(self, path: Path, owner: str, mode: Literal["rw", "rwc"]) -> None:
        self.path = path
        self.owner = owner
        self.about: dict[str, Any] = {}
        self.length = 0
        self._start = self._position = self._end = _Position(0, b"")
        self._appended: list[tuple[Any, ...]] = []
        # Id and cells of the rows that were read last, which never change, by place.
        self._pool_rows: dict[int, tuple[str, str]] = {}
        self._is_writing = False
        # Whether this object writes ahead, and whether the log still belongs to the file.
        self._is_ahead = False
        # Whether the log beside the file is left to the object that writes it.
        self.only_reads = False
        self._is_followed = True
        self._rejected: SessionError | None = None
        self._lock = RLock()
        self._main = MainFile(path)
        with self._main_closed_on_error(), self._sqlite_errors():
            self._main.check_log(path, owner)
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                timeout=_LOCK_TIMEOUT,
                check_same_thread=False,
            )
            with self.closed_on_error():
                self._connection.execute("PRAGMA synchronous = EXTRA")
                self._connection.execute(
                    "PRAGMA fullfsync = ON"
                )  # macOS: otherwise the disk may delay the write
                self._connection.execute("PRAGMA trusted_schema = OFF")
                self._connection.execute("PRAGMA cell_size_check = ON")
                self._identity = _file_identity(path)
                if self._main.is_missing:
                    self._main = MainFile(path)
                self._changed = _time_changed(path)

    @classmethod
    def create(
        cls,
        path: Path,
        owner: str,
        about: Mapping[str, Any],
        ids: Iterable[str],
        views: Sequence[str] = (),
        cells: Iterable[Sequence[str]] | None = None,
    ) -> "EventLog":
        """Create the file atomically; SessionError if it exists already.

        about: the configuration, JSON data by name; `kind` is the type of the log, "session" or
            "race".
        ids: row ids, all different, in the order to store.
        views: SQL statements that create views, for people who open the file with other programs.
        cells: for each row, the cells of the columns of the user's list; None: no columns.
        """
        is_new = not path.exists()
        log = cls(path, owner, "rwc")
        try:
            with log.closed_on_error():
                with log._transaction("IMMEDIATE"):
                    if log._rows("SELECT name FROM sqlite_master"):
                        is_new = False
                        raise SessionError(
                            f"{owner}: {path} exists already, nothing is overwritten; take another "
                            "name."
                        )
                    log._write_start(about, ids, views, repeat(()) if cells is None else cells)
                log._read_start()
        except BaseException:
            # A full disk leaves an empty file, which nobody could open.
            if is_new and path.is_file() and path.stat().st_size == 0:
                path.unlink()
            raise
        return log

    @classmethod
    def open(cls, path: Path, owner: str, kind: str | None) -> "EventLog":
        """Open a file of this kind, written by `create`; SessionError for another one.

        kind: None accepts a session and a race.
        """
        if not path.is_file():
            raise SessionError(
                f"{owner}: expected the file of a {kind or 'session or race'}, found none at "
                f"{path}; check the path."
            )
        log = cls(path, owner, "rw")
        with log.closed_on_error():
            log._read_start()
            kinds = ("session", "race") if kind is None else (kind,)
            if log.about.get("kind") not in kinds:
                raise SessionError(
                    f"{owner}: expected the file of a {' or '.join(kinds)}, got {path}, that of a "
                    f"{log.about.get('kind')}; "
                    f"write tombola {log.about.get('kind')} instead."
                )
        return log

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the file for writing; when the block ends, appended events are on the disk.

        If it raises, none is. Read all of `unread` before the first `append`. A block inside of
        another one belongs to its transaction.
        """
        with self._transaction("IMMEDIATE"):
            yield
            self.flush()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read a consistent snapshot: events that other processes append are not visible.

        Inside of `writing`, or of another `reading`, it is part of that transaction.
        """
        with self._transaction("DEFERRED"):
            yield

    @contextmanager
    def malformed_data_as_error(self) -> Iterator[None]:
        """Convert errors of malformed data in the block to SessionError (damaged file)."""
        try:
            yield
        except (LearnerError, SessionError):
            raise
        except MALFORMED_DATA_ERRORS as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
            raise self.damage_error(
                f"its content is malformed, or of another version of tombola: {reason}"
            ) from error

    def unread(self) -> Iterator[LogEvent]:
        """Yield the events that were not read or appended by this object yet, in order.

        Only inside `reading` or `writing`. SessionError if the chain of digests is broken.
        """
        if self._position == self._end:
            return
        query = "SELECT * FROM events WHERE number > ? AND number <= ? ORDER BY number"
        cursor = self._connection.execute(query, (self._position.number, self._end.number))
        while rows := cursor.fetchmany(_EVENTS_PER_CHUNK):
            yield from self._verified(rows)
        if self._position != self._end:
            raise self.damage_error("events are missing at its end")

    def _verified(self, rows: list[tuple[Any, ...]]) -> Iterator[LogEvent]:
        number, digest = self._position
        for stored_number, kind, key, text, stored in rows:
            number += 1
            digest = _link(digest, number, kind, key, text)
            if stored_number != number or stored != digest:
                raise self.damage_error(f"event {number} has changed or is missing")
        try:
            # One call for all values takes a fifth of the time of one call each.
            values = json.loads(f"[{','.join([row[3] for row in rows])}]")
        except (RecursionError, TypeError, ValueError):
            values = []
        if len(values) != len(rows):
            raise self.damage_error(f"the value of an event up to {number} is malformed")
        self._position = _Position(number, digest)
        return (
            LogEvent(row[0], row[1], row[2], value) for row, value in zip(rows, values, strict=True)
        )

    @property
    def position(self) -> int:
        """Number of the last event that this object has read or appended; 0 for none."""
        return self._position.number

    @property
    def unread_count(self) -> int:
        """Number of events that `unread` will yield; only inside `reading` or `writing`."""
        return self._end.number - self._position.number

    @property
    def digest(self) -> bytes:
        """Digest of the last event that this object has read or appended, and of all before."""
        return self._position.digest

    def skip_to(self, number: int, digest: bytes) -> bool:
        """Mark the events up to a number as read if the log has this digest there.

        Only inside `reading` or `writing`. Return whether it has; if not, nothing changes.
        """
        if number > self._end.number or self._digest_at(number) != digest:
            return False
        self._position = _Position(number, digest)
        return True

    def rewind(self) -> None:
        """Mark all events as unread; call it after the state built from them was dropped."""
        self._position = self._start

    def append(self, kind: str, key: int, value: Any) -> None:
        """Append a `LogEvent`; only inside `writing`, and after all others are read."""
        if self._position != self._end:
            raise SessionError(
                f"{self.owner}: events must be read before one is appended; exhaust unread() first."
            )
        number = self._end.number + 1
        row = (number, kind, int(key), _encode_json(value))
        digest = _link(self._end.digest, *row)
        self._appended.append((*row, digest))
        self._position = self._end = _Position(number, digest)

    def flush(self) -> None:
        """Write appended events to the open transaction, for `rewind` and `unread`."""
        if self._appended:
            self._connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?)", self._appended
            )
            self._write_end(self._end)
            self._appended = []

    def ids_of(self, places: Sequence[int]) -> Iterator[str]:
        """Yield the row ids at places counted from 1; only inside `reading` or `writing`."""
        return (id_ for id_, _ in self._pool_at(places))

    def cells_of(self, places: Sequence[int]) -> Iterator[list[str]]:
        """Yield the cells of the rows at places counted from 1, as given to `create`."""
        for _, text in self._pool_at(places):
            with self.malformed_data_as_error():
                yield [str(cell) for cell in json.loads(text)]

    def _pool_at(self, places: Sequence[int]) -> Iterator[tuple[str, str]]:
        for first in range(0, len(places), _IDS_PER_QUERY):
            chunk = places[first : first + _IDS_PER_QUERY]
            rows = self._pool_rows
            if any(place not in rows for place in chunk):
                ahead = range(chunk[0], min(chunk[0] + _ROWS_AHEAD, self.length + 1))
                rows = self._pool_rows = self._read_rows(ahead if len(chunk) == 1 else chunk)
            for place in chunk:
                yield rows[place]

    def _read_rows(self, places: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return id and cells of the rows at places; SessionError if one has changed."""
        # The digest of a row covers the digest of the row before it.
        both = {*places, *(place - 1 for place in places)}
        query = f"SELECT * FROM pool WHERE place IN ({', '.join('?' * len(both))})"
        by_place = {row[0]: row for row in self._rows(query, *both)}
        for place in places:
            if place not in by_place or (place > 1 and place - 1 not in by_place):
                raise self.damage_error(f"row {place} is missing")
            _, id_, text, digest = by_place[place]
            if digest != _link(by_place[place - 1][3] if place > 1 else b"", place, id_, text):
                raise self.damage_error(f"row {place} has changed")
        return {place: (str(by_place[place][1]), str(by_place[place][2])) for place in places}

    def ids(self) -> Iterator[str]:
        """Yield all row ids in the stored order; SessionError if one has changed."""
        return self.ids_of(range(1, self.length + 1))

    def place_of(self, id: str) -> int | None:
        """Return the place of a row id, from 1; None if unknown."""
        places = self._rows("SELECT place FROM pool WHERE id = ?", id)
        # A damaged index can point to another row.
        if places and list(self.ids_of([places[0][0]])) != [id]:
            raise self.damage_error("the index of the rows has changed")
        return int(places[0][0]) if places else None

    def close(self) -> None:
        """Close the SQLite connection; leave one file if no other process has it open."""
        with self._lock:
            # A closed connection, a file that only may be read, or one in use: it stays as it is.
            with suppress(sqlite3.Error):
                if not self.only_reads:
                    self._rest()
            self._connection.close()
            self._main.close()

    def damage_error(self, reason: str) -> SessionError:
        """Return the error for a damaged file; the caller raises it."""
        return DamagedFileError(
            f"{self.owner}: {self.path} is damaged ({reason}); take a backup of it, or start anew."
        )

    def _write_start(
        self,
        about: Mapping[str, Any],
        ids: Iterable[str],
        views: Sequence[str],
        cells: Iterable[Sequence[str]],
    ) -> None:
        for statement in (*_SCHEMA.values(), *views):
            self._connection.execute(statement)
        rows: list[tuple[int, str, str, bytes]] = []
        # Without columns of its own, a list has endlessly many empty rows of cells.
        for place, (id_, row) in enumerate(zip(ids, cells, strict=False), start=1):
            text = _encode_json(list(row))
            rows.append((place, id_, text, _link(rows[-1][3] if rows else b"", place, id_, text)))
        self._connection.executemany("INSERT INTO pool VALUES (?, ?, ?, ?)", rows)
        configuration = {**about, "rows": len(rows), "rows_digest": rows[-1][3].hex()}
        texts = [(name, _encode_json(value)) for name, value in configuration.items()]
        self._connection.executemany("INSERT INTO about VALUES (?, ?)", texts)
        start = _Position(0, _link(b"", *sorted(texts, key=repr)))
        self._connection.execute(
            "INSERT INTO about VALUES (?, ?)", (_DIGEST, _encode_json(start.digest.hex()))
        )
        self._write_end(start)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _write_end(self, end: _Position) -> None:
        text = _encode_json([end.number, end.digest.hex()])
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (END_NAME, text))

    def _read_start(self) -> None:
        with self._transaction("DEFERRED"):
            [(application,)], [(version,)] = (
                self._rows("PRAGMA application_id"),
                self._rows("PRAGMA user_version"),
            )
            if application != _APPLICATION_ID:
                raise SessionError(
                    f"{self.owner}: expected a file of tombola, got {self.path}, which is "
                    "something else; "
                    "give the file of a session or a race."
                )
            if version not in (FORMAT, FORMAT_AHEAD):
                raise SessionError(
                    f"{self.owner}: {self.path} has format {version}, this version of tombola "
                    f"reads {FORMAT}; "
                    "use the version that wrote it."
                )
            objects = self._rows("SELECT name, type, sql FROM sqlite_master")
            tables = {name: sql for name, kind, sql in objects if kind == "table"}
            # A trigger could change what is written; this package creates none.
            if tables != _SCHEMA or any(kind == "trigger" for _, kind, _ in objects):
                raise self.damage_error("its tables have another form")
            texts = dict(self._rows("SELECT name, value FROM about"))
            digest = texts.pop(_DIGEST, None)
            _ = texts.pop(END_NAME, None)
            start = _Position(0, _link(b"", *sorted(texts.items(), key=repr)))
            if digest != _encode_json(start.digest.hex()):
                raise self.damage_error("the configuration has changed")
            self._start = self._position = start
            with self.malformed_data_as_error():
                self.about = {name: json.loads(text) for name, text in texts.items()}
                self.length = int(self.about["rows"])
                query = "SELECT digest, (SELECT count(*) FROM pool) FROM pool WHERE place = ?"
                is_whole = self._rows(query, self.length) == [
                    (bytes.fromhex(self.about["rows_digest"]), self.length)
                ]
            if not is_whole:
                raise self.damage_error("the list of rows has changed")

    def _read_end(self) -> None:
        if self._rejected is not None:
            raise self._rejected
        [(text, digest, last)] = self._rows(_END_QUERY, END_NAME, self._position.number)
        with self.malformed_data_as_error():
            number, end_digest = json.loads(text)
            end = _Position(int(number), bytes.fromhex(end_digest))
        if self._position.number == 0:
            digest = self._start.digest
        if end.number < self._position.number or digest != self._position.digest:
            # Final: going on would mix two histories.
            self._rejected = SessionError(
                f"{self.owner}: {self.path} lacks events that were read from it before, as when "
                "an old backup is "
                "copied over it; nothing was changed, so open it again if that was meant."
            )
            raise self._rejected
        if end.number != (last or 0) or (
            end != self._position and self._digest_at(end.number) != end.digest
        ):
            raise self.damage_error("it does not end at its last event")
        self._end = end

    def _digest_at(self, number: int) -> bytes | None:
        if number == 0:
            return self._start.digest
        digests = self._rows("SELECT digest FROM events WHERE number = ?", number)
        return digests[0][0] if digests else None

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        with self._lock, self._sqlite_errors():
            if self._connection.in_transaction:
                if kind == "IMMEDIATE":
                    self.check_writing()
                yield
                return
            self._is_writing = kind == "IMMEDIATE"
            if not self._is_ahead:
                # Forget cached pages: SQLite does not notice every backup that is copied over the
                # file.
                self._connection.execute("PRAGMA shrink_memory")
            self._connection.execute(f"BEGIN {kind}")
            while self._is_writing and self._must_mark():
                self._connection.execute("ROLLBACK")
                self._mark_ahead()
                self._connection.execute(f"BEGIN {kind}")
            try:
                self._check_identity()
                if self._start.digest:
                    self._read_end()
                yield
                self._connection.execute("COMMIT")
                if self._is_ahead:
                    # SQLite may have copied the log into the file.
                    self._changed = _time_changed(self.path)
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._appended = []

    def check_writing(self) -> None:
        """Raise SessionError if the open transaction only reads."""
        if not self._is_writing:
            raise SessionError(
                f"{self.owner}: expected writing() around a call that changes the file, "
                "got reading(); write writing()."
            )

    def _check_identity(self) -> None:
        """Raise SessionError if the file is not the one that was opened."""
        is_same = _file_identity(self.path) == self._identity
        if is_same and self._is_ahead and (changed := _time_changed(self.path)) != self._changed:
            # Another process that writes ahead may have copied the log into the file. A backup is
            # at rest: SQLite would go on with its own log and the content of the backup.
            is_same = self._is_followed = self._is_written_ahead()
            self._changed = changed
            self._connection.execute("PRAGMA shrink_memory")
        if not (is_same and self._is_followed):
            raise SessionError(
                f"{self.owner}: {self.path} was moved, or replaced by another file or a backup, "
                "after it was opened here; "
                "nothing was changed, so open it again."
            )

    def write_ahead(self) -> None:
        """Wait for one sync in a transaction, not for four, until `close`.

        SessionError on a network drive, where the processes of two machines do not see each
        other's writes.
        """
        drive = network_drive(self.path)
        if drive is not None:
            raise SessionError(
                f"{self.owner}: expected a file on a local disk, got {self.path} on a network "
                f"drive ({drive}), where two machines can issue the same ticket; copy it to a "
                "local disk."
            )
        with self._lock, self._sqlite_errors():
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._is_ahead = self._rows("PRAGMA journal_mode") == [("wal",)]
            if self._is_ahead:
                self._mark_ahead()
                self._changed = _time_changed(self.path)

    def _is_written_ahead(self) -> bool:
        header = self._main.header()
        return header is not None and header.is_ahead

    def _must_mark(self) -> bool:
        """Return whether a write would go to a log that the header does not announce."""
        # While this object writes ahead, no other one can end it.
        is_ahead = self._is_ahead or self._rows("PRAGMA journal_mode") == [("wal",)]
        return is_ahead and self._rows("PRAGMA user_version") == [(FORMAT,)]

    def _mark_ahead(self) -> None:
        """State in the file itself that events may be in its log."""
        self._connection.execute(f"PRAGMA user_version = {FORMAT_AHEAD}")
        self._connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
        if self._main.header() != Header(is_ahead=True, format=FORMAT_AHEAD):
            raise sqlite3.OperationalError("database is locked")

    def _rest(self) -> None:
        """Leave one file, unless other processes have it open; the last one does it then."""
        if self._rows("PRAGMA journal_mode") != [("wal",)]:
            return
        if _file_identity(self.path) == self._identity and not self._is_written_ahead():
            discard_log(self.path)
            return
        self._connection.execute("PRAGMA busy_timeout = 100")
        self._connection.execute(f"PRAGMA user_version = {FORMAT}")
        self._connection.execute("PRAGMA journal_mode = DELETE").fetchall()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _main_closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._main.close()
            raise

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the file if the block raises."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        """Raise SessionError with advice for an error of SQLite."""
        try:
            yield
        except sqlite3.Error as error:
            text = escape_control(" ".join(str(error).split())).replace(". ", " ").rstrip(".")
            raise SessionError(f"{self.owner}: {self.path} ({text}) {_advice(error)}.") from None
        except UnicodeDecodeError:  # raised by sqlite3 when SQLite quotes bytes of a damaged file
            raise self.damage_error("its tables have no form") from None


_encode_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _link(before: Any, *cells: Any) -> bytes:
    """Return the digest of cells of any type, and of the digest before them."""
    content = "\n".join(map(str, cells)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(
        (before if isinstance(before, bytes) else b"") + content, digest_size=8
    ).digest()


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _time_changed(path: Path) -> tuple[int, int] | None:
    """Return what changes with the content of a file: size and time."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _advice(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "is held by another process for longer than a minute; end that one, then try again"
    if code in (
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FORMAT,
    ) or "decode" in str(error):
        return "is not a file of tombola, or is damaged; give another one, or a backup"
    return "could not be read or written; nothing was changed, so repair the cause and try again"
