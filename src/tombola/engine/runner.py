"""Runner: a learner with state, rng, workspace and compiled kernels."""

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


# Largest number of plans in one round; a learner that needs more would never play, and raises
# LearnerError.
_MAX_PLANS = 100
# Target duration of one compiled call, in seconds. Python handles Ctrl-C only between calls.
_MAX_CALL_SECONDS = 0.1
# Argument of the IndexError that kernels raise for an action which is a fraction or out of range.
# Kernels raise exceptions with constant arguments only, so they leave the action in the first entry
# of the mix.
INVALID_ACTION = "act: expected an action in 0..k-1"


class Runner:
    """Hold a learner in play: its state, workspace and compiled kernels.

    `play` runs all rounds of a table. A session calls the functions that `compile` returns, one
    round at a time. `memory` is the state vector of the learner.

    ring: largest number of plays in flight (without feedback) at once.
    """

    def __init__(
        self, learner: Any, feedback_model: "FeedbackModel", rng: RngState, ring: int = 1
    ) -> None:
        state = feedback_model.init(learner)
        self.learner = learner
        self.feedback_model = feedback_model
        self.rng = rng
        self.memory: Floats = flatten(state, feedback_model.actions)
        self.workspace = feedback_model.workspace(ring)
        self.view = unflattener(state)
        self._kernels = {"view": self.view, **feedback_model.kernels(learner)}
        self._loop: Kernel | None = None
        self._stride = 1 << 10
        self._plans = 0
        self._planned_at = -1

    @property
    def state(self) -> Any:
        """The state of the learner, a named tuple whose arrays are views on `memory`."""
        return self.view(self.memory)

    @property
    def mix(self) -> Floats | None:
        """The mix of the last round, a view; None for a learner without one."""
        return mix_slice(self.memory) if self.learner.mixes else None

    def compile(self, function: Kernel, *arguments: Any) -> Kernel:
        """Return the loop or a live kernel, bound to this learner and compiled.

        Short work may stay interpreted; see `Workload`. `arguments` are examples, which determine
        the types.
        """
        compile_function = compile_loop if function is loop else compile_step
        return compile_function(function, arguments, **self._kernels)

    def play(self, table: RowStream, arrivals: ArrivalSchedule, accumulators: Accumulators) -> None:
        """Play all rounds of the table; call `plan` whenever the learner needs it.

        Starts at the round in `accumulators.cursor`. LearnerError if the learner returns an invalid
        action.
        """
        arguments = (self.memory, self.rng, table, arrivals, self.workspace, accumulators)
        if self._loop is None:
            self._loop = self.compile(loop, *arguments)
        cursor = accumulators.cursor
        horizon = table.order.size
        while cursor[ROUND] < horizon:
            cursor[UNTIL] = min(cursor[ROUND] + self._stride, horizon)
            began = perf_counter()
            try:
                self._loop(*arguments)
            except IndexError as error:
                reject_invalid_action(self.learner, self.memory, error)
                raise
            if cursor[ROUND] < cursor[UNTIL]:
                self.plan(int(cursor[ROUND]))
            else:
                self._stride = max(
                    1,
                    self._stride * 2
                    if perf_counter() - began < _MAX_CALL_SECONDS
                    else self._stride // 2,
                )

    def plan(self, played: int) -> None:
        """Call `plan` of the learner once, in plain Python; it changes the state in place.

        Raises LearnerError after more than 100 calls in one round. `played` is the number of rounds
        played so far.
        """
        self._plans = self._plans + 1 if played == self._planned_at else 1
        self._planned_at = played
        if self._plans > _MAX_PLANS:
            raise LearnerError(
                f"{type(self.learner).__name__}: expected plan to settle needs_plan, got a "
                "learner that needs to plan "
                f"after {_MAX_PLANS} plans in round {played + 1}; let plan change the state that "
                "needs_plan reads."
            )
        with np.errstate(over="ignore"):  # the rng wraps around by design
            self.feedback_model.plan(self.learner, self.state, self.workspace, self.rng)


def reject_invalid_action(learner: Any, memory: Floats, error: IndexError) -> None:
    """Raise LearnerError if this error of a kernel means an invalid action.

    The invalid action is in the first entry of the mix in `memory`.
    """
    if error.args == (INVALID_ACTION,):
        mix = mix_slice(memory)
        raise LearnerError(
            f"{type(learner).__name__}.act: expected an action that is a whole number from 0 to "
            f"{mix.size - 1}, "
            f"got {mix[0]:g}; return such an index, for example int(...), and its probability."
        ) from None
