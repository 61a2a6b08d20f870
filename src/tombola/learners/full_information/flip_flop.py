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

FLIP, FLOP = 0, 1


class _State(NamedTuple):
    """Losses relative to the leader; mix, rate and log-sum; gaps and regime.

    relative_losses, mix, rate, log_sum: as in `ada_hedge._State`.
    gaps: mixability gap of each regime.
    regime: 0 for follow the leader, 1 for AdaHedge.
    """

    relative_losses: Floats
    mix: Floats
    rate: Floats
    log_sum: Floats
    gaps: Floats
    regime: Floats


def _regime_ends(gaps: Floats, regime: int) -> bool:
    """Return whether the mixability gap of the current regime ends it; a kernel.

    gaps: mixability gap of each regime so far.
    regime: the current one, flip (follow the leader) or flop (AdaHedge).
    """
    if regime == FLIP:
        return bool(gaps[FLIP] > PHI / ALPHA * gaps[FLOP])
    return bool(gaps[FLOP] > ALPHA * gaps[FLIP])


@dataclass(frozen=True)
class FlipFlop(MixedLearner):
    """Alternate between follow the leader ("flip") and AdaHedge ("flop").

    Their mixability gaps stay balanced.

    Flip ends when its gap exceeds phi/alpha times that of flop, flop when its gap exceeds alpha times that of flip;
    phi = 2.37 and alpha = 1.243 (Section 3, Corollary 16). The regret is at most 5.64 times that of follow the leader
    plus 3.73, and in every order at most 2.82 sqrt(T ln k) + 3.76 ln k + 6.64.

    feedback: "full", the learner observes the losses of all actions.

    >>> from tombola import Pool, play
    >>> trace = play(FlipFlop(), Pool([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), order="given", seed=0)
    >>> trace.expected_losses.round(3).tolist()
    [0.5, 0.0, 1.0]
    """

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions: int, horizon: int) -> _State:
        """Return the first state: regime "flip", all totals 0, uniform mix.

        actions, horizon: number of actions and of rounds.
        """
        return _State(
            relative_losses=np.zeros(actions),
            mix=np.full(actions, 1 / actions),
            rate=np.array([math.inf]),
            log_sum=np.array([math.log(actions)]),
            gaps=np.zeros(2),
            regime=np.array([float(FLIP)]),
        )

    @staticmethod
    def mix(state: _State, mix: Floats) -> None:
        """Write the weights of the totals at the rate of the regime into `mix`.

        state: as returned by `init`.
        mix: output, the probability of every action, shape (k,).
        """
        for action in range(mix.size):
            mix[action] = state.mix[action]

    @staticmethod
    def observe(state: _State, losses: Floats) -> None:
        """Add the losses of all actions to the totals; switch regimes if one ends.

        state: as returned by `init`, changed in place.
        losses: in [0, 1], of all actions, shape (k,).
        """
        regime = int(state.regime[0])
        state.gaps[regime] += add_row(state.relative_losses, state.mix, state.rate[0], state.log_sum[0], losses)
        if _regime_ends(state.gaps, regime):
            regime = 1 - regime
        state.regime[0] = float(regime)
        state.rate[0] = math.inf if regime == FLIP else adapted_rate(state.gaps[FLOP], losses.size)
        state.log_sum[0] = write_exponential_weights(state.relative_losses, state.rate[0], state.mix)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float:
        """Return a bound on the expected regret in random order, at any delay.

        actions, horizon: number of actions and of rounds.
        delay: constant delay of the feedback, in rounds.
        """
        return bounds.flip_flop(horizon, actions, delay)
