"""Words: numbers as they are printed, in the terminal and on the page."""

import math
from collections.abc import Sequence

from tombola._statistics import Estimate


def short(number: float) -> str:
    """Return a number with four digits, or whole.

    >>> short(0.123456), short(12.3456), short(123456.7)
    ('0.1235', '12.35', '123,457')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def plus_minus(estimate: Estimate) -> str:
    """Return an estimate with the half width of its interval, both to two digits of the latter, or whole.

    >>> plus_minus(Estimate(10.0, 8.0, 12.0, 25))
    '10.0 ± 2.0'
    """
    if not math.isfinite(estimate.half_width):
        return short(estimate.value)
    half = estimate.half_width
    if half == 0 or abs(estimate.value) >= 1000:
        return f"{short(estimate.value)} ± {half:,.0f}"
    digits = min(4, max(0, 1 - math.floor(math.log10(half))))
    return f"{estimate.value:,.{digits}f} ± {half:,.{digits}f}"


def listed(names: Sequence[str]) -> str:
    """Return names as one says them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
