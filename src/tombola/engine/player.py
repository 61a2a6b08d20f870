"""A player: one learner in its setting, with its memory, coins and desk, ready to be driven by the loop or live."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola.engine.compiler import Kernel, specialise, specialise_step
from tombola.engine.loop import ROUND, UNTIL, Arrivals, Tally, loop
from tombola.engine.memory import mix_of, pack, viewer
from tombola.engine.queue import Queue
from tombola.errors import LearnerError
from tombola.types import Coins, Floats

if TYPE_CHECKING:
    from tombola.settings.base import Setting


PATIENCE = 100  # plans in one round
BREATH = 0.1  # seconds of compiled play after which Python may look up


class Player:
    """A learner at work on a horizon; `ring` is how many plays can be in flight at once."""

    def __init__(self, learner: Any, setting: "Setting", coins: Coins, ring: int = 1) -> None:
        state = setting.init(learner)
        self.learner, self.setting, self.coins = learner, setting, coins
        self.memory: Floats = pack(state, setting.actions)
        self.desk = setting.desk(ring)
        self.view = viewer(state)
        self._kernels = {"view": self.view, **setting.kernels(learner)}
        self._loop: Kernel | None = None
        self._stride = 1 << 10
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
        """Return `function`, the loop or a live step, specialised to this learner in its setting and such arguments."""
        compiled = specialise if function is loop else specialise_step
        return compiled(function, arguments, **self._kernels)

    def play(self, table: Arrivals, queue: Queue, tally: Tally) -> None:
        """Play all rounds of the table, and let the learner plan whenever it is due; Ctrl-C stops it in between."""
        arguments = (self.memory, self.coins, table, queue, self.desk, tally)
        if self._loop is None:
            self._loop = self.step(loop, *arguments)
        place, horizon = tally.place, table.order.size
        while place[ROUND] < horizon:
            place[UNTIL] = min(place[ROUND] + self._stride, horizon)
            began = perf_counter()
            self._loop(*arguments)
            if place[ROUND] < place[UNTIL]:
                self.plan(int(place[ROUND]))
            else:
                self._stride = max(1, self._stride * 2 if perf_counter() - began < BREATH else self._stride // 2)

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
            self.setting.plan(self.learner, self.state, self.desk, self.coins)
