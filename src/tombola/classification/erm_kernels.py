"""Compiled kernels of ERM on lines: the loop, and single steps for sessions.

Every feature of a row has an integer key, in the order of its values: its rank in the loop, its 64 bits in sessions.
Predictions depend only on rows whose label has arrived.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Integers, Order, RngState
from tombola.classification.segment_tree import Tree, add_row, bits_of, charge_leaf, combine_all
from tombola.classification.switch_dp import MIDDLE, STALE, SwitchDP, label_of, update_minimiser
from tombola.engine.arrivals import ArrivalSchedule, has_arrived, next_round
from tombola.engine.intrinsics import PREFETCH_ROUNDS, prefetch

# Array of 64-bit unsigned integers: keys of values.
Words: TypeAlias = NDArray[np.uint64]

# Number of tree levels above a leaf that are prefetched; the upper ones stay in the cache.
_LEVELS = 10


class LabelledRows(NamedTuple):
    """Hold the rows of a labelled pool as arrays, for kernels.

    keys: rank of each feature within its column, shape (rows, d).
    weights: loss of a mistake on each row, shape (rows,).
    """

    features: Floats
    keys: Words
    labels: Integers
    weights: Floats


def predict_all(
    tree: Tree,
    dp: SwitchDP,
    rng: RngState,
    rows: LabelledRows,
    order: Order,
    arrivals: ArrivalSchedule,
    labels: Integers,
) -> None:
    """Predict the label of every round by ERM; learn labels when they arrive.

    tree, dp: a new tree, and a new minimiser; changed in place.
    labels: output, predicted label of each round, shape (rounds,).
    """
    revealed = 0
    for t in range(order.size):
        _look_ahead(tree, rows, order, t)
        while has_arrived(arrivals, revealed, t):
            row = order[next_round(arrivals, revealed)]
            learn_row(tree, dp, rows.features[row], rows.keys[row], rows.labels[row], rows.weights[row])
            revealed += 1
        update_minimiser(tree, dp, rng)
        labels[t] = label_of(dp, rows.features[order[t]])


def _look_ahead(tree: Tree, rows: LabelledRows, order: Order, t: int) -> None:
    """Prefetch a future row after round `t`, and the lower tree nodes above its leaf."""
    if t + 2 * PREFETCH_ROUNDS < order.size:
        prefetch(rows.keys, order[t + 2 * PREFETCH_ROUNDS], 0)
        prefetch(rows.features, order[t + 2 * PREFETCH_ROUNDS], 0)
    if tree.heads.shape[0] == 1 and t + PREFETCH_ROUNDS < order.size:
        node = tree.leaves + int(rows.keys[order[t + PREFETCH_ROUNDS], 0])
        prefetch(tree.tops, 0, node)
        for _ in range(_LEVELS):
            if node > 1:
                prefetch(tree.nodes[0], node, 0)
                prefetch(tree.nodes[0], node ^ 1, 0)
                node //= 2


def learn_row(tree: Tree, dp: SwitchDP, row: Floats, keys: Words, label: int, weight: float) -> None:
    """Learn the true label of one row, and mark the minimiser as stale if it may change.

    Under the tie rules "first" and "last" a minimiser without a mistake stays in force.

    row, keys: features of the row, and their ranks, shapes (d,); a growing tree ignores the ranks.
    """
    if dp.rule >= MIDDLE or label_of(dp, row) != label:
        dp.place[STALE] = 1
    for feature in range(row.size):
        key = keys[feature] if tree.leaves > 0 else bits_of(row, feature)
        add_row(tree, feature, key, row[feature], label, weight)


def learn_all(tree: Tree, dp: SwitchDP, rows: LabelledRows, rng: RngState) -> None:
    """Add all rows to the tree, and compute in `dp` the best hypothesis in hindsight."""
    for feature in range(rows.features.shape[1]):
        for row in range(rows.labels.size):
            if row + PREFETCH_ROUNDS < rows.labels.size:
                prefetch(tree.nodes[feature], tree.leaves + int(rows.keys[row + PREFETCH_ROUNDS, feature]), 0)
            leaf, value = tree.leaves + int(rows.keys[row, feature]), rows.features[row, feature]
            charge_leaf(tree, feature, leaf, value, rows.labels[row], rows.weights[row])
        combine_all(tree, feature)
    dp.place[STALE] = 1
    update_minimiser(tree, dp, rng)


def predict_row(tree: Tree, dp: SwitchDP, rng: RngState, row: Floats) -> int:
    """Return the label of a row, shape (d,), by the minimiser, computed again if stale."""
    update_minimiser(tree, dp, rng)
    return label_of(dp, row)
