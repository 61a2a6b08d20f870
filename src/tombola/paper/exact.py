"""Exact expected regret of a learner on small inputs, over all sequences.

It is the reference for everything that is sampled elsewhere, and for the hierarchy i.i.d. <= random order <=
adversarial (Bernasconi et al. 2025, Theorem B.1).

Sequences with a common prefix share its computation: a node of the tree is a prefix with the possible learner states
after it. The learner's rng is enumerated, not sampled: a mix is averaged over, and the tree branches over actions where
later states depend on the action played (bandit feedback, budgets).
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from tombola import _validate
from tombola._play import resolve_budget
from tombola._types import AnyLearner, Floats, Integers, RngState
from tombola.budget.budget import Budget, Stop
from tombola.budget.optimum import optimum
from tombola.classification.learner import LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.engine.state_vector import mix_slice
from tombola.errors import ParameterError
from tombola.feedback import feedback_type, make_feedback_model
from tombola.pool import Pool
from tombola.rng import new_rng

__all__ = ["Regrets", "expected_loss", "random_order", "worst_case", "worst_pool", "zero_one"]

# A row as numbers: losses then costs of all actions, or features, label and weight.
_Row: TypeAlias = tuple[float, ...]
# Rows of an exact computation: a Pool, a LabelledPool, or an array of losses, shape (rows, actions).
_Input: TypeAlias = Any


def zero_one(actions: int) -> Floats:
    """Return every row of losses 0 and 1, shape (2^actions, actions).

    >>> zero_one(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.array(list(itertools.product((0.0, 1.0), repeat=actions)))


@dataclass(frozen=True, eq=False)
class _DistinctRows(ABC):
    """Base class of the distinct rows of an input, with the comparator on them.

    values: `values[i]` is distinct row i as numbers: losses and costs, or features, label and weight.
    indices: index of the distinct row of every row of the input, shape (rows,).
    counts: frequency of each distinct row in the input, shape (distinct rows,).
    """

    values: Floats
    indices: Integers
    counts: Integers

    def __len__(self) -> int:
        return len(self.values)

    @abstractmethod
    def pool(self, rows: Sequence[int]) -> Any:
        """Return the pool of the distinct rows with these indices, which may repeat."""

    def pool_of_counts(self, counts: Sequence[int]) -> Any:
        """Return the pool with these numbers of each distinct row."""
        return self.pool(np.repeat(np.arange(len(self)), counts).tolist())

    @abstractmethod
    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        """Return the loss of the comparator on these rows, scaled to `horizon`."""


@dataclass(frozen=True, eq=False)
class _LossRows(_DistinctRows):
    """Rows of losses and costs.

    The comparator is the best action, or the best mix within the budget.
    """

    distinct_pool: Pool
    budget: Budget | None

    def pool(self, rows: Sequence[int]) -> Pool:
        indices, costs = list(rows), self.distinct_pool.costs
        return Pool(
            np.asarray(self.distinct_pool.losses)[indices], costs=None if costs is None else np.asarray(costs)[indices]
        )

    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        share = horizon / sum(counts)
        if self.budget is None:
            return float((np.array(counts) @ self.distinct_pool.losses).min()) * share
        pool = self.pool_of_counts(counts)
        budget = replace(self.budget, amounts=tuple(self.budget.per_resource / share))
        return horizon * (1.0 - optimum(pool, budget).value)


@dataclass(frozen=True, eq=False)
class _LabelRows(_DistinctRows):
    """Rows of features, label and weight.

    The comparator is the best hypothesis of the learner's class.
    """

    distinct_pool: LabelledPool
    learner: LabelLearner

    def pool(self, rows: Sequence[int]) -> LabelledPool:
        indices, pool = list(rows), self.distinct_pool
        return LabelledPool(pool.features[indices], pool.labels[indices], pool.weights[indices])

    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        pool = self.pool_of_counts(counts)
        wrong = self.learner.hypotheses.best_labels(pool) != pool.labels
        return float(pool.weights[wrong].sum()) * (horizon / sum(counts))


def _distinct_rows(owner: str, learner: Any, rows: _Input, budget: Budget | None) -> _DistinctRows:
    """Return the distinct rows of an input.

    ParameterError if input, learner and budget do not fit.
    """
    labels = isinstance(learner, LabelLearner)
    if labels != isinstance(rows, LabelledPool):
        raise ParameterError(
            f"{owner}: expected {'a LabelledPool' if labels else 'a Pool, or losses,'} for {type(learner).__name__}, "
            f"got {rows!r}; pass one of these."
        )
    if budget is not None and budget.target is not None:
        raise ParameterError(
            f"{owner}: expected a budget without a target, for regret counts losses, got {budget.target:g}; "
            "leave it out."
        )
    if labels:
        values, first, indices, counts = _unique_rows(np.column_stack([rows.features, rows.labels, rows.weights]))
        chosen = LabelledPool(rows.features[first], rows.labels[first], rows.weights[first])
        return _LabelRows(values, indices, counts, chosen, learner)
    pool = rows if isinstance(rows, Pool) else Pool(rows)
    losses = np.asarray(pool.losses, dtype=np.float64)
    costs = None if budget is None or pool.costs is None else np.asarray(pool.costs, dtype=np.float64)
    table = losses if costs is None else np.column_stack([losses, costs.reshape(pool.rows, -1)])
    values, first, indices, counts = _unique_rows(table)
    return _LossRows(
        values, indices, counts, Pool(losses[first], costs=None if costs is None else costs[first]), budget
    )


def _unique_rows(table: Floats) -> tuple[Floats, Integers, Integers, Integers]:
    """Return distinct rows, first positions, index of every row, and counts."""
    values, first, indices, counts = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return values, first, indices.ravel(), counts


# Draws by which every possible action of a learner without a mix must have come up. Actions with a probability below
# 1e-3 may be missed; then the probabilities do not sum to 1, which raises.
_MAX_DRAWS = 10_000
# Largest deviation of a sum of probabilities from 1, by rounding.
_PROBABILITY_TOLERANCE = 1e-12

# Complete state of a learner, to return to: copies of its arrays, or its history for learners of labels.
_Snapshot: TypeAlias = tuple[Any, ...]


class _Choice(NamedTuple):
    """A possible play of a learner in one round, and its state after the play."""

    action: int
    probability: float
    after: _Snapshot


class _EnumerableLearner(ABC):
    """Base class of learners with an expected loss computed by enumeration.

    A `kind` is the index of a distinct row. States are passed as snapshots, so that the caller may return to any.

    branches_on_actions: whether later states depend on the action played, one of at most `max_branches`.
    sees_features: whether the learner sees the row's features before it acts.
    """

    branches_on_actions: bool
    max_branches: int
    sees_features: bool

    def __init__(self, owner: str, learner: Any) -> None:
        self._owner, self._name = owner, type(learner).__name__

    @abstractmethod
    def start(self) -> _Snapshot:
        """Return the snapshot before the first round."""

    @abstractmethod
    def choices(self, snapshot: _Snapshot, kind: int) -> list[_Choice]:
        """Return the possible plays in a state.

        kind: the row to be played; ignored unless `sees_features`.
        """

    @abstractmethod
    def observe(self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int) -> _Snapshot:
        """Return the state after the feedback of an earlier round."""

    @abstractmethod
    def loss(self, action: int, kind: int) -> float:
        """Return the loss of an action in a row."""

    def not_enumerable(self, reason: str) -> ParameterError:
        """Return the error for random choices that cannot be enumerated; do not raise it."""
        return ParameterError(
            f"{self._owner}: expected a learner with known probabilities of its random choices, got {self._name} "
            f"({reason}); write compare(...) to estimate its regret from many orders."
        )


class _LossLearner(_EnumerableLearner):
    """A learner of losses; a snapshot is a copy of its state and workspace."""

    sees_features = False

    def __init__(
        self, owner: str, learner: Any, distinct: _LossRows, horizon: int, budget: Budget | None, stop: Stop
    ) -> None:
        super().__init__(owner, learner)
        pool = distinct.distinct_pool
        budget_run = resolve_budget(pool, budget, stop)
        self._feedback_model = make_feedback_model(learner, horizon, actions=pool.k, budget_run=budget_run)
        self._rng = new_rng(np.random.SeedSequence(0))
        self._live = self._feedback_model.step_runner(learner, self._rng)
        self._arrays = [self._live.runner.memory, *_arrays(self._live.runner.workspace)]
        self._mixes = bool(learner.mixes)
        self._averages_mix = self._mixes and budget_run is None  # its state does not depend on the action drawn
        self.branches_on_actions = not (self._averages_mix and self._feedback_model.full_feedback)
        self.max_branches = self._feedback_model.actions if self.branches_on_actions and self._mixes else 1
        self._losses = np.column_stack([np.asarray(pool.losses, np.float64), np.ones(pool.rows)])  # a null loses 1
        self._costs = [None] * pool.rows if budget_run is None or pool.costs is None else np.asarray(pool.costs)
        self._k, self._plan_count = pool.k, 0

    def start(self) -> _Snapshot:
        return self._snapshot()

    def choices(self, snapshot: _Snapshot, kind: int) -> list[_Choice]:
        before = self._plan(snapshot)
        rng_before = self._rng.tobytes()
        action, probability = self._live.act(self._plan_count)
        if self._averages_mix:
            after = self._snapshot()
            mix = mix_slice(self._live.runner.memory).tolist()
            return [_Choice(other, share, after) for other, share in enumerate(mix) if share > 0.0]
        if probability == 1.0 and self._rng.tobytes() == rng_before:
            return [_Choice(action, 1.0, self._snapshot())]
        return self._enumerate_draws(before, action, probability)

    def _enumerate_draws(self, before: _Snapshot, action: int, probability: float) -> list[_Choice]:
        """Draw until the probabilities of the drawn actions sum to 1."""
        found: dict[int, _Choice] = {}
        for _ in range(_MAX_DRAWS):
            known = found.setdefault(action, _Choice(action, probability, self._snapshot()))
            if (
                known.probability != probability
                or not 0.0 < probability <= 1.0
                or (probability == 1.0 and not self._mixes)
            ):
                break
            if math.fsum(choice.probability for choice in found.values()) >= 1.0 - _PROBABILITY_TOLERANCE:
                return list(found.values())
            self._restore(before)
            action, probability = self._live.act(self._plan_count)
        raise self.not_enumerable(f"it draws actions without their probabilities, got probability {probability:g}")

    def observe(self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int) -> _Snapshot:
        self._restore(snapshot)
        answer = self._feedback_model.outcome_of_row(self._losses[kind, : self._k], action, self._costs[kind])
        self._live.learn(round, action, probability, self._feedback_model.encode(round, action, answer))
        return self._snapshot()

    def loss(self, action: int, kind: int) -> float:
        return float(self._losses[kind, action])

    def _plan(self, snapshot: _Snapshot) -> _Snapshot:
        """Restore a state, and let the learner plan if it needs to."""
        self._restore(snapshot)
        rng_before = self._rng.tobytes()
        self._plan_count += 1
        self._live.plan(self._plan_count)
        if self._rng.tobytes() != rng_before:
            raise self.not_enumerable("it plans with its rng")
        return self._snapshot()

    def _snapshot(self) -> _Snapshot:
        return tuple(array.copy() for array in self._arrays)

    def _restore(self, snapshot: _Snapshot) -> None:
        for array, kept in zip(self._arrays, snapshot, strict=True):
            array[...] = kept


class _LabelPredictor(_EnumerableLearner):
    """A learner of labels; a snapshot is its history, which is replayed.

    Its feedback does not contain its prediction, so predictions are averaged by their probability. A second replay with
    another rng checks that this probability does not depend on earlier draws.
    """

    sees_features, branches_on_actions, max_branches = True, False, 1

    def __init__(self, owner: str, learner: LabelLearner, distinct: _LabelRows, horizon: int) -> None:
        super().__init__(owner, learner)
        self._learner, self._pool, self._horizon = learner, distinct.distinct_pool, horizon
        make_feedback_model(learner, horizon, actions=2, features=distinct.distinct_pool.dimensions)

    def start(self) -> _Snapshot:
        return ()

    def choices(self, snapshot: _Snapshot, kind: int) -> list[_Choice]:
        ones = [self._probability_of_one(new_rng(np.random.SeedSequence(seed)), snapshot, kind) for seed in (0, 1)]
        if not abs(ones[0] - ones[1]) <= _PROBABILITY_TOLERANCE:
            raise self.not_enumerable("it draws labels with its rng without their probabilities")
        after = (*snapshot, (kind, False))
        return [_Choice(label, share, after) for label, share in ((0, 1.0 - ones[0]), (1, ones[0])) if share > 0.0]

    def _probability_of_one(self, rng: RngState, snapshot: _Snapshot, kind: int) -> float:
        predictor = self._learner.start(self._horizon, self._pool.dimensions, rng)
        for before, observed in snapshot:
            row = self._pool.features[before]
            if observed:
                predictor.learn(row, int(self._pool.labels[before]), float(self._pool.weights[before]))
            else:
                predictor.predict(row)
        with np.errstate(over="ignore"):
            label, probability = predictor.predict(self._pool.features[kind])
        return probability if label == 1 else 1.0 - probability

    def observe(self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int) -> _Snapshot:
        return (*snapshot, (kind, True))

    def loss(self, action: int, kind: int) -> float:
        return float(self._pool.weights[kind]) if action != self._pool.labels[kind] else 0.0


def _arrays(workspace: Any) -> list[Floats]:
    """Return all arrays of a nested workspace."""
    if isinstance(workspace, np.ndarray):
        return [workspace]
    return [array for part in workspace for array in _arrays(part)] if isinstance(workspace, tuple) else []


# Largest number of nodes of the tree of row sequences, by default: about a minute with a compiled learner.
_MAX_NODES = 2_000_000

# A node of the tree of all orders: the indices of the distinct rows of the first rounds, in the order of play.
_Path: TypeAlias = tuple[int, ...]


class _Options(NamedTuple):
    """Delay, budget with its stop rule, and the largest number of nodes."""

    delay: int
    budget: Budget | None
    stop: Stop
    limit: int


class Regrets(NamedTuple):
    """Worst expected regret in each input model, and an input that attains it.

    iid_input: probability of each row (losses and costs, or features, label and weight) in the worst distribution.
    random_input, adversarial_input: worst pools, `Pool` or `LabelledPool`; the second one is in its worst order.
    """

    iid: float
    random: float
    adversarial: float
    iid_input: dict[_Row, float]
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

    The expectation is over the learner's own randomness; it is computed by enumeration, not sampled.

    learner: an instance, such as `Hedge()`.
    rows: a pool, a labelled pool, or an array of losses, shape (rows, actions).
    delay: rounds between a play and its feedback.
    budget, stop: budget or None, and its stop rule: "fits" allows an action if the budget left covers its largest cost,
        "strict" only the null action once less than the largest cost of all actions is left.
    limit: largest number of nodes of the tree of choices; more raise ParameterError.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> expected_loss(FollowTheLeader(), [[1, 0], [0, 1], [1, 0]])
    3.0
    """
    distinct = _distinct_rows("expected_loss", learner, rows, budget)
    indices = distinct.indices.tolist()
    tree = _Tree("expected_loss", learner, distinct, len(indices), _Options(delay, budget, stop, limit))
    tree.check_size(0.0)
    return math.fsum(loss for _, loss in tree.leaves(lambda path: [indices[len(path)]]))


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

    Orders that differ only in equal rows are computed once. The comparator is the best action; with a `budget` the
    best fixed mix within it; on a labelled pool the best hypothesis of the class.

    pool: a pool, a labelled pool, or an array of losses. Other parameters are those of `expected_loss`.

    >>> from tombola import Pool
    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> random_order(FollowTheLeader(), Pool([[1, 0], [0, 1]]))
    0.5

    >>> from tombola.classification import ERM, LabelledPool, Thresholds
    >>> random_order(ERM(Thresholds()), LabelledPool([1, 2, 3], [0, 0, 1]))
    1.1666666666666667
    """
    distinct = _distinct_rows("random_order", learner, pool, budget)
    counts = distinct.counts.tolist()
    tree = _Tree("random_order", learner, distinct, sum(counts), _Options(delay, budget, stop, limit))
    tree.check_size(math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts))
    losses = [loss for _, loss in tree.leaves(_unused_rows(counts))]
    return math.fsum(losses) / len(losses) - distinct.comparator_loss(counts, sum(counts))


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

    The maximum is over all pools of `horizon` rows, each of them one of `rows`. Other parameters are those of
    `expected_loss`.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regret, pool = worst_pool(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regret, 9), pool.losses.tolist()
    (1.333333333, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    """
    distinct = _distinct_rows("worst_pool", learner, rows, budget)
    options = _Options(delay, budget, stop, limit)
    regret, counts = _walk_all("worst_pool", learner, distinct, horizon, options).worst_pool()
    return regret, distinct.pool_of_counts(counts)


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

    The maximum is over inputs of `horizon` rows, each of them one of `rows`. Adversarial and random order are exact
    maxima. The i.i.d. maximum is over distributions with probabilities that are multiples of 1/grid: a lower bound on
    the maximum over all distributions. Other parameters are those of `expected_loss`.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regrets = worst_case(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regrets.random, 9), regrets.adversarial, regrets.adversarial_input.losses.tolist()
    (1.333333333, 2.0, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    _validate.integer("worst_case", "grid", grid, least=1)
    distinct = _distinct_rows("worst_case", learner, rows, budget)
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
        random_input=distinct.pool_of_counts(counts),
        adversarial_input=distinct.pool(sequences.path),
    )


class _AllSequences(NamedTuple):
    """Expected losses of all sequences: mean by multiset of rows, worst sequence."""

    distinct: _DistinctRows
    horizon: int
    means: dict[_Path, float]
    adversarial: float
    path: _Path

    def worst_pool(self) -> tuple[float, _Path]:
        """Return the largest regret in random order, and the counts of its rows."""
        return max(
            (mean - self.distinct.comparator_loss(counts, self.horizon), counts) for counts, mean in self.means.items()
        )

    def worst_iid(self, grid: int) -> tuple[float, list[float]]:
        """Return the largest i.i.d. regret on the grid, and its distribution."""
        counts, losses = np.array(list(self.means)), np.array(list(self.means.values()))
        ways = np.array([count_orders(pool) for pool in self.means], dtype=np.float64)
        worst, at = -math.inf, [0.0]
        for parts in compositions(grid, len(self.distinct)):
            probabilities = np.array(parts) / grid
            loss = float(np.sum(ways * np.prod(probabilities**counts, axis=1) * losses))
            regret = loss - self.distinct.comparator_loss(parts, self.horizon)
            if regret > worst:
                worst, at = regret, probabilities.tolist()
        return worst, at


def _walk_all(owner: str, learner: Any, distinct: _DistinctRows, horizon: int, options: _Options) -> _AllSequences:
    """Compute the expected loss on every sequence of `horizon` rows."""
    T = _validate.integer(owner, "horizon", horizon, least=1)
    tree = _Tree(owner, learner, distinct, T, options)
    tree.check_size(T * math.log(len(distinct)))
    losses: dict[_Path, list[float]] = defaultdict(list)
    best: dict[_Path, float] = {}
    adversarial = -math.inf
    path: _Path = ()
    for leaf, loss in tree.leaves(_unused_rows([T] * len(distinct))):
        counts = tuple(leaf.count(kind) for kind in range(len(distinct)))
        losses[counts].append(loss)
        if counts not in best:
            best[counts] = distinct.comparator_loss(counts, T)
        if loss - best[counts] > adversarial:
            adversarial, path = loss - best[counts], leaf
    means = {counts: math.fsum(same) / len(same) for counts, same in losses.items()}
    return _AllSequences(distinct, T, means, adversarial, path)


def compositions(total: int, parts: int) -> Iterator[_Path]:
    """Yield every tuple of `parts` nonnegative integers with sum `total`."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(edges))


def count_orders(counts: _Path) -> int:
    """Return the number of distinct orders of a pool; counts: copies of each row."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def _unused_rows(counts: list[int]) -> Callable[[_Path], list[int]]:
    """Return a function from a prefix to the distinct rows that are not used up."""
    return lambda path: [kind for kind, count in enumerate(counts) if path.count(kind) < count]


class _Branch(NamedTuple):
    """Outcome of the learner's rng: probability, state, actions without feedback."""

    weight: float
    snapshot: _Snapshot
    pending: tuple[tuple[int, float], ...] = ()


class _Node(NamedTuple):
    """A prefix, the expected loss on it, and the possible learner states after it."""

    path: _Path
    loss: float
    branches: list[_Branch]


class _Tree:
    """Tree of all sequences of rows, traversed depth first with one learner."""

    def __init__(self, owner: str, learner: Any, distinct: _DistinctRows, horizon: int, options: _Options) -> None:
        self._owner, self._name = owner, type(learner).__name__
        self._limit = _validate.integer(owner, "limit", options.limit, least=1)
        self._delay = _validate.integer(owner, "delay", options.delay, least=0)
        self._kinds, self._horizon, self._nodes = len(distinct), horizon, 0
        feedback_type(learner)  # raises for what is not a learner
        if isinstance(distinct, _LabelRows):
            self._enumerable: _EnumerableLearner = _LabelPredictor(owner, learner, distinct, horizon)
        else:
            assert isinstance(distinct, _LossRows)
            self._enumerable = _LossLearner(owner, learner, distinct, horizon, options.budget, options.stop)

    def check_size(self, log_sequences: float) -> None:
        """Raise before the traversal if the number of sequences already exceeds the limit."""
        if log_sequences + (self._horizon - 1) * math.log(self._enumerable.max_branches) > math.log(self._limit) + 1e-9:
            self._raise_too_large()

    def leaves(self, next_rows: Callable[[_Path], list[int]]) -> Iterator[tuple[_Path, float]]:
        """Yield every sequence of distinct rows with the learner's expected loss.

        next_rows: function from a path to the distinct rows that may follow it.
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

    def _child(self, node: _Node, choices: list[list[_Choice]], kind: int) -> _Node:
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

    def _observe(self, branch: _Branch, own_choices: list[_Choice], path: _Path) -> list[_Branch]:
        """Return the possible states after the feedback of the round `delay` ago."""
        played = len(path) - self._delay
        branches = []
        for choice in own_choices if self._enumerable.branches_on_actions else [_Choice(0, 1.0, own_choices[0].after)]:
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
