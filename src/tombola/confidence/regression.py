"""Ridge regression of losses on the principal components of history.

docs/theory/race.md, section 9.

A prediction is a function of the row that does not depend on the order of the rows left, so its mean over exactly these
rows is known. Two levels: the mean of the columns, and the deviation of each from it. The penalty is chosen by exact
leave-one-out; a constant, that is no prediction, is one of the choices.

No BLAS and no LAPACK: these kernels give the same bits on every machine, so a resumed race has the same evidence.
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
# Rows before the first fit, least number of rows between fits, and growth factor of the number of rows: about 3 fits
# per doubling of the rows.
FIRST_FIT, MIN_INTERVAL, FIT_GROWTH = 6, 5, 1.25
# Penalties of the ridge regression, in units of the prior variance of a loading. A finer grid takes time and predicts
# no better.
_PENALTIES = (0.01, 0.05, 0.25, 1.2, 6.0, 30.0)
# Least prior scale of a loading: keeps components with equal loadings.
_MIN_SCALE = 1e-9
# Largest predicted deviation of a candidate from the mean of all, in standard deviations of its own: rare large ones
# would limit the bets.
_DEVIATION_LIMIT = 1.5
# Time of one row with fits in plain Python, as a multiple of a row without; it scales the estimated work by which loops
# are compiled or interpreted.
FIT_ROUNDS = 25.0


class Fit(NamedTuple):
    """Regression of the losses on components of history; built by `new_fit`.

    N rows, k candidates, q components.

    components         (N, q) principal components of history, of variance 1
    intercept          mean loss of the history columns; 1/2 if they are not losses
    prior              (q,) mean of the loadings of the history columns
    scales             (2, q) prior scale of the loadings: of the mean of the candidates, of their deviations
    order, losses      (N,), (N, k) counted rows and their losses, in the order of counting
    fitted             (k,) workspace: candidates that are fitted
    mean_targets, mean_fits, mean_errors   (N, 1) workspace of the first level
    targets, fits, errors   (N, k) workspace of the second level: losses to fit, predictions, leave-one-out errors
    scores             (N, q) workspace: components of the counted rows, rotated
    gram, axes         (q, q) workspace: Gram matrix, its eigenvectors
    centre, values, inverse   (q,) workspace: mean components of the counted rows, eigenvalues; 1 / (those + penalty)
    cross, weights     (q, k) workspace: products of scores and targets, coefficients
    means, line        (k,) workspace: mean targets, one row
    """

    components: Floats
    intercept: float
    prior: Floats
    scales: Floats
    order: Floats
    losses: Floats
    fitted: Floats
    mean_targets: Floats
    mean_fits: Floats
    mean_errors: Floats
    targets: Floats
    fits: Floats
    errors: Floats
    scores: Floats
    gram: Floats
    axes: Floats
    centre: Floats
    values: Floats
    inverse: Floats
    cross: Floats
    weights: Floats
    means: Floats
    line: Floats


def new_fit(history: Floats, columns: int) -> Fit:
    """Return the regression on history before any loss is known.

    history: known numbers of each row, such as losses of earlier candidates, shape (rows, history columns).
    columns: number k of columns to predict.
    """
    components, intercept, prior, scales = _components_of(history)
    rows, q, k = len(history), components.shape[1], columns
    cells, column = (rows, k), (rows, 1)
    return Fit(
        components=components, intercept=intercept, prior=prior, scales=scales, order=np.zeros(rows),
        losses=np.zeros(cells), fitted=np.zeros(k), mean_targets=np.zeros(column), mean_fits=np.zeros(column),
        mean_errors=np.zeros(column), targets=np.zeros(cells), fits=np.zeros(cells), errors=np.zeros(cells),
        scores=np.zeros((rows, q)), gram=np.zeros((q, q)), axes=np.zeros((q, q)), centre=np.zeros(q),
        values=np.zeros(q), inverse=np.zeros(q), cross=np.zeros((q, k)), weights=np.zeros((q, k)),
        means=np.zeros(k), line=np.zeros(k),
    )  # fmt: skip


def initial_prediction(fit: Fit) -> Floats:
    """Return the predicted loss of every row before the first fit, shape (rows,).

    It is the mean loss of the history columns, as far as the components have it, in [0, 1].

    fit: as returned by `new_fit`.
    """
    return np.asarray(np.clip(fit.intercept + np.sum(fit.components * fit.prior, axis=1), 0.0, 1.0))


def next_fit(n: int) -> int:
    """Return the number of counted rows at which to fit again, after a fit to n rows.

    n: number of rows of the last fit; 0 before the first one.

    >>> next_fit(0), next_fit(6), next_fit(100)
    (6, 11, 125)
    """
    return max(FIRST_FIT, n + MIN_INTERVAL, int(n * FIT_GROWTH))


def fit_mean(fit: Any, n: int) -> None:
    """Fit the mean of the candidates to the first n counted rows; a kernel.

    This is the first of two levels; `fit_deviations` is the second.

    fit: a `Fit`; `mean_targets` is read, `mean_fits` and `mean_errors` are written.
    """
    scale, targets = fit.scales[0], fit.mean_targets
    _find_axes(fit.components, fit.order, scale, fit.centre, fit.gram, fit.axes, fit.values, fit.scores, n)
    error = _ridge(
        targets, fit.scores, fit.values, fit.inverse, fit.cross, fit.weights, fit.means, fit.line, fit.errors, n, 1
    )
    _subtract_prior(fit.components, fit.order, fit.centre, fit.prior, targets, n, 1.0)
    other = _ridge(
        targets, fit.scores, fit.values, fit.inverse, fit.cross, fit.weights, fit.means, fit.line, fit.errors, n, 1
    )
    uses_prior = 1.0 if other < error else 0.0
    if uses_prior == 0.0:
        _subtract_prior(fit.components, fit.order, fit.centre, fit.prior, targets, n, -1.0)
        _ridge(
            targets, fit.scores, fit.values, fit.inverse, fit.cross, fit.weights, fit.means, fit.line, fit.errors, n, 1
        )
    _predict(
        fit.components, fit.centre, scale, fit.axes, fit.weights, fit.cross, fit.prior, uses_prior, fit.means,
        fit.mean_fits, 1,
    )  # fmt: skip
    for i in range(n):
        fit.mean_errors[i, 0] = fit.errors[i, 0]


def fit_deviations(fit: Any, n: int, count: int) -> None:
    """Fit the deviations of the candidates from their mean; a kernel.

    This is the second of two levels, after `fit_mean`.

    fit: a `Fit`; `targets` is read, `fits` and `errors` are written.
    n: number of counted rows.
    count: number of fitted candidates, the first columns of `targets`.
    """
    scale = fit.scales[1]
    _find_axes(fit.components, fit.order, scale, fit.centre, fit.gram, fit.axes, fit.values, fit.scores, n)
    _ridge(
        fit.targets,
        fit.scores,
        fit.values,
        fit.inverse,
        fit.cross,
        fit.weights,
        fit.means,
        fit.line,
        fit.errors,
        n,
        count,
    )
    _predict(
        fit.components, fit.centre, scale, fit.axes, fit.weights, fit.cross, fit.prior, 0.0, fit.means,
        fit.fits, count,
    )  # fmt: skip


@no_inline
def split_losses(losses: Any, fitted: Any, mean_targets: Any, targets: Any, n: int, count: int) -> None:
    """Split the losses of every counted row into their mean and deviations from it.

    losses: of the counted rows, shape (N, k).
    fitted: indices of the candidates that are fitted, the first `count` entries.
    mean_targets, targets: outputs, the mean (N, 1) and the deviations (N, k).
    n, count: number of counted rows, and of fitted candidates.
    """
    for i in range(n):
        total = 0.0
        for c in range(count):
            total += losses[i, int(fitted[c])]
        mean_targets[i, 0] = total / count
        for c in range(count):
            targets[i, c] = losses[i, int(fitted[c])] - total / count


@no_inline
def _find_axes(
    components: Any, order: Any, scale: Any, centre: Any, gram: Any, axes: Any, values: Any, scores: Any, n: int
) -> None:
    """Centre, scale and rotate the components of the counted rows.

    The rotated ones, `scores`, are uncorrelated.

    components, order: as in `Fit`; the first n rows of `order` are used.
    scale: of each component, shape (q,).
    centre, gram, axes, values, scores: outputs, as in `Fit`.
    """
    q = centre.size
    for j in range(q):
        total = 0.0
        for i in range(n):
            total += components[int(order[i]), j]
        centre[j] = total / n
        for m in range(q):
            gram[j, m] = 0.0
    for i in range(n):
        row = int(order[i])
        for j in range(q):
            z = scale[j] * (components[row, j] - centre[j])
            for m in range(q):
                gram[j, m] += z * (scale[m] * (components[row, m] - centre[m]))
    _decompose(gram, axes, values)
    for i in range(n):
        row = int(order[i])
        for m in range(q):
            scores[i, m] = 0.0
        for j in range(q):
            z = scale[j] * (components[row, j] - centre[j])
            for m in range(q):
                scores[i, m] += z * axes[j, m]


@no_inline
def _subtract_prior(components: Any, order: Any, centre: Any, prior: Any, targets: Any, n: int, sign: float) -> None:
    """Subtract the prediction by the prior loadings from the targets, in place.

    components, order, centre, prior: as in `Fit`.
    targets: shape (N, 1); the first n rows are changed.
    sign: 1 subtracts, -1 adds it again.
    """
    for i in range(n):
        row, total = int(order[i]), 0.0
        for j in range(centre.size):
            total += (components[row, j] - centre[j]) * prior[j]
        targets[i, 0] -= sign * total


@no_inline
def _ridge(
    targets: Any, scores: Any, values: Any, inverse: Any, cross: Any, weights: Any, means: Any, line: Any,
    errors: Any, n: int, count: int,
) -> float:  # fmt: skip
    """Regress targets on scores; return the sum of squared leave-one-out errors.

    The penalty is chosen by exact leave-one-out, pooled over columns. "No prediction", a constant, is the first choice:
    another one must be better.

    targets, scores, values: as in `Fit`.
    weights, means, errors: outputs: coefficients and means of the columns, leave-one-out errors.
    inverse, cross, line: workspace.
    n, count: number of counted rows, and of columns.
    """
    q = values.size
    for c in range(count):
        total = 0.0
        for i in range(n):
            total += targets[i, c]
        means[c] = total / n
    for j in range(q):
        for c in range(count):
            cross[j, c] = 0.0
    for i in range(n):
        for j in range(q):
            for c in range(count):
                cross[j, c] += scores[i, j] * (targets[i, c] - means[c])
    choice = math.inf
    best = _leave_one_out(targets, scores, values, inverse, cross, weights, means, line, errors, n, count, choice)
    for p in range(len(_PENALTIES)):
        penalty = _PENALTIES[p]
        error = _leave_one_out(targets, scores, values, inverse, cross, weights, means, line, errors, n, count, penalty)
        if error < best - 1e-12:
            best, choice = error, penalty
    return _leave_one_out(targets, scores, values, inverse, cross, weights, means, line, errors, n, count, choice)


@no_inline
def _leave_one_out(
    targets: Any, scores: Any, values: Any, inverse: Any, cross: Any, weights: Any, means: Any, line: Any,
    errors: Any, n: int, count: int, penalty: float,
) -> float:  # fmt: skip
    """Return the sum of squared leave-one-out errors for one penalty.

    targets, scores, values, cross, means: as in `Fit`.
    weights, errors: outputs.
    inverse, line: workspace.
    n, count: number of counted rows, and of columns.
    penalty: of the ridge regression; infinite predicts a constant.
    """
    total, q = 0.0, values.size
    for j in range(q):
        inverse[j] = 1.0 / (values[j] + penalty)
        for c in range(count):
            weights[j, c] = cross[j, c] * inverse[j]
    for i in range(n):
        # Leverage of a row: 1 - leverage is the factor between its residual and its leave-one-out error.
        leverage = 1.0 / n
        for c in range(count):
            line[c] = targets[i, c] - means[c]
        if penalty < math.inf:
            for j in range(q):
                z = scores[i, j]
                leverage += z * z * inverse[j]
                for c in range(count):
                    line[c] -= z * weights[j, c]
        factor = 1.0 / max(1.0 - leverage, 1e-6)
        for c in range(count):
            error = line[c] * factor
            errors[i, c] = error
            total += error * error
    return total


@no_inline
def _predict(
    components: Any, centre: Any, scale: Any, axes: Any, weights: Any, loadings: Any, prior: Any, uses_prior: float,
    means: Any, fits: Any, count: int,
) -> None:  # fmt: skip
    """Write the predictions of the last ridge regression for all rows.

    components, centre, axes, weights, prior, means: as in `Fit`.
    scale: of each component, shape (q,).
    loadings: workspace, (q, k).
    uses_prior: 1 adds the prediction by the prior loadings, 0 does not.
    fits: output, (N, k); the first `count` columns are written.
    """
    q = centre.size
    for j in range(q):
        for c in range(count):
            loadings[j, c] = uses_prior * prior[j]
        for m in range(q):
            for c in range(count):
                loadings[j, c] += scale[j] * axes[j, m] * weights[m, c]
    for row in range(components.shape[0]):
        for c in range(count):
            fits[row, c] = means[c]
        for j in range(q):
            z = components[row, j] - centre[j]
            for c in range(count):
                fits[row, c] += z * loadings[j, c]


@no_inline
def limit_deviations(fits: Any, count: int) -> None:
    """Limit predicted deviations to 1.5 standard deviations of their own; a kernel.

    The largest predicted difference bounds the bets; rare large ones cost more than they explain.

    fits: predicted deviation of each row and candidate, shape (N, k), changed in place.
    count: number of fitted candidates, the first columns.
    """
    rows = fits.shape[0]
    for c in range(count):
        mean, square = 0.0, 0.0
        for row in range(rows):
            mean += fits[row, c]
        mean /= rows
        for row in range(rows):
            square += (fits[row, c] - mean) * (fits[row, c] - mean)
        limit = _DEVIATION_LIMIT * math.sqrt(square / rows)
        for row in range(rows):
            fits[row, c] = min(max(fits[row, c], mean - limit), mean + limit)


@no_inline
def _decompose(matrix: Any, axes: Any, values: Any) -> None:
    """Write the eigenvectors and eigenvalues of a symmetric matrix (Jacobi's method).

    matrix: (q, q), destroyed.
    axes: output, eigenvectors as columns.
    values: output, eigenvalues, negative ones set to 0.
    """
    q = values.size
    for j in range(q):
        for m in range(q):
            axes[j, m] = 1.0 if j == m else 0.0
    for _ in range(_JACOBI_SWEEPS):
        outside, inside = 0.0, 0.0
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
    """Rotate the axes j and m so that matrix[j, m] becomes 0 (a Jacobi rotation).

    matrix: symmetric, changed in place.
    axes: rotated with it, in place.
    """
    theta = (matrix[m, m] - matrix[j, j]) / (2.0 * matrix[j, m])
    sign = 1.0 if theta >= 0.0 else -1.0
    tangent = sign / (abs(theta) + math.sqrt(theta * theta + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for i in range(matrix.shape[0]):
        one, two = matrix[i, j], matrix[i, m]
        matrix[i, j], matrix[i, m] = cosine * one - sine * two, sine * one + cosine * two
    for i in range(matrix.shape[0]):
        one, two = matrix[j, i], matrix[m, i]
        matrix[j, i], matrix[m, i] = cosine * one - sine * two, sine * one + cosine * two
        one, two = axes[i, j], axes[i, m]
        axes[i, j], axes[i, m] = cosine * one - sine * two, sine * one + cosine * two


def _components_of(history: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Return the principal components of history, and the loadings of its columns.

    Returns components (rows, q) of variance 1, mean of history (1/2 if it is not losses), mean of the loadings (q,),
    and their scales (2, q): about 0, and about their mean.

    history: shape (rows, h).
    """
    rows, h = history.shape
    centred = history - history.sum(axis=0) / rows
    is_loss = bool(((history >= 0.0) & (history <= 1.0)).all())
    if not is_loss:
        # Features in other units have no loadings in units of the loss.
        deviation = np.sqrt((centred**2).sum(axis=0) / rows)
        centred = centred / np.where(deviation > 0.0, deviation, 1.0)
    intercept = float(history.sum() / history.size) if is_loss else 0.5
    q = min(_MAX_COMPONENTS, h, rows)
    basis, products, values = np.eye(h, q), np.zeros((rows, q)), np.zeros(q)
    arguments = (
        np.ascontiguousarray(centred),
        basis,
        products,
        np.zeros((q, q)),
        np.zeros((q, q)),
        values,
        np.zeros(q),
    )
    with expected_rounds(rows * _SUBSPACE_ITERATIONS, h * q):
        compile_loop(_principal_subspace, arguments)(*arguments)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 1e-12 * max(float(values.max()), 1e-300)]
    if not order.size:
        return np.zeros((rows, 1)), intercept, np.zeros(1), np.full((2, 1), _MIN_SCALE)
    size = np.sqrt(values[order] / rows)
    loadings = basis[:, order] * size
    mean = loadings.sum(axis=0) / h if is_loss else np.zeros(order.size)
    scales = [np.sqrt(((loadings - centre) ** 2).sum(axis=0) / h) + _MIN_SCALE for centre in (0.0, mean)]
    return products[:, order] / size, intercept, mean, np.stack(scales)


def _principal_subspace(
    table: Floats, basis: Floats, products: Floats, gram: Floats, axes: Floats, values: Floats, line: Floats
) -> None:
    """Write the leading singular vectors of a table by subspace iteration.

    On return table @ basis = products, with orthogonal columns of squared length `values`.

    table: (rows, h).
    basis, products, values: outputs, (h, q), (rows, q) and (q,).
    gram, axes, line: workspace.
    """
    h, q = basis.shape
    if h > q:
        for i in range(h):
            for j in range(q):
                # Any start in general position will do.
                basis[i, j] = (((i + 1) * (j + 1) * 7919 + i * i * 31 + j * 17) % 1009) / 1009.0 - 0.5
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
