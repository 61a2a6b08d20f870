"""Streams: one seed gives separate coins for the order, for the relabelling of actions, and for every learner.

So all learners of a comparison meet the same orders, no learner's coins depend on who else takes part, and nothing
depends on how the work is spread over workers.
"""

import re
from typing import Any
from zlib import crc32

import numpy as np

from tombola import validate
from tombola.engine.coins import new_coins
from tombola.types import Coins, Seed

_ORDER, _LABELS, _LEARNER = 0, 1, 2
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # where a function lies in memory is no part of what a learner is


class Streams:
    """The coins of one repetition."""

    def __init__(self, seed: Seed) -> None:
        self._root = validate.seed_sequence("seed", seed)

    def order(self) -> Coins:
        """Return the coins that shuffle the rows."""
        return new_coins(self._child(_ORDER))

    def labels(self) -> Coins:
        """Return the coins that relabel the actions."""
        return new_coins(self._child(_LABELS))

    def learner(self, learner: Any) -> Coins:
        """Return the coins of a learner; they depend on what it is, not on its place in a list."""
        return new_coins(self._child(_LEARNER, crc32(_ADDRESS.sub("", repr(learner)).encode())))

    def _child(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, *key))


def repetitions(seed: Seed, count: int) -> list[np.random.SeedSequence]:
    """Return the seed of every repetition; the first ones do not depend on how many there are.

    >>> repetitions(1, 2)[0].spawn_key == repetitions(1, 5)[0].spawn_key
    True
    """
    return validate.seed_sequence("seed", seed).spawn(count)
