"""A growing tree and its SwitchDP in three flat vectors, for single steps.

Numba takes about a microsecond for every array in a named tuple, and a tenth of that for a plain vector (see
`tombola.engine.state_vector`). So the vectors are passed, and compiled code makes named views of their parts.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Integers
from tombola.classification.segment_tree import MAX_DEPTH, NO_NODE, ROOT, Tree
from tombola.classification.switch_dp import INITIAL_PLACE, SwitchDP

# Array of 64-bit keys of float64 numbers, in the same order as the numbers (`segment_tree.bits_of`).
Words: TypeAlias = NDArray[np.uint64]

# Positions of the parameters of `new_vectors` in the vector of integers.
_RULE, _ENTRIES, _SWITCHES, _VALUES = 0, 1, 2, 4
# Position of the number of features in the vector of integers of `new_vectors`.
FEATURES = 3
# Start of the current minimiser in the vector of integers.
_PLACE = 5
# Start of the tree's counters in the vector of integers.
_HEADS = _PLACE + INITIAL_PLACE.size


def new_vectors(rule: int, entries: int, switches: int, features: int, values: int) -> tuple[Integers, Floats, Words]:
    """Return empty trees and their minimiser as vectors of integers, floats and keys.

    rule: code of a tie rule, a value of `switch_dp.RULES`.
    entries, switches: number of possible first labels, and largest number of switches.
    features: number of features, one tree each.
    values: capacity, in distinct values per feature.
    """
    nodes, width = 2 * values * features, 4 * (switches + 1)
    whole = np.zeros(_HEADS + 2 * features + 2 * MAX_DEPTH + 2 * nodes, np.int64)
    whole[:_PLACE] = rule, entries, switches, features, values
    vectors = (
        whole,
        np.zeros((width + 1) * nodes + MAX_DEPTH * width + switches),
        np.zeros(nodes + nodes // 2, np.uint64),
    )
    tree = tree_view(*vectors)
    tree.tops[:] = -np.inf
    tree.heads[:, ROOT] = NO_NODE
    switch_dp_view(*vectors).place[:] = INITIAL_PLACE
    return vectors


def tree_view(whole: Integers, floats: Floats, words: Words) -> Tree:
    """Return the trees of the rows seen that the vectors hold, as views.

    whole, floats, words: integers, floats and keys, as returned by `new_vectors`.
    """
    switches, features, values = whole[_SWITCHES], whole[FEATURES], whole[_VALUES]
    width, count = 4 * (switches + 1), 2 * values
    nodes = features * count
    path = _HEADS + 2 * features
    tops = nodes * width
    context = tops + nodes
    return Tree(
        switches,
        0,
        floats[:tops].reshape((features, count, width)),
        floats[tops:context].reshape((features, count)),
        whole[path + 2 * MAX_DEPTH :].reshape((features, count, 2)),
        words[:nodes].reshape((features, count)),
        words[nodes:].reshape((features, values)),
        whole[_HEADS:path].reshape((features, 2)),
        whole[path : path + MAX_DEPTH],
        whole[path + MAX_DEPTH : path + 2 * MAX_DEPTH],
        floats[context : context + MAX_DEPTH * width].reshape((MAX_DEPTH, width)),
    )


def switch_dp_view(whole: Integers, floats: Floats, words: Words) -> SwitchDP:
    """Return the current minimiser that the vectors hold, as views.

    whole, floats, words: integers, floats and keys, as returned by `new_vectors`.
    """
    return SwitchDP(whole[_RULE], whole[_ENTRIES], whole[_PLACE:_HEADS], floats[floats.size - whole[_SWITCHES] :])
