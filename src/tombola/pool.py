"""Pool: a fixed table of losses, one row per round and one column per action."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import MAX_ROWS, HtmlTable, format_number, html_block
from tombola._types import Floats, Rows
from tombola.errors import PoolError

_CHUNK = 1 << 20  # numbers per check, so that a memory-mapped table is never loaded at once


class Pool:
    """Hold a table of losses in [0, 1]: one row per round, one column per action.

    losses: array, lists or data frame. Arrays of float32 and float64 are not copied, and
        memory-mapped arrays stay memory-mapped; the pool is read-only.
    actions: names of the columns; None for "0", "1", ..
    ids: names of the rows; None for none.
    costs: numbers of 0 or more in any unit, shape (rows, actions) or (rows, actions, resources);
        None for none.
    features: shape (rows, features): numbers known before the action is chosen, NaN where missing.
        Only policies (`tombola.policies`) use them.
    kind: "losses" (lower is better) or "scores" (higher is better). A data frame needs it, because
        its column names do not state the direction; it keeps its column names, and its index as
        ids. An array holds losses by default.
    range: the smallest and the largest possible loss or score, mapped to [0, 1]; None if the numbers
        are in [0, 1].
    feature_names: names of the columns of `features`; None for "0", "1", .., or for those of a data
        frame.

    Arguments that do not form a pool raise PoolError.

    >>> pool = Pool([[0.0, 1.0], [0.5, 0.0]], actions=["weak", "strong"])
    >>> pool
    Pool(2 rows, 2 actions)
    >>> pool.best, pool.actions[pool.best]
    (0, 'weak')
    >>> Pool([[8, 5], [10, 2]], kind="scores", range=(0, 10)).losses.tolist()
    [[0.2, 0.5], [0.0, 0.8]]
    """

    def __init__(
        self,
        losses: Any,
        actions: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        costs: Any = None,
        *,
        kind: Literal["losses", "scores"] | None = None,
        range: tuple[float, float] | None = None,
        features: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if kind not in (None, "losses", "scores"):
            raise PoolError(
                f"Pool: kind must be 'losses' or 'scores', got {kind!r}; write one of those."
            )
        if is_frame(losses):
            names, index = _frame_labels(losses, kind)
            actions = names if actions is None else actions
            ids = index if ids is None else ids
        table = _table(kind or "losses", losses)
        if range is not None:
            table = _losses_of_range(kind or "losses", table, range)
            kind = "losses"
        _within(
            kind or "losses",
            table,
            1.0,
            "write kind='scores' for scores, and range=(smallest, largest) for another scale",
        )
        self.losses: Rows = (
            _frozen(table.dtype.type(1) - table, "losses", dimensions=2)
            if kind == "scores"
            else table
        )
        self.actions: tuple[str, ...] = _names("actions", actions, self.k)
        self.ids: tuple[Any, ...] | None = (
            None if ids is None else _names("ids", ids, self.rows, keep=True)
        )
        self.costs: Rows | None = None if costs is None else self._check_costs(costs)
        self.features: Rows | None = None if features is None else self._check_features(features)
        if feature_names is None and is_frame(features):
            feature_names = [
                str(name) for name in getattr(features, "column_names", features.columns)
            ]
        n_features = 0 if self.features is None else int(self.features.shape[1])
        self.feature_names: tuple[str, ...] = _names("feature_names", feature_names, n_features)

    @classmethod
    def from_rewards(
        cls,
        rewards: Any,
        actions: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        costs: Any = None,
    ) -> "Pool":
        """Return the pool of losses 1 - rewards, as `Pool(rewards, kind="scores")` does.

        rewards: in [0, 1], shape (rows, actions).

        >>> Pool.from_rewards([[1.0, 0.25]]).losses.tolist()
        [[0.0, 0.75]]
        """
        return cls(rewards, actions, ids, costs, kind="scores")

    def __repr__(self) -> str:
        resources = "" if self.costs is None else f", {self.costs.shape[2]} resources"
        features = "" if self.features is None else f", {self.features.shape[1]} features"
        return f"Pool({self.rows} rows, {self.k} actions{resources}{features})"

    def _repr_html_(self) -> str:
        ranked = np.argsort(self.totals, kind="stable")[:MAX_ROWS]
        rows = [(self.actions[a], format_number(float(self.means[a]))) for a in ranked]
        facts = [("rows", f"{self.rows:,}"), ("actions", f"{self.k:,}")]
        facts += [] if self.costs is None else [("resources", f"{self.costs.shape[2]:,}")]
        table = HtmlTable(
            ("action", "mean loss"),
            rows,
            "Best actions first; lower losses are better.",
            total=self.k,
        )
        return html_block("Pool", facts, [table])

    def __len__(self) -> int:
        return self.rows

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.losses, self.actions, self.ids, self.costs)
        if self.features is None:
            return Pool, parts
        return partial(Pool, features=self.features, feature_names=self.feature_names), parts

    @property
    def rows(self) -> int:
        """The number of rows, T, which is the number of rounds of a play."""
        return int(self.losses.shape[0])

    @property
    def k(self) -> int:
        """The number of actions."""
        return int(self.losses.shape[1])

    @cached_property
    def totals(self) -> Floats:
        """The total loss of every action over the whole pool, shape (k,)."""
        totals = np.zeros(self.k)
        for chunk in _chunks(self.losses):
            totals += chunk.sum(axis=0, dtype=np.float64)
        return totals

    @property
    def means(self) -> Floats:
        """The mean loss of every action over all rows, shape (actions,)."""
        return self.totals / self.rows

    @property
    def best(self) -> int:
        """The index of the action with the least total loss; the lowest one at ties."""
        return int(np.argmin(self.totals))

    @property
    def all_best(self) -> list[str]:
        """The names of the actions with the least total loss; several at ties."""
        # Totals that differ by the rounding of a sum are equal.
        allowed = self.totals[self.best] + 1e-9 * self.rows
        return [
            name for name, total in zip(self.actions, self.totals, strict=True) if total <= allowed
        ]

    def _check_costs(self, costs: Any) -> Rows:
        array = _array("costs", costs)
        table = _frozen(array[:, :, None] if array.ndim == 2 else array, "costs", dimensions=3)
        if table.shape[:2] != self.losses.shape:
            raise PoolError(
                f"Pool: costs must have one entry for each of the {self.rows} rows and {self.k} "
                "actions, "
                f"got shape {array.shape}; write costs as an array of shape {self.losses.shape}."
            )
        _within("costs", table, np.inf, "a cost is never negative; leave out the row or write 0")
        return table

    def _check_features(self, features: Any) -> Rows:
        array = _array("features", features)
        table = _frozen(array[:, None] if array.ndim == 1 else array, "features", dimensions=2)
        if table.shape[0] != self.rows:
            raise PoolError(
                f"Pool: features must have a row of numbers for each of the {self.rows} rows, "
                f"got shape {array.shape}; "
                "write features as an array of shape (rows, features)."
            )
        if (wrong := _first_wrong(table, np.isinf)) is not None:
            row, feature, value = wrong
            raise PoolError(
                f"Pool: features must be finite or missing (NaN), got {value} in row {row}, "
                f"feature {feature}; "
                "write NaN if the value is unknown."
            )
        return table


def as_pool(
    source: Any,
    *,
    kind: Literal["losses", "scores"] | None = None,
    range: tuple[float, float] | None = None,
) -> Any:
    """Return a pool: itself, that of a `Table`, or of an array, lists or a frame.

    Raises PoolError for values that do not form a pool, and for a pool with kind="scores" or a
    range.

    kind: "losses" (lower is better) or "scores" (higher is better); required for a data frame.
    range: the smallest and the largest possible number, for an array, lists or a frame.

    >>> as_pool([[0.0, 1.0], [0.5, 0.0]])
    Pool(2 rows, 2 actions)
    """
    # A `Table` of `read_table`, which is a tuple; its module needs this one.
    if isinstance(source, tuple) and isinstance(getattr(source, "pool", None), Pool):
        table: Any = source
        if kind not in (None, table.kind):
            raise PoolError(
                f"Pool: expected kind={table.kind!r} as in the table, got {kind!r}; leave it out."
            )
        _check_no_range(range)
        return table.pool
    # Frames come first: those of polars have `rows`, too.
    if is_frame(source) or isinstance(source, np.ndarray | list | tuple):
        return Pool(source, kind=kind, range=range)
    if hasattr(source, "rows") and hasattr(source, "__len__"):
        if kind == "scores":
            raise PoolError(
                "Pool: expected no kind='scores' with a pool, which has losses already, got it; "
                "leave it out."
            )
        _check_no_range(range)
        return source
    raise PoolError(
        "Pool: expected a pool, or an array of losses with a column for each action, got "
        f"{type(source).__name__}; "
        "write tombola.Pool(losses), and play(learner, pool), but compare(pool, learners)."
    )


def _check_no_range(range: object) -> None:
    """Raise PoolError if a range is given for a pool."""
    if range is not None:
        raise PoolError(
            "Pool: expected no range with a pool, whose losses are in [0, 1] already, got "
            f"{range!r}; leave it out."
        )


def _losses_of_range(name: str, table: Rows, range: Any) -> Rows:
    """Return numbers of a range as losses in [0, 1]; PoolError if one is outside of it.

    name: "losses" or "scores", of which the largest becomes the loss 0.
    """
    is_pair = isinstance(range, tuple | list) and len(range) == 2
    if not is_pair or not all(isinstance(end, Real) for end in range):
        raise PoolError(
            f"Pool: range must be two numbers, got {range!r}; write for example range=(0, 10)."
        )
    low, high = (float(end) for end in range)
    if not low < high or not np.isfinite(high - low):
        raise PoolError(
            f"Pool: range must be the smallest and the largest possible number, got {range!r}; "
            "write for example range=(0, 10)."
        )
    wrong = _first_wrong(table, lambda chunk: ~((chunk >= low) & (chunk <= high)))
    if wrong is not None:
        row, action, value = wrong
        raise PoolError(
            f"Pool: {name} must be in the range {low:g} to {high:g}, got {value} in row {row}, "
            f"action {action}; state the whole range."
        )
    number = table.dtype.type
    distance = number(high) - table if name == "scores" else table - number(low)
    return _frozen(np.clip(distance / number(high - low), 0, 1), name, dimensions=2)


def is_frame(values: Any) -> bool:
    """Return whether `values` is a data frame of pandas, polars or Arrow."""
    return (
        hasattr(values, "columns")
        and hasattr(values, "__array__")
        and not isinstance(values, np.ndarray)
    )


def _frame_labels(frame: Any, kind: str | None) -> tuple[list[str], list[Any] | None]:
    """Return the column names of a frame, and its index unless it counts rows."""
    if kind is None:
        raise PoolError(
            "Pool: expected kind='losses' (lower is better) or kind='scores' (higher is better) "
            "with a data frame, got "
            "neither; write Pool(frame, kind='scores') if higher is better."
        )
    # Arrow has the columns themselves in `columns`.
    names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    return names, frame_index(frame)


def frame_index(frame: Any) -> list[Any] | None:
    """Return the index of a pandas frame or series as a list of row labels, or None.

    It is None if the index only counts rows (RangeIndex), or if `frame` has no index, like arrays,
    lists and polars.
    """
    index = getattr(frame, "index", None)
    # Lists have a method of this name.
    return (
        None
        if index is None or callable(index) or type(index).__name__ == "RangeIndex"
        else list(index)
    )


def _array(name: str, values: Any) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise PoolError(
            f"Pool: {name} must be numbers, got a masked array; fill in the masked values, or "
            "leave out the rows."
        )
    try:
        return values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:
        raise PoolError(
            f"Pool: {name} must be a table of numbers, got rows of different lengths; "
            "give every row one number an action."
        ) from None


def _table(name: str, values: Any) -> Rows:
    table = _frozen(_array(name, values), name, dimensions=2)
    if table.shape[0] >= 1 << 32:
        raise PoolError(
            f"Pool: {name} may have at most 4,294,967,295 rows, got {table.shape[0]}; split the "
            "table."
        )
    return table


def _frozen(array: NDArray[Any], name: str, *, dimensions: int) -> Rows:
    """Return a read-only view; numbers other than float32 become float64."""
    if array.ndim != dimensions or 0 in array.shape:
        raise PoolError(
            f"Pool: {name} must have {dimensions} dimensions (rows x "
            f"actions{' x resources' * (dimensions == 3)}) of "
            f"at least 1, got shape {array.shape}; write for example Pool([[0.0, 1.0]])."
        )
    if array.dtype not in (np.float32, np.float64):
        if array.dtype.kind not in "biuf":
            raise PoolError(
                f"Pool: {name} must be numbers, got values of type {array.dtype}; convert the "
                "column, or leave it out."
            )
        array = array.astype(np.float64)
    view = array.view()
    view.flags.writeable = False
    return view


def _chunks(table: Rows) -> Iterator[Rows]:
    height = max(1, _CHUNK // max(1, int(np.prod(table.shape[1:]))))
    for start in range(0, table.shape[0], height):
        yield table[start : start + height]


def _first_wrong(table: Rows, is_wrong: Callable[[Rows], Any]) -> tuple[int, int, Any] | None:
    """Return row, column and value of the first wrong number, or None."""
    row = 0
    for chunk in _chunks(table):
        wrong = is_wrong(chunk)
        if wrong.any():
            where = np.unravel_index(int(np.argmax(wrong)), chunk.shape)
            return row + int(where[0]), int(where[1]), chunk[where]
        row += chunk.shape[0]
    return None


def _within(name: str, table: Rows, most: float, remedy: str) -> None:
    """Check that all numbers are in [0, most]; NaN is not."""
    wrong = _first_wrong(
        table, lambda chunk: ~((chunk >= 0) & (chunk <= most) & np.isfinite(chunk))
    )
    if wrong is not None:
        row, action, value = wrong
        limits = "in [0, 1]" if most == 1.0 else "0 or more"
        raise PoolError(
            f"Pool: {name} must be {limits}, got {value} in row {row}, action {action}; {remedy}."
        )


def _names(
    name: str, values: Sequence[Any] | None, count: int, *, keep: bool = False
) -> tuple[Any, ...]:
    if values is None:
        return tuple(str(index) for index in range(count))
    if isinstance(values, str | bytes):
        raise PoolError(
            f"Pool: {name} must be a list of names, got the text {values!r}; write [{values!r}]."
        )
    names = tuple(values) if keep else tuple(map(str, values))
    try:
        different = len(set(names))
    except TypeError:
        raise PoolError(
            f"Pool: {name} must be names, got {names[0]!r}; write text or numbers."
        ) from None
    if len(names) != count or different != count:
        repeated = Counter(names).most_common(1)[0][0]
        came = f"{len(names)}" if len(names) != count else f"{repeated!r} twice"
        raise PoolError(
            f"Pool: {name} must be {count} different names, got {came}; give each its own name."
        )
    return names
