"""Rows and columns that sum up the others, such as maxima, means and totals.

They are left out only if both name and values say so. One of the two alone gives a note that asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text
from tombola._types import Floats
from tombola.tables.columns import Column, Columns
from tombola.tables.names import SUMMARY_IDS, is_id_name, is_summary_name, summary_functions

# Share of the rows in which a column must equal the function: single cells may have been edited.
_MIN_SHARE = 0.95
# Rows in which a column with and without a telling name must agree with the function; fewer agree
# by chance.
_MIN_NAMED_ROWS, _MIN_ROWS = 3, 20
# Columns up to which values alone are compared, since the work grows with the square of their
# number.
_MAX_COLUMNS = 100
# Rows compared first; most columns differ there already.
_FIRST_ROWS = 50
# Rows that a last row without an id must sum up.
_MIN_SUMMED_ROWS = 3
# A rounding error larger than this share of the spread would make numbers equal that differ, such
# as 0 and 0.4.
_MAX_ROUNDING = 0.05


@np.errstate(all="ignore")
def summary_columns(columns: Sequence[Column]) -> tuple[dict[str, str], dict[str, str]]:
    """Return columns that sum up others, with reasons; questions about likely ones."""
    numeric = [column for column in columns if column.first_invalid is None]
    others = [column for column in numeric if not is_summary_name(column.name)]
    if len(others) < 2:
        return {}, {}
    ignored, questions = {}, {}
    for column in (one for one in numeric if is_summary_name(one.name)):
        # Zeros and ones equal the largest of others in a few rows by chance.
        flags = np.isin(column.numbers[~np.isnan(column.numbers)], (0, 1)).all()
        least = _MIN_ROWS if flags else _MIN_NAMED_ROWS
        if reason := _function_of(
            column, others, least, _MIN_SHARE, summary_functions(column.name)
        ):
            ignored[column.name] = reason
        else:
            questions[column.name] = _question(column, "its name is that of a summary")
    for column in others if 2 < len(others) <= _MAX_COLUMNS else ():
        rest = [one for one in others if one is not column]
        if _function_of(
            column.head(_FIRST_ROWS), [one.head(_FIRST_ROWS) for one in rest], _MIN_ROWS, 1.0
        ):
            reason = _function_of(column, rest, _MIN_ROWS, 1.0)
            if reason and np.nanmin(column.numbers) < np.nanmax(column.numbers):
                questions[column.name] = _question(column, f"it is {reason}")
    return ignored, questions


@np.errstate(all="ignore")
def without_summary_row(table: Columns, id_column: str | None) -> tuple[Columns, list[str]]:
    """Return the table without a last row of sums or means, and a note on that row.

    Its id (in `id_column`; None to detect it) is blank or a word such as total, and each of its
    numbers is the sum (or each the mean) of the rows above. In a table without ids such sums are
    kept, and the note asks.
    """
    last = table.rows - 1
    named = [table.by_name[id_column]] if id_column in table.by_name else []
    named += [column for column in table.columns if is_id_name(column.name)]
    label = next(iter(named), table.columns[0] if table.columns[0].n_numbers == 0 else None)
    if label is None:
        return table, _sum_question(table)
    word = (
        label.texts[last].strip()
        if label.texts is not None
        else ""
        if np.isnan(label.numbers[last])
        else "number"
    )
    if last < (2 if word else 3) or (word and word.lower() not in SUMMARY_IDS):
        return table, []
    columns = [column for column in _filled_below(table) if column is not label]
    for name, function in (("sum", np.nansum), ("mean", np.nanmean)):
        if _is_last_row(columns, function):
            note = (
                f"left out {table.place(last)}, {f'called {word!r}' if word else 'without an id'}: "
            )
            kept = [column.head(last) for column in table.columns]
            lines = None if table.lines is None else table.lines[:last]
            return replace(table, columns=kept, lines=lines), [
                f"{note}the {name} of the rows above"
            ]
    return table, []


def _sum_question(table: Columns) -> list[str]:
    """Return a question about a last row of sums in a table without ids, if any."""
    last, columns = table.rows - 1, _filled_below(table)
    if last < _MIN_SUMMED_ROWS or not _is_last_row(columns, np.nansum):
        return []
    # The sum of rows that are 0 but for one is a usual number; a total exceeds them.
    larger = [c for c in columns if abs(c.numbers[last]) > np.nanmax(np.abs(c.numbers[:last]))]
    text = (
        f"{table.place(last)}, the last, counts as a row although it is the sum of the rows "
        "above; leave it out if"
    )
    return [f"{text} it is a total"] if len(larger) > 1 else []


def _filled_below(table: Columns) -> list[Column]:
    """Return the columns of numbers whose last cell is filled."""
    numeric = (
        column for column in table.columns if column.first_invalid is None and column.n_numbers > 1
    )
    return [column for column in numeric if not np.isnan(column.numbers[-1])]


def _is_last_row(columns: Sequence[Column], function: Callable[[Floats], Any]) -> bool:
    """Return whether the last row is a function of the others, in several columns."""
    return len(columns) > 1 and all(
        bool(_is_near(c.numbers[-1:], function(c.numbers[:-1]), c.numbers[:-1]).all())
        for c in columns
    )


def _question(column: Column, reason: str) -> str:
    ignore = option_text("ignore", [column.name])
    return f"{column.name!r} counts as an action although {reason}; write {ignore} if it is none"


def _function_of(
    column: Column,
    columns: Sequence[Column],
    least: int,
    share: float,
    stated: Sequence[str] | None = None,
) -> str:
    """Return the function (a `stated` one, if any) of other columns that a column is, as text; "" if none.

    Missing cells of the others are left out, as in spreadsheets. At least `least` rows are
    compared; a `share` of them must agree.
    """
    numbers, others = column.numbers, np.column_stack([one.numbers for one in columns])
    filled = ~np.isnan(others)
    known = ~np.isnan(numbers) & filled.any(axis=1)
    numbers, others, filled = numbers[known], others[known], filled[known]
    if len(numbers) < least:
        return ""
    largest, smallest = np.fmax.reduce(others, axis=1), np.fmin.reduce(others, axis=1)
    totals = np.where(filled, others, 0.0).sum(axis=1)
    functions = {
        "largest": largest,
        "smallest": smallest,
        "mean": totals / filled.sum(axis=1),
        "sum": totals,
    }
    agree = [(name, _is_near(numbers, values, others)) for name, values in functions.items()]
    for start in (0, 1):  # columns are counted from
        places = (numbers - start).astype(np.int64)
        valid = (places + start == numbers) & (places >= 0) & (places < others.shape[1])
        cells = np.take_along_axis(others, np.where(valid, places, 0)[:, None], axis=1)[:, 0]
        agree += [
            (f"place of the {name}", valid & (cells == functions[name]))
            for name in ("largest", "smallest")
        ]
    counted = [
        (float(same.mean()), name) for name, same in agree if stated is None or name in stated
    ]
    found, name = max(counted, default=(0.0, ""))
    rows = "every row" if found == 1 else f"{found:.0%} of the rows"
    return f"the {name} of the others in {rows}" if found >= share else ""


def _is_near(numbers: Floats, values: Any, others: Floats) -> NDArray[np.bool_]:
    """Return where numbers equal values, rounded to the decimals of the numbers."""
    scale = 1e-9 * max(1.0, float(np.abs(numbers).max()))
    digits = next(
        (d for d in range(10) if (np.abs(numbers - np.round(numbers, d)) <= scale).all()), 10
    )
    spread = float(np.nanmax(others) - np.nanmin(others))
    near: NDArray[np.bool_] = (
        np.abs(numbers - values) <= min(0.5 * 10.0**-digits, _MAX_ROUNDING * spread) + scale
    )
    return near
