"""Is the stream really in random order? A sequential test with a controlled rate of false alarms.

Conformal test martingales (Vovk, Gammerman and Shafer 2005): in random order the rank of each value among those before
it, with ties broken by a coin, is uniform and independent of the ranks before. BettingGrid bet against that. Their wealth
passes 1 / level with probability at most `level`, whatever the values (Ville 1939). Of a list that is at hand as a
whole, half of the level goes to them, who say by which row it is clear, and half to one `look` at all of it.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.confidence.permutation_test import look
from tombola.engine.compiler import Kernel, compile_loop
from tombola.engine.state_vector import flatten, unflattener
from tombola.errors import ParameterError
from tombola.rng import new_rng, uniform

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel

BINS = 256  # values are ranked by bins of [0, 1]: any function of a value may be ranked
JUMP = 0.001  # the share of the wealth that changes hands between gamblers in every round
YOUNG = 2000.0  # rows, after which less and less of it does, and some followers forget more and more slowly
DRIFT, ECHO, SPREAD, SMALL, LARGE, UPPER, LOWER = range(7)  # what a gambler may bet on: see `shape`
FIXED = (  # what is bet on, the stakes, and the share of the wealth that each has
    (ECHO, (0.5, -0.5), 0.025),
    (SPREAD, (0.25, -0.25), 0.025),
    (SMALL, (0.5,), 0.035),
    (SMALL, (0.125,), 0.06),
    (LARGE, (0.5,), 0.035),
    (LARGE, (0.125,), 0.06),
)
FOLLOWERS = (  # what is bet on, as it went of late; how fast that is forgotten, and at least; what becomes of it; share
    (DRIFT, 0.003, 0.003, 1.0, 0.09),
    (UPPER, 0.003, 0.003, 1.0, 0.04),
    (LOWER, 0.003, 0.003, 1.0, 0.04),
    (DRIFT, 0.003, 0.0, 1.0, 0.2),
    (UPPER, 0.003, 0.0, 1.0, 0.08),
    (LOWER, 0.003, 0.0, 1.0, 0.08),
    (DRIFT, 0.02, 0.02, 1.0, 0.03),
    (UPPER, 0.02, 0.02, 1.0, 0.03),
    (LOWER, 0.02, 0.02, 1.0, 0.03),
    (DRIFT, 0.01, 0.01, -1.0, 0.09),  # bets that rows alternate
)
GAMBLERS = (
    np.array(  # what is bet on, the stake, the share, and of followers how fast, at least, and what becomes of it
        [[float(on), stake, share, 0.0, 0.0, 0.0] for on, stakes, share in FIXED for stake in stakes]
        + [[float(on), 0.0, share, rate, least, turn] for on, rate, least, turn, share in FOLLOWERS]
    )
)
BEST = (12.0, 0.0, 0.0, 0.0, 0.0, 4.5, 4.5)  # the best stake on a small mean is this times the mean: 1 / variance
BOLDEST = (1.9, 0.0, 0.0, 0.0, 0.0, 1.425, 1.425)  # the largest stake of a follower: at 1 / .95 of it all may be lost
HUGE = 1e100
WATCHED = 0.5  # the share of the level for watching row by row, if the whole list is looked at as well


class Ranks(NamedTuple):
    """For every column, a Fenwick tree of the values seen, and the gamblers with their wealth, scaled.

    `means` is what followers go by.
    """

    tree: Floats
    counts: Floats
    last: Floats
    means: Floats
    wealth: Floats
    exponent: Floats
    record: Floats
    when: Floats
    shapes: Floats
    gamblers: Floats
    goal: float


class OrderVerdict(NamedTuple):
    """What the test says: whether the order is refuted, by which column after how many values, and how surely."""

    refuted: bool
    column: int
    values: int
    probability: float

    def __str__(self) -> str:
        if not self.refuted:
            return "nothing speaks against random order"
        return (
            f"not in random order: column {self.column} shows it after {self.values} values; by probability this happens "
            f"with probability {self.probability:.2g} at most; bounds for random order, intervals for sampling without "
            "replacement and certificates do not apply; bounds for any order (Hedge, Exp3) still do"
        )


class RandomOrderTest:
    """Watches values in [0, 1] as they come, for one or more columns, and raises an alarm if their order is not random.

    In random order there is ever an alarm with probability at most `level`. A column is an action: give whole rows, or,
    where only the loss of the action played is seen, that loss with its action.

    >>> test = RandomOrderTest(level=0.01, seed=0)
    >>> for t in range(200):
    ...     alarm = test.update(t / 200)
    >>> alarm, test.verdict().values < 100
    (True, True)
    """

    def __init__(self, columns: int = 1, level: float = 0.01, *, seed: int) -> None:
        self.columns = _validate.integer("RandomOrderTest", "columns", columns, least=1)
        self.level = _validate.real("RandomOrderTest", "level", level, above=0, below=1)
        self._coins = new_rng(_validate.seed_sequence("RandomOrderTest", seed))
        state = _fresh(self.columns, math.log(self.columns / self.level))
        self._memory = flatten(state, 0)
        view = unflattener(state)
        self._state = view(self._memory)
        none = (np.zeros(0, np.int64), np.zeros(0))
        self._many = compile_loop(watch, (self._memory, self._coins, *none), view=view)
        self._one = compile_loop(watch_one, (self._memory, self._coins, 0, 0.0), view=view)

    def update(self, x: Any, action: int | None = None) -> bool:
        """Take in one value of a column, or a row of them, and tell whether there has been an alarm."""
        if action is None and self.columns > 1:
            return self.extend(np.asarray(x, np.float64).reshape(1, -1))
        at = 0 if action is None else action
        if not (0 <= at < self.columns and 0.0 <= x <= 1.0):
            _refuse("update", f"a value in [0, 1] of a column in 0..{self.columns - 1}", f"{x!r} of {at!r}")
        self._one(self._memory, self._coins, at, float(x))
        return self.alarm

    def extend(self, values: Any, actions: Any = None) -> bool:
        """Take in many values, with their columns, or many rows, and tell whether there has been an alarm."""
        table = np.asarray(values, np.float64)
        table = table.reshape(-1, 1) if actions is None and self.columns == 1 and table.ndim == 1 else table
        if actions is None and (table.ndim != 2 or table.shape[1] != self.columns):
            _refuse("extend", f"rows of {self.columns} values", f"shape {table.shape}")
        which = (
            np.tile(np.arange(self.columns), len(table))
            if actions is None
            else _validate.integer_array("RandomOrderTest", "actions", actions)
        )
        if which.size != table.size or (which.size and not 0 <= which.min() <= which.max() < self.columns):
            _refuse("extend", f"one column in 0..{self.columns - 1} for each value", f"{which.size} for {table.size}")
        if not ((table >= 0.0) & (table <= 1.0)).all():
            _refuse("extend", "values in [0, 1]", "others")
        self._many(self._memory, self._coins, which.ravel(), np.ascontiguousarray(table.ravel()))
        return self.alarm

    @property
    def alarm(self) -> bool:
        """Whether random order has been refuted at this level."""
        return bool((self._state.when > 0).any())

    @property
    def probability(self) -> float:
        """The probability, at most, of evidence as strong as the strongest so far if the order is random."""
        return min(1.0, self.columns * math.exp(-min(float(self._state.record.max()), 690.0)))

    @property
    def evidence(self) -> Floats:
        """The logarithm of the largest wealth so far, of every column."""
        return np.array(self._state.record)

    def verdict(self) -> OrderVerdict:
        """Return what the test says now."""
        when = np.where(self._state.when > 0, self._state.when, np.inf)
        column = int(np.argmin(when) if self.alarm else np.argmax(self._state.record))
        return OrderVerdict(self.alarm, column, int(self._state.when[column]), self.probability)


def check_order(losses: Any, level: float = 0.01, *, seed: int) -> OrderVerdict:
    """Test whether the rows of a recorded table, or of a pool, are in random order as they are listed.

    >>> print(check_order(np.repeat([[0.0, 1.0], [1.0, 0.0]], 100, axis=0), seed=0))
    not in random order: column 0 shows it after ... values; by probability this happens with probability ...
    """
    table = np.asarray(getattr(losses, "losses", losses), np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or table.size == 0:
        _refuse("check-order", "a table of rows", f"shape {table.shape}")
    test = RandomOrderTest(table.shape[1], WATCHED * level, seed=seed)
    test.extend(table)
    return on_the_whole(test, table, level, seed=seed)


def on_the_whole(is_interactive: RandomOrderTest, table: Floats, level: float, *, seed: int) -> OrderVerdict:
    """Return the verdict on a whole table that was is_interactive at its share of the level: of the look too, if need be."""
    left = (1.0 - WATCHED) * _validate.real("check-order", "level", level, above=0, below=1)
    verdict = is_interactive.verdict()
    if verdict.refuted:
        return verdict._replace(probability=min(1.0, verdict.probability / WATCHED))
    probability, column = look(table, left, _validate.seed_sequence("check-order", seed).spawn(1)[0])
    if probability <= left:
        return OrderVerdict(refuted=True, column=column, values=len(table), probability=probability / (1.0 - WATCHED))
    return verdict._replace(probability=min(1.0, verdict.probability / WATCHED, probability / (1.0 - WATCHED)))


def _refuse(method: str, expected: str, came: str) -> None:
    raise ParameterError(
        f"RandomOrderTest: {method} expected {expected}, got {came}; rescale the values, and name the column of each."
    )


def _fresh(columns: int, goal: float) -> Ranks:
    return Ranks(
        tree=np.zeros((columns, BINS + 1)),
        counts=np.zeros(columns),
        last=np.zeros(columns),
        means=np.zeros((columns, len(GAMBLERS))),
        wealth=np.tile(GAMBLERS[:, 2], (columns, 1)),
        exponent=np.zeros(columns),
        record=np.zeros(columns),
        when=np.zeros(columns),
        shapes=np.zeros(len(BEST)),
        gamblers=GAMBLERS,
        goal=goal,
    )


def watch_one(memory: Floats, rng: RngState, column: int, value: float) -> None:
    """Take in one value."""
    bet(view(memory), column, rank(view(memory), column, value, uniform(rng)))  # noqa: F821 - bound by `compile_loop`


def watch(memory: Floats, rng: RngState, columns: Any, values: Floats) -> None:
    """Take in many values."""
    state = view(memory)  # noqa: F821 - bound by `compile_loop`
    for i in range(values.size):
        bet(state, columns[i], rank(state, columns[i], values[i], uniform(rng)))


def rank(state: Any, column: int, value: float, coin: float) -> float:
    """Return the rank of a value among those seen and itself, in (0, 1), ties broken by a coin; and count it."""
    place = 1 + int(value * (BINS - 1) + 0.5)
    below, upto = seen(state.tree[column], place - 1), seen(state.tree[column], place)
    state.counts[column] += 1.0
    j = place
    while j <= BINS:
        state.tree[column, j] += 1.0
        j += j & -j
    return float((below + coin * (upto - below + 1.0)) / state.counts[column])


def seen(tree: Floats, place: int) -> float:
    """Return how many values have been seen in the bins 1..place."""
    total = 0.0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


def bet(state: Any, column: int, ranked: float) -> None:
    """Let all gamblers of a column bet on a rank.

    In every round a share of the wealth is handed round, so that a late change is seen too.
    """
    wealth, means, gamblers, shapes = state.wealth[column], state.means[column], state.gamblers, state.shapes
    shape(shapes, ranked, state.last[column])
    before = 0.0
    for j in range(wealth.size):
        before += wealth[j]
    total, pace = 0.0, min(1.0, YOUNG / state.counts[column])
    jump = JUMP * pace
    for j in range(wealth.size):
        on, rate = int(gamblers[j, 0]), max(gamblers[j, 3] * pace, gamblers[j, 4])
        stake = gamblers[j, 1] if rate == 0.0 else min(max(BEST[on] * means[j], -BOLDEST[on]), BOLDEST[on])
        wealth[j] = ((1.0 - jump) * wealth[j] + jump * before * gamblers[j, 2]) * (1.0 + stake * shapes[on])
        means[j] = gamblers[j, 5] * (means[j] + rate * (shapes[on] - means[j]))
        total += wealth[j]
    state.last[column] = 1.0 if ranked > 0.5 else -1.0
    note(state, column, total)


def shape(shapes: Floats, ranked: float, last: float) -> None:
    """Write what a rank yields to those who bet on it; each has mean 0 if the rank is uniform, or less."""
    off = ranked - 0.5
    shapes[DRIFT] = off  # large, or small
    shapes[ECHO] = off * last  # on the side of the last one, or not
    shapes[SPREAD] = 12.0 * off * off - 1.0  # far from the middle, or near
    shapes[SMALL] = -math.log(max(ranked, 1e-12)) - 1.0  # very small
    shapes[LARGE] = -math.log(max(1.0 - ranked, 1e-12)) - 1.0  # very large
    shapes[UPPER] = (2.0 if ranked > 2.0 / 3.0 else -1.0) / 3.0  # in the upper third, or not: lists of few 1 and many 0
    shapes[LOWER] = (2.0 if ranked < 1.0 / 3.0 else -1.0) / 3.0  # in the lower third, or not


def note(state: Any, column: int, total: float) -> None:
    """Write down the record and the first alarm, and keep the numbers in range."""
    evidence = state.exponent[column] + math.log(max(total, 1e-300))
    state.record[column] = max(state.record[column], evidence)
    if state.when[column] == 0.0 and evidence >= state.goal:
        state.when[column] = state.counts[column]
    if total > HUGE:
        for j in range(state.wealth[column].size):
            state.wealth[column, j] /= total
        state.exponent[column] = evidence
