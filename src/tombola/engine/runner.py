"""A runner: one learner in its setting, with its memory, rng and workspace, ready to be driven by the loop or live."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel, compile_loop, compile_step
from tombola.engine.loop import ROUND, UNTIL, Accumulators, RowStream, loop
from tombola.engine.state_vector import mix_of, pack, viewer
from tombola.errors import LearnerError

if TYPE_CHECKING:
    from tombola.feedback.base import FeedbackModel


PATIENCE = 100  # plans in one round
BREATH = 0.1  # seconds of compiled play after which Python may look up


class Runner:
    """A learner at work on a horizon; `ring` is how many plays can be in flight at once."""

    def __init__(self, learner: Any, setting: "FeedbackModel", rng: RngState, ring: int = 1) -> None:
        state = setting.init(learner)
        self.learner, self.setting, self.rng = learner, setting, rng
        self.memory: Floats = pack(state, setting.actions)
        self.workspace = setting.workspace(ring)
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
        compiled = compile_loop if function is loop else compile_step
        return compiled(function, arguments, **self._kernels)

    def play(self, table: RowStream, arrivals: ArrivalSchedule, accumulators: Accumulators) -> None:
        """Play all rounds of the table, and let the learner plan whenever it is due; Ctrl-C stops it in between."""
        arguments = (self.memory, self.rng, table, arrivals, self.workspace, accumulators)
        if self._loop is None:
            self._loop = self.step(loop, *arguments)
        place, horizon = accumulators.place, table.order.size
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
                f"after {PATIENCE} plans in round {played + 1}; let plan change what needs_plan reads."
            )
        with np.errstate(over="ignore"):  # 64-bit rng overflow by design
            self.setting.plan(self.learner, self.state, self.workspace, self.rng)
