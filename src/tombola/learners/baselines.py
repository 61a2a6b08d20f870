"""Baselines that ignore their feedback: uniform play, and fixed actions."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.errors import ParameterError
from tombola.learners.base import Feedback, Learner, MixedLearner
from tombola.learners.parameters import integer
from tombola.rng import integers


class _UniformState(NamedTuple):
    probability: float  # of every action


@dataclass(frozen=True)
class Uniform(MixedLearner):
    """Play every action with probability 1/k; the regret is linear in general.

    >>> from tombola import Pool, play
    >>> play(Uniform(), Pool([[1.0, 0.0]] * 3), order="given", seed=0).expected_losses.tolist()
    [0.5, 0.5, 0.5]
    """

    feedback: ClassVar[Feedback] = "full"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> _UniformState:
        return _UniformState(probability=1 / actions)

    @staticmethod
    def mix(state: _UniformState, mix: Floats) -> None:
        for action in range(mix.size):
            mix[action] = state.probability

    @staticmethod
    def observe(state: _UniformState, losses: Floats) -> None:
        """Ignore the losses."""


class _FixedState(NamedTuple):
    action: float


@dataclass(frozen=True)
class FixedAction(Learner):
    """Play the action with index `action` in every round.

    The regret is 0 if it is the best action, and linear otherwise.

    action: index of the action, from 0.

    >>> from tombola import Pool, play
    >>> play(FixedAction(1), Pool([[1.0, 0.0]] * 3), order="given", seed=0).actions.tolist()
    [1, 1, 1]
    """

    action: int = integer(least=0)
    feedback: ClassVar[Feedback] = "full"
    learns: ClassVar[bool] = False
    names_actions: ClassVar[bool] = True

    def init(self, actions: int, horizon: int) -> _FixedState:
        if self.action >= actions:
            raise ParameterError(
                f"FixedAction: action must be one of the {actions} actions 0..{actions - 1}, got "
                f"{self.action}; "
                f"write for example action={actions - 1}."
            )
        return _FixedState(action=float(self.action))

    @staticmethod
    def act(state: _FixedState, rng: RngState) -> tuple[int, float]:
        return int(state.action), 1.0

    @staticmethod
    def observe(state: _FixedState, losses: Floats) -> None:
        """Ignore the losses."""


class _DrawnState(NamedTuple):
    actions: float
    drawn: Floats  # the action, -1 before the first round


@dataclass(frozen=True)
class RandomFixedAction(Learner):
    """Draw one action uniformly and play it in every round; ignore all feedback.

    Its expected regret over T rounds is T times (mean loss, averaged over the actions, minus that
    of the best action).

    >>> from tombola import Pool, play
    >>> play(RandomFixedAction(), Pool([[1.0, 0.0]] * 5), switching_price=10.0, seed=1).switches
    0
    """

    feedback: ClassVar[Feedback] = "bandit"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> _DrawnState:
        return _DrawnState(float(actions), np.full(1, -1.0))

    @staticmethod
    def act(state: _DrawnState, rng: RngState) -> tuple[int, float]:
        if state.drawn[0] >= 0.0:
            return int(state.drawn[0]), 1.0
        state.drawn[0] = integers(rng, int(state.actions))
        return int(state.drawn[0]), 1.0 / state.actions

    @staticmethod
    def observe(state: _DrawnState, action: int, probability: float, loss: float) -> None:
        """Ignore the loss."""
