"""Data frames of pandas, polars and Arrow, all through narwhals, and so Parquet, Feather and Arrow files."""

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tombola.errors import TableError
from tombola.readers.columns import CellRef, Column, Columns, check_names, column_of


def read_frame(frame: Any, source: str) -> Columns:
    """Read a data frame of any library that narwhals knows."""
    narwhals = _module("narwhals", source)
    try:
        known = narwhals.from_native(frame)
    except narwhals.exceptions.DuplicateError:
        check_names(source, [str(name) for name in getattr(frame, "column_names", frame.columns)])
        raise
    except TypeError:
        raise TableError(
            f"{source}: expected a path, an array or a data frame, got {type(frame).__name__}; "
            "write for example read_table('losses.csv')."
        ) from None
    known = known.collect() if isinstance(known, narwhals.LazyFrame) else known
    names = [str(name) for name in known.columns]
    check_names(source, names)
    if not names or not len(known):
        raise TableError(f"{source}: expected at least one row, got {known.shape}; give a table that is not empty.")
    series = (known.get_column(name) for name in known.columns)
    return Columns(source, [_column(name, one, narwhals) for name, one in zip(names, series, strict=True)])


def read_arrow(path: Path, ending: str) -> Columns:
    """Read a Parquet, Feather or Arrow file; Feather and Arrow files are memory-mapped, and validated in full."""
    read = _read_parquet if ending in (".parquet", ".pq") else _read_ipc
    arrow = _module("pyarrow", str(path))
    with suppress(ImportError):  # pyarrow would load it, if it is there, and is deaf to Ctrl-C meanwhile
        import_module("pandas")
    try:
        table = read(path)
        table.validate(full=True)
        check_names(str(path), table.column_names)
    except TableError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        first = str(error).split("\n")[0].split(". ")[0].rstrip(".").replace(";", ",")
        raise TableError(
            f"{path}: expected a {ending[1:]} file, got something else ({first[:100]}); write the file again."
        ) from None
    return read_frame(table, str(path))


def _read_parquet(path: Path) -> Any:
    """Read a Parquet file: check sums of its pages, where it has any, and the counts of its rows must be right."""
    parquet = import_module("pyarrow.parquet")
    file = parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True)
    table, groups = file.read(), [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    if not table.num_rows == file.metadata.num_rows == sum(group.num_rows for group in groups):
        raise ValueError("another number of rows than it says")
    return table


def _read_ipc(path: Path) -> Any:
    """Read an Arrow file, or a stream, which must have all its batches, and its end."""
    arrow = import_module("pyarrow")
    with arrow.memory_map(str(path)) as file:
        whole = file.read_buffer()
    stream = whole[:6].to_pybytes() != b"ARROW1"
    messages = arrow.ipc.MessageReader.open_stream(start := arrow.BufferReader(whole if stream else whole[8:]))
    batches = sum(message.type == "record batch" for message in messages)
    if start.tell() < 4 or any(whole[start.tell() + (0 if stream else 8) - 4 :][:4].to_pybytes()):
        raise ValueError("a stream without its end")
    if stream:
        return arrow.ipc.open_stream(whole).read_all()
    file = arrow.ipc.open_file(whole)
    if file.num_record_batches != batches:
        raise ValueError("another number of batches than it says")
    return file.read_all()


def _column(name: str, series: Any, narwhals: Any) -> Column:
    if not (series.dtype.is_numeric() or series.dtype == narwhals.Boolean):
        return column_of(name, _cells(series), keep=True)
    if series.dtype.is_integer():  # by way of Python, since ids of 64 bits are not floats
        return column_of(name, series.to_list(), keep=True)
    numbers = np.array(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64)
    return Column(name, numbers, None, _first(np.isinf(numbers), "inf"), _first(np.isnan(numbers), "nothing"))


def _cells(series: Any) -> list[Any]:
    """Return the cells as Python has them; for moments that it cannot hold, or of a zone unknown here, words."""
    try:
        return list(series.to_list())
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError):
        return [f"a {series.dtype} that cannot be read"] * len(series)


def _first(found: Any, text: str) -> CellRef | None:
    return CellRef(int(np.argmax(found)), text) if found.any() else None


def _module(name: str, source: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise TableError(
            f"{source}: expected the package {name}, which reads this kind of table, found none; "
            'write pip install "tombola[tables]".'
        ) from None
