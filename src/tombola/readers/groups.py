"""Results by group of rows: the best action of each group."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola.readers.names import Kind


class GroupRow(NamedTuple):
    """One group of rows: its size, and the best and second action by mean.

    Means are in the unit of the table. Without a known direction, `best` has the largest mean and `second` the
    smallest.

    name: of the group.
    rows, cells: number of rows, and of values that are not missing.
    best_mean, second_mean: means of these two actions.
    """

    name: str
    rows: int
    cells: int
    best: str
    best_mean: float
    second: str
    second_mean: float


def group_rows(
    values: NDArray[Any], strata: Sequence[str], actions: Sequence[str], kind: Kind | None
) -> list[GroupRow]:
    """Return the best action of each group, the largest group first.

    values: shape (rows, k), NaN where missing; a mean is over the filled cells of an action.
    strata: the group of each row.
    actions: names of the k actions.
    kind: "losses" if lower is better, "scores" if higher; None if that is not known.

    >>> values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])
    >>> [(one.name, one.rows, one.best) for one in group_rows(values, ["x", "y", "x"], ["a", "b"], "losses")]
    [('x', 2, 'a'), ('y', 1, 'b')]
    """
    labels, found = np.array(strata, dtype=object), []
    for name in dict.fromkeys(strata):
        part = np.asarray(values[labels == name], float)
        filled = ~np.isnan(part)
        counts = filled.sum(axis=0)
        known = np.flatnonzero(counts)
        means = np.where(filled, part, 0.0).sum(axis=0)[known] / counts[known]
        # Stable: equal means stay in the order of the columns.
        order = np.argsort(means if kind == "losses" else -means, kind="stable")
        places = [] if order.size == 0 else [order[0], order[-1 if kind is None else min(1, order.size - 1)]]
        cells = [(str(actions[known[at]]), float(means[at])) for at in places] or [("", np.nan)] * 2
        found.append(GroupRow(str(name), len(part), int(filled.sum()), *cells[0], *cells[1]))
    return sorted(found, key=lambda one: -one.rows)
