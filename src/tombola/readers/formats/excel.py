"""Excel: a sheet of a workbook, by openpyxl."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from tombola.errors import TableError
from tombola.readers.columns import Columns
from tombola.readers.limits import check_memory
from tombola.readers.records import one_of, table_of

LINES = 1 << 20  # of a sheet
DENSE, SMALL = 200, 1 << 16  # so many times its size may a part unpack to, and bytes that do not count


def read_excel(path: Path, sheet: str | None) -> Columns:
    """Read a sheet of an Excel file; of formulas, the values that were saved with them."""
    name, filled = _rows(path, sheet)
    if len(filled) < 2:
        raise TableError(f"{path}: expected names and rows in sheet {name!r}, got {len(filled)} lines; name another.")
    width = max(at + 1 for at, cell in enumerate(filled[0][1]) if cell is not None)
    wider = next((line for line, row in filled if any(cell is not None for cell in row[width:])), None)
    if wider is not None:
        raise TableError(
            f"{path}: expected {width} columns as in line {filled[0][0]} of sheet {name!r}, got more in line {wider}; "
            "put the names of all columns into the first line."
        )
    names = ["" if cell is None else str(cell).strip() for cell in filled[0][1][:width]]
    table = table_of(
        f"{path}::{name}", names, ([*row, *[None] * width][:width] for _, row in filled[1:]), note=f"sheet {name!r}"
    )
    return replace(table, lines=np.array([line for line, _ in filled[1:]], dtype=np.int64))


def _rows(path: Path, sheet: str | None) -> tuple[str, list[tuple[int, list[Any]]]]:
    """Return the name of the sheet, and its lines that hold anything; check sums of all parts must be right."""
    excel = _excel(path)
    try:
        with path.open("rb") as file:
            with ZipFile(file) as packed:
                _check_sizes(path, packed)
                if packed.testzip() is not None:
                    raise BadZipFile("a part that is damaged")
            book = excel.load_workbook(file, read_only=True, data_only=True)
            name = one_of(path, "sheet", book.sheetnames, sheet)
            book[name].reset_dimensions()  # many programs write a size there that leaves out rows and columns
            rows = _filled(path, book[name].iter_rows(values_only=True))
    except (TableError, MemoryError):
        raise
    except Exception as error:  # the package raises whatever the damage leads to
        raise TableError(
            f"{path}: expected an Excel file (.xlsx), got something else ({type(error).__name__}); save it again."
        ) from None
    return name, rows


def _check_sizes(path: Path, packed: ZipFile) -> None:
    """Refuse what unpacks to more than memory holds, or to so much of the same that no sheet is like that."""
    sizes = [(entry.file_size, entry.compress_size) for entry in packed.infolist()]
    check_memory(str(path), 4 * sum(unpacked for unpacked, _ in sizes))
    if any(unpacked > DENSE * (kept + SMALL) for unpacked, kept in sizes):
        raise BadZipFile("a part that unpacks to too much")


def _filled(path: Path, rows: Iterable[Sequence[Any]]) -> list[tuple[int, list[Any]]]:
    found, cells = [], 0
    for line, row in enumerate(rows, 1):
        if line > LINES:
            raise TableError(
                f"{path}: expected at most {LINES:,} lines, as Excel has them, got more; save the sheet as CSV."
            )
        if any(cell is not None for cell in row):
            found.append((line, list(row)))
            cells += len(row)
            check_memory(str(path), 16 * cells)
    return found


def _excel(path: Path) -> Any:
    try:
        return import_module("openpyxl")
    except ImportError:
        raise TableError(
            f"{path}: expected the package openpyxl, which reads Excel files, found none; "
            'write pip install "tombola[excel]", or save the sheet as CSV.'
        ) from None
