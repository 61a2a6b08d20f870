"""Assertion: a statement about a list that rows drawn from it in random order prove or refute.

An assertion is one or more parts, all of which must hold. Each part says that the mean of some value in [0, 1] is above
or below a threshold, and two bets are placed: one against its contrary, which proves it, and one against itself.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import validate
from tombola.errors import ParameterError, TableError
from tombola.types import Floats

Batch = Mapping[str, Any]  # a column of cells under each name

NUMBER = r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"
FORMS = "'mean(COLUMN) > 0.7', 'share(COLUMN = VALUE) >= 0.9' or '|mean(FIRST) - mean(SECOND)| <= 0.02'"
HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Part(NamedTuple):
    """The mean of what `values` makes of rows, in [0, 1], is above (or below) the threshold, or equal if not strict."""

    values: Callable[[Batch], Floats]
    threshold: float
    above: bool
    strict: bool
    difference: bool = False  # the values are (1 + first - second) / 2

    def natural(self, mean: float) -> float:
        """Return a mean in the words of the statement."""
        return 2.0 * mean - 1.0 if self.difference else mean

    def holds(self, mean: float) -> bool:
        """Tell whether a list with this mean is as the part says."""
        over = mean - self.threshold if self.above else self.threshold - mean
        return over > 1e-9 or (not self.strict and over > -1e-9)


@dataclass(frozen=True)
class Assertion:
    """A statement in words, and its parts.

    >>> print(asserted("share(grade = pass) >= 0.9"))
    share(grade = pass) >= 0.9
    """

    words: str
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return self.words


def mean_above(column: str, threshold: float) -> Assertion:
    """Assert that the mean of a column, of numbers in [0, 1], is above a threshold."""
    return _mean(column, ">", validate.number("mean_above", "threshold", threshold, least=0, most=1))


def mean_below(column: str, threshold: float) -> Assertion:
    """Assert that the mean of a column, of numbers in [0, 1], is below a threshold."""
    return _mean(column, "<", validate.number("mean_below", "threshold", threshold, least=0, most=1))


def share_at_least(column: str, sign: str, value: Any, share: float) -> Assertion:
    """Assert that at least so many of the rows have a property: the cell of a column compared with a value.

    >>> share_at_least("grade", "=", "pass", 0.9).words
    'share(grade = pass) >= 0.9'
    """
    return _share(column, sign, str(value), ">=", validate.number("share_at_least", "share", share, least=0, most=1))


def differ_at_most(first: str, second: str, most: float) -> Assertion:
    """Assert that the means of two columns, of numbers in [0, 1], differ by at most so much.

    >>> differ_at_most("old", "new", 0.02).words
    '|mean(old) - mean(new)| <= 0.02'
    """
    e = validate.number("differ_at_most", "most", most, least=0, most=1)

    def halved(rows: Batch) -> Floats:
        return (1.0 + numbers(rows, first) - numbers(rows, second)) / 2.0

    parts = (
        Part(halved, (1 + e) / 2, above=False, strict=False, difference=True),
        Part(halved, (1 - e) / 2, above=True, strict=False, difference=True),
    )
    return Assertion(f"|mean({first}) - mean({second})| <= {e:g}", parts)


def asserted(text: str) -> Assertion:
    """Return the assertion that a text makes.

    >>> [len(asserted(text).parts) for text in ("mean(a) < 0.2", "|mean(a) - mean(b)| <= 0.1")]
    [1, 2]
    """
    whole = text.strip()
    if found := re.fullmatch(rf"\|\s*mean\((.+?)\)\s*-\s*mean\((.+?)\)\s*\|\s*<=\s*{NUMBER}", whole):
        return differ_at_most(found[1].strip(), found[2].strip(), _threshold(text, found[3]))
    if found := re.fullmatch(rf"mean\((.+?)\)\s*(>=|<=|>|<)\s*{NUMBER}", whole):
        return _mean(found[1].strip(), found[2], _threshold(text, found[3]))
    if found := re.fullmatch(rf"share\((.+?)\s*(!=|>=|<=|==|=|>|<)\s*(.+?)\)\s*(>=|<=|>|<)\s*{NUMBER}", whole):
        sign = "=" if found[2] == "==" else found[2]
        return _share(found[1].strip(), sign, found[3].strip(), found[4], _threshold(text, found[5]))
    raise ParameterError(f"audit: expected a statement that can be checked, got {text!r}; write for example {FORMS}.")


def _threshold(text: str, number: str) -> float:
    value = float(number)
    if not 0 <= value <= 1:
        raise ParameterError(f"audit: expected a number in [0, 1] at the end of {text!r}, got {number}; rescale it.")
    return value


def _mean(column: str, sign: str, threshold: float) -> Assertion:
    part = Part(lambda rows: numbers(rows, column), threshold, above=sign[0] == ">", strict=len(sign) == 1)
    return Assertion(f"mean({column}) {sign} {threshold:g}", (part,))


def _share(column: str, sign: str, value: str, compared: str, share: float) -> Assertion:
    if sign not in HOLDS:
        raise ParameterError(f"share_at_least: sign must be one of {', '.join(HOLDS)}, got {sign!r}; write '='.")
    part = Part(
        lambda rows: _property(rows, column, sign, value), share, above=compared[0] == ">", strict=len(compared) == 1
    )
    return Assertion(f"share({column} {sign} {value}) {compared} {share:g}", (part,))


def _property(rows: Batch, column: str, sign: str, value: str) -> Floats:
    cells = _column(rows, column)
    number = _number(value)
    if number is None and sign not in ("=", "!="):
        raise ParameterError(f"audit: expected a number after {column} {sign}, got {value!r}; write one, or use '='.")
    found = [_number(cell) if number is not None else str(cell).strip() for cell in cells]
    if None in found:
        raise TableError(f"audit: column {column} must hold numbers, got {cells[found.index(None)]!r}; fill it in.")
    return np.array([HOLDS[sign](cell, value if number is None else number) for cell in found], np.float64)


def numbers(rows: Batch, column: str) -> Floats:
    """Return the numbers of a column, which must be in [0, 1]."""
    cells = _column(rows, column)
    found = np.array([np.nan if (value := _number(cell)) is None else value for cell in cells], np.float64)
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        raise TableError(
            f"audit: column {column} must hold numbers in [0, 1], got {cells[int(np.argmax(wrong))]!r}; rescale it, "
            "for example with --range 0,100."
        )
    return found


def _column(rows: Batch, column: str) -> Any:
    if column not in rows:
        raise TableError(f"audit: expected a column {column}, got {', '.join(list(rows)[:20])}; write one of those.")
    return rows[column]


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
