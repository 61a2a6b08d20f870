"""Export: all tickets of a run and what came of them, as a CSV or Parquet table for other programs."""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tombola._files import atomic_writer
from tombola._formatting import csv_text
from tombola._types import Floats, Rounds
from tombola.errors import TableError
from tombola.persistence.session_csv import cost_columns

if TYPE_CHECKING:
    from tombola.persistence.session_file import SessionFile

PIECE = 20_000  # tickets that are words at the same time

Columns = list[list[Any]]


def export(run: "SessionFile", path: Path) -> int:
    """Write the table that the ending of the path names, and return the number of its rows."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise TableError(f"export: expected a path that ends in .csv or .parquet, got {path}; write --out run.csv.")
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with atomic_writer(path, run.path) as file:
        return write(file, kinds(run), pieces(run))


def kinds(run: "SessionFile") -> dict[str, str]:
    """Return the columns, one for each property of a ticket, and the kind of each."""
    found = {"ticket": "int64", "id": "string", "action": "string", "probability": "float64", "loss": "float64"}
    found |= {"amended": "bool_", "cancelled": "bool_"}
    listed = run.names[: run.feedback_model.n_listed_actions] if run.feedback_model.full_feedback else ()
    return found | dict.fromkeys([*cost_columns(run.budget), *(f"loss:{name}" for name in listed)], "float64")


def pieces(run: "SessionFile") -> Iterator[Columns]:
    """Return the columns, so many tickets at a time; what is not known is None. Every event and row is checked."""
    book = run.book()
    told = np.full(book.round, -1)  # where the numbers of a ticket are among those known
    told[book.known - 1] = np.arange(book.answered)
    numbers = [book.losses, *book.costs, *(book.rows.T if book.feedback_model.full_feedback else ())]
    with closing(run.each_id()) as ids:
        for first in range(0, book.round, PIECE):
            rounds = range(first + 1, min(first + PIECE, book.round) + 1)
            loss, *others = (_known(column, told[first : rounds[-1]]) for column in numbers)
            actions, probabilities = zip(*book.plays(np.array(rounds)), strict=True)
            yield [
                list(rounds),
                list(islice(ids, len(rounds))),
                [book.names[action] for action in actions],
                [None if math.isnan(probability) else probability for probability in probabilities],
                loss,
                [round_ in book.amended for round_ in rounds],
                [round_ in book.cancelled for round_ in rounds],
                *others,
            ]
        deque(ids, maxlen=0)


def _known(column: Floats, told: Rounds) -> list[float | None]:
    found: list[float | None] = [None] * len(told)
    for at, number in zip(np.flatnonzero(told >= 0).tolist(), column[told[told >= 0]].tolist(), strict=True):
        found[at] = number
    return found


def _write_csv(file: BinaryIO, columns: dict[str, str], found: Iterator[Columns]) -> int:
    file.write(csv_text([columns]).encode(errors="backslashreplace"))
    rows = 0
    for piece in found:
        file.write(csv_text(zip(*piece, strict=True)).encode(errors="backslashreplace"))
        rows += len(piece[0])
    return rows


def _write_parquet(file: BinaryIO, columns: dict[str, str], found: Iterator[Columns]) -> int:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise TableError(
            "export: Parquet needs the package pyarrow, found none; write pip install 'tombola[tables]', or take CSV."
        ) from None
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    rows = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for piece in found:
            writer.write_table(arrow.table(dict(zip(columns, piece, strict=True)), schema=schema))
            rows += len(piece[0])
    return rows
