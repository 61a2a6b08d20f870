"""Order: how the rows of a pool arrive, as values; "random", "iid" and "given" are their short names.

RandomOrder   every row once, in uniformly random order (the model of the paper)
IidOrder      as many independent draws with replacement as there are rows
GivenOrder    as the table lists them (the adversary's order), or as an array of row indices says

Whether an order is exchangeable is part of it: only then does what has been seen say anything about the rest, so only
then may anything be certified.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Order, RngState
from tombola.errors import OrderError


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """An input model: how rows arrive. Every one of them says for itself whether it is exchangeable."""

    name: ClassVar[str]
    exchangeable: ClassVar[bool]

    @abstractmethod
    def arrange(self, rows: int, rng: RngState) -> Order:
        """Return the row of every round."""

    def population(self, rows: int) -> float:
        """Return the number of rows that the rounds are drawn from without replacement, infinite if they come back."""
        return float(rows)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class RandomOrder(Model):
    """Every row once, in uniformly random order."""

    name: ClassVar[str] = "random"
    exchangeable: ClassVar[bool] = True

    def arrange(self, rows: int, rng: RngState) -> Order:
        """Shuffle the rows."""
        from tombola.engine.draws import random_order

        return random_order(rows, rng)


@dataclass(frozen=True, eq=False)
class IidOrder(Model):
    """As many independent uniform draws as there are rows."""

    name: ClassVar[str] = "iid"
    exchangeable: ClassVar[bool] = True

    def arrange(self, rows: int, rng: RngState) -> Order:
        """Draw with replacement."""
        from tombola.engine.draws import iid_order

        return iid_order(rows, rows, rng)

    def population(self, rows: int) -> float:
        """Return infinity: rows come back."""
        return math.inf


@dataclass(frozen=True, eq=False)
class GivenOrder(Model):
    """The rows as they are listed, or as `listed` says, which lists each once."""

    name: ClassVar[str] = "given"
    exchangeable: ClassVar[bool] = False
    listed: Any = None

    def arrange(self, rows: int, rng: RngState) -> Order:
        """Return the rows as they are listed."""
        return np.arange(rows, dtype=np.uint32) if self.listed is None else _permutation(self.listed, rows)


OrderLike: TypeAlias = str | Model | NDArray[Any] | list[int] | None  # None is refused, like other nonsense
MODELS: dict[str, type[Model]] = {kind.name: kind for kind in (RandomOrder, IidOrder, GivenOrder)}


def model_of(order: OrderLike) -> Model:
    """Return the order that a short name, or an array of row indices, stands for.

    >>> model_of("random").exchangeable, str(model_of([1, 0]))
    (True, 'given')
    """
    if isinstance(order, Model):
        return order
    if not isinstance(order, str):
        return GivenOrder([] if order is None else order)
    if order not in MODELS:
        names = ", ".join(map(repr, MODELS))
        raise OrderError(
            f"order must be one of {names} or an array of row indices, got {order!r}; write order='random'."
        )
    return MODELS[order]()


def rows_in(order: OrderLike, rows: int, rng: RngState) -> Order:
    """Return the row of every round.

    >>> from tombola.rng import new_rng
    >>> rng = new_rng(np.random.SeedSequence(0))
    >>> rows_in("given", 3, rng).tolist(), sorted(rows_in("random", 3, rng).tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    return model_of(order).arrange(rows, rng)


def _permutation(order: Any, rows: int) -> Order:
    try:
        array = np.asarray(order)
    except ValueError:  # lists of different lengths
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.size != rows or array.dtype.kind not in "iu":
        raise OrderError(
            f"order must list each of the {rows} rows once, as whole numbers, got {array.dtype} of shape "
            f"{array.shape}; write for example order=np.arange({rows})."
        )
    if array.min() < 0 or array.max() >= rows:
        outside = int(array.min()) if array.min() < 0 else int(array.max())
        raise OrderError(f"order must list the rows 0..{rows - 1}, got row {outside}; count rows from 0.")
    counts = np.bincount(array.astype(np.int64), minlength=rows)
    if (counts != 1).any():
        repeated, missing = int(np.argmax(counts > 1)), int(np.argmax(counts == 0))
        raise OrderError(
            f"order must list every row once, got row {repeated} {int(counts[repeated])} times and row {missing} "
            "never; use order='iid' to draw with replacement."
        )
    return array.astype(np.uint32)
