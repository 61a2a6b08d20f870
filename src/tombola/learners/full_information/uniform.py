"""Uniform play, a baseline that ignores its feedback."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from tombola._types import Floats
from tombola.learners.base import Feedback, MixedLearner


class _State(NamedTuple):
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

    def init(self, actions: int, horizon: int) -> _State:
        """Return the state: the probability 1 / `actions`; ignore `horizon`."""
        return _State(probability=1 / actions)

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        """Write 1/k, the probability in `state`, into all k entries of `mix`."""
        for action in range(mix.size):
            mix[action] = state.probability

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        """Do nothing: this learner ignores `losses`; `state` never changes."""
