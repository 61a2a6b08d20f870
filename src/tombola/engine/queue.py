"""The queue of feedback: that of round s, played with delay d, is there at the start of round s + d + 1."""

from typing import NamedTuple

import numpy as np

from tombola.types import Rounds


class Queue(NamedTuple):
    """When feedback comes: after the same delay for all rounds, or (delay -1) by a list of rounds and their times."""

    delay: int
    rounds: Rounds
    arrivals: Rounds


def arrived(queue: Queue, revealed: int, t: int) -> bool:
    """Tell whether, after so many pieces of feedback, another one is there at the start of round t."""
    if queue.delay >= 0:
        return bool(revealed + queue.delay + 1 <= t)
    return bool(revealed < queue.rounds.size and queue.arrivals[revealed] <= t)


def round_of(queue: Queue, revealed: int) -> int:
    """Return the round whose feedback comes next, after so many pieces."""
    return int(revealed) if queue.delay >= 0 else int(queue.rounds[revealed])


def queue_of(delay: int | Rounds) -> Queue:
    """Return the queue for one delay, or for the delay of every round.

    >>> queue_of(np.array([2, 0])).rounds.tolist()
    [1, 0]
    """
    none = np.zeros(0, np.int64)
    if isinstance(delay, int):
        return Queue(delay, none, none)
    arrivals = np.arange(delay.size) + delay + 1
    rounds = np.argsort(arrivals, kind="stable")
    return Queue(-1, rounds, arrivals[rounds])


def ring_of(queue: Queue) -> int:
    """Return how many plays can be in flight at once, with the one at hand."""
    if queue.delay >= 0:
        return queue.delay + 1
    return int((queue.arrivals - queue.rounds).max(initial=1))
