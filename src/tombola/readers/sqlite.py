"""SQLite: a table or a view of a file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tombola.errors import TableError
from tombola.readers.columns import Columns, shortened
from tombola.readers.records import one_of, table_of


def read_sqlite(path: Path, table: str | None) -> Columns:
    """Read a table or a view of an SQLite file, which is opened to read only."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
            base.execute("PRAGMA trusted_schema = OFF")
            known = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
            name = one_of(path, "table", known, table)
            cursor = base.execute('SELECT * FROM "{}"'.format(name.replace('"', '""')))
            names = [column[0] for column in cursor.description]
            return table_of(f"{path}::{name}", names, cursor, note=f"the table {name!r} of an SQLite file")
    except sqlite3.Error as error:
        raise TableError(
            f"{path}: expected an SQLite file, got something else ({shortened(str(error))}); check the file."
        ) from None
