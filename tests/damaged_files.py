"""Damaged SQLite files: every cell with other values in it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tombola.worklists.event_log import END_NAME


def changed_cells(whole: Path, path: Path, *, rows_apart: int = 1) -> Iterator[str]:
    """Write a file again and again, with another cell changed each time; yield the change.

    rows_apart: change only one in so many events, and rows of the list.
    """
    with closing(sqlite3.connect(whole)) as connection:
        (end,) = connection.execute(
            "SELECT value FROM about WHERE name = ?", (END_NAME,)
        ).fetchone()
    for index, (table, column, row, value) in enumerate(_cells(whole)):
        if table != "about" and row % rows_apart:
            continue
        for new in _other_values(value)[index % 2 :: 2]:
            # The position of the last event with a blank, or as bytes, is the same.
            if value == end and new in (f"{end} ", end.encode()):
                continue
            shutil.copy(whole, path)
            try:
                with closing(sqlite3.connect(path)) as connection, connection:
                    connection.execute(
                        f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row)
                    )
            except sqlite3.IntegrityError:
                continue
            yield f"{table}.{column} of row {row} is {new!r}"


def _cells(path: Path) -> Iterator[tuple[str, str, int, Any]]:
    """Return every cell of every table of a file."""
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            cursor = connection.execute(f"SELECT rowid, * FROM {table}")
            for row in cursor.fetchall():
                for column, value in zip(cursor.description[1:], row[1:], strict=True):
                    yield table, column[0], row[0], value


def _other_values(value: Any) -> list[Any]:
    """Return other values for a cell: another number or digit, another type, NULL."""
    if isinstance(value, int):
        return [value + 1, -1 - value, "x"]
    if isinstance(value, bytes):
        return [bytes([value[0] ^ 1]) + value[1:], b"", value.hex(), None]
    if isinstance(value, str):
        swapped = [
            value.replace(digit, new, 1) for digit, new in ("12", "01", "58") if digit in value
        ]
        return [
            *swapped,
            value + " ",
            "",
            value.encode(),
            "\udcff".encode("utf-8", "surrogatepass"),
        ]
    return ["x"]
