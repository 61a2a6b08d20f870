"""Vector sums and exponentials that agree to the bit on every machine.

Four partial sums let the processor add in parallel, where a plain loop waits for each addition. The
order of additions is fixed by the code, so compiled code and plain Python agree to the bit.
"""

import math

from tombola._types import Floats
from tombola.engine.intrinsics import ROUNDING_OFFSET, power_of_two

_LOG2_E = 1.4426950408889634
# ln 2 in two parts (Cody and Waite), so that n * ln 2 is subtracted without rounding.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Coefficients 1 / i! of the Taylor polynomial.
_C2, _C3, _C4, _C5, _C6, _C7 = (1.0 / math.factorial(i) for i in range(2, 8))
_C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(8, 14))
# Largest y with exponential(y) = 0. Below it 2^n would leave the range of float64.
_MIN_EXPONENT = -700.0


def total(values: Floats) -> float:
    """Return the sum of the values; a kernel."""
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
    """Return the dot product of two vectors of equal length; a kernel."""
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
    """Return the smallest value of a vector, which is not empty; a kernel."""
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
    """Return exp(y) for y <= 0 by arithmetic alone, so that loops vectorise; a kernel.

    exp(y) = 2^n exp(r) with integer n and |r| <= ln 2 / 2, and a Taylor polynomial of degree 13 for
    exp(r). Within one unit in the last place of the C library; 0 for y <= -700.
    """
    bounded = y if y > _MIN_EXPONENT else _MIN_EXPONENT
    rounded = bounded * _LOG2_E + ROUNDING_OFFSET
    n = rounded - ROUNDING_OFFSET
    r = (bounded - n * _LN2_HIGH) - n * _LN2_LOW
    high = _C8 + r * (_C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13))))
    part = 1.0 + r * (
        1.0 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * high))))))
    )
    return part * power_of_two(rounded) if y > _MIN_EXPONENT else 0.0
