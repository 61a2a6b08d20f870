"""A player: one learner, its memory and coins, and its kernels, ready to be driven by a loop or by a session."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tombola.engine import loops
from tombola.engine.compiler import Kernel, specialise
from tombola.engine.memory import mix_of, pack, viewer
from tombola.errors import LearnerError
from tombola.types import Coins, Floats

if TYPE_CHECKING:
    from tombola.learners.base import Learner


PATIENCE = 100  # plans in one round


class Player:
    """A learner at work on a horizon."""

    def __init__(self, learner: "Learner", actions: int, horizon: int, coins: Coins) -> None:
        state = learner.init(actions, horizon)
        self.learner = learner
        self.coins = coins
        self.memory: Floats = pack(state, actions)
        self.view = viewer(state)
        self._kernels = _bindings(learner, actions, horizon, self.view)
        self._loop: Kernel | None = None
        self._plans, self._planned_at = 0, -1

    @property
    def state(self) -> Any:
        """The state by its names: views on the memory."""
        return self.view(self.memory)

    @property
    def mix(self) -> Floats | None:
        """The mix of the last choice of a learner that mixes, else None."""
        return mix_of(self.memory) if self.learner.mixes else None

    def step(self, function: Kernel, *arguments: Any) -> Kernel:
        """Return `function` of the loops, specialised to this learner and to such arguments."""
        return specialise(function, arguments, **self._kernels)

    def play(self, table: loops.Table, waiting: loops.Waiting, tally: loops.Tally) -> None:
        """Play all rounds of the table, and let the learner plan whenever it is due."""
        arguments = (self.memory, self.coins, table, waiting, tally)
        if self._loop is None:
            self._loop = self.step(loops.full if self.learner.feedback == "full" else loops.bandit, *arguments)
        self._loop(*arguments)
        while tally.place[loops.ROUND] < table.order.size:
            self.plan(int(tally.place[loops.ROUND]))
            self._loop(*arguments)

    def plan(self, played: int) -> None:
        """Let the learner think in plain Python, after so many rounds; one that stays due is stopped."""
        self._plans = self._plans + 1 if played == self._planned_at else 1
        self._planned_at = played
        if self._plans > PATIENCE:
            raise LearnerError(
                f"{type(self.learner).__name__}: expected plan to leave nothing due, got a learner that is still due "
                f"after {PATIENCE} plans in round {played + 1}; let plan change what due looks at."
            )
        with np.errstate(over="ignore"):  # 64-bit coins overflow by design
            self.learner.plan(self.state, self.coins)


def _bindings(learner: "Learner", actions: int, horizon: int, view: Kernel) -> dict[str, Kernel]:
    """Return what the names in the loops mean for this learner."""
    kernels = learner.kernels(actions, horizon)
    undated = learner.feedback == "full" and not learner.dated
    return {
        "view": view,
        "choose": loops.choose_plain(kernels.act) if kernels.mix is None else loops.choose_mixed(kernels.mix),
        "expect": loops.expect_plain if kernels.mix is None else loops.expect_mixed,
        "observe": loops.observe_undated(kernels.observe) if undated else kernels.observe,
        "due": kernels.due,
    }
