"""read_table: whatever holds a loss for every row and action becomes a pool, and says how."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tombola import _validate
from tombola._formatting import is_encodable, join_names, truncate
from tombola.errors import ParameterError, TableError
from tombola.pool import Pool
from tombola.readers.columns import Columns
from tombola.readers.formats.arrays import choose_actions, read_array
from tombola.readers.formats.frames import read_frame
from tombola.readers.formats.registry import read_file
from tombola.readers.long import action_column, read_long
from tombola.readers.options import ParsedTable, ReadOptions
from tombola.readers.to_pool import Table, name_of, pooled
from tombola.readers.wide import read_wide


def read_pool(path: str | Path, *, rescale: bool = False) -> Pool:
    """Read a table of losses from a file; `rescale` maps its smallest number to 0 and its largest to 1."""
    return read_table(path, rescale=rescale).pool


def read_table(
    source: Any,
    *,
    kind: Literal["losses", "scores"] | None = None,
    rescale: bool | tuple[float, float] = False,
    missing: Literal["error", "drop", "worst"] = "error",
    actions: Sequence[str] | None = None,
    costs: Any = None,
    delay: str | None = None,
    ids: str | None = None,
    action: str | None = None,
    value: str | None = None,
    ignore: Sequence[str] = (),
    sheet: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> Table:
    """Read a table as a pool, the delay of each row if it has any, and notes on what was done.

    The table is a path (CSV, TSV, JSON lines, gzipped or not; Parquet, Feather, Arrow; NPZ; NPY, which is
    memory-mapped; SQLite as FILE::TABLE; Excel; a folder of ASlib; "-" for standard input), a frame of pandas, polars
    or Arrow, or an array. A wide table has a column per action. A long table has a line for each row and action: a
    column called action, or the one named by `action`, one called loss or reward, or the one named by `value`, and one
    called row or id, or the one named by `ids`.

    `kind` says what the numbers are; without it they are losses, unless the table calls them rewards. `rescale` maps
    [low, high] to [0, 1]: two numbers, or `True` for the smallest and the largest in the table; nothing is clipped.
    `missing` says what to do about missing cells: refuse the table, drop the row, or count the cell as loss 1.
    `actions` names the columns to use (or gives names to those of an array). `costs` names a resource: the columns
    RESOURCE:ACTION of a wide table ("cost" if there are any), a column of a long one, an array of an archive; several
    names give several resources. It may also be a second table (a Path, a frame, an array), matched by ids if both have
    them, or a price for each action, as a dict. `delay` and `ids` name columns, too. `actions`, `costs` and `ignore`,
    which leaves columns out, take patterns such as "gpt*". `sheet` is one of an Excel file; `decimal` says what a
    comma between digits is. What is guessed from the names of columns is said in the notes.

    >>> table = read_table(np.array([[3.0, 1.0], [5.0, 2.0]]), rescale=(0, 5), actions=["slow", "quick"])
    >>> table.pool.losses.tolist()
    [[0.6, 0.2], [1.0, 0.4]]
    >>> table.notes[1:]
    ['losses rescaled from [0, 5] to [0, 1]', 'best fixed action: quick, mean loss 0.3']
    """
    _one_of("kind", kind, (None, "losses", "scores"))
    _one_of("missing", missing, ("error", "drop", "worst"))
    limits = _limits(rescale)
    _one_of("decimal", decimal, (None, ".", ","))
    wanted = ReadOptions(kind, actions, costs, delay, ids, action, value, tuple(ignore), sheet, decimal)
    return pooled(parts_of(source, wanted).settled(), missing=missing, rescale=limits)


def parts_of(source: Any, wanted: ReadOptions) -> ParsedTable:
    """Take a table apart, before anything is decided about missing cells and the unit."""
    parts = _parts(source, wanted)
    for name, words in (("ids", parts.ids), ("actions", parts.actions)):
        _refuse_unwritable(parts.source, name, words or ())
    if parts.ids is not None:
        _refuse_repeated(parts)
    return _priced(parts, wanted.costs)


def _one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        words = " or ".join(repr(word) for word in known if word is not None)
        raise ParameterError(f"read_table: {name} must be {words}, got {value!r}; write one of those.")


def _limits(rescale: Any) -> bool | tuple[float, float]:
    if isinstance(rescale, bool):
        return rescale
    if not (isinstance(rescale, tuple | list) and len(rescale) == 2):
        raise ParameterError(
            f"read_table: rescale must be True or two numbers, got {rescale!r}; write rescale=(0, 100)."
        )
    low = _validate.real("read_table", "rescale[0]", rescale[0])
    return low, _validate.real("read_table", "rescale[1]", rescale[1], above=low)


def _parts(source: Any, wanted: ReadOptions) -> ParsedTable:
    if isinstance(source, str | Path):
        read = read_file(str(source), wanted)
    elif isinstance(source, np.ndarray | list | tuple):
        read = choose_actions(read_array(source, "array", wanted), wanted.actions)
    else:
        read = read_frame(source, name_of(source))
    return _shaped(read, wanted) if isinstance(read, Columns) else read


def _shaped(table: Columns, wanted: ReadOptions) -> ParsedTable:
    left_out = dict.fromkeys(name for pattern in wanted.ignore for name in table.matching(pattern, "ignore"))
    rest = replace(table, columns=[column for column in table.columns if column.name not in left_out])
    action = action_column(rest, wanted)
    if action is None:
        parts = read_wide(table, wanted)
    else:
        parts = read_long(rest, wanted, action)
        parts.notes.extend([f"not used: {join_names([*left_out])} (as asked)"] if left_out else [])
    return parts._replace(notes=[*table.notes, *parts.notes])


def _refuse_unwritable(source: str, name: str, words: Sequence[str]) -> None:
    if not is_encodable("".join(words)):
        wrong = next(word for word in words if not is_encodable(word))
        raise TableError(
            f"{source}: {name} must be text that can be written, got {truncate(wrong)!r} with half of a sign; "
            "rename it."
        )


def _refuse_repeated(parts: ParsedTable) -> None:
    seen: set[str] = set()
    for name in parts.ids or ():
        if name in seen:
            raise TableError(f"{parts.source}: ids must be different, got {name!r} twice; leave out what is double.")
        seen.add(name)


def _priced(parts: ParsedTable, costs: Any) -> ParsedTable:
    """Return the parts with costs that are not in the table itself: a price per action, or a second table."""
    if costs is None or ReadOptions(costs=costs).resources:
        return parts
    k = parts.values.shape[1]
    names = parts.actions or tuple(str(action) for action in range(k))
    if isinstance(costs, Mapping):
        prices = [_price(parts.source, costs, name) for name in names]
        table = np.broadcast_to(np.array(prices), (parts.values.shape[0], k))
        return parts._replace(costs=table, notes=[*parts.notes, "the same costs in every row"])
    other = _parts(costs, ReadOptions(costs=[]))
    return parts._replace(costs=_matched(parts, other), notes=[*parts.notes, f"costs from {name_of(costs)}"])


def _price(source: str, prices: Mapping[str, float], name: str) -> float:
    if name not in prices:
        raise TableError(
            f"{source}: costs must name every action, got {join_names(list(prices))}; add one for {name!r}."
        )
    return _validate.real("read_table", "costs", prices[name], least=0)


def _matched(parts: ParsedTable, other: ParsedTable) -> NDArray[Any]:
    """Return the second table with its actions and rows in the order of the first."""
    values = other.values
    if parts.actions is not None and other.actions is not None:
        values = choose_actions(other, parts.actions).values
    if parts.ids is not None and other.ids is not None:
        places = {name: row for row, name in enumerate(other.ids)}
        lost = next((name for name in parts.ids if name not in places), None)
        if lost is not None:
            raise TableError(f"{other.source}: expected costs for the row {lost!r}, got none; add that row.")
        values = values[[places[name] for name in parts.ids]]
    if values.shape[:2] != parts.values.shape:
        raise TableError(
            f"{other.source}: costs must have {parts.values.shape[0]} rows and {parts.values.shape[1]} actions, got "
            f"{values.shape[0]} and {values.shape[1]}; give one cost for each loss."
        )
    return values
