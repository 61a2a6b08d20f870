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

# Array of 64-bit unsigned integers: keys of values (`segment_tree.bits_of`), and positions of their bits.
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
    """Return empty trees and their minimiser as flat vectors: integers, floats, words.

    `tree_view` and `switch_dp_view` give their parts names.

    rule: code of a tie rule, a value of `switch_dp.RULES`.
    entries, switches: number of possible first labels, and largest number of switches.
    features: number of features, one tree each.
    values: capacity, in distinct values per feature.
    """
    nodes, width = 2 * values * features, 4 * (switches + 1)
    integers = np.zeros(_HEADS + 2 * features + 2 * MAX_DEPTH + 2 * nodes, np.int64)
    integers[:_PLACE] = rule, entries, switches, features, values
    vectors = (
        integers,
        np.zeros((width + 1) * nodes + MAX_DEPTH * width + switches),
        np.zeros(nodes + nodes // 2, np.uint64),
    )
    tree = tree_view(*vectors)
    tree.tops[:] = -np.inf
    tree.heads[:, ROOT] = NO_NODE
    switch_dp_view(*vectors).place[:] = INITIAL_PLACE
    return vectors


def tree_view(integers: Integers, floats: Floats, words: Words) -> Tree:
    """Return the segment trees inside the vectors; the arrays are views.

    integers, floats, words: from `new_vectors`.
    """
    switches, features, values = integers[_SWITCHES], integers[FEATURES], integers[_VALUES]
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
        integers[path + 2 * MAX_DEPTH :].reshape((features, count, 2)),
        words[:nodes].reshape((features, count)),
        words[nodes:].reshape((features, values)),
        integers[_HEADS:path].reshape((features, 2)),
        integers[path : path + MAX_DEPTH],
        integers[path + MAX_DEPTH : path + 2 * MAX_DEPTH],
        floats[context : context + MAX_DEPTH * width].reshape((MAX_DEPTH, width)),
    )


def switch_dp_view(integers: Integers, floats: Floats, words: Words) -> SwitchDP:
    """Return the current minimiser inside the vectors; the arrays are views.

    integers, floats, words: from `new_vectors`.
    """
    return SwitchDP(
        integers[_RULE], integers[_ENTRIES], integers[_PLACE:_HEADS], floats[floats.size - integers[_SWITCHES] :]
    )
