"""Claims that are not in the paper, and the orders of small pools."""

import itertools
from collections.abc import Callable
from typing import TypeAlias

from tombola._types import Floats

# Function from the number of rows to the orders that a claim averages over, each a tuple of row
# indices.
Orders: TypeAlias = Callable[[int], list[tuple[int, ...]]]


def all_orders(rows: int) -> list[tuple[int, ...]]:
    """Return every order of `rows` rows, each a tuple of row indices from 0."""
    return list(itertools.permutations(range(rows)))


def as_listed(rows: int) -> list[tuple[int, ...]]:
    """Return one order only, (0, 1, 2, ..): the fault "no shuffle" of claims."""
    return [tuple(range(rows))]


def distinct_lists(losses: Floats, orders: Orders) -> list[tuple[tuple[float, ...], ...]]:
    """Return the different lists of rows among the orders of a pool, sorted.

    In random order they are equally likely, also if rows are equal.

    losses: rows of the pool, shape (rows, actions).
    orders: number of rows -> orders of their indices, such as `all_orders`.

    >>> import numpy as np
    >>> distinct_lists(np.array([[1.0], [0.0], [1.0]]), all_orders)
    [((0.0,), (1.0,), (1.0,)), ((1.0,), (0.0,), (1.0,)), ((1.0,), (1.0,), (0.0,))]
    """
    return sorted(
        {tuple(map(tuple, losses[list(order)].tolist())) for order in orders(len(losses))}
    )
