"""Confidence: an interval for the mean loss of every action, from the losses seen so far.

By the predictable-sampling lemma (docs/theory/confidence.md) the losses seen of an action, played at rounds chosen from
the past only, are a sample without replacement of the pool. So what holds for such a sample holds under adaptive play.
"""

import math
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Rounds
from tombola.engine.compiler import Kernel, compile_loop
from tombola.engine.state_vector import flatten, unflattener
from tombola.errors import ParameterError

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    take: Kernel


class Interval(NamedTuple):
    """The ends of an interval that holds a mean loss."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low


class OnlineStatistic(ABC):
    """Values in [0, 1] of one or more actions, taken in one at a time, or many at once, by a compiled kernel.

    A subclass gives the first state, a named tuple with the fields counts and total (one entry an action), and the
    kernel `take(state, action, value)`.
    """

    def _start(self, population: float, actions: int) -> None:
        """Check the sizes, and compile the kernel; what `init` needs must be there before."""
        name = type(self).__name__
        self.population = _population(name, population)
        self.actions = _validate.integer(name, "actions", actions, least=1)
        state = self.init()
        self._memory = flatten(state, self.actions)
        self._view = unflattener(state)
        self._state = self._view(self._memory)
        self._counts = [0] * self.actions
        kernels = {"view": self._view, "take": self.take}
        self._one = compile_loop(step, (self._memory, 0, 0.0), **kernels)
        some = (np.zeros(0, np.int64), np.zeros(0))
        self._many = compile_loop(steps, (self._memory, *some), **kernels)

    @abstractmethod
    def init(self) -> Any:
        """Return the state before the first value."""

    @staticmethod
    @abstractmethod
    def take(state: Any, action: int, value: float) -> None:
        """Take in one value of one action."""

    def update(self, x: Any, action: int | None = None) -> None:
        """Take in one value of an action, or one value of every action if none is named."""
        if action is None and self.actions > 1:
            self.extend(np.asarray(x, np.float64).reshape(1, -1))
            return
        at = 0 if action is None else action
        quick = type(x) is float and type(at) is int  # ten times quicker to ask than what numbers.Real says
        if not (quick and 0.0 <= x <= 1.0 and 0 <= at < self.actions and self._counts[at] < self.population):
            self._check(x, at)
        self._one(self._memory, at, float(x))
        self._counts[at] += 1

    def extend(self, values: Any, actions: Any = None) -> None:
        """Take in many values: those of `actions`, one each; or one row for every action; or all of one action."""
        table = np.asarray(values, np.float64)
        if actions is None:
            table = table.reshape(-1, 1) if table.ndim == 1 and self.actions == 1 else table
            if table.ndim != 2 or table.shape[1] != self.actions:
                self._refuse("values", f"rows of {self.actions} numbers", f"shape {table.shape}", "or name the actions")
            actions = np.tile(np.arange(self.actions), table.shape[0])
        which = _validate.integer_array(type(self).__name__, "actions", actions)
        self._check_all(which, table.ravel())
        self._many(self._memory, which, np.ascontiguousarray(table.ravel()))
        self._counts = [int(count) for count in self._state.counts]

    @property
    def counts(self) -> Rounds:
        """How many values have been seen of every action."""
        return np.array(self._counts, np.int64)

    @property
    def means(self) -> Floats:
        """The mean of the values seen of every action; 1/2 where there are none."""
        return np.where(self._state.counts > 0, self._state.total / np.maximum(self._state.counts, 1.0), 0.5)

    def __repr__(self) -> str:
        size = "independent draws" if math.isinf(self.population) else f"a pool of {self.population:.0f}"
        return f"{type(self).__name__}({size}, {self.actions} actions, {sum(self._counts)} values)"

    def _check(self, x: Any, action: Any) -> None:
        if not (isinstance(action, Integral) and 0 <= int(action) < self.actions):
            self._refuse("action", f"a number in 0..{self.actions - 1}", repr(action), "count actions from 0")
        if not (isinstance(x, Real) and 0.0 <= float(x) <= 1.0):
            self._refuse("x", "a number in [0, 1]", repr(x), "rescale the values before you update")
        if self._counts[action] >= self.population:
            self._full(action)

    def _check_all(self, actions: Rounds, values: Floats) -> None:
        if actions.size != values.size:
            self._refuse("actions", f"one for each of the {values.size} values", str(actions.size), "give as many")
        if actions.size and not (0 <= int(actions.min()) and int(actions.max()) < self.actions):
            wrong = actions[(actions < 0) | (actions >= self.actions)][0]
            self._refuse("action", f"a number in 0..{self.actions - 1}", str(wrong), "count actions from 0")
        inside = (values >= 0.0) & (values <= 1.0)
        if not inside.all():
            wrong = values[~inside][0]
            self._refuse("values", "numbers in [0, 1]", str(wrong), "rescale the values before you extend")
        after = self.counts + np.bincount(actions, minlength=self.actions)
        if (after > self.population).any():
            self._full(int(np.argmax(after > self.population)))

    def _full(self, action: int) -> None:
        population = f"{self.population:.0f}"
        self._refuse(
            f"action {action}",
            f"at most {population} values from a pool of {population} rows",
            "one more",
            "give the size of the whole pool as population, or math.inf if rows come back",
        )

    def _refuse(self, what: str, expected: str, came: str, remedy: str) -> None:
        raise ParameterError(f"{type(self).__name__}: {what} must be {expected}, got {came}; {remedy}.")


class Confidence(OnlineStatistic):
    """Intervals for the mean of values in [0, 1], updated one value at a time.

    `population` is the number of rows of the pool, or math.inf for independent draws. Each action's interval misses
    its mean with probability at most `level`; for all k actions at once, give level / k. A class that is `uniform`
    holds at all counts at once, and its intervals are nested; others hold at one count that was fixed in advance.

    The state of a subclass starts with the fields counts, total, low and high, one entry an action.
    """

    uniform: ClassVar[bool]

    def __init__(self, population: float, level: float = 0.05, actions: int = 1) -> None:
        self.level = _validate.real(type(self).__name__, "level", level, above=0, below=1)
        self._start(population, actions)

    def interval(self, action: int = 0) -> Interval:
        """Return the interval of one action."""
        return Interval(float(self._state.low[action]), float(self._state.high[action]))

    @property
    def lows(self) -> Floats:
        """The lower end of every action."""
        return np.array(self._state.low)

    @property
    def highs(self) -> Floats:
        """The upper end of every action."""
        return np.array(self._state.high)


def _population(owner: str, value: Any) -> float:
    size = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (size == math.inf or (size >= 1 and size % 1 == 0)):
        raise ParameterError(
            f"{owner}: population must be the number of rows of the pool, got {value!r}; "
            "write population=len(pool), or population=math.inf for independent draws."
        )
    return size


def step(memory: Floats, action: int, value: float) -> None:
    """Take in one value."""
    take(view(memory), action, value)  # noqa: F821


def steps(memory: Floats, actions: Rounds, values: Floats) -> None:
    """Take in many values."""
    state = view(memory)  # noqa: F821
    for i in range(values.size):
        take(state, actions[i], values[i])  # noqa: F821


def narrow(state: Any, action: int, low: float, high: float, population: float) -> None:
    """Intersect the interval of an action with [low, high], and with what is certain about a pool partly seen.

    Certainty comes last: where a miss has emptied the intersection, what is left is the nearest possible mean.
    """
    seen = state.total[action] / population
    room = (population - state.counts[action]) / population if population < math.inf else 1.0
    most = min(1.0, seen + max(room, 0.0))
    state.low[action] = min(max(state.low[action], low, seen), most)
    state.high[action] = max(min(state.high[action], high, most), seen)
    if state.low[action] > state.high[action]:
        state.low[action] = state.high[action]
