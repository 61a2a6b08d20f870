"""The two loops that play a learner, one for each kind of feedback, and the single steps that a session takes.

The names `view`, `choose`, `observe`, `due` and `expect` are bound to a learner by `specialise`; the loops know
nothing else of it. A loop stops early only when the learner is due to plan, and goes on where it stopped.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola.engine.coins import draw
from tombola.engine.compiler import Kernel
from tombola.engine.memory import mix_of
from tombola.engine.native import AHEAD, prefetch
from tombola.engine.vectors import dot
from tombola.types import Coins, Floats, Order, Rounds, Rows

if TYPE_CHECKING:  # bound by `specialise`
    view: Kernel
    choose: Kernel
    observe: Kernel
    due: Kernel
    expect: Kernel


class Table(NamedTuple):
    """The rows in the order in which they come; `labels[action]` is the column of an action."""

    losses: Rows
    labels: Rounds
    order: Order
    best: int


class Waiting(NamedTuple):
    """Feedback on its way: the rounds by time of arrival, and the tickets still out, in a ring."""

    delay: int
    rounds: Rounds
    arrivals: Rounds
    actions: Rounds
    chances: Floats
    losses: Floats


class Tally(NamedTuple):
    """What has happened so far: sums, and the rounds at which they are written down."""

    place: Rounds
    sums: Floats
    plays: Floats
    marks: Rounds
    curve: Floats
    actions: Rounds
    chances: Floats
    losses: Floats
    expected: Floats
    row: Floats
    expects: bool


ROUND, REVEALED, MARK, LAST = 0, 1, 2, 3
LOSS, EXPECTED, COMPARATOR, SWITCHES = 0, 1, 2, 3


def full(memory: Floats, coins: Coins, table: Table, waiting: Waiting, tally: Tally) -> None:
    """Play rounds with full feedback: after the delay, the whole row is seen."""
    state, mix, row = view(memory), mix_of(memory), tally.row
    for t in range(tally.place[ROUND], table.order.size):
        look_ahead(table, t, table.labels.size)
        while arrived(waiting, tally, t):
            s = next_round(waiting, tally)
            fetch(table, s, row)
            observe(state, s + 1, row)
        if due(state):
            tally.place[ROUND] = t
            return
        action, chance = choose(state, mix, coins)
        fetch(table, t, row)
        note(tally, t, action, chance, row[action], expect(row, action, mix), row[table.best])
        if waiting.delay == 0:
            observe(state, t + 1, row)
    tally.place[ROUND] = table.order.size


def bandit(memory: Floats, coins: Coins, table: Table, waiting: Waiting, tally: Tally) -> None:
    """Play rounds with bandit feedback: after the delay, the loss of the played action is seen."""
    state, mix, row = view(memory), mix_of(memory), tally.row
    ring = waiting.actions.size
    for t in range(tally.place[ROUND], table.order.size):
        look_ahead(table, t, 1)
        while arrived(waiting, tally, t):
            slot = next_round(waiting, tally) % ring
            observe(state, waiting.actions[slot], waiting.chances[slot], waiting.losses[slot])
        if due(state):
            tally.place[ROUND] = t
            return
        action, chance = choose(state, mix, coins)
        loss = float(table.losses[table.order[t], table.labels[action]])
        best = float(table.losses[table.order[t], table.labels[table.best]])
        expected = loss
        if tally.expects:
            fetch(table, t, row)
            expected = expect(row, action, mix)
        note(tally, t, action, chance, loss, expected, best)
        if waiting.delay == 0:
            observe(state, action, chance, loss)
        else:
            slot = t % ring
            waiting.actions[slot], waiting.chances[slot], waiting.losses[slot] = action, chance, loss
    tally.place[ROUND] = table.order.size


def look_ahead(table: Table, t: int, columns: int) -> None:
    """Ask for the row that is needed some rounds from now, a cache line at a time."""
    if t + AHEAD < table.order.size:
        for column in range(0, columns, 8):
            prefetch(table.losses, table.order[t + AHEAD], column)


def fetch(table: Table, t: int, row: Floats) -> None:
    """Copy the row of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    for action in range(row.size):
        row[action] = table.losses[source, table.labels[action]]


def arrived(waiting: Waiting, tally: Tally, t: int) -> bool:
    """Tell whether feedback not yet revealed is there at the start of round t: that of round s comes at s + d + 1."""
    if waiting.delay == 0:
        return False
    index = tally.place[REVEALED]
    if waiting.delay > 0:
        return bool(index + waiting.delay + 1 <= t)
    return bool(index < waiting.rounds.size and waiting.arrivals[index] <= t)


def next_round(waiting: Waiting, tally: Tally) -> int:
    """Return the round whose feedback comes next, and count it as revealed."""
    index = tally.place[REVEALED]
    tally.place[REVEALED] = index + 1
    return int(index) if waiting.delay > 0 else int(waiting.rounds[index])


def note(tally: Tally, t: int, action: int, chance: float, loss: float, expected: float, best: float) -> None:
    """Write down what happened in round t."""
    sums = tally.sums
    sums[LOSS] += loss
    sums[EXPECTED] += expected
    sums[COMPARATOR] += best
    if t > 0 and action != tally.place[LAST]:
        sums[SWITCHES] += 1.0
    tally.place[LAST] = action
    tally.plays[action] += 1.0
    if tally.actions.size > 0:
        tally.actions[t], tally.chances[t], tally.losses[t] = action, chance, loss
        tally.expected[t] = expected
    mark = tally.place[MARK]
    if mark < tally.marks.size and t + 1 == tally.marks[mark]:
        for which in range(sums.size):
            tally.curve[mark, which] = sums[which]
        tally.place[MARK] = mark + 1


@lru_cache(maxsize=1024)
def choose_mixed(mix_of_state: Kernel) -> Kernel:
    """Return the kernel that lets a learner write its mix, and throws the coin."""

    def choose(state: Any, mix: Floats, coins: Coins) -> tuple[int, float]:
        mix_of_state(state, mix)
        action = draw(mix, coins)
        return action, mix[action]

    return choose


@lru_cache(maxsize=1024)
def choose_plain(act: Kernel) -> Kernel:
    """Return the kernel that lets a learner name its action."""

    def choose(state: Any, mix: Floats, coins: Coins) -> tuple[int, float]:
        action, chance = act(state, coins)
        if action < 0 or action >= mix.size:
            raise IndexError("act must return an action in 0..k-1")
        return int(action), float(chance)

    return choose


@lru_cache(maxsize=1024)
def observe_undated(observe: Kernel) -> Kernel:
    """Return the kernel for a learner that does not ask which round a row belongs to."""

    def observe_row(state: Any, played: int, row: Floats) -> None:
        observe(state, row)

    return observe_row


def expect_mixed(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round, averaged over the learner's own coin."""
    return dot(mix, row)


def expect_plain(row: Floats, action: int, mix: Floats) -> float:
    """Return the loss of the round: there was no coin."""
    return float(row[action])


def step_choose(memory: Floats, coins: Coins) -> tuple[int, float]:
    """Choose one action, live."""
    action, chance = choose(view(memory), mix_of(memory), coins)
    return action, chance


def step_full(memory: Floats, played: int, row: Floats) -> None:
    """Take in the row of the round `played`, live."""
    observe(view(memory), played, row)


def step_bandit(memory: Floats, action: int, chance: float, loss: float) -> None:
    """Take in one loss, live."""
    observe(view(memory), action, chance, loss)


def step_due(memory: Floats) -> bool:
    """Tell whether the learner wants to plan, live."""
    return bool(due(view(memory)))


def new_tally(actions: int, rounds: int, marks: Rounds, *, full: bool, expects: bool) -> Tally:
    """Return an empty tally; `full` keeps every round, `expects` averages over the learner's coins."""
    kept = rounds if full else 0
    place = np.zeros(4, np.int64)
    return Tally(
        place=place,
        sums=np.zeros(4),
        plays=np.zeros(actions),
        marks=marks,
        curve=np.zeros((marks.size, 4)),
        actions=np.zeros(kept, np.int64),
        chances=np.zeros(kept),
        losses=np.zeros(kept),
        expected=np.zeros(kept),
        row=np.zeros(actions),
        expects=expects,
    )
