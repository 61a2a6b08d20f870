"""Validate parameters; messages name owner, expected value, actual one, and fix."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from tombola._formatting import assignment_text, option_text
from tombola._types import Integers, Seed
from tombola.errors import ParameterError

# Values that messages suggest: the middle of the limits would be bad advice.
_EXAMPLES = {"level": 0.05}
# Largest difference of two numbers that are the same answer: 1 - 0.7 differs from 0.3 in the last
# bit.
_ROUNDING = 1e-12


def integer(owner: str, name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int of at least `least`; raise ParameterError otherwise.

    Floats and bools are rejected, also 3.0.

    owner, name: function or class of the user, and its parameter, as all messages of this module
        name them.

    >>> integer("play", "horizon", 3, least=1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(
            f"{owner}: {option_text(name)} must be a whole number of at least {least}, got "
            f"{value!r}; "
            f"write for example {assignment_text(name, str(max(least, 1)))}."
        )
    return int(value)


def real(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    example: float | None = None,
) -> float:
    """Return `value` as a finite float within limits; raise ParameterError otherwise.

    above, least: exclusive and inclusive lower limit.
    most, below: inclusive and exclusive upper limit.
    example: value that the message suggests; None: one inside of the limits.

    >>> real("Hedge", "rate", 0.5, above=0)
    0.5
    """
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_real and math.isfinite(value) and above < value < below and least <= value <= most):
        limits = [
            f"{word} {limit:g}"
            for word, limit in (
                ("above", above),
                ("at least", least),
                ("at most", most),
                ("below", below),
            )
            if math.isfinite(limit)
        ]
        requirement = " and ".join(limits) or "finite"
        if example is None:
            example = _EXAMPLES.get(name, _inside(above, least, most, below))
        raise ParameterError(
            f"{owner}: {option_text(name)} must be a number, {requirement}, got {value!r}; write for "
            "example "
            f"{assignment_text(name, f'{example:g}')}."
        )
    return float(value)


def integer_array(owner: str, name: str, values: Any) -> Integers:
    """Return `values`, of any shape, as a one-dimensional array of int64.

    Raises ParameterError if the numbers are not of an integer type; floats such as 1.0 are
    rejected.

    >>> integer_array("certify", "actions", [[0, 2], [1, 0]]).tolist()
    [0, 2, 1, 0]
    """
    array = np.asarray(values).ravel()
    if array.size and array.dtype.kind not in "iu":
        raise ParameterError(
            f"{owner}: {name} must be whole numbers, got {array.dtype}; count them from 0."
        )
    return array.astype(np.int64)


def not_text(owner: str, name: str, values: Any) -> None:
    """Raise ParameterError if `values` is a text instead of a list of names."""
    if isinstance(values, str | bytes):
        raise ParameterError(
            f"{owner}: {name} must be a list of names, got the text {values!r}; write [{values!r}]."
        )


def same_numbers(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether two outcomes are the same answer, up to rounding.

    >>> same_numbers((0.3,), (1 - 0.7,)), same_numbers((0.3,), (0.301,))
    (True, False)
    """
    return first == second or all(
        abs(a - b) <= _ROUNDING for a, b in zip(first, second, strict=True)
    )


def _inside(above: float, least: float, most: float, below: float) -> float:
    low, high = max(above, least), min(most, below)
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2
    if math.isfinite(low):
        return low + 1
    return high - 1 if math.isfinite(high) else 1.0


def seed_sequence(owner: str, seed: Seed) -> np.random.SeedSequence:
    """Return a new SeedSequence, so that spawning twice gives the same streams.

    Raises ParameterError for a seed that is neither an integer of 0 or more nor a SeedSequence.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(
            seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size
        )
    return np.random.SeedSequence(integer(owner, "seed", seed, least=0))


def allowed_loss(
    owner: str, within: float | None, *, better: bool, metric: str = ""
) -> float | None:
    """Return the allowed loss of a gate; None if a better version is asked instead.

    ParameterError if neither is stated, or both: a gate asks, it does not guess.

    metric: the metric that it is about; "" for all.
    """
    if within is not None and better and not metric:
        raise ParameterError(
            f"{owner}: expected either an allowed loss or a better version, got both; leave one of "
            f"{assignment_text('within', f'{within:g}')} and {option_text('better', on=True)} out."
        )
    if within is not None:
        return real(owner, "within", within, above=0)
    if not better:
        raise ParameterError(
            f"{owner}: expected the allowed loss{f' of {metric}' if metric else ''}, got none, and "
            "with 0 identical versions could never pass; "
            f"write {assignment_text('within', '0.02')} if a loss of 0.02 may pass, "
            f"{option_text('better', on=True)} if the new version must be better."
        )
    return None
