"""Frugal UCB for finite pools and switching costs; exploration ends in time.

The index is of the family of MOSS (Audibert and Bubeck 2009) and kl-UCB++ (Menard and Garivier
2017), with the rounds that are left in place of the horizon (as Lattimore 2015 has it) and
ln+(R/(kn)) where kl-UCB++ has another logarithm.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.frugal import FRUGAL_TOLL, frugal_first_block, frugal_ucb
from tombola.learners.bandit.counts import kl_lower_bound, least_tried_action, observe_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real


class _State(NamedTuple):
    horizon: float
    scale: float
    price: float
    shortest: float  # smallest length of a block
    acted: Floats  # rounds played
    # current, left: action of the block, and rounds left in it.
    current: Floats
    left: Floats
    # chosen, seen, means: plays, answers and mean loss of each action.
    chosen: Floats
    seen: Floats
    means: Floats


def lower_index(
    mean: float, seen: float, remaining: float, actions: int, horizon: float, scale: float = 1.0
) -> float:
    """Return FrugalUCB's index of an action, a lower confidence bound in [0, 1].

    A kernel. It is the smallest q with seen kl(mean, q) <= scale (1 - seen/T) ln max(1, remaining /
    (k seen)), where kl is the relative entropy of two Bernoulli distributions.

    mean, seen: mean and number of the losses observed of the action, at least one.
    remaining, actions, horizon: number of rounds left, k and T.
    """
    worth = math.log(max(1.0, remaining / (actions * seen)))
    return kl_lower_bound(mean, scale * max(0.0, 1.0 - seen / horizon) * worth / seen)


def most_promising(state: Any, times: float, scale: float) -> int:
    """Return the action with the smallest index plus the price of a switch; a kernel.

    The index is `lower_index` with `scale`, and 0 for actions without feedback. For every action
    but the current one, times * price / (remaining rounds) is added: a switch must repay so many
    prices. `state` has the fields of `FrugalUCB` or `Thrifty`.
    """
    remaining = max(1.0, state.horizon - state.acted[0])
    toll = times * state.price / remaining
    current = int(state.current[0])
    best = least_tried_action(state.seen, state.chosen)
    least = math.inf if best < 0 else 0.0 if best == current else toll
    for action in range(state.seen.size):
        if state.seen[action] > 0.0:
            seen = state.seen[action]
            mean = state.means[action]
            value = lower_index(mean, seen, remaining, state.seen.size, state.horizon, scale)
            if action != current:
                value += toll
            if value < least:
                best = action
                least = value
    return best


@dataclass(frozen=True)
class FrugalUCB(Learner):
    """Play the action with the smallest index, in blocks that grow by half.

    It switches only if that can pay in the remaining rounds.

    With R rounds left, the index of a is the smallest q <= m(a) with n(a) kl(m(a), q) <= scale (1 -
    n(a)/T) ln max(1, R / (k n(a))), plus 2 price / R unless a is being played; n(a) counts its
    losses seen, m(a) is their mean, and kl is the relative entropy of two Bernoulli distributions.
    Without any loss, q = 0. A block lasts half of the previous plays of the action, and at least
    min(16 price, 2 sqrt(T/k)) rounds. For every pool in random order without delay its regret, with
    the price of its switches, is at most `bounds.frugal_ucb`, of order sqrt(k T) + price k ln T,
    which is the best order there is up to the constant (docs/theory/frugal.md).

    price: cost of a switch, in losses, 0 or more.
    scale: factor of the logarithm in the index, 0 or more. 1 is meant; below 1/2 the bound gains a
        logarithm.

    >>> from tombola import instances, play
    >>> trace = play(FrugalUCB(), instances.gap(2**14, 2, 0.1, seed=0), switching_price=1.0, seed=0)
    >>> trace.switches < 15, trace.regret < 100
    (True, True)
    """

    price: float = real(1.0, least=0, most=1e12)
    scale: float = real(1.0, least=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        shortest = float(frugal_first_block(horizon, actions, self.price))
        place = (np.zeros(1), np.zeros(1), np.zeros(1))
        return _State(
            float(horizon), self.scale, self.price, shortest, *place, *np.zeros((3, actions))
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        if state.left[0] == 0.0:
            action = most_promising(state, FRUGAL_TOLL, state.scale)
            state.current[0] = action
            state.left[0] = max(state.shortest, float(math.ceil(0.5 * state.chosen[action])))
        action = int(state.current[0])
        state.left[0] -= 1.0
        state.acted[0] += 1.0
        state.chosen[action] += 1.0
        return action, 1.0

    observe = staticmethod(observe_mean)

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return frugal_ucb(horizon, actions, self.price, self.scale) if delay == 0 else None
