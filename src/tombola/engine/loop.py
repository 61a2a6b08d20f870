"""The loop that plays a learner under every feedback model.

A round: reveal the feedback that has arrived; pause if the learner needs to plan or the round UNTIL
is reached (the next call resumes there); play the round. The names `view`, `look_ahead`, `reveal`,
`pauses` and `turn` are bound by `compile_loop` to the kernels of a feedback model and a learner.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Integers, Order, RngState, Rows
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

# Indices in `Accumulators.cursor`: next round to play, from 0; number of rounds with feedback
# revealed; next entry of `marks`; last action; round before which the loop returns to Python.
ROUND, _REVEALED, _MARK, _LAST, UNTIL = range(5)
# Indices in `Accumulators.sums`, which has totals: loss; expected loss, over the learner's own
# randomness; loss of the comparator; number of switches of the action; cost of resource 0 (resource
# j is at SPENT + j).
LOSS, EXPECTED, COMPARATOR, SWITCHES, SPENT = range(5)


class RowStream(NamedTuple):
    """Arrays of a pool and the order of its rows, as the loop reads them.

    losses: one column per action of the pool, shape (rows, columns).
    costs: shape (rows, columns * resources); empty without costs.
    labels: column of each action of the learner, shape (k,), -1 for an added null action. `compare`
        permutes them.
    order: row of each round, shape (rounds,).
    best: index of the action with the smallest total loss, the comparator.
    """

    losses: Rows
    costs: Rows
    labels: Integers
    order: Order
    best: int


class Accumulators(NamedTuple):
    """Totals of a play so far, at the marked rounds, and optionally per round.

    cursor: position of the loop, shape (5,): next round is at ROUND, the round before which it
        returns at UNTIL.
    sums: totals, shape (4 + resources,): loss, expected loss, loss of the comparator, switches,
        cost per resource.
    plays: number of plays per action, shape (actions,).
    marks: increasing rounds, from 1, at which totals are recorded.
    curve, shares: `sums` and `plays` at each mark, shapes (marks, 4 + resources) and (marks,
        actions).
    actions, probabilities, losses, expected, costs: action, its probability, loss, expected loss,
        and cost per resource of each round; empty unless requested.
    expects: whether to compute expected losses, over the learner's own randomness.
    """

    cursor: Integers
    sums: Floats
    plays: Floats
    marks: Integers
    curve: Floats
    shares: Floats
    actions: Integers
    probabilities: Floats
    losses: Floats
    expected: Floats
    costs: Floats
    expects: bool


class Play(NamedTuple):
    """Arguments of `loop`, as one tuple for the kernel `turn`, which plays a round."""

    table: RowStream
    arrivals: ArrivalSchedule
    workspace: Any
    accumulators: Accumulators


def loop(
    memory: Floats,
    rng: RngState,
    table: RowStream,
    arrivals: ArrivalSchedule,
    workspace: Any,
    accumulators: Accumulators,
) -> None:
    """Play from round cursor[ROUND] to cursor[UNTIL], or until the learner must plan.

    A kernel; the next call resumes at the cursor of the accumulators. The learner is not a
    parameter: `compile_loop` binds its kernels to the global names of this module.

    memory: state vector of the learner, read and changed through `view`.
    workspace: scratch arrays of the feedback model.
    """
    state = view(memory)
    mix = mix_slice(memory)
    cursor = accumulators.cursor
    until = cursor[UNTIL]
    play = Play(table, arrivals, workspace, accumulators)
    for t in range(cursor[ROUND], until + 1):
        look_ahead(table, t)
        while has_arrived(arrivals, cursor[_REVEALED], t):
            cursor[_REVEALED] += 1
            reveal(state, table, workspace, next_round(arrivals, cursor[_REVEALED] - 1))
        cursor[ROUND] = t
        if t == until or pauses(state, workspace):
            return
        turn(state, mix, rng, play, t)


def reveal_immediately(play: Play, t: int) -> bool:
    """Return whether there is no delay; if so, count round t as revealed. A kernel.

    If True, the caller must pass the feedback of round t to the learner at once; else the loop does
    so when it arrives.
    """
    if play.arrivals.delay != 0:
        return False
    play.accumulators.cursor[_REVEALED] = t + 1
    return True


def prefetch_row(rows: Rows, order: Order, t: int, columns: int) -> None:
    """Prefetch the row of round t + PREFETCH_ROUNDS, if there is one; a kernel.

    rows, order: the table, and the row of each round. columns: number to prefetch, by cache lines
        of 8 floats.
    """
    if t + PREFETCH_ROUNDS < order.size:
        for column in range(0, columns, 8):
            prefetch(rows, order[t + PREFETCH_ROUNDS], column)


def copy_row(table: RowStream, t: int, row: Floats) -> None:
    """Copy the losses of round t to `row`, so that no learner sees the pool.

    A kernel; `row` has one entry per action of the learner.
    """
    source = table.order[t]
    for action in range(row.size):
        row[action] = table.losses[source, table.labels[action]]


def record_action(accumulators: Accumulators, t: int, action: int, probability: float) -> None:
    """Count the action of round t, and a switch if the last one differs; a kernel."""
    # The first action is not a switch.
    if t > 0 and action != accumulators.cursor[_LAST]:
        accumulators.sums[SWITCHES] += 1.0
    accumulators.cursor[_LAST] = action
    accumulators.plays[action] += 1.0
    if accumulators.actions.size > 0:
        accumulators.actions[t] = action
        accumulators.probabilities[t] = probability


def record_loss(
    accumulators: Accumulators, t: int, loss: float, expected: float, comparator: float
) -> None:
    """Add the losses of round t to the accumulators; a kernel.

    It is the last record of a round. At a marked round all totals are copied to `curve` and
    `shares`.

    expected: mean of the loss over the learner's randomness. comparator: loss of the best action in
        this round.
    """
    sums = accumulators.sums
    sums[LOSS] += loss
    sums[EXPECTED] += expected
    sums[COMPARATOR] += comparator
    if accumulators.losses.size > 0:
        accumulators.losses[t] = loss
        accumulators.expected[t] = expected
    mark = accumulators.cursor[_MARK]
    if mark < accumulators.marks.size and t + 1 == accumulators.marks[mark]:
        for i in range(sums.size):
            accumulators.curve[mark, i] = sums[i]
        for action in range(accumulators.plays.size):
            accumulators.shares[mark, action] = accumulators.plays[action]
        accumulators.cursor[_MARK] = mark + 1


def new_accumulators(
    actions: int, rounds: int, marks: Integers, *, resources: int, per_round: bool, expects: bool
) -> Accumulators:
    """Return the accumulators of a play before its first round, all zeros.

    marks: rounds, from 1, at which totals are recorded, increasing.
    per_round: whether to record every round.
    expects: whether to compute expected losses.
    """
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
