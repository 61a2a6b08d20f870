"""Full feedback: after the delay, the losses of all actions are seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola.book import OUTCOME, Ticket, is_pending, is_typed, mark_told, written
from tombola.engine.compiler import Kernel
from tombola.engine.loop import Arrivals, Tally, at_once, fetch, look_ahead_at, note_action, note_loss
from tombola.engine.player import Player
from tombola.engine.queue import Queue
from tombola.settings.base import (
    PAGES,
    Numbers,
    Setting,
    Steps,
    are_losses,
    chooser,
    either,
    expecter,
    filled,
    halter,
    row_of,
    step_act,
)
from tombola.types import Coins, Floats

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    observe: Kernel


class Desk(NamedTuple):
    """The row at hand."""

    row: Floats


@dataclass(frozen=True, eq=False)
class Full(Setting):
    """The losses of all actions are seen."""

    whole_rows: ClassVar[bool] = True

    @property
    def width(self) -> int:
        """How many numbers an outcome has: a loss for every action."""
        return self.actions

    def desk(self, ring: int) -> Desk:
        """Return room for one row; what is in flight is in the pool."""
        return Desk(np.zeros(self.actions))

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        kernels = learner.kernels(self.actions, self.horizon)
        choose, observe = chooser(kernels), kernels.observe if learner.dated else undated(kernels.observe)
        return {
            "look_ahead": look_ahead,
            "reveal": revealer(observe),
            "halts": halter(kernels.due),
            "turn": turner(choose, observe, expecter(kernels)),
            "choose": choose,
            "observe": observe,
            "due": kernels.due,
        }

    def steps(self, learner: Any, coins: Coins) -> Steps:
        """Return what a learner does live: one compiled call for a ticket, and one for its row."""
        player = Player(learner, self, coins)
        memory, losses = player.memory, player.desk.row
        act = player.step(step_act, memory, coins, PAGES)
        step = player.step(step_tell, memory, losses, PAGES, 1, 0, 1.0, 1)

        def quick(pages: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            whole = is_typed(ticket) and cost is label is None and filled(losses, loss)
            return whole and step(memory, losses, pages, *ticket, ticket.round)

        def tell(pages: Floats, row: int, round: int, outcome: Numbers) -> bool:
            losses[:] = outcome
            return bool(step(memory, losses, pages, row, *written(pages, row), round))

        return Steps(partial(act, memory, coins), quick, tell, player)

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


def undated(observe_row: Kernel) -> Kernel:
    """Return the kernel for a learner that does not ask which round a row belongs to."""

    def observe(state: Any, round: int, row: Floats) -> None:
        observe_row(state, row)

    return observe


def look_ahead(table: Arrivals, t: int) -> None:
    """Ask for the whole row of some rounds from now."""
    look_ahead_at(table.losses, table.order, t, table.labels.size)


def revealer(observe: Kernel) -> Kernel:
    """Return the kernel that shows the learner the row of round s."""

    def reveal(state: Any, table: Arrivals, desk: Desk, s: int) -> None:
        fetch(table, s, desk.row)
        observe(state, s + 1, desk.row)

    return reveal


def turner(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    """Return the kernel of a turn."""

    def turn(
        state: Any, mix: Floats, coins: Coins, table: Arrivals, queue: Queue, desk: Desk, tally: Tally, t: int
    ) -> None:
        action, chance = choose(state, mix, coins)
        fetch(table, t, desk.row)
        note_action(tally, t, action, chance)
        note_loss(tally, t, desk.row[action], expect(desk.row, action, mix), desk.row[table.best])
        if at_once(queue, tally, t):
            observe(state, t + 1, desk.row)

    return turn


def step_tell(memory: Floats, losses: Floats, pages: Floats, row: int, action: int, chance: float, round: int) -> bool:
    """Take in the losses of a round, live, and write them down, if they are losses and the ticket is pending."""
    if not is_pending(pages, row, action, chance) or not are_losses(losses):
        return False
    for i in range(losses.size):
        pages[row, OUTCOME + i] = losses[i]
    observe(view(memory), round, losses)
    mark_told(pages, row)
    return True
