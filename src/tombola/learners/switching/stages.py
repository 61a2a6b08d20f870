"""Elimination in stages: every active action plays until its count grows by half.

At the end of a stage all active actions have the same count, for every history: bounds for a fixed count
apply, action by action (docs/theory/switching.md). Going forth and back, an action that ends a stage begins the next.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.bounds.switching import elimination_counts, elimination_depth
from tombola.learners.bandit.counts import update_mean
from tombola.learners.base import Feedback, Kernel, Kernels, Learner


class State(NamedTuple):
    """Target count, plays and rest of a stretch, turn, active actions."""

    population: float
    level: float
    target: Floats
    stretch: Floats
    rest: Floats
    turn: Floats
    left: Floats
    active: Floats
    radii: Floats
    seen: Floats
    means: Floats
    squares: Floats


def first_state(actions: int, horizon: int, delta: float | None) -> State:
    """Return the first state; all intervals hold with probability 1 - `delta`."""
    counts = elimination_counts(horizon, actions, delta)
    level = 2 * math.exp(-elimination_depth(len(counts), horizon, actions, delta))  # of both sides; one is needed
    return State(
        population=float(horizon),
        level=level,
        target=np.full(1, float(counts[0])),
        stretch=np.full(1, float(counts[0])),
        rest=np.full(1, float(counts[0])),
        turn=np.zeros(1),
        left=np.full(1, float(actions)),
        active=np.arange(actions, dtype=np.float64),
        radii=np.zeros(actions),
        seen=np.zeros(actions),
        means=np.zeros(actions),
        squares=np.zeros(actions),
    )


@dataclass(frozen=True)
class StagedElimination(Learner):
    """Base class of learners that eliminate actions by `radius` after each stage."""

    delta: float | None = None
    price: float = 1.0
    feedback: ClassVar[Feedback] = "bandit"

    def __post_init__(self) -> None:
        name = type(self).__name__
        _validate.real(name, "price", self.price, least=0, most=1e12)
        if self.delta is not None:
            _validate.real(name, "delta", self.delta, least=1e-200, below=1)

    def init(self, actions: int, horizon: int) -> State:
        return first_state(actions, horizon, self.delta)

    @staticmethod
    @abstractmethod
    def radius(state: State, action: int) -> float:
        """Return how far the mean of an action may be from the truth."""

    def kernels(self, actions: int, horizon: int) -> Kernels:
        return super().kernels(actions, horizon)._replace(act=player_of(self.radius))

    @staticmethod
    def act(state: State, rng: RngState) -> tuple[int, float]:
        raise AssertionError("a learner by stages acts through its kernels")

    @staticmethod
    def observe(state: State, action: int, probability: float, loss: float) -> None:
        before = state.means[action]
        update_mean(state.seen, state.means, action, loss)
        state.squares[action] += (loss - before) * (loss - state.means[action])


def player_of(radius: Kernel) -> Kernel:
    """Return the kernel that plays the current action and eliminates after a stage."""

    def act(state: State, rng: RngState) -> tuple[int, float]:
        if stage_over(state):
            if state.left[0] > 1.0:
                for action in range(state.radii.size):
                    state.radii[action] = radius(state, action)
                drop(state.left, state.active, state.seen, state.means, state.radii)
            next_stage(state)
        return next_play(state), 1.0

    return act


def stage_over(state: Any) -> bool:
    """Tell whether all active actions have had their stretch."""
    return bool(state.turn[0] >= state.left[0])


def next_stage(state: Any) -> None:
    """Begin a stage: reverse the order, so that no switch is needed; raise the count."""
    left = int(state.left[0])
    for place in range(left // 2):
        other = state.active[left - 1 - place]
        state.active[left - 1 - place] = state.active[place]
        state.active[place] = other
    target = float(math.ceil(1.5 * state.target[0]))
    state.stretch[0] = target - state.target[0]
    state.target[0] = target
    state.rest[0] = state.stretch[0]
    state.turn[0] = 0.0


def next_play(state: Any) -> int:
    """Return the current action, and count the play."""
    action = int(state.active[int(state.turn[0])])
    state.rest[0] -= 1.0
    if state.rest[0] == 0.0:
        state.turn[0] += 1.0
        state.rest[0] = state.stretch[0]
    return action


def drop(left: Floats, active: Floats, seen: Floats, means: Floats, radii: Floats) -> None:
    """Drop active actions with mean - radius > min (mean + radius), if answered."""
    ceiling = math.inf
    for place in range(int(left[0])):
        action = int(active[place])
        if seen[action] > 0.0:
            ceiling = min(ceiling, means[action] + radii[action])
    kept = 0
    for place in range(int(left[0])):
        action = int(active[place])
        if seen[action] == 0.0 or means[action] - radii[action] <= ceiling:
            active[kept] = action
            kept += 1
    left[0] = kept
