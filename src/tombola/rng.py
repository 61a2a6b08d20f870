"""Random generator of a run: xoshiro256++ (Blackman and Vigna 2021), and seeds.

The state is four 64-bit words. Functions that take an `RngState`, as returned by `new_rng`, are
kernels: they advance it in place, run compiled by Numba and as plain Python, with the same bits,
and learners may call them in their kernels. `RngStreams` derives one independent generator from the
seed for the row order, for the action labels and for every learner. So all learners of a comparison
see the same orders, and no result depends on the other learners or on the number of workers.
"""

import math
import re
from typing import Any
from zlib import crc32

import numpy as np

from tombola import _validate
from tombola._types import Floats, Order, RngState, Seed

# Number of 64-bit words of the state of a generator (xoshiro256++).
_WORDS = 4
# Shifts of the generator, as unsigned integers: other types would convert the words.
_7 = np.uint64(7)
_17 = np.uint64(17)
_19 = np.uint64(19)
_23 = np.uint64(23)
_41 = np.uint64(41)
_45 = np.uint64(45)
_11 = np.uint64(11)
_32 = np.uint64(32)
_TO_UNIT = 2.0**-53  # from the 53 bits of a float64 to [0, 1)
# spawn keys of the streams
_ORDER = 0
_LABELS = 1
_LEARNER = 2
_PILOT = 3
_ADDRESS = re.compile(
    r" at 0x[0-9a-fA-F]+"
)  # memory addresses in the repr of a learner change from run to run


def new_rng(seed: np.random.SeedSequence) -> RngState:
    """Return the first state of a generator (xoshiro256++) for `seed`, 4 np.uint64."""
    return seed.generate_state(_WORDS, np.uint64).astype(np.uint64)


def bits(rng: RngState) -> Any:
    """Return 64 random bits as np.uint64; a kernel."""
    s0 = rng[0]
    s1 = rng[1]
    s2 = rng[2]
    s3 = rng[3]
    total = s0 + s3
    result = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    rng[1] = s1 ^ s2
    rng[0] = s0 ^ s3
    rng[2] = s2 ^ shifted
    rng[3] = (s3 << _45) | (s3 >> _19)
    return result


def uniform(rng: RngState) -> float:
    """Return a uniform multiple of 2^-53 in [0, 1); a kernel."""
    return float(bits(rng) >> _11) * _TO_UNIT


def integers(rng: RngState, count: int) -> int:
    """Return a uniform integer in 0..count-1 (Lemire); a kernel.

    count: number of possible values, 1 to 2^32 - 1; not checked.
    """
    bound = np.uint64(count)
    least = np.uint64((1 << 32) % count)
    while True:
        product = (bits(rng) >> _32) * bound
        if product & np.uint64(0xFFFFFFFF) >= least:
            return int(product >> _32)


def choice(mix: Floats, rng: RngState) -> int:
    """Return an action, from 0, drawn from a distribution of shape (k,); a kernel.

    If the shares sum to slightly less than 1, the last action with a positive share gets the rest.

    mix: probability of each action.
    """
    point = uniform(rng)
    last = 0
    for action in range(mix.size):
        if mix[action] > 0.0:
            last = action
            point -= mix[action]
            if point < 0.0:
                break
    return last


def normal(rng: RngState) -> float:
    """Return a standard normal number (Box and Muller 1958); a kernel."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(rng)))
    return radius * math.cos(2.0 * math.pi * uniform(rng))


def gamma(rng: RngState, shape: float) -> float:
    """Return a Gamma(shape, 1) number for shape >= 1, which is not checked; a kernel.

    Marsaglia and Tsang 2000.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


def shuffle(order: Order, start: int, stop: int, rng: RngState) -> None:
    """Extend a permutation of `start` rows to one of `stop` rows; a kernel.

    Inside-out Fisher-Yates: calls with start = 0, n, 2n, .. shuffle in parts.

    order: row indices from 0, shape (rows,); order[:start] is the permutation so far,
        order[start:stop] is written.
    """
    for t in range(start, stop):
        swap = integers(rng, t + 1)
        order[t] = order[swap]
        order[swap] = t


def iid_indices(order: Order, rows: int, rng: RngState) -> None:
    """Fill `order` in place with independent uniform draws from 0..rows-1; a kernel."""
    for t in range(order.size):
        order[t] = integers(rng, rows)


class RngStreams:
    """Random generators of one repetition, derived from one seed.

    Each method returns a generator in its first state, the same one in every call. The streams are
    independent, so a change of the learner does not change the order of the rows.
    """

    def __init__(self, seed: Seed) -> None:
        self._root = _validate.seed_sequence("seed", seed)

    def order(self) -> RngState:
        """Return the generator that draws the order of the rows."""
        return new_rng(self._child(_ORDER))

    def labels(self) -> RngState:
        """Return the generator with which `compare` relabels the actions."""
        return new_rng(self._child(_LABELS))

    def pilot(self) -> RngState:
        """Return the generator that draws the cells of the pilot of a race."""
        return new_rng(self._child(_PILOT))

    def learner(self, learner: Any) -> RngState:
        """Return the generator for the random choices of a learner.

        It depends on the seed and on the `repr` of the learner, not on its position in a list.
        """
        return new_rng(self._child(_LEARNER, crc32(_ADDRESS.sub("", repr(learner)).encode())))

    def _child(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._root.entropy, spawn_key=(*self._root.spawn_key, *key))


def repetition_seeds(seed: Seed, count: int) -> list[np.random.SeedSequence]:
    """Return one seed per repetition; earlier seeds do not depend on `count`.

    >>> repetition_seeds(1, 2)[0].spawn_key == repetition_seeds(1, 5)[0].spawn_key
    True
    """
    return _validate.seed_sequence("seed", seed).spawn(count)
