"""Distinct rows of small inputs, and the loss of the comparator on them."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tombola._types import Floats, Integers
from tombola.budget.budget import Budget
from tombola.budget.optimum import optimum
from tombola.classification.learner import LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.errors import ParameterError
from tombola.pool import Pool

# A row as numbers: losses then costs of all actions, or features, label and weight.
Row: TypeAlias = tuple[float, ...]
# Rows of an exact computation: a Pool, a LabelledPool, or an array of losses, shape (rows, actions).
Input: TypeAlias = Any


def zero_one(actions: int) -> Floats:
    """Return every row of losses 0 and 1, shape (2^actions, actions).

    >>> zero_one(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.array(list(itertools.product((0.0, 1.0), repeat=actions)))


@dataclass(frozen=True, eq=False)
class DistinctRows(ABC):
    """Base class of the distinct rows of an input, with the comparator on them.

    values: `values[i]` is distinct row i as numbers: losses and costs, or features, label and weight.
    indices: index of the distinct row of every row of the input, shape (rows,).
    counts: frequency of each distinct row in the input, shape (distinct rows,).
    """

    values: Floats
    indices: Integers
    counts: Integers

    def __len__(self) -> int:
        return len(self.values)

    @abstractmethod
    def pool(self, rows: Sequence[int]) -> Any:
        """Return the pool of some distinct rows, in this order: a Pool or a LabelledPool.

        rows: indices of distinct rows; they may repeat.
        """

    @abstractmethod
    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        """Return the total loss of the comparator in `horizon` rounds.

        The comparator is the best action, the best mix within the budget, or the best hypothesis, on these rows.

        counts: frequency of each distinct row; the loss on sum(counts) rows is scaled to `horizon`.
        """


@dataclass(frozen=True, eq=False)
class LossRows(DistinctRows):
    """Distinct rows of losses and costs, for learners of actions.

    The comparator is the best action, or the best mix within the budget.

    distinct_pool: each distinct row once.
    budget: of the plays; None without one.
    """

    distinct_pool: Pool
    budget: Budget | None

    def pool(self, rows: Sequence[int]) -> Pool:
        indices, costs = list(rows), self.distinct_pool.costs
        return Pool(
            np.asarray(self.distinct_pool.losses)[indices], costs=None if costs is None else np.asarray(costs)[indices]
        )

    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        share = horizon / sum(counts)
        if self.budget is None:
            return float((np.array(counts) @ self.distinct_pool.losses).min()) * share
        pool = self.pool(np.repeat(np.arange(len(self)), counts).tolist())
        budget = replace(self.budget, amounts=tuple(self.budget.per_resource / share))
        return horizon * (1.0 - optimum(pool, budget).value)


@dataclass(frozen=True, eq=False)
class LabelRows(DistinctRows):
    """Distinct rows of features, label and weight, for learners of labels.

    The comparator is the best hypothesis of the learner's class.

    distinct_pool: each distinct row once.
    learner: its hypothesis class has the comparator.
    """

    distinct_pool: LabelledPool
    learner: LabelLearner

    def pool(self, rows: Sequence[int]) -> LabelledPool:
        indices, pool = list(rows), self.distinct_pool
        return LabelledPool(pool.features[indices], pool.labels[indices], pool.weights[indices])

    def comparator_loss(self, counts: Sequence[int], horizon: int) -> float:
        pool = self.pool(np.repeat(np.arange(len(self)), counts).tolist())
        wrong = self.learner.hypotheses.best_labels(pool) != pool.labels
        return float(pool.weights[wrong].sum()) * (horizon / sum(counts))


def distinct_rows(owner: str, learner: Any, rows: Input, budget: Budget | None) -> DistinctRows:
    """Return the distinct rows of an input: LabelRows for labels, else LossRows.

    Raises ParameterError if input, learner and budget do not fit.

    owner: function that the user called, named in the error message.
    learner: of labels for a LabelledPool, else of actions.
    rows: a Pool, a LabelledPool, or an array of losses.
    budget: None without one.
    """
    labels = isinstance(learner, LabelLearner)
    if labels != isinstance(rows, LabelledPool):
        raise ParameterError(
            f"{owner}: expected {'a LabelledPool' if labels else 'a Pool, or losses,'} for {type(learner).__name__}, "
            f"got {rows!r}; pass one of these."
        )
    if budget is not None and budget.target is not None:
        raise ParameterError(
            f"{owner}: expected a budget without a target, for regret counts losses, got {budget.target:g}; "
            "leave it out."
        )
    if labels:
        values, first, indices, counts = _distinct(np.column_stack([rows.features, rows.labels, rows.weights]))
        chosen = LabelledPool(rows.features[first], rows.labels[first], rows.weights[first])
        return LabelRows(values, indices, counts, chosen, learner)
    pool = rows if isinstance(rows, Pool) else Pool(rows)
    losses = np.asarray(pool.losses, dtype=np.float64)
    costs = None if budget is None or pool.costs is None else np.asarray(pool.costs, dtype=np.float64)
    table = losses if costs is None else np.column_stack([losses, costs.reshape(pool.rows, -1)])
    values, first, indices, counts = _distinct(table)
    return LossRows(values, indices, counts, Pool(losses[first], costs=None if costs is None else costs[first]), budget)


def _distinct(table: Floats) -> tuple[Floats, Integers, Integers, Integers]:
    """Return distinct rows, first positions, index of every row, and counts."""
    values, first, indices, counts = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return values, first, indices.ravel(), counts
