"""Sequential test of random order with a controlled false-alarm probability.

Conformal test martingales (Vovk, Gammerman and Shafer 2005): in random order, the rank of each
value among its predecessors, ties broken at random, is uniform and independent of the earlier
ranks. Several betting strategies bet against that; their total wealth ever reaches 1 / level with
probability at most `level` (Ville 1939). For a complete list, half of the level goes to this
martingale, which also names the row of the alarm, and half to one `permutation_test` of the whole
list.
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.engine.compiler import Kernel, compile_loop, expected_rounds
from tombola.engine.state_vector import flatten, unflattener
from tombola.errors import ParameterError
from tombola.evidence.base import indexed_values
from tombola.evidence.permutation_test import permutation_test
from tombola.rng import new_rng, uniform

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel

# Bins of [0, 1] by which values are ranked; values of one bin are ties. This bounds memory and time
# per value, and ranks of any function of the values are valid.
_N_BINS = 256
# Share of the wealth redistributed between the strategies per row, so that late changes are
# detected too.
_MIXING_RATE = 0.001
# Rows after which the mixing rate, and the learning rates without a lower bound, decay like 1 / n.
_WARMUP_ROWS = 2000.0
# Indices of the payoffs that a strategy can bet on: see `_payoffs`.
_DRIFT, _ECHO, _SPREAD, _SMALL, _LARGE, _UPPER, _LOWER = range(7)
# Strategies with a constant bet: payoff, bets (one strategy each), share of the initial wealth of
# each.
_FIXED_BETS = (
    (_ECHO, (0.5, -0.5), 0.025),
    (_SPREAD, (0.25, -0.25), 0.025),
    (_SMALL, (0.5,), 0.035),
    (_SMALL, (0.125,), 0.06),
    (_LARGE, (0.5,), 0.035),
    (_LARGE, (0.125,), 0.06),
)
# Strategies that bet on the running mean of a payoff: payoff, learning rate of the mean, lower
# bound of that rate, factor on the mean per row, share of the initial wealth.
_ADAPTIVE_BETS = (
    (_DRIFT, 0.003, 0.003, 1.0, 0.09),
    (_UPPER, 0.003, 0.003, 1.0, 0.04),
    (_LOWER, 0.003, 0.003, 1.0, 0.04),
    (_DRIFT, 0.003, 0.0, 1.0, 0.2),
    (_UPPER, 0.003, 0.0, 1.0, 0.08),
    (_LOWER, 0.003, 0.0, 1.0, 0.08),
    (_DRIFT, 0.02, 0.02, 1.0, 0.03),
    (_UPPER, 0.02, 0.02, 1.0, 0.03),
    (_LOWER, 0.02, 0.02, 1.0, 0.03),
    # The factor -1 bets that rows alternate.
    (_DRIFT, 0.01, 0.01, -1.0, 0.09),
)
# One row per strategy: payoff, fixed bet, share of the initial wealth, learning rate, its lower
# bound, factor.
_STRATEGIES = np.array(
    [
        [float(payoff), bet, share, 0.0, 0.0, 0.0]
        for payoff, bets, share in _FIXED_BETS
        for bet in bets
    ]
    + [
        [float(payoff), 0.0, share, rate, least, factor]
        for payoff, rate, least, factor, share in _ADAPTIVE_BETS
    ]
)
# Adaptive bet per mean, by payoff: 1 / variance of the payoff, growth-optimal for a small mean. 0:
# never adaptive.
_BET_PER_MEAN = (12.0, 0.0, 0.0, 0.0, 0.0, 4.5, 4.5)
# Largest adaptive bet, by payoff: 0.95 of the bet that could lose everything.
_MAX_BET = (1.9, 0.0, 0.0, 0.0, 0.0, 1.425, 1.425)
# The wealth is rescaled above this, long before a float64 overflows (1e308).
_RESCALE_WEALTH = 1e100
# Share of the level for the martingale if the permutation test of the whole list runs as well and
# gets the rest: half each, because neither is better for all lists.
MARTINGALE_SHARE = 0.5


class _MartingaleState(NamedTuple):
    """State of the test, one row per column of values."""

    tree: Floats  # Fenwick tree of the counts per bin
    counts: Floats  # values so far
    last: Floats  # side of the last rank, +1 or -1
    means: Floats  # running mean of the payoff of each strategy
    wealth: Floats  # wealth of each strategy, divided by exp(exponent)
    exponent: Floats
    max_log_wealth: Floats
    alarm_at: Floats  # the count at the first alarm; 0 before
    payoffs: Floats  # scratch space
    strategies: Floats
    threshold: float  # log wealth of an alarm


class OrderVerdict(NamedTuple):
    """Result of an order test.

    column: index of the column with the first alarm; without an alarm, with the strongest evidence.
    values: the number of values of that column at the alarm; 0 without an alarm.
    p_value: P(evidence as strong as this), at most, in random order.
    """

    refuted: bool
    column: int
    values: int
    p_value: float

    def __str__(self) -> str:
        if not self.refuted:
            return "no evidence against random order"
        return (
            f"not in random order: alarm in column {self.column} after {self.values} values, "
            "p-value "
            f"{self.p_value:.2g}; bounds for random order, intervals for sampling without "
            "replacement and certificates "
            "do not apply; bounds for any order (Hedge, Exp3) still do"
        )


class RandomOrderTest:
    """Test random order sequentially, for columns of values in [0, 1].

    In random order, an alarm is ever raised with probability at most `level`. A column is an
    action: add whole rows, or, with bandit feedback, the loss of the action played together with
    that action. The seed breaks ties between equal values at random.

    >>> test = RandomOrderTest(level=0.01, seed=0)
    >>> for t in range(200):
    ...     alarm = test.update(t / 200)
    >>> alarm, test.verdict().values < 100
    (True, True)
    """

    def __init__(self, columns: int = 1, level: float = 0.01, *, seed: int) -> None:
        self.columns = columns = _validate.integer("RandomOrderTest", "columns", columns, least=1)
        self.level = _validate.real("RandomOrderTest", "level", level, above=0, below=1)
        self._rng = new_rng(_validate.seed_sequence("RandomOrderTest", seed))
        state = _MartingaleState(
            tree=np.zeros((columns, _N_BINS + 1)),
            counts=np.zeros(columns),
            last=np.zeros(columns),
            means=np.zeros((columns, len(_STRATEGIES))),
            wealth=np.tile(_STRATEGIES[:, 2], (columns, 1)),
            exponent=np.zeros(columns),
            max_log_wealth=np.zeros(columns),
            alarm_at=np.zeros(columns),
            payoffs=np.zeros(len(_BET_PER_MEAN)),
            strategies=_STRATEGIES,
            threshold=math.log(self.columns / self.level),
        )
        self._memory = flatten(state, 0)
        self._view = unflattener(state)
        self._state = self._view(self._memory)

    @cached_property
    def _update_one(self) -> Kernel:
        return compile_loop(_update_one_value, (self._memory, self._rng, 0, 0.0), view=self._view)

    def update(self, x: Any, action: int | None = None) -> bool:
        """Add one value of a column, or one row; return whether an alarm was raised.

        x: in [0, 1]: the value of column `action`; without it, one value per column.
        """
        at = 0 if action is None else action
        # A value of the expected types needs no conversion: many times as fast as `extend`.
        exact = (
            isinstance(x, float) and type(at) is int and (action is not None or self.columns == 1)
        )
        if not (exact and 0.0 <= x <= 1.0 and 0 <= at < self.columns):
            return self.extend([x], None if action is None else [action])
        self._update_one(self._memory, self._rng, at, float(x))
        return self.alarm

    def extend(self, values: Any, actions: Any = None) -> bool:
        """Add rows, or values, in their order; return whether an alarm was raised.

        values: in [0, 1], shape (rows, columns); with `actions`, the column of each value, shape
            (n,).
        """
        columns, numbers = indexed_values("RandomOrderTest", values, actions, self.columns)
        arguments = (self._memory, self._rng, columns, numbers)
        with expected_rounds(numbers.size, actions=4):
            compile_loop(_update_many, arguments, view=self._view)(*arguments)
        return self.alarm

    @property
    def alarm(self) -> bool:
        """Whether random order was ever refuted at the level of the test; it stays True."""
        return bool((self._state.alarm_at > 0).any())

    @property
    def p_value(self) -> float:
        """The anytime-valid p-value of random order, over all columns; never 0."""
        # exp(-690) is near the smallest positive float: a p-value is never 0.
        return min(
            1.0, self.columns * math.exp(-min(float(self._state.max_log_wealth.max()), 690.0))
        )

    @property
    def evidence(self) -> Floats:
        """Natural log of the largest wealth of bets against random order, (columns,)."""
        return np.array(self._state.max_log_wealth)

    def verdict(self) -> OrderVerdict:
        """Return the result for the values so far: alarm, its column, and p-value."""
        alarm_at = np.where(self._state.alarm_at > 0, self._state.alarm_at, np.inf)
        column = int(np.argmin(alarm_at) if self.alarm else np.argmax(self._state.max_log_wealth))
        return OrderVerdict(self.alarm, column, int(self._state.alarm_at[column]), self.p_value)


def order_verdict(losses: Any, level: float = 0.01, *, seed: int) -> OrderVerdict:
    """Test whether the rows of a table or pool are in random order as listed.

    losses: a pool, or an array of values in [0, 1], shape (rows, columns) or (rows,). `level` is
        the probability of a false alarm; the seed is for ties and shuffles.

    >>> print(order_verdict(np.repeat([[0.0, 1.0], [1.0, 0.0]], 100, axis=0), seed=0))
    not in random order: alarm in column 0 after ... values, p-value ...
    """
    table = np.asarray(getattr(losses, "losses", losses), np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or table.size == 0:
        raise ParameterError(
            f"order_verdict: expected a table of rows, got shape {table.shape}; give one row at "
            "least."
        )
    test = RandomOrderTest(table.shape[1], MARTINGALE_SHARE * level, seed=seed)
    test.extend(table)
    return combined_verdict(test, table, level, seed=seed)


def combined_verdict(
    test: RandomOrderTest, table: Floats, level: float, *, seed: int
) -> OrderVerdict:
    """Return the verdict of a martingale test and a permutation test together.

    An alarm of the martingale, which has read all of `table` at level / 2, decides. Without one,
    the permutation test of the whole list runs, and its alarm decides. Each p-value is divided by
    its share of the level, so that the smaller one is valid (Bonferroni).

    table: values in [0, 1], shape (rows, columns). level: probability of a false alarm of both
        together.
    """
    rest = (1.0 - MARTINGALE_SHARE) * _validate.real(
        "order_verdict", "level", level, above=0, below=1
    )
    verdict = test.verdict()
    if verdict.refuted:
        return verdict._replace(p_value=min(1.0, verdict.p_value / MARTINGALE_SHARE))
    p_value, column = permutation_test(
        table, rest, _validate.seed_sequence("order_verdict", seed).spawn(1)[0]
    )
    if p_value <= rest:
        return OrderVerdict(
            refuted=True,
            column=column,
            values=len(table),
            p_value=p_value / (1.0 - MARTINGALE_SHARE),
        )
    return verdict._replace(
        p_value=min(1.0, verdict.p_value / MARTINGALE_SHARE, p_value / (1.0 - MARTINGALE_SHARE))
    )


def _update_one_value(memory: Floats, rng: RngState, column: int, value: float) -> None:
    """Update a state vector in place with one value of one column. Compiled."""
    _bet(view(memory), column, _rank(view(memory), column, value, uniform(rng)))  # noqa: F821 - bound by `compile_loop`


def _update_many(memory: Floats, rng: RngState, columns: Any, values: Floats) -> None:
    """Update a state vector in place with `values[i]` of `columns[i]`. Compiled."""
    state = view(memory)  # noqa: F821 - bound by `compile_loop`
    for i in range(values.size):
        _bet(state, columns[i], _rank(state, columns[i], values[i], uniform(rng)))


def _rank(state: Any, column: int, value: float, u: float) -> float:
    """Count a value and return its normalised rank among the values so far.

    It is in (0, 1), and uniform if the order is random; `u`, uniform in [0, 1), breaks ties.
    """
    place = 1 + int(value * (_N_BINS - 1) + 0.5)
    below = _count_upto(state.tree[column], place - 1)
    upto = _count_upto(state.tree[column], place)
    state.counts[column] += 1.0
    j = place
    while j <= _N_BINS:
        state.tree[column, j] += 1.0
        j += j & -j
    return float((below + u * (upto - below + 1.0)) / state.counts[column])


def _count_upto(tree: Floats, place: int) -> float:
    """Return the number of values in the bins 1..place."""
    total = 0.0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


def _bet(state: Any, column: int, ranked: float) -> None:
    """Update the wealth of all strategies of a column by one bet on a rank.

    Before each bet a share of the total wealth is redistributed, which keeps the total a
    martingale.
    """
    wealth = state.wealth[column]
    means = state.means[column]
    strategies = state.strategies
    outcome = state.payoffs
    _payoffs(outcome, ranked, state.last[column])
    before = 0.0
    for j in range(wealth.size):
        before += wealth[j]
    total = 0.0
    pace = min(1.0, _WARMUP_ROWS / state.counts[column])
    mixed = _MIXING_RATE * pace
    for j in range(wealth.size):
        on = int(strategies[j, 0])
        rate = max(strategies[j, 3] * pace, strategies[j, 4])
        size = (
            strategies[j, 1]
            if rate == 0.0
            else min(max(_BET_PER_MEAN[on] * means[j], -_MAX_BET[on]), _MAX_BET[on])
        )
        wealth[j] = ((1.0 - mixed) * wealth[j] + mixed * before * strategies[j, 2]) * (
            1.0 + size * outcome[on]
        )
        # After the bet: the bet on a rank must not depend on it.
        means[j] = strategies[j, 5] * (means[j] + rate * (outcome[on] - means[j]))
        total += wealth[j]
    state.last[column] = 1.0 if ranked > 0.5 else -1.0
    _record(state, column, total)


def _payoffs(outcome: Floats, ranked: float, last: float) -> None:
    """Write the payoff of each kind of bet, of mean <= 0 for a uniform rank.

    `last` is the side of the rank before, +1 above the median or -1; 0 at the start.
    """
    off = ranked - 0.5
    outcome[_DRIFT] = off  # values grow, or shrink
    outcome[_ECHO] = off * last  # on the same side as the last rank, or not
    outcome[_SPREAD] = 12.0 * off * off - 1.0  # far from the median, or close to it
    outcome[_SMALL] = -math.log(max(ranked, 1e-12)) - 1.0  # very small
    outcome[_LARGE] = -math.log(max(1.0 - ranked, 1e-12)) - 1.0  # very large
    outcome[_UPPER] = (
        2.0 if ranked > 2.0 / 3.0 else -1.0
    ) / 3.0  # in the upper third: for lists of few 1 and many 0
    outcome[_LOWER] = (2.0 if ranked < 1.0 / 3.0 else -1.0) / 3.0  # in the lower third


def _record(state: Any, column: int, total: float) -> None:
    """Update the largest wealth and the first alarm; rescale a huge wealth."""
    log_wealth = state.exponent[column] + math.log(max(total, 1e-300))
    state.max_log_wealth[column] = max(state.max_log_wealth[column], log_wealth)
    if state.alarm_at[column] == 0.0 and log_wealth >= state.threshold:
        state.alarm_at[column] = state.counts[column]
    if total > _RESCALE_WEALTH:
        for j in range(state.wealth[column].size):
            state.wealth[column, j] /= total
        state.exponent[column] = log_wealth
