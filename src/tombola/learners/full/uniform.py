"""Uniform: every action with the same chance, always; the baseline that learns nothing."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from tombola.learners.base import Feedback, MixedLearner
from tombola.types import Floats


class State(NamedTuple):
    """The chance of every action."""

    chance: float


@dataclass(frozen=True)
class Uniform(MixedLearner):
    """Play every action with chance 1/k; the regret is linear, unless all actions are equally good.

    >>> from tombola import Pool, play
    >>> play(Uniform(), Pool([[1.0, 0.0]] * 3), order="given", seed=0).expected_losses.tolist()
    [0.5, 0.5, 0.5]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> State:
        """Share the chance equally."""
        return State(chance=1 / actions)

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        """Write 1/k for every action."""
        for action in range(mix.size):
            mix[action] = state.chance

    @staticmethod
    def observe(state: State, losses: Floats) -> None:
        """Learn nothing."""
