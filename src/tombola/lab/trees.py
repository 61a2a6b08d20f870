"""Trees of all sequences of rows, with the states of one learner after each prefix.

Sequences with a common prefix share its computation: a node of the tree is a prefix with the
possible learner states after it. The learner's rng is enumerated, not sampled: a mix is averaged
over, and the tree branches over actions where later states depend on the action played (bandit
feedback, budgets).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from tombola import _validate
from tombola._play import resolve_budget
from tombola._types import Floats, RngState
from tombola.budget.budget import Budget, Stop
from tombola.budget.optimum import optimum
from tombola.classification.pool import LabelledPool
from tombola.engine.state_vector import mix_slice
from tombola.errors import ParameterError
from tombola.feedback import make_feedback_model
from tombola.pool import Pool
from tombola.rng import new_rng

# A node of the tree of all orders: the indices of the distinct rows of the first rounds, in the
# order of play.
Path: TypeAlias = tuple[int, ...]
# Complete state of a learner, to return to: copies of its arrays, or its history for learners of
# labels.
Snapshot: TypeAlias = tuple[Any, ...]
# Draws by which every possible action of a learner without a mix must have come up. Actions with a
# probability below 1e-3 may be missed; then the probabilities do not sum to 1, which raises.
_MAX_DRAWS = 10_000
# Largest deviation of a sum of probabilities from 1, by rounding.
_PROBABILITY_TOLERANCE = 1e-12


class Options(NamedTuple):
    """Delay, budget with its stop rule, and the largest number of nodes."""

    delay: int
    budget: Budget | None
    stop: Stop
    limit: int


class Choice(NamedTuple):
    """A possible play of a learner in one round, and its state after the play."""

    action: int
    probability: float
    after: Snapshot


class Branch(NamedTuple):
    """Outcome of the learner's rng: probability, state, actions without feedback."""

    weight: float
    snapshot: Snapshot
    pending: tuple[tuple[int, float], ...] = ()


class Tree(ABC):
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
        self, owner: str, learner: Any, table: Floats, horizon: int | None, options: Options
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
    def start(self) -> Snapshot:
        """Return the state of the learner before the first round."""

    @abstractmethod
    def choices(self, snapshot: Snapshot, kind: int) -> list[Choice]:
        """Return the possible plays in a state; the row is ignored unless `sees_features`."""

    @abstractmethod
    def observe(
        self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int
    ) -> Snapshot:
        """Return the state after the feedback of an earlier round."""

    @abstractmethod
    def loss(self, action: int, kind: int) -> float:
        """Return the loss of an action in a row."""

    def key(self, snapshot: Snapshot) -> Any:
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

    def leaves(self, next_rows: Callable[[Path], list[int]]) -> Iterator[tuple[Path, float]]:
        """Yield every sequence of distinct rows with the learner's expected loss.

        next_rows: function from a path to the distinct rows that may follow it.
        """
        # Prefixes, the expected loss on them, and the possible learner states after them.
        stack: list[tuple[Path, float, list[Branch]]] = [((), 0.0, [Branch(1.0, self.start())])]
        while stack:
            path, loss, branches = stack.pop()
            if len(path) == self.horizon:
                yield path, loss
                continue
            choices: list[list[Choice]] = []
            for kind in reversed(next_rows(path)):
                if self.sees_features or not choices:
                    choices = [self.choices(branch.snapshot, kind) for branch in branches]
                following = (*path, kind)
                stack.append((following, *self._play(following, loss, branches, choices)))

    def step(self, branch: Branch, path: Path, round: int) -> tuple[float, list[Branch]]:
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
        self, path: Path, loss: float, before: list[Branch], choices: list[list[Choice]]
    ) -> tuple[float, list[Branch]]:
        """Return the expected loss and the states after the last row of a path."""
        kind = path[-1]
        branches = []
        for branch, own_choices in zip(before, choices, strict=True):
            self._count(own_choices)
            loss += self._expected_loss(branch, own_choices, kind)
            if len(path) < self.horizon:
                branches += self._observe(branch, own_choices, path, len(path))
        return loss, branches

    def _count(self, choices: list[Choice]) -> None:
        """Count the nodes after the choices of one state; raise if they are too many."""
        self._nodes += len(choices) if self.branches_on_actions else 1
        if self._nodes > self._limit:
            self._raise_too_large()

    def _expected_loss(self, branch: Branch, choices: list[Choice], kind: int) -> float:
        return branch.weight * sum(
            choice.probability * self.loss(choice.action, kind) for choice in choices
        )

    def _observe(
        self, branch: Branch, own_choices: list[Choice], path: Path, round: int
    ) -> list[Branch]:
        """Return the possible states after the feedback of the round `delay` ago.

        path: ends with the rows of the last `delay` + 1 rounds.
        """
        played = round - self.delay
        branches = []
        for choice in (
            own_choices if self.branches_on_actions else [Choice(0, 1.0, own_choices[0].after)]
        ):
            snapshot = choice.after
            pending = (*branch.pending, (choice.action, choice.probability))
            if played > 0:
                (action, probability), *late = pending
                row = path[-self.delay - 1]
                snapshot = self.observe(snapshot, played, action, probability, row)
                pending = tuple(late)
            branches.append(Branch(branch.weight * choice.probability, snapshot, pending))
        return branches

    def _raise_too_large(self) -> NoReturn:
        raise ParameterError(
            f"{self._owner}: expected a tree of at most limit={self._limit} nodes, got more for "
            f"{type(self._learner).__name__}, horizon {self.horizon} and {len(self.values)} "
            "distinct rows; write a "
            "smaller horizon, or a larger limit."
        )


class LossTree(Tree):
    """Tree of a learner of losses; a snapshot is a copy of its state and workspace.

    The comparator is the best action, or the best mix within the budget.
    """

    def __init__(
        self, owner: str, learner: Any, pool: Pool, horizon: int | None, options: Options
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

    def start(self) -> Snapshot:
        return self._snapshot()

    def choices(self, snapshot: Snapshot, kind: int) -> list[Choice]:
        before = self._plan(snapshot)
        rng_before = self._rng.tobytes()
        action, probability = self._live.act(self._plan_count)
        if self._averages_mix:
            after = self._snapshot()
            mix = mix_slice(self._live.runner.memory).tolist()
            return [Choice(other, share, after) for other, share in enumerate(mix) if share > 0.0]
        if probability == 1.0 and self._rng.tobytes() == rng_before:
            return [Choice(action, 1.0, self._snapshot())]
        return self._enumerate_draws(before, action, probability)

    def _enumerate_draws(self, before: Snapshot, action: int, probability: float) -> list[Choice]:
        """Draw until the probabilities of the drawn actions sum to 1."""
        choices: dict[int, Choice] = {}
        for _ in range(_MAX_DRAWS):
            known = choices.setdefault(action, Choice(action, probability, self._snapshot()))
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
        self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int
    ) -> Snapshot:
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

    def key(self, snapshot: Snapshot) -> Any:
        return tuple(array.tobytes() for array in snapshot)

    def _plan(self, snapshot: Snapshot) -> Snapshot:
        """Restore a state, and let the learner plan if it needs to."""
        self._restore(snapshot)
        rng_before = self._rng.tobytes()
        self._plan_count += 1
        self._live.plan(self._plan_count)
        if self._rng.tobytes() != rng_before:
            raise self.not_enumerable("it plans with its rng")
        return self._snapshot()

    def _snapshot(self) -> Snapshot:
        return tuple(array.copy() for array in self._arrays)

    def _restore(self, snapshot: Snapshot) -> None:
        for array, saved in zip(self._arrays, snapshot, strict=True):
            array[...] = saved


class LabelTree(Tree):
    """Tree of a learner of labels; a snapshot is its history, which is replayed.

    Its feedback does not contain its prediction, so predictions are averaged by their probability.
    A second replay with another rng checks that this probability does not depend on earlier draws.
    The comparator is the best hypothesis of the learner's class.
    """

    sees_features = True

    def __init__(
        self, owner: str, learner: Any, pool: LabelledPool, horizon: int | None, options: Options
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

    def start(self) -> Snapshot:
        return ()

    def choices(self, snapshot: Snapshot, kind: int) -> list[Choice]:
        ones = [
            self._probability_of_one(new_rng(np.random.SeedSequence(seed)), snapshot, kind)
            for seed in (0, 1)
        ]
        if not abs(ones[0] - ones[1]) <= _PROBABILITY_TOLERANCE:
            raise self.not_enumerable("it draws labels with its rng without their probabilities")
        after = (*snapshot, (kind, False))
        return [
            Choice(label, share, after)
            for label, share in ((0, 1.0 - ones[0]), (1, ones[0]))
            if share > 0.0
        ]

    def _probability_of_one(self, rng: RngState, snapshot: Snapshot, kind: int) -> float:
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
        self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int
    ) -> Snapshot:
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
