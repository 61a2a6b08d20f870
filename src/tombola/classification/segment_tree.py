"""Segment tree of best labellings with few switches, updated row by row.

A hypothesis on a line is a label to begin with and at most r cuts at which the label switches. The
distinct values seen are leaves. Every node keeps, for both labels on entry and for every number j
of switches, the smallest error of labelling its leaves, and the number of ways to get it; two
neighbours combine like

    error[p][j] = min_i  left[p][i] + right[p + i mod 2][j - i],

so a new row costs one walk from a leaf to the root, and so does finding the k-th of all minimisers.
Errors are multiples of 2^-20, hence their sums are exact, and ties are ties.

The tree comes in two shapes with the same answers. Ranked: all values that will ever come are known
in advance (not their labels), the key of a value is its rank, and the tree is a heap. Grown:
nothing is known; the key is the 64 bits of the number and the tree is a PATRICIA trie (Morrison
1968), never deeper than 64 and the same for every order.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Integers
from tombola.engine.intrinsics import no_inline

# Largest number of nodes from the root of a tree to a leaf: one for each of the 64 bits of a key,
# the root and a leaf.
MAX_DEPTH = 66
_LINE = 8  # numbers in a cache line
# Index in place of the root of a tree without leaves.
NO_NODE = -1
# Columns of `Tree.heads`: index of the root of the tree of a feature, and the number of its
# distinct values.
ROOT, _VALUES = range(2)
_ONE = np.uint64(1)
_SIGN = np.uint64(1 << 63)


class Tree(NamedTuple):
    """Segment trees of the rows seen, one per feature; leaves are distinct values.

    A ranked tree is made for values known in advance, with their ranks as keys. A growing tree adds
    a leaf for each new value, with its 64 bits as key. A labelling is a first label and switches
    between leaves.

    switches: largest number of switches of a labelling.
    leaves: number of leaves of a ranked tree; 0 in a growing tree.
    nodes: smallest errors of the labellings of a node by first label and number of switches, then
        the numbers of labellings that attain them; shape (features, nodes, 4 (switches + 1)).
    tops: largest value in each node, -inf without any, shape (features, nodes).
    children: of a growing tree, indices of the left and right child of each node, shape (features,
        nodes, 2).
    bits: of a growing tree, the bit of a key that a node tests, from 0 (lowest), shape (features,
        nodes).
    keys: of a growing tree, the key of each distinct value, shape (features, values).
    heads: index of the root, and number of values, of each tree, shape (features, 2).
    path, sides, context: scratch arrays of one descent from root to leaf.
    """

    switches: int
    leaves: int
    nodes: Floats
    tops: Floats
    children: Integers
    bits: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    heads: Integers
    path: Integers
    sides: Integers
    context: Floats


def ranked_tree(values: int, features: int, switches: int) -> Tree:
    """Return a `Tree` without rows, for values known in advance; keys are their ranks.

    values: number of distinct values of a feature, at most.
    features: number of features; each has a segment tree of its own.
    switches: how often a labelling may change its label from one value to the next.
    """
    leaves = 1 << max(values - 1, 0).bit_length()
    nodes = 2 * leaves
    stride = switches + 1
    rows = _aligned(features, nodes, 4 * stride)
    heads = np.zeros((features, 2), np.int64)
    rows[:, :, 1:stride] = rows[:, :, stride + 1 : 2 * stride] = np.inf  # as `reset_node` does
    rows[:, :, 2 * stride :: stride] = 1.0
    heads[:, ROOT] = 1
    return Tree(
        switches=switches,
        leaves=leaves,
        nodes=rows,
        tops=np.full((features, nodes), -np.inf),
        children=np.zeros((features, 0, 2), np.int64),
        bits=np.zeros((features, 0), np.uint64),
        keys=np.zeros((features, 0), np.uint64),
        heads=heads,
        path=np.zeros(MAX_DEPTH, np.int64),
        sides=np.zeros(MAX_DEPTH, np.int64),
        context=np.zeros((MAX_DEPTH, 4 * stride)),
    )


def _aligned(*shape: int) -> Floats:
    """Return zeros aligned to a cache line, so that a node of 8 numbers fits in one."""
    size = math.prod(shape)
    room = np.zeros(size + _LINE)
    start = -(room.ctypes.data // room.itemsize) % _LINE
    return room[start : start + size].reshape(shape)


def bits_of(values: Floats, place: int) -> np.uint64:
    """Return a 64-bit key of values[place] that preserves the order of numbers.

    >>> numbers = np.array([-2.0, -0.0, 0.0, 1e-300, 3.0])
    >>> [int(bits_of(numbers, place)) >> 48 for place in range(5)]
    [16383, 32768, 32768, 33189, 49160]
    """
    bits: np.uint64 = values.view(np.uint64)[place]
    return ~bits if bits > _SIGN else bits | _SIGN


def ranks_of(features: Floats) -> tuple[NDArray[np.uint64], int]:
    """Return the ranks of the features within their columns, and the number of ranks.

    Ranks count from 0, shape (rows, d); equal features have equal ranks. The number is that of the
    different values in a column, in the column that has the most.
    """
    ranks = np.empty(features.shape, np.uint64)
    most = 0
    for column in range(features.shape[1]):
        values, inverse = np.unique(features[:, column], return_inverse=True)
        ranks[:, column] = inverse
        most = max(most, values.size)
    return ranks, most


def add_row(
    tree: Tree, feature: int, key: np.uint64, value: float, label: int, weight: float
) -> None:
    """Add one row: an error of `weight` for labellings that differ at the value.

    key: of the value, its rank or `bits_of`.
    """
    nodes = tree.nodes[feature]
    ranked = tree.leaves > 0
    depth = 0
    if ranked:
        node = tree.leaves + int(key)
    else:
        depth = _descend(tree, feature, key)
        if depth < 0 or tree.keys[feature, tree.path[depth] // 2] != key:
            depth = _grow(tree, feature, key, depth)
        node = tree.path[depth]
    charge_leaf(tree, feature, node, value, label, weight)
    highest_yet = True
    while node != tree.heads[feature, ROOT]:
        depth -= 1
        node = node // 2 if ranked else tree.path[depth]
        left, right = child(tree, feature, node, 0), child(tree, feature, node, 1)
        combine(nodes[left], nodes[right], nodes[node], tree.switches + 1)
        if highest_yet:  # once a node has a higher value, so have all above
            highest_yet = tree.tops[feature, node] < value
            tree.tops[feature, node] = max(tree.tops[feature, node], value)


def combine_all(tree: Tree, feature: int) -> None:
    """Recompute all inner nodes of a ranked tree, after its leaves were changed."""
    nodes = tree.nodes[feature]
    tops = tree.tops[feature]
    for node in range(tree.leaves - 1, 0, -1):
        combine(nodes[2 * node], nodes[2 * node + 1], nodes[node], tree.switches + 1)
        tops[node] = max(tops[2 * node], tops[2 * node + 1])


def charge_leaf(
    tree: Tree, feature: int, leaf: int, value: float, label: int, weight: float
) -> None:
    """Add the error of one row to a leaf of `tree`, in place, and mark the leaf as seen.

    Labellings that give the leaf the other label err by `weight`. The nodes above are not updated;
    see `combine_all`.

    leaf, value: index of the node, and value of the feature that it stands for.
    label, weight: label of the row, 0 or 1, and its weight in the error.
    """
    row = tree.nodes[feature, leaf]
    stride = tree.switches + 1
    if tree.tops[feature, leaf] == -np.inf:
        reset_node(row, stride)
        row[1] = row[stride + 1] = 0.0
        row[2 * stride + 1] = row[3 * stride + 1] = 1.0
        tree.tops[feature, leaf] = value
    row[(1 - label) * stride] += weight
    row[label * stride + 1] += weight


def _descend(tree: Tree, feature: int, key: np.uint64) -> int:
    """Write the path of a key to its leaf into `tree.path`; return its depth, or -1."""
    node = tree.heads[feature, ROOT]
    if node == NO_NODE:
        return -1
    depth = 0
    tree.path[0] = node
    while node % 2 == 1:
        node = tree.children[feature, node, int((key >> tree.bits[feature, node]) & _ONE)]
        depth += 1
        tree.path[depth] = node
    return depth


@no_inline
def _grow(tree: Tree, feature: int, key: np.uint64, depth: int) -> int:
    """Insert a leaf for a new key, with its parent; return the leaf's depth.

    Leaves have even numbers, parents odd ones. The path is written into `tree.path`; `depth` of it
    exist already.
    """
    index = tree.heads[feature, _VALUES]
    tree.heads[feature, _VALUES] = index + 1
    leaf = 2 * index
    fork = 2 * index + 1
    tree.keys[feature, index] = key
    if depth < 0:
        tree.heads[feature, ROOT] = tree.path[0] = leaf
        return 0
    bit = _highest_bit(key ^ tree.keys[feature, tree.path[depth] // 2])
    place = 0
    while tree.path[place] % 2 == 1 and tree.bits[feature, tree.path[place]] > bit:
        place += 1
    side = int((key >> bit) & _ONE)
    tree.bits[feature, fork] = bit
    tree.tops[feature, fork] = tree.tops[feature, tree.path[place]]
    tree.children[feature, fork, side] = leaf
    tree.children[feature, fork, 1 - side] = tree.path[place]
    if place == 0:
        tree.heads[feature, ROOT] = fork
    else:
        above = tree.path[place - 1]
        tree.children[feature, above, int((key >> tree.bits[feature, above]) & _ONE)] = fork
    tree.path[place] = fork
    tree.path[place + 1] = leaf
    return place + 1


def _highest_bit(bits: np.uint64) -> np.uint64:
    """Return the position of the highest bit that is set."""
    place = np.uint64(0)
    for step in (
        np.uint64(32),
        np.uint64(16),
        np.uint64(8),
        np.uint64(4),
        np.uint64(2),
        np.uint64(1),
    ):
        if bits >> step:
            bits = bits >> step
            place += step
    return place


def is_leaf(tree: Tree, node: int) -> bool:
    """Return whether a node is a leaf."""
    return bool(node >= tree.leaves) if tree.leaves > 0 else bool(node % 2 == 0)


def child(tree: Tree, feature: int, node: int, side: int) -> int:
    """Return the index of the left (0) or the right (1) child of a node."""
    return 2 * node + side if tree.leaves > 0 else int(tree.children[feature, node, side])


def reset_node(row: Floats, stride: int) -> None:
    """Reset a row of `Tree.nodes` to no leaves: one labelling without an error.

    stride: largest number of switches plus 1.
    """
    for index in range(2 * stride):
        row[index] = np.inf
        row[2 * stride + index] = 0.0
    row[0] = row[stride] = 0.0
    row[2 * stride] = row[3 * stride] = 1.0


def combine(left: Floats, right: Floats, out: Floats, stride: int) -> None:
    """Compute the errors and counts of a node from those of its children.

    left, right, out: rows of `Tree.nodes`, shape (4 stride,), where stride is the largest number of
        switches plus 1.
    """
    if stride == 2:
        _combine_two(left, right, out)
        return
    for entry in range(2):
        for switches in range(stride):
            error = np.inf
            ways = 0.0
            for here in range(switches + 1):
                first = entry * stride + here
                second = ((entry + here) % 2) * stride + switches - here
                total = left[first] + right[second]
                if total < error:
                    error = total
                    ways = 0.0
                if total == error:
                    ways += left[2 * stride + first] * right[2 * stride + second]
            out[entry * stride + switches] = error
            out[(2 + entry) * stride + switches] = ways


def _combine_two(left: Floats, right: Floats, out: Floats) -> None:
    """Combine two nodes for at most one switch (thresholds), with one inner loop less."""
    for entry in range(0, 4, 2):
        early = left[entry + 1] + right[2 - entry]
        late = left[entry] + right[entry + 1]
        ways = 0.0
        if early <= late:
            ways += left[entry + 5]
        if late <= early:
            ways += right[entry + 5]
        out[entry + 1] = min(early, late)
        out[entry + 5] = ways
    out[0] = left[0] + right[0]
    out[2] = left[2] + right[2]
    out[4] = out[6] = 1.0
