"""Compiled kernels of ERM on lines: the loop, and single steps for sessions.

Rows have a key for each feature; predictions depend on revealed rows only.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Order, RngState, Rounds
from tombola.classification.label_vectors import Words, switch_dp_in, tree_in
from tombola.classification.segment_tree import Tree, add, bits_of, charge, refresh
from tombola.classification.switch_dp import MIDDLE, STALE, SwitchDP, label_of, update_minimiser
from tombola.engine.arrivals import ArrivalSchedule, has_arrived, next_round
from tombola.engine.intrinsics import PREFETCH_ROUNDS, prefetch

LEVELS = 10


class Labelled(NamedTuple):
    """Rows of a labelled pool: features, keys, labels, weights."""

    features: Floats
    keys: NDArray[np.uint64]
    labels: Rounds
    weights: Floats


def predict_all(
    tree: Tree, dp: SwitchDP, rng: RngState, rows: Labelled, order: Order, arrivals: ArrivalSchedule, labels: Rounds
) -> None:
    """Predict every row in turn; true labels are learned on arrival."""
    revealed = 0
    for t in range(order.size):
        look_ahead(tree, rows, order, t)
        while has_arrived(arrivals, revealed, t):
            learn(tree, dp, rows, order[next_round(arrivals, revealed)])
            revealed += 1
        labels[t] = predict_row(tree, dp, rng, rows.features[order[t]])


def look_ahead(tree: Tree, rows: Labelled, order: Order, t: int) -> None:
    """Prefetch a future row, and the lower tree nodes above its leaf."""
    if t + 2 * PREFETCH_ROUNDS < order.size:
        prefetch(rows.keys, order[t + 2 * PREFETCH_ROUNDS], 0)
        prefetch(rows.features, order[t + 2 * PREFETCH_ROUNDS], 0)
    if tree.heads.shape[0] == 1 and t + PREFETCH_ROUNDS < order.size:
        node = tree.leaves + int(rows.keys[order[t + PREFETCH_ROUNDS], 0])
        prefetch(tree.tops, 0, node)
        for _ in range(LEVELS):
            if node > 1:
                prefetch(tree.nodes[0], node, 0)
                prefetch(tree.nodes[0], node ^ 1, 0)
                node //= 2


def learn(tree: Tree, dp: SwitchDP, rows: Labelled, row: int) -> None:
    """Learn one row; a first or last minimiser without a mistake stays in force."""
    if dp.rule >= MIDDLE or label_of(dp, rows.features[row]) != rows.labels[row]:
        dp.place[STALE] = 1
    for feature in range(rows.features.shape[1]):
        value = rows.features[row, feature]
        add(tree, feature, rows.keys[row, feature], value, rows.labels[row], rows.weights[row])


def predict_row(tree: Tree, dp: SwitchDP, rng: RngState, row: Floats) -> int:
    """Predict the label of a row."""
    update_minimiser(tree, dp, rng)
    return label_of(dp, row)


def learn_all(tree: Tree, dp: SwitchDP, rows: Labelled, rng: RngState) -> None:
    """Learn all rows, and compute the best hypothesis in hindsight."""
    for feature in range(rows.features.shape[1]):
        for row in range(rows.labels.size):
            if row + PREFETCH_ROUNDS < rows.labels.size:
                prefetch(tree.nodes[feature], tree.leaves + int(rows.keys[row + PREFETCH_ROUNDS, feature]), 0)
            leaf, value = tree.leaves + int(rows.keys[row, feature]), rows.features[row, feature]
            charge(tree, feature, leaf, value, rows.labels[row], rows.weights[row])
        refresh(tree, feature)
    dp.place[STALE] = 1
    update_minimiser(tree, dp, rng)


def learn_one(whole: Rounds, floats: Floats, words: Words, row: Floats, label: int, weight: float) -> None:
    """Learn the true label of one row, in a tree that grows."""
    tree, dp = tree_in(whole, floats, words), switch_dp_in(whole, floats, words)
    if dp.rule >= MIDDLE or label_of(dp, row) != label:
        dp.place[STALE] = 1
    for feature in range(row.size):
        add(tree, feature, bits_of(row, feature), row[feature], label, weight)


def predict_one(whole: Rounds, floats: Floats, words: Words, rng: RngState, row: Floats) -> int:
    """Predict one label, from a tree that grows."""
    dp = switch_dp_in(whole, floats, words)
    update_minimiser(tree_in(whole, floats, words), dp, rng)
    return label_of(dp, row)
