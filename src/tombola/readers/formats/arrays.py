"""Arrays: NumPy's NPZ archives and NPY files (memory-mapped), and arrays in memory; nothing is ever unpickled."""

import math
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile
from zlib import error as zlib_error

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text
from tombola._types import Floats
from tombola.errors import TableError
from tombola.readers.limits import check_memory
from tombola.readers.names import matching
from tombola.readers.options import (
    ACTION,
    CHANCE,
    COSTS,
    DELAYS,
    LOSSES,
    SCORES,
    ParsedTable,
    ReadOptions,
    costs_of,
    logged,
)

_BROKEN = (
    AttributeError, EOFError, KeyError, MemoryError, NotImplementedError, OSError, OverflowError, RuntimeError,
    TokenError, TypeError, ValueError,
)  # fmt: skip


def read_npz(path: Path, wanted: ReadOptions) -> ParsedTable:
    """Read an archive with an array `losses` (or `rewards`), rows x actions, and what else it has of ours."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            _check_members(archive)
            left_out = {name for pattern in wanted.ignore for name in _left_out(path, archive.files, pattern)}
            names = [name for name in archive.files if name not in left_out]
            used = _used(path, names, wanted)
            _check_sizes(path, archive, {name for found in used.values() for name in found})
            arrays = {part: [archive[name] for name in found] for part, found in used.items()}
    except TableError:
        raise
    except (*_BROKEN, BadZipFile, zlib_error) as error:
        raise TableError(
            f"{path}: expected a NumPy archive without pickled objects, got something else ({type(error).__name__}); "
            "save it again with np.savez."
        ) from None
    values = _checked(str(path), used["values"][0], arrays["values"][0])
    kind = wanted.kind or ("scores" if used["values"][0] in SCORES else "losses")
    ids, notes = _ids(str(path), arrays["ids"], wanted)
    unused = sorted({*names} - {name for found in used.values() for name in found})
    labels = _words(str(path), "actions", arrays["actions"][0]) if arrays["actions"] else None
    costs = [_checked(str(path), name, array) for name, array in zip(used["costs"], arrays["costs"], strict=True)]
    parts = ParsedTable(
        str(path), kind, values, labels, ids,
        costs_of({str(i): cost for i, cost in enumerate(costs)}) if len(costs) != 1 else costs[0],
        _vector(str(path), "delays", arrays["delays"][0]) if arrays["delays"] else None,
        [f"an archive: {kind} from array {used['values'][0]!r}", *notes,
         *([f"costs from array {join_names(used['costs'])}"] if costs else []),
         *([f"delays from array {used['delays'][0]!r}"] if used["delays"] else []),
         *([f"not used: {join_names(unused)}"] if unused else [])],
    )  # fmt: skip
    return choose_actions(parts, wanted.actions)


def read_npy(path: Path, wanted: ReadOptions) -> ParsedTable:
    """Map an NPY file into memory: only the pages that are used are ever read."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except _BROKEN as error:
        raise TableError(
            f"{path}: expected a NumPy array without pickled objects, got something else ({type(error).__name__}); "
            "save it again with np.save."
        ) from None
    if not isinstance(values, np.memmap):
        raise TableError(f"{path}: expected one array, got an archive; give it the ending .npz.")
    more = path.stat().st_size - values.offset - values.nbytes
    if more:
        raise TableError(
            f"{path}: expected an array of shape {values.shape} and nothing else, got {more:,} bytes more; save it "
            "again with np.save, and several arrays with np.savez."
        )
    return choose_actions(read_array(values, str(path), wanted), wanted.actions)


def read_array(values: Any, source: str, wanted: ReadOptions) -> ParsedTable:
    """Read an array in memory, rows x actions."""
    for name in ("ignore", "ids", "delay", "value", "action", "resources"):
        if getattr(wanted, name):
            raise TableError(
                f"{source}: expected nothing about columns by their names, for an array has none, got "
                f"{option_text('costs' if name == 'resources' else name)}; leave it out, or save the table as an archive or "
                "a text table."
            )
    checked = _checked(source, "losses", values)
    kind = wanted.kind or "losses"
    return ParsedTable(source, kind, checked, None, None, None, None, [f"an array of {checked.dtype}, read as {kind}"])


def choose_actions(parts: ParsedTable, actions: Sequence[str] | None) -> ParsedTable:
    """Name the actions if they have no names yet, otherwise keep those that are named."""
    k = parts.values.shape[1]
    if actions is None:
        return parts
    names = parts.actions or tuple(str(index) for index in range(k))
    if parts.actions is None and len(actions) == k and not {*actions} <= {*names}:  # numbers choose columns
        return parts._replace(actions=tuple(actions))
    for name in actions:
        if name not in names:
            raise TableError(
                f"{parts.source}: expected an action called {name!r} as {option_text('actions')} says, got {join_names(names)}; "
                "name those, or all of them."
            )
    chosen = [names.index(name) for name in actions]
    costs = None if parts.costs is None else parts.costs[:, chosen]
    return parts._replace(values=parts.values[:, chosen], actions=tuple(actions), costs=costs)


def _left_out(path: Path, names: Sequence[str], pattern: str) -> list[str]:
    found = matching(names, pattern)
    if not found:
        raise TableError(
            f"{path}: expected an array called {pattern!r} as {option_text('ignore')} says, got {join_names(names)}; name "
            "one of those."
        )
    return found


def _used(path: Path, names: list[str], wanted: ReadOptions) -> dict[str, list[str]]:
    """Say which array is what."""
    usual = {"losses": LOSSES, "scores": SCORES, None: (*LOSSES, *SCORES)}[wanted.kind]
    values = [wanted.value] if wanted.value is not None else [name for name in usual if name in names][:1]
    sign = next((name for name in (*ACTION, *CHANCE) if name in names), None)
    if not values and sign is not None:
        raise logged(str(path), f"array {sign!r} says so")
    costs = list(wanted.resources) or ([name for name in COSTS if name in names][:1] if wanted.costs is None else [])
    delay = [wanted.delay] if wanted.delay is not None else [name for name in DELAYS if name in names][:1]
    ids = [wanted.ids] if wanted.ids is not None else [name for name in ("ids",) if name in names]
    for name in [*(values or ["losses"]), *costs, *delay, *ids]:
        if name not in names:
            raise TableError(
                f"{path}: expected an array called {name!r}, got {join_names(names) or 'none'}; save it under that name."
            )
    actions = [name for name in ("actions",) if name in names]
    return {"values": values, "costs": costs, "delays": delay, "ids": ids, "actions": actions}


def _check_members(archive: Any) -> None:
    """Refuse names that come twice, or that are not the same at both places where an archive has them."""
    if len(set(archive.files)) < len(archive.files):
        raise ValueError("a name that comes twice")
    for entry in archive.zip.infolist():
        archive.zip.open(entry).close()


def _check_sizes(path: Path, archive: Any, names: set[str]) -> None:
    """Refuse arrays that are too large for memory once unpacked, or that claim more than the archive holds."""
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.zip.infolist()}
    check_memory(str(path), sum(entries[name].file_size for name in names if name in entries))
    for name in names & set(entries):
        with archive.zip.open(entries[name]) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(file)
            promised = math.prod(shape) * kind.itemsize
            if not kind.hasobject and promised != entries[name].file_size - file.tell():
                raise ValueError("a header that does not fit its array")


def _ids(source: str, found: list[NDArray[Any]], wanted: ReadOptions) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the ids of an archive; repeated ones, which nobody asked for, are left out and said so."""
    if not found:
        return None, []
    ids = _words(source, wanted.ids or "ids", found[0])
    repeated = len(ids) - len(set(ids))
    if repeated and wanted.ids is None:
        return None, [f"ids are left out, because {repeated} of them come twice; rows are numbered instead"]
    return ids, [f"ids from array {wanted.ids or 'ids'!r}"]


def _words(source: str, name: str, array: NDArray[Any]) -> tuple[str, ...]:
    try:
        return tuple(str(word) for word in array.reshape(-1))
    except (SystemError, ValueError):  # which one depends on the version of Python
        raise TableError(
            f"{source}: {name} must be text, got signs that do not exist; save the archive again with np.savez."
        ) from None


def _checked(source: str, name: str, values: Any) -> NDArray[Any]:
    try:
        array: NDArray[Any] = values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:
        raise TableError(
            f"{source}: {name} must be numbers, rows x actions, got rows of different lengths; give every row one "
            "number an action."
        ) from None
    dimensions = (2, 3) if name not in (*LOSSES, *SCORES) else (2,)
    if array.ndim not in dimensions or array.size == 0 or array.dtype.kind not in "biuf":
        raise TableError(
            f"{source}: {name} must be numbers, rows x actions, got {array.dtype} of shape {array.shape}; "
            "give such an array."
        )
    return array


def _vector(source: str, name: str, values: NDArray[Any]) -> Floats:
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise TableError(
            f"{source}: {name} must be a number for each row, got {values.dtype} of shape {values.shape}; "
            "give such an array."
        )
    return values.astype(np.float64)
