"""Batched Exp3 for switching costs (Arora, Dekel and Tewari 2012).

R. Arora, O. Dekel and A. Tewari, "Online bandit learning against an adaptive adversary: from regret
to policy regret", ICML 2012, where mini-batches make any bandit learner one for switching costs,
with regret of order T^(2/3).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds import switching
from tombola.learners.bandit.counts import argmin
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import integer, real
from tombola.rng import choice


class _State(NamedTuple):
    # block, rate: length of a block, and learning rate.
    block: float
    rate: float
    # current, probability, left: of the current block.
    current: Floats
    probability: Floats
    left: Floats
    # totals, weights: estimated total loss and probability of each action.
    totals: Floats
    weights: Floats


@dataclass(frozen=True)
class BatchedExp3(Learner):
    """Draw an action by exponential weights, and play it for a whole block.

    Its probability is proportional to exp(-rate total(a)). total(a) adds up loss / probability of
    its plays, with the probability of the draw for every round of a block. The regret with switches
    is at most `bounds.switching.batched_exp3`, in every order: about 3 (k T^2 price ln k /
    2)^(1/3).

    price: cost of a switch, in losses.
    block: rounds of a block; None is (2 price)^(2/3) (T / (2 k ln k))^(1/3), and the rate fits.

    >>> from tombola import Pool, play
    >>> trace = play(BatchedExp3(), Pool([[1.0, 0.0]] * 2000), switching_price=1.0, seed=0)
    >>> trace.switches < 60, trace.regret < BatchedExp3().bound(2, 2000)
    (True, True)
    """

    price: float = real(1.0, least=0, most=1e12)
    block: int | None = integer(None, least=1)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        block = (
            switching.exp3_block(horizon, actions, self.price) if self.block is None else self.block
        )
        rate = math.sqrt(2 * math.log(actions) / (actions * math.ceil(horizon / block))) / block
        place = (np.zeros(1), np.ones(1), np.zeros(1))
        return _State(float(block), rate, *place, *np.zeros((2, actions)))

    @staticmethod
    def needs_plan(state: _State) -> bool:
        return bool(state.left[0] == 0.0)

    def plan(self, state: _State, rng: RngState) -> None:
        least = state.totals[argmin(state.totals)]
        state.weights[:] = [math.exp(state.rate * (least - total)) for total in state.totals]
        state.weights[:] /= state.weights.sum()
        action = choice(state.weights, rng)
        state.current[0], state.probability[0], state.left[0] = (
            action,
            state.weights[action],
            state.block,
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        state.left[0] -= 1.0
        return int(state.current[0]), state.probability[0]

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        state.totals[action] += loss / probability

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return (
            None if delay > 0 else switching.batched_exp3(horizon, actions, self.price, self.block)
        )
