"""Input models: the order in which the rows of a pool arrive.

random   every row once, in uniformly random order (the model of the paper)
iid      as many independent draws with replacement as there are rows
given    as listed in the table (the adversary's order), or a given permutation

Only for an exchangeable order do the rows seen allow conclusions about the rest; certificates
require one.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._types import Order, RngState
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.errors import OrderError
from tombola.rng import iid_indices, shuffle

# Rows shuffled per compiled call: it takes less than 0.1 s, and Ctrl-C is handled between calls.
_ROWS_PER_CALL = 1 << 21


@dataclass(frozen=True, eq=False)
class OrderModel(ABC):
    """Base class of input models, which draw the row of every round.

    A subclass must define the method `arrange(rows, rng)`, which returns the row index of every
    round, and the two class attributes below. It may override `population(rows)`. Pass an instance
    as argument `order` of `play`.

    name: name of the model in results; "random", "iid" and "given" are also accepted as argument
        `order`.
    exchangeable: whether all orders of the rows drawn are equally likely, so that rows seen allow
        conclusions about the others.
    """

    name: ClassVar[str]
    exchangeable: ClassVar[bool]

    @abstractmethod
    def arrange(self, rows: int, rng: RngState) -> Order:
        """Return the row index, from 0, of every round, uint32, shape (rounds,).

        The models of tombola have as many rounds as rows. A given order that is not a permutation
        raises OrderError.

        rows: number of rows of the pool.
        rng: state of the random generator (`new_rng`), changed in place.
        """

    def population(self, rows: int) -> float:
        """Return the population size for intervals; infinite with replacement.

        rows: number of rows of the pool.
        """
        return float(rows)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class RandomOrder(OrderModel):
    """Draw every row once, in uniformly random order; selected by "random"."""

    name: ClassVar[str] = "random"
    exchangeable: ClassVar[bool] = True

    def arrange(self, rows: int, rng: RngState) -> Order:
        return random_order(rows, rng)


@dataclass(frozen=True, eq=False)
class _IidOrder(OrderModel):
    """Draw as many independent uniform rows as the pool has."""

    name: ClassVar[str] = "iid"
    exchangeable: ClassVar[bool] = True

    def arrange(self, rows: int, rng: RngState) -> Order:
        order = np.zeros(rows, np.uint32)
        with expected_rounds(rows, actions=0):
            compile_loop(iid_indices, (order, rows, rng))(order, rows, rng)
        return order

    def population(self, rows: int) -> float:
        return math.inf


@dataclass(frozen=True, eq=False)
class _GivenOrder(OrderModel):
    """Take the rows as listed, or in the order of `permutation`."""

    name: ClassVar[str] = "given"
    exchangeable: ClassVar[bool] = False
    permutation: Any = None

    def arrange(self, rows: int, rng: RngState) -> Order:
        return (
            np.arange(rows, dtype=np.uint32)
            if self.permutation is None
            else _permutation(self.permutation, rows)
        )


# Input model: its name ("random", "iid" or "given"), an `OrderModel`, or an array with the row of
# each round. None is rejected with a message.
OrderLike: TypeAlias = str | OrderModel | NDArray[Any] | list[int] | None
# Class of each input model by its name, the text of the argument `order`: "random", "iid" and
# "given".
ORDER_MODELS: dict[str, type[OrderModel]] = {
    kind.name: kind for kind in (RandomOrder, _IidOrder, _GivenOrder)
}


def as_order_model(order: OrderLike) -> OrderModel:
    """Return the input model of a name or of an array of row indices.

    Raises OrderError for an unknown name. Row indices are checked later, when the order is drawn.

    >>> as_order_model("random").exchangeable, str(as_order_model([1, 0]))
    (True, 'given')
    """
    if isinstance(order, OrderModel):
        return order
    if not isinstance(order, str):
        return _GivenOrder([] if order is None else order)
    if order not in ORDER_MODELS:
        names = ", ".join(map(repr, ORDER_MODELS))
        raise OrderError(
            f"order must be one of {names} or an array of row indices, got {order!r}; write "
            "order='random'."
        )
    return ORDER_MODELS[order]()


def draw_order(order: OrderLike, rows: int, rng: RngState) -> Order:
    """Return the row index, from 0, of every round of an input model, shape (rows,).

    Raises OrderError for an unknown name, and for an array that does not have every row once.

    >>> from tombola.rng import new_rng
    >>> rng = new_rng(np.random.SeedSequence(0))
    >>> draw_order("given", 3, rng).tolist(), sorted(draw_order("random", 3, rng).tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    return as_order_model(order).arrange(rows, rng)


def random_order(rows: int, rng: RngState) -> Order:
    """Return a uniformly random permutation of 0..rows-1, shape (rows,)."""
    order = np.zeros(rows, np.uint32)
    with expected_rounds(rows, actions=0):
        for start in range(0, rows, _ROWS_PER_CALL):
            arguments = (order, start, min(start + _ROWS_PER_CALL, rows), rng)
            compile_loop(shuffle, arguments)(*arguments)
    return order


def _permutation(order: Any, rows: int) -> Order:
    try:
        array = np.asarray(order)
    except ValueError:  # lists of different lengths
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.size != rows or array.dtype.kind not in "iu":
        raise OrderError(
            f"order must list each of the {rows} rows once, as whole numbers, got {array.dtype} "
            "of shape "
            f"{array.shape}; write for example order=np.arange({rows})."
        )
    missing = np.setdiff1d(
        np.arange(rows), array
    )  # as many entries as rows: another one is repeated, or outside
    if missing.size:
        raise OrderError(
            f"order must list every row from 0 to {rows - 1} once, got no row {missing[0]}; use "
            "order='iid' to draw "
            "with replacement."
        )
    return array.astype(np.uint32)
