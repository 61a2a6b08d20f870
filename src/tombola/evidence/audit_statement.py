"""Statements about a list, as inequalities of means that an audit can test.

A statement is one or more inequalities, all of which must hold. Each compares the mean of a
quantity in [0, 1] with a threshold. A statement is written in the units of its columns; `span` is
the smallest and the largest possible number.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.errors import ParameterError, TableError
from tombola.tables.columns import PERCENT, PLAIN, parse_cell, parse_number
from tombola.tables.unit_checks import cell_fix, cell_loss
from tombola.units import Units

# Some rows of a table: columns of cells by name, each a sequence of numbers or texts.
Batch = Mapping[str, Any]
# Smallest and largest possible number of a column, not the ones that were seen.
_Span = tuple[float, float]
# The default span, of columns in [0, 1].
_UNIT_SPAN: _Span = (0.0, 1.0)

# Regular expression of a number, as one group.
_NUMBER_PATTERN = r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"
# Examples in error messages.
_EXAMPLES = (
    "'mean(COLUMN) > 0.7', 'share(COLUMN = VALUE) >= 0.9' or '|mean(FIRST) - mean(SECOND)| <= 0.02'"
)
# Sign -> function that compares cells with a value.
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Inequality(NamedTuple):
    """Compare the mean of a quantity with a threshold, both in [0, 1].

    values: computes the quantity of every row from columns by name, shape (rows,).
    above, strict: True for mean > threshold, False for mean < threshold; whether equality is not
        enough.
    origin, unit: the quantity q is origin + unit * q in the units of the statement.
    """

    values: Callable[[Batch], Floats]
    threshold: float
    above: bool
    strict: bool
    origin: float = 0.0
    unit: float = 1.0

    def to_units(self, mean: float) -> float:
        """Convert a mean in [0, 1] to the units of the statement: origin + unit * mean."""
        return self.origin + self.unit * mean

    def from_units(self, mean: float) -> float:
        """Convert a mean in the units of the statement to [0, 1]: (mean - origin) / unit."""
        return (mean - self.origin) / self.unit

    def holds(self, mean: float, rows: int) -> bool:
        """Return whether a mean of `rows` rows satisfies it, up to rounding errors."""
        rounding = self.rounding(rows)
        margin = mean - self.threshold if self.above else self.threshold - mean
        return margin > rounding or (not self.strict and margin >= -rounding)

    def rounding(self, rows: int) -> float:
        """Return the largest rounding error of a mean of `rows` rows near the threshold."""
        return 2.0**-52 * (rows + 4) * max(self.threshold, abs(self.origin) / self.unit)


@dataclass(frozen=True)
class Statement:
    """A statement about the means of columns of a list; built by `parse_statement`.

    It is true if all its inequalities are: one, or two for a difference. `columns` are the names
    that it uses, `value` is that of share(COLUMN = VALUE) and of share(COLUMN != VALUE); None for
    other statements.

    >>> print(parse_statement("share(grade = pass) >= 0.9"))
    share(grade = pass) >= 0.9
    """

    text: str
    inequalities: tuple[Inequality, ...]
    columns: tuple[str, ...]
    value: str | None = None

    def has_value(self, rows: Batch) -> bool:
        """Return whether a cell of its column equals `value`; False without a value.

        >>> parse_statement("share(grade = Pass) >= 0.9").has_value({"grade": ["pass", "fail"]})
        False
        """
        return self.value is not None and bool(
            _comparison(rows, self.columns[0], "=", self.value).any()
        )

    @property
    def is_difference(self) -> bool:
        """Whether it compares the means of two columns."""
        return len(self.columns) == 2

    def __str__(self) -> str:
        return self.text


def parse_statement(text: str, *, span: _Span = _UNIT_SPAN) -> Statement:
    """Parse a statement such as "mean(score) > 70"; ParameterError if malformed.

    text: "mean(COLUMN) > 0.7", "share(COLUMN = VALUE) >= 0.9", "mean(FIRST) - mean(SECOND) > 0" or
        "|mean(FIRST) - mean(SECOND)| <= 0.02", in the units of the columns. All but the last take
        >, >=, < and <=.
    span: smallest and largest possible number of its columns.

    >>> [len(parse_statement(text).inequalities) for text in ("mean(a) < 0.2", "|mean(a) - mean(b)| <= 0.1")]
    [1, 2]
    >>> parse_statement("mean(score) > 70", span=(0, 100)).inequalities[0].threshold
    0.7
    """
    whole = text.strip()
    owner = f"audit: in {text!r}"
    low, high = (_validate.real(owner, "span", end) for end in span)
    width = high - low
    if not 0.0 < width < math.inf:
        raise ParameterError(
            f"{owner}: span must be the smallest and the largest number, got {span!r}; write (0, "
            "100)."
        )
    if match := re.fullmatch(
        rf"\|\s*mean\((.+?)\)\s*-\s*mean\((.+?)\)\s*\|\s*<=\s*{_NUMBER_PATTERN}", whole
    ):
        first, second = match[1].strip(), match[2].strip()
        bound = _threshold(owner, match[3], 0.0, width)
        inequalities = tuple(
            Inequality(
                _difference(first, second, span),
                (1 + end / width) / 2,
                above,
                strict=False,
                origin=-width,
                unit=2 * width,
            )
            for end, above in ((bound, False), (-bound, True))
        )
        return Statement(
            f"|mean({first}) - mean({second})| <= {bound:g}", inequalities, (first, second)
        )
    if match := re.fullmatch(
        rf"mean\((.+?)\)\s*-\s*mean\((.+?)\)\s*(>=|<=|>|<)\s*{_NUMBER_PATTERN}", whole
    ):
        first, second, sign = match[1].strip(), match[2].strip(), match[3]
        bound = _threshold(owner, match[4], -width, width)
        inequality = Inequality(
            _difference(first, second, span),
            (1.0 + bound / width) / 2.0,
            sign[0] == ">",
            len(sign) == 1,
            -width,
            2.0 * width,
        )
        text = f"mean({first}) - mean({second}) {sign} {bound:g}"
        return Statement(text, (inequality,), (first, second))
    if match := re.fullmatch(rf"mean\((.+?)\)\s*(>=|<=|>|<)\s*{_NUMBER_PATTERN}", whole):
        column = match[1].strip()
        sign = match[2]
        value = _threshold(owner, match[3], *span)
        inequality = Inequality(
            lambda rows: _numbers(rows, column, span),
            (value - low) / width,
            sign[0] == ">",
            len(sign) == 1,
            low,
            width,
        )
        return Statement(f"mean({column}) {sign} {value:g}", (inequality,), (column,))
    if match := re.fullmatch(
        rf"share\((.+?)\s*(!=|>=|<=|==|=|>|<)\s*(.+?)\)\s*(>=|<=|>|<)\s*{_NUMBER_PATTERN}", whole
    ):
        compared = match[1].strip(), "=" if match[2] == "==" else match[2], match[3].strip()
        return _share(
            owner,
            *compared,
            match[4],
            _validate.real(owner, "share", float(match[5]), least=0, most=1),
        )
    raise ParameterError(
        f"audit: expected a statement, got {text!r}; write for example {_EXAMPLES}."
    )


def _difference(first: str, second: str, span: _Span) -> Callable[[Batch], Floats]:
    """Return the function that computes half of one plus a difference of rescaled columns."""

    def rescaled_difference(rows: Batch) -> Floats:
        return (1.0 + _numbers(rows, first, span) - _numbers(rows, second, span)) / 2.0

    return rescaled_difference


def _share(
    owner: str, column: str, sign: str, value: str, compared: str, share: float
) -> Statement:
    if _number(value) is None and sign not in ("=", "!="):
        raise ParameterError(
            f"{owner}: expected a number after {column} {sign}, got {value!r}; write one, or use "
            "'='."
        )
    inequality = Inequality(
        lambda rows: _comparison(rows, column, sign, value),
        share,
        compared[0] == ">",
        len(compared) == 1,
    )
    text = f"share({column} {sign} {value}) {compared} {share:g}"
    equal_to = value if sign in ("=", "!=") else None
    return Statement(text, (inequality,), (column,), equal_to)


def _span_example(low: float, high: float) -> str:
    """Return the options for a span that contains two numbers, for error messages."""
    from tombola.tables.to_pool import suggested_range

    low, high = suggested_range(low, high)
    return f"--range {low:g},{high:g}, or span=({low:g}, {high:g}) in Python"


def _threshold(owner: str, text: str, low: float, high: float) -> float:
    number = _validate.real(owner, "threshold", float(text))
    if not low <= number <= high:
        raise ParameterError(
            f"{owner}: expected a threshold from {low:g} to {high:g}, got {number:g}; write one, "
            "or give the range of "
            f"the column ({_span_example(min(low, number), max(high, number))})."
        )
    return number


def _comparison(rows: Batch, column: str, sign: str, value: str) -> Floats:
    cells = _column(rows, column)
    number = _number(value)
    # Compare as numbers if the value is a number, else as text.
    parsed = [_number(cell) if number is not None else str(cell).strip() for cell in cells]
    if None in parsed:
        cell = cells[parsed.index(None)]
        raise TableError(
            f"audit: column {column} must hold plain numbers, got {cell!r}; write one, or "
            "compare with a text: "
            f"share({column} = TEXT)."
        )
    return np.array(
        [_COMPARISONS[sign](cell, value if number is None else number) for cell in parsed],
        np.float64,
    )


def _numbers(rows: Batch, column: str, span: _Span) -> Floats:
    """Return the numbers of a column, rescaled from `span` to [0, 1].

    Percentages and yes and no are read where `cell_loss` reads them.
    """
    cells = _column(rows, column)
    (low, high) = span
    units = Units(low, high)
    parsed = np.array([_value(cell, units) for cell in cells], np.float64)
    wrong = ~((parsed >= low) & (parsed <= high))
    if wrong.any():
        cell = str(cells[int(np.argmax(wrong))])
        example = _span_example(float(np.nanmin([low, *parsed])), float(np.nanmax([high, *parsed])))
        fix = cell_fix(cell, units, f"repair it, or give their range ({example})")
        number, notation = parse_cell(cell)
        if notation == PERCENT:
            fix = (
                "write all numbers without a percent sign, with their range "
                f"({_span_example(0.0, 100.0)})"
            )
        elif notation == PLAIN and number is not None and math.isnan(number):
            fix = "fill it in, or leave out the row"
        raise TableError(
            f"audit: column {column} must hold numbers from {low:g} to {high:g}, got {cell!r}; "
            f"{fix}."
        )
    return units.loss(parsed)


def _column(rows: Batch, column: str) -> Any:
    if column not in rows:
        raise TableError(
            f"audit: expected a column {column}, got {', '.join(list(rows)[:20])}; write one of "
            "those."
        )
    return rows[column]


def _value(cell: Any, units: Units) -> float:
    """Return the number of a cell, also of a percentage or word that `units` read; NaN without one."""
    number = _number(cell)
    if number is None and cell_loss(str(cell), units) is not None:
        number = parse_cell(str(cell)).number
    return math.nan if number is None else number


def _number(cell: Any) -> float | None:
    number = parse_number(cell)
    return None if math.isnan(number) else number
