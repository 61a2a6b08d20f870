"""From an offline algorithm to an online one in random order, by stability.

Dong and Yoshida 2023 (offline to online by small average sensitivity); Sakaue and Yoshida 2026. The
learner decides on row t by an offline algorithm on the t - 1 rows before it. The rows up to t are a
uniform subset of t rows, and row t is a uniform one of them. So its expected loss on row t is the
mean leave-one-out loss of the offline algorithm over all subsets of t rows:

    E[loss of round t] = E[mean loss on S of the decision from S] + E[stability(S)],    |S| = t.

If the offline algorithm is a (1 + epsilon)-approximation, the first terms add up to at most
(1 + epsilon) OPT, and what is left is the sum of the stabilities (docs/theory/batch_to_online.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tombola import _validate
from tombola._types import Floats, Seed
from tombola.errors import ParameterError

__all__ = ["BatchToOnline", "Ridge"]

_Decision = TypeVar("_Decision")


@dataclass(frozen=True)
class BatchToOnline(Generic[_Decision]):
    """An online learner from an offline algorithm, for rows in random order.

    offline: rows, shape (t, width), -> decision; t may be 0.
    loss: decision, rows of shape (n, width) -> losses, shape (n,).

    >>> mean = BatchToOnline(lambda rows: rows.mean() if len(rows) else 0.5,
    ...                      lambda centre, rows: (rows[:, 0] - centre) ** 2)
    >>> mean.losses(np.array([[0.0], [1.0], [1.0]])).tolist()
    [0.25, 1.0, 0.25]
    """

    offline: Callable[[Floats], _Decision]
    loss: Callable[[_Decision, Floats], Floats]

    def losses(self, rows: Floats) -> Floats:
        """Return the loss on each row, in the order of the rows; shape (T,)."""
        rows = _checked(rows)
        played = [self.loss(self.offline(rows[:t]), rows[t : t + 1])[0] for t in range(len(rows))]
        return np.array(played, dtype=np.float64)

    def play(self, rows: Floats, *, seed: Seed) -> Floats:
        """Return the losses in the order of play, after a shuffle by `seed`."""
        rows = _checked(rows)
        return self.losses(rows[np.random.default_rng(seed).permutation(len(rows))])

    def stability(self, rows: Floats) -> float:
        """Return the mean, over the rows, of the loss without the row minus the loss with it.

        >>> mean = BatchToOnline(lambda rows: rows.mean() if len(rows) else 0.5,
        ...                      lambda centre, rows: (rows[:, 0] - centre) ** 2)
        >>> mean.stability(np.array([[0.0], [1.0]]))
        0.75
        """
        rows = _checked(rows)
        fitted = self.loss(self.offline(rows), rows)
        without = [
            self.loss(self.offline(np.delete(rows, t, axis=0)), rows[t : t + 1])[0]
            for t in range(len(rows))
        ]
        return float(np.mean(np.array(without) - fitted))


@dataclass(frozen=True)
class Ridge:
    """Ridge regression as an offline algorithm; the last column of the rows is the target.

    The decision is the weight vector that minimises the squared errors plus penalty |weights|^2.

    >>> learner = Ridge(penalty=1e-9).online
    >>> learner.losses(np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 2.0]])).round(6).tolist()
    [4.0, 0.0, 0.0]
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        _validate.real("Ridge", "penalty", self.penalty, above=0.0)

    def fit(self, rows: Floats) -> Floats:
        """Return the weights, shape (width - 1,)."""
        inputs = rows[:, :-1]
        target = rows[:, -1]
        gram = inputs.T @ inputs + self.penalty * np.eye(inputs.shape[1])
        weights: Floats = np.asarray(np.linalg.solve(gram, inputs.T @ target), dtype=np.float64)
        return weights

    @staticmethod
    def squared_errors(weights: Floats, rows: Floats) -> Floats:
        """Return the squared error on each row."""
        errors: Floats = (rows[:, :-1] @ weights - rows[:, -1]) ** 2
        return errors

    @property
    def online(self) -> BatchToOnline[Floats]:
        """The online learner that fits all rows before the present one."""
        return BatchToOnline(self.fit, self.squared_errors)

    def stability(self, rows: Floats) -> float:
        """Return `BatchToOnline.stability` in closed form: the error without row i is e_i / (1 - h_i).

        e_i is the residual and h_i the leverage of row i.
        """
        inputs = rows[:, :-1]
        gram = inputs.T @ inputs + self.penalty * np.eye(inputs.shape[1])
        leverage = np.einsum("ij,ji->i", inputs, np.linalg.solve(gram, inputs.T))
        errors = self.squared_errors(self.fit(rows), rows)
        return float(np.mean(errors / (1.0 - leverage) ** 2 - errors))


def _checked(rows: Any) -> Floats:
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ParameterError(
            f"BatchToOnline: rows must be finite numbers, shape (rows, width), got shape "
            f"{table.shape}; write one line of numbers per row."
        )
    return table
