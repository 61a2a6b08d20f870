"""A budgeted player: one learner, its memory, coins and purse, ready to be driven by the loop or by a session."""

from typing import Any

import numpy as np

from tombola.budget import Limits
from tombola.budgeted.base import BudgetedLearner, Terms
from tombola.budgeted.loop import Flight, Table, Tally, budgeted, decider
from tombola.budgeted.purse import Stop, left_of, new_purse
from tombola.engine.compiler import Kernel, specialise
from tombola.engine.loops import ROUND, Waiting
from tombola.engine.memory import pack, viewer
from tombola.types import Coins, Floats


class BudgetPlayer:
    """A budgeted learner at work on a horizon."""

    def __init__(
        self, learner: BudgetedLearner, limits: Limits, horizon: int, coins: Coins, *, stop: Stop, mixed: bool
    ) -> None:
        actions, resources = limits.worst.shape
        self.purse, rate = new_purse(limits, horizon, stop=stop, mixed=mixed)
        self.terms = Terms(actions, resources, horizon, rate, limits.null)
        state = learner.init(self.terms)
        self.learner, self.limits, self.coins = learner, limits, coins
        self.memory: Floats = pack(state, actions)
        self.view = viewer(state)
        self._kernels = {
            "view": self.view,
            "decide": decider(learner.mix),
            "observe": learner.observe,
            "due": learner.due,
        }

    @property
    def state(self) -> Any:
        """The state by its names: views on the memory."""
        return self.view(self.memory)

    def step(self, function: Kernel, *arguments: Any) -> Kernel:
        """Return `function` of the loop, specialised to this learner and to such arguments."""
        return specialise(function, arguments, **self._kernels)

    def play(self, table: Table, waiting: Waiting, tally: Tally) -> None:
        """Play all rounds of the table, and let the learner plan whenever it is due."""
        ring = waiting.actions.size
        flight = Flight(np.zeros((ring, self.terms.actions)), np.zeros((ring, self.terms.resources)))
        arguments = (self.memory, self.coins, table, waiting, flight, self.purse, tally)
        loop = self.step(budgeted, *arguments)
        loop(*arguments)
        while tally.place[ROUND] < table.order.size:
            self.plan()
            loop(*arguments)

    def plan(self) -> None:
        """Let the learner think in plain Python."""
        with np.errstate(over="ignore"):  # 64-bit coins overflow by design
            self.learner.plan(self.state, left_of(self.purse), self.purse.fits, self.coins)
