"""Interleaved copies for delayed feedback (Weinberger and Ordentlich 2002).

The standard reduction from delay d to no delay (Joulani, Gyorgy and Szepesvari 2013): copy t mod
(d+1) plays round t and observes it before its next turn. Its regret is d+1 times that of a horizon
of T/(d+1): delay multiplies.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.common import capped
from tombola.engine.state_vector import flatten, unflattener
from tombola.errors import ParameterError
from tombola.learners.base import Feedback, Kernels, Learner, bound_of
from tombola.learners.parameters import integer


class _State(NamedTuple):
    acted: Floats
    copies: Floats  # state vector of every copy, one per row


@dataclass(frozen=True)
class Interleaved(Learner):
    """Let d+1 copies of a full-information learner play in turn.

    Each copy has its feedback before its next turn, so the base needs to know nothing about delays.

    base: learner with feedback "full" that never plans, and whose `observe` does not take the
        round.
    delay: d, the largest delay of the feedback, in rounds, 0 or more.

    >>> from tombola import Hedge, instances, play
    >>> trace = play(Interleaved(Hedge(), delay=4), instances.split(500), delay=4, seed=0)
    >>> trace.horizon
    500
    """

    base: Learner
    delay: int = integer(least=0)
    feedback: ClassVar[Feedback] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            getattr(self.base, "feedback", None) != "full"
            or self.base.needs_round
            or self.base.plans
        ):
            raise ParameterError(
                "Interleaved: base must be a full-information learner that acts round by round, "
                f"got {self.base!r}; "
                "write for example Interleaved(Hedge(), delay=10)."
            )

    @property
    def mixes(self) -> bool:
        return self.base.mixes

    def init(self, actions: int, horizon: int) -> _State:
        count = min(self.delay + 1, horizon)
        memory = flatten(self.base.init(actions=actions, horizon=-(-horizon // count)), actions)
        return _State(acted=np.zeros(1), copies=np.tile(memory, (count, 1)))

    def kernels(self, actions: int, horizon: int) -> Kernels:
        base = self.base.kernels(actions, horizon)
        view = unflattener(self.base.init(actions=actions, horizon=horizon))
        base_act = base.act
        base_mix = base.mix
        base_observe = base.observe

        def act(state: _State, rng: RngState) -> tuple[int, float]:
            action, probability = base_act(view(_next_copy(state)), rng)  # type: ignore[misc]
            return action, probability

        def mix(state: _State, mix: Floats) -> None:
            base_mix(view(_next_copy(state)), mix)  # type: ignore[misc]

        def observe(state: _State, round: int, losses: Floats) -> None:
            base_observe(view(state.copies[(round - 1) % state.copies.shape[0]]), round, losses)

        return Kernels(
            None if self.mixes else act, mix if self.mixes else None, observe, self.needs_plan
        )

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        raise AssertionError("Interleaved acts through the kernels of its base")

    @staticmethod
    def observe(state: Any, round: int, losses: Floats) -> None:
        raise AssertionError("Interleaved observes through the kernels of its base")

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        # None if the true delay is larger than the parameter.
        count = min(self.delay + 1, horizon)
        share = bound_of(self.base, actions=actions, horizon=-(-horizon // count))
        return (
            None if share is None or delay > self.delay else capped(count * share, horizon, actions)
        )


def _next_copy(state: _State) -> Floats:
    """Return the state vector of the next copy, and count the round."""
    copy: Floats = state.copies[int(state.acted[0]) % state.copies.shape[0]]
    state.acted[0] += 1.0
    return copy
