"""The loop that plays a learner, in every setting: rows come in order, feedback comes when it comes.

A round: feedback that has arrived is revealed; if the learner is due to plan, or the round UNTIL is reached, the loop
stops, and goes on there when it is called again; then the learner takes its turn. What these words mean is the business
of the setting (`tombola.feedback`): the names `view`, `look_ahead`, `reveal`, `pauses` and `turn` are bound to a setting
and a learner by `compile_loop`.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Order, RngState, Rounds, Rows
from tombola.engine.arrivals import ArrivalSchedule, has_arrived, next_round
from tombola.engine.compiler import Kernel
from tombola.engine.intrinsics import PREFETCH_ROUNDS, prefetch
from tombola.engine.state_vector import mix_slice

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    look_ahead: Kernel
    reveal: Kernel
    pauses: Kernel
    turn: Kernel

ROUND, REVEALED, MARK, LAST, UNTIL = 0, 1, 2, 3, 4  # places of a accumulators
LOSS, EXPECTED, COMPARATOR, SWITCHES, SPENT = 0, 1, 2, 3, 4  # its sums; from SPENT on, one for each resource


class RowStream(NamedTuple):
    """The rows in the order in which they come; `labels[action]` is the column of an action, -1 for an added null."""

    losses: Rows
    costs: Rows
    labels: Rounds
    order: Order
    best: int


class Accumulators(NamedTuple):
    """What has happened so far: sums and plays, those at the marked rounds, and if it is per_round, every round."""

    cursor: Rounds
    sums: Floats
    plays: Floats
    marks: Rounds
    curve: Floats
    shares: Floats
    actions: Rounds
    probabilities: Floats
    losses: Floats
    expected: Floats
    costs: Floats
    expects: bool


def loop(
    memory: Floats,
    rng: RngState,
    table: RowStream,
    arrivals: ArrivalSchedule,
    workspace: Any,
    accumulators: Accumulators,
) -> None:
    """Play up to the round UNTIL, or up to one in which the learner is due to plan; `workspace` is the setting's."""
    state, mix, cursor = view(memory), mix_slice(memory), accumulators.cursor
    until = cursor[UNTIL]
    for t in range(cursor[ROUND], until + 1):
        look_ahead(table, t)
        while has_arrived(arrivals, cursor[REVEALED], t):
            cursor[REVEALED] += 1
            reveal(state, table, workspace, next_round(arrivals, cursor[REVEALED] - 1))
        cursor[ROUND] = t
        if t == until or pauses(state, workspace):
            return
        turn(state, mix, rng, table, arrivals, workspace, accumulators, t)


def reveal_immediately(arrivals: ArrivalSchedule, accumulators: Accumulators, t: int) -> bool:
    """Tell whether there is no delay at all: then a turn reveals its own round t, which is counted as revealed."""
    if arrivals.delay != 0:
        return False
    accumulators.cursor[REVEALED] = t + 1
    return True


def prefetch_row(rows: Rows, order: Order, t: int, columns: int) -> None:
    """Ask for the row that is needed some rounds from now, a cache line at a time."""
    if t + PREFETCH_ROUNDS < order.size:
        for column in range(0, columns, 8):
            prefetch(rows, order[t + PREFETCH_ROUNDS], column)


def copy_row(table: RowStream, t: int, row: Floats) -> None:
    """Copy the losses of round t, so that no learner ever holds the pool."""
    source = table.order[t]
    for action in range(row.size):
        row[action] = table.losses[source, table.labels[action]]


def record_action(accumulators: Accumulators, t: int, action: int, probability: float) -> None:
    """Write down what was played in round t."""
    if t > 0 and action != accumulators.cursor[LAST]:
        accumulators.sums[SWITCHES] += 1.0
    accumulators.cursor[LAST] = action
    accumulators.plays[action] += 1.0
    if accumulators.actions.size > 0:
        accumulators.actions[t], accumulators.probabilities[t] = action, probability


def record_loss(accumulators: Accumulators, t: int, loss: float, expected: float, comparator: float) -> None:
    """Write down what round t lost, and if it is marked, everything so far: so this note is the last of a round."""
    sums = accumulators.sums
    sums[LOSS] += loss
    sums[EXPECTED] += expected
    sums[COMPARATOR] += comparator
    if accumulators.losses.size > 0:
        accumulators.losses[t], accumulators.expected[t] = loss, expected
    mark = accumulators.cursor[MARK]
    if mark < accumulators.marks.size and t + 1 == accumulators.marks[mark]:
        for which in range(sums.size):
            accumulators.curve[mark, which] = sums[which]
        for action in range(accumulators.plays.size):
            accumulators.shares[mark, action] = accumulators.plays[action]
        accumulators.cursor[MARK] = mark + 1


def new_accumulators(
    actions: int, rounds: int, marks: Rounds, *, resources: int, per_round: bool, expects: bool
) -> Accumulators:
    """Return an empty accumulators; `per_round` writes down every round, `expects` averages over the learner's rng."""
    length = rounds if per_round else 0
    return Accumulators(
        cursor=np.zeros(5, np.int64),
        sums=np.zeros(SPENT + resources),
        plays=np.zeros(actions),
        marks=marks,
        curve=np.zeros((marks.size, SPENT + resources)),
        shares=np.zeros((marks.size, actions)),
        actions=np.zeros(length, np.int64),
        probabilities=np.zeros(length),
        losses=np.zeros(length),
        expected=np.zeros(length),
        costs=np.zeros((length, resources)),
        expects=expects,
    )
