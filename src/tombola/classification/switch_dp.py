"""Dynamic program of the best k-switch labelling: one descent of the tree.

Minimisers are counted as labellings of the values seen, by feature, then by the label they begin
with, then by their cuts from left to right, a missing cut coming last. A cut lies in the gap
between two neighbouring values:

"first"    the first minimiser, every cut just above the lower value
"last"     the last minimiser, every cut at the upper value
"middle"   the middle one, every cut halfway
"random"   any one with equal probability, every cut anywhere in its gap with equal probability

A gap without a lower end stands for minus infinity (except "last"). "first" cuts once more just
above the largest value seen, if it has exactly one cut to spare. Counts are exact below 2^53 ways,
and as near as float64 gets beyond.
"""

import math
from typing import NamedTuple

import numpy as np

from tombola._types import Floats, Integers, RngState
from tombola.classification.segment_tree import (
    NO_NODE,
    ROOT,
    Tree,
    child,
    combine,
    is_leaf,
    reset_node,
)
from tombola.engine.intrinsics import no_inline
from tombola.rng import uniform

# Codes of the tie rules in kernels, which compare integers. From MIDDLE on, a rule recomputes the
# minimiser after every row; the others do so only after a mistake.
_FIRST, _LAST, MIDDLE, _RANDOM = range(4)
RULES = {"first": _FIRST, "last": _LAST, "middle": MIDDLE, "random": _RANDOM}
# Positions in `SwitchDP.place`: index of the feature that has the cuts; label below all cuts;
# number of cuts; 1 if the minimiser must be computed again, else 0.
FEATURE, LABEL, COUNT, STALE = range(4)
# First value of `SwitchDP.place`: feature 0, first label 0, no cuts, so that all labels are 0;
# stale flag set, so that the minimiser is computed before the first prediction.
INITIAL_PLACE = np.array([0, 0, 0, 1])


class SwitchDP(NamedTuple):
    """Current minimiser: a labelling that switches at cuts of one feature.

    Of all such labellings it has the smallest error on the rows seen.

    rule: code of the tie rule, a value of RULES.
    entries: number of possible first labels: 1 for label 0 only, 2 for both.
    place: feature with the cuts, first label, number of cuts, and 1 if a recomputation is due;
        shape (4,).
    cuts: values of the feature at which the label changes, ascending, shape (switches,).
    """

    rule: int
    entries: int
    place: Integers
    cuts: Floats


def new_switch_dp(rule: int, entries: int, switches: int) -> SwitchDP:
    """Return the minimiser before the first row, which labels everything 0."""
    return SwitchDP(rule=rule, entries=entries, place=INITIAL_PLACE.copy(), cuts=np.zeros(switches))


def label_of(dp: SwitchDP, row: Floats) -> int:
    """Return the label, 0 or 1, that the current hypothesis gives to a row; a kernel.

    row: features of the row, shape (d,).
    """
    label = dp.place[LABEL]
    value = row[dp.place[FEATURE]]
    for cut in range(dp.place[COUNT]):
        if value >= dp.cuts[cut]:
            label = 1 - label
    return int(label)


def update_minimiser(tree: Tree, dp: SwitchDP, rng: RngState) -> None:
    """Recompute the minimiser from the rows seen, if it is stale or ties are random.

    It is the labelling of smallest error that the tie rule selects; it is stale after a mistake, or
    after every row with the rule "middle". Only the rule "random" draws from `rng`.
    """
    if tree.heads[0, ROOT] == NO_NODE or tree.tops[0, tree.heads[0, ROOT]] == -np.inf:
        return
    if dp.place[STALE] == 0 and dp.rule != _RANDOM:
        return
    dp.place[STALE] = 0
    error, ways = _smallest_error(tree, dp.entries)
    rank = 0.0
    if dp.rule == _LAST:
        rank = ways - 1.0
    elif dp.rule == MIDDLE:
        rank = math.floor((ways - 1.0) / 2.0)
    elif dp.rule == _RANDOM:
        rank = min(math.floor(uniform(rng) * ways), ways - 1.0)
    stride = tree.switches + 1
    left = ways
    for feature in range(tree.heads.shape[0]):
        root = tree.nodes[feature, tree.heads[feature, ROOT]]
        for entry in range(dp.entries):
            here = _count_minimisers(root, stride, entry, error)
            left -= here
            if here > 0.0 and (rank < here or left <= 0.0):
                dp.place[FEATURE] = feature
                dp.place[LABEL] = entry
                if stride == 2:
                    _sample_threshold(tree, dp, feature, min(rank, here - 1.0), error, rng)
                else:
                    _sample_minimiser(tree, dp, feature, min(rank, here - 1.0), error, rng)
                return
            rank -= here


def _smallest_error(tree: Tree, entries: int) -> tuple[float, float]:
    """Return the smallest error of all hypotheses, and the number of minimisers."""
    stride = tree.switches + 1
    error = np.inf
    ways = 0.0
    for feature in range(tree.heads.shape[0]):
        root = tree.nodes[feature, tree.heads[feature, ROOT]]
        for index in range(entries * stride):
            if root[index] < error:
                error = root[index]
                ways = 0.0
            if root[index] == error:
                ways += root[2 * stride + index]
    return error, ways


def _count_minimisers(row: Floats, most: int, entry: int, error: float) -> float:
    """Count labellings of a node with this error and fewer than `most` switches."""
    stride = row.size // 4
    ways = 0.0
    for switches in range(most):
        if row[entry * stride + switches] == error:
            ways += row[(2 + entry) * stride + switches]
    return ways


@no_inline
def _sample_minimiser(
    tree: Tree, dp: SwitchDP, feature: int, rank: float, error: float, rng: RngState
) -> None:
    """Write the cuts of the minimiser of this rank into `dp`.

    `context[depth]` summarises everything right of a node.
    """
    stride = tree.switches + 1
    root = tree.heads[feature, ROOT]
    node = root
    depth = 0
    label = dp.place[LABEL]
    spent = 0.0
    cuts = 0
    low = -np.inf
    reset_node(tree.context[0], stride)
    while cuts < tree.switches:
        row = tree.nodes[feature, node]
        inside = _count_switching_inside(
            row, tree.context[depth], label, tree.switches - cuts, error - spent, stride
        )
        outside = _count_minimisers(
            tree.context[depth], stride - cuts, label, error - spent - row[label * stride]
        )
        if inside > 0.0 and (rank < inside or outside == 0.0):
            rank = min(rank, inside - 1.0)
            if not is_leaf(tree, node):
                right = tree.nodes[feature, child(tree, feature, node, 1)]
                combine(right, tree.context[depth], tree.context[depth + 1], stride)
                tree.path[depth] = node
                tree.sides[depth] = 0
                node = child(tree, feature, node, 0)
                depth += 1
                continue
            dp.cuts[cuts] = _sample_cut(dp.rule, low, tree.tops[feature, node], rng)
            cuts += 1
            label = 1 - label
        else:
            rank -= inside
        spent += row[label * stride]
        low = max(low, tree.tops[feature, node])
        while depth > 0 and tree.sides[depth - 1] == 1:
            depth -= 1
        if depth == 0:
            break
        tree.sides[depth - 1] = 1
        node = child(tree, feature, tree.path[depth - 1], 1)
        for index in range(4 * stride):
            tree.context[depth, index] = tree.context[depth - 1, index]
    if cuts == tree.switches - 1 and dp.rule == _FIRST:
        dp.cuts[cuts] = np.nextafter(tree.tops[feature, root], np.inf)
        cuts += 1
    dp.place[COUNT] = cuts


@no_inline
def _sample_threshold(
    tree: Tree, dp: SwitchDP, feature: int, rank: float, error: float, rng: RngState
) -> None:
    """Write the cut of the minimiser of this rank into `dp`, for one switch at most.

    Errors are `spent` left of a node and `after` right of it.
    """
    root = tree.heads[feature, ROOT]
    before = 2 * dp.place[LABEL]
    cuts = 0
    then = 2 - before
    nodes = tree.nodes[feature]
    tops = tree.tops[feature]
    node = root
    spent = 0.0
    after = 0.0
    low = -np.inf
    if nodes[root, before + 1] == error and rank < nodes[root, before + 5]:
        while not is_leaf(tree, node):
            left, right = child(tree, feature, node, 0), child(tree, feature, node, 1)
            later = nodes[right, then] + after
            inside = (
                nodes[left, before + 5] if spent + nodes[left, before + 1] + later == error else 0.0
            )
            if rank < inside:
                node = left
                after = later
            else:
                node = right
                rank = rank - inside
                spent = spent + nodes[left, before]
                low = max(low, tops[left])
        dp.cuts[0] = _sample_cut(dp.rule, low, tops[node], rng)
        cuts = 1
    elif dp.rule == _FIRST:
        dp.cuts[0] = np.nextafter(tops[root], np.inf)
        cuts = 1
    dp.place[COUNT] = cuts


def _count_switching_inside(
    row: Floats, context: Floats, label: int, most: int, error: float, stride: int
) -> float:
    """Count labellings with this error and the next switch inside the node."""
    ways = 0.0
    for here in range(1, most + 1):
        then = (label + here) % 2
        for later in range(most - here + 1):
            if row[label * stride + here] + context[then * stride + later] == error:
                ways += row[(2 + label) * stride + here] * context[(2 + then) * stride + later]
    return ways


def _sample_cut(rule: int, low: float, high: float, rng: RngState) -> float:
    """Return a cut above `low` and not above `high`, by the tie rule."""
    if rule == _LAST:
        return high
    share = uniform(rng) if rule == _RANDOM else 0.5
    if low == -np.inf:
        return low
    above = float(np.nextafter(low, np.inf))
    if rule == _FIRST:
        return above
    return min(max((1.0 - share) * low + share * high, above), high)
