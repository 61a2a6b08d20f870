"""Side information of a race: answers on file, fixed before the order is drawn.

Known answers cost no call, and bound the totals of the candidates (docs/theory/race.md, section 8). They must be the
cells of this table, known by row, in a set of cells that does not depend on the order.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.errors import ParameterError
from tombola.racing.elimination import Elimination


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Answers on file, fixed before the order is drawn.

    known    (rows, k) losses in [0, 1] by row and candidate; NaN where the answer is not known
    """

    known: Floats

    @classmethod
    def of(cls, candidates: Sequence[str], rows: Sequence[str], known: Any = None) -> "SideInformation":
        """Return the side information of a race, checked.

        `known` is a table (rows, k) with NaN or None for unknown cells, or a mapping from candidates to their answers:
        a sequence with one item per row, or a mapping from rows to losses.

        >>> SideInformation.of(["a", "b"], ["x", "y"], {"b": {"y": 0.5}}).known.tolist()
        [[nan, nan], [nan, 0.5]]
        """
        shape = (len(rows), len(candidates))
        table = _from_mapping(candidates, rows, known) if isinstance(known, Mapping) else _to_floats(known, shape)
        if table.shape != shape:
            _reject("known", f"a table of {shape[0]} rows and {shape[1]} candidates", f"shape {table.shape}")
        valid = np.isnan(table) | ((table >= 0.0) & (table <= 1.0))
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            cell = f"{table[row, column]!r} for {candidates[column]} on row {rows[row]}"
            _reject("known", "losses in [0, 1], NaN where unknown", cell)
        return cls(table)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on file."""
        return bool(np.isnan(self.known).all())

    @property
    def digest(self) -> str:
        """SHA-256 of the tables."""
        table = np.ascontiguousarray(self.known, "<f8")
        # NaN has many bit patterns; equal tables must have equal digests.
        content = np.where(np.isnan(table), math.nan, table).tobytes()
        return hashlib.sha256(f"{table.shape}".encode() + content).hexdigest()

    def to_json(self) -> dict[str, Any] | None:
        """Return JSON data with the digest; None if nothing is on file."""
        if self.is_empty:
            return None
        rows, columns = np.nonzero(~np.isnan(self.known))
        losses = self.known[rows, columns]
        cells = {"rows": rows.tolist(), "candidates": columns.tolist(), "losses": losses.tolist()}
        return {"digest": self.digest, "known": cells}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None, rows: int, candidates: int) -> "SideInformation":
        """Return the side information from the output of `to_json`."""
        known = np.full((rows, candidates), math.nan)
        if data is not None:
            cells = data["known"]
            known[cells["rows"], cells["candidates"]] = cells["losses"]
        side = cls(known)
        if data is not None and data["digest"] != side.digest:
            raise ValueError("the answers on file do not match their digest")
        return side


class RowsLeft:
    """Running sums over the rows left, written to the state of a rule before each row.

    >>> from tombola.racing.best import Best
    >>> rule = Best(candidates=2, rows=2, population=2, level=0.05)
    >>> rows_left = RowsLeft(SideInformation.of(["a", "b"], ["x", "y"], {"b": [0.25, 0.5]}))
    >>> rows_left.begin_row(rule.state, 0)
    >>> rule.state.known_loss.tolist(), rule.state.known_gain.tolist()
    ([0.0, 0.5], [0.0, 0.5])
    """

    def __init__(self, side: SideInformation) -> None:
        self._is_known = ~np.isnan(side.known)
        self._known = np.where(self._is_known, side.known, 0.0)
        self._known_loss, self._n_known = self._known.sum(axis=0), self._is_known.sum(axis=0)

    def begin_row(self, state: Any, row: int) -> None:
        """Write the sums of the known losses, and of 1 - loss, over the rows after this one."""
        self._known_loss -= self._known[row]
        self._n_known -= self._is_known[row]
        state.known_loss[:] = self._known_loss
        state.known_gain[:] = self._n_known - self._known_loss


def play_on_file(rule: Elimination, side: SideInformation, table: Rows, order: Order) -> int:
    """Reset a rule, run a whole race on a loss table (rows, k), and return its calls.

    As `Elimination.play`, with answers on file.

    >>> from tombola.racing.best import Best
    >>> rule = Best(candidates=2, rows=100, population=100, level=0.05)
    >>> table = np.array([[0.0, 1.0]] * 100)
    >>> side = SideInformation.of(["a", "b"], [str(row) for row in range(100)], {"a": table[:, 0]})
    >>> play_on_file(rule, side, table, np.arange(100, dtype=np.uint32)) == rule.rows_seen
    True
    """
    rule.reset()
    rows_left, unknown, calls = RowsLeft(side), np.isnan(side.known), 0
    for row in order.tolist():
        if rule.done:
            break
        calls += int(np.count_nonzero(unknown[row] & (rule.state.active > 0.0)))
        rows_left.begin_row(rule.state, row)
        rule.update(np.array(table[row], float))
    return calls


def _from_mapping(candidates: Sequence[str], rows: Sequence[str], known: Mapping[Any, Any]) -> Floats:
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


def _reject(what: str, expected: str, value: str) -> Any:
    raise ParameterError(f"Race: {what} must be {expected}, got {value}; correct the table.")
