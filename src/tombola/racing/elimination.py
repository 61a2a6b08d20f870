"""Elimination: what the rows counted so far say about the candidates, and the rule that drops some: compiled, row by row.

Every goal of a race is a field: it has a state that starts with the same fields, and the kernel `take(state, losses)`
which takes in one row and drops those candidates that the row proves out. Entries of candidates that are out are not
read. The state after n rows depends on the first n rows of the shuffled list and on nothing else.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.engine.compiler import Kernel, compile_loop
from tombola.engine.state_vector import flatten, unflattener
from tombola.racing.bets import STAKE

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    take: Kernel


class State(NamedTuple):
    """What is known after the rows counted; the first eight fields mean the same in every race.

    `active` is 1 while a candidate is in the race, `total` its loss in the rows counted; `out`, `against` and `peak`
    say in which row it was dropped, against whom and with which wealth; `worth` is what its gambler has now; `seen`
    counts the rows; `done` is 1 when there is nothing left to find out. The gamblers have a row of `wealth` each.
    """

    active: Floats
    total: Floats
    out: Floats
    against: Floats
    peak: Floats
    worth: Floats
    seen: Floats
    done: Floats
    wealth: Floats
    squares: Floats
    bets: Floats
    settled: Floats
    deposit: Floats
    judged: Floats
    room: Floats
    rows: float
    population: float
    goal: float
    margin: float
    special: float


class Doubt(NamedTuple):
    """What is still open: a difference that goes the right way by `edge`, and the wealth that would settle it."""

    edge: float
    variance: float
    goal: float


class Elimination(ABC):
    """The candidates of a race, numbered from 0, and the evidence about them; `population` may be infinite."""

    def __init__(self, candidates: int, rows: int, population: float, level: float) -> None:
        self.candidates, self.rows, self.population, self.level = candidates, rows, population, level
        state = self.init()
        self._first = flatten(state, candidates)
        self._memory, self._row = self._first.copy(), np.zeros(candidates)
        self._view = unflattener(state)
        self.state = self._view(self._memory)
        self._kernels = {"view": self._view, "take": type(self).take}
        self._loops: dict[Any, Kernel] = {}

    @abstractmethod
    def init(self) -> State:
        """Return the state before the first row."""

    def start(self, *, gamblers: int, goal: float, margin: float = 0.0, special: float = 0.0, pairs: int = 1) -> State:
        """Return the state before the first row, with this many gamblers who want to reach the goal."""
        k, empty = self.candidates, np.zeros(self.candidates)
        return State(
            active=np.ones(k), total=empty, out=empty, against=np.full(k, -1.0), peak=empty, worth=np.ones(k),
            seen=np.zeros(1), done=np.full(1, float(k == 1)),
            wealth=np.tile(STAKE, (gamblers, 1)), squares=np.zeros(gamblers), bets=np.zeros(gamblers),
            settled=np.zeros((pairs, k)), deposit=np.zeros((pairs, k)), judged=empty, room=empty,
            rows=self.rows, population=self.population, goal=goal, margin=margin, special=special,
        )  # fmt: skip

    @staticmethod
    @abstractmethod
    def take(state: Any, losses: Floats) -> None:
        """Take in one row, and drop whom it proves out."""

    def update(self, losses: Floats) -> None:
        """Take in the next row of the shuffled list."""
        self._take(self._memory, losses)

    @cached_property
    def _take(self) -> Kernel:
        return compile_loop(take_row, (self._memory, self._row), **self._kernels)

    def play(self, table: Rows, order: Order) -> int:
        """Start again, run a whole race on a table of losses, and return the number of calls it makes."""
        self._memory[:] = self._first
        rows = table.view()
        rows.flags.writeable = False  # as those of a pool are: for others the race would be compiled once more
        if rows.dtype not in self._loops:
            self._loops[rows.dtype] = compile_loop(take_rows, (self._memory, rows, order, self._row), **self._kernels)
        return int(self._loops[rows.dtype](self._memory, rows, order, self._row))

    @property
    def active(self) -> list[int]:
        """The candidates still in the race."""
        return [int(a) for a in np.flatnonzero(self.state.active)]

    @property
    def leader(self) -> int:
        """The candidate in the race with the least loss so far, the lowest number among equals."""
        return min(self.active, key=lambda a: float(self.state.total[a]))

    @abstractmethod
    def doubts(self) -> list[Doubt]:
        """Return what is still open."""

    def gap(self, better: int, worse: int) -> float:
        """Return by how much the mean losses of two candidates in the race differ so far."""
        return float(self.state.total[worse] - self.state.total[better]) / max(self.seen, 1)

    def variance(self, gambler: int) -> float:
        """Return the variance that a gambler has met."""
        return float(self.state.squares[gambler] / max(self.state.bets[gambler], 1.0))

    @property
    def seen(self) -> int:
        """The number of rows counted."""
        return int(self.state.seen[0])

    @property
    def done(self) -> bool:
        """Tell whether the race is over."""
        return bool(self.state.done[0])


def take_row(memory: Floats, losses: Floats) -> None:
    """Take in one row."""
    take(view(memory), losses)  # noqa: F821


def take_rows(memory: Floats, table: Rows, order: Order, row: Floats) -> int:
    """Take in row after row until the race is over, and return the number of calls."""
    state = view(memory)  # noqa: F821
    calls = 0
    for i in range(order.size):
        if state.done[0] > 0.0:
            break
        for a in range(row.size):
            if state.active[a] > 0.0:
                row[a] = table[order[i], a]
                calls += 1
        take(state, row)  # noqa: F821
    return calls


def best_two(state: Any) -> tuple[int, int]:
    """Return the leader and the runner-up by the losses so far, the lowest numbers among equals; -1 for none."""
    first, second = -1, -1
    for a in range(state.total.size):
        if state.active[a] > 0.0:
            if first < 0 or state.total[a] < state.total[first]:
                first, second = a, first
            elif second < 0 or state.total[a] < state.total[second]:
                second = a
    return first, second


def drop(state: Any, who: int, against: int, wealth: float) -> None:
    """Take a candidate out of the race, and note why; an infinite wealth says that it is certain."""
    state.active[who] = 0.0
    state.out[who] = state.seen[0]
    state.against[who] = against
    state.peak[who] = wealth


def count_in(state: Any, losses: Floats) -> None:
    """Count a row: add its losses to the totals."""
    for a in range(losses.size):
        if state.active[a] > 0.0:
            state.total[a] += losses[a]
    state.seen[0] += 1.0


def finish(state: Any, wanted: float) -> None:
    """Note that the race is over if no more candidates are left than wanted, or no row."""
    if standing(state) <= wanted or state.seen[0] >= state.rows:
        state.done[0] = 1.0


def standing(state: Any) -> float:
    """Return how many candidates are in the race."""
    count = 0.0
    for a in range(state.active.size):
        count += state.active[a]
    return count
