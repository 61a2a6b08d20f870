"""Labelled pool: rows of features, each with a label 0 or 1, fixed in advance."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import plural
from tombola._types import Floats, Integers
from tombola.classification.segment_tree import ranks_of
from tombola.errors import PoolError

# Unit of weights: they are rounded to multiples of it, so that sums of weights are exact.
_GRID = 2.0**-20


class LabelledPool:
    """Hold a table of features with a label 0 or 1 for each row.

    features: numbers, shape (rows, d); for one feature a plain list is accepted.
    labels: 0 or 1, shape (rows,).
    weights: loss of an error on each row, in (0, 1], 1 by default; rounded to multiples of 2^-20,
        so that sums are exact.

    >>> LabelledPool([0.1, 0.7, 0.4], [0, 1, 1])
    LabelledPool(3 rows, 1 feature)
    """

    def __init__(self, features: Any, labels: Any, weights: Any = None) -> None:
        self.features: Floats = _frozen(_features(features))
        self.labels: Integers = _frozen(_labels(labels, self.rows))
        self.weights: Floats = _frozen(_weights(weights, self.rows))

    def __repr__(self) -> str:
        return f"LabelledPool({self.rows} rows, {plural(self.dimensions, 'feature')})"

    def __len__(self) -> int:
        return self.rows

    @property
    def rows(self) -> int:
        """The number of rows of the pool."""
        return int(self.features.shape[0])

    @property
    def dimensions(self) -> int:
        """The number of features of a row, d."""
        return int(self.features.shape[1])

    @cached_property
    def ranks(self) -> tuple[NDArray[np.uint64], int]:
        """Ranks of the features by column, shape (rows, d), and their number.

        Ranks count from 0; their number is that of the column with the most distinct values.
        """
        return ranks_of(self.features)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _numbers(name: str, values: Any) -> NDArray[Any]:
    try:
        array = np.array(values)
        if array.dtype.kind not in "biuf":
            raise ValueError
    except ValueError:
        raise PoolError(
            f"LabelledPool: {name} must be numbers, got {_short(values)}; convert them first."
        ) from None
    return array


def _features(values: Any) -> Floats:
    array = _numbers("features", values).astype(np.float64)
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2 or 0 in table.shape:
        raise PoolError(
            "LabelledPool: features must be a table with at least one row and one column, got "
            f"shape {array.shape}; "
            "write for example LabelledPool([[0.5], [0.7]], [0, 1])."
        )
    _check_values("features", "finite", table, np.isfinite(table), "fill in what is missing")
    return np.ascontiguousarray(table + 0.0)


def _labels(values: Any, rows: int) -> Integers:
    array = _one_per_row("labels", values, rows)
    fix = "write for example labels == labels.max() for two classes or one against the rest"
    _check_values("labels", "0 or 1", array, np.isin(array, (0, 1)), fix)
    return array.astype(np.int64)


def _weights(values: Any, rows: int) -> Floats:
    if values is None:
        return np.ones(rows)
    array = _one_per_row("weights", values, rows).astype(np.float64)
    _check_values(
        "weights",
        "above 0 and at most 1",
        array,
        (array > 0) & (array <= 1),
        "divide them by the largest",
    )
    return round_weight(array)


def _one_per_row(name: str, values: Any, rows: int) -> NDArray[Any]:
    array = _numbers(name, values)
    if array.shape != (rows,):
        raise PoolError(
            f"LabelledPool: {name} must be one number for each of the {rows} rows, got shape "
            f"{array.shape}; "
            "give every row its own."
        )
    return array


def _check_values(
    name: str, expected: str, values: NDArray[Any], valid: NDArray[np.bool_], fix: str
) -> None:
    """Raise PoolError at the first value that is not valid."""
    for row, *column in np.argwhere(~valid)[:1].tolist():
        place = f"row {row}, column {column[0]}" if column else f"row {row}"
        raise PoolError(
            f"LabelledPool: {name} must be {expected}, got {values[(row, *column)]} in {place}; "
            f"{fix}."
        )


def round_weight(weight: NDArray[np.float64]) -> Floats:
    """Return the nearest positive multiples of 2^-20, so that sums are exact."""
    return np.maximum(np.round(weight / _GRID), 1.0) * _GRID


def _short(values: Any) -> str:
    text = repr(values).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."
