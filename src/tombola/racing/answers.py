"""Answers: many answers to the calls of a race, read from a text table, and written as one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tombola.errors import FeedbackError, TableError
from tombola.racing.events import Event
from tombola.readers.delimited import text_table

if TYPE_CHECKING:
    from tombola.racing.file import RaceFile

FAILED = ("1", "true", "yes", "failed", "x")


def read_answers(path: Path, file: "RaceFile") -> list[Event]:
    """Return the answers in a CSV or TSV table: columns ticket, or candidate and row; loss or score; cost and failed.

    Where loss or score is blank and failed is not said, the answer is not known yet.
    """
    header, rows, _ = text_table(path)
    known = {name.strip().lower(): place for place, name in enumerate(header)}
    by_name = "ticket" not in known
    if (by_name and not {"candidate", "row"} <= set(known)) or not ({"loss", "score"} & set(known)):
        raise TableError(
            f"{path}: expected columns ticket (or candidate and row) and loss (or score), got "
            f"{', '.join(header[:20])}; write a header such as ticket,loss,cost."
        )
    tickets = file.tickets() if by_name else {}
    found = []
    for number, cells in rows:
        values = {name: cells[place].strip() for name, place in known.items()}
        said = values.get("loss") or values.get("score")
        failed = values.get("failed", "").lower() in FAILED
        if not said and not failed:
            continue
        ticket = _named(path, number, values, tickets) if by_name else int(_number(path, number, values["ticket"]))
        loss = None if failed else _number(path, number, said or "")
        if loss is not None and not values.get("loss"):
            loss = 1.0 - loss
        found.append(Event("answer", ticket, loss, _number(path, number, values.get("cost") or "0"), failed))
    return found


def answers_table(file: "RaceFile") -> list[list[Any]]:
    """Return all answers in a file in the order in which they came: a table that `read_answers` reads back."""
    race = file.race
    lines: list[list[Any]] = [["ticket", "candidate", "row", "loss", "cost", "failed"]]
    for event in file.events:
        if event.kind == "answer":
            call, loss = race.call(event.ticket), "" if event.loss is None else event.loss
            lines.append([call.ticket, call.candidate, call.row, loss, event.cost, int(event.failed)])
    return lines


def _named(path: Path, number: int, values: dict[str, str], tickets: dict[tuple[str, str], int]) -> int:
    named = values["candidate"], values["row"]
    if named not in tickets:
        raise FeedbackError(
            f"{path}: expected a call that has been handed out, got {named[0]!r} on {named[1]!r} in line {number}; "
            "ask for it with next."
        )
    return tickets[named]


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TableError(f"{path}: expected a number in line {line}, got {text!r}; write one.") from None
