"""Streams: one seed gives separate rng for the order, for the relabelling of actions, and for every learner.

So all learners of a comparison meet the same orders, no learner's rng depend on who else takes part, and nothing
depends on how the work is spread over workers.
"""

import re
from typing import Any
from zlib import crc32

import numpy as np

from tombola import _validate
from tombola._types import RngState, Seed
from tombola.rng import new_rng

_ORDER, _LABELS, _LEARNER = 0, 1, 2
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # where a function lies in memory is no part of what a learner is


class Streams:
    """The rng of one repetition."""

    def __init__(self, seed: Seed) -> None:
        self._root = _validate.seed_sequence("seed", seed)

    def order(self) -> RngState:
        """Return the rng that shuffle the rows."""
        return new_rng(self._child(_ORDER))

    def labels(self) -> RngState:
        """Return the rng that relabel the actions."""
        return new_rng(self._child(_LABELS))

    def learner(self, learner: Any) -> RngState:
        """Return the rng of a learner; they depend on what it is, not on its place in a list."""
        return new_rng(self._child(_LEARNER, crc32(_ADDRESS.sub("", repr(learner)).encode())))

    def _child(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, *key))


def repetitions(seed: Seed, count: int) -> list[np.random.SeedSequence]:
    """Return the seed of every repetition; the first ones do not depend on how many there are.

    >>> repetitions(1, 2)[0].spawn_key == repetitions(1, 5)[0].spawn_key
    True
    """
    return _validate.seed_sequence("seed", seed).spawn(count)
