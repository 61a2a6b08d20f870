"""Base classes of online statistics and confidence intervals.

By the predictable-sampling lemma (docs/theory/confidence.md), the losses of an action that is
played at rounds chosen from the past only are a sample of the pool without replacement. Guarantees
for such a sample hold under adaptive play.
"""

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Integers
from tombola.engine.compiler import Kernel, Workload, compile_loop
from tombola.engine.state_vector import flatten, unflattener
from tombola.errors import ParameterError

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    update_state: Kernel


class Interval(NamedTuple):
    """A confidence interval [low, high] for a mean, both ends included."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The length of the interval, high - low."""
        return self.high - self.low


class OnlineStatistic(ABC):
    """Base class of statistics of values in [0, 1], updated online by a kernel.

    `update` adds one value, `extend` many. Each of several actions has values and a statistic of
    its own. A subclass implements `init` and the kernel `update_state`. Its constructor ends with
    `self._start(population, actions)`.

    update_seconds: estimated seconds of one update in plain Python; the kernel of a short list is
        not compiled.
    """

    update_seconds: ClassVar[float] = 10e-6

    def _start(self, population: float, actions: int) -> None:
        """Validate sizes, allocate the state, compile: the last call of a constructor."""
        name = type(self).__name__
        self.population = _check_population(name, population)
        self.actions = _validate.integer(name, "actions", actions, least=1)
        state = self.init()
        self._memory = flatten(state, self.actions)
        self._view = unflattener(state)
        self._state = self._view(self._memory)
        self._counts = [0] * self.actions
        kernels = {"view": self._view, "update_state": self.update_state}
        no_values = (np.zeros(0, np.int64), np.zeros(0))
        with Workload(self.population * self.actions * self.update_seconds).active():
            self._update_one = compile_loop(_update_one, (self._memory, 0, 0.0), **kernels)
            self._update_many = compile_loop(_update_many, (self._memory, *no_values), **kernels)

    @abstractmethod
    def init(self) -> Any:
        """Return the state before the first value, a named tuple of numbers and arrays.

        Its first fields are `counts` and `total`, the number and the sum of the values of each
        action.
        """

    @staticmethod
    @abstractmethod
    def update_state(state: Any, action: int, value: float) -> None:
        """Update the state in place with one value, in [0, 1], of one action; a kernel."""

    def update(self, x: Any, action: int | None = None) -> None:
        """Add one value of one action, or one value of every action.

        ParameterError if a value is outside of [0, 1], or an action has more values than the pool
        has rows. `action` is an index; without it, `x` has one value per action.
        """
        if action is None and self.actions > 1:
            self.extend(np.asarray(x, np.float64).reshape(1, -1))
            return
        at = 0 if action is None else action
        # A value of the expected types needs no conversion: ten times as fast as `extend`.
        exact = isinstance(x, float) and type(at) is int
        if not (
            exact
            and 0.0 <= x <= 1.0
            and 0 <= at < self.actions
            and self._counts[at] < self.population
        ):
            self.extend([x], [at])
            return
        self._update_one(self._memory, at, float(x))
        self._counts[at] += 1

    def extend(self, values: Any, actions: Any = None) -> None:
        """Add many values in [0, 1]; if one is invalid, none is added: ParameterError.

        values, actions: values and the action index of each, both shape (n,). Without `actions`,
            values have one column per action, shape (rows, actions); with a single action, (rows,)
            will do.
        """
        indices, numbers = indexed_values(type(self).__name__, values, actions, self.actions)
        after = self.counts + np.bincount(indices, minlength=self.actions)
        if (after > self.population).any():
            raise ParameterError(
                f"{type(self).__name__}: action {int(np.argmax(after > self.population))} must "
                "be given at most "
                f"{self.population:.0f} values from a pool of {self.population:.0f} rows, got "
                "one more; give the size "
                "of the whole pool as population, or math.inf if rows come back."
            )
        self._update_many(self._memory, indices, numbers)
        self._counts = after.tolist()

    @property
    def counts(self) -> Integers:
        """The number of values of every action, shape (actions,)."""
        return np.array(self._counts, np.int64)

    @property
    def means(self) -> Floats:
        """The sample mean of every action, shape (actions,); 1/2 without values."""
        return np.where(
            self._state.counts > 0, self._state.total / np.maximum(self._state.counts, 1.0), 0.5
        )

    def __repr__(self) -> str:
        size = (
            "independent draws"
            if math.isinf(self.population)
            else f"a pool of {self.population:.0f}"
        )
        return f"{type(self).__name__}({size}, {self.actions} actions, {sum(self._counts)} values)"


def indexed_values(
    owner: str, values: Any, actions: Any, n_actions: int
) -> tuple[Integers, Floats]:
    """Return action indices and values, both of shape (n,); ParameterError if one is invalid.

    owner: class of the user, for the message.
    values, actions: as for `OnlineStatistic.extend`; values must be in [0, 1].
    """
    try:
        # A copy, since a read-only array is another type, for which a kernel would be compiled
        # again.
        table = np.array(values, np.float64)
    except (TypeError, ValueError):
        table = np.array([math.nan])
    if actions is None:
        table = table.reshape(-1, 1) if table.ndim == 1 and n_actions == 1 else table
        if table.ndim != 2 or table.shape[1] != n_actions:
            raise ParameterError(
                f"{owner}: values must be rows of {n_actions} numbers, got shape {table.shape}; "
                "or name the actions."
            )
        actions = np.tile(np.arange(n_actions), table.shape[0])
    indices = _validate.integer_array(owner, "actions", actions)
    numbers = table.ravel()
    if indices.size != numbers.size:
        raise ParameterError(
            f"{owner}: actions must be one for each of the {numbers.size} values, got "
            f"{indices.size}; give as many."
        )
    known = (indices >= 0) & (indices < n_actions)
    if not known.all():
        raise ParameterError(
            f"{owner}: action must be a number in 0..{n_actions - 1}, got {indices[~known][0]}; "
            "count actions from 0."
        )
    inside = (numbers >= 0.0) & (numbers <= 1.0)
    if not inside.all():
        raise ParameterError(
            f"{owner}: values must be numbers in [0, 1], got {numbers[~inside][0]}; rescale the "
            "values before."
        )
    return indices, numbers


class Confidence(OnlineStatistic):
    """Base class of confidence intervals for means in [0, 1], updated online.

    population: the number of rows of the pool N, or math.inf for independent draws.
    level: the interval of each action misses its mean with probability at most this. For
        simultaneous coverage of k actions, pass level / k.
    actions: number of means, one per action; each has its own values and interval.

    If `anytime_valid`, which a subclass sets, the coverage holds at all sample sizes simultaneously
    (a confidence sequence), and the intervals are nested; otherwise it holds at one sample size
    fixed in advance. Feed values by `update` or `extend`. The state of a subclass starts with the
    fields counts, total, low and high.
    """

    anytime_valid: ClassVar[bool]

    def __init__(self, population: float, level: float = 0.05, actions: int = 1) -> None:
        self.level = _validate.real(type(self).__name__, "level", level, above=0, below=1)
        self._start(population, actions)

    def interval(self, action: int = 0) -> Interval:
        """Return the present confidence interval of the mean of one action."""
        return Interval(float(self._state.low[action]), float(self._state.high[action]))

    @property
    def lows(self) -> Floats:
        """The lower confidence bound of the mean of every action, shape (actions,)."""
        return np.array(self._state.low)

    @property
    def highs(self) -> Floats:
        """The upper confidence bound of the mean of every action, shape (actions,)."""
        return np.array(self._state.high)


def _check_population(owner: str, value: Any) -> float:
    size = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (size == math.inf or (size >= 1 and size % 1 == 0)):
        raise ParameterError(
            f"{owner}: population must be the number of rows of the pool, got {value!r}; "
            "write population=len(pool), or population=math.inf for independent draws."
        )
    return size


def _update_one(memory: Floats, action: int, value: float) -> None:
    """Update a state vector in place with one value of one action. Compiled."""
    update_state(view(memory), action, value)  # noqa: F821


def _update_many(memory: Floats, actions: Integers, values: Floats) -> None:
    """Update a state vector in place with `values[i]` of `actions[i]`. Compiled."""
    state = view(memory)  # noqa: F821
    for i in range(values.size):
        update_state(state, actions[i], values[i])  # noqa: F821


def intersect(state: Any, action: int, low: float, high: float, population: float) -> None:
    """Intersect the interval of an action with [low, high] and its certain range.

    A kernel that changes `state`, that of a `Confidence`. After n of N values with sum S, the mean
    lies with certainty in [S / N, (S + N - n) / N]. This range is applied last, so that an empty
    intersection (after a miss) becomes the nearest possible mean.
    """
    least = state.total[action] / population
    unseen = (population - state.counts[action]) / population if population < math.inf else 1.0
    most = min(1.0, least + max(unseen, 0.0))
    state.low[action] = min(max(state.low[action], low, least), most)
    state.high[action] = max(min(state.high[action], high, most), least)
    if state.low[action] > state.high[action]:
        state.low[action] = state.high[action]
