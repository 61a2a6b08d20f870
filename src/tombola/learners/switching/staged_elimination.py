"""Elimination in stages: every active action plays until its count grows by half.

At the end of a stage all active actions have the same count, for every history: bounds for a fixed
count apply, action by action (docs/theory/switching.md). The order is reversed after each stage, so
that the last action of a stage is the first of the next. Radii: Serfling 1974; Bardenet and
Maillard 2015.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds import switching
from tombola.bounds.common import capped
from tombola.evidence.intervals import bernstein_serfling_radius, serfling_radius
from tombola.learners.bandit.counts import drop_inferior, update_mean
from tombola.learners.base import Feedback, Kernel, Kernels, Learner
from tombola.learners.parameters import real


class State(NamedTuple):
    """State of the learners: position in the stage, counts and means.

    population, level: number of rows of the pool, and error probability of a two-sided interval.
    target: plays that every active action reaches in this stage.
    stretch, rest: plays of each action in this stage, and those left of the current one.
    turn: position of the current action in `active`.
    left, active: the first `left` entries of `active` are the active actions.
    radii: radius of the confidence interval of each action.
    seen, means, squares: losses observed of each action, their mean, and their sum of squared
        deviations from it.
    """

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


@dataclass(frozen=True)
class SerflingElimination(Learner):
    """Play active actions in stages, and drop the inferior ones after each.

    A stage ends when the count of each has grown by half. Then action a is dropped if mean(a) -
    r(a) > min_b (mean(b) + r(b)), r = sqrt((1 - (n-1)/T) ln(k S / delta) / (2 n)), for the n losses
    seen of an action, k actions and S ends of stages in all (Serfling 1974): the radius shrinks to
    0 as the pool is used up. The first stage is as long as the first drop needs.

    delta: probability that the best action is dropped; None is 1/T. Then the regret is at most
        `bounds.switching.elimination`, of order sqrt(k T ln T) + price k ln T. A small delta is for
        the proof; 0.1 plays better.
    price: cost of a switch, in losses; only `bound` uses it.

    >>> from tombola import Pool, play
    >>> trace = play(SerflingElimination(delta=0.1), Pool([[1.0, 0.0]] * 60), seed=0)
    >>> trace.actions.tolist() == [0] * 9 + [1] * 51
    True
    """

    delta: float | None = real(None, least=1e-200, below=1)
    price: float = real(1.0, least=0, most=1e12)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> State:
        counts = switching.elimination_counts(horizon, actions, self.delta)
        # Level of a two-sided interval; only one side is needed.
        level = 2 * math.exp(-switching.elimination_log(len(counts), horizon, actions, self.delta))
        return State(
            float(horizon), level, *first_stage(actions, counts[0]), *np.zeros((4, actions))
        )

    @staticmethod
    def radius(state: State, action: int) -> float:
        """Return the radius of the confidence interval of a mean loss; a kernel.

        The true mean loss over the pool is within mean +- radius, up to the error probability
        `state.level`.
        """
        return serfling_radius(state.seen[action], state.population, state.level)

    def kernels(self, actions: int, horizon: int) -> Kernels:
        return super().kernels(actions, horizon)._replace(act=_make_act(self.radius))

    @staticmethod
    def act(state: State, rng: RngState) -> tuple[int, float]:
        raise AssertionError("a learner by stages acts through its kernels")

    @staticmethod
    def observe(state: State, action: int, probability: float, loss: float) -> None:
        before = state.means[action]
        update_mean(state.seen, state.means, action, loss)
        state.squares[action] += (loss - before) * (loss - state.means[action])

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return (
            None if delay > 0 else switching.elimination(horizon, actions, self.price, self.delta)
        )


@dataclass(frozen=True)
class BernsteinElimination(SerflingElimination):
    """Play as `SerflingElimination`, with a radius that also uses the variance seen.

    The radius is the smaller one of Serfling's and of the empirical Bernstein-Serfling radius, each
    at half the level: about sqrt(2 v L / n) + 4.5 L / n for the variance v of n losses and S ends
    of stages in all, L = ln(7 k S / delta). It drops sooner where losses are nearly constant, and
    hardly later elsewhere.

    >>> from tombola import Pool, play
    >>> pool = Pool([[0.1, 0.0]] * 10_000)
    >>> play(BernsteinElimination(), pool, seed=0).regret < play(SerflingElimination(), pool, seed=0).regret
    True
    """

    @staticmethod
    def radius(state: State, action: int) -> float:
        seen = state.seen[action]
        level = 0.5 * state.level
        variance = state.squares[action] / max(seen, 1.0)
        return min(
            serfling_radius(seen, state.population, level),
            bernstein_serfling_radius(seen, state.population, variance, level),
        )

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        delta = 1 / horizon if self.delta is None else self.delta
        bound = switching.elimination(horizon, actions, self.price, delta / 2) + delta / 2 * horizon
        most = horizon + self.price * switching.elimination_switches(horizon, actions, delta / 2)
        return None if delay > 0 else capped(bound, most, actions)


def _make_act(radius: Kernel) -> Kernel:
    """Return the kernel `act`, which plays in stages and drops actions after each."""

    def act(state: State, rng: RngState) -> tuple[int, float]:
        if state.turn[0] >= state.left[0]:
            if state.left[0] > 1.0:
                for action in range(state.radii.size):
                    state.radii[action] = radius(state, action)
                drop_inferior(state.left, state.active, state.seen, state.means, state.radii)
            next_stage(state)
        return next_play(state), 1.0

    return act


def first_stage(actions: int, plays: int) -> tuple[Floats, ...]:
    """Return the first values of the fields `target` to `active` of `State`.

    plays: plays of each action in the first stage.
    """
    turn = np.zeros(1)
    left = np.full(1, float(actions))
    everyone = np.arange(actions, dtype=np.float64)
    return (*np.full((3, 1), float(plays)), turn, left, everyone)


def next_stage(state: Any) -> None:
    """Begin a stage: reverse the order of actions, and raise `target` by half.

    A kernel. With the order reversed, no switch is needed between stages.
    """
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
    """Return the current action of the stage, from 0, and count its play; a kernel.

    After the last play of its stretch, the next active action becomes the current one. Call
    `next_stage` first if `turn` >= `left`.
    """
    action = int(state.active[int(state.turn[0])])
    state.rest[0] -= 1.0
    if state.rest[0] == 0.0:
        state.turn[0] += 1.0
        state.rest[0] = state.stretch[0]
    return action
