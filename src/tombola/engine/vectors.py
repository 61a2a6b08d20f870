"""Vectors: sums and exponentials over all actions that keep a processor busy and are the same everywhere.

A plain loop adds one number at a time and waits for each; four sums side by side do not wait. The order of additions is
fixed by the code, so compiled and plain Python agree to the bit. Kernels.
"""

import math

from tombola._types import Floats
from tombola.engine.intrinsics import ROUND, power_of_two

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7 = (1.0 / math.factorial(i) for i in range(2, 8))
_C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(8, 14))
LEAST = -700.0


def total(values: Floats) -> float:
    """Return the sum."""
    a = b = c = d = 0.0
    last = values.size - values.size % 4
    for i in range(0, last, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(last, values.size):
        a += values[i]
    return (a + b) + (c + d)


def dot(left: Floats, right: Floats) -> float:
    """Return the sum of products."""
    a = b = c = d = 0.0
    last = left.size - left.size % 4
    for i in range(0, last, 4):
        a += left[i] * right[i]
        b += left[i + 1] * right[i + 1]
        c += left[i + 2] * right[i + 2]
        d += left[i + 3] * right[i + 3]
    for i in range(last, left.size):
        a += left[i] * right[i]
    return (a + b) + (c + d)


def least(values: Floats) -> float:
    """Return the smallest value."""
    a = b = c = d = values[0]
    last = values.size - values.size % 4
    for i in range(0, last, 4):
        a = values[i] if values[i] < a else a
        b = values[i + 1] if values[i + 1] < b else b
        c = values[i + 2] if values[i + 2] < c else c
        d = values[i + 3] if values[i + 3] < d else d
    for i in range(last, values.size):
        a = values[i] if values[i] < a else a
    return float(min(min(a, b), min(c, d)))


def exponential(y: float) -> float:
    """Return exp(y) for y of at most 0, by arithmetic alone, so that a loop over it runs on several numbers at once.

    exp(y) = 2^n exp(r) with n whole and |r| <= ln 2 / 2, and a Taylor polynomial for exp(r): within a unit in the last
    place of the library's, and 0 below exp(-700).
    """
    bounded = y if y > LEAST else LEAST
    rounded = bounded * _LOG2_E + ROUND
    n = rounded - ROUND
    r = (bounded - n * _LN2_HIGH) - n * _LN2_LOW
    high = _C8 + r * (_C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13))))
    part = 1.0 + r * (1.0 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * high)))))))
    return part * power_of_two(rounded) if y > LEAST else 0.0
