"""Endings: which reader a file needs, by its ending, and by its first bytes where the ending says nothing."""

import gzip
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zlib import error as zlib_error

from tombola.errors import TableError
from tombola.readers.columns import Columns
from tombola.readers.formats.arrays import read_npy, read_npz
from tombola.readers.formats.aslib import RUNS, read_aslib
from tombola.readers.formats.delimited import read_text
from tombola.readers.formats.excel import read_excel
from tombola.readers.formats.frames import read_arrow
from tombola.readers.formats.json_lines import read_json
from tombola.readers.formats.sqlite import read_sqlite
from tombola.readers.limits import check_memory
from tombola.readers.names import like_id
from tombola.readers.options import ACTION, ALSO_ACTION, ParsedTable, ReadOptions
from tombola.readers.paths import check_file

KINDS = {
    "text": (".csv", ".tsv", ".tab", ".txt", ".dat"),
    "json": (".jsonl", ".ndjson", ".json"),
    "arrow": (".parquet", ".pq", ".feather", ".arrow", ".ipc"),
    "npz": (".npz",),
    "npy": (".npy",),
    "sqlite": (".db", ".sqlite", ".sqlite3"),
    "excel": (".xlsx", ".xlsm"),
}
_BY_ENDING = {ending: kind for kind, endings in KINDS.items() for ending in endings}
_BY_BYTES = {
    b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"SQLite format 3": ".db",
    b"\xd0\xcf\x11\xe0": ".xls", b"\x80": ".pickle", b"%PDF": ".pdf",
}  # fmt: skip


def read_file(name: str, wanted: ReadOptions) -> ParsedTable | Columns:
    """Read a file: `-` is standard input, FILE::TABLE a table of an SQLite file or a sheet of an Excel file."""
    if name == "-":
        return _standard_input(wanted)
    path, _, inner = name.partition("::") if "::" in name and not Path(name).exists() else (name, "", "")
    return _read(Path(path), wanted._replace(sheet=inner or wanted.sheet))


def _read(path: Path, wanted: ReadOptions) -> ParsedTable | Columns:
    if os.path.exists(path / RUNS):
        return read_aslib(path, wanted)
    check_file(path, f"a file, or a folder of ASlib with {RUNS}")
    ending = ending_of(path)
    readers: dict[str, Callable[[], ParsedTable | Columns]] = {
        "text": lambda: read_text(path, _kept(wanted), decimal=wanted.decimal),
        "json": lambda: read_json(path),
        "arrow": lambda: read_arrow(path, ending),
        "npz": lambda: read_npz(path, wanted),
        "npy": lambda: read_npy(path, wanted),
        "sqlite": lambda: read_sqlite(path, wanted.sheet),
        "excel": lambda: read_excel(path, wanted.sheet),
    }
    kind = _BY_ENDING.get(ending)
    if kind is None:
        raise TableError(
            f"{path}: expected a table that ends in {', '.join(_BY_ENDING)}, got one that ends in {ending!r}; "
            "convert it to CSV."
        )
    try:
        return readers[kind]()
    except MemoryError:
        raise TableError(
            f"{path}: expected a table that fits into memory, got one that does not; save it as .npy in float32, "
            "which is not read into memory."
        ) from None


def ending_of(path: Path) -> str:
    """Return the ending that says how to read a file, from its bytes where its name does not say."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = name.suffix.lower()
    return ending if ending in _BY_ENDING and ending not in (".txt", ".dat") else _sniffed(path) or ending


def _sniffed(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(path) as packed:
                head = packed.read(4096)
    except (EOFError, OSError, zlib_error):
        return ""
    if head[:4] == b"PK\x03\x04":
        return ".npz" if b".npy" in head[:200] else ".xlsx" if b"[Content_Types]" in head or b"xl/" in head else ".zip"
    for mark, ending in _BY_BYTES.items():
        if head.startswith(mark):
            return ending
    if head.lstrip()[:1] in (b"{", b"["):
        return ".json"
    return ".csv" if head and (b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff")) else ""


def _standard_input(wanted: ReadOptions) -> ParsedTable | Columns:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        _keep_input(path)
        try:
            read = _read(path, wanted)
        except TableError as error:
            raise TableError(str(error).replace(str(path), path.name)) from None
    return read._replace(source=path.name) if isinstance(read, ParsedTable) else replace(read, source=path.name)


def _keep_input(path: Path) -> None:
    """Write standard input to a file, as long as it would fit into memory."""
    try:
        with path.open("wb") as file:
            while piece := sys.stdin.buffer.read(1 << 20):
                file.write(piece)
                check_memory(path.name, file.tell())
    except (AttributeError, OSError) as error:  # there is none at all, or it is a folder
        said = getattr(error, "strerror", None) or "none"
        raise TableError(f"standard input: expected a table, got {said!r}; pipe one in, or name a file.") from None


def _kept(wanted: ReadOptions) -> Callable[[int, str], bool]:
    """Say which columns of a text table are wanted as text, not only as numbers."""
    asked = {name for name in (wanted.ids, wanted.action) if name is not None}
    usual = {*ACTION, *ALSO_ACTION}
    return lambda index, name: index == 0 or name in asked or name.lower() in usual or like_id(name)
