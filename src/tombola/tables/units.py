"""Conversion between the units of a table and losses in [0, 1]."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.columns import (
    AMBIGUOUS_COMMA,
    BOOLEANS,
    PERCENT,
    TIMEOUT,
    Column,
    Columns,
    parse_cell,
    parse_share,
)
from tombola.tables.names import classify_name

_Number = TypeVar("_Number", float, Floats)
# Actions that an error message lists, as a command to copy.
_MAX_LISTED = 20
# Fix of a number outside of the range, in commands with the option --range.
_RANGE_FIX = "repair it, or give the range of the numbers: --range LOW,HIGH"


class Units(NamedTuple):
    """Conversion between numbers from `low` to `high` and losses in [0, 1].

    scores: whether higher is better; then `high` is loss 0.
    unit: the word for the numbers, such as "seconds"; "" for loss or score.

    >>> points = Units(0, 100, scores=True)
    >>> points.loss(80), points.number(0.2), points.gap(0.05), points.interval(0.1, 0.3)
    (0.2, 80.0, 5.0, (70.0, 90.0))
    """

    low: float = 0.0
    high: float = 1.0
    scores: bool = False
    unit: str = ""

    def loss(self, number: _Number) -> _Number:
        """Convert a value in table units, or an array of them, to losses in [0, 1]."""
        return (self.high - number if self.scores else number - self.low) / (self.high - self.low)

    def number(self, loss: float) -> float:
        """Convert a loss in [0, 1] to a number of the table, such as a score."""
        difference = self.gap(loss)
        return self.high - difference if self.scores else self.low + difference

    def gap(self, difference: float) -> float:
        """Convert a difference of losses to table units; positive is always worse."""
        return difference * (self.high - self.low)

    def parse(self, text: str) -> float | None:
        """Convert the text of a cell to a loss in [0, 1]; None if it is not a value.

        >>> Units(0, 10, scores=True).parse("7,5"), Units(scores=True).parse("yes"), Units().parse("?!")
        (0.25, 0.0, None)
        """
        number, notation = parse_cell(text)
        # yes is 1: beside numbers from 0 to 10 it may mean 1 or 10.
        if text.strip().lower() in BOOLEANS and not self._has_words:
            return None
        # 1,234 may also be 1234: it is a value only if that is too large.
        if notation == AMBIGUOUS_COMMA and float(text.replace(",", "")) <= self.high:
            return None
        # 75% is 0.75: where numbers go up to 100, it may mean either.
        if notation == PERCENT and self.high > 1.0:
            return None
        return None if number is None or not self.low <= number <= self.high else self.loss(number)

    def repair_text(self, cell: str, range_fix: str = _RANGE_FIX) -> str:
        """Return the fix of a cell that `parse` rejects; `range_fix` if the number is outside of the range."""
        if parse_cell(cell).notation == TIMEOUT:
            return f"for a timeout write the worst number of the range, {self.text(1.0)}"
        share = parse_share(cell)
        if share is not None and self.low == 0 and 0 <= share[0] <= share[1]:
            return f"write {share[0] / share[1] * self.high:.12g}"
        if parse_cell(cell).number is None or cell.strip().lower() in BOOLEANS:
            return (
                "write yes, no, 0, 1 or a number between them"
                if self._has_words
                else f"write {self.expected_text}"
            )
        return range_fix

    @property
    def expected_text(self) -> str:
        """The values that `parse` accepts, for an error message."""
        return (
            f"{'yes, no or ' if self._has_words else ''}a number from {self.low:g} to {self.high:g}"
        )

    @property
    def _has_words(self) -> bool:
        """Whether a cell may be yes, no, true or false."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def quantity(self) -> str:
        """The word for the numbers: the unit, such as seconds, or loss or score."""
        return self.unit or ("score" if self.scores else "loss")

    def text(self, losses: float | Sequence[float]) -> str:
        """Format a loss, or several with commas between them, in table units.

        >>> Units(0, 10, scores=True).text(0.25), Units().text((0.5, 1.0))
        ('7.5', '0.5, 1')
        """
        several = losses if isinstance(losses, Sequence) else (losses,)
        # Twelve digits hide the rounding of the conversion to a loss and back.
        return ", ".join(f"{self.number(loss):.12g}" for loss in several)

    @property
    def worst_text(self) -> str:
        """The worst value with its quantity, such as "score 0"."""
        return f"{self.quantity} {self.number(1.0):g}"

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """Convert an interval of losses to table units, the smaller number first."""
        ends = self.number(low), self.number(high)
        return (ends[1], ends[0]) if self.scores else ends

    def parse_loss(
        self,
        source: str,
        line: int,
        name: str,
        cell: str,
        range_fix: str = _RANGE_FIX,
        *,
        can_ignore: bool = False,
    ) -> float:
        """Convert a cell's text to a loss; TableError with file, line and column name, and the fix of `repair_text`.

        can_ignore: whether the command has the option --ignore, which is then a fix for a cell of
            text.
        """
        loss = self.parse(cell)
        if loss is None:
            ignore = f", or leave out the column with {option_text('ignore', [name])}"
            raise TableError(
                f"{source}: expected a number from {self.low:g} to {self.high:g} in line {line}, "
                f"column {name}, got "
                f"{cell!r}; {self.repair_text(cell, range_fix)}"
                f"{ignore if can_ignore and parse_cell(cell).number is None else ''}."
            )
        return loss


# Unit of losses in [0, 1]: no conversion.
UNIT_LOSSES = Units()


def parse_range(text: str) -> tuple[float, float]:
    """Parse the text LOW,HIGH, such as "0,100"; raise TableError unless LOW < HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = 0.0
    if not 0.0 < high - low < float("inf"):
        example = f"{high:g},{low:g}" if high < low else "0,100"
        raise TableError(
            f"--range: expected the smallest and the largest number, got {text!r}; write --range "
            f"{example}."
        )
    return low, high


def check_percent_cells(
    table: Columns, actions: Sequence[Column], limits: tuple[float, float] | None
) -> None:
    """Raise TableError if cells in percent do not fit the range (`limits`) or the other actions.

    67% is read as 0.67, which is wrong beside scores from 0 to 10, and in a range from 0 to 100.
    """
    percent = [column for column in actions if PERCENT in column.notations]
    if not percent:
        return
    others = [column for column in actions if PERCENT not in column.notations and column.n_numbers]
    low, high = _extremes(actions)
    is_beyond = low < 0 or high > 1
    if limits is None:
        fits = not others or not is_beyond
    else:
        # Percentages above 100% or below 0% need a wider range. It is one of fractions if 150% as
        # 150 is outside.
        only_fractions = (
            not others and is_beyond and not limits[0] <= 100 * low <= 100 * high <= limits[1]
        )
        fits = only_fractions or 0 <= limits[0] < limits[1] <= 1
    if fits:
        return
    column = min(percent, key=lambda one: one.notations[PERCENT].row)
    cell = column.notations[PERCENT]
    if limits is None:
        low, high = _extremes(others)
        expected, fix = (
            f"a number like those of the other actions, {low:g} to {high:g},",
            "write all in one unit",
        )
    else:
        expected = f"a number from {limits[0]:g} to {limits[1]:g}"
        fix = f"write numbers in the unit of {option_text('range')}"
    if len(others) > 1:
        fix += (
            f", or leave out the columns in percent: {actions_option([one.name for one in others])}"
        )
    elif not others and not is_beyond:
        fix += (
            f", or leave out {option_text('range')}, since cells in percent are read as "
            "fractions from 0 to 1"
        )
    raise TableError(
        f"{table.source}: expected {expected} in {table.place(cell.row)}, column "
        f"{column.name!r}, got {cell.text!r}; "
        f"{fix}."
    )


def columns_in_other_unit(values: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Return the few columns that are mostly above 1 beside others in [0, 1], by name.

    Half of the columns count only if all of their numbers look like percentages. Costs of different
    actions may differ by orders of magnitude, so columns named like costs are in one unit.

    >>> columns_in_other_unit(np.array([[0.7, 81.0], [0.4, 76.0]]), ["a", "b"])
    ['b']
    """
    if all(classify_name(name) == "cost" for name in names):
        return []
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    outside = np.flatnonzero((low < 0) | (high > 1))
    few = 2 * len(outside) < len(names)
    # A short scale, such as 0 to 5, may have a column within [0, 1] by chance; percentages are
    # mostly far above 1.
    clear = [
        np.nanmedian(values[:, at]) > 1 if few else low[at] > 1 and 10 < high[at] <= 100
        for at in outside
    ]
    return (
        [str(names[at]) for at in outside.tolist()]
        if 2 * len(outside) <= len(names) and all(clear)
        else []
    )


def unit_question(values: NDArray[Any]) -> str:
    """Return the likely cause of numbers beyond [0, 1] in one column, and its fix."""
    percent = np.fmin.reduce(values, axis=None) >= 0 and np.fmax.reduce(values, axis=None) <= 100
    return (
        "in percent? divide it by 100"
        if percent
        else "in another unit? convert it to that of the others"
    )


def actions_option(names: Sequence[str]) -> str:
    """Return the option `actions` with these names, as text; a placeholder beyond 20."""
    return option_text("actions", names if len(names) <= _MAX_LISTED else ["NAME", "NAME"])


def _extremes(columns: Sequence[Column]) -> tuple[float, float]:
    numbers = np.concatenate([column.numbers for column in columns])
    return float(np.nanmin(numbers)), float(np.nanmax(numbers))
