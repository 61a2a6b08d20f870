"""Races on random answers: rows drawn with replacement (docs/theory/random_answers.md).

A candidate may answer the same row differently each time. If every round draws its row from the
whole list, independently of the past, and calls the candidates afresh, the difference of two losses
has the same mean in every round: the difference of the expected mean losses on this list. Rules for
an infinite population are then valid for these means (Theorem R1).

A prediction of the row from earlier rounds keeps this mean, if its own mean over the list is added
again. `FreshAnswers` predicts by the earlier answers to the row, by answers on file and by history.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.compiler import Kernel, compile_loop, expected_rounds
from tombola.evidence.regression import (
    FIT_ROUNDS,
    Fit,
    fit_deviations,
    fit_mean,
    new_fit,
    split_losses,
)
from tombola.racing.cell_predictions import AnsweredCells, CellPredictions
from tombola.racing.rules.base import Elimination
from tombola.racing.side_information import SideInformation
from tombola.rng import integers

# Rows that are drawn at a time.
_DRAWN_AT_A_TIME = 1024
# Rounds before the first fit, least number between two fits, and growth of their number: the
# predictions lag behind by at most a seventh of the rounds.
_FIRST_FIT = 6
_MIN_INTERVAL = 5
_FIT_GROWTH = 1.15
# Variance of one loss before any answer; that of a fair coin is twice as large.
_PRIOR_NOISE = 0.125
# Weight of the prediction from other rows, in answers to this row, until repeated answers show how
# large the noise is against the differences between rows.
_PRIOR_ANSWERS = 3.0
# Least number of repeated answers from which the noise is estimated, and range of that weight.
_MIN_REPEATS = 20
_ANSWER_LIMITS = (0.05, 50.0)
# Columns of numbers of a cell: number, sum and sum of squares of its earlier deviations, and sum of
# its losses.
_COUNT, _TOTAL, _SQUARES, _LOSSES = range(4)
_COLUMNS = 4


class DrawnRows(Sequence[int]):
    """Rows drawn uniformly with replacement, by position; they are drawn when needed.

    >>> from tombola.rng import RngStreams
    >>> drawn = DrawnRows(3, RngStreams(1).order())
    >>> len(drawn) > 10**9, drawn[5] == drawn[:6][5]
    (True, True)
    """

    def __init__(self, rows: int, rng: RngState) -> None:
        self._rows = rows
        self._rng = rng
        self._drawn: list[int] = []
        # How often the row of a position was drawn up to there, and each row up to the last one.
        self._runs: list[int] = []
        self._times = [0] * rows

    def run(self, position: int) -> int:
        """Return how often the row of a position is drawn up to and including it.

        >>> from tombola.rng import RngStreams
        >>> drawn = DrawnRows(1, RngStreams(1).order())
        >>> drawn.run(0), drawn.run(4)
        (1, 5)
        """
        self[position]
        return self._runs[position]

    def __len__(self) -> int:
        """Return a number larger than any race needs: there is always another row."""
        return 2**62

    @overload
    def __getitem__(self, position: int) -> int: ...
    @overload
    def __getitem__(self, position: slice) -> list[int]: ...
    def __getitem__(self, position: int | slice) -> int | list[int]:
        last = position.stop - 1 if isinstance(position, slice) else position
        while len(self._drawn) <= last:
            # The generator computes modulo 2^64, of which NumPy warns in plain Python.
            with np.errstate(over="ignore"):
                drawn = [int(integers(self._rng, self._rows)) for _ in range(_DRAWN_AT_A_TIME)]
            self._drawn += drawn
            for row in drawn:
                self._times[row] += 1
                self._runs.append(self._times[row])
        return self._drawn[position]


class RowsInPasses(Sequence[int]):
    """Rows of passes over one order of the list, by position.

    >>> passes = RowsInPasses([2, 0, 1], 4)
    >>> len(passes), passes[4], passes.run(4)
    (12, 0, 2)
    """

    def __init__(self, order: Sequence[int], passes: int) -> None:
        self._order = order
        self._passes = passes

    def run(self, position: int) -> int:
        """Return the pass of a position, from 1."""
        return 1 + position // len(self._order)

    def __len__(self) -> int:
        return self._passes * len(self._order)

    @overload
    def __getitem__(self, position: int) -> int: ...
    @overload
    def __getitem__(self, position: slice) -> list[int]: ...
    def __getitem__(self, position: int | slice) -> int | list[int]:
        if isinstance(position, slice):
            return [self[place] for place in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        return self._order[position % len(self._order)]


def next_fit(n: int) -> int:
    """Return the number of rounds at which to fit again, after a fit to n rounds.

    >>> next_fit(0), next_fit(6), next_fit(100)
    (6, 11, 114)
    """
    return max(_FIRST_FIT, n + _MIN_INTERVAL, int(n * _FIT_GROWTH))


class FreshAnswers:
    """Run an elimination rule on fresh answers to rows drawn with replacement.

    The rule must have an infinite population; it is reset, and then changed in place. `side` has
    answers on file, which serve as predictions only, and history, both of the whole list. Feed
    rounds by `update`. Rules that do not support predictions are run without them. After a fit to n
    rounds, `schedule(n)` is the number of rounds at which predictions are fitted again.

    What counts is the difference of two candidates, and the difficulty of a row is common to both.
    So the deviation from the mean of the round is predicted: by the earlier deviations on the row,
    shrunk to the one that history suggests.

    Only what was answered takes memory: 100 candidates on a million rows are as few as on a hundred.
    With history, or a whole column on file, the predictions of all rows differ, and take a table.

    predicted: (N, k) present predictions of the deviations, a function of the rounds so far.
    """

    predicted: CellPredictions | Floats

    def __init__(
        self, rule: Elimination, side: SideInformation, schedule: Callable[[int], int] = next_fit
    ) -> None:
        self.rule = rule
        self._schedule = schedule
        known = side.known
        rows, k = known.shape
        self._fit: Fit | None = None
        self._kernel: Kernel | None = None
        self._cells = AnsweredCells(k, _COLUMNS)
        self._rounds = 0
        self._next_fit = schedule(0)
        # Rows drawn so far, in the order of their first round.
        self._drawn: dict[int, None] = {}
        # Sums over the rounds of the residuals, deviation minus prediction, and of their products.
        self._residuals = np.zeros(k)
        self._products = np.zeros((k, k))
        nothing = np.zeros(k)
        self._list_rows = rows
        self._set_predictions(nothing, np.zeros(0))
        rule.reset()
        if rule.supports_predictions:
            rule.use_predictions()
            rule.state.prior_noise[:] = _PRIOR_NOISE
            history = side.history
            if side.n_known:
                # A whole column on file tells as much about the rows as history does.
                whole = known[:, ~np.isnan(known).any(axis=0)]
                history = np.hstack([history, whole])
                for row in np.flatnonzero((~np.isnan(known)).sum(axis=1) >= 2):
                    answered = np.flatnonzero(~np.isnan(known[row]))
                    self._add_deviations(int(row), known[row, answered], answered)
            if history.shape[1]:
                self._fit = new_fit(history, k)
            self._predict(nothing)

    def update(self, row: int, losses: Floats) -> None:
        """Process the answers of one round; `row` is the index that was drawn."""
        if not self.rule.supports_predictions:
            self.rule.update(losses)
            return
        state = self.rule.state
        active = np.flatnonzero(state.active > 0)
        # The mean over all rows of the list, drawn before or not: each may be the next one.
        offset = state.predicted_mean - self.predicted[row]
        state.offset[:] = offset
        self.rule.update(losses)
        state.predicted_seen[active] -= offset[active]
        self._rounds += 1
        self._drawn[row] = None
        places = self._cells.places(row, active)
        self._cells.values[places, _LOSSES] += losses[active]
        self._update_variance(self._add_deviations(row, losses[active], active), row, active)
        if self._rounds >= self._next_fit and not self.rule.done:
            self._next_fit = self._schedule(self._rounds)
            self._predict(self._prior())

    def _add_deviations(self, row: int, answers: Floats, answered: Any) -> Floats:
        """Add the deviations of the answers of some candidates to a row; return them."""
        deviations: Floats = answers - answers.mean()
        places = self._cells.places(row, answered)
        self._cells.values[places, _COUNT] += 1.0
        self._cells.values[places, _TOTAL] += deviations
        self._cells.values[places, _SQUARES] += deviations**2
        return deviations

    def _update_variance(self, deviations: Floats, row: int, active: Any) -> None:
        """Estimate the variance of d - g for all pairs, from predictions made beforehand."""
        residual = deviations - self.predicted[row][active]
        self._residuals[active] += residual
        self._products[np.ix_(active, active)] += np.outer(residual, residual)
        mean = self._residuals / self._rounds
        centred = self._products / self._rounds - np.outer(mean, mean)
        own = np.diag(centred)
        variance = np.maximum(own[:, None] + own[None, :] - 2.0 * centred, 0.0)
        self.rule.state.residual_variance[:] = variance
        self.rule.state.fitted_rows[0] = self._rounds

    def _prior(self) -> Floats:
        """Predict every deviation from other rows: by history, or the candidate's mean."""
        if self._fit is None:
            return self._cells.sums(_TOTAL) / np.maximum(self._cells.sums(_COUNT), 1.0)
        fit = self._fit
        prior = np.array(self.predicted)
        rows, k = prior.shape
        drawn = np.array(list(self._drawn))
        at = np.full(rows, -1)
        at[drawn] = np.arange(drawn.size)
        places, owners = np.divmod(self._cells.cells[: len(self._cells)], k)
        is_drawn = at[places] >= 0
        means = self._cells.column(_LOSSES) / np.maximum(self._cells.column(_COUNT), 1.0)
        fit.order[: drawn.size] = drawn
        fit.losses[: drawn.size] = 0.0
        fit.losses[at[places[is_drawn]], owners[is_drawn]] = means[is_drawn]
        active = self.rule.state.active
        arguments = (fit, drawn.size, active)
        if self._kernel is None:
            with expected_rounds(rows * FIT_ROUNDS, k):
                self._kernel = compile_loop(_fit_rows, arguments)
        self._kernel(*arguments)
        # The predicted mean of the row is common to all candidates and cancels.
        prior[:, active > 0] = fit.fits[:, : int(active.sum())]
        return prior

    def _predict(self, prior: Floats) -> None:
        """Set the predictions: means of the earlier deviations, shrunk to `prior`.

        prior: for each candidate, shape (k,), or for each cell, shape (N, k).
        """
        weight = self._prior_weight()
        rows, owners = np.divmod(self._cells.cells[: len(self._cells)], prior.shape[-1])
        at_cells = prior[owners] if prior.ndim == 1 else prior[rows, owners]
        total = weight * at_cells + self._cells.column(_TOTAL)
        table = self._set_predictions(prior, total / (weight + self._cells.column(_COUNT)))
        state = self.rule.state
        state.predicted_mean[:] = table.mean()
        active = np.flatnonzero(state.active > 0)
        largest = np.full((active.size, active.size), -math.inf)
        for block in table.blocks():
            predicted = block[:, active]
            for b in range(active.size):
                gaps = (predicted[:, [b]] - predicted).max(axis=0)
                largest[b] = np.maximum(largest[b], gaps)
        # A fresh answer can be anything, also where answers are on file.
        state.residual_low[np.ix_(active, active)] = -1.0 - largest

    def _set_predictions(self, base: Floats, values: Floats) -> CellPredictions:
        cells = self._cells.cells[: len(self._cells)].copy()
        table = CellPredictions(self._list_rows, base, cells, values)
        self.predicted = table
        return table

    def _prior_weight(self) -> float:
        """Return noise / differences between rows, as variances, from repeated answers."""
        counts = self._cells.column(_COUNT)
        totals = self._cells.column(_TOTAL)
        repeated = counts >= 2.0
        freedom = float((counts[repeated] - 1.0).sum())
        if freedom < _MIN_REPEATS:
            return _PRIOR_ANSWERS
        spread = self._cells.column(_SQUARES) - totals**2 / np.maximum(counts, 1.0)
        noise = float(spread[repeated].sum()) / freedom
        count = self._cells.sums(_COUNT)
        answered = count > 1.0
        mean = self._cells.sums(_TOTAL)[answered] / count[answered]
        whole = self._cells.sums(_SQUARES)[answered] / count[answered] - mean**2
        between = max(float(np.mean(whole)) - noise, 0.0)
        low, high = _ANSWER_LIMITS
        return float(np.clip(noise / between, low, high)) if between > 0.0 else high


def _fit_rows(fit: Fit, n: int, active: Floats) -> None:
    """Fit the losses of the active candidates to the n rows drawn so far; a kernel."""
    count = 0
    for a in range(active.size):
        if active[a] > 0.0:
            fit.fitted[count] = a
            count += 1
    split_losses(fit.losses, fit.fitted, fit.mean_targets, fit.targets, n, count)
    fit_mean(fit, n)
    fit_deviations(fit, n, count)
