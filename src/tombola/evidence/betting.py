"""Betting confidence sequences for a finite population.

Waudby-Smith and Ramdas (2024). Null hypothesis: the mean of the pool is at most m. After n of N
values with sum S, the next value then has mean at most m_i = (N m - S) / (N - n). A wealth that is
multiplied by 1 + b (x - m_i), with a bet 0 <= b < 1 / m_i chosen from the past, is a
supermartingale with mean at most 1, and so is any average of such wealths. Four strategies are
mixed: the first estimates the distance of the mean from m, shrunk towards 0 and bounded below
(ALPHA: Stark 2023); the others assume a fixed distance in standard deviations. Bets are scaled to
the unseen rows (docs/theory/confidence.md).
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.engine.intrinsics import no_inline
from tombola.evidence.base import Confidence, intersect

# Distances of the mean from the hypothesised one that three strategies assume, in standard
# deviations of a value: for large, medium and small effects, each a third of the one before.
FIXED_GAPS = (0.35, 0.125, 0.04)
# Number of pseudo-values at the hypothesised mean in the estimated distance. They keep the bets on
# the first few values small, where the estimate is mostly noise.
PRIOR_ROWS = 30.0
# Least distance that the estimating strategy bets on before the first value, in standard deviations
# of a value. After n values it has fallen like 1/sqrt(n), which is the size of the distances that n
# values can detect.
MIN_GAP = 0.2
# Number of betting strategies: one that estimates the distance, and one per fixed distance.
N_STRATEGIES = 1 + len(FIXED_GAPS)
# Initial wealth of each strategy, with sum 1; half for the one that estimates the distance, since
# each other one bets well only near its own distance.
STRATEGY_WEIGHTS = (1 / 2, 1 / 6, 1 / 6, 1 / 6)
# Largest share of the wealth that a single bet may lose: below 1, so that no strategy goes
# bankrupt, and close to it, so that bets on large effects are hardly limited.
MAX_LOSS = 0.95
# Means more than this many standard errors above the estimated mean are not bet against: the bets
# are that values are above the mean, so they would lose.
REACH = 2.0
# Wealth below this is rounded to 0, which keeps denormal numbers (slow) out of the loop.
_MIN_WEALTH = 1e-200

# Hypothesised means per side (lower and upper bound) of a grid; the first ones are 1/256 apart.
_GRID_POINTS = 256
# A grid is not refined below this width: the points would differ by little more than rounding
# errors.
_MIN_GRID_WIDTH = 1e-9


def finite_gain(population: float, count: float) -> float:
    """Return N / (N - count): the gain of an error in the mean on the unseen rows.

    A kernel. If the mean of a pool of N rows is off by D, and `count` of them were seen, the mean
    of the unseen rows is off by D times this; 1 for infinite N.
    """
    return population / (population - count) if population < math.inf else 1.0


def variance_estimate(squares: float, count: float) -> float:
    """Return the variance of values in [0, 1], with one pseudo-value; a kernel.

    The pseudo-value has the squared error 1/4, the largest possible variance. `squares` is the sum
    of squared distances of a value from the mean estimate before it.
    """
    return (0.25 + squares) / (1.0 + count)


def mean_estimate(total: float, count: float) -> float:
    """Return the mean of values in [0, 1] and one pseudo-value of 1/2; a kernel."""
    return (0.5 + total) / (1.0 + count)


def largest_target(total: float, count: float, variance: float) -> float:
    """Return the largest mean that is worth betting against; a kernel.

    It is 2 standard errors (REACH) above the mean estimate: bets against higher means would lose.

    total, count, variance: sum, number and estimated variance of the values so far.
    """
    return mean_estimate(total, count) + REACH * math.sqrt(variance / (1.0 + count))


@no_inline
def update_wealth(
    points: Floats,
    wealth: Any,
    row: int,
    first: int,
    last: int,
    value: float,
    total: float,
    count: float,
    population: float,
    variance: float,
) -> None:
    """Update the wealth of all strategies against several means by one bet; a kernel.

    All strategies bet that `value` is above the mean. Bets depend on the past only: sum, number and
    variance (`total`, `count`, `variance`) of the values before `value`.

    points, first, last: means to bet against, sorted; those in points[first:last] are used.
    wealth, row: the four strategies are in wealth[row : row + 4], one column per point; changed in
        place.
    """
    means = points[first:last]
    g = finite_gain(population, count)
    spent = total / (population - count)
    cap = MAX_LOSS / max(g * means[means.size - 1] - spent, 1e-12)
    deviation = math.sqrt(variance)
    shrinkage = 1.0 / (PRIOR_ROWS + count)
    least = MIN_GAP * deviation * math.sqrt(PRIOR_ROWS * shrinkage)
    own = wealth[row][first:last]
    for j in range(means.size):
        gap = (total - count * means[j]) * shrinkage
        gap = gap if gap > least else least
        # Kelly's bet for a small edge: gap / (variance + gap^2).
        size = variance + gap * gap
        bet = g * gap / (size if size > _MIN_WEALTH else _MIN_WEALTH)
        bet = bet if bet < cap else cap
        left = own[j] * (1.0 + bet * (value + spent - g * means[j]))
        own[j] = left if left > _MIN_WEALTH else 0.0
    for q in range(len(FIXED_GAPS)):
        bet = min(g * FIXED_GAPS[q] / deviation, cap)
        own = wealth[row + 1 + q][first:last]
        rise = 1.0 + bet * (value + spent)
        slope = bet * g
        for j in range(means.size):
            left = own[j] * (rise - slope * means[j])
            own[j] = left if left > _MIN_WEALTH else 0.0


def total_wealth(wealth: Any, row: int, at: int) -> float:
    """Return the weighted wealth of the strategies against one mean; a kernel.

    The four strategies are in wealth[row : row + 4], the mean is that of column `at`.
    """
    total = 0.0
    for q in range(N_STRATEGIES):
        total += STRATEGY_WEIGHTS[q] * wealth[row + q, at]
    return total


class BettingGrid(NamedTuple):
    """State of `Betting`: a grid of e-processes, one per hypothesised mean.

    Of k actions, row a of `points` has the means tested from below for action a, row k + a those of
    1 - value. wealth[4 r + j, i] is the wealth of strategy j against points[r, i]. In row r the
    means not yet refuted are points[r, head[r]:tail[r]], and `floor[r]` is the largest refuted one.
    A mean is refuted at the wealth `threshold`.
    """

    counts: Floats  # number of values of each action
    total: Floats  # their sum
    low: Floats  # interval of each action
    high: Floats
    squares: Floats  # sum of squared errors
    points: Floats  # (2 k, size of the grid) sorted hypothesised means
    wealth: Floats  # [4 r + j, i]: wealth of strategy j of the bets against points[r, i], j = 0..3
    head: Floats  # of each row; the means not yet refuted are points[head:tail]
    tail: Floats
    floor: Floats  # of each row, the largest refuted mean
    population: float
    threshold: float  # wealth that refutes a mean, 2 / level


class Betting(Confidence):
    """Betting confidence sequence for the mean of a finite population.

    population: number of rows, or math.inf for independent draws; level: error probability;
        actions: number of means.

    Waudby-Smith and Ramdas (2024). Valid at all sample sizes simultaneously; no tuning parameter. A
    mean m is excluded once the wealth of the bets against m reaches 2 / level. The bounds are
    points of a grid that is refined as the interval shrinks; a new point starts with the wealth of
    its upper neighbour, which is conservative. docs/theory/confidence.md compares widths.

    >>> sequence = Betting(population=2000)
    >>> sequence.extend([0.5, 0.51] * 500)
    >>> round(sequence.interval().width, 3)
    0.003
    """

    update_seconds = 600e-6  # of a whole grid of e-processes

    anytime_valid: ClassVar[bool] = True

    def init(self) -> BettingGrid:
        return new_grid(self.population, self.level, self.actions)

    @staticmethod
    def update_state(state: BettingGrid, action: int, value: float) -> None:
        update_grid(state, action, value)


def new_grid(population: float, level: float, actions: int) -> BettingGrid:
    """Return the state of `Betting`, with its parameters, before the first value."""
    empty = np.zeros(actions)
    sides = np.zeros(2 * actions)
    return BettingGrid(
        counts=empty,
        total=empty,
        low=empty,
        high=np.ones(actions),
        squares=empty,
        points=np.tile(np.arange(1, _GRID_POINTS + 1) / _GRID_POINTS, (2 * actions, 1)),
        wealth=np.ones((2 * actions * N_STRATEGIES, _GRID_POINTS)),
        head=sides,
        tail=np.full(2 * actions, float(_GRID_POINTS)),
        floor=sides,
        population=population,
        threshold=2.0 / level,
    )


def update_grid(state: Any, action: int, value: float) -> None:
    """Bet on the next value of an action, and update its interval in place; a kernel."""
    n = state.counts[action]
    total = state.total[action]
    k = state.counts.size
    variance = variance_estimate(state.squares[action], n)
    error = value - mean_estimate(total, n)
    _place_bets(state, action, value, total, n, variance)
    _place_bets(state, action + k, 1.0 - value, n - total, n, variance)
    state.squares[action] += error * error
    state.counts[action] += 1.0
    state.total[action] += value
    _drop_refuted(state, action, state.total[action], state.high[action])
    _drop_refuted(
        state, action + k, state.counts[action] - state.total[action], 1.0 - state.low[action]
    )
    intersect(state, action, state.floor[action], 1.0 - state.floor[action + k], state.population)


@no_inline
def _place_bets(
    state: Any, row: int, value: float, total: float, n: float, variance: float
) -> None:
    """Bet against all live means of a row up to `largest_target`, in place.

    `value` is mirrored for rows k + a; `total`, `n` and `variance` are of the earlier values.
    """
    first = int(state.head[row])
    tail = int(state.tail[row])
    points = state.points[row]
    top = largest_target(total, n, variance)
    last = first
    end = tail
    # Binary search for the first point at or above `top`.
    while last < end:
        middle = (last + end) // 2
        if points[middle] < top:
            last = middle + 1
        else:
            end = middle
    last = min(last + 1, tail)
    if first < last:
        update_wealth(
            points,
            state.wealth,
            N_STRATEGIES * row,
            first,
            last,
            value,
            total,
            n,
            state.population,
            variance,
        )


@no_inline
def _drop_refuted(state: Any, row: int, total: float, ceiling: float) -> None:
    """Drop refuted means and those above `ceiling`; refine a half-empty grid."""
    head = int(state.head[row])
    tail = int(state.tail[row])
    points = state.points[row]
    certain = total / state.population
    while head < tail and (
        points[head] < certain
        or total_wealth(state.wealth, N_STRATEGIES * row, head) >= state.threshold
    ):
        state.floor[row] = points[head]
        head += 1
    while tail - head > 2 and points[tail - 2] >= ceiling:
        tail -= 1
    state.head[row] = head
    state.tail[row] = tail
    if (
        0 < 2 * (tail - head) <= _GRID_POINTS
        and points[tail - 1] - state.floor[row] > _MIN_GRID_WIDTH
    ):
        _repeat_twice(points, head, tail)
        below = state.floor[row]
        for j in range(0, 2 * (tail - head), 2):
            points[j] = (below + points[j + 1]) / 2.0
            below = points[j + 1]
        for q in range(N_STRATEGIES):
            _repeat_twice(state.wealth[N_STRATEGIES * row + q], head, tail)
        state.head[row] = 0.0
        state.tail[row] = 2.0 * (tail - head)


@no_inline
def _repeat_twice(values: Floats, head: int, tail: int) -> None:
    """Write every value of values[head:tail] twice, in place, from the front."""
    for j in range(tail - head):
        values[j] = values[head + j]
    for j in range(tail - head - 1, -1, -1):
        values[2 * j + 1] = values[j]
        values[2 * j] = values[j]
