"""Actors: a learner that can be put back to any moment of its play, and asked what its rng can do there."""

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
from tombola.exact.distinct_rows import DistinctRows, LabelKinds, LossKinds
from tombola.feedback import feedback_type, make_feedback_model
from tombola.rng import new_rng

THROWS = 10_000  # of a coin, to see all that it can do
TINY = 1e-12  # a probability too small to matter

Snapshot: TypeAlias = tuple[Any, ...]  # all that an actor knows: arrays, or what it was shown and told so far


class Choice(NamedTuple):
    """One thing that a learner can do: an action with its probability, and the moment after it."""

    action: int
    probability: float
    after: Snapshot


class EnumerableLearner(ABC):
    """A learner in its setting.

    `forks`: what it played matters later, and it may play up to `fan` actions; `looks`: it sees the row before it acts.
    """

    forks: bool
    fan: int
    looks: bool

    def __init__(self, owner: str, learner: Any) -> None:
        self._owner, self._name = owner, type(learner).__name__

    @abstractmethod
    def start(self) -> Snapshot:
        """Return the moment before the first round."""

    @abstractmethod
    def choices(self, moment: Snapshot, kind: int) -> list[Choice]:
        """Return all that the learner can do in a moment, on a row of this kind."""

    @abstractmethod
    def told(self, moment: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
        """Return the moment after the learner was told what came of an action in an earlier round."""

    @abstractmethod
    def loss(self, action: int, kind: int) -> float:
        """Return what an action loses on a row of this kind."""

    def refusal(self, what: str) -> ParameterError:
        """Return the error that says that the rng of this learner cannot be averaged over."""
        return ParameterError(
            f"{self._owner}: expected a learner whose rng can be averaged over, got {self._name}, {what}; "
            "write compare(...) to estimate its regret from many orders."
        )


class Actions(EnumerableLearner):
    """A learner of losses, full, bandit or under a budget: a moment is a copy of its memory and its workspace."""

    looks = False

    def __init__(
        self, owner: str, learner: Any, kinds: LossKinds, horizon: int, budget: Budget | None, stop: Stop
    ) -> None:
        super().__init__(owner, learner)
        pool = kinds.pooled
        budget_run = resolve_budget(pool, budget, stop)
        self._feedback_model = make_feedback_model(learner, horizon, actions=pool.k, budget_run=budget_run)
        self._coins = new_rng(np.random.SeedSequence(0))
        self._live = self._feedback_model.step_runner(learner, self._coins)
        self._arrays = [self._live.runner.memory, *_arrays(self._live.runner.workspace)]
        self._mixes = bool(learner.mixes)
        self._averages = self._mixes and budget_run is None  # nothing that it has depends on what its mix draws
        self.forks = not (self._averages and self._feedback_model.full_feedback)
        self.fan = self._feedback_model.actions if self.forks and self._mixes else 1
        self._losses = np.column_stack([np.asarray(pool.losses, np.float64), np.ones(pool.rows)])  # a null loses 1
        self._costs = [None] * pool.rows if budget_run is None or pool.costs is None else np.asarray(pool.costs)
        self._k, self._moments = pool.k, 0

    def start(self) -> Snapshot:
        """Return the moment before the first round."""
        return self._here()

    def choices(self, moment: Snapshot, kind: int) -> list[Choice]:
        """Let it plan, and return every action that it can choose."""
        before = self._planned(moment)
        thrown = self._coins.tobytes()
        action, probability = self._live.act(self._moments)
        if self._averages:
            after = self._here()
            mix = mix_slice(self._live.runner.memory).tolist()
            return [Choice(other, share, after) for other, share in enumerate(mix) if share > 0.0]
        if probability == 1.0 and self._coins.tobytes() == thrown:
            return [Choice(action, 1.0, self._here())]
        return self._thrown(before, action, probability)

    def _thrown(self, before: Snapshot, action: int, probability: float) -> list[Choice]:
        """Throw the coin until every action that has a probability has come up."""
        found: dict[int, Choice] = {}
        for _ in range(THROWS):
            known = found.setdefault(action, Choice(action, probability, self._here()))
            if (
                known.probability != probability
                or not 0.0 < probability <= 1.0
                or (probability == 1.0 and not self._mixes)
            ):
                break
            if math.fsum(choice.probability for choice in found.values()) >= 1.0 - TINY:
                return list(found.values())
            self._put(before)
            action, probability = self._live.act(self._moments)
        raise self.refusal(
            f"which throws rng and does not say the probabilities of all actions (probability {probability:g})"
        )

    def told(self, moment: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
        """Return the moment after it was told of an action and its row."""
        self._put(moment)
        answer = self._feedback_model.outcome_of_row(self._losses[kind, : self._k], action, self._costs[kind])
        self._live.learn(round, action, probability, self._feedback_model.encode(round, action, answer))
        return self._here()

    def loss(self, action: int, kind: int) -> float:
        """Return the loss of an action; an added null action loses 1."""
        return float(self._losses[kind, action])

    def _planned(self, moment: Snapshot) -> Snapshot:
        """Put the learner back to a moment, and let it plan if it is due."""
        self._put(moment)
        thrown = self._coins.tobytes()
        self._moments += 1
        self._live.plan(self._moments)
        if self._coins.tobytes() != thrown:
            raise self.refusal("which plans by its rng")
        return self._here()

    def _here(self) -> Snapshot:
        return tuple(array.copy() for array in self._arrays)

    def _put(self, moment: Snapshot) -> None:
        for array, kept in zip(self._arrays, moment, strict=True):
            array[...] = kept


class Labelling(EnumerableLearner):
    """A learner of labels: a moment is what it has predicted and was told, and it goes through all of it again.

    It is never told what it predicted, so its coin is averaged over by its probability; one twin with other rng shows that
    this probability does not depend on rng thrown before.
    """

    looks, forks, fan = True, False, 1

    def __init__(self, owner: str, learner: LabelLearner, kinds: LabelKinds, horizon: int) -> None:
        super().__init__(owner, learner)
        self._learner, self._pool, self._horizon = learner, kinds.pooled, horizon
        make_feedback_model(learner, horizon, actions=2, features=kinds.pooled.dimensions)

    def start(self) -> Snapshot:
        """Return the moment before the first round."""
        return ()

    def choices(self, moment: Snapshot, kind: int) -> list[Choice]:
        """Return both labels with their probabilities."""
        ones = [self._chance_of_one(new_rng(np.random.SeedSequence(seed)), moment, kind) for seed in (0, 1)]
        if not abs(ones[0] - ones[1]) <= TINY:
            raise self.refusal("which throws rng and does not say the probabilities")
        after = (*moment, (kind, False))
        return [Choice(label, share, after) for label, share in ((0, 1.0 - ones[0]), (1, ones[0])) if share > 0.0]

    def _chance_of_one(self, rng: RngState, moment: Snapshot, kind: int) -> float:
        predictor = self._learner.start(self._horizon, self._pool.dimensions, rng)
        for before, told in moment:
            row = self._pool.features[before]
            if told:
                predictor.learn(row, int(self._pool.labels[before]), float(self._pool.weights[before]))
            else:
                predictor.predict(row)
        with np.errstate(over="ignore"):
            label, probability = predictor.predict(self._pool.features[kind])
        return probability if label == 1 else 1.0 - probability

    def told(self, moment: Snapshot, round: int, action: int, probability: float, kind: int) -> Snapshot:
        """Return the moment after it was told the label of a row."""
        return (*moment, (kind, True))

    def loss(self, action: int, kind: int) -> float:
        """Return the weight of a mistake."""
        return float(self._pool.weights[kind]) if action != self._pool.labels[kind] else 0.0


def actor_of(
    owner: str, learner: Any, kinds: DistinctRows, horizon: int, budget: Budget | None, stop: Stop
) -> EnumerableLearner:
    """Return a learner as an actor on these kinds of rows."""
    feedback_type(learner)
    if isinstance(kinds, LabelKinds):
        return Labelling(owner, learner, kinds, horizon)
    assert isinstance(kinds, LossKinds)
    return Actions(owner, learner, kinds, horizon, budget, stop)


def _arrays(workspace: Any) -> list[Floats]:
    """Return all arrays of a workspace, and of what lies on it."""
    if isinstance(workspace, np.ndarray):
        return [workspace]
    return [array for part in workspace for array in _arrays(part)] if isinstance(workspace, tuple) else []
