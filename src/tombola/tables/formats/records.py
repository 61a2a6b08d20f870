"""Formats read row by row: JSON, SQLite and Excel."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, time
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from tombola._formatting import join_names, option_text, plural, truncate
from tombola.errors import TableError, TombolaError
from tombola.tables.columns import Columns, columns_from_rows
from tombola.tables.formats.delimited import text_lines
from tombola.tables.formats.titles import MAX_TITLE_LINES, header_place, title_note
from tombola.tables.input_checks import check_memory, import_optional
from tombola.tables.options import ReadOptions
from tombola.tables.question import Question

# Memory of parsed JSON as a multiple of its text: Python objects are larger. For the check before
# reading.
_JSON_SIZE_FACTOR = 8
# Memory of a Python object per cell in bytes, about; for the check before reading.
_CELL_SIZE = 64
# Lines among which the header is looked for, below titles.
_PEEKED = MAX_TITLE_LINES + 2
# Sheets or tables of which a question has an answer for each.
_MAX_ANSWERS = 12
# Lines of a sheet; more raise TableError. Excel itself has no more.
_MAX_SHEET_LINES = 1 << 20
# A part of a workbook that unpacks to more than this factor is no sheet; small parts may.
_MAX_UNPACK_FACTOR = 200
_SMALL_PART_SIZE = 1 << 16


def read_json(path: Path, options: ReadOptions) -> Columns:
    """Read JSON lines, a list of objects, or an object of lists or objects; nested keys become KEY:NAME."""
    lines = _bounded_lines(path)
    first = next((line for line in lines if line.strip()), "")
    try:
        records = _parse_lines(path, first, lines) or _parse_document("".join([first, *lines]))
    except TableError:
        raise
    except (ValueError, RecursionError) as error:
        reason = truncate(str(error).rstrip("."))
        raise TableError(
            f"{path}: expected JSON, an object on each line, got something else ({reason}); "
            "check it."
        ) from None
    names: list[str] = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise TableError(
            f"{path}: expected at least one object with names and numbers, got none; add some."
        )
    check_memory(str(path), _CELL_SIZE * len(records) * len(names))
    return columns_from_rows(
        str(path), names, ([record.get(name) for name in names] for record in records)
    )


def read_sqlite(path: Path, options: ReadOptions) -> Columns:
    """Read a table or a view of an SQLite file, read-only; the option `sheet` names it if there are several."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            # A view must not call functions with side effects.
            database.execute("PRAGMA trusted_schema = OFF")
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            name = _choose(
                path, "table", [name for (name,) in database.execute(query)], options.sheet
            )
            cursor = database.execute('SELECT * FROM "{}"'.format(name.replace('"', '""')))
            names = [column[0] for column in cursor.description]
            return columns_from_rows(
                f"{path}::{name}", names, cursor, note=f"the table {name!r} of an SQLite file"
            )
    except (sqlite3.Error, UnicodeError) as error:
        raise TableError(
            f"{path}: expected an SQLite file, got something else ({truncate(str(error))}); "
            "check the file."
        ) from None


def read_excel(path: Path, options: ReadOptions) -> Columns:
    """Read a sheet of an Excel file, with saved values of formulas; `sheet` names it if there are several."""
    name, rows = _sheet_rows(path, options.sheet)
    if len(rows) < 2:
        raise TableError(
            f"{path}: expected names and rows in sheet {name!r}, got "
            f"{plural(len(rows), 'line')}; name another."
        )
    shown = [["" if cell is None else str(cell) for cell in row] for _, row in rows[:_PEEKED]]
    header = header_place(shown)
    notes = [f"sheet {name!r}"]
    if header:
        notes.append(title_note(rows[header][0], shown[:header]))
    rows = rows[header:]
    width = max(at + 1 for at, cell in enumerate(rows[0][1]) if cell is not None)
    wider = next(
        (line for line, row in rows if any(cell is not None for cell in row[width:])), None
    )
    if wider is not None:
        raise TableError(
            f"{path}: expected {plural(width, 'column')} as in line {rows[0][0]} of sheet "
            f"{name!r}, got more in line "
            f"{wider}; put the names of all columns into the first line, and delete titles above "
            "them."
        )
    names = ["" if cell is None else str(cell).strip() for cell in rows[0][1][:width]]
    cells = ([*row, *[None] * width][:width] for _, row in rows[1:])
    table = columns_from_rows(f"{path}::{name}", names, cells)
    lines = np.array([line for line, _ in rows[1:]], dtype=np.int64)
    return replace(table, lines=lines, notes=(*table.notes, *notes))


def _choose(path: Path, what: str, names: Sequence[str], wanted: str | None) -> str:
    """Return the table or sheet to read: the requested one, or the only one."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None and names:
        raise Question(
            str(path),
            f"expected the name of one {what}, got {join_names(names, last=' and ')}",
            (f"{what}s", *names),
            tuple((f"the table is {name}", {"sheet": name}) for name in names[:_MAX_ANSWERS]),
        ).error()
    if wanted is None or wanted not in names:
        example = (names or ["NAME"])[0]
        command = f"{path}::{example}" if what == "table" else option_text("sheet", example)
        got = repr(wanted) if wanted is not None else "no name"
        listing = join_names(names) or "none"
        raise TableError(
            f"{path}: expected the name of one {what} of {listing}, got {got}; write for example "
            f"{command}."
        )
    return wanted


def _bounded_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file as long as the objects in them fit into memory."""
    size = 0
    for line in text_lines(path):
        size += len(line)
        check_memory(str(path), _JSON_SIZE_FACTOR * size)
        yield line


def _parse_lines(path: Path, first: str, lines: Iterator[str]) -> list[dict[str, Any]]:
    """Return an object per line; none if the first line has something else, or a whole table."""
    try:
        record = json.loads(first)
    except ValueError:
        return []
    if not isinstance(record, dict):
        return []
    records = [
        _parse_line(line, number)
        for number, line in enumerate(chain([first], lines), 1)
        if line.strip()
    ]
    return [] if len(records) == 1 and _is_table(path, record) else records


def _is_table(path: Path, found: dict[str, Any]) -> bool:
    """Return whether one object is a whole table, as pandas writes it."""
    types = {type(value) for value in found.values()}
    return types == {list} or (types == {dict} and len(found) > 1 and ".json" in path.suffixes)


def _parse_line(line: str, number: int) -> dict[str, Any]:
    record = json.loads(line, object_pairs_hook=_unique_object)
    if not isinstance(record, dict):
        raise ValueError(f"no object on line {number}")
    return _flatten(record)


def _parse_document(text: str) -> list[dict[str, Any]]:
    document = json.loads(text, object_pairs_hook=_unique_object)
    if isinstance(document, list) and all(isinstance(item, dict) for item in document):
        return [_flatten(item) for item in document]
    columns = list(document.values()) if isinstance(document, dict) else []
    if columns and all(isinstance(item, list) for item in columns):
        if len({len(item) for item in columns}) > 1:
            raise ValueError("lists of different lengths")
        return [dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)]
    if columns and all(isinstance(item, dict) for item in columns):
        rows = list(dict.fromkeys(row for column in columns for row in column))
        return [
            {"id": row, **{name: column.get(row) for name, column in document.items()}}
            for row in rows
        ]
    raise ValueError("neither a list of objects nor an object of lists")


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name that comes twice in one object")
    return record


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = (
            {f"{name}:{key}": cell for key, cell in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        if repeated := inner.keys() & flat.keys():
            raise ValueError(f"{min(repeated)} twice in one object")
        flat.update(inner)
    return flat


def _sheet_rows(path: Path, sheet: str | None) -> tuple[str, list[tuple[int, list[Any]]]]:
    """Return the sheet's name and its non-empty lines; verify all checksums."""
    openpyxl = import_optional("openpyxl", str(path), "excel")
    try:
        with path.open("rb") as file:
            with ZipFile(file) as packed:
                sizes = [(entry.file_size, entry.compress_size) for entry in packed.infolist()]
                check_memory(str(path), 4 * sum(unpacked for unpacked, _ in sizes))
                if any(
                    unpacked > _MAX_UNPACK_FACTOR * (stored + _SMALL_PART_SIZE)
                    for unpacked, stored in sizes
                ):
                    raise BadZipFile("a part that unpacks to too much")
                if packed.testzip() is not None:
                    raise BadZipFile("a part that is damaged")
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names = workbook.sheetnames
            if sheet is None and len(names) > 1:
                names = [name for name in names if _has_cells(workbook[name])] or names
            name = _choose(path, "sheet", names if sheet is None else workbook.sheetnames, sheet)
            # Many programs write dimensions that leave out rows and columns.
            workbook[name].reset_dimensions()
            rows = _non_empty_rows(
                path, ([_cell_value(cell) for cell in row] for row in workbook[name].iter_rows())
            )
            if any(cell is None for _, row in rows for cell in row):
                written = openpyxl.load_workbook(file, read_only=True)
                _check_formulas(path, name, written[name], dict(rows))
    except (TombolaError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises errors of many types for damaged files
        raise TableError(
            f"{path}: expected an Excel file (.xlsx), got something else "
            f"({type(error).__name__}); save it again."
        ) from None
    return name, rows


def _has_cells(sheet: Any) -> bool:
    """Return whether a sheet has a cell with something in it; a sheet with only a chart has none."""
    if not hasattr(sheet, "iter_rows"):
        return False
    sheet.reset_dimensions()
    return any(cell.value is not None for row in sheet.iter_rows() for cell in row)


def _check_formulas(path: Path, name: str, sheet: Any, rows: Mapping[int, Sequence[Any]]) -> None:
    """Raise TableError if a program wrote formulas and never computed one of them."""
    sheet.reset_dimensions()
    first = ""
    for line, row in enumerate(sheet.iter_rows(), 1):
        values = rows.get(line, ())
        for at, cell in enumerate(row):
            if cell.data_type != "f":
                continue
            if at < len(values) and values[at] is not None:
                return
            first = first or cell.coordinate
    if first:
        raise TableError(
            f"{path}: expected numbers in sheet {name!r}, got formulas whose values are not saved, "
            f"the first in {first}; open the workbook in a spreadsheet program and save it, or "
            "save the sheet as CSV."
        )


def _cell_value(cell: Any) -> Any:
    """Return the value of a cell; a percentage or a day as its text, as in a CSV file."""
    value = cell.value
    # Excel has no type for a day: it is a time stamp at midnight.
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if (
        isinstance(value, float | int)
        and not isinstance(value, bool)
        and "%" in (cell.number_format or "")
    ):
        return f"{100 * value:.12g}%"
    return value


def _non_empty_rows(path: Path, rows: Iterable[Sequence[Any]]) -> list[tuple[int, list[Any]]]:
    found = []
    cells = 0
    for line, row in enumerate(rows, 1):
        if line > _MAX_SHEET_LINES:
            raise TableError(
                f"{path}: expected at most {_MAX_SHEET_LINES:,} lines, got more; save the sheet "
                "as CSV."
            )
        if any(cell is not None for cell in row):
            found.append((line, list(row)))
            cells += len(row)
            check_memory(str(path), 16 * cells)
    return found
