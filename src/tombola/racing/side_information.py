"""Side information of a race: answers on file and history, fixed before the shuffle.

Known answers cost no call, and bound the totals of the candidates (docs/theory/race.md, section 8).
They must be the cells of this table, known by row, in a set of cells that does not depend on the
order.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tombola._types import Floats, Order
from tombola.errors import ParameterError
from tombola.pool import frame_index, is_frame
from tombola.units import UNIT_LOSSES, Units

# Rows that are hashed at a time.
_DIGEST_ROWS = 256


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Answers on file and history of a race, fixed before rows are shuffled.

    known    (rows, candidates): losses in [0, 1], NaN where the answer is not known
    history  (rows, columns): other numbers known of every row, such as losses of earlier
             candidates; may have no column
    """

    known: Floats
    history: Floats

    @classmethod
    def of(
        cls,
        candidates: Sequence[str],
        rows: Sequence[str],
        known: Any = None,
        history: Any = None,
        units: Units = UNIT_LOSSES,
    ) -> "SideInformation":
        """Return the side information of a race; ParameterError if it is malformed.

        known, history: as in `Race`. Columns of a data frame are matched by name; the answers of a
            candidate in a mapping are a sequence with one item per row, or a mapping from rows to
            answers.
        units: direction and range of the known answers.

        >>> SideInformation.of(["a", "b"], ["x", "y"], {"b": {"y": 0.5}}).known.tolist()
        [[nan, nan], [nan, 0.5]]
        """
        shape = (len(rows), len(candidates))
        if known is None:
            return cls(nothing_known(*shape), _to_history(history, len(rows)))
        answers = _frame_columns(candidates, rows, known) if is_frame(known) else known
        table = (
            _from_mapping(candidates, rows, answers)
            if isinstance(answers, Mapping)
            else _to_floats(answers, shape)
        )
        valid = np.isnan(table) | ((table >= units.low) & (table <= units.high))
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            cell = f"{table[row, column]:g} for {candidates[column]} on row {rows[row]}"
            _reject(
                "known",
                f"a {units.quantity} from {units.low:g} to {units.high:g}, NaN where unknown",
                cell,
            )
        return cls(units.loss(table), _to_history(history, len(rows)))

    @property
    def is_empty(self) -> bool:
        """Whether there are neither answers on file nor history."""
        return self.n_known == 0 and self.history.shape[1] == 0

    @cached_property
    def n_known(self) -> int:
        """The number of cells whose answers are on file."""
        # The table of `nothing_known` has one number for all cells.
        is_table = self.known.strides != (0, 0)
        return int((~np.isnan(self.known)).sum()) if is_table else 0

    def of_rows(self, rows: Order) -> "SideInformation":
        """Return the side information of these rows, by index, in their order."""
        known = self.known[rows] if self.n_known else nothing_known(len(rows), self.known.shape[1])
        return SideInformation(known, self.history[rows])

    @property
    def digest(self) -> str:
        """SHA-256 of `known` and `history`, in hexadecimal; equal for equal tables."""
        digest = hashlib.sha256(f"{self.known.shape} {self.history.shape}".encode())
        for first in range(0, len(self.known), _DIGEST_ROWS):
            part = slice(first, first + _DIGEST_ROWS)
            table = np.ascontiguousarray(np.hstack([self.known[part], self.history[part]]), "<f8")
            # NaN has many bit patterns; equal tables must have equal digests.
            digest.update(np.where(np.isnan(table), math.nan, table).tobytes())
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any] | None:
        """Return JSON data for `from_json`; None if there is no side information.

        known: {"rows": indices, "candidates": indices, "losses": numbers}, lists with an entry per
            answer on file.
        history: list of rows, each a list of numbers. digest: as the property.
        """
        if self.is_empty:
            return None
        rows, columns = np.nonzero(~np.isnan(self.known))
        losses = self.known[rows, columns]
        cells = {"rows": rows.tolist(), "candidates": columns.tolist(), "losses": losses.tolist()}
        return {"digest": self.digest, "known": cells, "history": self.history.tolist()}

    @classmethod
    def from_json(
        cls, data: dict[str, Any] | None, rows: int, candidates: int
    ) -> "SideInformation":
        """Return the side information from `to_json`; ValueError if its digest is wrong.

        rows, candidates: their numbers in the race.
        """
        if data is None:
            return cls(nothing_known(rows, candidates), np.zeros((rows, 0)))
        history = np.array(data["history"], float).reshape(rows, -1)
        cells = data["known"]
        known = nothing_known(rows, candidates)
        if cells["rows"]:
            known = np.full((rows, candidates), math.nan)
            known[cells["rows"], cells["candidates"]] = cells["losses"]
        side = cls(known, history)
        if data["digest"] != side.digest:
            raise ValueError("the answers on file do not match their digest")
        return side


def nothing_known(rows: int, candidates: int) -> Floats:
    """Return the table of a race without answers on file: NaN in each cell.

    All cells share one number in memory, so it may only be read.
    """
    return np.broadcast_to(np.float64(math.nan), (rows, candidates))


def check_frame_kind(owner: str, known: Any, options: Mapping[str, Any]) -> None:
    """Raise ParameterError if answers on file are a data frame without a direction.

    owner: name of the function that the user called. options: of the race; "kind" is the direction.
    """
    if is_frame(known) and "kind" not in options:
        raise ParameterError(
            f"{owner}: expected kind='losses' (lower is better) or kind='scores' (higher is "
            "better) with a data frame "
            "of answers on file, got neither; write kind='scores' if higher is better."
        )


def _frame_columns(candidates: Sequence[str], rows: Sequence[str], frame: Any) -> dict[str, Any]:
    """Return the columns of a frame that are candidates, by name.

    Answers are matched by the index of the frame, or by position if it has no index, or one that
    only numbers its rows. ParameterError if another index has a label that is no row of the list.
    """
    # Arrow has the columns themselves in `columns`.
    columns = list(getattr(frame, "column_names", frame.columns))
    by_name = {str(name): frame[name] for name in columns if str(name) in candidates}
    if not by_name:
        _reject(
            "known",
            f"a frame with columns of candidates, such as {candidates[0]!r}",
            f"columns {columns[:6]}",
        )
    labels = frame_index(frame)
    if type(getattr(frame, "index", None)).__name__ == "RangeIndex" and frame.index[:1] != [0]:
        # A part of a longer frame: its numbers are labels, not positions.
        labels = list(frame.index)
    index = [str(name) for name in labels or ()]
    row_names = set(rows)
    foreign = next((name for name in index if name not in row_names), None)
    if foreign is not None and index != [str(place) for place in range(len(index))]:
        _reject("known", "a frame whose index has rows of the list", f"the label {foreign!r}")
    if len(set(index)) < len(index):
        twice = next(name for place, name in enumerate(index) if name in index[:place])
        _reject("known", "a frame with each row once", f"the label {twice!r} several times")
    if foreign is not None or not index:
        return by_name
    return {name: dict(zip(index, answers, strict=True)) for name, answers in by_name.items()}


def _from_mapping(
    candidates: Sequence[str], rows: Sequence[str], known: Mapping[Any, Any]
) -> Floats:
    table = np.full((len(rows), len(candidates)), math.nan)
    columns = {name: column for column, name in enumerate(candidates)}
    places = {name: place for place, name in enumerate(rows)}
    for name, answers in known.items():
        if str(name) not in columns:
            _reject("known", f"answers of {', '.join(candidates[:6])}", f"a column {name!r}")
        column = table[:, columns[str(name)]]
        if isinstance(answers, Mapping):
            for row, loss in answers.items():
                if str(row) not in places:
                    _reject("known", "answers on rows of the list", f"row {row!r} of {name}")
                column[places[str(row)]] = math.nan if loss is None else loss
        else:
            column[:] = _to_floats(answers, (len(rows),))
    return table


def _to_floats(values: Any, shape: tuple[int, ...]) -> Floats:
    if values is None:
        return np.full(shape, math.nan)
    try:
        table: Floats = np.array(values, float)
    except (TypeError, ValueError) as error:
        _reject("known", "numbers, None or NaN where unknown", str(error))
    if table.shape != shape:
        _reject("known", f"shape {shape}", f"shape {table.shape}")
    return table


def _to_history(history: Any, rows: int) -> Floats:
    if history is None:
        return np.zeros((rows, 0))
    table: Floats = np.array(
        list(history.values()) if isinstance(history, Mapping) else history, float
    )
    table = table.T if isinstance(history, Mapping) else table
    if table.ndim != 2 or len(table) != rows or not np.isfinite(table).all():
        _reject(
            "history",
            f"a table of {rows} rows without missing values",
            f"shape {table.shape}, or NaN in it",
        )
    return table


def _reject(what: str, expected: str, value: str) -> Any:
    raise ParameterError(f"Race: {what} must be {expected}, got {value}; correct the table.")
