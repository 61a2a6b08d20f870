"""Cells in a unit, and columns in another unit than the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text
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
from tombola.units import Units

# Actions that an error message lists, as a command to copy.
_MAX_LISTED = 20
# Numbers that mark a missing cell beside numbers above 0.
_MARKS = (-1.0, -9.0, -99.0, -999.0, -9999.0)
# Numbers from which a share of percent is told, and its largest.
_PERCENT = (10.0, 100.0)
# Other cells for each odd one, and of all, from which it is told; different numbers of them.
_MIN_OTHERS_EACH = 2
_MIN_OTHERS = 4
_MIN_DIFFERENT = 3
# Cells that a message names.
_MAX_CELLS = 3
# Fix of a number outside of the range, in commands with the option --range.
_RANGE_FIX = "repair it, or give the range of the numbers: --range LOW,HIGH"


def cell_loss(text: str, units: Units) -> float | None:
    """Convert the text of a cell to a loss in [0, 1]; None if it is not a value.

    >>> cell_loss("7,5", Units(0, 10, scores=True)), cell_loss("yes", Units(scores=True)), cell_loss("?!", Units())
    (0.25, 0.0, None)
    """
    number, notation = parse_cell(text)
    # yes is 1: beside numbers from 0 to 10 it may mean 1 or 10.
    if text.strip().lower() in BOOLEANS and not units.has_words:
        return None
    # 1,234 may also be 1234: it is a value only if that is too large.
    if notation == AMBIGUOUS_COMMA and float(text.replace(",", "")) <= units.high:
        return None
    # 75% is 0.75: where numbers go up to 100, it may mean either.
    if notation == PERCENT and units.high > 1.0:
        return None
    return None if number is None or not units.low <= number <= units.high else units.loss(number)


def cell_fix(cell: str, units: Units, range_fix: str = _RANGE_FIX) -> str:
    """Return the fix of a cell that `cell_loss` rejects; `range_fix` if the number is outside of the range."""
    if parse_cell(cell).notation == TIMEOUT:
        return f"for a timeout write the worst number of the range, {units.text(1.0)}"
    share = parse_share(cell)
    if share is not None and units.low == 0 and 0 <= share[0] <= share[1]:
        return f"write {share[0] / share[1] * units.high:.12g}"
    if parse_cell(cell).number is None or cell.strip().lower() in BOOLEANS:
        return (
            "write yes, no, 0, 1 or a number between them"
            if units.has_words
            else f"write {units.expected_text}"
        )
    return range_fix


def parse_loss(
    source: str,
    line: int,
    name: str,
    cell: str,
    units: Units,
    range_fix: str = _RANGE_FIX,
    *,
    can_ignore: bool = False,
) -> float:
    """Convert a cell to a loss; TableError with file, line and column name, and the fix of `cell_fix`.

    can_ignore: whether the command has the option --ignore, which is then a fix for a cell of text.
    """
    loss = cell_loss(cell, units)
    if loss is None:
        ignore = f", or leave out the column with {option_text('ignore', [name])}"
        raise TableError(
            f"{source}: expected a number from {units.low:g} to {units.high:g} in line {line}, "
            f"column {name}, got "
            f"{cell!r}; {cell_fix(cell, units, range_fix)}"
            f"{ignore if can_ignore and parse_cell(cell).number is None else ''}."
        )
    return loss


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
    column = min(percent, key=lambda other: other.notations[PERCENT].row)
    cell = column.notations[PERCENT]
    if limits is None:
        low, high = _extremes(others)
        expected = f"a number like those of the other actions, {low:g} to {high:g},"
        fix = "write all in one unit"
    else:
        expected = f"a number from {limits[0]:g} to {limits[1]:g}"
        fix = f"write numbers in the unit of {option_text('range')}"
    if len(others) > 1:
        fix += f", or leave out the columns in percent: {actions_option([other.name for other in others])}"
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


def odd_cells(table: Columns, actions: Sequence[Column]) -> dict[str, str]:
    """Return the columns with a few cells that are in percent, or mark missing answers.

    The text of a column names the cells, says what they look like, and what to do. Only clear
    signs count: 65 where all others of the table are in [0, 1] with decimals, and -1 where all
    others are above 0.
    """
    # Most tables are within [0, 1], and need no copy.
    if not any(((column.numbers < 0) | (column.numbers > 1)).any() for column in actions):
        return {}
    values = np.column_stack([column.numbers for column in actions])
    known = values[~np.isnan(values)]
    if _has_marks(known):
        are_odd = values < 0
        looks = "like a mark for a missing answer"
        fix = f"leave them blank, and state {option_text('missing')}"
    elif _has_percent(known) and any(classify_name(column.name) != "cost" for column in actions):
        are_odd = values > 1
        looks = "like percent beside numbers in [0, 1]"
        fix = "divide them by 100"
    else:
        return {}
    found = {}
    for column, is_odd in zip(actions, are_odd.T, strict=True):
        rows = np.flatnonzero(is_odd).tolist()
        cells = [f"{column.numbers[row]:g} in {table.place(row)}" for row in rows[:_MAX_CELLS]]
        more = f" and {len(rows) - len(cells):,} more" if len(rows) > len(cells) else ""
        if cells:
            found[column.name] = (
                f"{', '.join(cells)}{more}, column {column.name!r}: such cells look {looks}; {fix}"
            )
    return found


def _has_marks(known: NDArray[Any]) -> bool:
    """Return whether a few numbers below 0 are one mark, and all others are above 0."""
    below = known < 0
    return (
        _are_few(below)
        and float(known.min()) in _MARKS
        and bool((known[below] == known.min()).all())
        and bool((known != 0).all())
        and len(np.unique(known[~below])) >= _MIN_DIFFERENT
    )


def _has_percent(known: NDArray[Any]) -> bool:
    """Return whether a few numbers are percentages, and all others in [0, 1], most with decimals."""
    is_large = (known >= _PERCENT[0]) & (known <= _PERCENT[1])
    others = known[~is_large]
    return (
        _are_few(is_large)
        and bool(((others >= 0) & (others <= 1)).all())
        and 2 * int(np.count_nonzero((others > 0) & (others < 1))) > len(others)
    )


def _are_few(mask: NDArray[np.bool_]) -> bool:
    """Return whether some cells are in a mask, and enough others are not."""
    count = int(mask.sum())
    return 0 < count and len(mask) - count >= max(_MIN_OTHERS, _MIN_OTHERS_EACH * count)


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
