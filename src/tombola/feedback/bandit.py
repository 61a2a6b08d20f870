"""Bandit feedback: after the delay, the loss of the action played is seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, RngState, Rounds
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel
from tombola.engine.loop import (
    Accumulators,
    RowStream,
    copy_row,
    prefetch_row,
    record_action,
    record_loss,
    reveal_immediately,
)
from tombola.engine.runner import Runner
from tombola.engine.tickets import OUTCOME_START, Ticket, is_pending, mark_answered, ticket_cells
from tombola.feedback.base import (
    EMPTY_CELLS,
    EncodedOutcome,
    FeedbackModel,
    LiveKernels,
    live_act,
    loss_or_reward,
    make_choose,
    make_expected_loss,
    make_pauses,
    parse_loss,
)

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    observe: Kernel


class Workspace(NamedTuple):
    """The row at hand, and the tickets still out, in a ring."""

    row: Floats
    actions: Rounds
    probabilities: Floats
    losses: Floats


@dataclass(frozen=True, eq=False)
class BanditFeedback(FeedbackModel):
    """The loss of the action played is seen."""

    @property
    def outcome_width(self) -> int:
        """How many numbers an outcome has: one loss."""
        return 1

    def workspace(self, ring: int) -> Workspace:
        """Return room for one row, and for the tickets out."""
        return Workspace(np.zeros(self.actions), np.zeros(ring, np.int64), np.zeros(ring), np.zeros(ring))

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        kernels = learner.kernels(self.actions, self.horizon)
        choose = make_choose(kernels)
        return {
            "look_ahead": look_ahead,
            "reveal": make_reveal(kernels.observe),
            "pauses": make_pauses(kernels.needs_plan),
            "turn": make_turn(choose, kernels.observe, make_expected_loss(kernels)),
            "choose": choose,
            "observe": kernels.observe,
            "needs_plan": kernels.needs_plan,
        }

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return what a learner does live: one compiled call for a ticket, and one for its loss."""
        runner = Runner(learner, self, rng)
        memory = runner.memory
        act = runner.step(live_act, memory, rng, EMPTY_CELLS)
        step = runner.step(live_observe, memory, EMPTY_CELLS, 1, 0, 1.0, 0.0)

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            if type(ticket) is not Ticket:
                return False
            row, action, probability = ticket
            is_plain = type(row) is type(action) is int and type(probability) is type(loss) is float
            return is_plain and cost is label is None and step(memory, cells, row, action, probability, loss)

        def tell(cells: Floats, row: int, round: int, outcome: EncodedOutcome) -> bool:
            return bool(step(memory, cells, row, *ticket_cells(cells, row), outcome[0]))

        return LiveKernels(partial(act, memory, rng), observe_fast, tell, runner)

    def encode(self, round: int, action: int, given: Mapping[str, Any]) -> EncodedOutcome:
        """Return the loss of the action played."""
        return (parse_loss(*loss_or_reward(round, given)),)

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"loss": outcome[0]}

    def decode(self, outcome: EncodedOutcome) -> float:
        """Return the loss."""
        return outcome[0]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        """Return the loss."""
        return outcome[0]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the loss of the action."""
        return {"loss": float(losses[action])}


def look_ahead(table: RowStream, t: int) -> None:
    """Ask for the beginning of the row of some rounds from now."""
    prefetch_row(table.losses, table.order, t, 1)


def make_reveal(observe: Kernel) -> Kernel:
    """Return the kernel that tells the learner what came of the ticket of round s."""

    def reveal(state: Any, table: RowStream, workspace: Workspace, s: int) -> None:
        slot = s % workspace.actions.size
        observe(state, workspace.actions[slot], workspace.probabilities[slot], workspace.losses[slot])

    return reveal


def make_turn(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    """Return the kernel of a turn."""

    def turn(
        state: Any,
        mix: Floats,
        rng: RngState,
        table: RowStream,
        arrivals: ArrivalSchedule,
        workspace: Workspace,
        accumulators: Accumulators,
        t: int,
    ) -> None:
        action, probability = choose(state, mix, rng)
        loss = float(table.losses[table.order[t], table.labels[action]])
        expected = loss
        if accumulators.expects:
            copy_row(table, t, workspace.row)
            expected = expect(workspace.row, action, mix)
        record_action(accumulators, t, action, probability)
        record_loss(accumulators, t, loss, expected, float(table.losses[table.order[t], table.labels[table.best]]))
        if reveal_immediately(arrivals, accumulators, t):
            observe(state, action, probability, loss)
        else:
            slot = t % workspace.actions.size
            workspace.actions[slot], workspace.probabilities[slot], workspace.losses[slot] = action, probability, loss

    return turn


def live_observe(memory: Floats, cells: Floats, row: int, action: int, probability: float, loss: float) -> bool:
    """Take in one loss, live, and write it down, if it is one and its ticket is pending."""
    if not is_pending(cells, row, action, probability) or not 0.0 <= loss <= 1.0:
        return False
    observe(view(memory), action, probability, loss)
    cells[row, OUTCOME_START] = loss
    mark_answered(cells, row)
    return True
