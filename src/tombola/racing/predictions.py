"""Predictions of losses from history, for races with side information.

docs/theory/race.md, section 9.

The predictions are refitted at growing intervals from counted rows. Between two fits they are one fixed function of the
row. `InformedRule` keeps the sums over the rows left, which adjusted losses need.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats, Order, Rows
from tombola.confidence.regression import (
    FIT_ROUNDS,
    Fit,
    fit_deviations,
    fit_mean,
    initial_prediction,
    limit_deviations,
    new_fit,
    next_fit,
    split_losses,
)
from tombola.engine.compiler import Kernel, compile_loop, expected_rounds
from tombola.engine.intrinsics import no_inline
from tombola.errors import ParameterError
from tombola.racing.known import SideInformation
from tombola.racing.rules.elimination import Elimination

if TYPE_CHECKING:  # bound by `compile_loop`
    view: Kernel
    step: Kernel


class _RowSums(NamedTuple):
    """Known losses and predictions, and their sums over the rows left.

    N rows, k candidates.

    known, unknown     (N, k) known losses, 0 where unknown; 1 where the answer is not on file
    predicted          (N, k) present predictions; the known loss where it is known. One row if there is no history
    left               (N,) 1 while a row is not counted
    known_left, n_known_left         (k,) sum and number of the known losses over the rows left
    predicted_left, predicted_seen   (k,) sums of the present predictions over the rows left, and over those counted
    """

    known: Floats
    unknown: Floats
    predicted: Floats
    left: Floats
    known_left: Floats
    n_known_left: Floats
    predicted_left: Floats
    predicted_seen: Floats


class InformedRule:
    """An elimination rule that uses answers on file and history.

    Feed rows by `update`, or a whole table by `play`. The answer is in `rule`.

    rule: an elimination rule; with history it also bets on adjusted losses, and is reset.
    side: answers on file and history of the rows.
    schedule: after a fit to n rows, `schedule(n)` is the number of rows at which predictions are fitted again.

    >>> from tombola.racing.rules.best import Best
    >>> rule = Best(candidates=2, rows=100, population=100, level=0.05)
    >>> table = np.array([[0.0, 1.0]] * 100)
    >>> side = SideInformation.of(["a", "b"], [str(row) for row in range(100)], {"a": table[:, 0]})
    >>> InformedRule(rule, side).play(table, np.arange(100, dtype=np.uint32)) == rule.rows_seen
    True
    """

    def __init__(self, rule: Elimination, side: SideInformation, schedule: Callable[[int], int] = next_fit) -> None:
        self.rule, self._side, self._schedule = rule, side, schedule
        self.fit: Fit | None = None
        if side.history.shape[1]:
            _check_history(rule)
            # Whole known columns tell as much about the rows as history does.
            whole = side.known[:, ~np.isnan(side.known).any(axis=0)]
            self.fit = new_fit(np.hstack([side.history, whole]), rule.candidates)
            rule.use_predictions()
        self._losses = np.zeros(rule.candidates)
        self._kernels: dict[Any, Kernel] = {}
        self._initial_low: Floats | None = None
        self.reset()

    def reset(self) -> None:
        """Return to the state before the first row; reset the wrapped `rule`, too."""
        self.rule.reset()
        self.sums = _new_sums(self._side, self.fit)
        self._next_fit = self._schedule(0) if self.fit is not None else self.rule.rows
        if self.fit is not None:
            state = self.rule.state
            if self._initial_low is None:
                arguments = (self.sums.predicted, self.sums.unknown, self.sums.left, state.active, state.residual_low)
                with expected_rounds(self.rule.rows * self.rule.candidates, self.rule.candidates):
                    self._kernel("bound", _bound_residuals, arguments)(*arguments)
                self._initial_low = state.residual_low.copy()
            state.residual_low[:] = self._initial_low

    def update(self, row: int, losses: Floats) -> None:
        """Process the next row of the shuffled list.

        row: its index in the list.
        losses: shape (k,); those of dropped candidates are not read.
        """
        with expected_rounds(self.rule.rows, len(self.rule.state.wealth)):
            arguments = (self.rule.memory, self.sums, row, losses)
            self._kernel("update", _update_row, arguments, **self.rule.kernels)(*arguments)
        self.count(np.array([row]), losses[None], self.rule.rows_seen)

    def play(self, table: Rows, order: Order) -> int:
        """Run a whole race on a table, from the start; return the number of calls.

        Answers on file cost no call.

        table: losses, shape (rows, k).
        order: row indices in random order.
        """
        self.reset()
        rows, calls = table.view(), 0
        # Pools are read-only. A writeable array has another type and would be compiled again.
        rows.flags.writeable = False
        while self.rule.rows_seen < order.size and not self.rule.done:
            seen = self.rule.rows_seen
            arguments = (self.rule.memory, self.sums, rows, order[seen : self._next_fit], self._losses)
            calls += int(self._kernel(rows.dtype, _play_rows, arguments, **self.rule.kernels)(*arguments))
            counted = order[seen : self.rule.rows_seen]
            self.count(counted, rows[counted], self.rule.rows_seen)
        return calls

    def count(self, rows: Any, losses: Rows, n: int) -> None:
        """Store counted rows for later predictions, and refit when it is time.

        rows: indices of the new rows.
        losses: of these rows, shape (new rows, k).
        n: number of rows counted, the new ones included.
        """
        if self.fit is None:
            return
        self.fit.order[n - len(rows) : n] = rows
        self.fit.losses[n - len(rows) : n] = losses
        if n >= self._next_fit and not self.rule.done:
            self._next_fit = self._schedule(n)
            state = self.rule.state
            arguments = (self.fit, self.sums, n, state.active, state.residual_low, state.residual_variance)
            with expected_rounds(self.rule.rows * FIT_ROUNDS, len(state.wealth)):
                self._kernel("fit", _refit, arguments)(*arguments)
            state.fitted_rows[0] = n

    def _kernel(self, key: Any, function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel) -> Kernel:
        if key not in self._kernels:
            self._kernels[key] = compile_loop(function, arguments, **kernels)
        return self._kernels[key]


def _new_sums(side: SideInformation, fit: Fit | None) -> _RowSums:
    """Return the sums before the first row.

    side: answers on file and history.
    fit: the regression on history; None without history.
    """
    is_known = ~np.isnan(side.known)
    known, predicted = np.where(is_known, side.known, 0.0), np.zeros((1, side.known.shape[1]))
    if fit is not None:
        predicted = np.where(is_known, known, initial_prediction(fit)[:, None])
    return _RowSums(
        known=known, unknown=np.where(is_known, 0.0, 1.0), predicted=predicted, left=np.ones(len(known)),
        known_left=known.sum(axis=0), n_known_left=is_known.sum(axis=0).astype(float),
        predicted_left=predicted.sum(axis=0), predicted_seen=np.zeros(known.shape[1]),
    )  # fmt: skip


def _update_row(memory: Floats, sums: _RowSums, row: int, losses: Floats) -> None:
    """Process one row of a race with side information. Compiled for each rule.

    memory: flat state vector of the rule, changed in place.
    sums: changed in place.
    row: its index in the list.
    losses: shape (k,).
    """
    state = view(memory)  # noqa: F821
    _begin_row(sums, state, row)
    step(state, losses)  # noqa: F821


def _play_rows(memory: Floats, sums: _RowSums, table: Rows, order: Order, losses: Floats) -> int:
    """Process rows in order until the race is over; return the number of calls.

    Compiled for each rule. Answers on file cost no call.

    memory: flat state vector of the rule, changed in place.
    sums: changed in place.
    table: losses, shape (rows, k).
    order: row indices.
    losses: scratch space, shape (k,).
    """
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
    """Remove a row from the sums over the rows left; write them into a rule's state.

    The adjustment of the row, mean prediction of the rows left minus its own, is written too.

    sums, state: a `_RowSums` and an `EliminationState`, changed in place.
    row: index of the next row.
    """
    for a in range(state.active.size):
        if sums.unknown[row, a] == 0.0:
            sums.known_left[a] -= sums.known[row, a]
            sums.n_known_left[a] -= 1.0
        state.known_loss[a] = sums.known_left[a]
        state.known_gain[a] = sums.n_known_left[a] - sums.known_left[a]
    if sums.predicted.shape[0] == sums.left.size:
        left = state.rows - state.rows_seen[0]
        for a in range(state.active.size):
            predicted = sums.predicted[row, a]
            # The mean over exactly the rows left, this one included: any other makes the adjusted loss biased.
            state.predicted_mean[a] = sums.predicted_left[a] / left
            state.offset[a] = state.predicted_mean[a] - predicted
            state.predicted_seen[a] = sums.predicted_seen[a]
            sums.predicted_left[a] -= predicted
            sums.predicted_seen[a] += predicted
    sums.left[row] = 0.0


def _refit(fit: Fit, sums: _RowSums, n: int, active: Any, residual_low: Any, residual_variance: Any) -> None:
    """Fit the predictions of the active candidates to the n counted rows.

    They hold from the next row on.

    fit, sums: changed in place.
    active: shape (k,), 1 for active candidates.
    residual_low, residual_variance: outputs, (k, k), as in `EliminationState`.
    """
    count = 0
    for a in range(active.size):
        if active[a] > 0.0:
            fit.fitted[count] = a
            count += 1
    split_losses(fit.losses, fit.fitted, fit.mean_targets, fit.targets, n, count)
    fit_mean(fit, n)
    fit_deviations(fit, n, count)
    limit_deviations(fit.fits, count)
    _set_predictions(sums.predicted, sums.unknown, fit.fitted, fit.mean_fits, fit.fits, count)
    _sum_predictions(sums.predicted, sums.left, sums.predicted_left, sums.predicted_seen)
    _bound_residuals(sums.predicted, sums.unknown, sums.left, active, residual_low)
    _gather_errors(sums.unknown, fit.order, fit.fitted, fit.mean_errors, fit.errors, fit.fits, n, count)
    _estimate_variances(fit.fits, active, residual_variance, n)


@no_inline
def _set_predictions(predicted: Any, unknown: Any, fitted: Any, mean_fits: Any, fits: Any, count: int) -> None:
    """Write predicted losses in [0, 1] where the answer is not on file.

    predicted, unknown: as in `_RowSums`; `predicted` is changed in place.
    fitted: numbers of the fitted candidates, the first `count` are used.
    mean_fits, fits: predicted mean of the candidates (N, 1), and deviations from it (N, k), by position in `fitted`.
    """
    for row in range(predicted.shape[0]):
        for c in range(count):
            a = int(fitted[c])
            if unknown[row, a] > 0.0:
                predicted[row, a] = min(max(mean_fits[row, 0] + fits[row, c], 0.0), 1.0)


@no_inline
def _sum_predictions(predicted: Any, left: Any, predicted_left: Any, predicted_seen: Any) -> None:
    """Sum the present predictions over the rows left, and over those counted.

    predicted, left: as in `_RowSums`.
    predicted_left, predicted_seen: outputs, shape (k,).
    """
    for a in range(predicted_left.size):
        predicted_left[a] = 0.0
        predicted_seen[a] = 0.0
    for row in range(left.size):
        for a in range(predicted_left.size):
            if left[row] > 0.0:
                predicted_left[a] += predicted[row, a]
            else:
                predicted_seen[a] += predicted[row, a]


@no_inline
def _bound_residuals(predicted: Any, unknown: Any, left: Any, active: Any, residual_low: Any) -> None:
    """Write the smallest possible d - g over the rows left, for all pairs.

    d is the difference of the losses of two active candidates, g the predicted one. A minimum over the rows left now
    also bounds the rows left later; the means are always fresh. Values of dropped opponents are not used.

    predicted, unknown, left: as in `_RowSums`.
    active: shape (k,).
    residual_low: output, (k, k).
    """
    k = active.size
    for b in range(k):
        for o in range(k):
            residual_low[b, o] = math.inf
    for row in range(left.size):
        if left[row] > 0.0:
            for b in range(k):
                if active[b] > 0.0:
                    # Unknown losses of b are at least 0, those of o at most 1; known ones are as predicted. The inner
                    # loop has no other branch, so that it is vectorised.
                    least = -unknown[row, b] * predicted[row, b]
                    for o in range(k):
                        value = least - unknown[row, o] * (1.0 - predicted[row, o])
                        residual_low[b, o] = value if value < residual_low[b, o] else residual_low[b, o]


@no_inline
def _gather_errors(
    unknown: Any, order: Any, fitted: Any, mean_errors: Any, errors: Any, gathered: Any, n: int, count: int
) -> None:
    """Write the leave-one-out errors of all candidates on the counted rows.

    Answers on file have error 0.

    unknown: as in `_RowSums`.
    order, fitted, mean_errors, errors: as in `Fit`.
    gathered: output, (N, k); its first n rows are written.
    n, count: number of counted rows, and of fitted candidates.
    """
    for i in range(n):
        for a in range(gathered.shape[1]):
            gathered[i, a] = 0.0
        row = int(order[i])
        for c in range(count):
            a = int(fitted[c])
            gathered[i, a] = unknown[row, a] * (mean_errors[i, 0] + errors[i, c])


@no_inline
def _estimate_variances(errors: Any, active: Any, residual_variance: Any, n: int) -> None:
    """Write the variance of d - g for all pairs, by leave-one-out errors.

    errors: output of `_gather_errors`; n rows are used.
    active: shape (k,); only active candidates are compared.
    residual_variance: output, (k, k).
    """
    for b in range(active.size):
        for o in range(active.size):
            if b != o and active[b] > 0.0 and active[o] > 0.0:
                total = 0.0
                for i in range(n):
                    error = errors[i, b] - errors[i, o]
                    total += error * error
                residual_variance[b, o] = total / n


def _check_history(rule: Elimination) -> None:
    """Raise ParameterError if a rule cannot use history.

    Only questions about this list, and none about ranks, can.
    """
    if rule.population == math.inf or not rule.supports_predictions:
        reason = "population=math.inf" if rule.population == math.inf else "this question"
        raise ParameterError(
            f"Race: history must come with a question about this list that uses it, got {reason}; leave history out."
        )
