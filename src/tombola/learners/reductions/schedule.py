"""Schedules: when Simulation trains, for how long, and which rounds are blocks.

The printed schedule contradicts itself (erratum 6: round 1 is played twice and its loss is used
before it is revealed). `LemmaSchedule` and `PaperSchedule` are its two consistent readings. Both
wait d rounds between blocks, so that a block is revealed before the next one begins.
`GrowingSchedule` does not wait and knows no delay: it trains when enough rows are revealed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.learners.parameters import Checked, integer, real


class Blocks(NamedTuple):
    """First round and length of every block of a schedule.

    A block is a range of rounds, from 1, played with the mix of one training, which runs before its
    first round and has as many rounds.
    """

    starts: Floats
    lengths: Floats


@dataclass(frozen=True)
class Schedule(Checked, ABC):
    """Base class of schedules, which define when `Simulation` trains its base learner."""

    @abstractmethod
    def blocks(self, horizon: int) -> Blocks:
        """Return first round and length of each block that begins within the horizon.

        The last one may end after the horizon. Both arrays are empty for a schedule that trains
        without blocks.
        """


@dataclass(frozen=True)
class LemmaSchedule(Schedule):
    """Schedule in which block i = 0, 1, .. has 2^i rounds from 2^i + 1 + (i+1) d on.

    2^i rows are revealed when block i begins: Lemma 4.1 of the paper holds to the letter; without
    delay it is the paper's template itself. d is `delay`, the constant delay of the feedback, in
    rounds.

    >>> LemmaSchedule(delay=3).blocks(20).starts.tolist()
    [5.0, 9.0, 14.0]
    """

    delay: int = integer(0, least=0)

    def blocks(self, horizon: int) -> Blocks:
        powers = np.exp2(np.arange(horizon.bit_length() + 1, dtype=np.float64))
        starts: Floats = powers + 1 + np.arange(1, powers.size + 1) * self.delay
        return Blocks(starts[starts <= horizon], powers[starts <= horizon])


@dataclass(frozen=True)
class PaperSchedule(Schedule):
    """Schedule in which block i = 1, 2, .. has 2^i rounds from 2^i + i d on.

    As printed in the paper. 2^i - 1 rows are revealed when block i begins. Block 0 is round 1,
    without a training. d is `delay`, the constant delay of the feedback, in rounds.

    >>> PaperSchedule(delay=3).blocks(20).starts.tolist()
    [5.0, 10.0, 17.0]
    """

    delay: int = integer(0, least=0)

    def blocks(self, horizon: int) -> Blocks:
        index = np.arange(1, horizon.bit_length() + 1, dtype=np.float64)
        starts: Floats = np.exp2(index) + index * self.delay
        return Blocks(starts[starts <= horizon], np.exp2(index[starts <= horizon]))


@dataclass(frozen=True)
class GrowingSchedule(Schedule):
    """Schedule without blocks: train when the number of revealed rows has grown.

    The default of `Simulation`. A row is revealed when its feedback arrives. It needs no knowledge
    of the delay, so unknown, random and per-round delays and lost feedback work the same way.

    growth: factor of the number of rows from one training to the next, above 1.
    """

    growth: float = real(2.0, above=1)

    def blocks(self, horizon: int) -> Blocks:
        return Blocks(np.zeros(0), np.zeros(0))


def in_block(starts: Floats, lengths: Floats, block: int, round: float) -> bool:
    """Return whether a round, from 1, lies in a block; False for block -1; a kernel.

    starts, lengths: first round, from 1, and number of rounds of each block.
    """
    return bool(block >= 0 and starts[block] <= round < starts[block] + lengths[block])


def in_any_block(starts: Floats, lengths: Floats, last: int, round: float) -> bool:
    """Return whether a round is round 1 or in one of the blocks 0..last; a kernel."""
    inside = round == 1.0
    for block in range(last + 1):
        inside = inside or in_block(starts, lengths, block, round)
    return inside


def block_is_due(starts: Floats, block: int, acted: float) -> bool:
    """Return whether the block after `block` begins in the round after `acted`; a kernel."""
    return bool(block + 1 < starts.size and acted + 1.0 >= starts[block + 1])
