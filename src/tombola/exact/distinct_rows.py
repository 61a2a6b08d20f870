"""DistinctRows of rows: what small inputs are made of, in any setting, and what the comparator loses on them."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tombola._types import Floats, Rounds
from tombola.budget.budget import Budget
from tombola.budget.optimum import optimum
from tombola.classification.learner import LabelLearner, comparator
from tombola.classification.pool import LabelledPool
from tombola.errors import ParameterError
from tombola.pool import Pool

Row: TypeAlias = tuple[float, ...]
Input: TypeAlias = Any  # a Pool, a LabelledPool, or an array of losses


def zero_one(actions: int) -> Floats:
    """Return every row of losses 0 and 1.

    >>> zero_one(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.array(list(itertools.product((0.0, 1.0), repeat=actions)))


@dataclass(frozen=True, eq=False)
class DistinctRows(ABC):
    """Rows that differ; `names` says them as plain numbers: losses and costs, or features, label and weight.

    `places` is which kind each row of the input is of, and `counts` how often each came.
    """

    names: Floats
    places: Rounds
    counts: Rounds

    def __len__(self) -> int:
        return len(self.names)

    @abstractmethod
    def pool(self, rows: Sequence[int]) -> Any:
        """Return the pool with these kinds of rows, in this order."""

    @abstractmethod
    def best(self, counts: Sequence[int], horizon: int) -> float:
        """Return what the comparator loses in so many rounds, on rows with these frequencies."""


@dataclass(frozen=True, eq=False)
class LossKinds(DistinctRows):
    """Rows of losses, and of costs if there are any; the comparator is the best action, or the best mix in a budget."""

    pooled: Pool
    budget: Budget | None

    def pool(self, rows: Sequence[int]) -> Pool:
        """Return the pool with these kinds of rows, in this order."""
        places, costs = list(rows), self.pooled.costs
        return Pool(np.asarray(self.pooled.losses)[places], costs=None if costs is None else np.asarray(costs)[places])

    def best(self, counts: Sequence[int], horizon: int) -> float:
        """Return what the best action loses, or the best mix within the budget."""
        share = horizon / sum(counts)
        if self.budget is None:
            return float((np.array(counts) @ self.pooled.losses).min()) * share
        pool = self.pool(np.repeat(np.arange(len(self)), counts).tolist())
        budget = replace(self.budget, amounts=tuple(self.budget.per_resource / share))
        return horizon * (1.0 - optimum(pool, budget).value)


@dataclass(frozen=True, eq=False)
class LabelKinds(DistinctRows):
    """Rows of features with a label and its weight; the comparator is the best hypothesis of the learner's class."""

    pooled: LabelledPool
    learner: LabelLearner

    def pool(self, rows: Sequence[int]) -> LabelledPool:
        """Return the pool with these kinds of rows, in this order."""
        places, pool = list(rows), self.pooled
        return LabelledPool(pool.features[places], pool.labels[places], pool.weights[places])

    def best(self, counts: Sequence[int], horizon: int) -> float:
        """Return what the best hypothesis loses."""
        pool = self.pool(np.repeat(np.arange(len(self)), counts).tolist())
        wrong = comparator(self.learner).best(pool) != pool.labels
        return float(pool.weights[wrong].sum()) * (horizon / sum(counts))


def kinds_of(owner: str, learner: Any, rows: Input, budget: Budget | None) -> DistinctRows:
    """Return the kinds of rows of an input for this learner."""
    labels = isinstance(learner, LabelLearner)
    if labels != isinstance(rows, LabelledPool):
        raise ParameterError(
            f"{owner}: expected {'a LabelledPool' if labels else 'a Pool, or losses,'} for {type(learner).__name__}, "
            f"got {rows!r}; give it what it learns from."
        )
    if budget is not None and budget.target is not None:
        raise ParameterError(
            f"{owner}: expected a budget without a target, for regret counts losses, got {budget.target:g}; "
            "leave it out."
        )
    if labels:
        names, first, places, counts = _distinct(np.column_stack([rows.features, rows.labels, rows.weights]))
        chosen = LabelledPool(rows.features[first], rows.labels[first], rows.weights[first])
        return LabelKinds(names, places, counts, chosen, learner)
    pool = rows if isinstance(rows, Pool) else Pool(rows)
    losses = np.asarray(pool.losses, dtype=np.float64)
    costs = None if budget is None or pool.costs is None else np.asarray(pool.costs, dtype=np.float64)
    table = losses if costs is None else np.column_stack([losses, costs.reshape(pool.rows, -1)])
    names, first, places, counts = _distinct(table)
    return LossKinds(names, places, counts, Pool(losses[first], costs=None if costs is None else costs[first]), budget)


def _distinct(table: Floats) -> tuple[Floats, Rounds, Rounds, Rounds]:
    """Return the rows that differ, where each comes first, which of them each row is, and how often they come."""
    names, first, places, counts = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return names, first, places.ravel(), counts
