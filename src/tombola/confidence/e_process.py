"""EProcess: evidence against one statement about a mean, one value at a time, at all counts at once."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Rounds
from tombola.confidence.base import OnlineStatistic
from tombola.confidence.bet_sizes import BETS, guess, place, reach, spread, tracker
from tombola.errors import ParameterError

ROUNDING = 1e-9  # of the mean of the pool
RICH = 1e150  # nobody bets on


class EProcessState(NamedTuple):
    """For every action the mean it is said to have, at most, and the wealth of four gamblers against that.

    `mirrored` is 1 where the statement is about the least, and 1 - value is taken for a value.
    """

    counts: Floats
    total: Floats
    squares: Floats
    points: Floats
    wealth: Floats
    record: Floats
    when: Floats
    mirrored: float
    population: float
    goal: float


class EProcess(OnlineStatistic):
    """A bet against the statement that a mean is at most, or at least, so much.

    If the statement is true, the wealth ever reaches 1 / level with probability at most `level`, however often one
    looks; so when it does, the statement is refuted. Once the values leave no room for it the wealth is infinite: that
    is certain. Each action has a wealth of its own; to trust all of them at once, divide the level by their number.

    >>> bet = EProcess(at_most=0.5, population=1000)
    >>> bet.extend([1.0] * 20)
    >>> bool(bet.refuted[0]), int(bet.rows[0])
    (True, 10)
    >>> bet.extend([0.0] * 400 + [1.0] * 500)
    >>> float(bet.wealth[0])
    inf
    """

    def __init__(
        self,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        population: float,
        level: float = 0.05,
        actions: int = 1,
    ) -> None:
        if (at_most is None) == (at_least is None):
            raise ParameterError(
                f"EProcess: expected one of at_most and at_least, got {at_most!r} and {at_least!r}; write for example "
                "at_most=0.5."
            )
        name, mean = ("at_least", at_least) if at_most is None else ("at_most", at_most)
        self.mean = _validate.real("EProcess", name, mean, least=0, most=1)
        self.mirrored = at_most is None
        self.level = _validate.real("EProcess", "level", level, above=0, below=1)
        self._start(population, actions)

    def init(self) -> EProcessState:
        """Return the state before the first value."""
        empty = np.zeros(self.actions)
        return EProcessState(
            counts=empty,
            total=empty,
            squares=empty,
            points=np.full((self.actions, 1), 1.0 - self.mean if self.mirrored else self.mean),
            wealth=np.ones((BETS * self.actions, 1)),
            record=np.ones(self.actions),
            when=empty,
            mirrored=float(self.mirrored),
            population=self.population,
            goal=1.0 / self.level,
        )

    @staticmethod
    def take(state: EProcessState, action: int, value: float) -> None:
        """Take in one value of one action."""
        n, total = state.counts[action], state.total[action]
        variance, off = spread(state.squares[action], n), value - guess(total, n)
        if state.mirrored > 0.0:
            stake(state, action, 1.0 - value, n - total, variance)
        else:
            stake(state, action, value, total, variance)
        state.squares[action] += off * off
        state.counts[action] += 1.0
        state.total[action] += value
        if state.when[action] == 0.0 and state.record[action] >= state.goal:
            state.when[action] = state.counts[action]

    @property
    def wealth(self) -> Floats:
        """The largest wealth so far, of every action: 1 over the probability of so much if the statement is true."""
        return np.array(self._state.record)

    @property
    def refuted(self) -> Any:
        """Whether the statement is refuted, of every action."""
        return np.array(self._state.when > 0)

    @property
    def rows(self) -> Rounds:
        """The number of values after which the statement was refuted, of every action; 0 if it is not."""
        return np.array(self._state.when, np.int64)


def stake(state: Any, action: int, value: float, total: float, variance: float) -> None:
    """Let the gamblers of an action bet that the value is above the mean, and note their wealth."""
    n, mean = state.counts[action], state.points[action, 0]
    if (total + value) / state.population > mean + ROUNDING:
        state.record[action] = math.inf
    elif mean <= reach(total, n, variance) and state.record[action] < RICH:
        place(state.points[action], state.wealth, BETS * action, 0, 1, value, total, n, state.population, variance)
        state.record[action] = max(state.record[action], tracker(state.wealth, BETS * action, 0))
