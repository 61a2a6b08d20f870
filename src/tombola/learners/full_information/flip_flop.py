"""FlipFlop (de Rooij, van Erven, Grunwald and Koolen 2014)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._types import Floats
from tombola.bounds.full_information import ALPHA, PHI
from tombola.learners.base import Feedback, MixedLearner
from tombola.learners.full_information.ada_hedge import adapted_rate, add_row
from tombola.learners.full_information.hedge import write_exponential_weights

# Index of the two regimes in the state: follow the leader, and AdaHedge.
_FLIP, _FLOP = 0, 1


class _State(NamedTuple):
    """Losses relative to the leader; mix, rate and log-sum; gaps and regime."""

    # relative_losses, mix, rate, log_sum: as in `ada_hedge._State`.
    relative_losses: Floats
    mix: Floats
    rate: Floats
    log_sum: Floats
    gaps: Floats  # mixability gap of each regime
    regime: Floats  # 0 for follow the leader, 1 for AdaHedge


def _regime_ends(gaps: Floats, regime: int) -> bool:
    """Return whether the mixability gap of the current regime ends it; a kernel.

    gaps: mixability gap of each regime so far.
    regime: the current one, flip (follow the leader) or flop (AdaHedge).
    """
    if regime == _FLIP:
        return bool(gaps[_FLIP] > PHI / ALPHA * gaps[_FLOP])
    return bool(gaps[_FLOP] > ALPHA * gaps[_FLIP])


@dataclass(frozen=True)
class FlipFlop(MixedLearner):
    """Alternate between follow the leader ("flip") and AdaHedge ("flop").

    Their mixability gaps stay balanced.

    Flip ends when its gap exceeds phi/alpha times that of flop, flop when its gap exceeds alpha times that of flip;
    phi = 2.37 and alpha = 1.243 (de Rooij et al. 2014, Corollary 16). The regret is at most 5.64 times that of follow
    the leader plus 3.73, and in every order at most 2.82 sqrt(T ln k) + 3.76 ln k + 6.64.

    feedback: "full", the learner observes the losses of all actions.

    >>> from tombola import Pool, play
    >>> trace = play(FlipFlop(), Pool([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.0, 1.0]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state for `actions` actions: "flip"; ignore `horizon`."""
        return _State(
            relative_losses=np.zeros(actions),
            mix=np.full(actions, 1 / actions),
            rate=np.array([math.inf]),
            log_sum=np.array([math.log(actions)]),
            gaps=np.zeros(2),
            regime=np.array([float(_FLIP)]),
        )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        """Copy the weights of "flip" or "flop", whichever is on, into `mix`, shape (k,)."""
        for action in range(mix.size):
            mix[action] = state.mix[action]

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        """Add `losses`, shape (k,), to the totals; change to "flip" or "flop" if due."""
        regime = int(state.regime[0])
        state.gaps[regime] += add_row(state.relative_losses, state.mix, state.rate[0], state.log_sum[0], losses)
        if _regime_ends(state.gaps, regime):
            regime = 1 - regime
        state.regime[0] = float(regime)
        state.rate[0] = math.inf if regime == _FLIP else adapted_rate(state.gaps[_FLOP], losses.size)
        state.log_sum[0] = write_exponential_weights(state.relative_losses, state.rate[0], state.mix)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        """Return a regret bound for `actions`, `horizon` rounds and a `delay` in rounds."""
        return bounds.flip_flop(horizon, actions, delay)
