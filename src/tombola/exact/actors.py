"""Actors: a learner that can be put back to any moment of its play, and asked what its coins can do there."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tombola.budget import Budget, Stop
from tombola.engine.coins import new_coins
from tombola.engine.memory import mix_of
from tombola.errors import ParameterError
from tombola.exact.kinds import Kinds, LabelKinds, LossKinds
from tombola.labels.learner import LabelLearner
from tombola.playing import allowance_on
from tombola.settings import kind_of, setting_of
from tombola.types import Coins, Floats

THROWS = 10_000  # of a coin, to see all that it can do
TINY = 1e-12  # a chance too small to matter

Moment: TypeAlias = tuple[Any, ...]  # all that an actor knows: arrays, or what it was shown and told so far


class Choice(NamedTuple):
    """One thing that a learner can do: an action with its chance, and the moment after it."""

    action: int
    chance: float
    after: Moment


class Actor(ABC):
    """A learner in its setting.

    `forks`: what it played matters later, and it may play up to `fan` actions; `looks`: it sees the row before it acts.
    """

    forks: bool
    fan: int
    looks: bool

    def __init__(self, owner: str, learner: Any) -> None:
        self._owner, self._name = owner, type(learner).__name__

    @abstractmethod
    def start(self) -> Moment:
        """Return the moment before the first round."""

    @abstractmethod
    def choices(self, moment: Moment, kind: int) -> list[Choice]:
        """Return all that the learner can do in a moment, on a row of this kind."""

    @abstractmethod
    def told(self, moment: Moment, round: int, action: int, chance: float, kind: int) -> Moment:
        """Return the moment after the learner was told what came of an action in an earlier round."""

    @abstractmethod
    def loss(self, action: int, kind: int) -> float:
        """Return what an action loses on a row of this kind."""

    def refusal(self, what: str) -> ParameterError:
        """Return the error that says that the coins of this learner cannot be averaged over."""
        return ParameterError(
            f"{self._owner}: expected a learner whose coins can be averaged over, got {self._name}, {what}; "
            "write compare(...) to estimate its regret from many orders."
        )


class Actions(Actor):
    """A learner of losses, full, bandit or under a budget: a moment is a copy of its memory and its desk."""

    looks = False

    def __init__(
        self, owner: str, learner: Any, kinds: LossKinds, horizon: int, budget: Budget | None, stop: Stop
    ) -> None:
        super().__init__(owner, learner)
        pool = kinds.pooled
        allowance = allowance_on(pool, budget, stop)
        self._setting = setting_of(learner, horizon, actions=pool.k, allowance=allowance)
        self._coins = new_coins(np.random.SeedSequence(0))
        self._live = self._setting.live(learner, self._coins)
        self._arrays = [self._live.player.memory, *_arrays(self._live.player.desk)]
        self._mixes = bool(learner.mixes)
        self._averages = self._mixes and allowance is None  # nothing that it has depends on what its mix draws
        self.forks = not (self._averages and self._setting.whole_rows)
        self.fan = self._setting.actions if self.forks and self._mixes else 1
        self._losses = np.column_stack([np.asarray(pool.losses, np.float64), np.ones(pool.rows)])  # a null loses 1
        self._costs = [None] * pool.rows if allowance is None or pool.costs is None else np.asarray(pool.costs)
        self._k, self._moments = pool.k, 0

    def start(self) -> Moment:
        """Return the moment before the first round."""
        return self._here()

    def choices(self, moment: Moment, kind: int) -> list[Choice]:
        """Let it plan, and return every action that it can choose."""
        before = self._planned(moment)
        thrown = self._coins.tobytes()
        action, chance = self._live.act(self._moments)
        if self._averages:
            after = self._here()
            mix = mix_of(self._live.player.memory).tolist()
            return [Choice(other, share, after) for other, share in enumerate(mix) if share > 0.0]
        if chance == 1.0 and self._coins.tobytes() == thrown:
            return [Choice(action, 1.0, self._here())]
        return self._thrown(before, action, chance)

    def _thrown(self, before: Moment, action: int, chance: float) -> list[Choice]:
        """Throw the coin until every action that has a chance has come up."""
        found: dict[int, Choice] = {}
        for _ in range(THROWS):
            known = found.setdefault(action, Choice(action, chance, self._here()))
            if known.chance != chance or not 0.0 < chance <= 1.0 or (chance == 1.0 and not self._mixes):
                break
            if math.fsum(choice.chance for choice in found.values()) >= 1.0 - TINY:
                return list(found.values())
            self._put(before)
            action, chance = self._live.act(self._moments)
        raise self.refusal(f"which throws coins and does not say the chances of all actions (chance {chance:g})")

    def told(self, moment: Moment, round: int, action: int, chance: float, kind: int) -> Moment:
        """Return the moment after it was told of an action and its row."""
        self._put(moment)
        answer = self._setting.answer(self._losses[kind, : self._k], action, self._costs[kind])
        self._live.learn(round, action, chance, self._setting.parse(round, action, answer))
        return self._here()

    def loss(self, action: int, kind: int) -> float:
        """Return the loss of an action; an added null action loses 1."""
        return float(self._losses[kind, action])

    def _planned(self, moment: Moment) -> Moment:
        """Put the learner back to a moment, and let it plan if it is due."""
        self._put(moment)
        thrown = self._coins.tobytes()
        self._moments += 1
        self._live.plan(self._moments)
        if self._coins.tobytes() != thrown:
            raise self.refusal("which plans by its coins")
        return self._here()

    def _here(self) -> Moment:
        return tuple(array.copy() for array in self._arrays)

    def _put(self, moment: Moment) -> None:
        for array, kept in zip(self._arrays, moment, strict=True):
            array[...] = kept


class Labelling(Actor):
    """A learner of labels: a moment is what it has predicted and was told, and it goes through all of it again.

    It is never told what it predicted, so its coin is averaged over by its chance; one twin with other coins shows that
    this chance does not depend on coins thrown before.
    """

    looks, forks, fan = True, False, 1

    def __init__(self, owner: str, learner: LabelLearner, kinds: LabelKinds, horizon: int) -> None:
        super().__init__(owner, learner)
        self._learner, self._pool, self._horizon = learner, kinds.pooled, horizon
        setting_of(learner, horizon, actions=2, features=kinds.pooled.dimensions)

    def start(self) -> Moment:
        """Return the moment before the first round."""
        return ()

    def choices(self, moment: Moment, kind: int) -> list[Choice]:
        """Return both labels with their chances."""
        ones = [self._chance_of_one(new_coins(np.random.SeedSequence(seed)), moment, kind) for seed in (0, 1)]
        if not abs(ones[0] - ones[1]) <= TINY:
            raise self.refusal("which throws coins and does not say the chances")
        after = (*moment, (kind, False))
        return [Choice(label, share, after) for label, share in ((0, 1.0 - ones[0]), (1, ones[0])) if share > 0.0]

    def _chance_of_one(self, coins: Coins, moment: Moment, kind: int) -> float:
        predictor = self._learner.start(self._horizon, self._pool.dimensions, coins)
        for before, told in moment:
            row = self._pool.features[before]
            if told:
                predictor.learn(row, int(self._pool.labels[before]), float(self._pool.weights[before]))
            else:
                predictor.predict(row)
        with np.errstate(over="ignore"):
            label, chance = predictor.predict(self._pool.features[kind])
        return chance if label == 1 else 1.0 - chance

    def told(self, moment: Moment, round: int, action: int, chance: float, kind: int) -> Moment:
        """Return the moment after it was told the label of a row."""
        return (*moment, (kind, True))

    def loss(self, action: int, kind: int) -> float:
        """Return the weight of a mistake."""
        return float(self._pool.weights[kind]) if action != self._pool.labels[kind] else 0.0


def actor_of(owner: str, learner: Any, kinds: Kinds, horizon: int, budget: Budget | None, stop: Stop) -> Actor:
    """Return a learner as an actor on these kinds of rows."""
    kind_of(learner)
    if isinstance(kinds, LabelKinds):
        return Labelling(owner, learner, kinds, horizon)
    assert isinstance(kinds, LossKinds)
    return Actions(owner, learner, kinds, horizon, budget, stop)


def _arrays(desk: Any) -> list[Floats]:
    """Return all arrays of a desk, and of what lies on it."""
    if isinstance(desk, np.ndarray):
        return [desk]
    return [array for part in desk for array in _arrays(part)] if isinstance(desk, tuple) else []
