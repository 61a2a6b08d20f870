"""Tables of a session file: read row ids and outcomes from CSV or TSV, export tickets to CSV or Parquet."""

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tombola._files import atomic_writer
from tombola._formatting import csv_cell_matches, csv_text
from tombola._types import Floats, Rounds
from tombola.budget.budget import Budget
from tombola.errors import TableError
from tombola.persistence.session_events import Outcome
from tombola.readers.formats.delimited import text_lines, text_table

if TYPE_CHECKING:
    from tombola.persistence.session_file import Assignment, SessionFile

# Accepted names of the id column.
ID_COLUMNS = ("id", "ids", "row")
# Tickets converted to text at a time: bounds the memory of an export.
TICKETS_PER_CHUNK = 20_000

Columns = list[list[Any]]


def read_ids(path: Path, column: str | None = None) -> list[str]:
    """Return the ids in a CSV or TSV table (the column called id, or `column`), or the lines of a .txt file."""
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise TableError(
                f"{path}: expected a table for --column {column}, got a .txt, which has one row a line; call it .csv."
            )
        lines = [line.strip() for line in text_lines(path) if line.strip()]
        ids = lines[1:] if lines and lines[0].lower() in ID_COLUMNS else lines
    else:
        header, rows = _read_table(path)
        place = _column(path, header, (column,) if column else ID_COLUMNS, "--column NAME")
        ids = [row[place].strip() for row in rows]
    if not ids or not all(ids):
        raise TableError(f"{path}: expected an id in every row, got none or an empty one; fill it in.")
    return ids


def cost_columns(budget: Budget | None) -> tuple[str, ...]:
    """Return the names of the cost columns: `cost`, or `cost:1`, `cost:2`, ... for several resources.

    >>> cost_columns(Budget([5.0, 2.0], worst=1.0))
    ('cost:1', 'cost:2')
    """
    resources = 0 if budget is None else budget.per_resource.size
    return ("cost",) if resources == 1 else tuple(f"cost:{number}" for number in range(1, resources + 1))


def read_outcomes(
    path: Path,
    actions: tuple[str, ...] | None,
    round_of: Callable[[str], int],
    *,
    assignment: "Callable[[int], Assignment] | None" = None,
    costs: tuple[str, ...] = (),
    rewards: bool = False,
) -> list[Outcome]:
    """Return the outcomes in a CSV or TSV table; rows with blank numbers are skipped.

    - `path`: a table with a column `ticket` or `id`, and numbers in a column `loss` or `reward`.
    - `actions`: with full feedback: the names of the actions, one column each.
    - `round_of`: returns the ticket of an id.
    - `assignment`: returns the ticket with a number; columns `id` and `action` must agree with it.
    - `costs`: names of the cost columns, read if present.
    - `rewards`: whether the numbers are rewards.
    """
    header, rows = _read_table(path)
    key = _column(path, header, ("ticket",) if "ticket" in header else ID_COLUMNS, "a header such as ticket,loss")
    if actions is not None:
        places = [_column(path, header, (action,), "a column for every action") for action in actions]
    else:
        places = [_column(path, header, ("loss", "reward"), "a header such as ticket,loss")]
        rewards = rewards or header[places[0]] == "reward"
    cost_places = (
        [_column(path, header, (name,), "a column for each resource") for name in costs] if {*costs} & {*header} else []
    )
    checked = {name for name in ("id", "action") if header.count(name) == 1 and name not in (actions or ())}
    outcomes = []
    for row in rows:
        cells = [row[place].strip() for place in places]
        cost = [row[place].strip() for place in cost_places] or None
        if any(cells):
            round_ = _ticket(path, row[key]) if header[key] == "ticket" else round_of(row[key].strip())
            if checked and assignment is not None:
                _check_agreement(path, {name: row[header.index(name)] for name in checked}, assignment(round_))
            value = cells if actions is not None else cells[0]
            outcomes.append(Outcome(round_, None, value, cost) if rewards else Outcome(round_, value, None, cost))
    return outcomes


def export(file: "SessionFile", path: Path) -> int:
    """Write all tickets with their outcomes to a .csv or .parquet table; return the number of rows."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise TableError(f"export: expected a path that ends in .csv or .parquet, got {path}; write --out run.csv.")
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with atomic_writer(path, file.path) as out:
        return write(out, column_types(file), column_chunks(file))


def column_types(file: "SessionFile") -> dict[str, str]:
    """Return the names of the exported columns with their Arrow types."""
    types = {"ticket": "int64", "id": "string", "action": "string", "probability": "float64", "loss": "float64"}
    types |= {"amended": "bool_", "cancelled": "bool_"}
    listed = file.names[: file.feedback_model.n_listed_actions] if file.feedback_model.full_feedback else ()
    return types | dict.fromkeys([*cost_columns(file.budget), *(f"loss:{name}" for name in listed)], "float64")


def column_chunks(file: "SessionFile") -> Iterator[Columns]:
    """Return the exported columns, TICKETS_PER_CHUNK tickets at a time; unknown values are None."""
    view = file.view()
    # Index of each ticket among the answered ones, -1 if it has no outcome.
    index = np.full(view.round, -1)
    index[view.answered_rounds - 1] = np.arange(view.answered)
    numbers = [view.losses, *view.costs, *(view.rows.T if view.feedback_model.full_feedback else ())]
    actions, probabilities = view.actions, view.probabilities
    with closing(file.each_id()) as ids:
        for first in range(0, view.round, TICKETS_PER_CHUNK):
            end = min(first + TICKETS_PER_CHUNK, view.round)
            loss, *others = (_known_values(column, index[first:end]) for column in numbers)
            rounds = range(first + 1, end + 1)
            yield [
                list(rounds),
                list(islice(ids, len(rounds))),
                [view.names[action] for action in actions[first:end].tolist()],
                [None if math.isnan(probability) else probability for probability in probabilities[first:end].tolist()],
                loss,
                [round_ in view.amended for round_ in rounds],
                [round_ in view.cancelled for round_ in rounds],
                *others,
            ]
        # Read the other ids too, so that a damaged list of rows is detected.
        deque(ids, maxlen=0)


def _known_values(column: Floats, index: Rounds) -> list[float | None]:
    found: list[float | None] = [None] * len(index)
    for at, number in zip(np.flatnonzero(index >= 0).tolist(), column[index[index >= 0]].tolist(), strict=True):
        found[at] = number
    return found


def _write_csv(out: BinaryIO, types: dict[str, str], chunks: Iterator[Columns]) -> int:
    out.write(csv_text([types]).encode(errors="backslashreplace"))
    rows = 0
    for chunk in chunks:
        out.write(csv_text(zip(*chunk, strict=True)).encode(errors="backslashreplace"))
        rows += len(chunk[0])
    return rows


def _write_parquet(out: BinaryIO, types: dict[str, str], chunks: Iterator[Columns]) -> int:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise TableError(
            "export: Parquet needs the package pyarrow, found none; write pip install 'tombola[tables]', or take CSV."
        ) from None
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in types.items()])
    rows = 0
    with parquet.ParquetWriter(out, schema) as writer:
        for chunk in chunks:
            writer.write_table(arrow.table(dict(zip(types, chunk, strict=True)), schema=schema))
            rows += len(chunk[0])
    return rows


def _check_agreement(path: Path, written: dict[str, str], assignment: "Assignment") -> None:
    """Reject an outcome whose id or action differs from its ticket's."""
    for name, text in written.items():
        expected = getattr(assignment, name)
        if not csv_cell_matches(text, expected):
            raise TableError(
                f"{path}: expected the {name} {expected!r} for ticket {assignment.round}, got {text.strip()!r}; record "
                f"the outcome of the ticket as `next` returned it, or leave out the column {name}."
            )


def _column(path: Path, header: list[str], names: tuple[str, ...], advice: str) -> int:
    found = [place for place, name in enumerate(header) if name in names]
    if len(found) != 1:
        expected, got = " or ".join(names), ", ".join(header[:20])
        raise TableError(f"{path}: expected one column called {expected}, got the columns {got}; write {advice}.")
    return found[0]


def _ticket(path: Path, text: str) -> int:
    if not (text.strip().isdecimal() and len(text) < 20):
        raise TableError(f"{path}: expected the number of a ticket, got {text!r}; take the one that `next` returned.")
    return int(text)


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows without blank lines."""
    header, rows, _ = text_table(path)
    if not header:
        raise TableError(f"{path}: expected a header and rows, got an empty file; add them.")
    return header, [row for _, row in rows if any(cell.strip() for cell in row)]
