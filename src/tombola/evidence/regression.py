"""Ridge regression of losses on the principal components of history.

docs/theory/race.md, section 9.

A prediction is a function of the row that does not depend on the order of the rows left, so its
mean over exactly these rows is known. Two levels: the mean of the columns, and the deviation of
each from it. The penalty is chosen by exact leave-one-out; a constant, that is no prediction, is
one of the choices.

No BLAS and no LAPACK: these kernels give the same bits on every machine, so a resumed race has the
same evidence.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.engine.intrinsics import no_inline

# Largest number of principal components of history that are used: more would fit noise.
_MAX_COMPONENTS = 12
# Iterations of the subspace iteration. Any subspace is valid; the principal one predicts best.
_SUBSPACE_ITERATIONS = 30
# Sweeps of Jacobi's method; it converges quadratically, and 12 columns take at most 8.
_JACOBI_SWEEPS = 12
# Rows before the first fit, least number of rows between fits, and growth factor of the number of
# rows: about 2 fits per doubling of the rows.
_FIRST_FIT = 6
_MIN_INTERVAL = 5
_FIT_GROWTH = 1.4
# Penalties of the ridge regression, in units of the prior variance of a loading. A finer grid takes
# time and predicts no better.
_PENALTIES = (0.01, 0.05, 0.25, 1.2, 6.0, 30.0)
# Least prior scale of a loading: keeps components with equal loadings.
_MIN_SCALE = 1e-9
# Variance of a loss around its first prediction if history has no losses, and the least one
# otherwise.
_UNKNOWN_NOISE = 0.125
_MIN_NOISE = 1e-3
# Largest predicted deviation of a candidate from the mean of all, in standard deviations of its
# own: rare large ones would limit the bets.
_DEVIATION_LIMIT = 1.5
# Time of one row with its share of the fits in plain Python, in rounds of play. Callers declare
# rows * FIT_ROUNDS as `expected_rounds`, which decides whether their loop is compiled or
# interpreted.
FIT_ROUNDS = 25.0


class Fit(NamedTuple):
    """Regression of the losses on components of history; built by `new_fit`.

    N rows, k candidates, q components. Counted rows have known losses. `components` has shape (N,
    q), `losses` (N, k) by counted row, whose indices are in `order`. Of the history columns,
    `intercept` is the mean, `prior` and `scale` (q,) are mean and deviation of their loadings, and
    `noise` is the variance of a column around the mean of all. The result is in `fits` (N, k), the
    predicted losses, and `errors` (N, k), their leave-one-out errors; the other fields from
    `fitted` on are workspace. Matrices with N rows are stored by columns: loops over rows are
    vectorised.
    """

    components: Floats  # (N, q) principal components of history: mean 0, variance 1, uncorrelated
    intercept: float  # mean loss of the history columns; 1/2 if they are not losses
    prior: Floats  # (q,) mean of the loadings of the history columns
    scale: Floats  # (q,) and their standard deviation
    # variance of a history column around the mean of all columns; 1/8 if they are not losses
    noise: float
    order: Floats  # (N,) counted rows, in the order of counting
    losses: Floats  # (N, k) their losses
    fitted: Floats  # (k,) candidates that are fitted
    mean_targets: Floats  # (N, 2) first level: mean losses, without and with the prior subtracted
    mean_errors: Floats  # (N, 2) their leave-one-out errors
    mean_fits: Floats  # (N, 1) predicted mean of the candidates
    targets: Floats  # (N, k) second level: losses to fit
    fits: Floats  # (N, k) predictions
    errors: Floats  # (N, k) leave-one-out errors
    centred: Floats  # (N, q) components of the counted rows, centred and scaled
    scores: Floats  # (N, q) the same rotated
    factors: Floats  # (N,) leave-one-out error / residual
    gram: Floats  # (q, q) Gram matrix
    axes: Floats  # (q, q) its eigenvectors
    centre: Floats  # (q,) mean components of the counted rows
    values: Floats  # (q,) eigenvalues
    inverse: Floats  # (q,) 1 / (those + penalty)
    cross: Floats  # (q, max(k, 2)) products of scores and targets
    weights: Floats  # (q, max(k, 2)) coefficients
    means: Floats  # (max(k, 2),) mean targets
    ceilings: Floats  # (max(k, 2),) largest predictions


def new_fit(history: Floats, columns: int) -> Fit:
    """Return the regression of losses on history, before any loss is known.

    history: shape (rows, h). columns: number of candidates, each with a column of losses.
    """
    components, intercept, prior, scale = _components_of(history)
    rows = len(history)
    q = components.shape[1]
    k = columns
    most = max(columns, 2)

    def cells(width: int) -> Floats:
        return np.zeros((rows, width), order="F")

    return Fit(
        components=components,
        intercept=intercept,
        prior=prior,
        scale=scale,
        noise=_noise_of(history),
        order=np.zeros(rows),
        losses=cells(k),
        fitted=np.zeros(k),
        mean_targets=cells(2),
        mean_errors=cells(2),
        mean_fits=cells(1),
        targets=cells(k),
        fits=cells(k),
        errors=cells(k),
        centred=cells(q),
        scores=cells(q),
        factors=np.zeros(rows),
        gram=np.zeros((q, q)),
        axes=np.zeros((q, q)),
        centre=np.zeros(q),
        values=np.zeros(q),
        inverse=np.zeros(q),
        cross=np.zeros((q, most)),
        weights=np.zeros((q, most)),
        means=np.zeros(most),
        ceilings=np.ones(most),
    )


def initial_prediction(fit: Fit) -> Floats:
    """Return the predicted loss of every row before the first fit, shape (rows,).

    It is the mean of the history columns in this row, as far as the components explain it, clipped
    to [0, 1].
    """
    return np.asarray(np.clip(fit.intercept + np.sum(fit.components * fit.prior, axis=1), 0.0, 1.0))


def next_fit(n: int) -> int:
    """Return the number of counted rows at which to fit again, after a fit to n rows.

    >>> next_fit(0), next_fit(6), next_fit(100)
    (6, 11, 140)
    """
    return max(_FIRST_FIT, n + _MIN_INTERVAL, int(n * _FIT_GROWTH))


def fit_mean(fit: Any, n: int) -> None:
    """Fit the mean loss of the candidates in a row by ridge regression; a kernel.

    The predictors are the principal components of the history. Two regressions are fitted to the n
    counted rows: one shrinks the coefficients to 0, the other to `fit.prior`, those of the mean
    history column. The one with the smaller leave-one-out error predicts all N rows. Reads `order`
    and `mean_targets[:n, 0]`; writes `mean_fits[:, 0]`, `mean_errors[:n, 0]`, and workspace that
    `fit_deviations` needs.
    """
    _find_axes(fit.components, fit.order, fit.scale, fit.centre, fit.centred, fit.gram, n)
    _decompose(fit.gram, fit.axes, fit.values)
    _rotate_scores(fit.centred, fit.axes, fit.scores, n)
    _subtract_prior(fit.components, fit.order, fit.centre, fit.prior, fit.mean_targets, n)
    error = _ridge(fit, fit.mean_targets, fit.mean_errors, n, 0, 1)
    chosen = 1 if _ridge(fit, fit.mean_targets, fit.mean_errors, n, 1, 2) < error else 0
    _predict(fit, fit.mean_fits, chosen, 0, float(chosen))
    for i in range(n):
        fit.mean_errors[i, 0] = fit.mean_errors[i, chosen]


def fit_deviations(fit: Any, n: int, count: int) -> None:
    """Fit the deviation of each candidate from the mean of all; a kernel.

    A ridge regression for `count` candidates, on the same predictors and n rows as `fit_mean`,
    which must be called before. Predicted deviations are limited to 1.5 standard deviations of
    their own: the largest predicted difference bounds the bets, and rare large ones cost more than
    they explain. Reads `targets[:n, :count]`; writes `fits[:, :count]` and `errors[:n, :count]`.
    """
    _ridge(fit, fit.targets, fit.errors, n, 0, count)
    for c in range(count):
        mean, deviation = _predict(fit, fit.fits, c, c, 0.0)
        low, high = mean - _DEVIATION_LIMIT * deviation, mean + _DEVIATION_LIMIT * deviation
        fits = fit.fits[:, c]
        for row in range(fits.size):
            fits[row] = min(max(fits[row], low), high)


@no_inline
def split_losses(
    losses: Any, fitted: Any, mean_targets: Any, targets: Any, n: int, count: int
) -> None:
    """Split the losses of n rows into their mean and deviations from it; a kernel.

    `fitted` has the columns of `losses` to use, `count` in number. The mean over these candidates
    goes to the first column of `mean_targets`, the deviation of the c-th of them to column c of
    `targets`.
    """
    mean = mean_targets[:, 0]
    for i in range(n):
        mean[i] = 0.0
    for c in range(count):
        _add(losses[:, int(fitted[c])], 1.0 / count, mean, n)
    for c in range(count):
        column = losses[:, int(fitted[c])]
        target = targets[:, c]
        for i in range(n):
            target[i] = column[i] - mean[i]


@no_inline
def dot(one: Any, two: Any, n: int) -> float:
    """Return the sum of one[i] * two[i] over the first n entries of two vectors.

    A kernel. Four partial sums, in a fixed order: vectorised, and the same bits on every machine.
    """
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    for i in range(0, n - 3, 4):
        a += one[i] * two[i]
        b += one[i + 1] * two[i + 1]
        c += one[i + 2] * two[i + 2]
        d += one[i + 3] * two[i + 3]
    for i in range(n - n % 4, n):
        a += one[i] * two[i]
    return (a + b) + (c + d)


@no_inline
def _add(column: Any, factor: float, result: Any, n: int) -> None:
    """Add factor * column to the first n entries of a result, in place."""
    for i in range(n):
        result[i] += factor * column[i]


@no_inline
def _find_axes(
    components: Any, order: Any, scale: Any, centre: Any, centred: Any, gram: Any, n: int
) -> None:
    """Write `centre`, `centred` and `gram` of a `Fit`, for n rows of `order`."""
    for j in range(centre.size):
        column = centred[:, j]
        total = 0.0
        for i in range(n):
            column[i] = components[int(order[i]), j]
            total += column[i]
        centre[j] = total / n
        for i in range(n):
            column[i] = scale[j] * (column[i] - centre[j])
        for m in range(j + 1):
            gram[j, m] = dot(column, centred[:, m], n)
            gram[m, j] = gram[j, m]


@no_inline
def _rotate_scores(centred: Any, axes: Any, scores: Any, n: int) -> None:
    """Write centred @ axes into n rows of `scores`; columns are uncorrelated."""
    for m in range(axes.shape[1]):
        column = scores[:, m]
        for i in range(n):
            column[i] = 0.0
        for j in range(axes.shape[0]):
            _add(centred[:, j], axes[j, m], column, n)


@no_inline
def _subtract_prior(
    components: Any, order: Any, centre: Any, prior: Any, targets: Any, n: int
) -> None:
    """Write the first column of targets minus the prior prediction to the second."""
    for i in range(n):
        row = int(order[i])
        total = 0.0
        for j in range(centre.size):
            total += (components[row, j] - centre[j]) * prior[j]
        targets[i, 1] = targets[i, 0] - total


def _ridge(fit: Any, targets: Any, errors: Any, n: int, first: int, last: int) -> float:
    """Regress columns first..last - 1 of targets; return the sum of squared errors.

    Errors are leave-one-out, and written to `errors`. The penalty is chosen by them, pooled over
    columns. "No prediction", a constant, is the first choice: another one must be better.
    """
    for c in range(first, last):
        target = targets[:, c]
        total = 0.0
        for i in range(n):
            total += target[i]
        fit.means[c] = total / n
        for j in range(fit.values.size):
            fit.cross[j, c] = dot(fit.scores[:, j], target, n)
    best = _leave_one_out(fit, targets, errors, n, first, last, math.inf)
    choice = math.inf
    error = best
    for p in range(len(_PENALTIES)):
        error = _leave_one_out(fit, targets, errors, n, first, last, _PENALTIES[p])
        if error < best - 1e-12:
            best = error
            choice = _PENALTIES[p]
    return _leave_one_out(fit, targets, errors, n, first, last, choice)


def _leave_one_out(
    fit: Any, targets: Any, errors: Any, n: int, first: int, last: int, penalty: float
) -> float:
    """Return the sum of squared leave-one-out errors; constant if penalty is inf."""
    total = 0.0
    q = fit.values.size if penalty < math.inf else 0
    for j in range(fit.values.size):
        fit.inverse[j] = 1.0 / (fit.values[j] + penalty)
        for c in range(first, last):
            fit.weights[j, c] = fit.cross[j, c] * fit.inverse[j]
    _leverage(fit.scores, fit.inverse, fit.factors, n, q)
    for c in range(first, last):
        _residuals(
            targets[:, c], fit.means[c], fit.scores, fit.weights, fit.factors, errors[:, c], n, q, c
        )
        total += dot(errors[:, c], errors[:, c], n)
    return total


@no_inline
def _leverage(scores: Any, inverse: Any, factors: Any, n: int, q: int) -> None:
    """Write leave-one-out error / residual = 1 / (1 - leverage) to `factors`."""
    for i in range(n):
        factors[i] = 1.0 / n
    for j in range(q):
        column = scores[:, j]
        size = inverse[j]
        for i in range(n):
            factors[i] += column[i] * column[i] * size
    for i in range(n):
        factors[i] = 1.0 / max(1.0 - factors[i], 1e-6)


@no_inline
def _residuals(
    target: Any,
    mean: float,
    scores: Any,
    weights: Any,
    factors: Any,
    errors: Any,
    n: int,
    q: int,
    c: int,
) -> None:
    """Write the leave-one-out errors of one column, by q components."""
    for i in range(n):
        errors[i] = target[i] - mean
    for j in range(q):
        _add(scores[:, j], -weights[j, c], errors, n)
    for i in range(n):
        errors[i] *= factors[i]


def _predict(fit: Any, fits: Any, c: int, column: int, uses_prior: float) -> tuple[float, float]:
    """Write column c of a regression to a column of `fits`; return mean and deviation.

    With `uses_prior` 1 the prediction by the prior loadings is added, with 0 it is not.
    """
    mean = fit.means[c]
    square = 0.0
    rows = fits.shape[0]
    result = fits[:, column]
    for j in range(fit.centre.size):
        loading = 0.0
        for m in range(fit.centre.size):
            loading += fit.axes[j, m] * fit.weights[m, c]
        fit.inverse[j] = uses_prior * fit.prior[j] + fit.scale[j] * loading
        # The components have mean 0 and variance 1, and are uncorrelated.
        mean -= fit.centre[j] * fit.inverse[j]
        square += fit.inverse[j] * fit.inverse[j]
    for row in range(rows):
        result[row] = mean
    for j in range(fit.centre.size):
        _add(fit.components[:, j], fit.inverse[j], result, rows)
    return mean, math.sqrt(square)


@no_inline
def _decompose(matrix: Any, axes: Any, values: Any) -> None:
    """Write eigenvectors (columns of `axes`) and eigenvalues of a symmetric matrix.

    Jacobi's method; the matrix is destroyed, and negative eigenvalues become 0.
    """
    q = values.size
    for j in range(q):
        for m in range(q):
            axes[j, m] = 1.0 if j == m else 0.0
    for _ in range(_JACOBI_SWEEPS):
        outside = 0.0
        inside = 0.0
        for j in range(q):
            inside += matrix[j, j] * matrix[j, j]
            for m in range(j):
                outside += matrix[j, m] * matrix[j, m]
        if outside <= 1e-24 * inside:
            break
        for j in range(q):
            for m in range(j):
                if matrix[m, j] != 0.0:
                    _rotate(matrix, axes, m, j)
    for j in range(q):
        values[j] = max(matrix[j, j], 0.0)


@no_inline
def _rotate(matrix: Any, axes: Any, j: int, m: int) -> None:
    """Rotate the axes j and m so that matrix[j, m] becomes 0 (a Jacobi rotation)."""
    theta = (matrix[m, m] - matrix[j, j]) / (2.0 * matrix[j, m])
    sign = 1.0 if theta >= 0.0 else -1.0
    tangent = sign / (abs(theta) + math.sqrt(theta * theta + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for i in range(matrix.shape[0]):
        first = matrix[i, j]
        two = matrix[i, m]
        matrix[i, j] = cosine * first - sine * two
        matrix[i, m] = sine * first + cosine * two
    for i in range(matrix.shape[0]):
        first = matrix[j, i]
        two = matrix[m, i]
        matrix[j, i] = cosine * first - sine * two
        matrix[m, i] = sine * first + cosine * two
        first = axes[i, j]
        two = axes[i, m]
        axes[i, j] = cosine * first - sine * two
        axes[i, m] = sine * first + cosine * two


def _noise_of(history: Floats) -> float:
    """Return `noise` of a `Fit`, both means of rows and of columns left out."""
    rows, h = history.shape
    if not _is_loss(history) or h < 2:
        return _UNKNOWN_NOISE
    deviations = history - history.sum(axis=0) / rows
    deviations -= deviations.sum(axis=1, keepdims=True) / h
    return max(float((deviations**2).sum() / (rows * (h - 1))), _MIN_NOISE)


def _is_loss(history: Floats) -> bool:
    """Return whether all numbers are in [0, 1], so that history may be losses."""
    return bool(((history >= 0.0) & (history <= 1.0)).all())


def _components_of(history: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Return `components`, `intercept`, `prior` and `scale` of a `Fit`."""
    rows, h = history.shape
    centred = history - history.sum(axis=0) / rows
    is_loss = _is_loss(history)
    if not is_loss:
        # Features in other units have no loadings in units of the loss.
        deviation = np.sqrt((centred**2).sum(axis=0) / rows)
        centred = centred / np.where(deviation > 0.0, deviation, 1.0)
    intercept = float(history.sum() / history.size) if is_loss else 0.5
    q = min(_MAX_COMPONENTS, h, rows)
    basis = np.eye(h, q)
    products = np.zeros((rows, q))
    values = np.zeros(q)
    square = np.zeros((q, q))
    arguments = (
        np.ascontiguousarray(centred),
        basis,
        products,
        square,
        square.copy(),
        values,
        np.zeros(q),
    )
    with expected_rounds(rows * _SUBSPACE_ITERATIONS, h * q):
        compile_loop(_principal_subspace, arguments)(*arguments)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 1e-12 * max(float(values.max()), 1e-300)]
    if not order.size:
        return np.zeros((rows, 1), order="F"), intercept, np.zeros(1), np.full(1, _MIN_SCALE)
    size = np.sqrt(values[order] / rows)
    loadings = basis[:, order] * size
    mean = loadings.sum(axis=0) / h if is_loss else np.zeros(order.size)
    scale = np.sqrt(((loadings - mean) ** 2).sum(axis=0) / h) + _MIN_SCALE
    return np.asfortranarray(products[:, order] / size), intercept, mean, scale


def _principal_subspace(
    table: Floats,
    basis: Floats,
    products: Floats,
    gram: Floats,
    axes: Floats,
    values: Floats,
    line: Floats,
) -> None:
    """Write the leading singular vectors of a table by subspace iteration.

    On return table @ basis = products, with orthogonal columns of squared length `values`; the rest
    is workspace.
    """
    h, q = basis.shape
    if h > q:
        for i in range(h):
            for j in range(q):
                # Any start in general position will do.
                basis[i, j] = (
                    ((i + 1) * (j + 1) * 7919 + i * i * 31 + j * 17) % 1009
                ) / 1009.0 - 0.5
        for _ in range(_SUBSPACE_ITERATIONS):
            _orthonormalise(basis)
            _multiply(table, basis, products)
            _multiply_transposed(table, products, basis)
        _orthonormalise(basis)
    _multiply(table, basis, products)
    _multiply_transposed(products, products, gram)
    _decompose(gram, axes, values)
    _turn(basis, axes, line)
    _turn(products, axes, line)


@no_inline
def _multiply(table: Any, right: Any, product: Any) -> None:
    """Write table @ right into `product`."""
    for i in range(table.shape[0]):
        for j in range(right.shape[1]):
            product[i, j] = 0.0
        for m in range(table.shape[1]):
            for j in range(right.shape[1]):
                product[i, j] += table[i, m] * right[m, j]


@no_inline
def _multiply_transposed(table: Any, right: Any, product: Any) -> None:
    """Write table.T @ right into `product`."""
    for m in range(product.shape[0]):
        for j in range(product.shape[1]):
            product[m, j] = 0.0
    for i in range(table.shape[0]):
        for m in range(table.shape[1]):
            for j in range(right.shape[1]):
                product[m, j] += table[i, m] * right[i, j]


@no_inline
def _orthonormalise(basis: Any) -> None:
    """Make the columns of a matrix orthonormal, in place (Gram-Schmidt, twice).

    Columns in the span of earlier ones become 0.
    """
    for _ in range(2):
        for j in range(basis.shape[1]):
            for m in range(j):
                product = 0.0
                for i in range(basis.shape[0]):
                    product += basis[i, j] * basis[i, m]
                for i in range(basis.shape[0]):
                    basis[i, j] -= product * basis[i, m]
            square = 0.0
            for i in range(basis.shape[0]):
                square += basis[i, j] * basis[i, j]
            inverse = 1.0 / math.sqrt(square) if square > 1e-200 else 0.0
            for i in range(basis.shape[0]):
                basis[i, j] *= inverse


@no_inline
def _turn(table: Any, axes: Any, line: Any) -> None:
    """Replace every row x of a table by x @ axes, in place; `line` is workspace."""
    for i in range(table.shape[0]):
        for j in range(line.size):
            line[j] = 0.0
            for m in range(line.size):
                line[j] += table[i, m] * axes[m, j]
        for j in range(line.size):
            table[i, j] = line[j]
