"""Arrival schedule of delayed feedback: in which round feedback arrives.

`tombola.engine.loop` delivers it to the learner; `tombola.delay` has the delay models. Rounds that
wait for feedback are kept in the ring buffers of `feedback/bandit.py` and `feedback/budgeted.py`; with
full information the row is read again. Live sessions keep them in `engine/tickets.py`.
"""

from typing import NamedTuple

import numpy as np

from tombola._types import Integers


class ArrivalSchedule(NamedTuple):
    """Rounds at which feedback arrives.

    `delay >= 0`: feedback of round t arrives at the start of round t + delay + 1. `delay == -1`:
    feedback of `rounds[i]` arrives at the start of round `arrivals[i]`, sorted by arrival. Rounds
    count from 0.
    """

    delay: int
    rounds: Integers
    arrivals: Integers


def has_arrived(arrivals: ArrivalSchedule, revealed: int, t: int) -> bool:
    """Return whether the next feedback has arrived at the start of round t; a kernel.

    revealed: number of rounds with feedback revealed so far.
    """
    if arrivals.delay >= 0:
        return bool(revealed + arrivals.delay + 1 <= t)
    return bool(revealed < arrivals.rounds.size and arrivals.arrivals[revealed] <= t)


def next_round(arrivals: ArrivalSchedule, revealed: int) -> int:
    """Return the round, from 0, whose feedback follows `revealed` ones; a kernel."""
    return int(revealed) if arrivals.delay >= 0 else int(arrivals.rounds[revealed])


def from_delays(delay: int | Integers) -> ArrivalSchedule:
    """Return the arrival schedule for one delay, or for one delay per round.

    delay: rounds between a play and its feedback, 0 or more; an array has shape (rounds,).

    >>> from_delays(np.array([2, 0])).rounds.tolist()
    [1, 0]
    """
    no_rounds = np.zeros(0, np.int64)
    if isinstance(delay, int):
        return ArrivalSchedule(delay, no_rounds, no_rounds)
    arrivals = np.arange(delay.size) + delay + 1
    # Stable, so that feedback of the same arrival time comes in the order of rounds.
    rounds = np.argsort(arrivals, kind="stable")
    return ArrivalSchedule(-1, rounds, arrivals[rounds])


def max_in_flight(arrivals: ArrivalSchedule) -> int:
    """Return the largest number of plays that wait for feedback, the current one too."""
    if arrivals.delay >= 0:
        return arrivals.delay + 1
    return int((arrivals.arrivals - arrivals.rounds).max(initial=1))
