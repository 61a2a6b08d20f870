"""Answers of a race as CSV: read many answers at once, and export all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tombola._formatting import csv_cell_matches, join_names
from tombola._types import Floats
from tombola.errors import FeedbackError, TableError
from tombola.persistence.race_file import RaceFile
from tombola.persistence.session_csv import write_columns
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings
from tombola.readers.cells import id_place, read_cells
from tombola.readers.columns import MISSING, parse_number
from tombola.readers.names import without_kind_word
from tombola.readers.units import UNIT_LOSSES, Units

# Values of the column `failed` for a failed call, in lower case; pandas writes 1.0.
_FAILED_VALUES = ("1", "1.0", "true", "yes", "failed", "x")
# Values of the column `failed` for an answer that did not fail; others raise TableError.
_NOT_FAILED_VALUES = ("", "0", "0.0", "false", "no")
# Columns of an exported table of answers, with their Arrow types.
_ANSWER_TYPES = {
    "ticket": "int64", "candidate": "string", "row": "string", "loss": "float64", "cost": "float64", "failed": "int8",
}  # fmt: skip


def read_answers(
    path: Path,
    tickets: Mapping[tuple[str, str], int],
    call_of: Callable[[int], Call | None],
    settings: RaceSettings,
) -> list[Event]:
    """Return the answers in a table of any format that `read_table` reads.

    Columns: ticket, or candidate and row; loss or score; optionally cost and failed. A row with neither
    loss, score nor failed has no answer yet and is skipped. TableError names the line of a malformed one.

    path: the table.
    tickets: the issued calls, (candidate, row) -> ticket.
    call_of: returns the call of a ticket, with which the columns candidate and row must agree; None if not known here.
    settings: of the race, for its range and the cost of an answer without one.
    """
    table = read_cells(path)
    header = table.names
    columns = {name.lower(): position for position, name in enumerate(header)}
    by_name = "ticket" not in columns
    if (by_name and not {"candidate", "row"} <= set(columns)) or not ({"loss", "score"} & set(columns)):
        raise TableError(
            f"{path}: expected columns ticket (or candidate and row) and loss (or score), got "
            f"{', '.join(header[:20])}; write a header such as ticket,loss,cost."
        )
    answers = []
    for line, cells in zip(table.lines, table.rows, strict=True):
        values = {name: cells[position] for name, position in columns.items()}
        loss, failed = _loss(path, line, values, settings.range), _failed(path, line, values.get("failed", ""))
        if loss is None and not failed:
            continue
        if loss is not None and failed:
            raise TableError(f"{path}: expected a loss or a failed call in line {line}, got both; leave one out.")
        ticket = _ticket_by_name(path, line, values, tickets) if by_name else _ticket(path, line, values["ticket"])
        call = call_of(ticket)
        if call is not None and not (
            csv_cell_matches(values.get("candidate", ""), call.candidate)
            and csv_cell_matches(values.get("row", ""), call.row)
        ):
            raise TableError(
                f"{path}: expected {call.candidate!r} on {call.row!r} for ticket {ticket} in line {line}, got "
                "another candidate or row; leave out the ticket, or correct the names."
            )
        cost = _cost(path, line, values.get("cost", ""), 0.0 if failed else settings.default_cost)
        answers.append(Event("answer", ticket, loss, cost, failed))
    return answers


def _cost(path: Path, line: int, text: str, default: float | None) -> float:
    """Return the cost in a cell, or the default of an empty one; None rejects it."""
    if not text and default is None:
        raise TableError(
            f"{path}: expected a cost in line {line}, because the race has --max-cost, got none; fill it in."
        )
    return _number(path, line, text) if text else float(default or 0.0)


def read_known(
    path: Path, candidates: Sequence[str], rows: Sequence[str], column: str | None = None, units: Units = UNIT_LOSSES
) -> Floats:
    """Return the answers on file in a table, (rows, candidates), NaN where blank.

    Any format that `read_table` reads is accepted. Columns that are not called like a candidate are ignored, so that
    the list itself may have the answers. Rows and candidates may be left out; every row that is there must belong to
    the race, else TableError.

    path: the table.
    candidates, rows: names, of the race.
    column: the column of row ids; None: `id`, or the only column with a usual name for ids.
    units: direction and range of the numbers; the result has losses.
    """
    table = read_cells(path)
    place = id_place(table, column)
    # `describe` calls the column "a score" a, if all columns have such a word.
    names = {at: name if name in candidates else without_kind_word(name) for at, name in enumerate(table.names)}
    columns = {at: name for at, name in names.items() if name in candidates and at != place}
    if not columns or len(set(columns.values())) < len(columns):
        raise TableError(
            f"{path}: expected one column for each known candidate, got {join_names(table.names, limit=20)}; "
            f"use names among {join_names(candidates)}, each once."
        )
    index, seen = {name: number for number, name in enumerate(rows)}, set()
    known = np.full((len(rows), len(candidates)), math.nan)
    for line, cells in zip(table.lines, table.rows, strict=True):
        row = cells[place]
        if row not in index or row in seen:
            problem = "a second time" if row in seen else "which is not in the list"
            raise TableError(
                f"{path}: expected rows of the list, each once, got {row!r} {problem} in line {line}; drop it."
            )
        seen.add(row)
        for at, name in columns.items():
            if cells[at].lower() not in MISSING:
                known[index[row], candidates.index(name)] = units.parse_loss(str(path), line, name, cells[at])
    return known


def answer_table(file: RaceFile) -> list[list[Any]]:
    """Return all answers of a race as lines of cells, a header first.

    They are in order of arrival. `read_answers` reads the table back.
    """
    race = file.race
    lines: list[list[Any]] = [[*_ANSWER_TYPES]]
    for event in file.events:
        if event.kind == "answer":
            call = race.call(event.ticket)
            lines.append([call.ticket, call.candidate, call.row, event.loss, event.cost, int(event.failed)])
    return lines


def export_answers(file: RaceFile, path: Path) -> int:
    """Write all answers of a race to a table; return their number.

    path: ends in .csv or .parquet, else TableError.
    """
    columns = [list(column) for column in zip(*answer_table(file)[1:], strict=True)] or [[] for _ in _ANSWER_TYPES]
    return write_columns(path, _ANSWER_TYPES, lambda: iter([columns]), file.path)


def _ticket_by_name(path: Path, line: int, values: dict[str, str], tickets: Mapping[tuple[str, str], int]) -> int:
    name = values["candidate"], values["row"]
    if name not in tickets:
        raise FeedbackError(
            f"{path}: expected a call that has been issued, got {name[0]!r} on {name[1]!r} in line {line}; "
            "request it with tombola race next."
        )
    return tickets[name]


def _loss(path: Path, line: int, values: dict[str, str], range: tuple[float, float]) -> float | None:
    loss, score = values.get("loss", ""), values.get("score", "")
    if loss and score:
        raise TableError(f"{path}: expected a loss or a score in line {line}, got both; leave one out.")
    if not (loss or score):
        return None
    name = "score" if score else "loss"
    return Units(*range, scores=bool(score)).parse_loss(str(path), line, name, loss or score)


def _failed(path: Path, line: int, text: str) -> bool:
    if text.lower() not in (*_FAILED_VALUES, *_NOT_FAILED_VALUES):
        raise TableError(f"{path}: expected 1 or 0 for failed in line {line}, got {text!r}; write one of them.")
    return text.lower() in _FAILED_VALUES


def _ticket(path: Path, line: int, text: str) -> int:
    number = _number(path, line, text)
    if not number.is_integer():
        raise TableError(
            f"{path}: expected a ticket number in line {line}, got {text!r}; use the one that `next` printed."
        )
    return int(number)


def _number(path: Path, line: int, text: str) -> float:
    number = parse_number(text)
    if math.isnan(number):
        raise TableError(f"{path}: expected a number in line {line}, got {text!r}; write one.")
    return number
