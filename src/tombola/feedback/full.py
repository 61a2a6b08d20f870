"""Full feedback: after the delay, the losses of all actions are seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.arrivals import ArrivalSchedule
from tombola.engine.compiler import Kernel
from tombola.engine.loop import Accumulators, RowStream, at_once, fetch, look_ahead_at, note_action, note_loss
from tombola.engine.runner import Runner
from tombola.engine.tickets import OUTCOME, Ticket, is_pending, is_typed, mark_answered, written
from tombola.feedback.base import (
    PAGES,
    FeedbackModel,
    LiveKernels,
    Numbers,
    are_losses,
    either,
    filled,
    make_choose,
    make_expected_loss,
    make_needs_plan,
    row_of,
    step_act,
)

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    observe: Kernel


class Workspace(NamedTuple):
    """The row at hand."""

    row: Floats


@dataclass(frozen=True, eq=False)
class Full(FeedbackModel):
    """The losses of all actions are seen."""

    whole_rows: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """How many numbers an outcome has: a loss for every action."""
        return self.actions

    def workspace(self, ring: int) -> Workspace:
        """Return room for one row; what is in flight is in the pool."""
        return Workspace(np.zeros(self.actions))

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        kernels = learner.kernels(self.actions, self.horizon)
        choose, observe = (
            make_choose(kernels),
            kernels.observe if learner.needs_round else without_round(kernels.observe),
        )
        return {
            "look_ahead": look_ahead,
            "reveal": make_reveal(observe),
            "halts": make_needs_plan(kernels.needs_plan),
            "turn": make_turn(choose, observe, make_expected_loss(kernels)),
            "choose": choose,
            "observe": observe,
            "needs_plan": kernels.needs_plan,
        }

    def steps(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return what a learner does live: one compiled call for a ticket, and one for its row."""
        runner = Runner(learner, self, rng)
        memory, losses = runner.memory, runner.workspace.row
        act = runner.step(step_act, memory, rng, PAGES)
        step = runner.step(step_tell, memory, losses, PAGES, 1, 0, 1.0, 1)

        def quick(pages: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            whole = is_typed(ticket) and cost is label is None and filled(losses, loss)
            return whole and step(memory, losses, pages, *ticket, ticket.round)

        def tell(pages: Floats, row: int, round: int, outcome: Numbers) -> bool:
            losses[:] = outcome
            return bool(step(memory, losses, pages, row, *written(pages, row), round))

        return LiveKernels(partial(act, memory, rng), quick, tell, runner)

    def parse(self, round: int, action: int, given: Mapping[str, Any]) -> Numbers:
        """Return the losses of all actions."""
        return tuple(row_of(self.actions, *either(round, given)).tolist())

    def as_given(self, outcome: Numbers) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"loss": outcome}

    def told(self, outcome: Numbers) -> Numbers:
        """Return the losses of all actions."""
        return outcome

    def loss(self, action: int, outcome: Numbers) -> float:
        """Return the loss of the action that was played."""
        return outcome[action]

    def answer(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the whole row."""
        return {"loss": losses}


def without_round(observe_row: Kernel) -> Kernel:
    """Return the kernel for a learner that does not ask which round a row belongs to."""

    def observe(state: Any, round: int, row: Floats) -> None:
        observe_row(state, row)

    return observe


def look_ahead(table: RowStream, t: int) -> None:
    """Ask for the whole row of some rounds from now."""
    look_ahead_at(table.losses, table.order, t, table.labels.size)


def make_reveal(observe: Kernel) -> Kernel:
    """Return the kernel that shows the learner the row of round s."""

    def reveal(state: Any, table: RowStream, workspace: Workspace, s: int) -> None:
        fetch(table, s, workspace.row)
        observe(state, s + 1, workspace.row)

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
        fetch(table, t, workspace.row)
        note_action(accumulators, t, action, probability)
        note_loss(accumulators, t, workspace.row[action], expect(workspace.row, action, mix), workspace.row[table.best])
        if at_once(arrivals, accumulators, t):
            observe(state, t + 1, workspace.row)

    return turn


def step_tell(
    memory: Floats, losses: Floats, pages: Floats, row: int, action: int, probability: float, round: int
) -> bool:
    """Take in the losses of a round, live, and write them down, if they are losses and the ticket is pending."""
    if not is_pending(pages, row, action, probability) or not are_losses(losses):
        return False
    for i in range(losses.size):
        pages[row, OUTCOME + i] = losses[i]
    observe(view(memory), round, losses)
    mark_answered(pages, row)
    return True
