"""Elimination with betting confidence sequences (Waudby-Smith and Ramdas 2024)."""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, ClassVar

from tombola._types import RngState
from tombola.bounds.switching import elimination_counts
from tombola.evidence.betting import BettingGrid, new_grid, update_grid
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real
from tombola.learners.switching.staged_elimination import first_stage, next_play, next_stage

# Fields of the stage, as in `staged_elimination.State`, then those of the betting grid.
_State: Any = namedtuple(  # type: ignore[misc]
    "_State", ("target", "stretch", "rest", "turn", "left", "active", *BettingGrid._fields)
)


def _drop_inferior(state: Any) -> None:
    """Drop inferior actions within a stage, in place; a kernel.

    The interval of a dropped action lies above that of another. The next action in turn begins a
    stretch.
    """
    ceiling = math.inf
    turn = int(state.turn[0])
    n_kept = 0
    for place in range(int(state.left[0])):
        ceiling = min(ceiling, state.high[int(state.active[place])])
    for place in range(int(state.left[0])):
        action = int(state.active[place])
        if state.low[action] <= ceiling:
            state.active[n_kept] = action
            n_kept += 1
        elif place < turn:
            state.turn[0] -= 1.0
        elif place == turn:
            state.rest[0] = state.stretch[0]
    state.left[0] = n_kept


@dataclass(frozen=True)
class BettingElimination(Learner):
    """Eliminate actions by betting confidence sequences, within stages.

    In a stage each active action plays one stretch of rounds; the next stage goes back in reverse
    order. Action a is dropped when its betting interval, at level delta/k, lies above that of
    another. The intervals hold at all counts simultaneously, so an action is dropped immediately,
    not at the end of a stage. The best action is dropped with probability at most `delta`; None is
    1/T. The width has no formula, so `bound` is None. There are at most as many switches as with
    `SerflingElimination`. Memory is 20 KB per action, and an update takes a microsecond until one
    action is left.

    delta: probability that the best action is dropped, in (0, 1); None is 1/T for T rounds.

    >>> from tombola import Pool, play
    >>> trace = play(BettingElimination(delta=0.1), Pool([[1.0, 0.0]] * 60), seed=0)
    >>> trace.plays.tolist()
    [10.0, 50.0]
    """

    delta: float | None = real(None, least=1e-200, below=1)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> Any:
        stage = first_stage(actions, elimination_counts(horizon, actions, self.delta)[0])
        delta = 1 / horizon if self.delta is None else self.delta
        return _State._make((*stage, *new_grid(float(horizon), delta / actions, actions)))

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        if state.left[0] > 1.0:
            _drop_inferior(state)
        if state.turn[0] >= state.left[0]:
            next_stage(state)
        return next_play(state), 1.0

    @staticmethod
    def observe(state: Any, action: int, probability: float, loss: float) -> None:
        if state.left[0] > 1.0:
            update_grid(state, action, loss)
