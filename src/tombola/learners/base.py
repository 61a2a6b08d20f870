"""What a learner is: an immutable recipe with a first state and a few kernels.

A learner is a frozen dataclass of parameters. `init` gives the first state, a named tuple of numbers and arrays; the
kernels are plain functions over that state which compile under Numba and run unchanged without it:

    act(state, rng) -> (action, probability)      a Learner says which action, and the probability it had
    mix(state, mix)                            a MixedLearner fills in the probability of every action instead
    observe(state, losses)                     feedback "full": the whole row
    observe(state, round, losses)              the same, for a learner that is `needs_round`: also the round it was played in
    observe(state, action, probability, loss)       feedback "bandit": the loss of the action, with the ticket's own probability

Every number of the state is float64 inside; what changes is an array, also when it is a single number. Feedback may
come late, out of order or never, so `act` must not count on having been answered.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from tombola._types import Floats, RngState

Feedback = Literal["full", "bandit"]
Kernel: TypeAlias = Callable[..., Any]


class Kernels(NamedTuple):
    """The functions that the engine compiles for a learner; one of `act` and `mix` is None."""

    act: Kernel | None
    mix: Kernel | None
    observe: Kernel
    needs_plan: Kernel


@dataclass(frozen=True)
class Learner(ABC):
    """A learner that says which action it plays.

    Subclass it as a frozen dataclass with the class attribute `feedback` ("full" or "bandit"), `init`, and the
    static methods `act` and `observe`. CONTRIBUTING.md shows one in twenty lines.
    """

    feedback: ClassVar[Feedback]
    needs_round: ClassVar[bool] = False

    @abstractmethod
    def init(self, actions: int, horizon: int) -> Any:
        """Return the state before the first round: a named tuple of numbers and arrays."""

    @staticmethod
    @abstractmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        """Return the action of this round and the probability it had (1 if no coin was thrown, NaN if it has no formula)."""

    @staticmethod
    @abstractmethod
    def observe(state: Any, *feedback: Any) -> None:
        """Learn from the losses of a row, or from the action, probability and loss of a ticket."""

    @staticmethod
    def needs_plan(state: Any) -> bool:
        """Tell whether `plan` is wanted before the next round; most learners never plan."""
        return False

    def plan(self, state: Any, rng: RngState) -> None:  # noqa: B027 - most learners never plan
        """Think in plain Python, between two rounds, and write the outcome into `state`."""

    @property
    def plans(self) -> bool:
        """Whether this learner ever plans."""
        return type(self).needs_plan is not Learner.needs_plan

    @property
    def mixes(self) -> bool:
        """Whether this learner gives the probability of every action, rather than naming one."""
        return False

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the functions to compile; a reduction makes them from those of its base."""
        return Kernels(act=self.act, mix=None, observe=self.observe, needs_plan=self.needs_plan)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Return the proved bound on the regret for every pool in random order, or None where none is known.

        `delay` is that of the feedback, the same for all rounds.
        """
        return None


@dataclass(frozen=True)
class MixedLearner(Learner):
    """A learner that gives the probability of every action; the coin is thrown for it."""

    @staticmethod
    @abstractmethod
    def mix(state: Any, mix: Floats) -> None:
        """Write the probability of every action into `mix`."""

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        """Never called: the engine draws from `mix`."""
        raise AssertionError("a MixedLearner acts through its mix")

    @property
    def mixes(self) -> bool:
        """Whether this learner gives the probability of every action: it does."""
        return True

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the functions to compile."""
        return Kernels(act=None, mix=self.mix, observe=self.observe, needs_plan=self.needs_plan)
