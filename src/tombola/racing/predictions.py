"""Predictions of losses from history, for races (docs/theory/race.md, section 9).

The predictions are refitted at growing intervals from counted rows. Between two fits they are one
fixed function of the row. `InformedRule` keeps the sums over the rows left, which adjusted losses
need.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.engine.compiler import Kernel, compile_loop, expected_rounds
from tombola.engine.intrinsics import no_inline
from tombola.errors import ParameterError
from tombola.evidence.regression import (
    FIT_ROUNDS,
    Fit,
    dot,
    fit_deviations,
    fit_mean,
    initial_prediction,
    new_fit,
    next_fit,
    split_losses,
)
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.bets import MIN_VARIANCE, PRIOR_ROWS, largest_growth, shrunk_edge
from tombola.racing.side_information import SideInformation

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    step: Kernel
    settle: Kernel

# Ceilings of the predictions that are tried, as shares of the largest prediction.
_CEILINGS = (1.0, 0.5, 0.25, 0.125)
# Rows of the list on which ceilings are compared, about.
_COMPARED_ROWS = 256


class _RowSums(NamedTuple):
    """Known losses and predictions of N rows and k candidates, and their sums.

    `unknown` and `predicted` are stored by columns: loops over rows are vectorised.
    """

    known: Floats  # (N, k) known losses, 0 where unknown
    unknown: Floats  # (N, k) 1 where the answer is not on file
    predicted: Floats  # (N, k) present predictions, or known losses; one row if there is no history
    left: Floats  # (N,) 1 while a row is not counted
    known_left: Floats  # (k,) sum of the known losses over the rows left
    n_known_left: Floats  # (k,) and their number
    predicted_left: Floats  # (k,) sum of the present predictions over the rows left
    predicted_seen: Floats  # (k,) and over those counted


class InformedRule:
    """Run an elimination rule with answers on file and history.

    `side` has these tables. Whole known columns count as history, too. Feed rows by `update`, or a
    whole table by `play`; `rule` is reset, and then changed in place. With history, it also bets on
    adjusted losses: the loss minus its prediction from history, plus the mean prediction of the
    rows left. After a fit to n rows, `schedule(n)` is the number of rows at which predictions are
    fitted again.
    """

    def __init__(
        self, rule: Elimination, side: SideInformation, schedule: Callable[[int], int] = next_fit
    ) -> None:
        self.rule = rule
        self._side = side
        self._schedule = schedule
        self.fit: Fit | None = None
        # Whether a column has an unknown answer.
        self._is_unknown = np.isnan(side.known).any(axis=0)
        # Whole known columns tell as much about the rows as history does.
        whole = side.known[:, ~self._is_unknown]
        has_history = side.history.shape[1] > 0
        if has_history:
            _check_history(rule)
        is_known = whole.shape[1] > 0 and self._is_unknown.any() and _can_predict(rule)
        if has_history or is_known:
            self.fit = new_fit(np.hstack([side.history, whole]), rule.candidates)
            rule.use_predictions(moves_stakes=not has_history)
        self._losses = np.zeros(rule.candidates)
        self._kernels: dict[Any, Kernel] = {}
        self._initial = _new_sums(side, self.fit)
        self._initial_low = np.zeros(0)
        self.reset()

    def reset(self) -> None:
        """Set this object and its `rule` back to the state before the first row."""
        self.rule.reset()
        # `known` and `unknown` never change.
        self.sums = _RowSums(*self._initial[:2], *(field.copy("K") for field in self._initial[2:]))
        self._next_fit = self._schedule(0) if self.fit is not None else self.rule.rows
        if self.fit is not None:
            state = self.rule.state
            if not self._initial_low.size:
                arguments = (
                    self.sums.predicted,
                    self.sums.unknown,
                    self.sums.left,
                    state.active,
                    self.fit.targets,
                    self.fit.fits,
                    state.residual_low,
                )
                with expected_rounds(self.rule.rows * self.rule.candidates, self.rule.candidates):
                    self._kernel("bound", _bound_residuals, arguments)(*arguments)
                self._initial_low = state.residual_low.copy()
            state.residual_low[:] = self._initial_low
            state.prior_noise[:] = self.fit.noise * self._is_unknown
        self._settle()

    def _settle(self) -> None:
        """Draw the conclusions that answers on file make certain before the first row."""
        state = self.rule.state
        k = self.rule.candidates
        state.known_loss[:] = self.sums.known_left
        state.known_gain[:] = self.sums.n_known_left - self.sums.known_left
        if self.sums.n_known_left.any():
            arguments = (self.rule.memory,)
            with expected_rounds(k, k):
                settle = self._kernel("settle", _settle, arguments, **self.rule.settle_kernels)
            settle(*arguments)

    def update(self, row: int, losses: Floats) -> None:
        """Process the losses of the next row; `row` is its index in the side tables."""
        with expected_rounds(self.rule.rows, len(self.rule.state.wealth)):
            arguments = (self.rule.memory, self.sums, row, losses)
            self._kernel("update", _update_row, arguments, **self.rule.kernels)(*arguments)
        self.count(np.array([row]), losses[None], self.rule.rows_seen)

    def play(self, table: Rows, order: Order) -> int:
        """Run a whole race on a table; return the number of calls.

        Parameters as of `Elimination.play`; answers on file are not calls.
        """
        self.reset()
        rows = table.view()
        calls = 0
        # Pools are read-only. A writeable array has another type and would be compiled again.
        rows.flags.writeable = False
        while self.rule.rows_seen < order.size and not self.rule.done:
            seen = self.rule.rows_seen
            arguments = (
                self.rule.memory,
                self.sums,
                rows,
                order[seen : self._next_fit],
                self._losses,
            )
            calls += int(
                self._kernel(rows.dtype, _play_rows, arguments, **self.rule.kernels)(*arguments)
            )
            counted = order[seen : self.rule.rows_seen]
            self.count(counted, rows[counted], self.rule.rows_seen)
        return calls

    def count(self, rows: Any, losses: Rows, n: int) -> None:
        """Store rows that `rule` has processed; refit the predictions when due.

        rows, losses: indices in the side tables, and losses of shape (rows, k). n: all rows
            processed so far.
        """
        if self.fit is None:
            return
        self.fit.order[n - len(rows) : n] = rows
        self.fit.losses[n - len(rows) : n] = losses
        if self._next_fit <= n < self.rule.rows and not self.rule.done:
            self._next_fit = self._schedule(n)
            state = self.rule.state
            arguments = (
                self.fit,
                self.sums,
                n,
                state.active,
                state.total_loss,
                state.opponent,
                state.residual_low,
                state.residual_variance,
            )
            with expected_rounds(self.rule.rows * FIT_ROUNDS, len(state.wealth)):
                self._kernel("fit", _refit, arguments)(*arguments)
            state.fitted_rows[0] = n

    def _kernel(
        self, key: Any, function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel
    ) -> Kernel:
        if key not in self._kernels:
            self._kernels[key] = compile_loop(function, arguments, **kernels)
        return self._kernels[key]


def _new_sums(side: SideInformation, fit: Fit | None) -> _RowSums:
    """Return the sums before the first row."""
    is_known = ~np.isnan(side.known)
    known = np.where(is_known, side.known, 0.0)
    predicted = np.zeros((1, side.known.shape[1]))
    if fit is not None:
        predicted = np.where(is_known, known, initial_prediction(fit)[:, None])
    return _RowSums(
        known=known,
        unknown=np.asfortranarray(~is_known, float),
        predicted=np.asfortranarray(predicted),
        left=np.ones(len(known)),
        known_left=known.sum(axis=0),
        n_known_left=is_known.sum(axis=0).astype(float),
        predicted_left=predicted.sum(axis=0),
        predicted_seen=np.zeros(known.shape[1]),
    )


def _settle(memory: Floats) -> None:
    """Draw the conclusions that are certain before the first row.

    Compiled for each rule.
    """
    settle(view(memory))  # noqa: F821


def _update_row(memory: Floats, sums: _RowSums, row: int, losses: Floats) -> None:
    """Process one row of a race with side information. Compiled for each rule."""
    state = view(memory)  # noqa: F821
    _begin_row(sums, state, row)
    step(state, losses)  # noqa: F821


def _play_rows(memory: Floats, sums: _RowSums, table: Rows, order: Order, losses: Floats) -> int:
    """Process rows until the race is over; return the calls. Compiled for each rule."""
    state, calls = view(memory), 0  # noqa: F821
    for i in range(order.size):
        if state.done[0] > 0.0:
            break
        row = int(order[i])
        for a in range(losses.size):
            if state.active[a] > 0.0:
                losses[a] = table[row, a]
                calls += sums.unknown[row, a] > 0.0
        _begin_row(sums, state, row)
        step(state, losses)  # noqa: F821
    return calls


def _begin_row(sums: Any, state: Any, row: int) -> None:
    """Remove a row from the sums over the rows left; write them into a rule's state."""
    for a in range(state.active.size):
        if sums.unknown[row, a] == 0.0:
            sums.known_left[a] -= sums.known[row, a]
            sums.n_known_left[a] -= 1.0
        state.known_loss[a] = sums.known_left[a]
        state.known_gain[a] = sums.n_known_left[a] - sums.known_left[a]
    _adjust_row(sums, state, state.offset, row)
    sums.left[row] = 0.0


@no_inline
def _adjust_row(sums: Any, state: Any, offset: Any, row: int) -> None:
    """Write the adjustment of a row into a rule's state; nothing without predictions.

    offset: `state.offset`; None without predictions, and Numba then leaves out the body.
    """
    if offset is None:
        return
    left = state.rows - state.rows_seen[0]
    for a in range(offset.size):
        predicted = sums.predicted[row, a]
        # The mean over exactly the rows left, this one included: any other makes the adjusted loss
        # biased.
        state.predicted_mean[a] = sums.predicted_left[a] / left
        offset[a] = state.predicted_mean[a] - predicted
        state.predicted_seen[a] = sums.predicted_seen[a]
        sums.predicted_left[a] -= predicted
        sums.predicted_seen[a] += predicted


def _refit(
    fit: Fit,
    sums: _RowSums,
    n: int,
    active: Any,
    total_loss: Any,
    opponent: Any,
    residual_low: Any,
    residual_variance: Any,
) -> None:
    """Fit the predictions of the active candidates to the n counted rows."""
    count = 0
    for a in range(active.size):
        if active[a] > 0.0:
            fit.fitted[count] = a
            count += 1
    split_losses(fit.losses, fit.fitted, fit.mean_targets, fit.targets, n, count)
    fit_mean(fit, n)
    fit_deviations(fit, n, count)
    for c in range(count):
        o = int(opponent[int(fit.fitted[c])])
        fit.ceilings[c] = 1.0
        if o >= 0 and active[o] > 0.0 and sums.n_known_left[o] >= sums.left.size - n:
            total = total_loss[int(fit.fitted[c])]
            fit.ceilings[c] = _best_ceiling(
                fit, sums.left, total, total_loss[o] + sums.known_left[o], n, c
            )
    _set_predictions(
        sums.predicted, sums.unknown, fit.fitted, fit.mean_fits, fit.fits, fit.ceilings, count
    )
    _sum_predictions(
        sums.predicted, sums.left, fit.order, sums.predicted_left, sums.predicted_seen, n
    )
    _bound_residuals(
        sums.predicted, sums.unknown, sums.left, active, fit.targets, fit.fits, residual_low
    )
    _gather_errors(
        sums.unknown,
        fit.order,
        fit.losses,
        fit.fitted,
        fit.mean_errors,
        fit.errors,
        fit.ceilings,
        fit.fits,
        n,
        count,
    )
    _estimate_variances(fit.fits, active, residual_variance, n)


def _best_ceiling(fit: Any, left: Any, total: float, known_total: float, n: int, c: int) -> float:
    """Return the ceiling of the predictions of candidate c against a known opponent.

    The largest prediction bounds the bets there: a low ceiling allows large bets, a high one leaves
    less variance. The choice has the largest expected growth of the wealth. `total` is the loss on
    the n counted rows, `known_total` that of the opponent on the list.
    """
    rows = left.size
    a = int(fit.fitted[c])
    largest = 0.0
    best = -math.inf
    ceiling = 1.0
    step = 1 + rows // _COMPARED_ROWS
    for row in range(0, rows, step):
        largest = max(largest, left[row] * (fit.mean_fits[row, 0] + fit.fits[row, c]))
    gain = rows / (rows - n)
    for j in range(len(_CEILINGS)):
        limit = _CEILINGS[j] * min(largest, 1.0)
        mean = 0.0
        square = 0.0
        predicted = 0.0
        compared = 0.0
        for i in range(n):
            loss = fit.losses[i, a]
            error = loss - min(max(loss - fit.mean_errors[i, 0] - fit.errors[i, c], 0.0), limit)
            mean += error / n
            square += error * error / n
        for row in range(0, rows, step):
            predicted += left[row] * min(max(fit.mean_fits[row, 0] + fit.fits[row, c], 0.0), limit)
            compared += left[row]
        variance = max(square - mean * mean, MIN_VARIANCE)
        edge = gain * shrunk_edge(
            gain * (total - n * known_total / rows), gain * n + PRIOR_ROWS, variance
        )
        reach = limit - predicted / max(compared, 1.0) + (known_total - total) / (rows - n)
        growth = largest_growth(edge, variance, reach)
        if growth > best:
            best = growth
            ceiling = limit
    return ceiling


@no_inline
def _set_predictions(
    predicted: Any, unknown: Any, fitted: Any, mean_fits: Any, fits: Any, ceilings: Any, count: int
) -> None:
    """Write predicted losses between 0 and a ceiling where the answer is not on file."""
    mean = mean_fits[:, 0]
    for c in range(count):
        a = int(fitted[c])
        ceiling = ceilings[c]
        result = predicted[:, a]
        is_unknown = unknown[:, a]
        deviation = fits[:, c]
        for row in range(mean.size):
            value = min(max(mean[row] + deviation[row], 0.0), ceiling)
            result[row] = value if is_unknown[row] > 0.0 else result[row]


@no_inline
def _sum_predictions(
    predicted: Any, left: Any, order: Any, predicted_left: Any, predicted_seen: Any, n: int
) -> None:
    """Sum the present predictions over the rows left, and over the n counted ones."""
    for a in range(predicted_left.size):
        column = predicted[:, a]
        total = 0.0
        for i in range(n):
            total += column[int(order[i])]
        predicted_left[a] = dot(column, left, left.size)
        predicted_seen[a] = total


@no_inline
def _bound_residuals(
    predicted: Any, unknown: Any, left: Any, active: Any, least: Any, most: Any, residual_low: Any
) -> None:
    """Write the smallest possible d - g over the rows left, for all pairs.

    d is the difference of the losses of two active candidates, g the predicted one. A minimum over
    the rows left now also bounds the rows left later; the means are always fresh. Values of dropped
    opponents are not used.
    """
    k = active.size
    rows = left.size
    for a in range(k):
        if active[a] > 0.0:
            # Unknown losses of b are at least 0, those of o at most 1; known ones are as predicted.
            low = least[:, a]
            high = most[:, a]
            column = predicted[:, a]
            is_unknown = unknown[:, a]
            for row in range(rows):
                low[row] = -is_unknown[row] * column[row] if left[row] > 0.0 else math.inf
                high[row] = is_unknown[row] * (1.0 - column[row])
    for b in range(k):
        for o in range(k):
            if b != o and active[b] > 0.0 and active[o] > 0.0:
                residual_low[b, o] = _smallest_difference(least[:, b], most[:, o])


@no_inline
def _smallest_difference(minuend: Any, two: Any) -> float:
    """Return the minimum of one - two; four partial minima, so that it is vectorised."""
    n = minuend.size
    a = math.inf
    b = math.inf
    c = math.inf
    d = math.inf
    for i in range(0, n - 3, 4):
        p = minuend[i] - two[i]
        q = minuend[i + 1] - two[i + 1]
        r = minuend[i + 2] - two[i + 2]
        s = minuend[i + 3] - two[i + 3]
        a = p if p < a else a
        b = q if q < b else b
        c = r if r < c else c
        d = s if s < d else d
    for i in range(n - n % 4, n):
        a = min(a, minuend[i] - two[i])
    return min(min(a, b), min(c, d))


@no_inline
def _gather_errors(
    unknown: Any,
    order: Any,
    losses: Any,
    fitted: Any,
    mean_errors: Any,
    errors: Any,
    ceilings: Any,
    gathered: Any,
    n: int,
    count: int,
) -> None:
    """Write leave-one-out errors on n rows to `gathered`; 0 for answers on file."""
    for c in range(count):
        a = int(fitted[c])
        for i in range(n):
            predicted = min(max(losses[i, a] - mean_errors[i, 0] - errors[i, c], 0.0), ceilings[c])
            gathered[i, a] = unknown[int(order[i]), a] * (losses[i, a] - predicted)


@no_inline
def _estimate_variances(errors: Any, active: Any, residual_variance: Any, n: int) -> None:
    """Write the variance of d - g for all pairs, by leave-one-out errors."""
    k = active.size
    for b in range(k):
        if active[b] > 0.0:
            residual_variance[b, b] = dot(errors[:, b], errors[:, b], n) / n
            for o in range(b):
                if active[o] > 0.0:
                    both = residual_variance[b, b] + residual_variance[o, o]
                    residual_variance[b, o] = max(
                        both - 2.0 * dot(errors[:, b], errors[:, o], n) / n, 0.0
                    )
                    residual_variance[o, b] = residual_variance[b, o]


def _can_predict(rule: Elimination) -> bool:
    """Return whether the question is about this list, and not about ranks."""
    return rule.population != math.inf and rule.supports_predictions


def _check_history(rule: Elimination) -> None:
    """Raise unless the rule can use history."""
    if not _can_predict(rule):
        reason = "reading='beyond'" if rule.population == math.inf else "this question"
        raise ParameterError(
            "Race: history must come with a question about this list that uses it, got "
            f"{reason}; leave history out."
        )
