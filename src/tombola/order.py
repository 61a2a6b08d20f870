"""Order: how the rows of a pool arrive.

"random"  every row once, in uniformly random order (the model of the paper)
"iid"     as many independent draws with replacement as there are rows
"given"   as the table lists them (the adversary's order); an array of row indices is another given order
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola.errors import OrderError
from tombola.types import Coins, Order

Model: TypeAlias = Literal["random", "iid", "given"]
MODELS: dict[str, Model] = {"random": "random", "iid": "iid", "given": "given"}
OrderLike: TypeAlias = str | NDArray[Any] | list[int]


def model_of(order: OrderLike) -> Model:
    """Return the input model that an order belongs to.

    >>> model_of([1, 0])
    'given'
    """
    if not isinstance(order, str):
        return "given"
    if order not in MODELS:
        raise OrderError(
            f"order must be 'random', 'iid', 'given' or an array of row indices, got {order!r}; write order='random'."
        )
    return MODELS[order]


def rows_in(order: OrderLike, rows: int, coins: Coins) -> Order:
    """Return the row of every round.

    >>> from tombola.engine.coins import new_coins
    >>> coins = new_coins(np.random.SeedSequence(0))
    >>> rows_in("given", 3, coins).tolist(), sorted(rows_in("random", 3, coins).tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    model = model_of(order)
    if not isinstance(order, str):
        return _permutation(order, rows)
    if model == "given":
        return np.arange(rows, dtype=np.uint32)
    from tombola.engine.draws import iid_order, random_order

    return random_order(rows, coins) if model == "random" else iid_order(rows, rows, coins)


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
