"""The loop that plays a budgeted learner, and the single steps that a session takes.

The names `view`, `decide`, `observe` and `due` are bound to a learner by `specialise`. The loop stops early only when
the learner is due to plan, and goes on where it stopped.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola.budgeted.purse import CLOSED, STOPPED, Purse, commit, keep_what_fits, look, only_null, settle
from tombola.engine.compiler import Kernel
from tombola.engine.loops import REVEALED, ROUND, Waiting
from tombola.engine.memory import mix_of
from tombola.engine.native import AHEAD, prefetch
from tombola.types import Coins, Floats, Order, Rounds, Rows

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    decide: Kernel
    observe: Kernel
    due: Kernel


class Table(NamedTuple):
    """The rows in the order in which they come; a label is the column of an action, -1 for a null action added."""

    losses: Rows
    costs: Rows
    labels: Rounds
    order: Order


class Flight(NamedTuple):
    """Plays still in flight, in a ring: what was played, and what is reserved for it."""

    played: Floats
    reserved: Floats


class Tally(NamedTuple):
    """What has happened so far, and the row at hand: its losses, its costs, and its costs in the common scale."""

    place: Rounds
    mass: Floats
    actions: Rounds
    chances: Floats
    rewards: Floats
    costs: Floats
    row: Floats
    raw: Floats
    scaled: Floats


def budgeted(
    memory: Floats, coins: Coins, table: Table, waiting: Waiting, flight: Flight, purse: Purse, tally: Tally
) -> None:
    """Play rounds; after the delay, the losses and costs of all actions are seen. What is out at the end is noted."""
    state, mix = view(memory), mix_of(memory)
    ring, horizon = flight.played.shape[0], table.order.size
    for t in range(tally.place[ROUND], horizon + 1):
        while tally.place[REVEALED] < horizon:
            known = arrived(waiting, tally, t)
            if t < horizon and not known:
                break
            s = next_round(waiting, tally)
            fetch(table, purse, s, tally)
            note(tally, s, flight.played[s % ring])
            if known:
                settle(purse, flight.played[s % ring], flight.reserved[s % ring], tally.raw)
                observe(state, s + 1, flight.played[s % ring], tally.row, tally.scaled)
        tally.place[ROUND] = t
        if t < horizon:
            look_ahead(table, t)
            look(purse)
            if purse.flags[STOPPED] == 0.0 and due(state, purse.fits):
                return
            action, chance = decide(state, mix, coins, purse, flight.played[t % ring], flight.reserved[t % ring])
            if tally.actions.size > 0:
                tally.actions[t], tally.chances[t] = action, chance


def arrived(waiting: Waiting, tally: Tally, t: int) -> bool:
    """Tell whether feedback not yet revealed is there at the start of round t: that of round s comes at s + d + 1."""
    index = tally.place[REVEALED]
    if waiting.delay >= 0:
        return bool(index + waiting.delay + 1 <= t)
    return bool(index < waiting.rounds.size and waiting.arrivals[index] <= t)


def next_round(waiting: Waiting, tally: Tally) -> int:
    """Return the round whose feedback comes next, and count it as revealed."""
    index = tally.place[REVEALED]
    tally.place[REVEALED] = index + 1
    return int(index) if waiting.delay >= 0 else int(waiting.rounds[index])


def look_ahead(table: Table, t: int) -> None:
    """Ask for the row that is needed some rounds from now, a cache line at a time."""
    if t + AHEAD < table.order.size:
        row = table.order[t + AHEAD]
        for column in range(0, table.losses.shape[1], 8):
            prefetch(table.losses, row, column)
        for column in range(0, table.costs.shape[1], 8):
            prefetch(table.costs, row, column)


def fetch(table: Table, purse: Purse, t: int, tally: Tally) -> None:
    """Copy the row of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    resources = purse.scale.size
    for action in range(tally.row.size):
        label = table.labels[action]
        tally.row[action] = table.losses[source, label] if label >= 0 else 1.0
        for j in range(resources):
            cost = float(table.costs[source, label * resources + j]) if label >= 0 else 0.0
            tally.raw[action, j] = cost
            tally.scaled[action, j] = cost * purse.scale[j]


def note(tally: Tally, t: int, played: Floats) -> None:
    """Write down what was played in round t, what it earned and what it cost."""
    kept = tally.rewards.size > 0
    for action in range(played.size):
        if played[action] > 0.0:
            tally.mass[action] += played[action]
            if kept:
                tally.rewards[t] += played[action] * (1.0 - tally.row[action])
                for j in range(tally.costs.shape[1]):
                    tally.costs[t, j] += played[action] * tally.raw[action, j]


def decider(propose: Kernel) -> Kernel:
    """Return the kernel that lets a learner propose a mix, keeps what fits of it, and commits to a play."""

    def decide(
        state: Any, mix: Floats, coins: Coins, purse: Purse, played: Floats, reserved: Floats
    ) -> tuple[int, float]:
        if purse.flags[STOPPED] == 0.0:
            propose(state, mix)
        if purse.flags[STOPPED] == 1.0 or purse.flags[CLOSED] == 1.0:
            only_null(purse, mix)
        keep_what_fits(purse, mix)
        action, chance = commit(purse, mix, coins, played, reserved)
        return action, chance

    return decide


def step_due(memory: Floats, purse: Purse) -> bool:
    """Look into the purse, and tell whether the learner wants to plan, live."""
    look(purse)
    return bool(purse.flags[STOPPED] == 0.0 and due(view(memory), purse.fits))


def step_decide(memory: Floats, coins: Coins, purse: Purse, played: Floats, reserved: Floats) -> tuple[int, float]:
    """Choose one action, live."""
    action, chance = decide(view(memory), mix_of(memory), coins, purse, played, reserved)
    return action, chance


def step_observe(
    memory: Floats, purse: Purse, played: int, plays: Floats, reserved: Floats, row: Floats, raw: Floats, scaled: Floats
) -> None:
    """Take in the row of the round `played`, live."""
    settle(purse, plays, reserved, raw)
    observe(view(memory), played, plays, row, scaled)


def new_tally(actions: int, resources: int, kept: int) -> Tally:
    """Return an empty tally that writes down `kept` rounds, all or none."""
    return Tally(
        place=np.zeros(4, np.int64),
        mass=np.zeros(actions),
        actions=np.zeros(kept, np.int64),
        chances=np.zeros(kept),
        rewards=np.zeros(kept),
        costs=np.zeros((kept, resources)),
        row=np.zeros(actions),
        raw=np.zeros((actions, resources)),
        scaled=np.zeros((actions, resources)),
    )
