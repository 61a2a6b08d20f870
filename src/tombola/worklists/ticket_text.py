"""Sentences on tickets: what to do for one, which ones wait, how many answers were recorded."""

import shlex
from collections.abc import Sequence
from typing import Any

from tombola._formatting import join_names, plural, since_text
from tombola.worklists.work_file import Assignment, Description

# Open tickets that a sentence lists; of the others only the number is given.
_MAX_LISTED = 5


def instruction(about: Description, ticket: Assignment) -> str:
    """Return what to do for a ticket: a call to make, or an action to play on a row."""
    if about.kind == "race":
        return ticket.text
    if about.is_null(ticket.action):
        return f"leave {ticket.id} alone{'' if about.full_feedback else ' (recorded)'}"
    return f"play {ticket.action} on {ticket.id}"


def open_text(word: str, waiting: Sequence[Assignment]) -> str:
    """Return a sentence on the tickets without an answer: which, and since when.

    word: for one of them, "call" or "ticket".

    >>> from tombola.worklists import Assignment
    >>> open_text("call", [Assignment(2, "row 3", "a")])
    '1 call waits for an answer: ticket 2 (a on row 3).'
    """
    texts = [f"ticket {task.ticket} ({task.text}{since_text(task.since)})" for task in waiting]
    verb = "waits" if len(waiting) == 1 else "wait"
    return (
        f"{plural(len(waiting), word)} {verb} for an answer: "
        f"{join_names(texts, limit=_MAX_LISTED, length=120)}."
    )


def open_ticket_lines(
    kind: str, waiting: Sequence[Assignment], file: Any, url: str, *, scores: bool
) -> list[str]:
    """Return lines on open tickets of a "race" or "session": sentence and commands."""
    if not waiting:
        return []
    at = f" --url {url}" if url else ""
    value = "--score VALUE" if scores else "--loss VALUE"
    name = shlex.quote(str(file))
    record = f"  tombola {kind} record {name} {waiting[0].ticket}"
    again = f"  tombola {kind} next {name}{at}"
    if kind == "session":
        fix = "Record each, the worst outcome if its action failed, or print them again:"
        return [open_text("ticket", waiting), fix, f"{record} {value}{at}", f"{again} --again"]
    fix = "Record each, mark it as failed, or print them again:"
    lines = [
        open_text("call", waiting),
        fix,
        f"{record} {value}{at}",
        f"{record} --failed{at}",
        f"{again} --again",
    ]
    return [*lines, *([f"{again} --reissue-after 600"] if url else [])]


def recorded_text(new: int, old: int) -> str:
    """Return the numbers of answers recorded now and before, as text.

    >>> recorded_text(2, 0), recorded_text(0, 1)
    ('2 recorded', '0 recorded, 1 recorded before')
    """
    return f"{new} recorded" + (f", {old} recorded before" if old else "")
