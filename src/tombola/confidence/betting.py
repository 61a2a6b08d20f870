"""Betting: intervals that hold at all counts at once, by bets against every mean (Waudby-Smith and Ramdas 2024).

Against every mean m of a grid four gamblers bet that values are above it (`bets`), and four that they are below. Where
their wealth together passes 2 / level, all means between that m and the one before it are given up.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.confidence.base import Confidence, narrow
from tombola.confidence.bet_sizes import BETS, guess, place, reach, spread, tracker
from tombola.engine.intrinsics import no_inline

POINTS = 256
FINEST = 1e-9


class BettingGrid(NamedTuple):
    """For every action a row of means to bet against, and (k rows on) one for its values mirrored; wealth in four rows.

    The means that are not given up are head..tail-1, in rising order.
    """

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats
    points: Floats
    wealth: Floats
    head: Floats
    tail: Floats
    floor: Floats
    population: float
    goal: float


class Betting(Confidence):
    """Holds at all counts at once, and needs no tuning: gamblers bet against every mean, the rich ones are right.

    The ends are those of a grid that is refined as the interval shrinks: a new mean between two others starts with the
    wealth of the upper one, which errs on the safe side. The table in docs/theory/confidence.md compares the widths.

    >>> seen = Betting(population=2000)
    >>> seen.extend([0.5, 0.51] * 500)
    >>> round(seen.interval().width, 3)
    0.003
    """

    uniform: ClassVar[bool] = True

    def init(self) -> BettingGrid:
        """Return the state before the first value."""
        return gamblers(self.population, self.level, self.actions)

    @staticmethod
    def take(state: BettingGrid, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        gamble(state, action, value)


def gamblers(population: float, level: float, actions: int) -> BettingGrid:
    """Return the state before the first value."""
    empty, sides = np.zeros(actions), np.zeros(2 * actions)
    return BettingGrid(
        counts=empty,
        total=empty,
        low=empty,
        high=np.ones(actions),
        squares=empty,
        points=np.tile(np.arange(1, POINTS + 1) / POINTS, (2 * actions, 1)),
        wealth=np.ones((2 * actions * BETS, POINTS)),
        head=sides,
        tail=np.full(2 * actions, float(POINTS)),
        floor=sides,
        population=population,
        goal=2.0 / level,
    )


def gamble(state: Any, action: int, value: float) -> None:
    """Let all gamblers of an action bet on its next value, and write its interval."""
    n, total, k = state.counts[action], state.total[action], state.counts.size
    variance, off = spread(state.squares[action], n), value - guess(total, n)
    wager(state, action, value, total, n, variance)
    wager(state, action + k, 1.0 - value, n - total, n, variance)
    state.squares[action] += off * off
    state.counts[action] += 1.0
    state.total[action] += value
    give_up(state, action, state.total[action], state.high[action])
    give_up(state, action + k, state.counts[action] - state.total[action], 1.0 - state.low[action])
    narrow(state, action, state.floor[action], 1.0 - state.floor[action + k], state.population)


@no_inline
def wager(state: Any, row: int, value: float, total: float, n: float, variance: float) -> None:
    """Let the gamblers of a row bet against all means that are not out of reach."""
    first, tail, points = int(state.head[row]), int(state.tail[row]), state.points[row]
    top, last, end = reach(total, n, variance), first, tail
    while last < end:
        middle = (last + end) // 2
        if points[middle] < top:
            last = middle + 1
        else:
            end = middle
    last = min(last + 1, tail)
    if first < last:
        place(points, state.wealth, BETS * row, first, last, value, total, n, state.population, variance)


@no_inline
def give_up(state: Any, row: int, total: float, ceiling: float) -> None:
    """Give up the means against which the goal has been reached, forget those beyond the ceiling, refine the grid."""
    head, tail, points = int(state.head[row]), int(state.tail[row]), state.points[row]
    sure = total / state.population
    while head < tail and (points[head] < sure or tracker(state.wealth, BETS * row, head) >= state.goal):
        state.floor[row] = points[head]
        head += 1
    while tail - head > 2 and points[tail - 2] >= ceiling:
        tail -= 1
    state.head[row], state.tail[row] = head, tail
    if 0 < 2 * (tail - head) <= POINTS and points[tail - 1] - state.floor[row] > FINEST:
        halve(points, head, tail, state.floor[row])
        for q in range(BETS):
            double(state.wealth[BETS * row + q], head, tail)
        state.head[row], state.tail[row] = 0.0, 2.0 * (tail - head)


def halve(points: Floats, head: int, tail: int, below: float) -> None:
    """Put a point half-way below every live one, and move them all to the front."""
    double(points, head, tail)
    for j in range(0, 2 * (tail - head), 2):
        points[j] = (below + points[j + 1]) / 2.0
        below = points[j + 1]


@no_inline
def double(values: Floats, head: int, tail: int) -> None:
    """Write every live value twice, from the front."""
    for j in range(tail - head):
        values[j] = values[head + j]
    for j in range(tail - head - 1, -1, -1):
        values[2 * j + 1] = values[j]
        values[2 * j] = values[j]
