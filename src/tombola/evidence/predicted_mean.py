"""Confidence sequence for one mean, with predictions from history.

docs/theory/race.md, section 9.

The i-th value x of row r is replaced by y = x - g(r) + mean of g over the rows left, where g is a
prediction that is known before the row is drawn. y has the conditional mean of x and a smaller
variance. Against "the mean is at most m" bets 1 + bet (y - m_i) are allowed up to 1 / (m_i - low),
low = mean of g - largest g over the rows left; against "at least m" the mirror image holds with
high = mean of g + 1 - smallest g.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tombola import _validate
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.errors import ParameterError
from tombola.evidence.base import Interval
from tombola.evidence.betting import (
    FIXED_GAPS,
    MAX_LOSS,
    MIN_GAP,
    PRIOR_ROWS,
    REACH,
    STRATEGY_WEIGHTS,
)
from tombola.evidence.regression import (
    FIT_ROUNDS,
    fit_mean,
    initial_prediction,
    new_fit,
    next_fit,
)

# Steps of the default grid of hypothesised means: bounds are multiples of 1 / GRID_STEPS, or
# certain.
_GRID_STEPS = 2000
# Initial wealth on the values, and on the adjusted values (value minus prediction plus mean
# prediction of the rows left): useless history costs a factor of at most 5.
_STAKES = (0.2, 0.8)
# Pseudo-rows of the variance that history suggests for adjusted values.
_PRIOR_FITTED = 2.0
# Least divisor in the cap of a bet, the distance from the hypothesised mean to the lower end: keeps
# bets finite.
_MIN_REACH = 1e-3
# Betting stops at this wealth, long before a float64 overflows (1e308).
_MAX_WEALTH = 1e100
# Tolerance for rounding errors of a mean: a hypothesis counts as impossible only if the values
# exceed it by more.
_ROUNDING = 1e-9


class PredictedMean:
    """Confidence sequence for the mean of a list whose rows have a history.

    Add the values of rows in random order by `update`; `interval` has the result.

    history: numbers known of every row before the order is drawn, such as losses of other
        candidates, shape (rows, h).
    level: the interval ever misses the mean with probability at most this.
    points: hypothesised means in [0, 1], sorted; None: a grid of steps 1 / 2000.
    schedule: after a fit to n rows, the number of rows at which predictions are fitted again.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old = rng.random((500, 3))
    >>> new = old.mean(axis=1)
    >>> sequence = PredictedMean(old)
    >>> for row in rng.permutation(500)[:100]:
    ...     sequence.update(row, new[row])
    >>> sequence.interval().width < 0.07  # without history .08
    True
    """

    def __init__(
        self,
        history: Any,
        level: float = 0.05,
        points: Sequence[float] | None = None,
        schedule: Callable[[int], int] = next_fit,
    ) -> None:
        table = np.array(history, float)
        if table.ndim != 2 or not table.size or not np.isfinite(table).all():
            raise ParameterError(
                "PredictedMean: history must be a table of numbers, rows x columns, got shape "
                f"{table.shape}, or NaN; "
                "correct the table."
            )
        self.level = _validate.real("PredictedMean", "level", level, above=0, below=1)
        grid = (
            np.arange(_GRID_STEPS + 1) / _GRID_STEPS if points is None else np.array(points, float)
        )
        # Row 0: against "at most m". Row 1: against "at least m", as "1 - x is at most 1 - m",
        # sorted again.
        self._points = np.stack([grid, 1.0 - grid[::-1]])
        self._wealth = np.ones((2, 2, len(STRATEGY_WEIGHTS), grid.size))
        self.max_wealth = np.ones(self._points.shape)
        self.population = len(table)
        self.count = 0
        self.total = 0.0
        self._squares = 0.25
        self._residual_variance = 0.0
        self._left = np.ones(len(table), bool)
        self._schedule = schedule
        self._next_fit = schedule(0)
        self._fitted_rows = 0
        self._fit: Any = new_fit(table, 1)
        self._predicted = initial_prediction(self._fit)
        self._kernel: Any = None

    def update(self, row: int, value: float) -> None:
        """Add the value, in [0, 1], of a row; ParameterError if it was added before.

        row: index in the history.
        """
        if not (0 <= row < self.population and self._left[row]):
            raise ParameterError(
                f"PredictedMean.update: row must be one of {self.population} rows, each once, "
                f"got {row}; skip it."
            )
        value = _validate.real("PredictedMean.update", "value", value, least=0, most=1)
        self._bet(row, value)
        error = value - (0.5 + self.total) / (1.0 + self.count)
        self._squares += error * error
        self._fit.order[self.count] = row
        self._fit.mean_targets[self.count, 0] = value
        self._left[row] = False
        self.count = self.count + 1
        self.total = self.total + value
        self._reject_impossible()
        if self.count >= self._next_fit and self.count < self.population:
            self._next_fit = self._schedule(self.count)
            self._refit()

    @property
    def threshold(self) -> float:
        """Wealth that rejects a mean: each of the two sides has half of the level."""
        return 2.0 / self.level

    @property
    def wealth(self) -> Any:
        """Present wealth against "at most m" and "at least m", shape (2, points).

        The second row is for 1 - m, sorted again. It starts at 1.
        """
        shares = np.multiply.outer(_STAKES, STRATEGY_WEIGHTS)
        return np.sum(shares[:, :, None] * self._wealth, axis=(1, 2))

    def interval(self) -> Interval:
        """Return the present confidence interval for the mean of the whole list."""
        low, high = (
            self.total / self.population,
            (self.total + self.population - self.count) / self.population,
        )
        return Interval(max(self._floor(0), low), min(1.0 - self._floor(1), high))

    def _floor(self, side: int) -> float:
        """Return the largest mean up to which all hypotheses are rejected.

        Only consecutive rejections count, so the interval errs only if the hypothesis next to the
        mean is rejected.
        """
        rejected = self.max_wealth[side] >= self.threshold
        count = int(rejected.size if rejected.all() else rejected.argmin())
        return float(self._points[side, count - 1]) if count else 0.0

    def _bet(self, row: int, x: float) -> None:
        n = self.count
        left = self.population - self.count
        g = self._predicted
        g_left = g[self._left]
        g_mean = float(g_left.sum()) / left
        g_seen = float(g.sum() - g_left.sum())
        y = x - g[row] + g_mean
        low = g_mean - float(g_left.max())
        high = g_mean + 1.0 - float(g_left.min())
        estimate = (0.5 + self.total) / (1.0 + n)
        # Regression estimate: mean residual so far, and mean prediction of the whole list.
        regression = (self.total - g_seen) / max(n, 1) + float(g.sum()) / self.population
        variance = self._squares / (1.0 + n)
        fitted = self._fitted_rows
        residual = (_PRIOR_FITTED * self._fit.noise + fitted * self._residual_variance) / (
            _PRIOR_FITTED + fitted
        )
        for side in range(2):
            kinds = (
                (x, 0.0, estimate, variance),
                (y, low if side == 0 else 1.0 - high, regression, residual),
            )
            for kind, (number, least, mean, spread) in enumerate(kinds):
                if side == 0:
                    self._update(0, kind, number, least, self.total, mean, spread)
                else:
                    self._update(1, kind, 1.0 - number, least, n - self.total, 1.0 - mean, spread)
        self.max_wealth = np.maximum(self.max_wealth, self.wealth)

    def _update(
        self,
        side: int,
        kind: int,
        value: float,
        low: float,
        total: float,
        estimate: float,
        variance: float,
    ) -> None:
        """Update four strategies against "the mean is at most m", for all m; value >= low."""
        n = self.count
        means = self._points[side]
        wealth = self._wealth[side, kind]
        left = self.population - n
        gain = self.population / left
        m = (self.population * means - total) / left
        cap = MAX_LOSS / np.maximum(m - low, _MIN_REACH)
        deviation = math.sqrt(variance)
        gap = np.maximum(
            (estimate - means) * n, MIN_GAP * deviation * math.sqrt(PRIOR_ROWS * (PRIOR_ROWS + n))
        )
        gap /= PRIOR_ROWS + n
        # Means far above the estimate are not bet against: such bets lose.
        is_bet = (means <= estimate + REACH * deviation / math.sqrt(1.0 + n)) & (
            wealth.max(axis=0) < _MAX_WEALTH
        )
        for j in range(len(wealth)):
            size = gain * (
                gap / (variance + gap * gap) if j == 0 else FIXED_GAPS[j - 1] / deviation
            )
            wealth[j] *= 1.0 + np.where(is_bet, np.minimum(size, cap), 0.0) * (value - m)

    def _reject_impossible(self) -> None:
        """Reject the means that no values of the rows left can give."""
        for side, total in enumerate((self.total, self.count - self.total)):
            self.max_wealth[side, self._points[side] < total / self.population - _ROUNDING] = (
                math.inf
            )

    def _refit(self) -> None:
        n = self.count
        if self._kernel is None:
            with expected_rounds(self.population * FIT_ROUNDS, 1):
                self._kernel = compile_loop(fit_mean, (self._fit, n))
        self._kernel(self._fit, n)
        self._predicted = np.clip(self._fit.mean_fits[:, 0], 0.0, 1.0)
        self._fitted_rows, self._residual_variance = (
            n,
            float((self._fit.mean_errors[:n, 0] ** 2).sum() / n),
        )
