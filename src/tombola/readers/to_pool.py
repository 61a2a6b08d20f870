"""Pooling: the parts of a table become a pool, with what is missing and the unit settled, and said."""

import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text
from tombola._types import Rounds
from tombola.errors import TableError
from tombola.pool import Pool
from tombola.readers.options import ParsedTable

_CHUNK = 1 << 20


class Table(NamedTuple):
    """A table as read: the pool, delays, notes on the conversion, and the meaning of its numbers.

    `kind` is "losses" (lower is better) or "scores" (higher is better). `unit` is the word that the column names use
    for the numbers ("accuracy", "seconds"), "" if there is none. `range` holds the two table values that were mapped
    to losses 0 and 1, the smaller one first.

    >>> table = Table(Pool([[0.2, 0.5]]), None, [], "scores", "accuracy", (0.0, 100.0))
    >>> table.direction, table.value(0.2), table.gap(0.05)
    ('read as scores (accuracy): higher is better', 80.0, 5.0)
    """

    pool: Pool
    delays: Rounds | None
    notes: list[str]
    kind: Literal["losses", "scores"] = "losses"
    unit: str = ""
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def direction(self) -> str:
        """The direction of the numbers as a phrase, for the first line of an answer."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"read as {self.kind}{unit}: {'higher' if self.kind == 'scores' else 'lower'} is better"

    def value(self, loss: float) -> float:
        """Convert a loss in [0, 1] to a number in the unit of the table."""
        low, high = self.range
        return high - self.gap(loss) if self.kind == "scores" else low + self.gap(loss)

    def gap(self, loss_difference: float) -> float:
        """Convert a difference of losses to a difference in the unit of the table."""
        return loss_difference * (self.range[1] - self.range[0])


def pooled(parts: ParsedTable, *, missing: str, rescale: bool | tuple[float, float]) -> Table:
    """Return the pool of these parts; what was done to them is added to the notes."""
    parts = _without_gaps(parts, missing)
    low, high, notes = _limits(parts, rescale=rescale)
    losses = _losses(parts, low, high)
    if missing == "worst":
        losses, filled = _filled(losses)
        notes += filled
    pool = Pool(losses, parts.actions, parts.ids, parts.costs)
    best = f"best fixed action: {pool.actions[pool.best]}, mean loss {pool.means[pool.best]:.4g}"
    return Table(pool, _rounds(parts), [*parts.notes, *notes, best], parts.kind, parts.unit, (low, high))


def _without_gaps(parts: ParsedTable, missing: str) -> ParsedTable:
    gaps, holes = _gaps(parts)
    if missing == "error" or not (gaps.any() or holes.any()):
        if gaps.any() or holes.any():
            raise TableError(_told(parts, gaps, holes))
        return parts
    if missing == "drop":
        return _kept(parts, ~(gaps | holes))
    return _worst(parts) if holes.any() else parts


def _gaps(parts: ParsedTable) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which rows miss a loss, and which a cost or the delay."""
    rows = parts.values.shape[0]
    gaps, holes = _rows_with_nan(parts.values), np.zeros(rows, dtype=bool)
    for name, others in (("costs", parts.costs), ("delays", parts.delays)):
        if others is not None and others.shape[0] != rows:
            raise TableError(
                f"{parts.source}: {name} must have an entry for each of the {rows} rows, got {others.shape[0]}; "
                "give as many."
            )
        holes |= False if others is None else _rows_with_nan(others)
    return gaps, holes


def _rows_with_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.zeros(values.shape[0], dtype=bool)
    if values.dtype.kind != "f":
        return found
    height = max(1, _CHUNK // max(1, int(np.prod(values.shape[1:]))))
    for start in range(0, values.shape[0], height):
        part = np.isnan(values[start : start + height])
        found[start : start + height] = part.reshape(len(part), -1).any(axis=1)
    return found


def _told(parts: ParsedTable, gaps: NDArray[np.bool_], holes: NDArray[np.bool_]) -> str:
    count = int((gaps | holes).sum())
    place = parts.gap if gaps.any() and parts.gap else f"row {int(np.argmax(gaps | holes))}, got none"
    what = "number" if gaps.any() else "cost or delay"
    return (
        f"{parts.source}: expected a {what} in {place}, and cells are missing in {count} of {len(gaps)} rows; write "
        f"{option_text('missing', 'drop')} to leave out such rows, or {option_text('missing', 'worst')} to count such cells as "
        "loss 1."
    )


def _kept(parts: ParsedTable, keep: NDArray[np.bool_]) -> ParsedTable:
    if not keep.any():
        raise TableError(
            f"{parts.source}: expected a row without missing cells, got none; write {option_text('missing', 'worst')}."
        )
    return parts._replace(
        values=parts.values[keep],
        ids=None if parts.ids is None else tuple(np.array(parts.ids, dtype=object)[keep]),
        costs=None if parts.costs is None else parts.costs[keep],
        delays=None if parts.delays is None else parts.delays[keep],
        notes=[*parts.notes, f"dropped {int((~keep).sum())} of {len(keep)} rows, which have missing cells"],
    )


def _worst(parts: ParsedTable) -> ParsedTable:
    """Fill in missing costs with the largest of the same resource, and missing delays with the horizon: never."""
    costs, delays, notes = parts.costs, parts.delays, list(parts.notes)
    if costs is not None and np.isnan(costs).any():
        if np.isnan(costs).all(axis=(0, 1)).any():
            raise TableError(
                f"{parts.source}: expected the costs of some row, got none; leave out their columns with "
                f"{option_text('ignore')}, or fill them in."
            )
        largest = np.nanmax(costs, axis=(0, 1), keepdims=True)
        notes.append(f"filled in {int(np.isnan(costs).sum())} missing costs with the largest one")
        costs = np.where(np.isnan(costs), largest, costs)
    if delays is not None and np.isnan(delays).any():
        notes.append(f"took {int(np.isnan(delays).sum())} missing delays as feedback that never comes")
        delays = np.where(np.isnan(delays), float(len(delays)), delays)
    return parts._replace(costs=costs, delays=delays, notes=notes)


def _filled(losses: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    if losses.dtype.kind != "f" or not np.isnan(losses).any():
        return losses, []
    count = int(np.isnan(losses).sum())
    return np.where(np.isnan(losses), losses.dtype.type(1), losses), [f"counted {count} missing cells as loss 1"]


def _limits(parts: ParsedTable, *, rescale: bool | tuple[float, float]) -> tuple[float, float, list[str]]:
    """Return the numbers that become 0 and 1, and say so."""
    low, high = _extremes(parts)
    if rescale is False:
        if low < 0 or high > 1:
            raise TableError(
                f"{parts.source}: {parts.kind} must be in [0, 1], got numbers from {low:g} to {high:g}{_outside(parts)}"
                f"; write {option_text('rescale', on=True)} to map the smallest to 0 and the largest to 1"
                f"{_or_ignore(parts)}."
            )
        return 0.0, 1.0, []
    if rescale is True:
        told = f"{parts.kind} rescaled from [{low:g}, {high:g}], the smallest and the largest, to [0, 1]"
        return low, high, [told, *_uneven(parts)]
    kind = np.float32 if parts.values.dtype == np.float32 else np.float64
    if low < kind(rescale[0]) or high > kind(rescale[1]):
        raise TableError(
            f"{parts.source}: {parts.kind} must be in [{rescale[0]:g}, {rescale[1]:g}] as rescale says, got numbers "
            f"from {low:g} to {high:g}; write wider limits."
        )
    return *rescale, [f"{parts.kind} rescaled from [{rescale[0]:g}, {rescale[1]:g}] to [0, 1]"]


def _strays(parts: ParsedTable) -> list[str]:
    """Return the columns that leave [0, 1] where most others do not: they may be no actions at all."""
    names = parts.actions or ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any number
        outside = np.nanmax(parts.values, axis=0) > 1
        outside |= np.nanmin(parts.values, axis=0) < 0
    few = 0 < outside.sum() <= len(names) / 2
    return [name for name, out in zip(names, outside, strict=True) if out] if few else []


def _outside(parts: ParsedTable) -> str:
    strays = _strays(parts)
    return f" (outside only in {join_names(strays)})" if strays else ""


def _or_ignore(parts: ParsedTable) -> str:
    strays = _strays(parts)
    return f", or {option_text('ignore', strays)} if that is no action" if strays else ""


def _uneven(parts: ParsedTable) -> list[str]:
    """Say where a few columns set the scale of all others."""
    strays = _strays(parts)
    if not strays:
        return []
    return [
        f"only {join_names(strays)} leaves [0, 1] and sets the scale; write {option_text('ignore', strays)} if that is no action"
    ]


def _extremes(parts: ParsedTable) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    height = max(1, _CHUNK // parts.values.shape[1])
    for start in range(0, parts.values.shape[0], height):
        part = parts.values[start : start + height]
        known = part[~np.isnan(part)] if part.dtype.kind == "f" else part
        if known.size:
            low, high = min(low, float(known.min())), max(high, float(known.max()))
    if not np.isfinite([low, high]).all():
        came = "none" if low > high else f"numbers from {low:g} to {high:g}"
        raise TableError(f"{parts.source}: {parts.kind} must be finite numbers, got {came}; fill them in.")
    return low, high


def _losses(parts: ParsedTable, low: float, high: float) -> NDArray[Any]:
    values = parts.values
    if parts.kind == "losses" and (low, high) == (0.0, 1.0):
        return values
    kind = values.dtype.type if values.dtype in (np.float32, np.float64) else np.float64
    if high - low > np.finfo(kind).max:
        raise TableError(
            f"{parts.source}: {parts.kind} must be nearer to each other to be rescaled, got numbers from {low:g} to "
            f"{high:g}; count in larger units."
        )
    table = np.asarray(values, dtype=kind)
    if low == high:
        return np.where(np.isnan(table), table, kind(0))
    scaled = (kind(high) - table if parts.kind == "scores" else table - kind(low)) / kind(high - low)
    return np.clip(scaled, kind(0), kind(1))


def _rounds(parts: ParsedTable) -> Rounds | None:
    delays = parts.delays
    if delays is None:
        return None
    wrong = ~((delays >= 0) & (delays == np.floor(delays)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{parts.source}: delays must be whole numbers of rounds, 0 or more, got {delays[row]:g} in row {row}; "
            "write 0 for feedback at once."
        )
    return np.minimum(delays, 2.0**62).astype(np.int64)


def name_of(source: object) -> str:
    """Return the name of a source in messages: its path, or what it is."""
    return str(source) if isinstance(source, str | Path) else type(source).__name__
