"""Budgets: actions cost resources, and after the delay the losses and costs of all actions are seen.

The purse decides what may be played, for all learners alike; costs reach a learner in the common scale of `Budget`.
What a learner is told of a round is one kernel, `tell`: `budgeted_bandit` has another one, and all else is shared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tombola.book import OUTCOME, Ticket, has_room, is_pending, is_typed, mark_told, write_ticket, written
from tombola.budget import Allowance, Ledger, Limits, Terms
from tombola.engine.compiler import Kernel
from tombola.engine.loop import SPENT, Arrivals, Tally, at_once, look_ahead_at, note_action, note_loss
from tombola.engine.memory import mix_of
from tombola.engine.player import Player
from tombola.engine.queue import Queue
from tombola.errors import FeedbackError, ParameterError
from tombola.settings.base import DUE, FULL, PAGES, Numbers, Setting, Steps, either, filled, row_of
from tombola.settings.purse import (
    CLOSED,
    STOPPED,
    Purse,
    commit,
    keep_what_fits,
    ledger_of,
    left_of,
    look,
    new_purse,
    only_null,
    settle,
)
from tombola.types import Coins, Floats, Rounds

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    decide: Kernel
    tell: Kernel
    lay_out: Kernel
    due: Kernel


class Desk(NamedTuple):
    """The purse; plays in flight and what is reserved for each, in a ring; the row at hand; the comparator's loss.

    A play in flight is a mix, and if it was drawn an action with its chance. A row has its losses, its costs, and its
    costs in the common scale; `shown` and `told` are copies, of what fits and of a play, which a learner may keep and
    write into; `listed` actions are not an added null.
    """

    purse: Purse
    played: Floats
    actions: Rounds
    chances: Floats
    reserved: Floats
    row: Floats
    raw: Floats
    scaled: Floats
    shown: Floats
    told: Floats
    listed: int
    comparator: float


@dataclass(frozen=True, eq=False)
class Budgeted(Setting):
    """The losses and costs of all actions are seen, and no more is spent than allowed.

    In fluid play every action is played a little, as the mix says. An added null action is the last one, and is never
    told of.
    """

    whole_rows: ClassVar[bool] = True
    amendable: ClassVar[bool] = False

    allowance: Allowance

    @property
    def limits(self) -> Limits:
        """What may be spent."""
        return self.allowance.limits

    @property
    def resources(self) -> int:
        """The number of resources."""
        return int(self.limits.worst.shape[1])

    @property
    def listed(self) -> int:
        """The number of actions of the table, without an added null action."""
        return self.actions - self.limits.added

    @property
    def width(self) -> int:
        """How many numbers an outcome has: the losses, and the costs, of all actions."""
        return self.listed * (1 + self.resources)

    @property
    def terms(self) -> Terms:
        """What a learner knows beforehand."""
        purse, rate = new_purse(self.allowance, self.horizon)
        prices = self.limits.prices * purse.scale
        limits = self.limits
        return Terms(self.actions, self.resources, self.horizon, rate, limits.null, prices, limits.added, limits.target)

    def init(self, learner: Any) -> Any:
        """Return the first state of a learner."""
        if self.limits.target < math.inf and not learner.aims:
            raise ParameterError(
                f"target: {type(learner).__name__} minds a budget only, got a target of {self.limits.target:g}; write "
                "EmpiricalLP(), or ThriftyLP() where only the action played is seen."
            )
        return learner.init(self.terms)

    def desk(self, ring: int) -> Desk:
        """Return a full purse, and room for a row and for the plays in flight."""
        k, m = self.actions, self.resources
        purse, _ = new_purse(self.allowance, self.horizon)
        return Desk(
            purse=purse,
            played=np.zeros((ring, k)),
            actions=np.zeros(ring, np.int64),
            chances=np.zeros(ring),
            reserved=np.zeros((ring, m)),
            row=np.zeros(k),
            raw=np.zeros((k, m)),
            scaled=np.zeros((k, m)),
            shown=np.zeros(k),
            told=np.zeros(k),
            listed=self.listed,
            comparator=float(self.allowance.comparator),
        )

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Return the kernels of the loop and of the live steps."""
        decide, tell = decider(learner.mix), self.teller(learner.observe)
        return {
            "look_ahead": look_ahead,
            "reveal": revealer(tell),
            "halts": halter(learner.due),
            "turn": turner(decide, tell),
            "decide": decide,
            "tell": tell,
            "lay_out": self.lay_out,
            "due": learner.due,
        }

    @property
    def lay_out(self) -> Kernel:
        """The kernel that writes a valid outcome into the row at hand."""
        return lay_out_row

    def teller(self, observe: Kernel) -> Kernel:
        """Return the kernel that tells a learner of a round: here the whole row."""

        def tell(state: Any, round: int, desk: Desk, slot: int) -> None:
            for action in range(desk.told.size):
                desk.told[action] = desk.played[slot, action]
            observe(state, round, desk.told, desk.row, desk.scaled)

        return tell

    def holdings(self, desk: Desk) -> tuple[Floats, ...]:
        """Return what the purse holds."""
        return desk.purse.spent, desk.purse.reserved, desk.purse.fits, desk.purse.flags

    def ledger(self, desk: Desk) -> Ledger:
        """Return what is spent, reserved and left."""
        return ledger_of(desk.purse, self.limits.amounts)

    def plan(self, learner: Any, state: Any, desk: Desk, coins: Coins) -> None:
        """Let the learner think, with what is left and what fits."""
        learner.plan(state, left_of(desk.purse), desk.purse.fits.copy(), coins)

    @classmethod
    def made(
        cls, learner: Any, horizon: int, *, actions: int, allowance: Allowance | None, features: int | None
    ) -> Self:
        """Return the setting of a learner that may spend so much; an added null action is one more."""
        if allowance is None:
            raise ParameterError(
                f"budget: {type(learner).__name__} needs one, got none; write for example budget=Budget(90.0)."
            )
        return cls(actions + allowance.limits.added, horizon, allowance)

    def steps(self, learner: Any, coins: Coins) -> Steps:
        """Return what a learner does live: one compiled call for a ticket, and one for what came of it."""
        player = Player(learner, self, coins)
        memory, desk, prices = player.memory, player.desk, self.limits.prices
        hand = memory, coins, desk.purse, desk.shown, desk.played[0], desk.reserved[0]
        outcome = np.zeros(self.width)
        losses, costs = self.rooms(outcome)
        act = player.step(step_act, *hand, PAGES)
        step = player.step(step_tell, memory, desk, prices, outcome, PAGES, 1, 0, 1.0, 1)

        def quick(pages: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            both = is_typed(ticket) and label is None and filled(losses, loss) and filled(costs, cost)
            return both and step(memory, desk, prices, outcome, pages, *ticket, ticket.round)

        def tell(pages: Floats, row: int, round: int, numbers: Numbers) -> bool:
            outcome[:] = numbers
            return bool(step(memory, desk, prices, outcome, pages, row, *written(pages, row), round))

        return Steps(partial(act, *hand), quick, tell, player)

    def rooms(self, outcome: Floats) -> tuple[Floats, Floats]:
        """Return the places in an outcome for losses and for costs, as they are mostly given."""
        costs = outcome[self.listed :]
        return outcome[: self.listed], costs if self.resources == 1 else costs.reshape(self.listed, -1)

    def parse(self, round: int, action: int, given: Mapping[str, Any]) -> Numbers:
        """Return the losses, then the costs, of all actions that are listed."""
        losses = row_of(self.listed, *either(round, given, "cost"))
        return (*losses.tolist(), *self.costs_told("Session.observe", action, given.get("cost")))

    def costs_told(self, who: str, action: int, cost: Any) -> Numbers:
        """Return the costs of all actions that are listed, one after the other."""
        return self.costs_of(who, cost, slice(0, self.listed))

    def costs_of(self, who: str, cost: Any, which: slice) -> Numbers:
        """Return the costs of these actions, as given or, where nothing is given, as the price list has them."""
        worst, prices = self.limits.worst[which], self.limits.prices[which]
        if cost is None and not np.isnan(prices).any():
            return tuple(prices.ravel().tolist())
        if cost is None:
            raise FeedbackError(
                f"{who}: expected a cost, for it is not on the price list, got none; tell what it cost."
            )
        try:
            table = np.array(cost, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            table = np.full(0, np.nan)
        if table.ndim < 2 and table.size == worst.size and 1 in worst.shape:
            table = table.reshape(worst.shape)
        if table.shape != worst.shape or not ((table >= 0) & (table <= worst)).all():
            raise FeedbackError(
                f"{who}: cost must be {_count(worst.shape[0], 'action')} x {_count(worst.shape[1], 'resource')}, from "
                f"0 to the worst cost declared, got {' '.join(repr(cost).split())}; declare a larger worst cost from "
                "the start."
            )
        if (other := np.argwhere((table != prices) & ~np.isnan(prices))).size:
            row, resource = other[0].tolist()
            raise FeedbackError(
                f"{who}: cost must be the price declared, {prices[row, resource]:g} for action "
                f"{which.start + row}, got {table[row, resource]:g}; leave that price out of the list from the "
                "start, and declare its worst cost."
            )
        return tuple(table.ravel().tolist())

    def as_given(self, outcome: Numbers) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"loss": outcome[: self.listed], "cost": np.reshape(outcome[self.listed :], (self.listed, -1))}

    def told(self, outcome: Numbers) -> tuple[Any, Numbers]:
        """Return the losses of all actions, and their costs one after the other."""
        return outcome[: self.listed], outcome[self.listed :]

    def loss(self, action: int, outcome: Numbers) -> float:
        """Return the loss of the action that was played; an added null action loses 1."""
        return outcome[action] if action < self.listed else 1.0

    def costs(self, action: int, outcome: Numbers) -> Numbers:
        """Return what the action that was played cost, of each resource; an added null action nothing."""
        first = self.listed + action * self.resources
        return outcome[first : first + self.resources] if action < self.listed else (0.0,) * self.resources

    def answer(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the whole row with its costs."""
        return {"loss": losses, "cost": costs}


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def look_ahead(table: Arrivals, t: int) -> None:
    """Ask for the losses and costs of some rounds from now."""
    look_ahead_at(table.losses, table.order, t, table.losses.shape[1])
    look_ahead_at(table.costs, table.order, t, table.costs.shape[1])


def fetch(table: Arrivals, desk: Desk, t: int) -> None:
    """Copy the row of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    resources = desk.purse.scale.size
    for action in range(desk.row.size):
        label = table.labels[action]
        desk.row[action] = table.losses[source, label] if label >= 0 else 1.0
        for j in range(resources):
            cost = float(table.costs[source, label * resources + j]) if label >= 0 else 0.0
            desk.raw[action, j] = cost
            desk.scaled[action, j] = cost * desk.purse.scale[j]


def halter(due: Kernel) -> Kernel:
    """Return the kernel that looks into the purse, and stops the loop when the learner is due to plan."""

    def halts(state: Any, desk: Desk) -> bool:
        look(desk.purse)
        show(desk.purse, desk.shown)
        return bool(desk.purse.flags[STOPPED] == 0.0 and due(state, desk.shown))

    return halts


def show(purse: Purse, shown: Floats) -> None:
    """Copy what fits, so that no learner ever holds the purse."""
    for action in range(shown.size):
        shown[action] = purse.fits[action]


def revealer(tell: Kernel) -> Kernel:
    """Return the kernel that settles the play of round s, and tells the learner of it."""

    def reveal(state: Any, table: Arrivals, desk: Desk, s: int) -> None:
        slot = s % desk.played.shape[0]
        fetch(table, desk, s)
        settle(desk.purse, desk.played[slot], desk.reserved[slot], desk.raw)
        tell(state, s + 1, desk, slot)

    return reveal


def turner(decide: Kernel, tell: Kernel) -> Kernel:
    """Return the kernel of a turn."""

    def turn(
        state: Any, mix: Floats, coins: Coins, table: Arrivals, queue: Queue, desk: Desk, tally: Tally, t: int
    ) -> None:
        slot = t % desk.played.shape[0]
        action, chance = decide(state, mix, coins, desk.purse, desk.played[slot], desk.reserved[slot])
        desk.actions[slot], desk.chances[slot] = action, chance
        fetch(table, desk, t)
        note_play(tally, t, action, chance, desk, slot)
        if at_once(queue, tally, t):
            settle(desk.purse, desk.played[slot], desk.reserved[slot], desk.raw)
            tell(state, t + 1, desk, slot)

    return turn


def note_play(tally: Tally, t: int, action: int, chance: float, desk: Desk, slot: int) -> None:
    """Write down what was played in round t, what it cost and what it lost."""
    played, loss = desk.played[slot], 0.0
    if not desk.purse.fluid:
        note_action(tally, t, action, chance)
    for other in range(played.size):
        share = played[other]
        if share > 0.0:
            loss += share * desk.row[other]
            if desk.purse.fluid:
                tally.plays[other] += share
            for j in range(desk.raw.shape[1]):
                tally.sums[SPENT + j] += share * desk.raw[other, j]
                if tally.costs.size > 0:
                    tally.costs[t, j] += share * desk.raw[other, j]
    note_loss(tally, t, loss, loss, desk.comparator)


def decider(propose: Kernel) -> Kernel:
    """Return the kernel that lets a learner propose a mix, keeps what fits of it, and commits to a play."""

    def decide(
        state: Any, mix: Floats, coins: Coins, purse: Purse, played: Floats, reserved: Floats
    ) -> tuple[int, float]:
        if purse.flags[STOPPED] == 0.0:
            propose(state, mix)
        if purse.flags[CLOSED] == 1.0:  # as it is whenever it has stopped
            only_null(purse, mix)
        keep_what_fits(purse, mix)
        action, chance = commit(purse, mix, coins, played, reserved)
        return action, chance

    return decide


def step_act(
    memory: Floats, coins: Coins, purse: Purse, shown: Floats, played: Floats, reserved: Floats, pages: Floats
) -> tuple[int, int, float]:
    """Look into the purse, choose one action, live, and write its ticket."""
    look(purse)
    show(purse, shown)
    if purse.flags[STOPPED] == 0.0 and due(view(memory), shown):
        return DUE, 0, 0.0
    if not has_room(pages):
        return FULL, 0, 0.0
    action, chance = decide(view(memory), mix_of(memory), coins, purse, played, reserved)
    return write_ticket(pages, action, chance), action, chance


def step_tell(
    memory: Floats,
    desk: Desk,
    prices: Floats,
    outcome: Floats,
    pages: Floats,
    row: int,
    action: int,
    chance: float,
    round: int,
) -> bool:
    """Take in an outcome, live, and write it down, if it is valid and its ticket is pending; settle what it cost.

    A learner that falls over it comes first: then the ticket is still pending, and its worst cost reserved.
    """
    if not is_pending(pages, row, action, chance) or not lay_out(desk, prices, action, outcome):
        return False
    for i in range(outcome.size):
        pages[row, OUTCOME + i] = outcome[i]
    for other in range(desk.played.shape[1]):
        desk.played[0, other] = 1.0 if other == action else 0.0
    for j in range(desk.reserved.shape[1]):
        desk.reserved[0, j] = desk.purse.worst[action, j]
    desk.actions[0], desk.chances[0] = action, chance
    tell(view(memory), round, desk, 0)
    mark_told(pages, row)
    settle(desk.purse, desk.played[0], desk.reserved[0], desk.raw)
    return True


def lay_out_row(desk: Desk, prices: Floats, action: int, outcome: Floats) -> bool:
    """Write losses and costs of all actions into the row at hand; an added null action loses 1 and costs nothing."""
    resources = prices.shape[1]
    desk.row[desk.row.size - 1], desk.raw[desk.row.size - 1, :], desk.scaled[desk.row.size - 1, :] = 1.0, 0.0, 0.0
    for other in range(desk.listed):
        first = desk.listed + other * resources
        if not place(desk, prices, other, outcome[other], outcome[first : first + resources]):
            return False
    return True


def place(desk: Desk, prices: Floats, action: int, loss: float, costs: Floats) -> bool:
    """Write loss and costs of an action into the row at hand, if they are valid."""
    desk.row[action] = loss
    valid = 0.0 <= loss <= 1.0
    for j in range(costs.size):
        cost, price = costs[j], prices[action, j]
        valid = valid and 0.0 <= cost <= desk.purse.worst_costs[action, j] and (cost == price or math.isnan(price))
        desk.raw[action, j] = cost
        desk.scaled[action, j] = cost * desk.purse.scale[j]
    return valid
