"""Readers: a file to a pool. CSV and TSV with a header (a column per action), and NPZ with `loss` or `losses`."""

import csv
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as zlib_error

import numpy as np

from tombola.errors import TableError
from tombola.pool import Pool
from tombola.types import Floats


def read_pool(path: str | Path, *, rescale: bool = False) -> Pool:
    """Read a table of losses; `rescale` maps its smallest number to 0 and its largest to 1.

    A first column without any number, or called id, names the rows.
    """
    path = Path(path)
    if not path.is_file():
        raise TableError(f"{path}: expected a file, found none; check the path.")
    if path.suffix == ".npz":
        return _pool(path, *_read_npz(path), rescale=rescale)
    if path.suffix in (".csv", ".tsv"):
        return _pool(path, *_read_csv(path), rescale=rescale)
    raise TableError(
        f"{path}: expected a table that ends in .csv, .tsv or .npz, got {path.suffix!r}; convert it to CSV."
    )


def _pool(path: Path, losses: Floats, actions: list[str], ids: list[str] | None, *, rescale: bool) -> Pool:
    if rescale and np.isfinite(losses).all():
        low, high = float(losses.min()), float(losses.max())
        losses = (losses - low) / (high - low) if high > low else np.zeros_like(losses)
    elif not rescale and np.isfinite(losses).all() and (losses.min() < 0 or losses.max() > 1):
        raise TableError(
            f"{path}: losses must be in [0, 1], got numbers from {losses.min():g} to {losses.max():g}; "
            "write --rescale to map the smallest to 0 and the largest to 1."
        )
    return Pool(losses, actions, ids)


def _read_npz(path: Path) -> tuple[Floats, list[str], list[str] | None]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            name = next((n for n in ("losses", "loss") if n in arrays), None)
            if name is None:
                raise TableError(
                    f"{path}: expected an array called losses, got {sorted(arrays)}; save it under that name."
                )
            losses = arrays[name]
            actions = [str(a) for a in arrays["actions"]] if "actions" in arrays else None
            ids = [str(i) for i in arrays["ids"]] if "ids" in arrays else None
    except TableError:
        raise
    except (AttributeError, EOFError, OSError, TypeError, ValueError, BadZipFile, zlib_error) as error:
        raise TableError(
            f"{path}: expected a NumPy archive without pickled objects, got something else ({type(error).__name__}); "
            "save it again with np.savez."
        ) from None
    if losses.ndim != 2 or losses.size == 0 or losses.dtype.kind not in "biuf":
        raise TableError(
            f"{path}: losses must be numbers, rows x actions, got {losses.dtype} of shape {losses.shape}; "
            "save such an array."
        )
    return losses, actions or [str(a) for a in range(losses.shape[1])], ids


def _read_csv(path: Path) -> tuple[Floats, list[str], list[str] | None]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # Excel puts a byte order mark first
            reader = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            lines = [(reader.line_num, line) for line in reader if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(
            f"{path}: expected a text table, got something else ({error}); export it as CSV again."
        ) from None
    if len(lines) < 2:
        raise TableError(f"{path}: expected a header and at least one row, got {len(lines)} lines; add the rows.")
    header, rows = lines[0][1], lines[1:]
    for number, row in rows:
        if len(row) != len(header):
            raise TableError(
                f"{path}: expected {len(header)} columns as in the header, got {len(row)} in line {number}; "
                "repair that line."
            )
    named = header[0].strip().lower() in ("id", "ids", "row") or all(_float(row[0]) is None for _, row in rows)
    first = 1 if named and len(header) > 1 else 0
    losses = np.array(
        [
            [_cell(path, header, row, column, number) for column in range(first, len(header))]
            for number, row in rows
        ]
    )
    return losses, [name.strip() for name in header[first:]], [row[0] for _, row in rows] if first else None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cell(path: Path, header: list[str], row: list[str], column: int, number: int) -> Any:
    value = _float(row[column])
    if value is None or not np.isfinite(value):
        raise TableError(
            f"{path}: expected a number in line {number}, column {header[column]!r}, got {row[column]!r}; "
            "fill it in, or leave out the row."
        )
    return value
