"""Betting: the narrowest intervals that hold at all counts at once (Waudby-Smith and Ramdas 2024, without replacement).

If the mean of the pool is m, the next value has mean m_i = (N m - S) / (N - i + 1), so the wealth of a gambler against
m, the product of 1 + b_i (x_i - m_i), is a martingale for bets b_i chosen from the past. Where it passes 2 / level, m
is given up. With the same bets against every m the wealth falls in m, so all means below it are given up too.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola.confidence.base import Confidence, narrow
from tombola.confidence.sequences import gain, pace
from tombola.types import Floats

POINTS = 256
SHARE = 0.75  # of the wealth that one bet may lose


class Gamblers(NamedTuple):
    """For every action a row of gamblers against small means, and (k rows on) one against large means, mirrored.

    The live ones of a row are head..tail-1, in order of the mean that they bet against.
    """

    counts: Floats
    total: Floats
    low: Floats
    high: Floats
    squares: Floats
    effort: Floats
    points: Floats
    wealth: Floats
    head: Floats
    tail: Floats
    floor: Floats
    scratch: Floats
    population: float
    depth: float
    goal: float


class Betting(Confidence):
    """Holds at all counts at once, and is the narrowest: gamblers bet against every mean, the rich ones are right.

    The ends are those of a grid that is refined as the interval shrinks: a new gambler between two others starts with
    the wealth of the poorer one, which errs on the safe side.

    >>> seen = Betting(population=2000)
    >>> seen.extend([0.5, 0.51] * 500)
    >>> round(seen.interval().width, 3)
    0.004
    """

    uniform: ClassVar[bool] = True

    def init(self) -> Gamblers:
        """Return the state before the first value."""
        return gamblers(self.population, self.level, self.actions)

    @staticmethod
    def take(state: Gamblers, action: int, value: float) -> None:
        """Take in one value of one action, and write its interval."""
        gamble(state, action, value)


def gamblers(population: float, level: float, actions: int) -> Gamblers:
    """Return the state before the first value."""
    empty, sides = np.zeros(actions), np.zeros(2 * actions)
    return Gamblers(
        counts=empty,
        total=empty,
        low=empty,
        high=np.ones(actions),
        squares=empty,
        effort=empty,
        points=np.tile(np.arange(1, POINTS + 1) / POINTS, (2 * actions, 1)),
        wealth=np.ones((2 * actions, POINTS)),
        head=sides,
        tail=np.full(2 * actions, float(POINTS)),
        floor=sides,
        scratch=np.zeros((2, POINTS)),
        population=population,
        depth=math.log(2.0 / level),
        goal=2.0 / level,
    )


def gamble(state: Any, action: int, value: float) -> None:
    """Let all gamblers of an action bet on its next value, and write its interval."""
    n, k = state.counts[action], state.counts.size
    guess = (0.5 + state.total[action]) / (1.0 + n)
    bet = pace(state, action, (0.25 + state.squares[action]) / (1.0 + n))
    wager(state, action, value, state.total[action], n, bet, state.high[action])
    wager(state, action + k, 1.0 - value, n - state.total[action], n, bet, 1.0 - state.low[action])
    state.squares[action] += (value - guess) * (value - guess)
    state.counts[action] += 1.0
    state.total[action] += value
    narrow(state, action, state.floor[action], 1.0 - state.floor[action + k], state.population)


def wager(state: Any, row: int, value: float, total: float, n: float, bet: float, ceiling: float) -> None:
    """Let all gamblers of a row bet that this value is above its mean; the mean of the pool is at most `ceiling`."""
    g = gain(state.population, n)
    gone = total / (state.population - n)
    bet = min(bet, SHARE / max(g * ceiling - gone, 1e-9))
    rise, slope = 1.0 + bet * (value + gone), bet * g
    points, wealth = state.points[row], state.wealth[row]
    for j in range(int(state.head[row]), int(state.tail[row])):
        wealth[j] *= max(0.0, rise - slope * points[j])
    give_up(state, row, ceiling)


def give_up(state: Any, row: int, ceiling: float) -> None:
    """Give up the means against which the goal has been reached, forget those beyond the ceiling, refine the grid."""
    head, tail = int(state.head[row]), int(state.tail[row])
    while head < tail and state.wealth[row, head] >= state.goal:
        state.floor[row] = state.points[row, head]
        head += 1
    while tail - head > 2 and state.points[row, tail - 2] >= ceiling:
        tail -= 1
    state.head[row], state.tail[row] = head, tail
    if 0 < 2 * (tail - head) <= POINTS:
        refine(state, row)


def refine(state: Any, row: int) -> None:
    """Put a gambler below every live one, half-way to the next, with the wealth of the live one, which is no larger."""
    head, live = int(state.head[row]), int(state.tail[row] - state.head[row])
    for j in range(live):
        state.scratch[0, j] = state.points[row, head + j]
        state.scratch[1, j] = state.wealth[row, head + j]
    below = state.floor[row]
    for j in range(live):
        state.points[row, 2 * j] = (below + state.scratch[0, j]) / 2.0
        state.points[row, 2 * j + 1] = state.scratch[0, j]
        state.wealth[row, 2 * j] = state.scratch[1, j]
        state.wealth[row, 2 * j + 1] = state.scratch[1, j]
        below = state.scratch[0, j]
    state.head[row], state.tail[row] = 0.0, 2.0 * live
