"""E-process against one hypothesis about a mean."""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers
from tombola.errors import ParameterError
from tombola.evidence.base import OnlineStatistic
from tombola.evidence.betting import (
    N_STRATEGIES,
    largest_target,
    mean_estimate,
    total_wealth,
    update_wealth,
    variance_estimate,
)

# Tolerance for rounding errors of a mean: a hypothesis counts as impossible only if the values
# exceed it by more.
_ROUNDING = 1e-9
# Smallest factor from the estimated variance to the one under the hypothesis.
_LEAST_SKEW = 0.25
# Betting stops at this wealth, long before a float64 overflows (1e308): the hypothesis is refuted
# anyway.
_MAX_WEALTH = 1e150


class _EProcessState(NamedTuple):
    """State of `EProcess`, one entry per action."""

    counts: Floats
    total: Floats
    squares: Floats  # sum of squared errors
    points: Floats  # (actions, 1) the hypothesised largest mean
    wealth: Floats  # (4 actions, 1) wealth by strategy
    max_wealth: Floats
    refuted_at: Floats  # the count at which `max_wealth` reached the threshold, 0 before
    mirrored: (
        float  # 1 if the hypothesis is about the smallest mean; then 1 - x replaces every value x
    )
    population: float
    threshold: float


class EProcess(OnlineStatistic):
    """Test the hypothesis that a mean is at most, or at least, m, by an e-process.

    at_most, at_least: m in [0, 1]; give one of the two.
    population: number of rows, or math.inf for independent draws.
    level: probability of refuting a true hypothesis, at most.
    actions: number of means that are tested, each on its own values.

    If the hypothesis is true, the wealth ever reaches 1 / level with probability at most `level`;
    so once it does, the hypothesis is refuted. The wealth is infinite once the values make the
    hypothesis impossible for a pool of this size. For simultaneous validity divide the level by the
    number of actions. Feed values by `update` or `extend`.

    >>> process = EProcess(at_most=0.5, population=1000)
    >>> process.extend([1.0] * 20)
    >>> bool(process.refuted[0]), int(process.rows[0])
    (True, 10)
    >>> process.extend([0.0] * 400 + [1.0] * 500)
    >>> float(process.wealth[0])
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
                f"EProcess: expected one of at_most and at_least, got {at_most!r} and "
                f"{at_least!r}; write for example "
                "at_most=0.5."
            )
        name, mean = ("at_least", at_least) if at_most is None else ("at_most", at_most)
        self.mean = _validate.real("EProcess", name, mean, least=0, most=1)
        self.mirrored = at_most is None
        self.level = _validate.real("EProcess", "level", level, above=0, below=1)
        self._start(population, actions)

    def init(self) -> _EProcessState:
        zeros: dict[str, Any] = dict.fromkeys(_EProcessState._fields, np.zeros(self.actions))
        known = {
            "points": np.full((self.actions, 1), 1.0 - self.mean if self.mirrored else self.mean),
            "wealth": np.ones((N_STRATEGIES * self.actions, 1)),
            "max_wealth": np.ones(self.actions),
            "mirrored": float(self.mirrored),
            "population": self.population,
            "threshold": 1.0 / self.level,
        }
        return _EProcessState(**{**zeros, **known})

    @staticmethod
    def update_state(state: _EProcessState, action: int, value: float) -> None:
        n = state.counts[action]
        total = state.total[action]
        estimate = mean_estimate(total, n)
        error = value - estimate
        mean = state.points[action, 0]
        # Kelly's bet on values 0 and 1 has their variance under the hypothesis as its divisor; for
        # small means the estimated one makes it much too small. A larger divisor is not taken: it
        # costs up to half more rows where all values are clearly above the hypothesis.
        skew = mean * (1.0 - mean) / (estimate * (1.0 - estimate))
        variance = variance_estimate(state.squares[action], n)
        variance *= min(max(skew, _LEAST_SKEW), 1.0)
        if state.mirrored > 0.0:
            _place_bet(state, action, 1.0 - value, n - total, variance)
        else:
            _place_bet(state, action, value, total, variance)
        state.squares[action] += error * error
        state.counts[action] += 1.0
        state.total[action] += value
        if state.refuted_at[action] == 0.0 and state.max_wealth[action] >= state.threshold:
            state.refuted_at[action] = state.counts[action]

    @property
    def wealth(self) -> Floats:
        """The largest wealth of the bets so far, shape (actions,); it starts at 1.

        A large one is evidence against the hypothesis; its inverse is an anytime-valid p-value.
        """
        return np.array(self._state.max_wealth)

    @property
    def strategy_wealth(self) -> Floats:
        """The present wealth of each of the four betting strategies, (4 * actions, 1).

        Rows 4 a to 4 a + 3 are of action a. Each starts at 1; the wealth of an action is their mean
        with the weights `betting.STRATEGY_WEIGHTS`.
        """
        return np.array(self._state.wealth)

    @property
    def refuted(self) -> "np.typing.NDArray[np.bool_]":
        """For every action, whether the wealth has ever reached 1 / level."""
        return np.array(self._state.refuted_at > 0)

    @property
    def rows(self) -> Integers:
        """Per action, the number of its values at the refutation; 0 if not refuted."""
        return np.array(self._state.refuted_at, np.int64)


def _place_bet(state: Any, action: int, value: float, total: float, variance: float) -> None:
    """Bet that a value is above the hypothesised mean, and update the wealth."""
    n = state.counts[action]
    mean = state.points[action, 0]
    # The sum alone exceeds N times the hypothesised mean: impossible for all values of the unseen
    # rows.
    if (total + value) / state.population > mean + _ROUNDING:
        state.max_wealth[action] = math.inf
    elif mean <= largest_target(total, n, variance) and state.max_wealth[action] < _MAX_WEALTH:
        row = N_STRATEGIES * action
        update_wealth(
            state.points[action],
            state.wealth,
            row,
            0,
            1,
            value,
            total,
            n,
            state.population,
            variance,
        )
        state.max_wealth[action] = max(state.max_wealth[action], total_wealth(state.wealth, row, 0))
