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

# Principal components of history: more fit noise.
MAX_COMPONENTS = 12
# Rows before the first fit, least interval between fits, and growth of the intervals.
FIRST_FIT, MIN_INTERVAL, FIT_GROWTH = 6, 3, 1.15
# Penalties of the ridge regression; the infinite one leaves the prior.
PENALTIES = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf)


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Answers on file, fixed before the order is drawn.

    known    (rows, k) losses in [0, 1] by row and candidate; NaN where the answer is not known
    history  (rows, h) losses of candidates that do not take part, or other numbers known of every row; h may be 0
    """

    known: Floats
    history: Floats

    @classmethod
    def of(
        cls, candidates: Sequence[str], rows: Sequence[str], known: Any = None, history: Any = None
    ) -> "SideInformation":
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
        return cls(table, _to_history(history, len(rows)))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on file."""
        return bool(np.isnan(self.known).all()) and self.history.shape[1] == 0

    def of_rows(self, rows: Order) -> "SideInformation":
        """Return the side information of some rows."""
        return SideInformation(self.known[rows], self.history[rows])

    @property
    def digest(self) -> str:
        """SHA-256 of the tables."""
        table = np.ascontiguousarray(np.hstack([self.known, self.history]), "<f8")
        # NaN has many bit patterns; equal tables must have equal digests.
        content = np.where(np.isnan(table), math.nan, table).tobytes()
        return hashlib.sha256(f"{self.known.shape} {self.history.shape}".encode() + content).hexdigest()

    def to_json(self) -> dict[str, Any] | None:
        """Return JSON data with the digest; None if nothing is on file."""
        if self.is_empty:
            return None
        rows, columns = np.nonzero(~np.isnan(self.known))
        losses = self.known[rows, columns]
        cells = {"rows": rows.tolist(), "candidates": columns.tolist(), "losses": losses.tolist()}
        return {"digest": self.digest, "known": cells, "history": self.history.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None, rows: int, candidates: int) -> "SideInformation":
        """Return the side information from the output of `to_json`."""
        known, history = np.full((rows, candidates), math.nan), np.zeros((rows, 0))
        if data is not None:
            history = np.array(data["history"], float).reshape(rows, -1)
            cells = data["known"]
            known[cells["rows"], cells["candidates"]] = cells["losses"]
        side = cls(known, history)
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
        self._predictor = Predictor(side) if side.history.shape[1] else None
        self._known_loss, self._n_known = self._known.sum(axis=0), self._is_known.sum(axis=0)

    def begin_row(self, state: Any, row: int) -> None:
        """Write the sums of known losses over the rows after this one.

        Also the sums of 1 - loss. The state of the rule is changed in place.
        """
        if self._predictor is not None:
            self._predictor.begin_row(state, row)
        self._known_loss -= self._known[row]
        self._n_known -= self._is_known[row]
        state.known_loss[:] = self._known_loss
        state.known_gain[:] = self._n_known - self._known_loss

    def end_row(self, state: Any, row: int, losses: Floats) -> None:
        """Use the answers of a counted row for the predictions of later rows."""
        if self._predictor is not None:
            self._predictor.end_row(state, row, losses)


class Predictor:
    """Predictions of the losses on the rows left, refitted at growing intervals.

    The fit uses counted rows, history and known columns only. Between two fits the prediction is one fixed function of
    the row, so its mean over exactly the rows left is known.
    """

    def __init__(self, side: SideInformation) -> None:
        self._is_known = ~np.isnan(side.known)
        self._known = np.where(self._is_known, side.known, 0.0)
        self._left = np.ones(len(side.known), bool)
        self._components, self._prior_mean, self._prior_scale = principal_components(
            np.hstack([side.history, side.known[:, self._is_known.all(axis=0)]])
        )
        self._counted: list[int] = []
        self._sum: Floats = np.zeros(side.known.shape[1])
        self._losses: list[Floats] = []
        self._next_fit = float(FIRST_FIT)
        start = 0.5 + self._components @ self._prior_mean
        self._set(np.repeat(start[:, None], side.known.shape[1], axis=1))

    def begin_row(self, state: Any, row: int) -> None:
        """Write the adjustment of this row: means over the rows left, this one included.

        state: an `EliminationState`, changed in place.
        row: index of the row.
        """
        left = int(np.count_nonzero(self._left))
        mean = self._sum / left
        state.predicted_mean[:] = mean
        state.offset[:] = mean - self._predicted[row]
        state.residual_low[:] = self._low
        self._left[row] = False
        self._sum = self._sum - self._predicted[row]

    def end_row(self, state: Any, row: int, losses: Floats) -> None:
        """Remember the answers of a counted row, and refit when it is time."""
        self._counted.append(row)
        self._losses.append(losses.copy())
        if len(self._counted) >= self._next_fit and self._left.any():
            self._next_fit = max(self._next_fit + MIN_INTERVAL, self._next_fit * FIT_GROWTH)
            self._fit(np.flatnonzero(state.active > 0.0))

    def _fit(self, active: Any) -> None:
        design, losses = self._components[self._counted], np.array(self._losses)[:, active]
        common = losses.mean(axis=1, keepdims=True)
        level = ridge(design, common, self._components, self._prior_mean, self._prior_scale)
        deviation = ridge(design, losses - common, self._components, 0.0 * self._prior_mean, self._prior_scale)
        predicted = self._predicted.copy()
        predicted[:, active] = level + deviation
        self._set(predicted)

    def _set(self, predicted: Floats) -> None:
        """Use a table of predictions from the next row on."""
        self._predicted = np.where(self._is_known, self._known, np.clip(predicted, 0.0, 1.0))
        # A minimum over the rows left now also bounds the rows left later; the means are always fresh.
        low = np.where(self._is_known, 0.0, -self._predicted)[self._left]
        high = np.where(self._is_known, 0.0, 1.0 - self._predicted)[self._left]
        self._low = np.array([(low[:, [b]] - high).min(axis=0) for b in range(low.shape[1])])
        self._sum = self._predicted[self._left].sum(axis=0)


def principal_components(history: Floats) -> tuple[Floats, Floats, Floats]:
    """Return components (rows, q) of unit variance, mean, and scale of loadings."""
    centred = history - history.mean(axis=0)
    if not ((history >= 0.0) & (history <= 1.0)).all():
        # Features in other units have no loadings in units of the loss.
        deviation = centred.std(axis=0)
        centred = centred / np.where(deviation > 0.0, deviation, 1.0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    count = min(MAX_COMPONENTS, int(np.count_nonzero(sizes > 1e-9 * max(float(sizes[0]), 1e-300))))
    root = math.sqrt(len(history))
    loadings = sizes[:count, None] * right[:count] / root
    mean = loadings.mean(axis=1)
    if not ((history >= 0.0) & (history <= 1.0)).all():
        mean = 0.0 * mean
    return left[:, :count] * root, mean, np.sqrt((loadings**2).mean(axis=1)) + 1e-9


def ridge(design: Floats, losses: Floats, components: Floats, prior: Floats, scale: Floats) -> Floats:
    """Return ridge predictions for all rows; penalty by exact leave-one-out, pooled.

    design, losses   (n, q) components and (n, c) losses of the counted rows
    components       (rows, q) components of all rows
    prior, scale     (q,) mean and scale of the coefficients; no prediction (a constant) is one of the choices
    """
    mean, centre = losses.mean(axis=0), design.mean(axis=0)
    best_error, best = math.inf, np.zeros((design.shape[1], losses.shape[1]))
    n = len(losses)
    left, sizes, right = np.linalg.svd((design - centre) * scale, full_matrices=False)
    for start in (prior, 0.0 * prior):
        residual = losses - mean - ((design - centre) @ start)[:, None]
        for penalty in PENALTIES:
            shrink = sizes**2 / (sizes**2 + penalty)
            fitted = left @ (shrink[:, None] * (left.T @ residual))
            leverage = 1.0 / n + (left**2) @ shrink
            error = float((((residual - fitted) / np.maximum(1.0 - leverage, 1e-6)[:, None]) ** 2).sum())
            if error < best_error - 1e-12:
                weights = right.T @ ((sizes / (sizes**2 + penalty))[:, None] * (left.T @ residual))
                best_error, best = error, start[:, None] + scale[:, None] * weights
    predicted: Floats = mean + (components - centre) @ best
    return predicted


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
    if side.history.shape[1]:
        rule.use_predictions()
    rule.reset()
    rows_left, unknown, calls = RowsLeft(side), np.isnan(side.known), 0
    for row in order.tolist():
        if rule.done:
            break
        calls += int(np.count_nonzero(unknown[row] & (rule.state.active > 0.0)))
        rows_left.begin_row(rule.state, row)
        losses = np.array(table[row], float)
        rule.update(losses)
        rows_left.end_row(rule.state, row, losses)
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


def _to_history(history: Any, rows: int) -> Floats:
    if history is None:
        return np.zeros((rows, 0))
    table: Floats = np.array(list(history.values()) if isinstance(history, Mapping) else history, float)
    table = table.T if isinstance(history, Mapping) else table
    if table.ndim != 2 or len(table) != rows or not np.isfinite(table).all():
        _reject("history", f"a table of {rows} rows without missing values", f"shape {table.shape}, or NaN in it")
    return table


def _reject(what: str, expected: str, value: str) -> Any:
    raise ParameterError(f"Race: {what} must be {expected}, got {value}; correct the table.")
