"""A runner: one learner in its feedback_model, with its memory, rng and workspace, ready to be driven by the loop or live."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel, compile_loop, compile_step
from tombola.engine.loop import ROUND, UNTIL, Accumulators, RowStream, loop
from tombola.engine.state_vector import flatten, mix_slice, unflattener
from tombola.errors import LearnerError

if TYPE_CHECKING:
    from tombola.feedback.base import FeedbackModel


MAX_PLANS = 100  # plans in one round
MAX_CALL_SECONDS = 0.1  # seconds of compiled play after which Python may look up


class Runner:
    """A learner at work on a horizon; `ring` is how many plays can be in flight at once."""

    def __init__(self, learner: Any, feedback_model: "FeedbackModel", rng: RngState, ring: int = 1) -> None:
        state = feedback_model.init(learner)
        self.learner, self.feedback_model, self.rng = learner, feedback_model, rng
        self.memory: Floats = flatten(state, feedback_model.actions)
        self.workspace = feedback_model.workspace(ring)
        self.view = unflattener(state)
        self._kernels = {"view": self.view, **feedback_model.kernels(learner)}
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
        return mix_slice(self.memory) if self.learner.mixes else None

    def step(self, function: Kernel, *arguments: Any) -> Kernel:
        """Return `function`, the loop or a live step, specialised to this learner in its feedback_model and such arguments."""
        compiled = compile_loop if function is loop else compile_step
        return compiled(function, arguments, **self._kernels)

    def play(self, table: RowStream, arrivals: ArrivalSchedule, accumulators: Accumulators) -> None:
        """Play all rounds of the table, and let the learner plan whenever it is due; Ctrl-C stops it in between."""
        arguments = (self.memory, self.rng, table, arrivals, self.workspace, accumulators)
        if self._loop is None:
            self._loop = self.step(loop, *arguments)
        cursor, horizon = accumulators.cursor, table.order.size
        while cursor[ROUND] < horizon:
            cursor[UNTIL] = min(cursor[ROUND] + self._stride, horizon)
            began = perf_counter()
            self._loop(*arguments)
            if cursor[ROUND] < cursor[UNTIL]:
                self.plan(int(cursor[ROUND]))
            else:
                self._stride = max(
                    1, self._stride * 2 if perf_counter() - began < MAX_CALL_SECONDS else self._stride // 2
                )

    def plan(self, played: int) -> None:
        """Let the learner think in plain Python, after so many rounds; one that stays due is stopped."""
        self._plans = self._plans + 1 if played == self._planned_at else 1
        self._planned_at = played
        if self._plans > MAX_PLANS:
            raise LearnerError(
                f"{type(self.learner).__name__}: expected plan to leave nothing due, got a learner that is still due "
                f"after {MAX_PLANS} plans in round {played + 1}; let plan change what needs_plan reads."
            )
        with np.errstate(over="ignore"):  # 64-bit rng overflow by design
            self.feedback_model.plan(self.learner, self.state, self.workspace, self.rng)
