"""Database: one SQLite file, opened so that a change is whole, on the disk, and one process's at a time.

What `transaction` encloses happens whole or not at all, also if the process is killed in the middle: the next one to
open the file rolls back. One process at a time writes, by a lock that dies with its process. When a transaction ends
without an error, the change is on the disk (synchronous=EXTRA). The file keeps SQLite's rollback journal, not its
write-ahead log: that needs shared memory, so it cannot work across machines, and can corrupt a file with two writers
before SQLite 3.51.3. Nothing read is remembered from one transaction to the next (`shrink_memory`), and the file must
still be the one that was opened: SQLite notices neither a file that took its place nor every backup copied over it.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from tombola._formatting import escape_control
from tombola.errors import SessionError

PATIENCE = 60.0  # seconds to wait for another process


class Database:
    """One open file; `owner` is who speaks in errors."""

    def __init__(self, path: Path, owner: str, mode: Literal["rw", "rwc"]) -> None:
        self.path, self.owner = path, owner
        self._process, self._lock = os.getpid(), RLock()
        with self._told():
            self._connection = _connect(path, mode)
            self._identity = _identity(path)

    @contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[None]:
        """Do what is enclosed whole or not at all: IMMEDIATE shuts out other writers, DEFERRED sees one moment."""
        self._check_process()
        with self._lock, self._told():
            self._connection.execute("PRAGMA shrink_memory")
            self._connection.execute(f"BEGIN {kind}")
            try:
                self._check_identity()
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return all rows of a query."""
        return self._connection.execute(query, values).fetchall()

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """Return the rows of a query one by one."""
        return iter(self._connection.execute(query, values))

    def run(self, statement: str, *values: Any) -> None:
        """Run one statement."""
        self._connection.execute(statement, values)

    def fill(self, statement: str, many: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for many values."""
        self._connection.executemany(statement, many)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def damage(self, what: str) -> SessionError:
        """Return the error that says what is wrong with the file."""
        return SessionError(f"{self.owner}: {self.path} is damaged ({what}); take a backup of it, or start anew.")

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise SessionError(
                f"{self.owner}: {self.path} was opened by process {self._process}, got a call from its child "
                f"{os.getpid()}; open it again in the child."
            )

    def _check_identity(self) -> None:
        if _identity(self.path) != self._identity:
            raise SessionError(
                f"{self.owner}: {self.path} was moved, or replaced by another file, after it was opened here; "
                "nothing was changed, so open it again."
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite says into one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            raise SessionError(f"{self.owner}: {self.path} ({_line(error)}) {_advice(error)}.") from None
        except UnicodeDecodeError:  # by sqlite3 itself, when SQLite quotes what it found in a damaged file
            raise self.damage("its tables have no form") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: otherwise its disk may still hold the write back
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _line(error: sqlite3.Error) -> str:
    return escape_control(" ".join(str(error).split())).replace(". ", " ").rstrip(".")


def _advice(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "is held by another process for longer than a minute; end that one, then try again"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT) or "decode" in str(error):
        return "is not a file of tombola, or is damaged; give another one, or a backup"
    return "could not be read or written; nothing was changed, so repair the cause and try again"
