"""NumPy arrays: NPZ archives, memory-mapped NPY files, arrays in memory."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile
from zlib import error as zlib_error

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text, plural
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.input_checks import check_memory
from tombola.tables.names import (
    ACTION,
    COSTS,
    DELAYS,
    PROBABILITY,
    direction_of,
    matching,
    value_names,
)
from tombola.tables.options import (
    EncodedFeatures,
    ParsedTable,
    ReadOptions,
    logged_table_error,
    stack_costs,
)

# Errors that NumPy raises for damaged files.
_READ_ERRORS = (
    AttributeError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    TokenError,
    TypeError,
    ValueError,
)

# Largest end of a zip archive, with a comment; number of members that it states if there are more.
_MAX_ZIP_END = 22 + 0xFFFF
_MANY_MEMBERS = 0xFFFF


def read_npz(path: Path, options: ReadOptions) -> ParsedTable:
    """Read an NPZ archive with an array `losses` or `scores`, shape (rows, actions).

    Optional arrays are `actions`, `ids`, `costs`, `delays` and features. Pickled objects are
    rejected.
    """
    source = str(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            ignored = _matching_arrays(path, archive.files, options.ignore, "ignore")
            names = [name for name in archive.files if name not in ignored]
            roles = _assign_roles(path, names, options)
            used = {name for found in roles.values() for name in found}
            _check_members(path, archive, used)
            arrays = {role: [archive[name] for name in found] for role, found in roles.items()}
    except TableError:
        raise
    except (*_READ_ERRORS, BadZipFile, zlib_error) as error:
        raise _not_numpy(path, error, "archive", "savez") from None
    value_name = roles["values"][0]
    values = _numeric(source, value_name, arrays["values"][0])
    kind, unit = direction_of([value_name])
    ids, id_notes = _ids(source, arrays["ids"], options)
    labels = _labels(source, "actions", arrays["actions"][0]) if arrays["actions"] else None
    costs = [
        _numeric(source, name, array, 2, 3)
        for name, array in zip(roles["costs"], arrays["costs"], strict=True)
    ]
    delays = [_numeric(source, "delays", array, 1).astype(np.float64) for array in arrays["delays"]]
    _check_counts(
        source,
        values.shape,
        {
            options.ids or "ids": None if ids is None else len(ids),
            "actions": None if labels is None else len(labels),
            **{name: len(array) for name, array in zip(roles["delays"], delays, strict=True)},
        },
    )
    for name, array in zip(roles["costs"], costs, strict=True):
        if array.shape[:2] != values.shape:
            raise TableError(
                f"{source}: array {name!r} must have a cost for each of the {values.shape[0]} rows "
                f"and {values.shape[1]} actions, got shape {array.shape}; save it again."
            )
    unused = sorted({*names} - used)
    notes = [
        f"an archive: values from array {value_name!r}",
        *id_notes,
        *([f"costs from array {join_names(roles['costs'])}"] if costs else []),
        *([f"delays from array {roles['delays'][0]!r}"] if roles["delays"] else []),
        *([f"ignored: {join_names(unused)}"] if unused else []),
    ]
    parsed = ParsedTable(
        source=source,
        kind=options.kind or kind,
        values=values,
        actions=labels,
        ids=ids,
        # A single array may have a third axis for the resources already.
        costs=costs[0] if len(costs) == 1 else stack_costs(costs),
        delays=delays[0] if delays else None,
        notes=notes,
        unit=unit,
        ignored=dict.fromkeys(unused, "not an array of a table"),
    )
    if arrays["features"]:
        parsed = _with_feature_arrays(
            parsed, dict(zip(roles["features"], arrays["features"], strict=True))
        )
    return parsed.select_actions(options.actions)


def _check_counts(source: str, shape: tuple[int, ...], counts: Mapping[str, int | None]) -> None:
    """Raise TableError if an array has not one entry for each row, or for each action."""
    for name, count in counts.items():
        what, expected = ("action", shape[1]) if name == "actions" else ("row", shape[0])
        if count is not None and count != expected:
            raise TableError(
                f"{source}: array {name!r} must have an entry for each of the "
                f"{plural(expected, what)}, got {count}; save it again."
            )


def _with_feature_arrays(parsed: ParsedTable, arrays: dict[str, NDArray[Any]]) -> ParsedTable:
    """Add arrays of shape (rows,) or (rows, features) as features; note missing ones."""
    rows = len(parsed.values)
    parts = []
    names = []
    for name, array in arrays.items():
        table = (
            _numeric(parsed.source, f"features {name!r}", array, 1, 2)
            .astype(np.float64)
            .reshape(len(array), -1)
        )
        if len(table) != rows:
            raise TableError(
                f"{parsed.source}: features must be numbers for each of the {rows} rows, got "
                f"{len(table)} in {name!r}; "
                "give an array of shape (rows, features)."
            )
        # An infinite feature has no order among the others that a median could replace: it counts
        # as missing.
        parts.append(np.where(np.isinf(table), np.nan, table))
        names += (
            [name]
            if table.shape[1] == 1
            else [f"{name}:{column}" for column in range(table.shape[1])]
        )
    features: Floats = np.concatenate(parts, axis=1)
    notes = [f"features from array {join_names([*arrays])}"]
    if missing := int(np.isnan(features).sum()):
        share = f"{missing:,} of {features.size:,} values missing or infinite"
        notes.append(f"features: {share}; models use the median of the rows seen")
    return parsed.with_features(EncodedFeatures(features, tuple(names), notes))


def read_npy(path: Path, options: ReadOptions) -> ParsedTable:
    """Read an NPY file, shape (rows, actions), memory-mapped."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except _READ_ERRORS as error:
        raise _not_numpy(path, error, "array", "save") from None
    if not isinstance(values, np.memmap):
        values.close()
        raise TableError(f"{path}: expected one array, got an archive; give it the ending .npz.")
    if more := path.stat().st_size - values.offset - values.nbytes:
        raise TableError(
            f"{path}: expected an array of shape {values.shape}, got {more:,} bytes more; save "
            "it again."
        )
    return read_array(values, str(path), options)


def _not_numpy(path: Path, error: Exception, what: str, function: str) -> TableError:
    return TableError(
        f"{path}: expected a NumPy {what} without pickled objects, got something else "
        f"({type(error).__name__}); "
        f"save it again with np.{function}."
    )


def read_array(values: Any, source: str, options: ReadOptions) -> ParsedTable:
    """Read an array in memory, shape (rows, actions), as a table."""
    for name in ("ignore", "ids", "delay", "value", "action", "resources", "features", "text"):
        if getattr(options, name):
            got = option_text("costs" if name == "resources" else name)
            raise TableError(
                f"{source}: expected no options about columns: an array has no column names, got "
                f"{got}; drop it."
            )
    array = _numeric(source, "values", values)
    parsed = ParsedTable(
        source, options.kind, array, None, None, None, None, [f"an array of {array.dtype}"]
    )
    return parsed.select_actions(options.actions)


def _matching_arrays(
    path: Path, names: Sequence[str], patterns: Sequence[str], option: str
) -> list[str]:
    """Return the names that match one of the patterns, each once; TableError if a pattern matches none."""
    matches: dict[str, None] = {}
    for pattern in patterns:
        if not (matched := matching(names, pattern)):
            raise TableError(
                f"{path}: expected an array called {pattern!r} as {option_text(option)} states, "
                "got "
                f"{join_names(names) or 'none'}; name one of those."
            )
        matches |= dict.fromkeys(matched)
    return list(matches)


def _assign_roles(path: Path, names: list[str], options: ReadOptions) -> dict[str, list[str]]:
    """Return the names of the arrays for each role."""

    def chosen(requested: Sequence[str | None], usual: Sequence[str]) -> list[str]:
        return [name for name in requested if name is not None] or [
            name for name in usual if name in names
        ][:1]

    usual = value_names(options.kind)
    roles = {
        "values": chosen([options.value], usual),
        "costs": chosen(options.resources, COSTS if options.costs is None else ()),
        "delays": chosen([options.delay], DELAYS),
        "ids": chosen([options.ids], ["ids"]),
        "actions": chosen([], ["actions"]),
    }
    evidence = next((name for name in (*ACTION, *PROBABILITY) if name in names), None)
    if not roles["values"] and evidence is not None:
        raise logged_table_error(str(path), f"it has an array {evidence!r}")
    roles["values"] = roles["values"] or [usual[0]]
    used = [name for found in roles.values() for name in found]
    for name in used:
        if name not in names:
            got = join_names(names) or "none"
            raise TableError(
                f"{path}: expected an array called {name!r}, got {got}; save it under that name."
            )
    features = _matching_arrays(path, names, options.features, "features")
    both = next(
        (name for name in (*features, *options.text) if name in used or name in options.text), None
    )
    if both is not None:
        raise TableError(
            f"{path}: expected arrays without another role as {option_text('features')}, got "
            f"{both!r}; drop it."
        )
    return {**roles, "features": features}


def _check_members(path: Path, archive: Any, names: set[str]) -> None:
    """Raise if names repeat, or if arrays do not fit into memory, or contradict directory or headers."""
    if len(set(archive.files)) < len(archive.files):
        raise ValueError("a duplicate name")
    if _declared_members(path) not in (len(archive.zip.infolist()), _MANY_MEMBERS):
        raise ValueError("another number of arrays than it declares")
    for entry in archive.zip.infolist():
        archive.zip.open(entry).close()
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.zip.infolist()}
    check_memory(str(path), sum(entries[name].file_size for name in names if name in entries))
    for name in names & set(entries):
        with archive.zip.open(entries[name]) as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
            declared = math.prod(shape) * dtype.itemsize
            if not dtype.hasobject and declared != entries[name].file_size - file.tell():
                raise ValueError("a header that does not fit its array")


def _declared_members(path: Path) -> int:
    """Return the number of members that the end of a zip archive states.

    A damaged length in the directory hides the members after it, which zipfile does not notice.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MAX_ZIP_END))
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    return int.from_bytes(end[place + 10 : place + 12], "little")


def _ids(
    source: str, found: list[NDArray[Any]], options: ReadOptions
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the ids and notes; repeated ids are ignored unless requested."""
    if not found:
        return None, []
    ids = _labels(source, options.ids or "ids", found[0])
    repeated = len(ids) - len(set(ids))
    if repeated and options.ids is None:
        return None, [
            f"ids are ignored, because {repeated} of them repeat; rows are numbered instead"
        ]
    return ids, [f"ids from array {options.ids or 'ids'!r}"]


def _labels(source: str, name: str, array: NDArray[Any]) -> tuple[str, ...]:
    try:
        return tuple(str(word) for word in array.reshape(-1))
    except (SystemError, ValueError):  # depends on the version of Python
        raise TableError(
            f"{source}: {name} must be text, got invalid code points; save the archive again "
            "with np.savez."
        ) from None


def _numeric(source: str, name: str, values: Any, *dimensions: int) -> NDArray[Any]:
    """Return numbers as an array of one of the dimensions, by default rows x actions."""
    try:
        array: NDArray[Any] = values if isinstance(values, np.ndarray) else np.asarray(values)
        got = f"{array.dtype} of shape {array.shape}"
    except ValueError:
        array = np.zeros(0)
        got = "rows of different lengths"
    if array.ndim not in (dimensions or (2,)) or array.size == 0 or array.dtype.kind not in "biuf":
        shape = "one for each row" if 1 in dimensions else "rows x actions"
        raise TableError(
            f"{source}: {name} must be numbers, {shape}, got {got}; give such an array."
        )
    return array
