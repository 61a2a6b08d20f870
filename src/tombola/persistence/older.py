"""Older files: the first format had no digests; its tables are read once, and written again in the present one."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tombola.errors import SessionError

if TYPE_CHECKING:
    from tombola.persistence.database import Database
    from tombola.persistence.event_log import EventLog


def add_digests(journal: "EventLog", database: "Database") -> None:
    """Write a session's file of format 1 again, with digests; only inside a transaction."""
    try:
        _add_digests(journal, database)
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, SessionError):
            raise
        raise database.damage(f"it is not in the first format: {type(error).__name__}") from None


def _add_digests(journal: "EventLog", database: "Database") -> None:
    about = {name: json.loads(value) for name, value in database.rows("SELECT name, value FROM about")}
    ids = [row[0] for row in database.rows("SELECT id FROM pool ORDER BY round")]
    events = list(_events(database))
    if len(ids) != about.pop("rows", None) or not ids:
        raise database.damage("the list of rows is not whole")
    for name, kind in database.rows("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"):
        database.run(f'DROP {kind} "{name}"')
    about = {"kind": "session", **{name: value for name, value in about.items() if name != "tombola run"}}
    journal.write_start(about, ids)
    for event in events:
        journal.append(*event)
    journal.write_end()


def _events(database: "Database") -> Iterator[tuple[str, int, Any]]:
    """Return the old events as they are written now."""
    for number, row in enumerate(database.rows("SELECT * FROM events ORDER BY number"), start=1):
        found, kind, key, action, probability, loss, reward = row
        if found != number or kind not in ("ticket", "outcome"):
            raise database.damage(f"event {number} is missing")
        if kind == "ticket":
            yield kind, key, [action, probability]
        else:
            name, text = ("loss", loss) if reward is None else ("reward", reward)
            yield kind, key, {name: json.loads(text)}
