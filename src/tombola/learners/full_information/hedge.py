"""Hedge, for a known and for an unknown horizon.

Freund and Schapire 1997; Cesa-Bianchi and Lugosi 2006, Theorem 2.2; unknown horizon: Gerchinovitz
2011, Bubeck 2011.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.engine.intrinsics import no_inline
from tombola.engine.vectors import exponential, least, total
from tombola.errors import ParameterError
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.full_information.follow_the_leader import add_losses
from tombola.learners.parameters import integer, one_of, real

# Number of actions from which on the vectorised exponential is faster than the one of the C
# library.
_MIN_VECTOR_ACTIONS = 8


class _State(NamedTuple):
    rate: float
    totals: Floats


@no_inline
def write_exponential_weights(totals: Floats, rate: float, mix: Floats) -> float:
    """Write normalised exponential weights into `mix`; return their sum before.

    A kernel. Weights are exp(-rate * (total - least)) before the normalisation, where least is the
    smallest total. An infinite rate shares the probability equally among the actions of the
    smallest total.
    """
    lowest = least(totals)
    if rate == math.inf:
        for action in range(mix.size):
            mix[action] = 1.0 if totals[action] == lowest else 0.0
    elif mix.size < _MIN_VECTOR_ACTIONS:
        for action in range(mix.size):
            mix[action] = math.exp(-rate * (totals[action] - lowest))
    else:
        for action in range(mix.size):
            mix[action] = exponential(-rate * (totals[action] - lowest))
    weight = total(mix)
    for action in range(mix.size):
        mix[action] /= weight
    return weight


@dataclass(frozen=True)
class Hedge(MixedLearner):
    """Play actions with probabilities proportional to exp(-rate * total loss).

    rate: learning rate; None tunes it to the horizon.
    order: input model that the rate is tuned for. In "random" order the rate sqrt(8 ln k / T) suits
        every delay d, known or not: the regret is at most sqrt(T ln k / 2) + d (1 - 1/k). In
        "given" order, the worst case, the rate is sqrt(8 ln k / (T (1 + 2d))) and the regret at
        most sqrt(T (1 + 2d) ln k / 2): there, delay multiplies.
    delay: d, used for "given" order only.

    Another `rate` has the bounds of `bounds.hedge` and `bounds.hedge_given_order`.

    >>> from tombola import Pool, play
    >>> trace = play(Hedge(rate=1.0), Pool([[1.0, 0.0]] * 3), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.269, 0.119]
    """

    rate: float | None = real(None, above=0)
    order: Literal["random", "given"] = one_of("random", "given")
    delay: int = integer(0, least=0)
    feedback: ClassVar[Feedback] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order == "random" and self.delay > 0:
            raise ParameterError(
                f"Hedge: in random order its rate needs no delay, got delay={self.delay}; write "
                "Hedge(), or "
                f"Hedge(order='given', delay={self.delay}) for the worst order."
            )

    def init(self, actions: int, horizon: int) -> _State:
        tuned = math.sqrt(8 * math.log(actions) / (horizon * (1 + 2 * self.delay)))
        return _State(rate=tuned if self.rate is None else self.rate, totals=np.zeros(actions))

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        write_exponential_weights(state.totals, state.rate, mix)

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        add_losses(state.totals, losses)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        if self.order == "random":
            return bounds.hedge(horizon, actions, self.rate, delay)
        rate = self.init(actions, horizon).rate if actions > 1 else None
        return bounds.hedge_given_order(horizon, actions, rate, delay)


class _AnytimeState(NamedTuple):
    seen: Floats
    totals: Floats


@dataclass(frozen=True)
class HedgeAnytime(MixedLearner):
    """Play Hedge with rate = 2 sqrt(ln k / (1 + rows seen)).

    Without delay the regret is at most sqrt(T ln k) in every order, for all T at once. In random
    order a delay d adds d (1 - 1/k), without being known.

    >>> from tombola import Pool, play
    >>> trace = play(HedgeAnytime(), Pool([[1.0, 0.0]] * 3), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.236, 0.128]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _AnytimeState:
        return _AnytimeState(seen=np.zeros(1), totals=np.zeros(actions))

    @staticmethod
    def mix(state: _AnytimeState, mix: Floats) -> None:
        rate = 2.0 * math.sqrt(math.log(mix.size) / (1.0 + state.seen[0]))
        write_exponential_weights(state.totals, rate, mix)

    @staticmethod
    def observe(state: _AnytimeState, losses: Floats) -> None:
        state.seen[0] += 1.0
        add_losses(state.totals, losses)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        return bounds.hedge_anytime(horizon, actions, delay)
