"""Stages: in each, every active action plays until its count is half as large again, forth and back.

At the end of a stage all active actions have the same count, whatever was dropped before: bounds for a fixed count
apply, action by action (docs/theory/switching.md). Going forth and back, an action that ends a stage begins the next.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola.bounds.switching import elimination_counts, elimination_depth
from tombola.types import Floats


class State(NamedTuple):
    """The count to reach, the plays of a stretch and those left of it, whose turn it is, and the active actions."""

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
    """Return the state before the first round; what is needed of all intervals holds but with chance `delta`."""
    counts = elimination_counts(horizon, actions, delta)
    level = 2 * math.exp(-elimination_depth(len(counts), horizon, actions, delta))  # of both sides; one is needed
    target, stretch, rest = np.full((3, 1), float(counts[0]))
    left, everyone = np.full(1, float(actions)), np.arange(actions, dtype=np.float64)
    return State(float(horizon), level, target, stretch, rest, np.zeros(1), left, everyone, *np.zeros((4, actions)))


def stage_over(state: Any) -> bool:
    """Tell whether all active actions have had their stretch."""
    return bool(state.turn[0] >= state.left[0])


def next_stage(state: Any) -> None:
    """Turn the order round, so that the action being played goes on, and raise the count by half."""
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
    """Return the action whose stretch it is, and count the play."""
    action = int(state.active[int(state.turn[0])])
    state.rest[0] -= 1.0
    if state.rest[0] == 0.0:
        state.turn[0] += 1.0
        state.rest[0] = state.stretch[0]
    return action


def drop(left: Floats, active: Floats, seen: Floats, means: Floats, radii: Floats) -> None:
    """Drop every active action with mean - radius > min (mean + radius); one never answered stays."""
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
