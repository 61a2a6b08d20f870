"""Data frames (pandas, polars, Arrow), and Parquet, Feather and Arrow files."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tombola.errors import TableError
from tombola.tables.columns import (
    PLAIN,
    CellRef,
    Column,
    Columns,
    IntegerTexts,
    check_unique_names,
    parse_column,
    parse_text_column,
)
from tombola.tables.input_checks import import_optional
from tombola.tables.options import ReadOptions

# Whole numbers up to this size are exact in float64.
_MAX_EXACT = 1 << 53


def read_frame(frame: Any, source: str) -> Columns:
    """Read a data frame of any library that narwhals supports: pandas, polars, ..."""
    narwhals = import_optional("narwhals", source)
    try:
        known = narwhals.from_native(frame)
    except narwhals.exceptions.DuplicateError:
        check_unique_names(
            source, [str(name) for name in getattr(frame, "column_names", frame.columns)]
        )
        raise
    except TypeError:
        got = type(frame).__name__
        raise TableError(
            f"{source}: expected a path, an array or a data frame, got {got}; write "
            "read_table('t.csv')."
        ) from None
    known = known.collect() if isinstance(known, narwhals.LazyFrame) else known
    names = [str(name) for name in known.columns]
    check_unique_names(source, names)
    if not names or not len(known):
        raise TableError(
            f"{source}: expected at least one row, got {known.shape}; give a table that is not "
            "empty."
        )
    series = (known.get_column(name) for name in known.columns)
    return Columns(
        source,
        [_column(name, column, narwhals) for name, column in zip(names, series, strict=True)],
    )


def read_parquet(path: Path, options: ReadOptions) -> Columns:
    """Read a Parquet file; verify page checksums, if any, and row counts."""

    def read() -> Any:
        parquet = import_module("pyarrow.parquet")
        file = parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True)
        table = file.read()
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        if not table.num_rows == file.metadata.num_rows == sum(group.num_rows for group in groups):
            raise ValueError("another number of rows than it declares")
        return table

    return _read_arrow(path, "Parquet", read)


def read_ipc(path: Path, options: ReadOptions) -> Columns:
    """Read an Arrow or Feather file, or an Arrow stream, memory-mapped."""

    def read() -> Any:
        arrow = import_module("pyarrow")
        with arrow.memory_map(str(path)) as file:
            content = file.read_buffer()
        is_file = content[:6].to_pybytes() == b"ARROW1"
        return (arrow.ipc.open_file if is_file else arrow.ipc.open_stream)(content).read_all()

    return _read_arrow(path, "Arrow", read)


def _read_arrow(path: Path, name: str, read: Callable[[], Any]) -> Columns:
    arrow = import_optional("pyarrow", str(path))
    # pyarrow would import pandas itself, and ignore Ctrl-C meanwhile.
    with suppress(ImportError):
        import_module("pandas")
    try:
        table = read()
        # Offsets in a damaged file can point outside of it, which would crash the process.
        table.validate(full=True)
        check_unique_names(str(path), table.column_names)
    except TableError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0].split(". ")[0].rstrip(".").replace(";", ",")
        raise TableError(
            f"{path}: expected a file in {name} format, got something else ({reason[:100]}); "
            "write the file again."
        ) from None
    return read_frame(table, str(path))


def _column(name: str, series: Any, narwhals: Any) -> Column:
    dtype = series.dtype
    if dtype == narwhals.String:
        texts = series.to_list()
        try:
            "".join(texts)
        except TypeError:  # pandas has several missing values
            texts = [text if isinstance(text, str) else "" for text in texts]
        return parse_text_column(name, texts, keep_texts=True)
    is_number = dtype.is_numeric() or dtype == narwhals.Boolean
    if dtype.is_integer() and _are_exact(series, narwhals):
        numbers = np.array(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64)
        first = CellRef(0, f"{numbers[0]:.0f}")
        return Column(name, numbers, IntegerTexts(numbers), notations={PLAIN: first})
    # Other integers stay Python integers, since ids of 64 bits are not exact in float64.
    if dtype.is_integer() or not is_number:
        try:
            cells = list(series.to_list())
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError):  # dates out of range
            cells = [f"a {series.dtype} that cannot be read"] * len(series)
        return parse_column(name, cells, keep_texts=True)
    numbers = np.array(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64)
    return Column(
        name, numbers, None, _first(np.isinf(numbers), "inf"), _first(np.isnan(numbers), "nothing")
    )


def _are_exact(series: Any, narwhals: Any) -> bool:
    """Return whether all integers, none of them missing, are exact in float64."""
    if series.null_count() or not len(series):
        return False
    return -_MAX_EXACT <= int(series.min()) and int(series.max()) <= _MAX_EXACT


def _first(mask: Any, text: str) -> CellRef | None:
    return CellRef(int(np.argmax(mask)), text) if mask.any() else None
