"""The arrivals of feedback: that of round s, played with delay d, is there at the start of round s + d + 1."""

from typing import NamedTuple

import numpy as np

from tombola._types import Rounds


class ArrivalSchedule(NamedTuple):
    """When feedback comes: after the same delay for all rounds, or (delay -1) by a list of rounds and their times."""

    delay: int
    rounds: Rounds
    arrivals: Rounds


def has_arrived(arrivals: ArrivalSchedule, revealed: int, t: int) -> bool:
    """Tell whether, after so many pieces of feedback, another one is there at the start of round t."""
    if arrivals.delay >= 0:
        return bool(revealed + arrivals.delay + 1 <= t)
    return bool(revealed < arrivals.rounds.size and arrivals.arrivals[revealed] <= t)


def next_round(arrivals: ArrivalSchedule, revealed: int) -> int:
    """Return the round whose feedback comes next, after so many pieces."""
    return int(revealed) if arrivals.delay >= 0 else int(arrivals.rounds[revealed])


def from_delays(delay: int | Rounds) -> ArrivalSchedule:
    """Return the arrivals for one delay, or for the delay of every round.

    >>> from_delays(np.array([2, 0])).rounds.tolist()
    [1, 0]
    """
    none = np.zeros(0, np.int64)
    if isinstance(delay, int):
        return ArrivalSchedule(delay, none, none)
    arrivals = np.arange(delay.size) + delay + 1
    rounds = np.argsort(arrivals, kind="stable")
    return ArrivalSchedule(-1, rounds, arrivals[rounds])


def max_in_flight(arrivals: ArrivalSchedule) -> int:
    """Return how many plays can be in flight at once, with the one at hand."""
    if arrivals.delay >= 0:
        return arrivals.delay + 1
    return int((arrivals.arrivals - arrivals.rounds).max(initial=1))
