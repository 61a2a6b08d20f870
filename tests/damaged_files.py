"""Damaged SQLite files: every cell with other values in it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def cells(path: Path) -> Iterator[tuple[str, str, int, Any]]:
    """Return every cell of every table of a file."""
    connection = sqlite3.connect(path)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f"SELECT rowid, * FROM {table}")
        for row in cursor.fetchall():
            for column, value in zip(cursor.description[1:], row[1:], strict=True):
                yield table, column[0], row[0], value
    connection.close()


def other(value: Any) -> list[Any]:
    """Return other values for a cell: another number or digit, another type, NULL."""
    if isinstance(value, int):
        return [value + 1, -1 - value, "x"]
    if isinstance(value, bytes):
        return [bytes([value[0] ^ 1]) + value[1:], b"", value.hex(), None]
    if isinstance(value, str):
        swapped = [value.replace(digit, new, 1) for digit, new in ("12", "01", "58") if digit in value]
        return [*swapped, value + " ", "", value.encode(), "\udcff".encode("utf-8", "surrogatepass")]
    return ["x"]
