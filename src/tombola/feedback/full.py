"""Full feedback: the learner sees the losses of all actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.compiler import Kernel
from tombola.engine.loop import (
    Play,
    RowStream,
    copy_row,
    prefetch_row,
    record_action,
    record_loss,
    reveal_immediately,
)
from tombola.engine.runner import Runner
from tombola.engine.tickets import (
    OUTCOME_START,
    Ticket,
    has_native_types,
    is_pending,
    mark_answered,
    read_ticket,
)
from tombola.feedback.base import (
    EMPTY_CELLS,
    FeedbackModel,
    LiveKernels,
    live_act,
    make_loop_kernels,
    make_replay,
)
from tombola.feedback.codec import EncodedOutcome, are_losses, copy_into, loss_or_reward, parse_row

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    observe: Kernel


class _Workspace(NamedTuple):
    """Scratch array: the current row, shape (k,). Delayed rows are read again."""

    row: Floats


@dataclass(frozen=True, eq=False)
class FullFeedback(FeedbackModel):
    """Reveal the losses of all actions. An outcome is these losses, shape (k,)."""

    full_feedback: ClassVar[bool] = True

    @property
    def outcome_width(self) -> int:
        return self.actions

    def workspace(self, ring: int) -> _Workspace:
        return _Workspace(np.zeros(self.actions))

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        kernels = learner.kernels(self.actions, self.horizon)
        return {
            **make_loop_kernels(kernels, look_ahead, _make_reveal, _make_turn),
            "learn_again": _make_learn_again(kernels.observe),
        }

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        runner = Runner(learner, self, rng)
        memory = runner.memory
        losses = runner.workspace.row
        act = runner.compile(live_act, memory, rng, EMPTY_CELLS)
        step = runner.compile(_live_observe, memory, losses, EMPTY_CELLS, 1, 0, 1.0, 1)

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            is_exact = (
                has_native_types(ticket) and cost is label is None and copy_into(losses, loss)
            )
            return is_exact and step(memory, losses, cells, *ticket, ticket.round)

        def observe(cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> bool:
            losses[:] = outcome
            return bool(step(memory, losses, cells, index, *read_ticket(cells, index), round))

        return LiveKernels(
            partial(act, memory, rng),
            observe_fast,
            observe,
            runner,
            replay=partial(make_replay, runner),
        )

    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        return tuple(parse_row(self.actions, *loss_or_reward(round, outcome)).tolist())

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"loss": outcome}

    def decode(self, outcome: EncodedOutcome) -> EncodedOutcome:
        return outcome

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[action]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        return {"loss": losses}


def look_ahead(table: RowStream, t: int) -> None:
    """Prefetch the row that is played some rounds after t; a kernel."""
    prefetch_row(table.losses, table.order, t, table.labels.size)


def _make_reveal(observe: Kernel) -> Kernel:
    """Return the kernel `reveal`, which passes the row of round s to the learner."""

    def reveal(state: Any, table: RowStream, workspace: _Workspace, s: int) -> None:
        copy_row(table, s, workspace.row)
        observe(state, s + 1, workspace.row)

    return reveal


def _make_turn(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    def turn(state: Any, mix: Floats, rng: RngState, play: Play, t: int) -> None:
        table = play.table
        workspace = play.workspace
        accumulators = play.accumulators
        action, probability = choose(state, mix, rng)
        copy_row(table, t, workspace.row)
        record_action(accumulators, t, action, probability)
        record_loss(
            accumulators,
            t,
            workspace.row[action],
            expect(workspace.row, action, mix),
            workspace.row[table.best],
        )
        if reveal_immediately(play, t):
            observe(state, t + 1, workspace.row)

    return turn


def _make_learn_again(observe: Kernel) -> Kernel:
    def learn_again(state: Any, row: Floats, cells: Floats, round: int) -> None:
        for action in range(row.size):
            row[action] = cells[round, OUTCOME_START + action]
        observe(state, round, row)

    return learn_again


def _live_observe(
    memory: Floats,
    losses: Floats,
    cells: Floats,
    index: int,
    action: int,
    probability: float,
    round: int,
) -> bool:
    """Observe the losses of a pending ticket; False, and no change, if not valid."""
    if not is_pending(cells, index, action, probability) or not are_losses(losses):
        return False
    for i in range(losses.size):
        cells[index, OUTCOME_START + i] = losses[i]
    observe(view(memory), round, losses)
    mark_answered(cells, index)
    return True
