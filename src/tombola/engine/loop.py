"""The loop that plays a learner, in every setting: rows come in order, feedback comes when it comes.

A round: feedback that has arrived is revealed; if the learner is due to plan, or the round UNTIL is reached, the loop
stops, and goes on there when it is called again; then the learner takes its turn. What these words mean is the business
of the setting (`tombola.settings`): the names `view`, `look_ahead`, `reveal`, `halts` and `turn` are bound to a setting
and a learner by `specialise`.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola.engine.compiler import Kernel
from tombola.engine.memory import mix_of
from tombola.engine.native import AHEAD, prefetch
from tombola.engine.queue import Queue, arrived, round_of
from tombola.types import Coins, Floats, Order, Rounds, Rows

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    look_ahead: Kernel
    reveal: Kernel
    halts: Kernel
    turn: Kernel

ROUND, REVEALED, MARK, LAST, UNTIL = 0, 1, 2, 3, 4  # places of a tally
LOSS, EXPECTED, COMPARATOR, SWITCHES, SPENT = 0, 1, 2, 3, 4  # its sums; from SPENT on, one for each resource


class Arrivals(NamedTuple):
    """The rows in the order in which they come; `labels[action]` is the column of an action, -1 for an added null."""

    losses: Rows
    costs: Rows
    labels: Rounds
    order: Order
    best: int


class Tally(NamedTuple):
    """What has happened so far: sums and plays, those at the marked rounds, and if it is kept, every round."""

    place: Rounds
    sums: Floats
    plays: Floats
    marks: Rounds
    curve: Floats
    shares: Floats
    actions: Rounds
    chances: Floats
    losses: Floats
    expected: Floats
    costs: Floats
    expects: bool


def loop(memory: Floats, coins: Coins, table: Arrivals, queue: Queue, desk: Any, tally: Tally) -> None:
    """Play up to the round UNTIL, or up to one in which the learner is due to plan; `desk` is the setting's."""
    state, mix, place = view(memory), mix_of(memory), tally.place
    until = place[UNTIL]
    for t in range(place[ROUND], until + 1):
        look_ahead(table, t)
        while arrived(queue, place[REVEALED], t):
            place[REVEALED] += 1
            reveal(state, table, desk, round_of(queue, place[REVEALED] - 1))
        place[ROUND] = t
        if t == until or halts(state, desk):
            return
        turn(state, mix, coins, table, queue, desk, tally, t)


def at_once(queue: Queue, tally: Tally, t: int) -> bool:
    """Tell whether there is no delay at all: then a turn reveals its own round t, which is counted as revealed."""
    if queue.delay != 0:
        return False
    tally.place[REVEALED] = t + 1
    return True


def look_ahead_at(rows: Rows, order: Order, t: int, columns: int) -> None:
    """Ask for the row that is needed some rounds from now, a cache line at a time."""
    if t + AHEAD < order.size:
        for column in range(0, columns, 8):
            prefetch(rows, order[t + AHEAD], column)


def fetch(table: Arrivals, t: int, row: Floats) -> None:
    """Copy the losses of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    for action in range(row.size):
        row[action] = table.losses[source, table.labels[action]]


def note_action(tally: Tally, t: int, action: int, chance: float) -> None:
    """Write down what was played in round t."""
    if t > 0 and action != tally.place[LAST]:
        tally.sums[SWITCHES] += 1.0
    tally.place[LAST] = action
    tally.plays[action] += 1.0
    if tally.actions.size > 0:
        tally.actions[t], tally.chances[t] = action, chance


def note_loss(tally: Tally, t: int, loss: float, expected: float, comparator: float) -> None:
    """Write down what round t lost, and if it is marked, everything so far: so this note is the last of a round."""
    sums = tally.sums
    sums[LOSS] += loss
    sums[EXPECTED] += expected
    sums[COMPARATOR] += comparator
    if tally.losses.size > 0:
        tally.losses[t], tally.expected[t] = loss, expected
    mark = tally.place[MARK]
    if mark < tally.marks.size and t + 1 == tally.marks[mark]:
        for which in range(sums.size):
            tally.curve[mark, which] = sums[which]
        for action in range(tally.plays.size):
            tally.shares[mark, action] = tally.plays[action]
        tally.place[MARK] = mark + 1


def new_tally(actions: int, rounds: int, marks: Rounds, *, resources: int, kept: bool, expects: bool) -> Tally:
    """Return an empty tally; `kept` writes down every round, `expects` averages over the learner's coins."""
    length = rounds if kept else 0
    return Tally(
        place=np.zeros(5, np.int64),
        sums=np.zeros(SPENT + resources),
        plays=np.zeros(actions),
        marks=marks,
        curve=np.zeros((marks.size, SPENT + resources)),
        shares=np.zeros((marks.size, actions)),
        actions=np.zeros(length, np.int64),
        chances=np.zeros(length),
        losses=np.zeros(length),
        expected=np.zeros(length),
        costs=np.zeros((length, resources)),
        expects=expects,
    )
