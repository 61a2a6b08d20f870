"""Explanations of a router: learning curve, feature importance, a tree.

The learning curve is the progressive loss of the blocks (Theorem C1): one pass measures it without
a test set. The loss with more rows than the list has is an extrapolation.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import format_number, plural
from tombola._types import Floats
from tombola.policies.models import Model, actions_of, choose, fill_missing, fit_models, losses_of
from tombola.policies.record import RouterRecord
from tombola.pool import Pool

# Share of the rows on which importance is measured, and largest numbers of test and training rows,
# for time.
_TEST_SHARE = 1 / 3
_MAX_TEST_ROWS = 2_000
_MAX_TRAINING_ROWS = 6_000
# Shuffles of each feature in a measure of importance; their mean is less noisy than one.
_SHUFFLES = 3
# Share of all rows that a leaf of the tree in words must have: smaller ones say little.
_MIN_LEAF_SHARE = 0.05


class Importance(NamedTuple):
    """A feature, and the loss per row that a router saves with it.

    gain: rise of the router's mean loss, on rows it was not trained on, when the values of the
        feature are shuffled among these rows; negative if the loss falls.
    """

    name: str
    gain: float


def block_means(router: RouterRecord) -> Floats:
    """Return the mean loss of the unguarded router in each block: its learning curve.

    Empty if the delay of the play was not constant.
    """
    losses = router.router_losses
    return np.array([losses[block.start : block.end].mean() for block in router.blocks])


def gain_of_twice_the_rows(starts: Floats, curve: Floats, lengths: Floats, rows: int) -> float:
    """Return the expected fall of the mean loss from `rows` to 2 `rows` training rows.

    Extrapolates c(n) = c + C / sqrt(n), fitted to the blocks by least squares; a rising curve gives
    0.

    starts: number of training rows of each block.
    curve: mean loss in each block, see `block_means`.
    lengths: number of rows of each block, its weight.

    >>> starts = np.array([16.0, 64.0, 256.0])
    >>> round(gain_of_twice_the_rows(starts, 0.2 + 1 / np.sqrt(starts), starts, 400), 4)
    0.0146
    """
    design = np.column_stack([np.ones(starts.size), 1.0 / np.sqrt(starts)])
    weight = np.sqrt(lengths)[:, None]
    slope = float(np.linalg.lstsq(weight * design, weight[:, 0] * curve, rcond=None)[0][1])
    return max(0.0, slope) * (1.0 / math.sqrt(rows) - 1.0 / math.sqrt(2 * rows))


def feature_importance(
    pool: Pool, models: Sequence[Model], seed: int = 0
) -> tuple[Importance, ...]:
    """Return how much the loss of a router rises if a feature is shuffled.

    The largest rise comes first. The router, the best of the models by out-of-bag loss, is trained
    on part of the rows and tested on others. Columns of one category or one text are shuffled
    together. Empty if no model beats the best fixed action.

    models: candidates for the router, such as `Trees()` or `Ridge()`.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(pool.rows)
    features = np.asarray(pool.features, np.float64)
    split = min(_MAX_TEST_ROWS, int(pool.rows * _TEST_SHARE))
    test = order[:split]
    training = order[split : split + _MAX_TRAINING_ROWS]
    losses = np.asarray(pool.losses[training], np.float64)
    model, _ = (
        choose(fit_models(models, features[training], losses, seed), losses)
        if split > 1
        else (None, 0.0)
    )
    if model is None:
        return ()
    tested = np.asarray(pool.losses[test], np.float64)

    def loss(table: Floats) -> float:
        return float(losses_of(tested, actions_of(model.predict(table))).mean())

    before = loss(features[test])
    importances = []
    for name, columns in _groups(pool.feature_names).items():
        total = 0.0
        for _ in range(_SHUFFLES):
            shuffled = features[test].copy()
            shuffled[:, columns] = shuffled[rng.permutation(split)][:, columns]
            total += loss(shuffled) - before
        importances.append(Importance(name, total / _SHUFFLES))
    return tuple(sorted(importances, key=lambda importance: -importance.gain))


def tree_in_words(pool: Pool) -> tuple[str, ...]:
    """Return a decision tree of two levels as sentences, one per leaf.

    A sentence has conditions on features, the action with the least mean loss there, and the number
    of rows. Missing features become the median of their column. Needs scikit-learn.

    >>> size = np.repeat([1000.0, 9000.0], 100)
    >>> losses = np.stack([size > 4000, size < 4000], axis=1)
    >>> pool = Pool(losses, ["small", "large"], features=size, feature_names=["clauses"])
    >>> tree_in_words(pool)
    ('clauses at most 5,000: small (100 rows)', 'clauses above 5,000: large (100 rows)')
    """
    from sklearn.tree import DecisionTreeRegressor

    losses = np.asarray(pool.losses, np.float64)
    features = fill_missing(np.asarray(pool.features, np.float64))
    least = max(1, int(_MIN_LEAF_SHARE * pool.rows))
    tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=least, random_state=0)
    tree.fit(features, losses - losses.mean(axis=1, keepdims=True))
    leaves = tree.apply(features)
    rules = []
    for node, conditions in _paths(tree.tree_, pool.feature_names):
        mine = losses[leaves == node]
        action = pool.actions[int(mine.mean(axis=0).argmin())]
        rules.append(
            f"{' and '.join(conditions) or 'all rows'}: {action} ({plural(len(mine), 'row')})"
        )
    return tuple(rules)


def _paths(
    tree: Any, names: Sequence[str], node: int = 0, above: tuple[str, ...] = ()
) -> list[tuple[int, tuple[str, ...]]]:
    """Return the leaves with the conditions on the way to them."""
    if tree.children_left[node] < 0:
        return [(node, above)]
    name = names[tree.feature[node]]
    threshold = float(tree.threshold[node])
    if "=" in name:  # a level of a category, as a column of 0 and 1
        column, _, level = name.partition("=")
        low, high = f"{column} is not {level}", f"{column} is {level}"
    else:
        low, high = (
            f"{name} at most {format_number(threshold)}",
            f"{name} above {format_number(threshold)}",
        )
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    return [*_paths(tree, names, left, (*above, low)), *_paths(tree, names, right, (*above, high))]


def _groups(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of each feature, category (name=level) or text (name:number)."""
    groups: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        groups.setdefault(name.partition("=")[0].partition(":")[0], []).append(at)
    return groups
