"""Growing tree and SwitchDP in three flat vectors, for single compiled steps.

Numba takes about a microsecond for every array in a named tuple, and a tenth of that for a plain vector (see
`tombola.engine.state_vector`). So the vectors travel, and compiled code gives the parts their names back.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Floats, Rounds
from tombola.classification.segment_tree import DEPTH, NONE, ROOT, Tree
from tombola.classification.switch_dp import OUTDATED, SwitchDP

Words: TypeAlias = NDArray[np.uint64]

RULE, ENTRIES, SWITCHES, FEATURES, VALUES = 0, 1, 2, 3, 4
PLACE = 5
HEADS = PLACE + OUTDATED.size


def new_vectors(rule: int, entries: int, switches: int, features: int, values: int) -> tuple[Rounds, Floats, Words]:
    """Return empty trees with room for this many values of each feature."""
    nodes, width = 2 * values * features, 4 * (switches + 1)
    whole = np.zeros(HEADS + 2 * features + 2 * DEPTH + 2 * nodes, np.int64)
    whole[:PLACE] = rule, entries, switches, features, values
    vectors = whole, np.zeros((width + 1) * nodes + DEPTH * width + switches), np.zeros(nodes + nodes // 2, np.uint64)
    tree = tree_in(*vectors)
    tree.tops[:] = -np.inf
    tree.heads[:, ROOT] = NONE
    switch_dp_in(*vectors).place[:] = OUTDATED
    return vectors


def tree_in(whole: Rounds, floats: Floats, words: Words) -> Tree:
    """Return the trees, as views."""
    switches, features, values = whole[SWITCHES], whole[FEATURES], whole[VALUES]
    width, count = 4 * (switches + 1), 2 * values
    nodes = features * count
    path = HEADS + 2 * features
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
        whole[HEADS:path].reshape((features, 2)),
        whole[path : path + DEPTH],
        whole[path + DEPTH : path + 2 * DEPTH],
        floats[context : context + DEPTH * width].reshape((DEPTH, width)),
    )


def switch_dp_in(whole: Rounds, floats: Floats, words: Words) -> SwitchDP:
    """Return the leader, as views."""
    return SwitchDP(whole[RULE], whole[ENTRIES], whole[PLACE:HEADS], floats[floats.size - whole[SWITCHES] :])
