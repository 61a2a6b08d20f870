"""Tables of a session: write tickets to fill in, read outcomes, export all tickets."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tombola._files import atomic_writer, check_output_path, write_atomic
from tombola._formatting import csv_cell_matches, csv_text, join_names
from tombola._types import Floats
from tombola.budget.budget import Budget
from tombola.errors import TableError
from tombola.tables.cells import read_cells
from tombola.tables.columns import parse_cell
from tombola.tables.formats.delimited import CellTable
from tombola.tables.unit_checks import cell_fix, cell_loss
from tombola.units import Units
from tombola.worklists.session_events import Outcome, errors_at

if TYPE_CHECKING:
    from tombola.worklists.session_file import Assignment, SessionFile

# Accepted names of the id column of a table of outcomes, if the list has no other name for it.
_ID_COLUMNS = ("id", "ids", "row")
# Accepted names of the column of outcomes; scores are better if higher.
_OUTCOME_COLUMNS = ("outcome", "loss", "score")
# Exported decisions of a router: its probability, the actions of router (-1: none) and safe
# learner, and the capital.
_DECISION_COLUMNS = ("stake", "router", "safe", "capital")
# Largest ticket number that is read from a table: larger whole numbers are not exact in float64.
_MAX_TICKET = 1 << 53
# Tickets converted to text at a time: bounds the memory of an export.
_TICKETS_PER_CHUNK = 20_000

# Some rows of a table, as columns of cells.
_Columns = list[list[Any]]


def cost_columns(budget: Budget | None) -> tuple[str, ...]:
    """Return the cost columns of tables of outcomes: none, `cost`, or `cost:1`, ...

    >>> cost_columns(Budget([5.0, 2.0], worst=1.0))
    ('cost:1', 'cost:2')
    """
    resources = 0 if budget is None else budget.per_resource.size
    return (
        ("cost",)
        if resources == 1
        else tuple(f"cost:{number}" for number in range(1, resources + 1))
    )


def read_outcomes(
    file: "SessionFile", path: Path, unit: Callable[[str], Units], *, outcome: str = ""
) -> list[Outcome]:
    """Read the outcomes of tickets from a table; skip rows with a blank outcome.

    TableError or FeedbackError names the line of a malformed row.

    file: the session, or one behind HTTP with the same attributes; ids and actions in the table
        must be those of it.
    path: a table with a column `ticket` or ids, and outcomes in a column `outcome`, `loss` or
        `score`, or with full feedback in a column for each action; optionally with costs
        (`cost_columns`).
    unit: returns the unit of a column by its name.
    outcome: the column of outcomes, if it has another name.
    """
    table = read_cells(path)
    header = [name if name in file.columns else name.lower() for name in table.names]
    id_column, is_full = file.id_column, file.feedback_model.full_feedback
    keys = (
        ("ticket",) if "ticket" in header else (id_column,) if id_column in header else _ID_COLUMNS
    )
    key = _column(table, header, keys, "a header such as ticket,loss")
    actions = file.names[: file.feedback_model.n_listed_actions] if is_full else ()
    places = [
        _column(table, table.names, (action,), "a column for every action") for action in actions
    ]
    places = places or [_outcome_place(table, header, outcome, file.columns)]
    units = [unit(table.names[place]) for place in places]
    costs = cost_columns(file.budget)
    is_priced = not {*costs}.isdisjoint(header)
    cost_places = [
        _column(table, header, (name,), "a column for each resource") for name in costs if is_priced
    ]
    names = {"id": id_column if id_column in header else "id", "action": "action"}
    checked = {
        field: header.index(name) for field, name in names.items() if header.count(name) == 1
    }
    checked = {field: at for field, at in checked.items() if header[at] not in actions}
    outcomes, by_ticket = [], header[key] == "ticket"
    issued = None if by_ticket else file.round
    for line, row in table.rows:
        if not any(row[place] for place in places):
            continue
        source = f"{path}, line {line}"
        with errors_at(source):
            round_ = ticket_number(source, row[key]) if by_ticket else file.round_of(row[key])
            if issued is not None and round_ > issued:
                raise TableError(
                    f"{source}: expected a row with a ticket, got {row[key]!r}, which has no "
                    "ticket yet; issue it with "
                    "tombola session next, or leave its outcome blank."
                )
            task = file.assignment(round_) if checked else None
        for field, at in checked.items():
            if not csv_cell_matches(row[at], expected := getattr(task, field)):
                raise TableError(
                    f"{source}: expected the {field} {expected!r} for ticket {round_}, got "
                    f"{row[at].strip()!r}; record "
                    "the outcome of the ticket as `next` returned it, or leave out the column "
                    f"{field}."
                )
        losses = [
            loss_in_cell(source, table.names[place], one, row[place])
            for place, one in zip(places, units, strict=True)
        ]
        cost = [row[place] for place in cost_places] or None
        outcomes.append(
            Outcome(round_, losses if is_full else losses[0], None, cost, source, units[0])
        )
    return outcomes


def write_daily_list(file: "SessionFile", assignments: "Sequence[Assignment]", path: Path) -> None:
    """Write tickets with rows and blank outcomes to a table, for `read_outcomes`.

    A column of the list called ticket or action gets the prefix `list:`; one called outcome is used
    for the outcomes.

    file: the session, or one behind HTTP with the same attributes.
    """
    own = [
        f"list:{name}" if name.lower() in ("ticket", "action") else name for name in file.columns
    ]
    if file.feedback_model.full_feedback:
        blank = [
            name for name in file.names[: file.feedback_model.n_listed_actions] if name not in own
        ]
    else:
        blank = [] if any(name.lower() == "outcome" for name in own) else ["outcome"]
    lines = [[*own, "ticket", "action", *blank]]
    for task, row in zip(assignments, file.rows_of(assignments), strict=True):
        lines.append([*row, str(task.round), task.action, *("" for _ in blank)])
    write_work_list(path, lines, file.delimiter, file.path)


def write_work_list(path: Path, lines: list[list[str]], delimiter: str, *inputs: Path) -> None:
    """Write a table for a person to fill in, as a new CSV or Excel file.

    CSV gets a byte order mark, without which Excel misreads letters outside ASCII.

    lines: cells of the header, then of each row.
    delimiter: character between the cells of CSV.
    inputs: files in use, which must not be replaced.
    """
    check_daily_list(path, *inputs)
    if path.suffix.lower() == ".csv":
        text = csv_text(lines, delimiter=delimiter)
        write_atomic(path, text.encode("utf-8-sig", errors="backslashreplace"), *inputs)
    else:
        _write_excel(path, lines, *inputs)


def check_daily_list(path: Path, *inputs: Path) -> None:
    """Raise TableError unless a path is new and ends in .csv or .xlsx.

    Called before tickets are issued, so that none is lost.

    inputs: files in use, such as the session file, which it must not be.
    """
    if path.suffix.lower() not in (".csv", ".xlsx"):
        raise TableError(
            f"next: expected a table that ends in .csv or .xlsx, got {path}; write --out today.csv."
        )
    if path.exists():
        # It may hold outcomes that are not recorded yet.
        raise TableError(f"next: {path} exists already, nothing is overwritten; take another name.")
    if path.suffix.lower() == ".xlsx":
        _openpyxl()
    check_output_path(path, *inputs)


def export_tickets(file: "SessionFile", path: Path) -> int:
    """Write all tickets, in the session's unit, to .csv or .parquet; return how many."""
    return write_columns(path, export_columns(file), lambda: _column_chunks(file), file.path)


def write_columns(
    path: Path, types: dict[str, str], chunks: Callable[[], Iterator[_Columns]], *inputs: Path
) -> int:
    """Write chunks of columns to a .csv or .parquet table; return the number of rows.

    types: Arrow types by column name, such as {"ticket": "int64"}.
    chunks: yields the next rows as a list of columns, in the order of `types`; called after the
        path was checked.
    inputs: files in use, which must not be replaced.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise TableError(
            f"export: expected a path that ends in .csv or .parquet, got {path}; write --out "
            "run.csv."
        )
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with atomic_writer(path, *inputs) as out:
        return write(out, types, chunks())


def export_columns(file: "SessionFile") -> dict[str, str]:
    """Return the names of the columns of `export_tickets` with their Arrow types."""
    types = {"ticket": "int64", "id": "string", "action": "string", "probability": "float64"}
    types |= {file.units.quantity: "float64"}
    types |= {"amended": "bool_", "cancelled": "bool_"}
    types |= dict.fromkeys(_DECISION_COLUMNS, "float64") if file.feedback_model.n_decision else {}
    listed = (
        file.names[: file.feedback_model.n_listed_actions]
        if file.feedback_model.full_feedback
        else ()
    )
    return types | dict.fromkeys(
        [*cost_columns(file.budget), *(f"{file.units.quantity}:{name}" for name in listed)],
        "float64",
    )


def export_keys(file: "SessionFile") -> Iterator[tuple[int, str]]:
    """Yield ticket and row id of each row of `export_tickets`."""
    with closing(file.each_id()) as ids:
        yield from enumerate(islice(ids, file.round), start=1)


def _column_chunks(file: "SessionFile") -> Iterator[_Columns]:
    """Yield columns of `export_columns`, 20,000 tickets at a time; None if unknown."""
    view = file.view()
    known = view.answered_rounds - 1
    columns = [
        view.losses,
        *view.costs,
        *(view.rows.T if view.feedback_model.full_feedback else ()),
    ]
    numbers = np.full((len(columns), view.round), math.nan)
    for at, column in enumerate(columns):
        is_loss = at == 0 or at > len(view.costs)
        numbers[at, known] = file.units.number(column) if is_loss else column
    loss, *others = numbers
    actions, probabilities = view.actions, view.probabilities
    with closing(file.each_id()) as ids:
        for first in range(0, view.round, _TICKETS_PER_CHUNK):
            part = slice(first, min(first + _TICKETS_PER_CHUNK, view.round))
            rounds = range(part.start + 1, part.stop + 1)
            yield [
                list(rounds),
                list(islice(ids, len(rounds))),
                [view.names[action] for action in actions[part].tolist()],
                _or_none(probabilities[part]),
                _or_none(loss[part]),
                [round_ in view.amended for round_ in rounds],
                [round_ in view.cancelled for round_ in rounds],
                *(column[part].tolist() for column in view.decisions.T),
                *(_or_none(column[part]) for column in others),
            ]


def _or_none(numbers: Floats) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]


def _write_csv(out: BinaryIO, types: dict[str, str], chunks: Iterator[_Columns]) -> int:
    out.write(csv_text([types]).encode(errors="backslashreplace"))
    rows = 0
    for chunk in chunks:
        out.write(csv_text(zip(*chunk, strict=True)).encode(errors="backslashreplace"))
        rows += len(chunk[0])
    return rows


def _write_parquet(out: BinaryIO, types: dict[str, str], chunks: Iterator[_Columns]) -> int:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise TableError(
            "export: Parquet needs the package pyarrow, found none; write pip install "
            "'tombola[tables]', or take CSV."
        ) from None
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in types.items()])
    rows = 0
    with parquet.ParquetWriter(out, schema) as writer:
        for chunk in chunks:
            writer.write_table(arrow.table(dict(zip(types, chunk, strict=True)), schema=schema))
            rows += len(chunk[0])
    return rows


def _write_excel(path: Path, lines: list[list[str]], *inputs: Path) -> None:
    workbook = _openpyxl().Workbook()
    sheet = workbook.active
    for line, cells in enumerate(lines, start=1):
        for column, text in enumerate(cells, start=1):
            cell = sheet.cell(line, column)
            # Text stays text: Excel must not evaluate a name that starts with =.
            cell.value, cell.data_type = text or None, "s" if text else "n"
    with atomic_writer(path, *inputs) as out:
        workbook.save(out)


def _openpyxl() -> Any:
    try:
        return import_module("openpyxl")
    except ImportError:
        raise TableError(
            "next: an Excel file needs the package openpyxl, found none; write pip install "
            "'tombola[excel]', or take "
            "CSV."
        ) from None


def _outcome_place(
    table: CellTable, header: list[str], outcome: str, own_columns: Sequence[str]
) -> int:
    """Return the named column of outcomes, or the only filled one with a usual name."""
    if outcome:
        return _column(
            table, header, (outcome if outcome in header else outcome.lower(),), "--outcome NAME"
        )
    own = {name.lower() for name in own_columns} - {"outcome"}
    found = [
        place
        for place, name in enumerate(header)
        if name.lower() in _OUTCOME_COLUMNS and name.lower() not in own
    ]
    filled = [place for place in found if any(row[place] for _, row in table.rows)]
    if len(filled or found) != 1:
        raise TableError(
            f"{table.source}: expected one column with outcomes, called outcome, loss or score, "
            "got the columns "
            f"{join_names(table.names, limit=20)}; name the column, such as --outcome "
            f"{table.names[-1]!r}."
        )
    return (filled or found)[0]


def loss_in_cell(source: str, name: str, unit: Units, cell: str, *range_fix: str) -> float:
    """Return the loss in a cell of column `name`; TableError names `source`.

    range_fix: the fix of a number outside of the range, if it is not that of `cell_fix`.
    """
    loss = cell_loss(cell, unit)
    if loss is None:
        raise TableError(
            f"{source}: expected {unit.expected_text} in column {name}, got {cell!r}; "
            f"{cell_fix(cell, unit, *range_fix)}, or leave the cell blank while the outcome is "
            "open."
        )
    return loss


def _column(table: CellTable, header: Sequence[str], names: tuple[str, ...], advice: str) -> int:
    found = [place for place, name in enumerate(header) if name in names]
    if len(found) != 1:
        expected, got = " or ".join(names), join_names(table.names, limit=20)
        raise TableError(
            f"{table.source}: expected one column called {expected}, got the columns {got}; "
            f"write {advice}."
        )
    return found[0]


def ticket_number(source: str, text: str) -> int:
    """Return the number of a ticket in a cell; TableError names `source`."""
    # Spreadsheets write 17 as 17.0 or 17,0.
    number = parse_cell(text).number
    if number is None or not (number.is_integer() and 0 < number < _MAX_TICKET):
        raise TableError(
            f"{source}: expected the number of a ticket, got {text!r}; take the one that `next` "
            "returned."
        )
    return int(number)
