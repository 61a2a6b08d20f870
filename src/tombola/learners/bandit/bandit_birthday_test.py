"""Birthday test under bandit feedback (paper, Section 3)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.learners.bandit.ucb1 import UCB1
from tombola.learners.base import Feedback, Kernel, Learner
from tombola.learners.full_information.birthday_test import fires
from tombola.learners.parameters import integer

_act_ucb1: Kernel = UCB1.act
_observe_ucb1: Kernel = UCB1.observe


class _State(NamedTuple):
    grid: float  # number of points; `points` is 1 for each point seen
    points: Floats
    fired: Floats  # 1 once the test has fired
    # scale, answered, untried, chosen, seen, means, shrink: as in `ucb1._State`.
    scale: float
    answered: Floats
    untried: Floats
    chosen: Floats
    seen: Floats
    means: Floats
    shrink: Floats


@dataclass(frozen=True)
class BanditBirthdayTest(Learner):
    """Play action 0 until a loss of it repeats or is off the grid; then play UCB1.

    UCB1 starts from scratch. The grid is {1/g, .., g/g} with g = `grid`, or the horizon T if None.
    On i.i.d. rows it has the regret of UCB1 and 2 sqrt(T) more. On the pool in which action 0 has
    the losses 1/T, .., T/T it never leaves action 0. It shows that a learner for i.i.d. rows may
    fail in random order, and that `OptimisticSimulation` repairs it.

    grid: number g of points of the grid, at least 1; None is the horizon.

    >>> from tombola import instances, play
    >>> round(play(BanditBirthdayTest(), instances.birthday(100), seed=0).regret, 9)
    50.5
    """

    grid: int | None = integer(None, least=1)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        grid = horizon if self.grid is None else self.grid
        return _State(float(grid), np.zeros(grid + 1), np.zeros(1), *UCB1().init(actions, horizon))

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        if state.fired[0] == 0.0:
            return 0, 1.0
        action, probability = _act_ucb1(state, rng)
        return action, probability

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        if state.fired[0] > 0.0:
            _observe_ucb1(state, action, probability, loss)
        elif fires(state.points, state.grid, loss):
            state.fired[0] = 1.0
