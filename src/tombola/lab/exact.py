"""Exact expected regret of a learner on small inputs, over all sequences.

It is the reference for everything that is sampled elsewhere, and for the hierarchy i.i.d. <= random
order <= adversarial (Bernasconi et al. 2025, Theorem B.1).

`tombola.lab.trees` has the traversal, `tombola.lab.training` the trainings of Simulation.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola import _validate
from tombola._types import AnyLearner, Floats
from tombola.budget.budget import Budget, Stop
from tombola.classification.learner import LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.errors import ParameterError
from tombola.feedback import feedback_type
from tombola.lab.training import with_exact_trainings
from tombola.lab.trees import Branch, LabelTree, LossTree, Options, Path, Tree
from tombola.pool import Pool

__all__ = ["Regrets", "expected_loss", "random_order", "worst_case", "worst_pool", "zero_one"]

# Rows of an exact computation: a Pool, a LabelledPool, or an array of losses, shape (rows,
# actions).
_Input: TypeAlias = Any
# Largest number of nodes of the tree of row sequences, by default: about a minute with a compiled
# learner.
_MAX_NODES = 2_000_000


def zero_one(actions: int) -> Floats:
    """Return every row of losses 0 and 1, shape (2^actions, actions).

    >>> zero_one(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.array(list(itertools.product((0.0, 1.0), repeat=actions)))


class Regrets(NamedTuple):
    """Worst expected regret in each input model, and an input that attains it.

    iid_input: probability of each row (losses and costs, or features, label and weight) in the
        worst distribution.
    random_input, adversarial_input: worst pools, `Pool` or `LabelledPool`; the second one is in its
        worst order.
    """

    iid: float
    random: float
    adversarial: float
    iid_input: dict[tuple[float, ...], float]
    random_input: Any
    adversarial_input: Any


def expected_loss(
    learner: AnyLearner,
    rows: _Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> float:
    """Return the expected total loss of a learner on rows in the given order.

    The expectation is over the learner's own randomness; it is computed by enumeration, not
    sampled.

    learner: an instance, such as `Hedge()`.
    rows: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left
        covers its largest cost, "strict" only the null action once less than the largest cost of
        all actions is left.
    limit: largest number of nodes of the tree of choices; more raise ParameterError.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> expected_loss(FollowTheLeader(), [[1, 0], [0, 1], [1, 0]])
    3.0
    """
    tree = _make_tree("expected_loss", learner, rows, None, Options(delay, budget, stop, limit))
    tree.check_size(0.0)
    return math.fsum(loss for _, loss in tree.leaves(lambda path: [int(tree.indices[len(path)])]))


def random_order(
    learner: AnyLearner,
    pool: _Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> float:
    """Return the exact expected regret of the learner on this pool in random order.

    Orders that differ only in equal rows are computed once. The comparator is the best action; with
    a `budget` the best fixed mix within it; on a labelled pool the best hypothesis of the class.

    pool: a pool, a labelled pool, or an array of losses. Other parameters are those of
        `expected_loss`.

    >>> from tombola import Pool
    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> random_order(FollowTheLeader(), Pool([[1, 0], [0, 1]]))
    0.5

    >>> from tombola.classification import ERM, LabelledPool, Thresholds
    >>> random_order(ERM(Thresholds()), LabelledPool([1, 2, 3], [0, 0, 1]))
    1.1666666666666667
    """
    tree = _make_tree("random_order", learner, pool, None, Options(delay, budget, stop, limit))
    counts = tree.counts.tolist()
    tree.check_size(math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts))
    losses = [loss for _, loss in tree.leaves(_unused_rows(counts))]
    return math.fsum(losses) / len(losses) - tree.comparator_loss(counts)


def worst_pool(
    learner: AnyLearner,
    rows: _Input,
    horizon: int,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> tuple[float, Any]:
    """Return the largest expected regret in random order, and a pool attaining it.

    The maximum is over all pools of `horizon` rows, each of them one of `rows`. Other parameters
    are those of `expected_loss`.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regret, pool = worst_pool(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regret, 9), pool.losses.tolist()
    (1.333333333, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    """
    tree = _make_tree("worst_pool", learner, rows, horizon, Options(delay, budget, stop, limit))
    return _worst_pool(tree, _mean_losses(tree))


def worst_case(
    learner: AnyLearner,
    rows: _Input,
    horizon: int,
    *,
    grid: int = 12,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> Regrets:
    """Return the worst expected regrets: i.i.d., random and adversarial order.

    The maximum is over inputs of `horizon` rows, each of them one of `rows`. Adversarial and random
    order are exact maxima. The i.i.d. maximum is over distributions with probabilities that are
    multiples of 1/grid: a lower bound on the maximum over all distributions. Other parameters are
    those of `expected_loss`.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regrets = worst_case(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regrets.random, 9), regrets.adversarial, regrets.adversarial_input.losses.tolist()
    (1.333333333, 2.0, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    _validate.integer("worst_case", "grid", grid, least=1)
    tree = _make_tree("worst_case", learner, rows, horizon, Options(delay, budget, stop, limit))
    if math.comb(grid + len(tree.values) - 1, grid) > limit:
        raise ParameterError(
            f"worst_case: expected at most limit={limit} distributions, got more for "
            f"{len(tree.values)} distinct rows "
            f"and grid={grid}; write a smaller grid, or a larger limit."
        )
    means, adversarial, path = _all_sequences(tree)
    random, random_input = _worst_pool(tree, means)
    iid, probabilities = _worst_iid(tree, means, grid)
    law = zip(map(tuple, tree.values.tolist()), probabilities, strict=True)
    iid_input = {row: probability for row, probability in law if probability > 0}
    return Regrets(iid, random, adversarial, iid_input, random_input, tree.pool(path))


def _mean_losses(tree: Tree) -> dict[Path, float]:
    """Return the mean loss over all orders of each pool, by its numbers of rows.

    Prefixes with the same rows after which the learner is in the same state are merged: a learner
    that remembers sums only has few states. A prefix of a pool is a draw without replacement, so
    the mean loss of a round is the same for all pools but for hypergeometric weights.
    """
    kinds = len(tree.values)
    empty = (0,) * kinds
    # For the numbers of rows of a prefix: its states, with their probability over its orders.
    level: dict[Path, list[_Merged]] = {empty: [_Merged(Branch(1.0, tree.start()), ())]}
    round_losses: list[dict[tuple[Path, int], float]] = []
    for _ in range(tree.horizon):
        losses: dict[tuple[Path, int], float] = {}
        merged: dict[Path, dict[Any, _Merged]] = defaultdict(dict)
        for counts, states in level.items():
            for kind in range(kinds):
                following = (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])
                share = following[kind] / sum(following)
                same_rows = merged[following]
                loss = 0.0
                for state in states:
                    added, branches = tree.step(state.branch, (*state.late, kind), sum(following))
                    loss += added
                    late = (*state.late, kind)[-tree.delay :] if tree.delay else ()
                    for branch in branches:
                        key = (tree.key(branch.snapshot), branch.pending, late)
                        weight = branch.weight * share
                        known = same_rows.get(key)
                        if known is not None:
                            weight += known.branch.weight
                        same_rows[key] = _Merged(branch._replace(weight=weight), late)
                losses[counts, kind] = loss
        round_losses.append(losses)
        level = {counts: list(states.values()) for counts, states in merged.items()}
    return {
        pool: math.fsum(
            _probability(pool, counts, kind) * loss
            for losses in round_losses
            for (counts, kind), loss in losses.items()
            if pool[kind] > counts[kind]
            and all(count <= size for count, size in zip(counts, pool, strict=True))
        )
        for pool in compositions(tree.horizon, kinds)
    }


def _probability(pool: Path, counts: Path, kind: int) -> float:
    """Return the probability that a shuffle of a pool begins with these rows, then this kind."""
    rows = sum(pool)
    seen = sum(counts)
    ways = math.prod(math.comb(size, count) for size, count in zip(pool, counts, strict=True))
    return ways / math.comb(rows, seen) * ((pool[kind] - counts[kind]) / (rows - seen))


def _all_sequences(tree: Tree) -> tuple[dict[Path, float], float, Path]:
    """Return the mean loss by numbers of rows, the worst regret, and its sequence."""
    tree.check_size(tree.horizon * math.log(len(tree.values)))
    losses: dict[Path, list[float]] = defaultdict(list)
    best: dict[Path, float] = {}
    adversarial = -math.inf
    path: Path = ()
    for leaf, loss in tree.leaves(_unused_rows([tree.horizon] * len(tree.values))):
        counts = tuple(leaf.count(kind) for kind in range(len(tree.values)))
        losses[counts].append(loss)
        if counts not in best:
            best[counts] = tree.comparator_loss(counts)
        if loss - best[counts] > adversarial:
            adversarial = loss - best[counts]
            path = leaf
    return (
        {counts: math.fsum(same) / len(same) for counts, same in losses.items()},
        adversarial,
        path,
    )


def _worst_pool(tree: Tree, means: dict[Path, float]) -> tuple[float, Any]:
    """Return the largest regret in random order, and its pool."""
    regret, counts = max(
        (mean - tree.comparator_loss(counts), counts) for counts, mean in means.items()
    )
    return regret, tree.pool_of_counts(counts)


def _worst_iid(tree: Tree, means: dict[Path, float], grid: int) -> tuple[float, list[float]]:
    """Return the largest i.i.d. regret on the grid, and its distribution."""
    counts = np.array(list(means))
    losses = np.array(list(means.values()))
    ways = np.array([count_orders(pool) for pool in means], dtype=np.float64)
    worst = -math.inf
    at = [0.0]
    for parts in compositions(grid, len(tree.values)):
        probabilities = np.array(parts) / grid
        loss = float(np.sum(ways * np.prod(probabilities**counts, axis=1) * losses))
        regret = loss - tree.comparator_loss(parts)
        if regret > worst:
            worst = regret
            at = probabilities.tolist()
    return worst, at


def compositions(total: int, parts: int) -> Iterator[Path]:
    """Yield every tuple of `parts` nonnegative integers with sum `total`."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(edges))


def count_orders(counts: Path) -> int:
    """Return the number of distinct orders of a pool; counts: copies of each row."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def _unused_rows(counts: list[int]) -> Callable[[Path], list[int]]:
    """Return a function from a prefix to the distinct rows that are not used up."""
    return lambda path: [kind for kind, count in enumerate(counts) if path.count(kind) < count]


class _Merged(NamedTuple):
    """A state of the learner after a prefix, and the rows whose feedback is still to come."""

    branch: Branch
    late: Path


def _make_tree(
    owner: str, learner: Any, rows: _Input, horizon: int | None, options: Options
) -> Tree:
    """Return the tree of an input; horizon None is the number of its rows."""
    # ParameterError if input, learner and budget do not fit.
    labels = isinstance(learner, LabelLearner)
    if labels != isinstance(rows, LabelledPool):
        raise ParameterError(
            f"{owner}: expected {'a LabelledPool' if labels else 'a Pool, or losses,'} for "
            f"{type(learner).__name__}, "
            f"got {rows!r}; pass one of these."
        )
    if options.budget is not None and options.budget.target is not None:
        raise ParameterError(
            f"{owner}: expected a budget without a target, for regret counts losses, got "
            f"{options.budget.target:g}; "
            "leave it out."
        )
    feedback_type(learner)  # raises for what is not a learner
    if labels:
        return LabelTree(owner, learner, rows, horizon, options)
    pool = rows if isinstance(rows, Pool) else Pool(rows)
    return LossTree(owner, with_exact_trainings(learner), pool, horizon, options)
