"""EventLog: a list of rows in their order, what was decided at the start, and events, each sealed by a digest.

Every event carries a digest of itself and of the digest before it, from the start on; so do the rows. A changed cell,
a missing or an added event, or another list of rows is noticed when it is read. These digests are against accidents,
not against forgers: whoever reads events checks what they say. A checkpoint lets a reader go on from there instead of
from the start; chapters say again what stretches of events say, in a form that is quicker to read. Both are believed as
they stand, so they are sealed with the key of the person who wrote them (`tombola.persistence.snapshot_key`): everybody has a
checkpoint and chapters of their own, and does without those of others.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tombola.errors import MALFORMED_DATA_ERRORS, SessionError, TombolaError
from tombola.persistence.database import Database
from tombola.persistence.snapshot_key import own_key

FORMAT = 2
APPLICATION = int.from_bytes(b"tomb", "big")
AT_ONCE = 400  # rows asked for in one query

SCHEMA = {
    "about": "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "pool": "CREATE TABLE pool (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest BLOB NOT NULL)",
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key INTEGER NOT NULL, "
    "again INTEGER NOT NULL, value TEXT NOT NULL, digest BLOB NOT NULL, UNIQUE (key, kind, again))",
    "state": "CREATE TABLE state (name TEXT PRIMARY KEY, number INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB, "
    "seal BLOB NOT NULL)",
}


class LogEvent(NamedTuple):
    """One thing that happened, such as an answer: its kind, what it is about, and its value as plain data.

    No two events have the same kind, key and `again`.
    """

    number: int
    kind: str
    key: int
    again: int
    value: Any


class Place(NamedTuple):
    """How far the events have been read: the last number, and its digest."""

    number: int
    digest: bytes


class EventLog:
    """One open file. `about` says what was decided at the start, `notes` what its reader should know."""

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self.about: dict[str, Any] = {}
        self.notes: list[str] = []
        self.length = 0
        self._database = database
        self._start = self._here = self._end = Place(0, b"")
        self._bound = 0  # the last event known to be in a chapter
        self._key = own_key()
        self._refused: SessionError | None = None
        self.fits: Callable[[LogEvent], bool] = lambda _: True  # whether its owner could have written an event

    @classmethod
    def create(
        cls, path: Path, owner: str, about: Mapping[str, Any], ids: Iterable[str], views: Sequence[str] = ()
    ) -> "EventLog":
        """Make the file, whole or not at all; `ids` are the rows, in an order that means something."""
        journal = cls(Database(path, owner, "rwc"))
        with journal._kept():
            with journal._database.transaction("IMMEDIATE"):
                if journal._database.rows("SELECT name FROM sqlite_master"):
                    raise SessionError(f"{owner}: {path} exists already, nothing is overwritten; take another name.")
                journal.write_start(about, ids, views)
            journal._read_start()
        return journal

    @classmethod
    def open(cls, path: Path, owner: str, kind: str) -> "EventLog":
        """Open a file that `create` has made with this kind in `about`."""
        if not path.is_file():
            raise SessionError(f"{owner}: expected the file of a {kind}, found none at {path}; check the path.")
        journal = cls(Database(path, owner, "rw"))
        with journal._kept():
            journal._bring_up_to_date()
            journal._read_start()
            if journal.about.get("kind") != kind:
                raise SessionError(
                    f"{owner}: expected the file of a {kind}, got {path}, that of a {journal.about.get('kind')}; "
                    f"write tombola {journal.about.get('kind')} instead."
                )
        return journal

    def write_start(self, about: Mapping[str, Any], ids: Iterable[str], views: Sequence[str] = ()) -> None:
        """Make the tables, and write what is decided at the start; only inside a transaction."""
        for statement in (*SCHEMA.values(), *views):
            self._database.run(statement)
        rows = list(_rows(ids))
        self._database.fill("INSERT INTO pool VALUES (?, ?, ?)", rows)
        decided = {**about, "rows": len(rows), "digest of the rows": rows[-1][2].hex()}
        texts = [(name, json.dumps(value, allow_nan=False)) for name, value in decided.items()]
        self._database.fill("INSERT INTO about VALUES (?, ?)", texts)
        start = Place(0, _link(b"", *sorted(texts, key=repr)))
        self._seal("about", start)
        self._start = self._here = self._end = start
        self.write_end()
        self._database.run(f"PRAGMA application_id = {APPLICATION}")
        self._database.run(f"PRAGMA user_version = {FORMAT}")

    def write_end(self) -> None:
        """Write down where the events end; only inside a transaction."""
        self._seal("head", self._end)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Shut out other writers; when this ends, everything written is on the disk, or nothing after an error."""
        with self._database.transaction("IMMEDIATE"):
            self._read_end()
            before = self._end
            yield
            if self._end != before:
                self.write_end()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See the file as it is at one moment."""
        with self._database.transaction("DEFERRED"):
            self._read_end()
            yield

    @contextmanager
    def sensible(self) -> Iterator[None]:
        """Let what a file says and nobody can have written be damage: a digest that is right proves nothing."""
        try:
            yield
        except TombolaError:
            raise
        except MALFORMED_DATA_ERRORS as error:
            raise self._database.damage(f"it says what cannot be: {type(error).__name__}") from error

    def news(self) -> Iterator[LogEvent]:
        """Return what has happened since the last call, or since `rewind`, in order."""
        for event, digest in self._chain(self._here):
            self._here = Place(event.number, digest)
            yield event

    def history(self, after: Place | None = None) -> Iterator[LogEvent]:
        """Return all that has happened, or all after a place, in order."""
        return (event for event, _ in self._chain(self._start if after is None else after))

    def chapters(self) -> Iterator[tuple[Place, bytes]]:
        """Return the chapters that follow each other from the start on, each with the place where it ends."""
        place = self._start
        while (found := self._own(_chapter(place.number))) is not None:
            yield found
            place = found[0]

    def bind(self, size: int, retell: Callable[[list[LogEvent]], bytes]) -> None:
        """Write chapters of `size` events, as long as so many are in none; only inside `writing`."""
        while self._key is not None and self._end.number - self._bound >= size:
            name = _chapter(self._bound)
            found = self._database.rows("SELECT number FROM state WHERE name = ?", f"{name} of {self._key.name}")
            if not found:
                events = list(islice(self._chain(Place(self._bound, self._digest_at(self._bound) or b"")), size))
                end = Place(events[-1][0].number, events[-1][1])
                self._keep(name, end, retell([event for event, _ in events]))
            number = found[0][0] if found else end.number
            if not isinstance(number, int) or number <= self._bound:
                raise self._database.damage(f"the {name} has changed")
            self._bound = number

    def append(self, kind: str, key: int, value: Any, again: int = 0) -> None:
        """Write an event; only inside `writing`, and when there are no news left."""
        if self._here != self._end:
            raise SessionError(f"{self._owner}: events must be read before one is written; call news() first.")
        # a whole number of NumPy's would be written as bytes
        cells = (self._end.number + 1, kind, int(key), again, json.dumps(value, allow_nan=False))
        digest = _link(self._end.digest, *cells)
        self._database.run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", *cells, digest)
        self._here = self._end = Place(cells[0], digest)

    def find(self, kind: str, key: int) -> LogEvent | None:
        """Return the last event of this kind and key, or None."""
        query = "SELECT * FROM events WHERE key = ? AND kind = ? ORDER BY again DESC LIMIT 1"
        found = self._database.rows(query, int(key), kind)
        if not found:
            return None
        before = self._start.digest
        if found[0][0] > 1:
            previous = self._database.rows("SELECT digest FROM events WHERE number = ?", found[0][0] - 1)
            before = previous[0][0] if previous else b""
        return self._checked(Place(found[0][0] - 1, before), found[0])[0]

    def rewind(self) -> bytes | None:
        """Go back to the checkpoint, so that news come from there, and return it; to the start if there is none."""
        found = self._own("checkpoint")
        self._here, body = (self._start, None) if found is None else found
        return body

    @property
    def keeps(self) -> bool:
        """Whether checkpoints and chapters are kept: not where this person has no key."""
        return self._key is not None

    @property
    def unread(self) -> int:
        """How many events are news; only inside `reading` or `writing`."""
        return self._end.number - self._here.number

    def restart(self) -> None:
        """Go back to the start, so that all events are news."""
        self._here, self._bound = self._start, 0

    def checkpoint(self, body: bytes) -> None:
        """Keep what a reader needs to go on from here; only inside `writing`, and when there are no news left."""
        self._keep("checkpoint", self._here, body)

    def id_of(self, place: int) -> str:
        """Return which row is at a place, counted from 1."""
        return next(self.ids_of([place]))

    def ids_of(self, places: Sequence[int]) -> Iterator[str]:
        """Return which rows are at these places, counted from 1."""
        for begun in range(0, len(places), AT_ONCE):
            wanted = places[begun : begun + AT_ONCE]
            both = {*wanted, *(place - 1 for place in wanted)}
            query = f"SELECT * FROM pool WHERE place IN ({', '.join('?' * len(both))})"
            found = {row[0]: row for row in self._database.rows(query, *both)}
            for place in wanted:
                if place not in found or (place > 1 and place - 1 not in found):
                    raise self._database.damage(f"row {place} is missing")
                yield self._row(found[place - 1][2] if place > 1 else b"", found[place])

    def ids(self) -> Iterator[str]:
        """Return the rows in their order."""
        place, digest = 0, b""
        for place, row in enumerate(self._database.each("SELECT * FROM pool ORDER BY place"), start=1):
            if row[0] != place:
                raise self._database.damage(f"row {place} is missing")
            yield self._row(digest, row)
            digest = row[2]
        if place != self.length or digest.hex() != self.about["digest of the rows"]:
            raise self._database.damage("the list of rows is another one")

    def place_of(self, id: str) -> int | None:
        """Return at which place a row is, or None if there is no such row."""
        found = self._database.rows("SELECT place FROM pool WHERE id = ?", id)
        place = int(found[0][0]) if found else None
        known = place is not None and self.id_of(place) == id
        if not known and (found or self._database.rows("SELECT place FROM pool NOT INDEXED WHERE id = ?", id)):
            raise self._database.damage("the index of the rows has changed")
        return place

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @property
    def _owner(self) -> str:
        return self._database.owner

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _read_start(self) -> None:
        with self._database.transaction("DEFERRED"):
            self._check_schema()
            texts = self._database.rows("SELECT name, value FROM about")
            found = self._sealed("about")
            if found is None or found != (0, _link(b"", *sorted(texts, key=repr))):
                raise self._database.damage("what was decided at the start has changed")
            self._start = self._here = found
            with self.sensible():
                self.about = {name: json.loads(value) for name, value in texts}
                self.length = int(self.about["rows"])
            if [(self.length,)] != self._database.rows("SELECT count(*) FROM pool"):
                raise self._database.damage("the list of rows is another one")

    def _check_schema(self) -> None:
        found = dict(self._database.rows("SELECT name, sql FROM sqlite_master"))
        if any(found.get(name) != text for name, text in SCHEMA.items()):
            raise self._database.damage("its tables have another form")

    def _bring_up_to_date(self) -> None:
        with self._database.transaction("DEFERRED"):
            application = self._database.rows("PRAGMA application_id")[0][0]
            version = self._database.rows("PRAGMA user_version")[0][0]
        if application != APPLICATION:
            raise SessionError(
                f"{self._owner}: expected a file of tombola, got {self.path}, which is something else; "
                "give the file of a run."
            )
        if version == 1:
            from tombola.persistence.older import add_digests

            with self._database.transaction("IMMEDIATE"):
                add_digests(self, self._database)
            self.notes.append(
                f"{self.path} was written without digests by an earlier version; it has them now, "
                "and damage from before today shows only where the learner does not repeat"
            )
        elif version != FORMAT:
            raise SessionError(
                f"{self._owner}: {self.path} has format {version}, this version of tombola reads {FORMAT}; "
                "use the version that wrote it."
            )

    def _read_end(self) -> None:
        if self._refused is not None:
            raise self._refused
        end = self._sealed("head")
        if end is None:
            raise self._database.damage("its end is missing")
        if end.number < self._here.number or self._digest_at(self._here.number) != self._here.digest:
            raise self._replaced()
        if self._digest_at(end.number) != end.digest or self._digest_at(end.number + 1) is not None:
            raise self._database.damage("it does not end where it says")
        self._end = end

    def _replaced(self) -> SessionError:
        """Return the error that ends the use of this file: whoever goes on would go on from another past."""
        self._refused = SessionError(
            f"{self._owner}: {self.path} lacks events that were read from it before, as when an old backup is copied "
            "over it; nothing was changed, so open it again if that was meant."
        )
        return self._refused

    def _digest_at(self, number: int) -> bytes | None:
        if number == 0:
            return self._start.digest
        found = self._database.rows("SELECT digest FROM events WHERE number = ?", number)
        return found[0][0] if found else None

    def _seal(self, name: str, place: Place) -> None:
        seal = _link(place.digest, name, place.number, None)
        self._database.run("INSERT OR REPLACE INTO state VALUES (?, ?, ?, NULL, ?)", name, *place, seal)

    def _sealed(self, name: str) -> Place | None:
        found = self._database.rows("SELECT number, digest, body, seal FROM state WHERE name = ?", name)
        if not found:
            return None
        number, digest, body, seal = found[0]
        if not isinstance(digest, bytes) or body is not None or seal != _link(digest, name, number, None):
            raise self._database.damage(f"the {name} has changed")
        return Place(number, digest)

    def _keep(self, name: str, place: Place, body: bytes) -> None:
        """Keep what this person alone believes, in the place of what was kept under this name before."""
        if self._key is not None:
            seal = self._key.seal((self._start.digest, name, *place), body)
            self._database.run(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?)", f"{name} of {self._key.name}", *place, body, seal
            )

    def _own(self, name: str) -> tuple[Place, bytes] | None:
        """Return what this person has kept under a name, and how far the events were then."""
        if self._key is None:
            return None
        query = "SELECT number, digest, body, seal FROM state WHERE name = ?"
        found = self._database.rows(query, f"{name} of {self._key.name}")
        if not found:
            return None
        number, digest, body, seal = found[0]
        if not isinstance(body, bytes) or seal != self._key.seal((self._start.digest, name, number, digest), body):
            raise self._database.damage(f"the {name} has changed")
        if self._digest_at(number) != digest:
            raise self._database.damage(f"the {name} is of another file")
        return Place(number, digest), body

    def _chain(self, place: Place) -> Iterator[tuple[LogEvent, bytes]]:
        if place == self._end:
            return
        query = "SELECT * FROM events WHERE number > ? AND number <= ? ORDER BY number"
        for row in self._database.each(query, place.number, self._end.number):
            event, digest = self._checked(place, row)
            place = Place(event.number, digest)
            yield event, digest
        if place != self._end:
            raise self._database.damage("events are missing at its end")

    def _checked(self, before: Place, row: Sequence[Any]) -> tuple[LogEvent, bytes]:
        number, kind, key, again, value, digest = row
        if number != before.number + 1 or digest != _link(before.digest, number, kind, key, again, value):
            raise self._database.damage(f"event {before.number + 1} has changed or is missing")
        try:
            event = LogEvent(number, kind, key, again, _decode(value))
        except (RecursionError, TypeError, ValueError):
            event = None
        if event is None or not self.fits(event):
            raise self._database.damage(f"event {number} is none that can happen here")
        return event, digest

    def _row(self, before: bytes, row: Sequence[Any]) -> str:
        if row[2] != _link(before, *row[:2]):
            raise self._database.damage(f"row {row[0]} has changed")
        return str(row[1])


_decode = json.JSONDecoder().decode


def _chapter(number: int) -> str:
    """Return the name of the chapter that begins after so many events."""
    return f"chapter after event {number}"


def _rows(ids: Iterable[str]) -> Iterator[tuple[int, str, bytes]]:
    digest = b""
    for place, one in enumerate(ids, start=1):
        digest = _link(digest, place, one)
        yield place, one, digest


def _link(before: Any, *cells: Any) -> bytes:
    """Return the digest of cells of any type, and of the digest before them."""
    text = repr((before, *cells)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).digest()
