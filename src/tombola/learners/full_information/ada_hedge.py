"""AdaHedge and FlipFlop (de Rooij, van Erven, Grunwald and Koolen 2014, Sections 2, 3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.bounds.full_information import ALPHA, PHI
from tombola.engine.intrinsics import no_inline
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.full_information.hedge import write_exponential_weights
from tombola.learners.parameters import real

# Index of the two regimes in the state: follow the leader, and AdaHedge.
_FLIP = 0
_FLOP = 1


class _State(NamedTuple):
    kappa: float  # parameter
    relative_losses: Floats  # total loss of each action minus the smallest total
    # mix, rate, log_sum: current mix, its learning rate, and the log of the sum of its weights.
    mix: Floats
    rate: Floats
    log_sum: Floats
    gap: Floats  # mixability gap so far


def _uniform_mix(actions: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the first values of `relative_losses`, `mix`, `rate` and `log_sum`."""
    return (
        np.zeros(actions),
        np.full(actions, 1 / actions),
        np.array([math.inf]),
        np.array([math.log(actions)]),
    )


def _adapted_rate(gap: float, actions: int) -> float:
    """Return AdaHedge's learning rate ln k / gap, infinite for a gap of 0; a kernel."""
    return math.log(actions) / gap if gap > 0.0 else math.inf


@no_inline
def _add_row(
    relative_losses: Floats, mix: Floats, rate: float, log_sum: float, losses: Floats
) -> float:
    """Update losses and mix in place with a row; return its mixability gap; a kernel.

    The gap is the loss of the mix minus -1/rate ln sum_a mix(a) exp(-rate loss(a)).

    Losses enter only through their differences, so that a row with equal losses has no gap, not
    even by rounding.

    relative_losses: total loss of each action minus the smallest total.
    mix: exponential weights of these at `rate`; `log_sum` is the log of their sum before
        normalisation.
    """
    lowest = math.inf
    least = math.inf
    for action in range(losses.size):
        lowest = min(lowest, losses[action])
    for action in range(losses.size):
        relative_losses[action] += losses[action] - lowest
        least = min(least, relative_losses[action])
    gap = 0.0
    for action in range(losses.size):
        gap += mix[action] * (losses[action] - lowest - least)
        relative_losses[action] -= least
    weight = write_exponential_weights(relative_losses, rate, mix)
    gap += (math.log(weight) - log_sum) / rate
    return max(0.0, gap)


@dataclass(frozen=True)
class AdaHedge(MixedLearner):
    """Play Hedge with rate = kappa ln k / (cumulative mixability gap).

    The mixability gap of a row is the loss of the mix minus -1/rate ln sum_a mix(a) exp(-rate
    loss(a)); its sum over the rows so far sets the rate. While the sum is 0, the rate is infinite,
    and the leaders share the probability equally. `kappa` = 1 is that of de Rooij et al. 2014. The
    default, 2, was measured: in random order its regret is in the geometric mean 1.08 times that of
    the better one of follow the leader and Hedge on 17 real tables (1.29 for 1), at most 1.36
    times; no learner is within 1.2 on all pools. Near exact ties of many actions kappa = 1 is
    better. The regret is at most (1 + 1/kappa) (sqrt(kappa T ln k) / 2 + (2/3) kappa ln k + 1) in
    every order, bounded by a constant when one action is clearly best, and in random order a delay
    d adds about d (docs/theory/delay.md).

    kappa: factor of the learning rate, above 0.

    >>> from tombola import Pool, play
    >>> trace = play(AdaHedge(), Pool([[1.0, 0.0]] * 3), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.059, 0.006]
    """

    kappa: float = real(2.0, above=0)
    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        return _State(self.kappa, *_uniform_mix(actions), gap=np.zeros(1))

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        for action in range(mix.size):
            mix[action] = state.mix[action]

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        state.gap[0] += _add_row(
            state.relative_losses, state.mix, state.rate[0], state.log_sum[0], losses
        )
        state.rate[0] = state.kappa * _adapted_rate(state.gap[0], losses.size)
        state.log_sum[0] = math.log(
            write_exponential_weights(state.relative_losses, state.rate[0], state.mix)
        )

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        return bounds.ada_hedge(horizon, actions, self.kappa, delay)


class _FlipFlopState(NamedTuple):
    # relative_losses, mix, rate, log_sum: as in `_State`.
    relative_losses: Floats
    mix: Floats
    rate: Floats
    log_sum: Floats
    gaps: Floats  # mixability gap of each regime
    regime: Floats  # 0 for follow the leader, 1 for AdaHedge


def _regime_ends(gaps: Floats, regime: int) -> bool:
    """Return whether the mixability gap of the current regime ends it; a kernel."""
    if regime == _FLIP:
        return bool(gaps[_FLIP] > PHI / ALPHA * gaps[_FLOP])
    return bool(gaps[_FLOP] > ALPHA * gaps[_FLIP])


@dataclass(frozen=True)
class FlipFlop(MixedLearner):
    """Alternate between follow the leader ("flip") and AdaHedge ("flop").

    Their mixability gaps (defined in `AdaHedge`) stay balanced: flip ends when its gap exceeds
    phi/alpha times that of flop, flop when its gap exceeds alpha times that of flip; phi = 2.37 and
    alpha = 1.243 (de Rooij et al. 2014, Corollary 16). The regret is at most 5.64 times that of
    follow the leader plus 3.73, and in every order at most 2.82 sqrt(T ln k) + 3.76 ln k + 6.64.

    >>> from tombola import Pool, play
    >>> trace = play(FlipFlop(), Pool([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.0, 1.0]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _FlipFlopState:
        return _FlipFlopState(
            *_uniform_mix(actions), gaps=np.zeros(2), regime=np.array([float(_FLIP)])
        )

    mix = staticmethod(AdaHedge.mix)

    @staticmethod
    def observe(state: _FlipFlopState, losses: Floats) -> None:
        regime = int(state.regime[0])
        state.gaps[regime] += _add_row(
            state.relative_losses, state.mix, state.rate[0], state.log_sum[0], losses
        )
        if _regime_ends(state.gaps, regime):
            regime = 1 - regime
        state.regime[0] = float(regime)
        state.rate[0] = (
            math.inf if regime == _FLIP else _adapted_rate(state.gaps[_FLOP], losses.size)
        )
        state.log_sum[0] = math.log(
            write_exponential_weights(state.relative_losses, state.rate[0], state.mix)
        )

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        return bounds.flip_flop(horizon, actions, delay)
