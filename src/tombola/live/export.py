"""Export: all tickets of a run and what came of them, as a CSV or Parquet table for other programs."""

import io
import math
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tombola.errors import TableError
from tombola.files import write_whole
from tombola.live.intake import cost_columns
from tombola.text import csv_text

if TYPE_CHECKING:
    from tombola.live.file import SessionFile

Columns = dict[str, list[Any]]


def export(run: "SessionFile", path: Path) -> int:
    """Write the table that the ending of the path names, and return the number of its rows."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise TableError(f"export: expected a path that ends in .csv or .parquet, got {path}; write --out run.csv.")
    columns = columns_of(run)
    if path.suffix.lower() == ".csv":
        content: str | bytes = csv_text([columns, *zip(*columns.values(), strict=True)])
    else:
        content = _parquet(columns)
    write_whole(path, content, run.path)
    return len(columns["ticket"])


def columns_of(run: "SessionFile") -> Columns:
    """Return one column for each property of a ticket; what is not known is None."""
    book, ids = run.book(), run.ids()
    losses: dict[int, float] = {ticket.round: loss for ticket, loss in book.losses}
    rounds = [ticket.round for ticket in book.tickets]
    columns: Columns = {
        "ticket": rounds,
        "id": ids[: len(rounds)],
        "action": [book.names[ticket.action] for ticket in book.tickets],
        "chance": [None if math.isnan(ticket.chance) else ticket.chance for ticket in book.tickets],
        "loss": [losses.get(round_) for round_ in rounds],
        "amended": [round_ in book.amended for round_ in rounds],
        "cancelled": [round_ in book.cancelled for round_ in rounds],
    }
    costs = book.costs
    for resource, name in enumerate(cost_columns(run.budget)):
        columns[name] = [costs[round_][resource] if round_ in costs else None for round_ in rounds]
    if book.setting.whole_rows:
        for action, name in enumerate(book.names[: book.actions]):
            columns[f"loss:{name}"] = [o[action] if isinstance(o, tuple) else None for o in book.outcomes]
    return columns


def _parquet(columns: Columns) -> bytes:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise TableError(
            "export: Parquet needs the package pyarrow, found none; write pip install 'tombola[tables]', or take CSV."
        ) from None
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(columns), buffer)
    return buffer.getvalue()
