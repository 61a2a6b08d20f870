"""Answers: many answers to the calls of a race, read from a text table, and written as one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tombola._formatting import csv_cell_matches
from tombola.errors import FeedbackError, TableError
from tombola.racing.events import Event
from tombola.readers.formats.delimited import text_table

if TYPE_CHECKING:
    from tombola.persistence.race_file import RaceFile

FAILED = ("1", "1.0", "true", "yes", "failed", "x")
ANSWERED = ("", "0", "0.0", "false", "no")


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
    tickets, race = file.tickets() if by_name else {}, file.race
    found = []
    for number, cells in rows:
        values = {name: cells[place].strip() for name, place in known.items()}
        loss, failed = _loss(path, number, values), _failed(path, number, values.get("failed", ""))
        if loss is None and not failed:
            continue
        if loss is not None and failed:
            raise TableError(f"{path}: expected a loss or a failed call in line {number}, got both; leave one out.")
        ticket = _named(path, number, values, tickets) if by_name else _ticket(path, number, values["ticket"])
        call = race.call(ticket)
        if not (
            csv_cell_matches(values.get("candidate", ""), call.candidate)
            and csv_cell_matches(values.get("row", ""), call.row)
        ):
            raise TableError(
                f"{path}: expected {call.candidate!r} on {call.row!r} for ticket {ticket} in line {number}, got "
                "another candidate or row; leave out the ticket, or what contradicts it."
            )
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


def _loss(path: Path, line: int, values: dict[str, str]) -> float | None:
    """Return the loss that a line tells, as it is or as a score; None if it tells none."""
    loss, score = values.get("loss", ""), values.get("score", "")
    if loss and score:
        raise TableError(f"{path}: expected a loss or a score in line {line}, got both; leave one out.")
    return _number(path, line, loss) if loss else 1.0 - _number(path, line, score) if score else None


def _failed(path: Path, line: int, text: str) -> bool:
    if text.lower() not in (*FAILED, *ANSWERED):
        raise TableError(f"{path}: expected 1 or 0 for failed in line {line}, got {text!r}; write one of them.")
    return text.lower() in FAILED


def _ticket(path: Path, line: int, text: str) -> int:
    number = _number(path, line, text)
    if not number.is_integer():
        raise TableError(
            f"{path}: expected the number of a ticket in line {line}, got {text!r}; take the one that `next` gave."
        )
    return int(number)


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TableError(f"{path}: expected a number in line {line}, got {text!r}; write one.") from None
