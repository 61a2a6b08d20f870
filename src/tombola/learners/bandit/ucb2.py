"""UCB2, which switches rarely (Auer, Cesa-Bianchi and Fischer 2002, Figure 2)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola import bounds
from tombola._statistics import serfling_factor
from tombola._types import Floats
from tombola.learners.bandit.counts import make_block_act, update_mean
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real

# Smallest allowed `alpha`, the growth of the blocks. Blocks of length 0 are skipped one by one: a
# smaller alpha would make that slow, and endless once 1 + alpha rounds to 1.
_MIN_ALPHA = 1e-6


class _State(NamedTuple):
    alpha: float  # growth of the blocks
    population: float  # rows of the pool for radii without replacement, else infinite
    # current, left: action of the block, and rounds left in it.
    current: Floats
    left: Floats
    answered: Floats  # number of losses observed in all
    powers: Floats  # (1 + alpha)^r of each action after r blocks
    # chosen, seen, means: plays, losses observed and their mean, of each action.
    chosen: Floats
    seen: Floats
    means: Floats


def _most_promising(state: _State) -> int:
    """Return the action with the smallest lower confidence bound; all have answers."""
    best = 0
    least = math.inf
    for action in range(state.seen.size):
        seen = state.seen[action]
        depth = (1.0 + state.alpha) * (1.0 + math.log(state.answered[0] / seen))
        radius = math.sqrt(max(0.0, serfling_factor(seen, state.population)) * depth / (2.0 * seen))
        if state.means[action] - radius < least:
            best = action
            least = state.means[action] - radius
    return best


def _next_block(state: _State, action: int) -> float:
    """Return the length of the next non-empty block of an action, and count it."""
    length = 0.0
    while length == 0.0:
        grown = state.powers[action] * (1.0 + state.alpha)
        length = float(math.ceil(grown) - math.ceil(state.powers[action]))
        state.powers[action] = grown
    return length


@dataclass(frozen=True)
class UCB2(Learner):
    """Play the action with the smallest lower confidence bound for a whole block.

    The bound is mean(a) - sqrt((1 + alpha) ln(e n / n(a)) / (2 n(a))).

    The r-th block of an action has ceil((1 + alpha)^(r+1)) - ceil((1 + alpha)^r) rounds; every
    action is tried once first. n(a) counts the losses seen of a, and n all of them; without delay,
    n(a) is the printed tau(r) = ceil((1 + alpha)^r). Without delay its regret in random order is at
    most `bounds.ucb2`: the number of plays that Auer, Cesa-Bianchi and Fischer 2002, Theorem 2,
    prove for i.i.d. rows holds there too (docs/theory/transfer.md).

    alpha: growth of the blocks, in (0, 1); a larger one switches less.

    >>> from tombola import Pool, play
    >>> play(UCB2(), Pool([[1.0, 0.0]] * 12), seed=0).actions.tolist()
    [0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    """

    alpha: float = real(0.5, least=_MIN_ALPHA, below=1)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        place = (np.zeros(1), np.zeros(1), np.zeros(1))
        return _State(self.alpha, math.inf, *place, np.ones(actions), *np.zeros((3, actions)))

    act = staticmethod(make_block_act(_most_promising, _next_block))

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        update_mean(state.seen, state.means, action, loss)
        state.answered[0] += 1.0

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return bounds.ucb2(horizon, actions, self.alpha) if delay == 0 else None


@dataclass(frozen=True)
class UCB2WithoutReplacement(UCB2):
    """Play as `UCB2` with a smaller radius, for sampling without replacement.

    The radius of action a is sqrt(f (1 + alpha) ln(e n / n(a)) / (2 n(a))), where n(a) of the n
    losses seen are of action a, T is the horizon, e is Euler's number, and f = 1 - (n(a) - 1) / T
    is Serfling's factor (1974): rows of the pool that were seen cannot differ any more. It matters
    late in a pool. No bound is proved for this radius, so `bound` is None.

    >>> from tombola import Pool, play
    >>> play(UCB2WithoutReplacement(), Pool([[1.0, 0.0]] * 12), seed=0).actions.tolist()
    [0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    """

    def init(self, actions: int, horizon: int) -> _State:
        return super().init(actions, horizon)._replace(population=float(horizon))

    def bound(self, actions: int, horizon: int, delay: int = 0) -> None:
        return None
