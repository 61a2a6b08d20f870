"""Baselines that ignore their feedback: uniform play, and fixed actions."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.errors import ParameterError
from tombola.learners.base import Feedback, Learner, MixedLearner
from tombola.rng import integers


class _UniformState(NamedTuple):
    """The probability of every action."""

    probability: float


@dataclass(frozen=True)
class Uniform(MixedLearner):
    """Play every action with probability 1/k; the regret is linear in general.

    feedback: "full", the learner observes the losses of all actions.
    learns: False, it is a baseline.

    >>> from tombola import Pool, play
    >>> play(Uniform(), Pool([[1.0, 0.0]] * 3), order="given", seed=0).expected_losses.tolist()
    [0.5, 0.5, 0.5]
    """

    feedback: ClassVar[Feedback] = "full"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> _UniformState:
        """Return the state, a named tuple that holds 1 / actions and never changes.

        actions: number of actions.
        horizon: not used.
        """
        return _UniformState(probability=1 / actions)

    @staticmethod
    def mix(state: _UniformState, mix: Floats) -> None:
        """Write the probability 1/k of each of k actions into `mix`, shape (k,).

        state: as returned by `init`; it holds 1/k.
        mix: output.
        """
        for action in range(mix.size):
            mix[action] = state.probability

    @staticmethod
    def observe(state: _UniformState, losses: Floats) -> None:
        """Do nothing: this learner ignores `losses`; `state` never changes."""


class _FixedState(NamedTuple):
    """The index of the action that is played in every round."""

    action: float


@dataclass(frozen=True)
class FixedAction(Learner):
    """Play the action with index `action` in every round.

    The regret is 0 if it is the best action, and linear otherwise.

    action: index of the action, from 0.
    feedback: "full", the learner observes the losses of all actions.
    learns: False, it is a baseline.
    names_actions: True, `compare` must not renumber the actions for it.

    >>> from tombola import Pool, play
    >>> play(FixedAction(1), Pool([[1.0, 0.0]] * 3), order="given", seed=0).actions.tolist()
    [1, 1, 1]
    """

    action: int
    feedback: ClassVar[Feedback] = "full"
    learns: ClassVar[bool] = False
    names_actions: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _validate.integer("FixedAction", "action", self.action, least=0)

    def init(self, actions: int, horizon: int) -> _FixedState:
        """Return the state, a named tuple that holds the action and never changes.

        Raises ParameterError unless the parameter `action` is below `actions`.

        actions: number of actions.
        horizon: not used.
        """
        if self.action >= actions:
            raise ParameterError(
                f"FixedAction: action must be one of the {actions} actions 0..{actions - 1}, got {self.action}; "
                f"write for example action={actions - 1}."
            )
        return _FixedState(action=float(self.action))

    @staticmethod
    def act(state: _FixedState, rng: RngState) -> tuple[int, float]:
        """Return the fixed action, and probability 1.

        state: as returned by `init`; it holds the action.
        rng: not used.
        """
        return int(state.action), 1.0

    @staticmethod
    def observe(state: _FixedState, losses: Floats) -> None:
        """Do nothing: this learner ignores `losses`; `state` never changes."""


class _DrawnState(NamedTuple):
    """The number of actions, and the action drawn (-1 before)."""

    actions: float
    drawn: Floats


@dataclass(frozen=True)
class RandomFixedAction(Learner):
    """Draw one action uniformly and play it in every round; ignore all feedback.

    Its expected regret over T rounds is T times (mean loss, averaged over the actions, minus that of the best action).

    feedback: "bandit", the learner observes the loss of the action played.
    learns: False, it is a baseline.

    >>> from tombola import Pool, play
    >>> play(RandomFixedAction(), Pool([[1.0, 0.0]] * 5), switching_price=10.0, seed=1).switches
    0
    """

    feedback: ClassVar[Feedback] = "bandit"
    learns: ClassVar[bool] = False

    def init(self, actions: int, horizon: int) -> _DrawnState:
        """Return the first state, a named tuple: no action drawn yet.

        actions: number of actions.
        horizon: not used.
        """
        return _DrawnState(float(actions), np.full(1, -1.0))

    @staticmethod
    def act(state: _DrawnState, rng: RngState) -> tuple[int, float]:
        """Return the action drawn in the first round, and its probability.

        The first call draws one of k actions uniformly and returns probability 1/k; later calls return it with
        probability 1.

        state: as returned by `init`; the first call stores the action in it.
        rng: random generator of the draw; used in the first call only.
        """
        if state.drawn[0] >= 0.0:
            return int(state.drawn[0]), 1.0
        state.drawn[0] = integers(rng, int(state.actions))
        return int(state.drawn[0]), 1.0 / state.actions

    @staticmethod
    def observe(state: _DrawnState, action: int, probability: float, loss: float) -> None:
        """Do nothing: `action`, `probability` and `loss` do not change `state`."""
