"""Exact expected regret of a learner on small inputs, over all sequences.

It is the reference for everything that is sampled elsewhere, and for the hierarchy i.i.d. <= random
order <= adversarial (Bernasconi et al. 2025, Theorem B.1).

Sequences with a common prefix share its computation: a node of the tree is a prefix with the
possible learner states after it. The learner's rng is enumerated, not sampled: a mix is averaged
over, and the tree branches over actions where later states depend on the action played (bandit
feedback, budgets).
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from tombola import _validate
from tombola._play import resolve_budget
from tombola._types import AnyLearner, Floats, RngState
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

# Rows of an exact computation: a Pool, a LabelledPool, or an array of losses, shape (rows,
# actions).
_Input: TypeAlias = Any
# A node of the tree of all orders: the indices of the distinct rows of the first rounds, in the
# order of play.
_Path: TypeAlias = tuple[int, ...]
# Complete state of a learner, to return to: copies of its arrays, or its history for learners of
# labels.
_Snapshot: TypeAlias = tuple[Any, ...]
# Largest number of nodes of the tree of row sequences, by default: about a minute with a compiled
# learner.
_MAX_NODES = 2_000_000
# Draws by which every possible action of a learner without a mix must have come up. Actions with a
# probability below 1e-3 may be missed; then the probabilities do not sum to 1, which raises.
_MAX_DRAWS = 10_000
# Largest deviation of a sum of probabilities from 1, by rounding.
_PROBABILITY_TOLERANCE = 1e-12


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
    tree = _make_tree("expected_loss", learner, rows, None, _Options(delay, budget, stop, limit))
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
    tree = _make_tree("random_order", learner, pool, None, _Options(delay, budget, stop, limit))
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
    tree = _make_tree("worst_pool", learner, rows, horizon, _Options(delay, budget, stop, limit))
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
    tree = _make_tree("worst_case", learner, rows, horizon, _Options(delay, budget, stop, limit))
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


def _mean_losses(tree: "_Tree") -> dict[_Path, float]:
    """Return the mean loss over all orders of each pool, by its numbers of rows.

    Prefixes with the same rows after which the learner is in the same state are merged: a learner
    that remembers sums only has few states. A prefix of a pool is a draw without replacement, so
    the mean loss of a round is the same for all pools but for hypergeometric weights.
    """
    kinds = len(tree.values)
    empty = (0,) * kinds
    # For the numbers of rows of a prefix: its states, with their probability over its orders.
    level: dict[_Path, list[_Merged]] = {empty: [_Merged(_Branch(1.0, tree.start()), ())]}
    round_losses: list[dict[tuple[_Path, int], float]] = []
    for _ in range(tree.horizon):
        losses: dict[tuple[_Path, int], float] = {}
        merged: dict[_Path, dict[Any, _Merged]] = defaultdict(dict)
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


def _probability(pool: _Path, counts: _Path, kind: int) -> float:
    """Return the probability that a shuffle of a pool begins with these rows, then this kind."""
    rows = sum(pool)
    seen = sum(counts)
    ways = math.prod(math.comb(size, count) for size, count in zip(pool, counts, strict=True))
    return ways / math.comb(rows, seen) * ((pool[kind] - counts[kind]) / (rows - seen))


def _all_sequences(tree: "_Tree") -> tuple[dict[_Path, float], float, _Path]:
    """Return the mean loss by numbers of rows, the worst regret, and its sequence."""
    tree.check_size(tree.horizon * math.log(len(tree.values)))
    losses: dict[_Path, list[float]] = defaultdict(list)
    best: dict[_Path, float] = {}
    adversarial = -math.inf
    path: _Path = ()
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


def _worst_pool(tree: "_Tree", means: dict[_Path, float]) -> tuple[float, Any]:
    """Return the largest regret in random order, and its pool."""
    regret, counts = max(
        (mean - tree.comparator_loss(counts), counts) for counts, mean in means.items()
    )
    return regret, tree.pool_of_counts(counts)


def _worst_iid(tree: "_Tree", means: dict[_Path, float], grid: int) -> tuple[float, list[float]]:
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


class _Options(NamedTuple):
    """Delay, budget with its stop rule, and the largest number of nodes."""

    delay: int
    budget: Budget | None
    stop: Stop
    limit: int


class _Choice(NamedTuple):
    """A possible play of a learner in one round, and its state after the play."""

    action: int
    probability: float
    after: _Snapshot


class _Branch(NamedTuple):
    """Outcome of the learner's rng: probability, state, actions without feedback."""

    weight: float
    snapshot: _Snapshot
    pending: tuple[tuple[int, float], ...] = ()


class _Merged(NamedTuple):
    """A state of the learner after a prefix, and the rows whose feedback is still to come."""

    branch: _Branch
    late: _Path


def _make_tree(
    owner: str, learner: Any, rows: _Input, horizon: int | None, options: _Options
) -> "_Tree":
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
        return _LabelTree(owner, learner, rows, horizon, options)
    return _LossTree(
        owner, learner, rows if isinstance(rows, Pool) else Pool(rows), horizon, options
    )


class _Tree(ABC):
    """Tree of all sequences of distinct rows, traversed depth first with one learner.

    A `kind` is the index of a distinct row. States are passed as snapshots, so that the traversal
    may return to any.

    values: `values[i]` is distinct row i as numbers: losses and costs, or features, label and
        weight.
    first, counts: position in the input and frequency of each distinct row.
    indices: kind of every row of the input.
    branches_on_actions: whether later states depend on the action played, one of at most
        `max_branches`.
    sees_features: whether the learner sees the row's features before it acts.
    """

    branches_on_actions = False
    max_branches = 1
    sees_features = False

    def __init__(
        self, owner: str, learner: Any, table: Floats, horizon: int | None, options: _Options
    ) -> None:
        self.values, self.first, indices, self.counts = np.unique(
            table, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self.indices = indices.ravel()
        self._owner = owner
        self._learner = learner
        self._nodes = 0
        self.horizon = (
            len(table) if horizon is None else _validate.integer(owner, "horizon", horizon, least=1)
        )
        self._limit = _validate.integer(owner, "limit", options.limit, least=1)
        self.delay = _validate.integer(owner, "delay", options.delay, least=0)

    @abstractmethod
    def pool(self, rows: Sequence[int]) -> Any:
        """Return the pool of the distinct rows with these indices, which may repeat."""

    @abstractmethod
    def comparator_loss(self, counts: Sequence[int]) -> float:
        """Return the loss of the comparator on these rows, scaled to the horizon."""

    @abstractmethod
    def start(self) -> _Snapshot:
        """Return the state of the learner before the first round."""

    @abstractmethod
    def choices(self, snapshot: _Snapshot, kind: int) -> list[_Choice]:
        """Return the possible plays in a state; the row is ignored unless `sees_features`."""

    @abstractmethod
    def observe(
        self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int
    ) -> _Snapshot:
        """Return the state after the feedback of an earlier round."""

    @abstractmethod
    def loss(self, action: int, kind: int) -> float:
        """Return the loss of an action in a row."""

    def key(self, snapshot: _Snapshot) -> Any:
        """Return a value that is equal for equal states only."""
        return snapshot

    def pool_of_counts(self, counts: Sequence[int]) -> Any:
        """Return the pool with these numbers of each distinct row."""
        return self.pool(np.repeat(np.arange(len(self.values)), counts).tolist())

    def not_enumerable(self, reason: str) -> ParameterError:
        """Return the error for random choices that cannot be enumerated; do not raise it."""
        return ParameterError(
            f"{self._owner}: expected a learner with known probabilities of its random choices, "
            "got "
            f"{type(self._learner).__name__} ({reason}); write compare(...) to estimate its "
            "regret from many orders."
        )

    def check_size(self, log_sequences: float) -> None:
        """Raise before the traversal if the number of sequences already exceeds the limit."""
        if (
            log_sequences + (self.horizon - 1) * math.log(self.max_branches)
            > math.log(self._limit) + 1e-9
        ):
            self._raise_too_large()

    def leaves(self, next_rows: Callable[[_Path], list[int]]) -> Iterator[tuple[_Path, float]]:
        """Yield every sequence of distinct rows with the learner's expected loss.

        next_rows: function from a path to the distinct rows that may follow it.
        """
        # Prefixes, the expected loss on them, and the possible learner states after them.
        stack: list[tuple[_Path, float, list[_Branch]]] = [((), 0.0, [_Branch(1.0, self.start())])]
        while stack:
            path, loss, branches = stack.pop()
            if len(path) == self.horizon:
                yield path, loss
                continue
            choices: list[list[_Choice]] = []
            for kind in reversed(next_rows(path)):
                if self.sees_features or not choices:
                    choices = [self.choices(branch.snapshot, kind) for branch in branches]
                following = (*path, kind)
                stack.append((following, *self._play(following, loss, branches, choices)))

    def step(self, branch: _Branch, path: _Path, round: int) -> tuple[float, list[_Branch]]:
        """Return the expected loss in one round, and the states after it.

        path: the rows whose feedback is still to come, the row of this round last.
        """
        choices = self.choices(branch.snapshot, path[-1])
        self._count(choices)
        loss = self._expected_loss(branch, choices, path[-1])
        if round == self.horizon:
            return loss, []
        return loss, self._observe(branch, choices, path, round)

    def _play(
        self, path: _Path, loss: float, before: list[_Branch], choices: list[list[_Choice]]
    ) -> tuple[float, list[_Branch]]:
        """Return the expected loss and the states after the last row of a path."""
        kind = path[-1]
        branches = []
        for branch, own_choices in zip(before, choices, strict=True):
            self._count(own_choices)
            loss += self._expected_loss(branch, own_choices, kind)
            if len(path) < self.horizon:
                branches += self._observe(branch, own_choices, path, len(path))
        return loss, branches

    def _count(self, choices: list[_Choice]) -> None:
        """Count the nodes after the choices of one state; raise if they are too many."""
        self._nodes += len(choices) if self.branches_on_actions else 1
        if self._nodes > self._limit:
            self._raise_too_large()

    def _expected_loss(self, branch: _Branch, choices: list[_Choice], kind: int) -> float:
        return branch.weight * sum(
            choice.probability * self.loss(choice.action, kind) for choice in choices
        )

    def _observe(
        self, branch: _Branch, own_choices: list[_Choice], path: _Path, round: int
    ) -> list[_Branch]:
        """Return the possible states after the feedback of the round `delay` ago.

        path: ends with the rows of the last `delay` + 1 rounds.
        """
        played = round - self.delay
        branches = []
        for choice in (
            own_choices if self.branches_on_actions else [_Choice(0, 1.0, own_choices[0].after)]
        ):
            snapshot = choice.after
            pending = (*branch.pending, (choice.action, choice.probability))
            if played > 0:
                (action, probability), *late = pending
                row = path[-self.delay - 1]
                snapshot = self.observe(snapshot, played, action, probability, row)
                pending = tuple(late)
            branches.append(_Branch(branch.weight * choice.probability, snapshot, pending))
        return branches

    def _raise_too_large(self) -> NoReturn:
        raise ParameterError(
            f"{self._owner}: expected a tree of at most limit={self._limit} nodes, got more for "
            f"{type(self._learner).__name__}, horizon {self.horizon} and {len(self.values)} "
            "distinct rows; write a "
            "smaller horizon, or a larger limit."
        )


class _LossTree(_Tree):
    """Tree of a learner of losses; a snapshot is a copy of its state and workspace.

    The comparator is the best action, or the best mix within the budget.
    """

    def __init__(
        self, owner: str, learner: Any, pool: Pool, horizon: int | None, options: _Options
    ) -> None:
        budget = options.budget
        losses = np.asarray(pool.losses, dtype=np.float64)
        costs = (
            None
            if budget is None or pool.costs is None
            else np.asarray(pool.costs, dtype=np.float64)
        )
        table = losses if costs is None else np.column_stack([losses, costs.reshape(pool.rows, -1)])
        super().__init__(owner, learner, table, horizon, options)
        self._pool = Pool(losses[self.first], costs=None if costs is None else costs[self.first])
        self._budget = budget
        budget_run = resolve_budget(self._pool, budget, options.stop)
        self._feedback_model = make_feedback_model(
            learner, self.horizon, actions=pool.k, budget_run=budget_run
        )
        self._rng = new_rng(np.random.SeedSequence(0))
        self._live = self._feedback_model.step_runner(learner, self._rng)
        self._arrays = [self._live.runner.memory, *_arrays(self._live.runner.workspace)]
        self._mixes = bool(learner.mixes)
        self._averages_mix = (
            self._mixes and budget_run is None
        )  # its state does not depend on the action drawn
        self.branches_on_actions = not (self._averages_mix and self._feedback_model.full_feedback)
        self.max_branches = (
            self._feedback_model.actions if self.branches_on_actions and self._mixes else 1
        )
        self._losses = np.column_stack(
            [losses[self.first], np.ones(len(self.values))]
        )  # a null loses 1
        self._costs = [None] * len(self.values) if costs is None else costs[self.first]
        self._k = pool.k
        self._plan_count = 0

    def pool(self, rows: Sequence[int]) -> Pool:
        indices = list(rows)
        costs = self._pool.costs
        return Pool(
            np.asarray(self._pool.losses)[indices],
            costs=None if costs is None else np.asarray(costs)[indices],
        )

    def comparator_loss(self, counts: Sequence[int]) -> float:
        share = self.horizon / sum(counts)
        if self._budget is None:
            return float((np.array(counts) @ self._pool.losses).min()) * share
        budget = replace(self._budget, amounts=tuple(self._budget.per_resource / share))
        return self.horizon * (1.0 - optimum(self.pool_of_counts(counts), budget).value)

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
        choices: dict[int, _Choice] = {}
        for _ in range(_MAX_DRAWS):
            known = choices.setdefault(action, _Choice(action, probability, self._snapshot()))
            if (
                known.probability != probability
                or not 0.0 < probability <= 1.0
                or (probability == 1.0 and not self._mixes)
            ):
                break
            if (
                math.fsum(choice.probability for choice in choices.values())
                >= 1.0 - _PROBABILITY_TOLERANCE
            ):
                return list(choices.values())
            self._restore(before)
            action, probability = self._live.act(self._plan_count)
        raise self.not_enumerable(
            f"it draws actions without their probabilities, got probability {probability:g}"
        )

    def observe(
        self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int
    ) -> _Snapshot:
        self._restore(snapshot)
        answer = self._feedback_model.outcome_of_row(
            self._losses[kind, : self._k], action, self._costs[kind]
        )
        self._live.learn(
            round, action, probability, self._feedback_model.encode(round, action, answer)
        )
        return self._snapshot()

    def loss(self, action: int, kind: int) -> float:
        return float(self._losses[kind, action])

    def key(self, snapshot: _Snapshot) -> Any:
        return tuple(array.tobytes() for array in snapshot)

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
        for array, saved in zip(self._arrays, snapshot, strict=True):
            array[...] = saved


class _LabelTree(_Tree):
    """Tree of a learner of labels; a snapshot is its history, which is replayed.

    Its feedback does not contain its prediction, so predictions are averaged by their probability.
    A second replay with another rng checks that this probability does not depend on earlier draws.
    The comparator is the best hypothesis of the learner's class.
    """

    sees_features = True

    def __init__(
        self, owner: str, learner: Any, pool: LabelledPool, horizon: int | None, options: _Options
    ) -> None:
        table = np.column_stack([pool.features, pool.labels, pool.weights])
        super().__init__(owner, learner, table, horizon, options)
        self._pool = LabelledPool(
            pool.features[self.first], pool.labels[self.first], pool.weights[self.first]
        )
        make_feedback_model(learner, self.horizon, actions=2, features=pool.dimensions)

    def pool(self, rows: Sequence[int]) -> LabelledPool:
        indices = list(rows)
        pool = self._pool
        return LabelledPool(pool.features[indices], pool.labels[indices], pool.weights[indices])

    def comparator_loss(self, counts: Sequence[int]) -> float:
        pool = self.pool_of_counts(counts)
        wrong = self._learner.hypotheses.best_labels(pool) != pool.labels
        return float(pool.weights[wrong].sum()) * (self.horizon / sum(counts))

    def start(self) -> _Snapshot:
        return ()

    def choices(self, snapshot: _Snapshot, kind: int) -> list[_Choice]:
        ones = [
            self._probability_of_one(new_rng(np.random.SeedSequence(seed)), snapshot, kind)
            for seed in (0, 1)
        ]
        if not abs(ones[0] - ones[1]) <= _PROBABILITY_TOLERANCE:
            raise self.not_enumerable("it draws labels with its rng without their probabilities")
        after = (*snapshot, (kind, False))
        return [
            _Choice(label, share, after)
            for label, share in ((0, 1.0 - ones[0]), (1, ones[0]))
            if share > 0.0
        ]

    def _probability_of_one(self, rng: RngState, snapshot: _Snapshot, kind: int) -> float:
        predictor = self._learner.start(self.horizon, self._pool.dimensions, rng)
        for before, observed in snapshot:
            row = self._pool.features[before]
            if observed:
                predictor.learn(
                    row, int(self._pool.labels[before]), float(self._pool.weights[before])
                )
            else:
                predictor.predict(row)
        with np.errstate(over="ignore"):
            label, probability = predictor.predict(self._pool.features[kind])
        return float(probability if label == 1 else 1.0 - probability)

    def observe(
        self, snapshot: _Snapshot, round: int, action: int, probability: float, kind: int
    ) -> _Snapshot:
        return (*snapshot, (kind, True))

    def loss(self, action: int, kind: int) -> float:
        return float(self._pool.weights[kind]) if action != self._pool.labels[kind] else 0.0


def _arrays(workspace: Any) -> list[Floats]:
    """Return all arrays of a nested workspace."""
    if isinstance(workspace, np.ndarray):
        return [workspace]
    return (
        [array for part in workspace for array in _arrays(part)]
        if isinstance(workspace, tuple)
        else []
    )
