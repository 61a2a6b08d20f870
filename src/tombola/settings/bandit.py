"""Bandit feedback: after the delay, the loss of the action played is seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola.book import OUTCOME, Ticket, is_pending, mark_told, written
from tombola.engine.compiler import Kernel
from tombola.engine.loop import Arrivals, Tally, at_once, fetch, look_ahead_at, note_action, note_loss
from tombola.engine.player import Player
from tombola.engine.queue import Queue
from tombola.settings.base import PAGES, Numbers, Setting, Steps, chooser, either, expecter, halter, number_of, step_act
from tombola.types import Coins, Floats, Rounds

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    observe: Kernel


class Desk(NamedTuple):
    """The row at hand, and the tickets still out, in a ring."""

    row: Floats
    actions: Rounds
    chances: Floats
    losses: Floats


@dataclass(frozen=True, eq=False)
class Bandit(Setting):
    """The loss of the action played is seen."""

    @property
    def width(self) -> int:
        """How many numbers an outcome has: one loss."""
        return 1

    def desk(self, ring: int) -> Desk:
        """Return room for one row, and for the tickets out."""
        return Desk(np.zeros(self.actions), np.zeros(ring, np.int64), np.zeros(ring), np.zeros(ring))

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        kernels = learner.kernels(self.actions, self.horizon)
        choose = chooser(kernels)
        return {
            "look_ahead": look_ahead,
            "reveal": revealer(kernels.observe),
            "halts": halter(kernels.due),
            "turn": turner(choose, kernels.observe, expecter(kernels)),
            "choose": choose,
            "observe": kernels.observe,
            "due": kernels.due,
        }

    def steps(self, learner: Any, coins: Coins) -> Steps:
        """Return what a learner does live: one compiled call for a ticket, and one for its loss."""
        player = Player(learner, self, coins)
        memory = player.memory
        act = player.step(step_act, memory, coins, PAGES)
        step = player.step(step_tell, memory, PAGES, 1, 0, 1.0, 0.0)

        def quick(pages: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            if type(ticket) is not Ticket:
                return False
            row, action, chance = ticket
            is_plain = type(row) is type(action) is int and type(chance) is type(loss) is float
            return is_plain and cost is label is None and step(memory, pages, row, action, chance, loss)

        def tell(pages: Floats, row: int, round: int, outcome: Numbers) -> bool:
            return bool(step(memory, pages, row, *written(pages, row), outcome[0]))

        return Steps(partial(act, memory, coins), quick, tell, player)

    def parse(self, round: int, action: int, given: Mapping[str, Any]) -> Numbers:
        """Return the loss of the action played."""
        return (number_of(*either(round, given)),)

    def as_given(self, outcome: Numbers) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"loss": outcome[0]}

    def told(self, outcome: Numbers) -> float:
        """Return the loss."""
        return outcome[0]

    def loss(self, action: int, outcome: Numbers) -> float:
        """Return the loss."""
        return outcome[0]

    def answer(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the loss of the action."""
        return {"loss": float(losses[action])}


def look_ahead(table: Arrivals, t: int) -> None:
    """Ask for the beginning of the row of some rounds from now."""
    look_ahead_at(table.losses, table.order, t, 1)


def revealer(observe: Kernel) -> Kernel:
    """Return the kernel that tells the learner what came of the ticket of round s."""

    def reveal(state: Any, table: Arrivals, desk: Desk, s: int) -> None:
        slot = s % desk.actions.size
        observe(state, desk.actions[slot], desk.chances[slot], desk.losses[slot])

    return reveal


def turner(choose: Kernel, observe: Kernel, expect: Kernel) -> Kernel:
    """Return the kernel of a turn."""

    def turn(
        state: Any, mix: Floats, coins: Coins, table: Arrivals, queue: Queue, desk: Desk, tally: Tally, t: int
    ) -> None:
        action, chance = choose(state, mix, coins)
        loss = float(table.losses[table.order[t], table.labels[action]])
        expected = loss
        if tally.expects:
            fetch(table, t, desk.row)
            expected = expect(desk.row, action, mix)
        note_action(tally, t, action, chance)
        note_loss(tally, t, loss, expected, float(table.losses[table.order[t], table.labels[table.best]]))
        if at_once(queue, tally, t):
            observe(state, action, chance, loss)
        else:
            slot = t % desk.actions.size
            desk.actions[slot], desk.chances[slot], desk.losses[slot] = action, chance, loss

    return turn


def step_tell(memory: Floats, pages: Floats, row: int, action: int, chance: float, loss: float) -> bool:
    """Take in one loss, live, and write it down, if it is one and its ticket is pending."""
    if not is_pending(pages, row, action, chance) or not 0.0 <= loss <= 1.0:
        return False
    observe(view(memory), action, chance, loss)
    pages[row, OUTCOME] = loss
    mark_told(pages, row)
    return True
