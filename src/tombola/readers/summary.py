"""Look: what was understood of a table, before anything is decided about it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text, truncate
from tombola.readers.options import ParsedTable, ReadOptions
from tombola.readers.table import parts_of

SHOWN, ROWS = 6, 3  # actions and rows of the sample


class Look(NamedTuple):
    """A table as it was understood: its parts, where they come from, and what has to be said to go on."""

    parts: ParsedTable

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the actions; columns of an array are numbered."""
        return self.parts.actions or tuple(str(action) for action in range(self.parts.values.shape[1]))

    @property
    def missing(self) -> int:
        """How many losses are missing."""
        return int(np.isnan(self.parts.values).sum()) if self.parts.values.dtype.kind == "f" else 0

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest number, or NaN where there is none."""
        known = self.parts.values[~np.isnan(self.parts.values)] if self.missing else self.parts.values
        return (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)

    def facts(self) -> list[tuple[str, str]]:
        """Return what was understood, as pairs of a word and what it is here."""
        parts, (low, high) = self.parts, self.range
        gaps = f"{self.missing:,} missing, the first in {self._gap()}" if self.missing else "none missing"
        found = [
            ("rows", f"{parts.values.shape[0]:,}"),
            ("actions", f"{len(self.names):,}: {_some(self.names)}"),
            ("numbers", f"{parts.kind}{' (by the name)' if parts.doubt else ''} from {low:g} to {high:g}, {gaps}"),
        ]
        if parts.ids is not None:
            found.append(("ids", _some(parts.ids, 3)))
        if parts.costs is not None:
            found.append(("costs", _ranges(parts.costs)))
        if parts.delays is not None:
            found.append(("delays", f"{_range(parts.delays)} rounds{_missing(parts.delays)}"))
        return found

    def _gap(self) -> str:
        """Say where the first missing number is; columns of an array have no lines, but numbers."""
        row, action = np.argwhere(np.isnan(self.parts.values))[0].tolist()
        return self.parts.gap or f"row {row}, action {self.names[action]!r}"

    def sample(self) -> tuple[list[str], list[list[str]]]:
        """Return the first three rows as they were read, of the first few actions."""
        parts, names = self.parts, self.names
        more = ["..."] if len(names) > SHOWN else []
        head = [*(["id"] if parts.ids is not None else []), *(truncate(name, 24) for name in names[:SHOWN]), *more]
        rows = [
            [*([truncate(parts.ids[row], 24)] if parts.ids is not None else []),
             *(f"{number:.6g}" for number in parts.values[row, :SHOWN]), *more]
            for row in range(min(ROWS, parts.values.shape[0]))
        ]  # fmt: skip
        return head, rows

    def needed(self) -> list[str]:
        """Return the options that the table needs beyond those that were given."""
        low, high = self.range
        needed = [option_text("kind", "scores")] if self.parts.doubt else []
        if low < 0 or high > 1:
            needed.append(option_text("rescale", on=True))
        others = (others for others in (self.parts.costs, self.parts.delays) if others is not None)
        if self.missing or any(np.isnan(one).any() for one in others):
            needed.append(option_text("missing", "worst"))
        return needed


def look_at(source: Any, wanted: ReadOptions) -> Look:
    """Say what is understood of a table.

    >>> look = look_at([[0.0, 30.0], [0.5, 10.0]], ReadOptions())
    >>> look.facts()[-1], look.needed()
    (('numbers', 'losses from 0 to 30, none missing'), ['rescale=True'])
    """
    return Look(parts_of(source, wanted))


def _some(names: tuple[str, ...], most: int = 12) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(truncate(name, 40) for name in names[:most]) + rest


def _range(numbers: NDArray[Any]) -> str:
    known = numbers[~np.isnan(numbers)]
    return f"from {known.min():g} to {known.max():g}" if known.size else "unknown"


def _missing(numbers: NDArray[Any]) -> str:
    count = int(np.isnan(numbers).sum())
    return f", {count:,} missing" if count else ""


def _ranges(costs: NDArray[Any]) -> str:
    by_resource = costs.reshape(*costs.shape[:2], -1)
    ranges = [_range(by_resource[:, :, resource]) for resource in range(by_resource.shape[2])]
    told = f"{'; '.join(ranges)} a row"
    if np.isnan(costs).any():
        return f"{told}{_missing(costs)}"
    totals = by_resource[:, :, 0].sum(axis=0)
    return f"{told}; all rows cost {totals.min():.4g} with the cheapest action, {totals.max():.4g} with the dearest"
