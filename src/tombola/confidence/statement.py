"""StatementTest: a statement about a list that rows drawn from it in random order prove or refute.

An assertion is one or more parts, all of which must hold. Each part says that the mean of some value in [0, 1] is above
or below a threshold, and two bets are placed: one against its contrary, which proves it, and one against itself. A
statement speaks of the numbers that are in the columns, from the smallest to the largest there can be: their `span`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.errors import ParameterError, TableError

Batch = Mapping[str, Any]  # a column of cells under each name
Span = tuple[float, float]
UNIT: Span = (0.0, 1.0)

NUMBER = r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"
FORMS = "'mean(COLUMN) > 0.7', 'share(COLUMN = VALUE) >= 0.9' or '|mean(FIRST) - mean(SECOND)| <= 0.02'"
SPAN = "--range 0,100, or span=(0, 100) in Python"
HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Part(NamedTuple):
    """The mean of what `values` makes of rows, in [0, 1], is above (or below) the threshold, or equal if not strict.

    In the numbers of the statement 0 is `origin`, and 1 is `unit` more.
    """

    values: Callable[[Batch], Floats]
    threshold: float
    above: bool
    strict: bool
    origin: float = 0.0
    unit: float = 1.0

    def natural(self, mean: float) -> float:
        """Return a mean in the numbers of the statement."""
        return self.origin + self.unit * mean

    def inner(self, natural: float) -> float:
        """Return the mean that is this in the numbers of the statement."""
        return (natural - self.origin) / self.unit

    def holds(self, mean: float, rows: int) -> bool:
        """Tell whether a list of so many rows with this mean is as the part says; what rounding can do is equal."""
        rounding = 2.0**-52 * (rows + 4) * max(self.threshold, abs(self.origin) / self.unit)
        over = mean - self.threshold if self.above else self.threshold - mean
        return over > rounding or (not self.strict and over >= -rounding)


@dataclass(frozen=True)
class StatementTest:
    """A statement in words, its parts, the columns it speaks of, and whether it is about how far two are apart.

    >>> print(parse_statement("share(grade = pass) >= 0.9"))
    share(grade = pass) >= 0.9
    """

    words: str
    parts: tuple[Part, ...]
    columns: tuple[str, ...]

    @property
    def difference(self) -> bool:
        """Whether two columns are compared."""
        return len(self.columns) == 2

    def __str__(self) -> str:
        return self.words


def mean_above(column: str, threshold: float, *, span: Span = UNIT) -> StatementTest:
    """Assert that the mean of a column is above a threshold.

    >>> mean_above("score", 70, span=(0, 100)).words
    'mean(score) > 70'
    """
    return _mean("mean_above", column, ">", threshold, span)


def mean_below(column: str, threshold: float, *, span: Span = UNIT) -> StatementTest:
    """Assert that the mean of a column is below a threshold."""
    return _mean("mean_below", column, "<", threshold, span)


def share_at_least(column: str, sign: str, value: Any, share: float) -> StatementTest:
    """Assert that at least so many of the rows have a property: the cell of a column compared with a value.

    >>> share_at_least("grade", "=", "pass", 0.9).words
    'share(grade = pass) >= 0.9'
    """
    return _share("share_at_least", column, sign, str(value), ">=", share)


def differ_at_most(first: str, second: str, most: float, *, span: Span = UNIT) -> StatementTest:
    """Assert that the means of two columns differ by at most so much.

    >>> differ_at_most("old", "new", 0.02).words
    '|mean(old) - mean(new)| <= 0.02'
    """
    return _differ("differ_at_most", first, second, most, span)


def parse_statement(text: str, *, span: Span = UNIT) -> StatementTest:
    """Return the assertion that a text makes about numbers from `span[0]` to `span[1]`.

    >>> [len(parse_statement(text).parts) for text in ("mean(a) < 0.2", "|mean(a) - mean(b)| <= 0.1")]
    [1, 2]
    >>> parse_statement("mean(score) > 70", span=(0, 100)).parts[0].threshold
    0.7
    """
    whole, who = text.strip(), f"audit: in {text!r}"
    if found := re.fullmatch(rf"\|\s*mean\((.+?)\)\s*-\s*mean\((.+?)\)\s*\|\s*<=\s*{NUMBER}", whole):
        return _differ(who, found[1].strip(), found[2].strip(), float(found[3]), span)
    if found := re.fullmatch(rf"mean\((.+?)\)\s*(>=|<=|>|<)\s*{NUMBER}", whole):
        return _mean(who, found[1].strip(), found[2], float(found[3]), span)
    if found := re.fullmatch(rf"share\((.+?)\s*(!=|>=|<=|==|=|>|<)\s*(.+?)\)\s*(>=|<=|>|<)\s*{NUMBER}", whole):
        sign = "=" if found[2] == "==" else found[2]
        return _share(who, found[1].strip(), sign, found[3].strip(), found[4], float(found[5]))
    raise ParameterError(f"audit: expected a statement that can be checked, got {text!r}; write for example {FORMS}.")


def _threshold(who: str, value: float, low: float, high: float) -> float:
    number = _validate.real(who, "threshold", value)
    if not low <= number <= high:
        raise ParameterError(
            f"{who}: expected a threshold from {low:g} to {high:g}, got {number:g}; write one, or say what the numbers "
            f"in the column can be ({SPAN})."
        )
    return number


def _width(who: str, span: Span) -> float:
    low, high = (_validate.real(who, "span", end) for end in span)
    if not 0.0 < high - low < float("inf"):
        raise ParameterError(f"{who}: span must be the smallest and the largest number, got {span!r}; write (0, 100).")
    return high - low


def _differ(who: str, first: str, second: str, most: float, span: Span) -> StatementTest:
    width = _width(who, span)
    e = _threshold(who, most, 0.0, width)

    def halved(rows: Batch) -> Floats:
        return (1.0 + numbers(rows, first, span) - numbers(rows, second, span)) / 2.0

    parts = (
        Part(halved, (1 + e / width) / 2, above=False, strict=False, origin=-width, unit=2 * width),
        Part(halved, (1 - e / width) / 2, above=True, strict=False, origin=-width, unit=2 * width),
    )
    return StatementTest(f"|mean({first}) - mean({second})| <= {e:g}", parts, (first, second))


def _mean(who: str, column: str, sign: str, threshold: float, span: Span) -> StatementTest:
    width = _width(who, span)
    value = _threshold(who, threshold, *span)
    part = Part(
        lambda rows: numbers(rows, column, span), (value - span[0]) / width, above=sign[0] == ">",
        strict=len(sign) == 1, origin=span[0], unit=width,
    )  # fmt: skip
    return StatementTest(f"mean({column}) {sign} {value:g}", (part,), (column,))


def _share(who: str, column: str, sign: str, value: str, compared: str, share: float) -> StatementTest:
    if sign not in HOLDS:
        raise ParameterError(f"{who}: sign must be one of {', '.join(HOLDS)}, got {sign!r}; write '='.")
    if _number(value) is None and sign not in ("=", "!="):
        raise ParameterError(f"{who}: expected a number after {column} {sign}, got {value!r}; write one, or use '='.")
    part = Part(
        lambda rows: _property(rows, column, sign, value), _validate.real(who, "share", share, least=0, most=1),
        above=compared[0] == ">", strict=len(compared) == 1,
    )  # fmt: skip
    return StatementTest(f"share({column} {sign} {value}) {compared} {share:g}", (part,), (column,))


def _property(rows: Batch, column: str, sign: str, value: str) -> Floats:
    cells = _column(rows, column)
    number = _number(value)
    found = [_number(cell) if number is not None else str(cell).strip() for cell in cells]
    if None in found:
        raise TableError(f"audit: column {column} must hold numbers, got {cells[found.index(None)]!r}; fill it in.")
    return np.array([HOLDS[sign](cell, value if number is None else number) for cell in found], np.float64)


def numbers(rows: Batch, column: str, span: Span = UNIT) -> Floats:
    """Return the numbers of a column, which must be in their span, as shares of it."""
    cells, (low, high) = _column(rows, column), span
    found = np.array([np.nan if (value := _number(cell)) is None else value for cell in cells], np.float64)
    wrong = ~((found >= low) & (found <= high))
    if wrong.any():
        raise TableError(
            f"audit: column {column} must hold numbers from {low:g} to {high:g}, got "
            f"{str(cells[int(np.argmax(wrong))])!r}; repair it, or say what the numbers can be ({SPAN})."
        )
    return (found - low) / (high - low)


def _column(rows: Batch, column: str) -> Any:
    if column not in rows:
        raise TableError(f"audit: expected a column {column}, got {', '.join(list(rows)[:20])}; write one of those.")
    return rows[column]


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
