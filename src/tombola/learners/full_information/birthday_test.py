"""Birthday test (paper, Section 3): learns i.i.d. input, fails in random order."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.bandit.counts import argmin
from tombola.learners.base import Feedback, Learner
from tombola.learners.full_information.follow_the_leader import add_losses
from tombola.learners.parameters import integer

# Largest distance of a float64 loss from a grid point, in steps of the grid. A float32 loss is off
# by up to 2^-24 of its size, so grid * _SINGLE is added.
_TOLERANCE = 1e-6
# Relative rounding error of float32, with a factor of 2.
_SINGLE = 2.0**-23


class _State(NamedTuple):
    grid: float  # number of points; `seen` is 1 for each point seen
    seen: Floats
    fired: Floats  # 1 once the test has fired
    totals: Floats  # total loss of each action since then


def fires(seen: Floats, grid: float, loss: float) -> bool:
    """Return whether a loss is off the grid or repeated; otherwise mark it as seen.

    A kernel. The grid is {1/grid, ..., grid/grid}; entry i of `seen` is 1 if the loss i/grid was
    seen.
    """
    point = math.floor(grid * loss + 0.5)
    if (
        point < 1
        or point > grid
        or abs(grid * loss - point) > min(0.25, _TOLERANCE + grid * _SINGLE)
    ):
        return True
    if seen[int(point)] > 0.0:
        return True
    seen[int(point)] = 1.0
    return False


@dataclass(frozen=True)
class BirthdayTest(Learner):
    """Play action 0 until a loss of it repeats or is off the grid; then the leader.

    Follow the leader starts from scratch. The grid is {1/g, ..., g/g} with g = `grid`, or the
    horizon T without one. On i.i.d. input the test fires after at most 2 sqrt(T) rounds on average,
    so the regret is O(sqrt(T log k)). In random order it has no bound: on the pool whose action 0
    loses 1/T, ..., T/T it never fires, and the regret is linear.

    grid: number g of points of the grid, at least 1; None is the horizon.

    >>> from tombola import Pool, play
    >>> play(BirthdayTest(), Pool([[0.25, 0], [1, 0], [0.5, 0], [0.75, 0]]), order="given", seed=0).actions.tolist()
    [0, 0, 0, 0]
    >>> play(BirthdayTest(), Pool([[1, 0], [1, 0], [1, 0], [1, 0]]), order="given", seed=0).actions.tolist()
    [0, 0, 0, 1]
    """

    grid: int | None = integer(None, least=1)
    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        grid = horizon if self.grid is None else self.grid
        return _State(
            grid=float(grid), seen=np.zeros(grid + 1), fired=np.zeros(1), totals=np.zeros(actions)
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        return argmin(state.totals), 1.0

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        if state.fired[0] > 0.0:
            add_losses(state.totals, losses)
        elif fires(state.seen, state.grid, losses[0]):
            state.fired[0] = 1.0
