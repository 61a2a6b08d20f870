"""Learners with restorable state and enumerable random choices."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola._play import resolve_budget
from tombola._types import Floats, RngState
from tombola.budget.budget import Budget, Stop
from tombola.classification.learner import LabelLearner
from tombola.engine.state_vector import mix_slice
from tombola.errors import ParameterError
from tombola.exact.distinct_rows import DistinctRows, LabelRows, LossRows
from tombola.feedback import feedback_type, make_feedback_model
from tombola.rng import new_rng

# Draws by which every possible action of a learner without a mix must have come up. Actions with a probability below
# 1e-3 may be missed; then the probabilities do not sum to 1, which raises.
_MAX_DRAWS = 10_000
# Largest deviation of a sum of probabilities from 1, by rounding.
_PROBABILITY_TOLERANCE = 1e-12

# Complete state of a learner, to return to: copies of its arrays, or its history for learners of labels.
Snapshot: TypeAlias = tuple[Any, ...]


class Choice(NamedTuple):
    """A possible play of a learner in one round.

    action, probability: index of the action, and its probability.
    after: state of the learner after the play.
    """

    action: int
    probability: float
    after: Snapshot


class _EnumerableLearner(ABC):
    """Base class of learners with an expected loss computed by enumeration.

    A `kind` is the index of a distinct row. States are passed as snapshots, so that the caller may return to any of
    them.

    branches_on_actions: whether later states depend on the action played, one of at most `max_branches`.
    sees_features: whether the learner sees the row's features before it acts.
    """

    branches_on_actions: bool
    max_branches: int
    sees_features: bool

    def __init__(self, owner: str, learner: Any) -> None:
        self._owner, self._name = owner, type(learner).__name__

    @abstractmethod
    def start(self) -> Snapshot:
        """Return the snapshot before the first round."""

    @abstractmethod
    def choices(self, snapshot: Snapshot, kind: int) -> list[Choice]:
        """Return the possible actions in a state, with their probabilities.

        snapshot: the state.
        kind: index of the distinct row to be played; ignored unless `sees_features`.
        """

    @abstractmethod
    def observe(self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
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
    """A learner of losses; a snapshot is a copy of its state and workspace.

    Feedback is full, bandit or budgeted.
    """

    sees_features = False

    def __init__(
        self, owner: str, learner: Any, distinct: LossRows, horizon: int, budget: Budget | None, stop: Stop
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
        found: dict[int, Choice] = {}
        for _ in range(_MAX_DRAWS):
            known = found.setdefault(action, Choice(action, probability, self._snapshot()))
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

    def observe(self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
        self._restore(snapshot)
        answer = self._feedback_model.outcome_of_row(self._losses[kind, : self._k], action, self._costs[kind])
        self._live.learn(round, action, probability, self._feedback_model.encode(round, action, answer))
        return self._snapshot()

    def loss(self, action: int, kind: int) -> float:
        return float(self._losses[kind, action])

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
        for array, kept in zip(self._arrays, snapshot, strict=True):
            array[...] = kept


class _LabelPredictor(_EnumerableLearner):
    """A learner of labels; a snapshot is its history, which is replayed.

    Its feedback does not contain its prediction, so predictions are averaged by their probability. A second replay with
    another rng checks that this probability does not depend on earlier draws.
    """

    sees_features, branches_on_actions, max_branches = True, False, 1

    def __init__(self, owner: str, learner: LabelLearner, distinct: LabelRows, horizon: int) -> None:
        super().__init__(owner, learner)
        self._learner, self._pool, self._horizon = learner, distinct.distinct_pool, horizon
        make_feedback_model(learner, horizon, actions=2, features=distinct.distinct_pool.dimensions)

    def start(self) -> Snapshot:
        return ()

    def choices(self, snapshot: Snapshot, kind: int) -> list[Choice]:
        ones = [self._probability_of_one(new_rng(np.random.SeedSequence(seed)), snapshot, kind) for seed in (0, 1)]
        if not abs(ones[0] - ones[1]) <= _PROBABILITY_TOLERANCE:
            raise self.not_enumerable("it draws labels with its rng without their probabilities")
        after = (*snapshot, (kind, False))
        return [Choice(label, share, after) for label, share in ((0, 1.0 - ones[0]), (1, ones[0])) if share > 0.0]

    def _probability_of_one(self, rng: RngState, snapshot: Snapshot, kind: int) -> float:
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

    def observe(self, snapshot: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
        return (*snapshot, (kind, True))

    def loss(self, action: int, kind: int) -> float:
        return float(self._pool.weights[kind]) if action != self._pool.labels[kind] else 0.0


def make_enumerable(
    owner: str, learner: Any, distinct: DistinctRows, horizon: int, budget: Budget | None, stop: Stop
) -> _EnumerableLearner:
    """Return a learner in a form that lists all random choices with probabilities.

    Its states can be saved and restored. Raises ParameterError if that is not possible.

    owner: function that the user called, named in error messages.
    learner: of actions, or of labels.
    distinct: distinct rows of the input.
    horizon: number of rounds.
    budget, stop: budget or None, and its stop rule, "fits" or "strict" (`Stop`).
    """
    feedback_type(learner)
    if isinstance(distinct, LabelRows):
        return _LabelPredictor(owner, learner, distinct, horizon)
    assert isinstance(distinct, LossRows)
    return _LossLearner(owner, learner, distinct, horizon, budget, stop)


def _arrays(workspace: Any) -> list[Floats]:
    """Return all arrays of a nested workspace."""
    if isinstance(workspace, np.ndarray):
        return [workspace]
    return [array for part in workspace for array in _arrays(part)] if isinstance(workspace, tuple) else []
