"""Compiled kernels of ERM on lines: the loop, and single steps for sessions.

Every feature of a row has an integer key, in the order of its values: its rank in the loop, its 64
bits in sessions. Predictions depend only on rows whose label has arrived.

Sessions pass a growing tree and its SwitchDP in three flat vectors. Numba takes about a microsecond
for every array in a named tuple, and a tenth of that for a plain vector (see
`tombola.engine.state_vector`). Compiled code makes named views of their parts.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Integers, Order, RngState
from tombola.classification.segment_tree import (
    MAX_DEPTH,
    NO_NODE,
    ROOT,
    Tree,
    add_row,
    bits_of,
    charge_leaf,
    combine_all,
)
from tombola.classification.switch_dp import (
    INITIAL_PLACE,
    MIDDLE,
    STALE,
    SwitchDP,
    label_of,
    update_minimiser,
)
from tombola.engine.arrivals import ArrivalSchedule, has_arrived, next_round
from tombola.engine.intrinsics import PREFETCH_ROUNDS, prefetch

# Array of 64-bit unsigned integers: keys of values (`segment_tree.bits_of`), and positions of their
# bits.
Words: TypeAlias = NDArray[np.uint64]

# Positions of the parameters of `new_vectors` in the vector of integers; then starts the current
# minimiser.
_RULE, _ENTRIES, _SWITCHES, FEATURES, _VALUES, _PLACE = range(6)
# Start of the tree's counters in the vector of integers.
_HEADS = _PLACE + INITIAL_PLACE.size

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
            _learn(tree, dp, rows, order[next_round(arrivals, revealed)])
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


def _learn(tree: Tree, dp: SwitchDP, rows: LabelledRows, row: int) -> None:
    """Add one row to the tree, and mark the minimiser as stale if it may change.

    Under the tie rules "first" and "last" a minimiser without a mistake stays in force.
    """
    if dp.rule >= MIDDLE or label_of(dp, rows.features[row]) != rows.labels[row]:
        dp.place[STALE] = 1
    for feature in range(rows.features.shape[1]):
        value = rows.features[row, feature]
        add_row(tree, feature, rows.keys[row, feature], value, rows.labels[row], rows.weights[row])


def learn_all(tree: Tree, dp: SwitchDP, rows: LabelledRows, rng: RngState) -> None:
    """Add all rows to the tree, and compute in `dp` the best hypothesis in hindsight."""
    for feature in range(rows.features.shape[1]):
        for row in range(rows.labels.size):
            if row + PREFETCH_ROUNDS < rows.labels.size:
                prefetch(
                    tree.nodes[feature],
                    tree.leaves + int(rows.keys[row + PREFETCH_ROUNDS, feature]),
                    0,
                )
            leaf = tree.leaves + int(rows.keys[row, feature])
            value = rows.features[row, feature]
            charge_leaf(tree, feature, leaf, value, rows.labels[row], rows.weights[row])
        combine_all(tree, feature)
    dp.place[STALE] = 1
    update_minimiser(tree, dp, rng)


def new_vectors(
    rule: int, entries: int, switches: int, features: int, values: int
) -> tuple[Integers, Floats, Words]:
    """Return empty trees and their minimiser as flat vectors: integers, floats, words.

    rule: code of a tie rule, a value of `switch_dp.RULES`.
    entries, switches: number of possible first labels, and largest number of switches.
    features: number of features, one tree each.
    values: capacity, in distinct values per feature.
    """
    nodes = 2 * values * features
    width = 4 * (switches + 1)
    integers = np.zeros(_HEADS + 2 * features + 2 * MAX_DEPTH + 2 * nodes, np.int64)
    integers[:_PLACE] = rule, entries, switches, features, values
    vectors = (
        integers,
        np.zeros((width + 1) * nodes + MAX_DEPTH * width + switches),
        np.zeros(nodes + nodes // 2, np.uint64),
    )
    tree = _tree_view(*vectors)
    tree.tops[:] = -np.inf
    tree.heads[:, ROOT] = NO_NODE
    _switch_dp_view(*vectors).place[:] = INITIAL_PLACE
    return vectors


def _tree_view(integers: Integers, floats: Floats, words: Words) -> Tree:
    """Return the segment trees inside the vectors; the arrays are views."""
    switches = integers[_SWITCHES]
    features = integers[FEATURES]
    values = integers[_VALUES]
    width = 4 * (switches + 1)
    count = 2 * values
    nodes = features * count
    path = _HEADS + 2 * features
    tops = nodes * width
    context = tops + nodes
    return Tree(
        switches,
        0,
        floats[:tops].reshape((features, count, width)),
        floats[tops:context].reshape((features, count)),
        integers[path + 2 * MAX_DEPTH :].reshape((features, count, 2)),
        words[:nodes].reshape((features, count)),
        words[nodes:].reshape((features, values)),
        integers[_HEADS:path].reshape((features, 2)),
        integers[path : path + MAX_DEPTH],
        integers[path + MAX_DEPTH : path + 2 * MAX_DEPTH],
        floats[context : context + MAX_DEPTH * width].reshape((MAX_DEPTH, width)),
    )


def _switch_dp_view(integers: Integers, floats: Floats, words: Words) -> SwitchDP:
    """Return the current minimiser inside the vectors; the arrays are views."""
    return SwitchDP(
        integers[_RULE],
        integers[_ENTRIES],
        integers[_PLACE:_HEADS],
        floats[floats.size - integers[_SWITCHES] :],
    )


def learn_one(
    integers: Integers, floats: Floats, words: Words, row: Floats, label: int, weight: float
) -> None:
    """Learn the true label of one row in the vectors of `new_vectors`; for sessions.

    row: features of the row, shape (d,).
    """
    tree = _tree_view(integers, floats, words)
    dp = _switch_dp_view(integers, floats, words)
    if dp.rule >= MIDDLE or label_of(dp, row) != label:
        dp.place[STALE] = 1
    for feature in range(row.size):
        add_row(tree, feature, bits_of(row, feature), row[feature], label, weight)


def predict_one(
    integers: Integers, floats: Floats, words: Words, rng: RngState, row: Floats
) -> int:
    """Predict the label of one row from the vectors of `new_vectors`; for sessions.

    The minimiser is recomputed in place if it is stale.

    row: features of the row, shape (d,).
    """
    dp = _switch_dp_view(integers, floats, words)
    update_minimiser(_tree_view(integers, floats, words), dp, rng)
    return label_of(dp, row)
