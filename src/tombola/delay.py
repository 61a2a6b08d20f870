"""Delay: how many rounds pass between a play and its feedback.

Feedback of round t with delay d can be used from the start of round t + d + 1 (d = 0: before the
next round).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import truncate
from tombola._types import Integers, Order
from tombola.errors import DelayError

# Delay of feedback in rounds: one for all rounds, one per round, or a function of the round (from
# 1).
DelayLike: TypeAlias = int | Sequence[int] | NDArray[Any] | Callable[[int], int]


@dataclass(frozen=True, eq=False)
class RowDelays:
    """Hold one delay of feedback per row of the pool; pass it as delay to `play`.

    A row has its delay in every order.

    values: delays in rounds, shape (rows,), integers of 0 or more, checked by the play.
    """

    values: NDArray[Any]


def round_delays(delay: "DelayLike | RowDelays", order: Order) -> int | Integers:
    """Return the delays of the rounds of an order: one number, or one per round.

    Delays are cut at the number of rounds: such feedback never arrives. Raises DelayError for
    negative numbers, fractions, and a wrong number of delays.

    delay: one number for all rounds, one per round, a function of the round (from 1), or one per
        row (`RowDelays`).
    order: row of each round, from 0.

    >>> round_delays(RowDelays(np.array([5, 0, 7])), np.array([2, 0, 1], np.uint32)).tolist()
    [3, 3, 0]
    """
    if not isinstance(delay, RowDelays):
        return resolve_delays(delay, order.size)
    values = np.asarray(delay.values)
    if values.shape != (order.size,):
        raise DelayError(
            f"delay must be one whole number for each of the {order.size} rows, got shape "
            f"{values.shape}; "
            "write RowDelays with one number a row."
        )
    return resolve_delays(values[order], order.size)


def rounds_due(delays: int | Integers, horizon: int) -> list[list[int]]:
    """Return for every round the earlier rounds with feedback arriving at its start.

    Rounds count from 0; feedback that arrives after the last round is left out.

    delays: in rounds, as returned by `round_delays`.

    >>> rounds_due(np.array([2, 0, 1, 0]), 4)
    [[], [], [1], [0]]
    """
    due: list[list[int]] = [[] for _ in range(horizon)]
    for t, delay in enumerate(np.broadcast_to(delays, horizon).tolist()):
        if t + delay + 1 < horizon:
            due[t + delay + 1].append(t)
    return due


def resolve_delays(delay: DelayLike, horizon: int) -> int | Integers:
    """Return one delay for all rounds, or the delay of every round, as `round_delays`.

    >>> resolve_delays(3, 10), resolve_delays(lambda t: t % 2, 4).tolist()
    (3, [1, 0, 1, 0])
    """
    if isinstance(delay, int | np.integer) and not isinstance(delay, bool) and delay >= 0:
        return min(int(delay), horizon)
    values = [delay(t) for t in range(1, horizon + 1)] if callable(delay) else delay
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.zeros((0, 0))
    if array.shape != (horizon,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise DelayError(
            f"delay must be a whole number of 0 or more, or one for each of the {horizon} "
            "rounds, got "
            f"{truncate(repr(values))}; write for example delay=10."
        )
    capped: Integers = np.minimum(array, horizon).astype(np.int64)
    return capped
