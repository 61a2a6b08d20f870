"""Exact expected regrets: sums over all sequences of rows.

Sequences with a common prefix share its computation: a node of the tree is a prefix with the possible learner states
after it. The learner's rng is enumerated, not sampled: a mix is averaged over, and the tree branches over actions where
later states depend on the action played (bandit feedback, budgets).
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from tombola import _validate
from tombola._types import AnyLearner
from tombola.budget.budget import Budget, Stop
from tombola.errors import ParameterError
from tombola.exact.distinct_rows import DistinctRows, Input, Row, distinct_rows
from tombola.exact.enumerable_learner import Choice, Snapshot, make_enumerable

# Largest number of nodes of the tree of row sequences, by default: about a minute with a compiled learner.
_MAX_NODES = 2_000_000

# A node of the tree of all orders: the indices of the distinct rows of the first rounds, in the order of play.
Path: TypeAlias = tuple[int, ...]


class _Options(NamedTuple):
    """Delay, budget with its stop rule, and the largest number of nodes."""

    delay: int
    budget: Budget | None
    stop: Stop
    limit: int


class Regrets(NamedTuple):
    """Worst expected regret in each input model, and an input that attains it.

    iid, random, adversarial: regrets on i.i.d. draws, in random order, and in the worst order.
    iid_input: probability of each row (losses and costs, or features, label and weight) in the worst distribution.
    random_input, adversarial_input: worst pools, `Pool` or `LabelledPool`; the second one is in its worst order.
    """

    iid: float
    random: float
    adversarial: float
    iid_input: dict[Row, float]
    random_input: Any
    adversarial_input: Any


def expected_loss(
    learner: AnyLearner,
    rows: Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> float:
    """Return the expected total loss of a learner on rows in the given order.

    The expectation is over the learner's own randomness; it is computed by enumeration, not sampled.

    rows: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left covers its largest cost,
        "strict" only the null action once less than the largest cost of all actions is left.
    limit: largest number of nodes of the tree of choices; more raise ParameterError.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> expected_loss(FollowTheLeader(), [[1, 0], [0, 1], [1, 0]])
    3.0
    """
    distinct = distinct_rows("expected_loss", learner, rows, budget)
    indices = distinct.indices.tolist()
    tree = _Tree("expected_loss", learner, distinct, len(indices), _Options(delay, budget, stop, limit))
    tree.check_size(0.0)
    return math.fsum(loss for _, loss in tree.leaves(lambda path: [indices[len(path)]]))


def random_order(
    learner: AnyLearner,
    pool: Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> float:
    """Return the exact expected regret of the learner on this pool in random order.

    Orders that differ only in equal rows are computed once. The comparator is the best action; with a `budget` the
    best fixed mix within it; on a labelled pool the best hypothesis of the class.

    pool: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left covers its largest cost,
        "strict" only the null action once less than the largest cost of all actions is left.
    limit: largest number of nodes of the tree of orders; more raise ParameterError.

    >>> from tombola import Pool
    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> random_order(FollowTheLeader(), Pool([[1, 0], [0, 1]]))
    0.5

    >>> from tombola.classification import ERM, LabelledPool, Thresholds
    >>> random_order(ERM(Thresholds()), LabelledPool([1, 2, 3], [0, 0, 1]))
    1.1666666666666667
    """
    distinct = distinct_rows("random_order", learner, pool, budget)
    counts = distinct.counts.tolist()
    tree = _Tree("random_order", learner, distinct, sum(counts), _Options(delay, budget, stop, limit))
    tree.check_size(math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts))
    losses = [loss for _, loss in tree.leaves(_unused_rows(counts))]
    return math.fsum(losses) / len(losses) - distinct.comparator_loss(counts, sum(counts))


def worst_pool(
    learner: AnyLearner,
    rows: Input,
    horizon: int,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> tuple[float, Any]:
    """Return the largest expected regret in random order, and a pool attaining it.

    The maximum is over all pools of `horizon` rows, each of them one of `rows`. The pool is a `Pool` or `LabelledPool`.

    learner, horizon: an instance, and the number of rounds.
    rows: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left covers its largest cost,
        "strict" only the null action once less than the largest cost of all actions is left.
    limit: largest number of nodes of the tree of orders; more raise ParameterError.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regret, pool = worst_pool(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regret, 9), pool.losses.tolist()
    (1.333333333, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    """
    distinct = distinct_rows("worst_pool", learner, rows, budget)
    options = _Options(delay, budget, stop, limit)
    regret, counts = _walk_all("worst_pool", learner, distinct, horizon, options).worst_pool()
    return regret, distinct.pool(_repeat_rows(counts))


def worst_case(
    learner: AnyLearner,
    rows: Input,
    horizon: int,
    *,
    grid: int = 12,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = _MAX_NODES,
) -> Regrets:
    """Return the worst expected regrets in all three input models.

    The maximum is over inputs of `horizon` rows, each of them one of `rows`. Adversarial and random order are exact
    maxima. The i.i.d. maximum is over distributions with probabilities that are multiples of 1/grid: a lower bound on
    the maximum over all distributions.

    learner, horizon: an instance, and the number of rounds.
    rows: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    grid: denominator of the probabilities of the i.i.d. model.
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left covers its largest cost,
        "strict" only the null action once less than the largest cost of all actions is left.
    limit: largest number of nodes of the tree of orders, and of distributions; more raise ParameterError.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regrets = worst_case(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regrets.random, 9), regrets.adversarial, regrets.adversarial_input.losses.tolist()
    (1.333333333, 2.0, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    _validate.integer("worst_case", "grid", grid, least=1)
    distinct = distinct_rows("worst_case", learner, rows, budget)
    if math.comb(grid + len(distinct) - 1, grid) > limit:
        raise ParameterError(
            f"worst_case: expected at most limit={limit} distributions, got more for {len(distinct)} distinct rows and "
            f"grid={grid}; write a smaller grid, or a larger limit."
        )
    sequences = _walk_all("worst_case", learner, distinct, horizon, _Options(delay, budget, stop, limit))
    random, counts = sequences.worst_pool()
    iid, probabilities = sequences.worst_iid(grid)
    return Regrets(
        iid=iid,
        random=random,
        adversarial=sequences.adversarial,
        iid_input={
            tuple(row): probability
            for row, probability in zip(distinct.values.tolist(), probabilities, strict=True)
            if probability > 0
        },
        random_input=distinct.pool(_repeat_rows(counts)),
        adversarial_input=distinct.pool(sequences.path),
    )


class _AllSequences(NamedTuple):
    """Expected losses of all sequences.

    They are the mean for each multiset of rows, and the worst sequence.
    """

    distinct: DistinctRows
    horizon: int
    means: dict[Path, float]
    adversarial: float
    path: Path

    def worst_pool(self) -> tuple[float, Path]:
        """Return the largest regret in random order, and the counts of its rows."""
        return max(
            (mean - self.distinct.comparator_loss(counts, self.horizon), counts) for counts, mean in self.means.items()
        )

    def worst_iid(self, grid: int) -> tuple[float, list[float]]:
        """Return the largest i.i.d. regret on the grid.

        Expected losses are averaged by the multinomial law.
        """
        counts, losses = np.array(list(self.means)), np.array(list(self.means.values()))
        ways = np.array([_count_orders(pool) for pool in self.means], dtype=np.float64)
        worst, at = -math.inf, [0.0]
        for parts in _compositions(grid, len(self.distinct)):
            probabilities = np.array(parts) / grid
            loss = float(np.sum(ways * np.prod(probabilities**counts, axis=1) * losses))
            regret = loss - self.distinct.comparator_loss(parts, self.horizon)
            if regret > worst:
                worst, at = regret, probabilities.tolist()
        return worst, at


def _walk_all(owner: str, learner: Any, distinct: DistinctRows, horizon: int, options: _Options) -> _AllSequences:
    """Compute the expected loss on every sequence of `horizon` rows."""
    T = _validate.integer(owner, "horizon", horizon, least=1)
    tree = _Tree(owner, learner, distinct, T, options)
    tree.check_size(T * math.log(len(distinct)))
    losses: dict[Path, list[float]] = defaultdict(list)
    best: dict[Path, float] = {}
    adversarial = -math.inf
    path: Path = ()
    for leaf, loss in tree.leaves(_unused_rows([T] * len(distinct))):
        counts = tuple(leaf.count(kind) for kind in range(len(distinct)))
        losses[counts].append(loss)
        if counts not in best:
            best[counts] = distinct.comparator_loss(counts, T)
        if loss - best[counts] > adversarial:
            adversarial, path = loss - best[counts], leaf
    means = {counts: math.fsum(same) / len(same) for counts, same in losses.items()}
    return _AllSequences(distinct, T, means, adversarial, path)


def _repeat_rows(counts: Path) -> list[int]:
    """Return the indices of distinct rows, each repeated by its count."""
    return [kind for kind, count in enumerate(counts) for _ in range(count)]


def _compositions(total: int, parts: int) -> Iterator[Path]:
    """Yield every composition of `total` into nonnegative integers (stars and bars)."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(edges))


def _count_orders(counts: Path) -> int:
    """Return the number of distinct orders of a pool with these counts."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def _unused_rows(counts: list[int]) -> Callable[[Path], list[int]]:
    """Return a function from a prefix to the distinct rows that are not used up."""
    return lambda path: [kind for kind, count in enumerate(counts) if path.count(kind) < count]


class _Branch(NamedTuple):
    """One outcome of the learner's rng.

    probability, state, and actions with pending feedback.
    """

    weight: float
    snapshot: Snapshot
    pending: tuple[tuple[int, float], ...] = ()


class _Node(NamedTuple):
    """A prefix, the expected loss on it, and the possible learner states after it."""

    path: Path
    loss: float
    branches: list[_Branch]


class _Tree:
    """Tree of all sequences of rows, traversed depth first with one learner."""

    def __init__(self, owner: str, learner: Any, distinct: DistinctRows, horizon: int, options: _Options) -> None:
        self._owner, self._name = owner, type(learner).__name__
        self._limit = _validate.integer(owner, "limit", options.limit, least=1)
        self._delay = _validate.integer(owner, "delay", options.delay, least=0)
        self._kinds, self._horizon, self._nodes = len(distinct), horizon, 0
        self._enumerable = make_enumerable(owner, learner, distinct, horizon, options.budget, options.stop)

    def check_size(self, log_sequences: float) -> None:
        """Raise before the traversal if the number of sequences already exceeds the limit."""
        if log_sequences + (self._horizon - 1) * math.log(self._enumerable.max_branches) > math.log(self._limit) + 1e-9:
            self._raise_too_large()

    def leaves(self, next_rows: Callable[[Path], list[int]]) -> Iterator[tuple[Path, float]]:
        """Yield every sequence of distinct rows with the learner's expected loss.

        next_rows: returns the distinct rows that may follow a path.
        """
        stack = [_Node((), 0.0, [_Branch(1.0, self._enumerable.start())])]
        while stack:
            node = stack.pop()
            if len(node.path) == self._horizon:
                yield node.path, node.loss
                continue
            distinct = list(reversed(next_rows(node.path)))
            sees_features = distinct if self._enumerable.sees_features else distinct[:1]
            seen = {
                kind: [self._enumerable.choices(branch.snapshot, kind) for branch in node.branches]
                for kind in sees_features
            }
            stack.extend(self._child(node, seen.get(kind, seen[sees_features[0]]), kind) for kind in distinct)

    def _child(self, node: _Node, choices: list[list[Choice]], kind: int) -> _Node:
        """Return the node after one more row."""
        loss, branches, path = node.loss, [], (*node.path, kind)
        last = len(path) == self._horizon
        for branch, own_choices in zip(node.branches, choices, strict=True):
            self._nodes += len(own_choices) if self._enumerable.branches_on_actions else 1
            if self._nodes > self._limit:
                self._raise_too_large()
            loss += branch.weight * sum(
                choice.probability * self._enumerable.loss(choice.action, kind) for choice in own_choices
            )
            if not last:
                branches += self._observe(branch, own_choices, path)
        return _Node(path, loss, branches)

    def _observe(self, branch: _Branch, own_choices: list[Choice], path: Path) -> list[_Branch]:
        """Return the possible states after the feedback that arrives now.

        It is of the round `delay` ago.
        """
        played = len(path) - self._delay
        branches = []
        for choice in own_choices if self._enumerable.branches_on_actions else [Choice(0, 1.0, own_choices[0].after)]:
            snapshot, pending = choice.after, (*branch.pending, (choice.action, choice.probability))
            if played > 0:
                (action, probability), *late = pending
                snapshot = self._enumerable.observe(snapshot, played, action, probability, path[played - 1])
                pending = tuple(late)
            branches.append(_Branch(branch.weight * choice.probability, snapshot, pending))
        return branches

    def _raise_too_large(self) -> NoReturn:
        raise ParameterError(
            f"{self._owner}: expected a tree of at most limit={self._limit} nodes, got more for {self._name}, horizon "
            f"{self._horizon} and {self._kinds} distinct rows; write a smaller horizon, or a larger limit."
        )
