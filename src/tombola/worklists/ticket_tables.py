"""Tables of a work list: tickets to fill in, outcomes to read back, and exports.

One form for sessions and races. The columns of the user's list come first, then `ticket`, the
action (`action`, or `candidate` in a race) and a blank column `outcome`, or one for each action
with full feedback.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from tombola._files import atomic_writer, check_output_path, write_atomic
from tombola._formatting import csv_cell_matches, csv_text, join_names
from tombola._types import Floats
from tombola.errors import FeedbackError, TableError
from tombola.tables.cells import read_cells
from tombola.tables.columns import parse_cell, parse_number
from tombola.tables.formats.delimited import CellTable
from tombola.tables.names import direction_of
from tombola.tables.unit_checks import cell_fix, cell_loss
from tombola.units import Kind, Units, parse_range
from tombola.worklists.work_file import Assignment, Description, Outcome, errors_at

if TYPE_CHECKING:
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.session_file import SessionFile

# Accepted names of the id column of a table of outcomes, if the list has no other name for it.
_ID_COLUMNS = ("id", "ids", "row")
# Accepted names of the column of outcomes, beside the unit of a race; scores are better if higher.
_OUTCOME_COLUMNS = ("outcome", "loss", "score")
# Values of the column `failed` for a failed call, in lower case; pandas writes 1.0.
_FAILED_VALUES = ("1", "1.0", "true", "yes", "failed", "x")
# Values of the column `failed` for an answer that did not fail; others raise TableError.
_NOT_FAILED_VALUES = ("", "0", "0.0", "false", "no")
# Exported decisions of a router: its probability, the actions of router (-1: none) and safe
# learner, and the capital.
_DECISION_COLUMNS = ("stake", "router", "safe", "capital")
# Largest ticket number that is read from a table: larger whole numbers are not exact in float64.
_MAX_TICKET = 1 << 53
# Tickets converted to text at a time: bounds the memory of an export.
_TICKETS_PER_CHUNK = 20_000

# Some rows of a table, as columns of cells.
_Columns = list[list[Any]]


class WorkList(Protocol):
    """What a table of outcomes needs: a `WorkFile`, or a list of a server."""

    def describe(self) -> Description:
        """Return the settings that do not change."""

    def assignment(self, ticket: int) -> Assignment:
        """Return the issued ticket with this number."""

    def ticket_of(self, id: str, action: str = "", run: int | None = None) -> int:
        """Return the number of the ticket of a row, and in a race of a candidate and run."""


def column_units(
    about: Description,
    column: str,
    kind: Kind | None = None,
    limits: tuple[float, float] | None = None,
) -> Units:
    """Return the unit of a column of outcomes; TableError unless its direction is stated, once.

    kind, limits: direction and range that the user states; None: those of the list, or of the
        name.
    """
    if about.kind == "race" and column.lower() == quantity_column(about.units).lower():
        return about.units
    by_name = direction_of([column])[0] if column.lower() != "outcome" else None
    stated = [choice for choice in (kind, about.direction, by_name) if choice is not None]
    if not stated:
        raise TableError(
            "session record: expected losses (lower is better) or scores (higher is better, yes "
            f"is good), got a column called {column!r}, which can be either; add --scores, or "
            "--losses."
        )
    # An option that differs from the name of the column is an explicit choice; the direction of the
    # list is fixed.
    if about.direction is not None and set(stated) != {about.direction}:
        expected = about.direction
        contrary = next(choice for choice in stated if choice != expected)
        word = "score" if expected == "scores" else "loss"
        option = f"leave out the option --{contrary}, or " if kind == contrary else ""
        raise TableError(
            f"{about.kind} record: expected {expected}, because this {about.kind} has {expected}, "
            f"got {contrary} in column {column!r}; {option}rename the column to {word} if it is a "
            f"{word}."
        )
    low, high = limits or about.range
    return Units(low, high, scores=stated[0] == "scores", unit=about.unit)


def parse_outcome(
    owner: str, about: Description, loss: str, score: str, limits: str = ""
) -> tuple[float | list[float], Units]:
    """Return the loss in [0, 1] of --loss or --score, a list with full feedback, and its unit."""
    if bool(loss) == bool(score):
        got = "both" if loss else "neither"
        raise FeedbackError(
            f"{owner}: expected a loss or a score, got {got}; write --loss 0.25, or --score 0.75."
        )
    kind: Kind = "scores" if score else "losses"
    text = loss or score
    if about.direction not in (None, kind):
        expected, got = ("loss", "score") if score else ("score", "loss")
        raise FeedbackError(
            f"{owner}: expected a {expected}, because this {about.kind} has {about.direction}, got "
            f"--{got} {text}; write --{expected} {text} if it is a {expected}."
        )
    low, high = parse_range(limits) if limits else about.range
    unit = Units(low, high, scores=bool(score), unit=about.unit)
    losses = []
    for cell in text.split(",") if about.full_feedback else [text]:
        number = cell_loss(cell.strip(), unit)
        if number is None:
            range_fix = (
                ["repair it, or start the race with another --range"]
                if about.kind == "race"
                else []
            )
            raise FeedbackError(
                f"{owner}: expected {unit.expected_text}, got {cell.strip()!r}; "
                f"{cell_fix(cell, unit, *range_fix)}."
            )
        losses.append(number)
    return (losses if about.full_feedback else losses[0]), unit


def read_outcomes(
    work: WorkList,
    path: Path,
    kind: Kind | None = None,
    limits: tuple[float, float] | None = None,
    *,
    outcome: str = "",
) -> list[Outcome]:
    """Read the outcomes of tickets from a table; skip rows with a blank outcome.

    TableError or FeedbackError names the line of a malformed row. Ids and actions in the table must
    be those of the tickets.

    path: a table with a column `ticket`, or ids and in a race `candidate` (and `run`, where a row
        comes again); and outcomes in a column `outcome`, `loss` or `score`, or with full feedback
        in a column for each action; optionally with costs, and in a race with `failed`.
    kind, limits: as of `column_units`.
    outcome: the column of outcomes, if it has another name.
    """
    about = work.describe()
    table = read_cells(path)
    places = _Places(about, table, outcome)
    units = [column_units(about, table.names[place], kind, limits) for place in places.outcomes]
    outcomes = []
    for line, row in table.rows:
        source = f"{path}, line {line}"
        failed = places.failed is not None and _is_failed(source, row[places.failed])
        has_outcome = any(row[place] for place in places.outcomes)
        if not has_outcome and not failed:
            continue
        if has_outcome and failed:
            raise TableError(
                f"{source}: expected a loss or a failed call, got both; leave one out."
            )
        with errors_at(source):
            ticket = (
                work.ticket_of(row[places.key], places.action_in(row), places.run_in(source, row))
                if places.ticket is None
                else ticket_number(source, row[places.ticket])
            )
            task = work.assignment(ticket) if places.checked else None
        for field, place in places.checked.items():
            expected = getattr(task, field)
            if not (
                _run_number(source, row[place]) == expected
                if field == "run"
                else csv_cell_matches(row[place], expected)
            ):
                name = table.names[place]
                raise TableError(
                    f"{source}: expected the {name} {expected!r} for ticket {ticket}, got "
                    f"{row[place].strip()!r}; record the outcome of the ticket as `next` returned "
                    f"it, or leave out the column {name}."
                )
        losses = [
            _loss_in_cell(source, table.names[place], unit, row[place], about)
            for place, unit in zip(places.outcomes, units, strict=True)
            if has_outcome
        ]
        costs = [_cost_in_cell(row[place]) for place in places.costs]
        outcomes.append(
            Outcome(
                ticket,
                (losses if about.full_feedback else losses[0]) if losses else None,
                None,
                _race_cost(source, costs) if about.kind == "race" else costs or None,
                source,
                units[0],
                failed,
            )
        )
    return outcomes


class _Places:
    """Columns of a table of outcomes, as positions; TableError if one is missing or twice.

    ticket, key, action, run: the ticket, else the row id and in a race the candidate and its run;
        None if absent.
    checked: columns that must agree with the ticket, by field of `Assignment`.
    """

    def __init__(self, about: Description, table: CellTable, outcome: str) -> None:
        header = [name if name in about.columns else name.lower() for name in table.names]
        is_race = about.kind == "race"
        advice = "a header such as ticket,loss"
        ids = (about.id_column,) if about.id_column in header else _ID_COLUMNS
        if about.id_column.lower() == "ticket" and "ticket" in header:
            ids = ("list:ticket",) if "list:ticket" in header else _ID_COLUMNS
            if not {*ids} & {*header}:
                raise TableError(
                    f"{table.source}: expected the numbers of tickets and the ids of the list in "
                    "two columns, got one called ticket, which may have either; call it id if it "
                    "has ids of the list, else add their column list:ticket, as `next --out` "
                    "writes it."
                )
        self.ticket: int | None = None
        self.key = -1
        if "ticket" in header:
            self.ticket = self.key = _column(table, header, ("ticket",), advice)
        else:
            if not {*ids} & {*header}:
                raise TableError(
                    f"{table.source}: expected a column ticket, or {about.id_column or 'id'} with "
                    f"the ids of the list, got the columns {join_names(table.names, limit=20)}; "
                    "add one of them, or give its column that name."
                )
            self.key = _column(table, header, ids, advice)
        self.action = header.index(about.action_word) if about.action_word in header else None
        # A list may have a column run of its own.
        self.run = header.index("run") if about.repeats and header.count("run") == 1 else None
        if is_race and self.ticket is None and self.action is None:
            _column(table, header, ("candidate",), "a header such as candidate,row,loss")
        actions = about.actions[: about.n_listed] if about.full_feedback else ()
        self.outcomes = [
            _column(table, table.names, (action,), "a column for every action")
            for action in actions
        ] or [_outcome_place(about, table, header, outcome)]
        is_priced = not {*about.cost_columns}.isdisjoint(header)
        self.costs = [
            _column(table, header, (name,), "a column for each resource")
            for name in about.cost_columns
            if is_priced
        ]
        self.failed = header.index("failed") if is_race and "failed" in header else None
        id_names = [name for name in ids if header.count(name) == 1]
        fields = {"id": id_names[0] if id_names else "", "action": about.action_word}
        if self.run is not None:
            fields["run"] = "run"
        self.checked = {
            field: header.index(name)
            for field, name in fields.items()
            if header.count(name) == 1 and name not in actions
        }

    def action_in(self, row: Sequence[str]) -> str:
        """Return the action in the cells of a row; "" if the table does not have it."""
        return "" if self.action is None else row[self.action]

    def run_in(self, source: str, row: Sequence[str]) -> int | None:
        """Return the run in the cells of a row; None if the table does not have it."""
        return None if self.run is None else _run_number(source, row[self.run])


def _cost_in_cell(text: str) -> float | str:
    """Return the number in a cell; text that is none is rejected by the list itself."""
    cost = parse_number(text) if text else math.nan
    return text if math.isnan(cost) else cost


def _race_cost(source: str, costs: "list[float | str]") -> float | None:
    """Return the cost of a call; None for the default of the race."""
    cost = costs[0] if costs else ""
    if isinstance(cost, str) and cost:
        raise TableError(f"{source}: expected a number as cost, got {cost!r}; fill it in.")
    return None if isinstance(cost, str) else cost


def _is_failed(source: str, text: str) -> bool:
    if text.lower() not in (*_FAILED_VALUES, *_NOT_FAILED_VALUES):
        raise TableError(f"{source}: expected 1 or 0 for failed, got {text!r}; write one of them.")
    return text.lower() in _FAILED_VALUES


def write_tickets(
    about: Description,
    assignments: Sequence[Assignment],
    rows: Sequence[Sequence[str]],
    path: Path,
    *inputs: Path,
) -> None:
    """Write tickets with their rows and blank outcomes to a new table, for `read_outcomes`.

    A column of the list that `read_outcomes` would take for something else gets the prefix `list:`.
    A blank column outcome of the list is used for the outcomes.

    rows: cells of the row of each ticket, from `rows_of`.
    path: a new file that ends in .csv or .xlsx, else TableError.
    inputs: files in use, which must not be replaced.
    """
    reserved = {"ticket", "outcome", about.action_word, *about.cost_columns}
    if about.repeats:
        reserved.add("run")
    if about.kind == "race":
        reserved |= {
            "failed",
            *_ID_COLUMNS,
            *_OUTCOME_COLUMNS,
            quantity_column(about.units).lower(),
        }
    own = []
    has_outcome = False
    for at, name in enumerate(about.columns):
        is_blank = not any(row[at] for row in rows)
        if name.lower() == "outcome" and is_blank and not about.full_feedback:
            has_outcome = True
            own.append(name)
        elif name.lower() in reserved and (name != about.id_column or name not in _ID_COLUMNS):
            own.append(f"list:{name}")
        else:
            own.append(name)
    if about.full_feedback:
        blank = [name for name in about.actions[: about.n_listed] if name not in own]
    else:
        blank = [] if has_outcome else ["outcome"]
    run = ["run"] if about.repeats else []
    lines = [[*own, "ticket", about.action_word, *run, *blank]]
    for task, row in zip(assignments, rows, strict=True):
        runs = [str(task.run) for _ in run]
        lines.append([*row, str(task.ticket), task.action, *runs, *("" for _ in blank)])
    check_new_table(path, *inputs)
    if path.suffix.lower() == ".csv":
        # Without a byte order mark Excel misreads letters outside ASCII.
        text = csv_text(lines, delimiter=about.delimiter)
        write_atomic(path, text.encode("utf-8-sig", errors="backslashreplace"), *inputs)
    else:
        _write_excel(path, lines, *inputs)


def check_new_table(path: Path, *inputs: Path) -> None:
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
    return write_columns(path, _export_types(file), lambda: _column_chunks(file), file.path)


def export_answers(file: "RaceFile", path: Path) -> int:
    """Write all answers of a race, by arrival, to .csv or .parquet; return how many.

    The outcome is in the unit of the race, None if the call failed. `read_outcomes` reads the table
    back.
    """
    units = file.settings.units
    repeats = file.describe().repeats
    types = {"ticket": "int64", "candidate": "string", "row": "string"}
    types |= {"run": "int64"} if repeats else {}
    further = file.settings.further_units
    types |= {quantity_column(own): "float64" for own in (units, *further)}
    types |= {"cost": "float64", "failed": "int8"}
    lines: list[list[Any]] = []
    with file.reading():
        race = file.race
        for event in file.replay():
            if event.kind == "answer":
                call = race.call(event.ticket)
                number = _in_units(event.loss, units)
                run = [call.run] if repeats else []
                others = zip(event.others or [None] * len(further), further, strict=True)
                answer = [
                    number,
                    *(_in_units(loss, own) for loss, own in others),
                    event.cost,
                    int(event.failed),
                ]
                lines.append([call.ticket, call.candidate, call.row, *run, *answer])
    columns = [list(column) for column in zip(*lines, strict=True)] or [[] for _ in types]
    return write_columns(path, types, lambda: iter([columns]), file.path)


def quantity_column(units: Units) -> str:
    """Return the name of a column of answers of a race: loss, score or unit, such as seconds."""
    reserved = ("ticket", "candidate", "row", "run", "cost", "failed")
    return "outcome" if units.quantity.lower() in reserved else units.quantity


def _in_units(loss: float | None, units: Units) -> float | None:
    """Convert a loss to the number recorded: the rounded one if it is the same loss.

    >>> _in_units(0.7, Units(0, 1, scores=True)), _in_units(1 / 3, Units())
    (0.3, 0.3333333333333333)
    """
    if loss is None:
        return None
    rounded = float(units.text(loss))
    return rounded if units.loss(rounded) == loss else units.number(loss)


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


def _export_types(file: "SessionFile") -> dict[str, str]:
    """Return the columns of `export_tickets` with their Arrow types."""
    types = {"ticket": "int64", "id": "string", "action": "string", "probability": "float64"}
    types |= {file.units.quantity: "float64"}
    types |= {"amended": "bool_", "cancelled": "bool_"}
    types |= dict.fromkeys(_DECISION_COLUMNS, "float64") if file.feedback_model.n_decision else {}
    action_names = (
        file.names[: file.feedback_model.n_listed_actions]
        if file.feedback_model.full_feedback
        else ()
    )
    return types | dict.fromkeys(
        [
            *file.describe().cost_columns,
            *(f"{file.units.quantity}:{name}" for name in action_names),
        ],
        "float64",
    )


def _column_chunks(file: "SessionFile") -> Iterator[_Columns]:
    """Yield the columns of `export_tickets`, 20,000 tickets at a time; None if unknown."""
    view = file.view()
    known = view.answered_tickets - 1
    columns = [
        view.losses,
        *view.costs,
        *(view.rows.T if view.feedback_model.full_feedback else ()),
    ]
    numbers = np.full((len(columns), view.issued), math.nan)
    for at, column in enumerate(columns):
        is_loss = at == 0 or at > len(view.costs)
        numbers[at, known] = file.units.number(column) if is_loss else column
    loss, *others = numbers
    actions = view.actions
    probabilities = view.probabilities
    with closing(file.each_id()) as ids:
        for first in range(0, view.issued, _TICKETS_PER_CHUNK):
            part = slice(first, min(first + _TICKETS_PER_CHUNK, view.issued))
            tickets = range(part.start + 1, part.stop + 1)
            yield [
                list(tickets),
                list(islice(ids, len(tickets))),
                [view.names[action] for action in actions[part].tolist()],
                _or_none(probabilities[part]),
                _or_none(loss[part]),
                [ticket in view.amended for ticket in tickets],
                [ticket in view.cancelled for ticket in tickets],
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
        arrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
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
            cell.value = text or None
            cell.data_type = "s" if text else "n"
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


def _outcome_place(about: Description, table: CellTable, header: list[str], outcome: str) -> int:
    """Return the named column of outcomes, or the only filled one with a usual name."""
    if outcome:
        name = outcome if outcome in header else outcome.lower()
        return _column(table, header, (name,), "--outcome NAME")
    usual = {*_OUTCOME_COLUMNS}
    own = {name.lower() for name in about.columns} - {"outcome"}
    if about.kind == "race":
        usual.add(quantity_column(about.units).lower())
        # Tables of a race have their own columns under other names (`write_tickets`).
        own = set()
    places = [
        place
        for place, name in enumerate(header)
        if name.lower() in usual and name.lower() not in own
    ]
    filled = [place for place in places if any(row[place] for _, row in table.rows)]
    if len(filled or places) != 1:
        raise TableError(
            f"{table.source}: expected one column with outcomes, called outcome, loss or score, "
            f"got the columns {join_names(table.names, limit=20)}; name the column, such as "
            f"--outcome {table.names[-1]!r}."
        )
    return (filled or places)[0]


def _loss_in_cell(source: str, name: str, unit: Units, cell: str, about: Description) -> float:
    """Return the loss in a cell of column `name`; TableError names `source`."""
    loss = cell_loss(cell, unit)
    if loss is not None:
        return loss
    range_fix = []
    if about.kind == "race":
        range_fix = [
            f"the race has the range {unit.low:g},{unit.high:g}: repair the cell, or start the "
            "race with another --range"
        ]
    raise TableError(
        f"{source}: expected {unit.expected_text} in column {name}, got {cell!r}; "
        f"{cell_fix(cell, unit, *range_fix)}, or leave the cell blank while the outcome is open."
    )


def _column(table: CellTable, header: Sequence[str], names: tuple[str, ...], advice: str) -> int:
    places = [place for place, name in enumerate(header) if name in names]
    if len(places) != 1:
        expected = " or ".join(names)
        got = join_names(table.names, limit=20)
        raise TableError(
            f"{table.source}: expected one column called {expected}, got the columns {got}; "
            f"write {advice}."
        )
    return places[0]


def ticket_number(source: str, text: str) -> int:
    """Return the number of a ticket in a cell; TableError names `source`."""
    return _whole_number(source, text, "the number of a ticket")


def _run_number(source: str, text: str) -> int:
    """Return the number of a run in a cell; TableError names `source`."""
    return _whole_number(source, text, "the number of a run, from 1")


def _whole_number(source: str, text: str, expected: str) -> int:
    # Spreadsheets write 17 as 17.0 or 17,0.
    number = parse_cell(text).number
    if number is None or not (number.is_integer() and 0 < number < _MAX_TICKET):
        raise TableError(
            f"{source}: expected {expected}, got {text!r}; take the one that `next` returned."
        )
    return int(number)
