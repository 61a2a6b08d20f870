"""Tables as cells of text, in every format of `read_table`: work lists, tables of outcomes, and history."""

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tombola._formatting import join_names
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.columns import (
    Columns,
    check_unique_names,
    parse_number,
    parse_text_column,
)
from tombola.tables.derived import without_summary_rows
from tombola.tables.formats import read_file, suffix_of
from tombola.tables.formats.delimited import (
    CellTable,
    text_encoding,
    text_lines,
    text_table,
)
from tombola.tables.names import IDS, has_id_word, is_id_name, is_summary_label
from tombola.tables.options import ReadOptions

# Suffixes of text tables, whose cells are kept exactly as they are.
_TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".dat")
# First lines of a .txt list, in lower case, that are a header and not an id.
_ID_HEADERS = ("id", "ids", "row")
# Names of columns, in lower case, beside which a column ticket has numbers of tickets, no ids.
_TICKET_COLUMNS = frozenset({"action", "candidate", "outcome", "loss", "score"})


class RowList(NamedTuple):
    """A work list: distinct ids of the rows to play, and the cells of its table by row.

    columns: names of all columns, also of `id_column`.
    delimiter: character between cells in the file.
    """

    id_column: str
    ids: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    notes: tuple[str, ...] = ()

    def labels(self, column: str, option: str = "--by") -> tuple[str, ...]:
        """Return the cell of each row in a column; a blank cell is "(none)"."""
        if column not in self.columns:
            raise TableError(
                f"{option}: expected a column of the list, got {column!r}; name one of "
                f"{join_names(self.columns)}."
            )
        place = self.columns.index(column)
        return tuple(row[place] or "(none)" for row in self.cells)


def open_cells(path: Path, sheet: str | None = None) -> CellTable:
    """Open a table as text; TableError, also while reading rows, if malformed."""
    is_text = path.exists() and suffix_of(path) in (*_TEXT_SUFFIXES, ".txt")
    if not is_text and (path.exists() or "::" in str(path)):
        return _from_columns(path, sheet)
    table = text_table(path)
    if not table.names:
        raise TableError(f"{path}: expected a header and rows, got an empty file; add them.")
    rows = (
        (line, tuple(cell.strip() for cell in row))
        for line, row in table.rows
        if any(map(str.strip, row))
    )
    return table._replace(rows=rows)


def read_cells(path: Path, sheet: str | None = None) -> CellTable:
    """Read a whole table as text, without blank lines."""
    table = open_cells(path, sheet)
    return table._replace(rows=list(table.rows))


def parse_cells(table: CellTable) -> Columns:
    """Parse a table of at least one row, given as a list; texts are kept."""
    lines, rows = zip(*table.rows, strict=True)
    cells = zip(table.names, zip(*rows, strict=True), strict=True)
    columns = [parse_text_column(name, column, keep_texts=True) for name, column in cells]
    return Columns(table.source, columns, np.array(lines, np.int64), table.notes)


def without_summary_line(
    table: CellTable, place: int, ignore_rows: Sequence[str] = ()
) -> CellTable:
    """Return a table, with a list of rows, without rows of sums or means, and with a note on them.

    QuestionError for a row that is called total but is no sum, unless `ignore_rows` names it.

    place: index of the column of ids, from 0.
    ignore_rows: ids of rows to leave out; "none" keeps all.
    """
    rows = list(table.rows)
    # Few tables have such an id, so that most need not be parsed.
    labels = [cells[place] for _, cells in rows]
    if not rows or not (ignore_rows or labels[-1] == "" or any(map(is_summary_label, labels))):
        return table
    options = ReadOptions(ignore_rows=ignore_rows)
    _, mask, notes = without_summary_rows(parse_cells(table), options, table.names[place])
    return table._replace(rows=list(compress(rows, mask)), notes=(*table.notes, *notes))


def read_row_list(
    path: Path,
    id_column: str | None = None,
    sheet: str | None = None,
    ignore_rows: Sequence[str] = (),
) -> RowList:
    """Read a work list: a table with a column of ids, or a .txt with one id per line.

    Raises TableError if an id is blank or occurs twice. Without `id_column` it is the only one with
    a usual name.
    """
    if path.suffix.lower() == ".txt":
        return _read_lines(path, id_column)
    table = read_cells(path, sheet)
    check_unique_names(table.source, table.names)
    place = id_place(table, id_column)
    table = without_summary_line(table, place, ignore_rows)
    rows = tuple(tuple(row) for _, row in table.rows)
    ids = tuple(_distinct_ids(table, place))
    return RowList(table.names[place], ids, table.names, rows, table.delimiter, table.notes)


def read_history(
    path: Path, rows: Sequence[str] | None = None, column: str | None = None
) -> tuple[list[str], Floats, tuple[str, ...]]:
    """Read a history: ids, and numbers known of each row before the order is drawn.

    Returns the ids; the numbers, shape (rows, h), such as the losses of candidates that do not take
    part; and a note if a last row that sums up the others was left out.

    rows: ids that must all occur, in the order of the result; None for all rows of the file.
    column: name of the column of ids; None for the one with a usual name, such as id.
    """
    table = read_cells(path)
    places = [
        place
        for place, name in enumerate(table.names)
        if (name == column if column else is_id_name(name))
    ]
    if len(places) != 1 or len(table.names) < 2:
        raise TableError(
            f"{path}: expected one column of row ids and columns of numbers, got "
            f"{join_names(table.names, limit=20)}; "
            "write a header such as id,a,b."
        )
    place = places[0]
    body = without_summary_line(table, place)
    lines = _distinct_ids(body, place)
    cells_of = dict(body.rows)
    ids = list(lines) if rows is None else list(rows)
    numbers = []
    for name in ids:
        if name not in lines:
            raise TableError(f"{path}: expected every row of the list, got no {name!r}; add it.")
        cells = [cell for at, cell in enumerate(cells_of[lines[name]]) if at != place]
        numbers.append([parse_number(cell) for cell in cells])
        if np.isnan(numbers[-1]).any():
            wrong = cells[int(np.argmax(np.isnan(numbers[-1])))]
            raise TableError(
                f"{path}: expected a number in every cell, got {wrong!r} in line {lines[name]}; "
                "write one."
            )
    return ids, np.array(numbers, float), body.notes[len(table.notes) :]


def _read_lines(path: Path, id_column: str | None) -> RowList:
    if id_column is not None:
        raise TableError(
            f"{path}: expected a table for --id {id_column}, got a .txt, which has one row a "
            "line; call it .csv."
        )
    lines = [line.strip() for line in text_lines(path, text_encoding(path)) if line.strip()]
    ids = tuple(lines[1:] if lines and lines[0].lower() in _ID_HEADERS else lines)
    if not ids:
        raise TableError(
            f"{path}: expected an id in every line, got an empty file; write one id per line."
        )
    return RowList("id", ids, ("id",), tuple((id_,) for id_ in ids))


def id_place(table: CellTable, id_column: str | None) -> int:
    """Return the index, from 0, of the id column; TableError unless exactly one fits."""
    lower = [name.lower() for name in table.names]
    if id_column is not None:
        places = [place for place, name in enumerate(table.names) if name == id_column]
        places = places or [place for place, name in enumerate(lower) if name == id_column.lower()]
    else:
        rows = [row for _, row in table.rows]
        # The surest names first: a list with columns customer_id and name has its ids in the first
        # of them.
        places = [place for place, name in enumerate(lower) if name in IDS]
        if not places:
            places = [place for place, name in enumerate(lower) if has_id_word(name)]
            if not any(_identifies(rows, place) for place in places):
                places = _ticket_places(lower, rows) or places
        places = places or [place for place, name in enumerate(lower) if name and is_id_name(name)]
        # Of several, those that identify every row.
        places = [place for place in places if _identifies(rows, place)] or places
    if len(places) != 1:
        expected = (
            f"a column called {id_column}" if id_column is not None else "one column with the ids"
        )
        example = next((table.names[place] for place in places), table.names[0])
        raise TableError(
            f"{table.source}: expected {expected}, got the columns "
            f"{join_names(table.names, limit=20)}; name the "
            f"column, such as --id {example!r}."
        )
    return places[0]


def _ticket_places(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the place of a column ticket that identifies every row of a list; [] without one.

    names: of all columns, in lower case. Beside actions or outcomes it has numbers of tickets.
    """
    if not _TICKET_COLUMNS.isdisjoint(names):
        return []
    return [
        place for place, name in enumerate(names) if name == "ticket" and _identifies(rows, place)
    ]


def _identifies(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether no cell of a column, of any rows, is blank or repeats."""
    return len({row[place] for row in rows} - {""}) == len(rows) > 0


def _distinct_ids(table: CellTable, place: int) -> dict[str, int]:
    """Return the line of each id; TableError if there is none, or one is blank or occurs twice."""
    lines: dict[str, int] = {}
    for line, row in table.rows:
        if not row[place]:
            raise _missing_id(table, place, f"an empty cell in line {line}")
        if row[place] in lines:
            raise TableError(
                f"{table.source}: ids must be different, got {row[place]!r} in lines "
                f"{lines[row[place]]} and {line}; "
                "leave out one of them, or name another column with --id."
            )
        lines[row[place]] = line
    if not lines:
        raise _missing_id(table, place, "no rows")
    return lines


def _missing_id(table: CellTable, place: int, got: str) -> TableError:
    return TableError(
        f"{table.source}: expected an id in every row of column {table.names[place]!r}, got "
        f"{got}; fill it in."
    )


def _from_columns(path: Path, sheet: str | None) -> CellTable:
    read = read_file(str(path), ReadOptions(sheet=sheet))
    if not isinstance(read, Columns):
        raise TableError(
            f"{path}: expected a list with named columns, got an array; save the list as CSV or "
            "Excel."
        )
    texts: list[Sequence[str]] = [column.labels for column in read.columns]
    lines = range(2, read.rows + 2) if read.lines is None else read.lines.tolist()
    rows = zip(lines, map(tuple, zip(*texts, strict=True)), strict=True)
    return CellTable(
        read.source, tuple(column.name for column in read.columns), rows, notes=read.notes
    )
