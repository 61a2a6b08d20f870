"""Registry of file formats: suffixes, magic bytes and readers.

To add a format, write `read(path, options)`, which returns `Columns` (or a `ParsedTable`, if the
format names its own roles), and add a line to `FORMATS`.
"""

import gzip
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from zlib import error as zlib_error

from tombola.errors import TableError
from tombola.tables.columns import Columns
from tombola.tables.formats.arrays import read_npy, read_npz
from tombola.tables.formats.delimited import read_text
from tombola.tables.formats.frames import read_ipc, read_parquet
from tombola.tables.formats.logs import is_log, read_log
from tombola.tables.formats.records import read_excel, read_json, read_sqlite
from tombola.tables.input_checks import check_file, check_memory, is_directory
from tombola.tables.options import ParsedTable, ReadOptions


class _Format(NamedTuple):
    """A file format: its suffixes, the bytes its files start with, and its reader."""

    suffixes: tuple[str, ...]
    read: Callable[[Path, ReadOptions], ParsedTable | Columns]
    magic: bytes = b""


# Supported file formats: suffixes, reader, magic bytes. The first one that fits a file is used.
FORMATS = (
    _Format((".csv", ".tsv", ".tab", ".txt", ".dat"), read_text),
    _Format((".jsonl", ".ndjson", ".json"), read_json),
    _Format((".parquet", ".pq"), read_parquet, b"PAR1"),
    _Format((".arrow", ".feather", ".ipc"), read_ipc, b"ARROW1"),
    _Format((".npz",), read_npz),
    _Format((".npy",), read_npy, b"\x93NUMPY"),
    _Format((".db", ".sqlite", ".sqlite3"), read_sqlite, b"SQLite format 3"),
    _Format((".xlsx", ".xlsm"), read_excel),
)
_BY_SUFFIX = {suffix: one for one in FORMATS for suffix in one.suffixes}
# Suffixes that any kind of file may have.
_VAGUE_SUFFIXES = (".txt", ".dat")


def read_file(name: str, options: ReadOptions) -> ParsedTable | Columns:
    """Read a file, "-" (standard input), or FILE::TABLE (SQLite, Excel).

    Returns `ParsedTable` if the format names its own roles, such as NPZ, else `Columns`.
    """
    if name == "-":
        return _read_standard_input(options)
    path, _, inner = (
        name.partition("::") if "::" in name and not Path(name).exists() else (name, "", "")
    )
    return _read_path(Path(path), options._replace(sheet=inner or options.sheet))


def suffix_of(path: Path) -> str:
    """Return the suffix that determines the format, in lower case, such as ".csv".

    It is that of the name, without .gz; the content decides if the suffix is unknown or vague
    (.txt, .dat).
    """
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    suffix = name.suffix.lower()
    return (
        suffix
        if suffix in _BY_SUFFIX and suffix not in _VAGUE_SUFFIXES
        else _suffix_of_content(path) or suffix
    )


def _read_path(path: Path, options: ReadOptions) -> ParsedTable | Columns:
    is_folder = is_directory(path)
    if not is_folder:
        check_file(path)
    if is_folder or is_log(path):
        return read_log(path, options)
    suffix = suffix_of(path)
    if suffix not in _BY_SUFFIX:
        raise TableError(
            f"{path}: expected a table that ends in {', '.join(_BY_SUFFIX)}, got one that ends in "
            f"{path.suffix.lower() or suffix!r}; convert it to CSV."
        )
    try:
        return _BY_SUFFIX[suffix].read(path, options)
    except MemoryError:
        raise TableError(
            f"{path}: expected a table that fits into memory, got a larger one; save it as .npy."
        ) from None


def _suffix_of_content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(path) as packed:
                head = packed.read(4096)
    except (EOFError, OSError, zlib_error):
        return ""
    # NPZ and Excel files are both zip archives; the names of their members differ.
    if head[:4] == b"PK\x03\x04":
        return (
            ".npz"
            if b".npy" in head[:200]
            else ".xlsx"
            if b"[Content_Types]" in head or b"xl/" in head
            else ".zip"
        )
    known = next(
        (
            file_format.suffixes[0]
            for file_format in FORMATS
            if file_format.magic and head.startswith(file_format.magic)
        ),
        None,
    )
    if known is not None:
        return known
    if head.lstrip()[:1] in (b"{", b"["):
        return ".json"
    # Text has no NUL bytes, except in UTF-16, which starts with a byte order mark. A pickle starts
    # with 0x80.
    is_text = b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff")
    return ".csv" if head and is_text and head[:1] != b"\x80" else ""


def _read_standard_input(options: ReadOptions) -> ParsedTable | Columns:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        try:
            with path.open("wb") as file:
                while piece := sys.stdin.buffer.read(1 << 20):
                    file.write(piece)
                    check_memory(path.name, file.tell())
            read = _read_path(path, options)
        except TableError as error:
            raise TableError(str(error).replace(str(path), path.name)) from None
        except (AttributeError, OSError) as error:  # standard input is closed, or a folder
            reason = getattr(error, "strerror", None) or "none"
            raise TableError(
                f"{path.name}: expected a table, got {reason!r}; pipe one in, or name a file."
            ) from None
    return (
        read._replace(source=path.name)
        if isinstance(read, ParsedTable)
        else replace(read, source=path.name)
    )
