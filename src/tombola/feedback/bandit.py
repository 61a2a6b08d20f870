"""Bandit feedback: the learner sees the loss of the action it played."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Integers, RngState
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
    ACTION,
    OUTCOME_START,
    PROBABILITY,
    Ticket,
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
from tombola.feedback.codec import EncodedOutcome, loss_or_reward, parse_loss

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    observe: Kernel


class _Workspace(NamedTuple):
    """Scratch arrays: the current row, and a ring buffer of plays in flight."""

    row: Floats
    actions: Integers
    probabilities: Floats
    losses: Floats


@dataclass(frozen=True, eq=False)
class BanditFeedback(FeedbackModel):
    """Reveal the loss of the action played. An outcome is that loss, one float."""

    @property
    def outcome_width(self) -> int:
        return 1

    def workspace(self, ring: int) -> _Workspace:
        return _Workspace(
            np.zeros(self.actions), np.zeros(ring, np.int64), np.zeros(ring), np.zeros(ring)
        )

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        kernels = learner.kernels(self.actions, self.horizon)
        return {
            **make_loop_kernels(kernels, _look_ahead, _make_reveal, _make_turn),
            "learn_again": _make_learn_again(kernels.observe),
        }

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        runner = Runner(learner, self, rng)
        memory = runner.memory
        act = runner.compile(live_act, memory, rng, EMPTY_CELLS)
        step = runner.compile(_live_observe, memory, EMPTY_CELLS, 1, 0, 1.0, 0.0)

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            if type(ticket) is not Ticket:
                return False
            # Exact types only: the compiled step has one signature, and others would compile it
            # again.
            round_, action, probability = ticket
            is_exact = (
                type(round_) is type(action) is int and type(probability) is type(loss) is float
            )
            return (
                is_exact
                and cost is label is None
                and step(memory, cells, round_, action, probability, loss)
            )

        def observe(cells: Floats, index: int, round: int, outcome: EncodedOutcome) -> bool:
            return bool(step(memory, cells, index, *read_ticket(cells, index), outcome[0]))

        return LiveKernels(
            partial(act, memory, rng),
            observe_fast,
            observe,
            runner,
            replay=partial(make_replay, runner),
        )

    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        return (parse_loss(*loss_or_reward(round, outcome)),)

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"loss": outcome[0]}

    def decode(self, outcome: EncodedOutcome) -> float:
        return outcome[0]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[0]

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        return {"loss": float(losses[action])}


def _look_ahead(table: RowStream, t: int) -> None:
    prefetch_row(table.losses, table.order, t, 1)


def _make_reveal(observe: Kernel) -> Kernel:
    """Return the kernel `reveal`, which passes the loss of round s to the learner."""

    def reveal(state: Any, table: RowStream, workspace: _Workspace, s: int) -> None:
        slot = s % workspace.actions.size
        observe(
            state, workspace.actions[slot], workspace.probabilities[slot], workspace.losses[slot]
        )

    return reveal


def _make_turn(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    def turn(state: Any, mix: Floats, rng: RngState, play: Play, t: int) -> None:
        table = play.table
        workspace = play.workspace
        accumulators = play.accumulators
        action, probability = choose(state, mix, rng)
        loss = float(table.losses[table.order[t], table.labels[action]])
        expected = loss
        if accumulators.expects:
            copy_row(table, t, workspace.row)
            expected = expect(workspace.row, action, mix)
        record_action(accumulators, t, action, probability)
        record_loss(
            accumulators,
            t,
            loss,
            expected,
            float(table.losses[table.order[t], table.labels[table.best]]),
        )
        if reveal_immediately(play, t):
            observe(state, action, probability, loss)
        else:
            slot = t % workspace.actions.size
            workspace.actions[slot] = action
            workspace.probabilities[slot] = probability
            workspace.losses[slot] = loss

    return turn


def _make_learn_again(observe: Kernel) -> Kernel:
    def learn_again(state: Any, row: Floats, cells: Floats, round: int) -> None:
        observe(
            state,
            int(cells[round, ACTION]),
            cells[round, PROBABILITY],
            cells[round, OUTCOME_START],
        )

    return learn_again


def _live_observe(
    memory: Floats, cells: Floats, index: int, action: int, probability: float, loss: float
) -> bool:
    """Observe one loss of a pending ticket; False, and no change, if it is not valid."""
    if not is_pending(cells, index, action, probability) or not 0.0 <= loss <= 1.0:
        return False
    observe(view(memory), action, probability, loss)
    cells[index, OUTCOME_START] = loss
    mark_answered(cells, index)
    return True
