"""Tables of a race: read answers, write calls to fill in, export all answers."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tombola._formatting import csv_cell_matches, join_names
from tombola._types import Floats
from tombola.errors import FeedbackError, TableError
from tombola.racing.events import Call, Event
from tombola.racing.options import RaceSettings
from tombola.tables.cells import id_place, read_cells, without_summary_line
from tombola.tables.columns import MISSING, parse_number
from tombola.tables.names import without_kind_word
from tombola.tables.unit_checks import parse_loss
from tombola.units import UNIT_LOSSES, Units
from tombola.worklists.race_file import RaceFile
from tombola.worklists.session_csv import (
    loss_in_cell,
    ticket_number,
    write_columns,
    write_work_list,
)

# Values of the column `failed` for a failed call, in lower case; pandas writes 1.0.
_FAILED_VALUES = ("1", "1.0", "true", "yes", "failed", "x")
# Values of the column `failed` for an answer that did not fail; others raise TableError.
_NOT_FAILED_VALUES = ("", "0", "0.0", "false", "no")
# Columns of a table of answers beside the answers themselves.
_OTHER_COLUMNS = ("ticket", "candidate", "row", "cost", "failed")


def read_answers(
    path: Path,
    tickets: Mapping[tuple[str, str], int],
    call_of: Callable[[int], Call | None],
    settings: RaceSettings,
    id_column: str = "row",
) -> list[Event]:
    """Return the answers in a table as events of kind "answer".

    Columns: ticket, or candidate and row; loss, score or outcome (as the race was started);
        optionally cost and failed.
    A row without an answer that has not failed is skipped. TableError names the line of a malformed
    row.

    tickets: numbers of the issued calls by (candidate, row), from `RaceFile.tickets`.
    call_of: returns the call of a ticket number, with which candidate and row must agree; None
        where it is not known.
    id_column: name of the column of row ids in the list of the race; the table may use it instead
        of `row`.
    """
    table = read_cells(path)
    header = table.names
    columns = {name.lower(): position for position, name in enumerate(header)}
    if "row" not in columns and id_column.lower() in columns:
        columns["row"] = columns[id_column.lower()]
    by_name = "ticket" not in columns
    if (by_name and not {"candidate", "row"} <= set(columns)) or not (
        _outcome_columns(settings) & set(columns)
    ):
        raise TableError(
            f"{path}: expected columns ticket (or candidate and row) and loss (or score), got "
            f"{', '.join(header[:20])}; write a header such as ticket,loss,cost."
        )
    answers = []
    for line, cells in table.rows:
        source = f"{path}, line {line}"
        values = {name: cells[position] for name, position in columns.items()}
        loss, failed = _loss(source, values, settings), _failed(source, values.get("failed", ""))
        if loss is None and not failed:
            continue
        if loss is not None and failed:
            raise TableError(
                f"{source}: expected a loss or a failed call, got both; leave one out."
            )
        name = values.get("candidate", ""), values.get("row", "")
        if by_name and name not in tickets:
            raise FeedbackError(
                f"{source}: expected a call that has been issued, got {name[0]!r} on {name[1]!r}; "
                "request it with tombola race next."
            )
        ticket = tickets[name] if by_name else ticket_number(source, values["ticket"])
        call = call_of(ticket)
        if call is not None and not all(map(csv_cell_matches, name, (call.candidate, call.row))):
            raise TableError(
                f"{source}: expected {call.candidate!r} on {call.row!r} for ticket {ticket}, got "
                "another candidate or "
                "row; leave out the ticket, or correct the names."
            )
        cost = _cost(source, values.get("cost", ""), 0.0 if failed else settings.default_cost)
        answers.append(Event("answer", ticket, loss, cost, failed))
    return answers


def _cost(source: str, text: str, default: float | None) -> float:
    """Return the cost in a cell, or the default of an empty one; None rejects it."""
    if not text and default is not None:
        return default
    cost = parse_number(text)
    if math.isnan(cost):
        needed = "" if text else ", because the race has --max-cost"
        raise TableError(f"{source}: expected a number as cost{needed}, got {text!r}; fill it in.")
    return cost


def read_known(
    path: Path,
    candidates: Sequence[str],
    rows: Sequence[str],
    column: str | None = None,
    units: Units = UNIT_LOSSES,
) -> Floats:
    """Read answers on file: losses in [0, 1], shape (rows, candidates), NaN if blank.

    Columns that are not named like a candidate are ignored, so that the list itself may have the
    answers. Rows and candidates may be left out, and a last row that sums up the others is.
    TableError if a row does not belong to the race.

    rows: names of the rows of the race.
    column: the column of row ids; None: `id`, or the only column with a usual name for ids.
    """
    table = read_cells(path)
    place = id_place(table, column)
    # `describe` calls the column "a score" a, if all columns have such a word.
    names = {
        at: name if name in candidates else without_kind_word(name)
        for at, name in enumerate(table.names)
    }
    columns = {at: name for at, name in names.items() if name in candidates and at != place}
    if not columns or len(set(columns.values())) < len(columns):
        raise TableError(
            f"{path}: expected one column for each known candidate, got "
            f"{join_names(table.names, limit=20)}; "
            f"use names among {join_names(candidates)}, each once."
        )
    index, seen = {name: number for number, name in enumerate(rows)}, set()
    known = np.full((len(rows), len(candidates)), math.nan)
    for line, cells in without_summary_line(table, place).rows:
        row = cells[place]
        if row not in index or row in seen:
            problem = "a second time" if row in seen else "which is not in the list"
            raise TableError(
                f"{path}: expected rows of the list, each once, got {row!r} {problem} in line "
                f"{line}; drop it."
            )
        seen.add(row)
        for at, name in columns.items():
            if cells[at].lower() not in MISSING:
                known[index[row], candidates.index(name)] = parse_loss(
                    str(path), line, name, cells[at], units
                )
    return known


def write_calls(
    path: Path, calls: Sequence[Call], settings: RaceSettings, file: RaceFile | None, *inputs: Path
) -> None:
    """Write calls to a table with a blank column `outcome`, for `read_answers`.

    A column of the list that `read_answers` would take for something else, such as `cost`, gets the
    prefix `list:`.

    path: a new file that ends in .csv or .xlsx, else TableError.
    file: the race file, which has the columns of the list; None over HTTP, where only the row ids
        are known.
    """
    taken = {*_OTHER_COLUMNS, *_outcome_columns(settings)}
    own = ("row",) if file is None else file.columns
    id_column = "row" if file is None else file.id_column
    rows = [(call.row,) for call in calls] if file is None else file.rows_of(calls)
    names = [
        f"list:{name}" if name.lower() in taken and (name != id_column or name != "row") else name
        for name in own
    ]
    lines = [
        [str(call.ticket), call.candidate, *row, ""] for call, row in zip(calls, rows, strict=True)
    ]
    write_work_list(
        path,
        [["ticket", "candidate", *names, "outcome"], *lines],
        file.delimiter if file else ",",
        *inputs,
    )


def answer_table(file: RaceFile) -> list[list[Any]]:
    """Return all answers of a race, by arrival, as lines of cells after a header.

    The outcome is in the unit of the race, None if the call failed. `read_answers` reads the table
    back.
    """
    race, units = file.race, file.settings.units
    lines: list[list[Any]] = [[*_answer_types(units)]]
    for event in file.replay():
        if event.kind == "answer":
            call = race.call(event.ticket)
            lines.append(
                [
                    call.ticket,
                    call.candidate,
                    call.row,
                    _in_units(event.loss, units),
                    event.cost,
                    int(event.failed),
                ]
            )
    return lines


def export_answers(file: RaceFile, path: Path) -> int:
    """Write `answer_table` to a .csv or .parquet file; return the number of answers."""
    types = _answer_types(file.settings.units)
    columns = [list(column) for column in zip(*answer_table(file)[1:], strict=True)] or [
        [] for _ in types
    ]
    return write_columns(path, types, lambda: iter([columns]), file.path)


def _answer_types(units: Units) -> dict[str, str]:
    """Return the columns of an exported table of answers, with their Arrow types."""
    names = {"ticket": "int64", "candidate": "string", "row": "string"}
    return names | {_quantity_column(units): "float64", "cost": "float64", "failed": "int8"}


def _quantity_column(units: Units) -> str:
    """Return the name of a column of answers: loss, score or unit, such as seconds."""
    return "outcome" if units.quantity.lower() in _OTHER_COLUMNS else units.quantity


def _in_units(loss: float | None, units: Units) -> float | None:
    """Convert a loss to the number recorded: the rounded one if it is the same loss.

    >>> _in_units(0.7, Units(0, 1, scores=True)), _in_units(1 / 3, Units())
    (0.3, 0.3333333333333333)
    """
    if loss is None:
        return None
    rounded = float(units.text(loss))
    return rounded if units.loss(rounded) == loss else units.number(loss)


def _outcome_columns(settings: RaceSettings) -> set[str]:
    """Return the names of columns that may have the answers, in lower case."""
    return {"outcome", "loss", "score", _quantity_column(settings.units).lower()}


def _loss(source: str, values: dict[str, str], settings: RaceSettings) -> float | None:
    filled = sorted(name for name in _outcome_columns(settings) if values.get(name))
    if len(filled) > 1:
        raise TableError(
            f"{source}: expected one answer, got {' and '.join(filled)}; leave all but one blank."
        )
    if not filled:
        return None
    [name], units = filled, settings.units
    expected, contrary = ("score", "loss") if units.scores else ("loss", "score")
    # A race of losses may have the unit score, as in "golf score".
    if name == contrary != _quantity_column(units).lower():
        raise TableError(
            f"{source}: expected a {expected}, because this race has {settings.kind}, got "
            f"{values[name]!r} in column {name}; rename the column to {expected} if it is a "
            f"{expected}."
        )
    range_fix = (
        f"the race has the range {units.low:g},{units.high:g}: repair the cell, or "
        "start the race with another --range"
    )
    return loss_in_cell(source, name, units, values[name], range_fix)


def _failed(source: str, text: str) -> bool:
    if text.lower() not in (*_FAILED_VALUES, *_NOT_FAILED_VALUES):
        raise TableError(f"{source}: expected 1 or 0 for failed, got {text!r}; write one of them.")
    return text.lower() in _FAILED_VALUES
