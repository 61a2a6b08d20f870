"""A growing tree and its SwitchDP in three flat vectors, for single steps.

Numba takes about a microsecond for every array in a named tuple, and a tenth of that for a plain vector (see
`tombola.engine.state_vector`). So the vectors travel, and compiled code gives the parts their names back.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Rounds
from tombola.classification.segment_tree import DEPTH, NONE, ROOT, Tree
from tombola.classification.switch_dp import OUTDATED, SwitchDP

# Array of 64-bit keys, whose order is that of the numbers they stand for.
Words: TypeAlias = NDArray[np.uint64]

RULE, ENTRIES, SWITCHES, FEATURES, VALUES = 0, 1, 2, 3, 4
# Start of the current minimiser in the vector of integers.
_PLACE = 5
# Start of the tree's counters in the vector of integers.
_HEADS = _PLACE + OUTDATED.size


def new_vectors(rule: int, entries: int, switches: int, features: int, values: int) -> tuple[Rounds, Floats, Words]:
    """Return empty trees as three flat vectors: integers, floats and keys.

    rule: tie rule, one of `switch_dp.RULES`.
    entries, switches: possible first labels, and largest number of switches.
    features: number of features.
    values: capacity, in distinct values per feature.
    """
    nodes, width = 2 * values * features, 4 * (switches + 1)
    whole = np.zeros(_HEADS + 2 * features + 2 * DEPTH + 2 * nodes, np.int64)
    whole[:_PLACE] = rule, entries, switches, features, values
    vectors = whole, np.zeros((width + 1) * nodes + DEPTH * width + switches), np.zeros(nodes + nodes // 2, np.uint64)
    tree = tree_view(*vectors)
    tree.tops[:] = -np.inf
    tree.heads[:, ROOT] = NONE
    switch_dp_view(*vectors).place[:] = OUTDATED
    return vectors


def tree_view(whole: Rounds, floats: Floats, words: Words) -> Tree:
    """Return the trees in the three vectors, as views.

    whole, floats, words: as returned by `new_vectors`.
    """
    switches, features, values = whole[SWITCHES], whole[FEATURES], whole[VALUES]
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
        whole[path + 2 * DEPTH :].reshape((features, count, 2)),
        words[:nodes].reshape((features, count)),
        words[nodes:].reshape((features, values)),
        whole[_HEADS:path].reshape((features, 2)),
        whole[path : path + DEPTH],
        whole[path + DEPTH : path + 2 * DEPTH],
        floats[context : context + DEPTH * width].reshape((DEPTH, width)),
    )


def switch_dp_view(whole: Rounds, floats: Floats, words: Words) -> SwitchDP:
    """Return the minimiser in the three vectors, as views.

    whole, floats, words: as returned by `new_vectors`.
    """
    return SwitchDP(whole[RULE], whole[ENTRIES], whole[_PLACE:_HEADS], floats[floats.size - whole[SWITCHES] :])
