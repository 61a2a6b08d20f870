"""SQLite: a table or a view of a file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

from tombola._formatting import truncate
from tombola.errors import TableError
from tombola.readers.columns import Columns
from tombola.readers.records import one_of, table_of

STEPS, MOST = 100_000, 100_000_000  # of SQLite, between two looks, and beyond those for what the file holds


def read_sqlite(path: Path, table: str | None) -> Columns:
    """Read a table or a view of an SQLite file, which is opened to read only."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
            base.execute("PRAGMA trusted_schema = OFF")
            base.set_progress_handler(_patience(path), STEPS)
            known = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
            name = one_of(path, "table", known, table)
            cursor = base.execute('SELECT * FROM "{}"'.format(name.replace('"', '""')))
            names = [column[0] for column in cursor.description]
            return table_of(f"{path}::{name}", names, cursor, note=f"the table {name!r} of an SQLite file")
    except (sqlite3.Error, UnicodeError) as error:
        if isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted":
            raise TableError(
                f"{path}: expected a table or a view that comes to its end, got one that is still at work after "
                "a hundred million steps; save what it gives as a table."
            ) from None
        raise TableError(
            f"{path}: expected an SQLite file, got something else ({truncate(str(error))}); check the file."
        ) from None


def _patience(path: Path) -> Callable[[], bool]:
    """Return what tells SQLite to stop: when it has taken more steps than any table of this size needs."""
    left = (MOST + 100 * path.stat().st_size) // STEPS
    taken = count(1)
    return lambda: next(taken) > left
