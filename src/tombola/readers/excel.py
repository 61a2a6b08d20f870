"""Excel: a sheet of a workbook, by openpyxl."""

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


def read_excel(path: Path, sheet: str | None) -> Columns:
    """Read a sheet of an Excel file; of formulas, the values that were saved with them."""
    name, rows = _rows(path, sheet)
    filled = [(line, row) for line, row in enumerate(rows, 1) if any(cell is not None for cell in row)]
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
    table = table_of(f"{path}::{name}", names, (row[:width] for _, row in filled[1:]), note=f"sheet {name!r}")
    return replace(table, lines=np.array([line for line, _ in filled[1:]], dtype=np.int64))


def _rows(path: Path, sheet: str | None) -> tuple[str, list[list[Any]]]:
    excel = _excel(path)
    try:
        with ZipFile(path) as packed:
            check_memory(str(path), 4 * sum(entry.file_size for entry in packed.infolist()))
        book = excel.load_workbook(path, read_only=True, data_only=True)
        name = one_of(path, "sheet", book.sheetnames, sheet)
        rows = [list(row) for row in book[name].iter_rows(values_only=True)]
        book.close()
    except TableError:
        raise
    except (BadZipFile, EOFError, KeyError, OSError, SyntaxError, TypeError, ValueError, AttributeError) as error:
        raise TableError(
            f"{path}: expected an Excel file (.xlsx), got something else ({type(error).__name__}); save it again."
        ) from None
    return name, rows


def _excel(path: Path) -> Any:
    try:
        return import_module("openpyxl")
    except ImportError:
        raise TableError(
            f"{path}: expected the package openpyxl, which reads Excel files, found none; "
            'write pip install "tombola[excel]", or save the sheet as CSV.'
        ) from None
