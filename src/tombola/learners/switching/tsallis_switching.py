"""Tsallis-INF for switching costs (Rouyer, Seldin and Cesa-Bianchi 2021).

C. Rouyer, Y. Seldin and N. Cesa-Bianchi, "An algorithm for stochastic and adversarial bandits with
switching costs", ICML 2021. Blocks and rates of their orders; for the constants see
docs/theory/switching.md, section 4.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds import switching
from tombola.learners.bandit.counts import argmin
from tombola.learners.bandit.tsallis_inf import normalise
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real
from tombola.learners.switching.batched_exp3 import BatchedExp3
from tombola.rng import choice


class _State(NamedTuple):
    blocks: Floats  # number of blocks begun
    # current, probability, left: action of the block, its probability, and rounds left.
    current: Floats
    probability: Floats
    left: Floats
    y: Floats  # solution of `normalise` at the last draw
    # totals, gaps, weights: of each action.
    totals: Floats
    gaps: Floats
    weights: Floats


@dataclass(frozen=True)
class TsallisSwitching(Learner):
    """Draw an action like Tsallis-INF, and play it for a block; blocks grow.

    Its probability is 4 / (eta (total(a) - x))^2, where x makes the sum 1. Block n = 1, 2, .. has B
    = max(1, ceil(1.5 price sqrt(n / k))) rounds, and eta = sqrt(8 / n) / B. total(a) adds up loss /
    probability of its plays, with the probability of the draw for every round of a block. No
    horizon is needed. The regret with switches is at most `bounds.switching.tsallis_switching`, in
    every order, of order (price k)^(1/3) T^(2/3) + sqrt(k T). The proof of Rouyer, Seldin and
    Cesa-Bianchi 2021 for i.i.d. rows is for other constants.

    price: cost of a switch, in losses.

    >>> from tombola import Pool, play
    >>> trace = play(TsallisSwitching(), Pool([[1.0, 0.0]] * 2000), switching_price=1.0, seed=0)
    >>> trace.regret < TsallisSwitching().bound(2, 2000)
    True
    """

    price: float = real(1.0, least=0, most=1e12)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        place = (np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1))
        return _State(*place, np.full(1, math.sqrt(actions)), *np.zeros((3, actions)))

    needs_plan = staticmethod(BatchedExp3.needs_plan)
    act = staticmethod(BatchedExp3.act)
    observe = staticmethod(BatchedExp3.observe)

    def plan(self, state: _State, rng: RngState) -> None:
        state.blocks[0] += 1.0
        length = switching.tsallis_block(int(state.blocks[0]), state.totals.size, self.price)
        half_eta = math.sqrt(2.0 / state.blocks[0]) / length
        least = state.totals[argmin(state.totals)]
        state.gaps[:] = (state.totals - least) * half_eta
        state.y[0] = normalise(state.gaps, float(state.y[0]), state.weights)
        action = choice(state.weights, rng)
        state.current[0], state.probability[0], state.left[0] = (
            action,
            state.weights[action],
            length,
        )

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return None if delay > 0 else switching.tsallis_switching(horizon, actions, self.price)
