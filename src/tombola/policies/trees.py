"""Flat trees: a fitted forest as arrays, walked by one compiled kernel.

scikit-learn takes about 3 ms for the prediction of one row; walking the same trees takes
microseconds and gives the same bits, because leaf values are added in the same order.
"""

from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats, Integers
from tombola.engine.compiler import Workload, compile_loop

# Child of a leaf, in the fields left and right of `FlatTrees`.
_LEAF = -1
# Interpreted seconds to walk one tree.
_WALK_SECONDS = 5e-6


class FlatTrees(NamedTuple):
    """All nodes of a forest as arrays, from `flatten_trees`; predicts the mean of its trees."""

    roots: Integers  # first node of each tree
    # left, right: children, `_LEAF` for a leaf. Rows with feature <= threshold go left.
    left: Integers
    right: Integers
    # feature, threshold: of a split.
    feature: Integers
    threshold: Floats
    value: Floats  # of a leaf, nodes x outputs

    def predict(self, features: Floats) -> Floats:
        """Return the mean prediction of all trees for each row, shape (rows, outputs).

        Features are compared as float32, as scikit-learn does; none may be missing.
        """
        total, count = self.sum_unseen(
            features, np.ones((self.roots.size, len(features)), np.bool_)
        )
        return np.asarray(total / count[:, None])

    def sum_unseen(self, features: Any, unseen: Any) -> tuple[Floats, Floats]:
        """Return sum and number of the predictions by trees not trained on a row.

        The sum has shape (rows, outputs), the number (rows,). Their quotient is the out-of-bag
        prediction.

        unseen: shape (trees, rows), True where the tree was not trained on the row.
        """
        rows = np.ascontiguousarray(features, np.float32).astype(np.float64)
        total = np.zeros((rows.shape[0], self.value.shape[1]))
        count = np.zeros(rows.shape[0])
        arguments = (self, rows, np.ascontiguousarray(unseen, np.bool_), total, count)
        with Workload(rows.shape[0] * self.roots.size * _WALK_SECONDS).active():
            compile_loop(_walk_unseen, arguments)(*arguments)
        return total, count


def _walk_unseen(nodes: Any, rows: Floats, unseen: Any, total: Floats, count: Floats) -> None:
    """Add the leaf values of the trees that were not trained on a row; a kernel."""
    for i in range(rows.shape[0]):
        for tree in range(nodes.roots.size):
            if unseen[tree, i]:
                node = nodes.roots[tree]
                while nodes.left[node] >= 0:
                    below = rows[i, nodes.feature[node]] <= nodes.threshold[node]
                    node = nodes.left[node] if below else nodes.right[node]
                for j in range(total.shape[1]):
                    total[i, j] += nodes.value[node, j]
                count[i] += 1.0


def flatten_trees(forest: Any) -> FlatTrees:
    """Copy the trees of a fitted scikit-learn forest into arrays."""
    roots = []
    parts = []
    start = 0
    for estimator in forest.estimators_:
        tree = estimator.tree_
        inner = tree.children_left >= 0
        parts.append(
            (
                np.where(inner, tree.children_left + start, _LEAF),
                np.where(inner, tree.children_right + start, _LEAF),
                np.where(inner, tree.feature, 0),
                np.where(inner, tree.threshold, 0.0),
                tree.value[:, :, 0],
            )
        )
        roots.append(start)
        start += tree.node_count
    left, right, feature, threshold, value = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return FlatTrees(
        np.array(roots, np.int64),
        left.astype(np.int64),
        right.astype(np.int64),
        feature.astype(np.int64),
        threshold.astype(np.float64),
        np.ascontiguousarray(value, np.float64),
    )
