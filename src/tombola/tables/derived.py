"""Rows and columns that sum up the others, such as maxima, means and totals.

They are left out only if both name and values say so. One of the two alone gives a note that asks.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text, plural
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns
from tombola.tables.names import (
    has_summary_word,
    is_id_name,
    is_summary_label,
    is_summary_name,
    summary_functions,
)
from tombola.tables.options import ReadOptions
from tombola.tables.question import Question

# Digits -> 9: labels such as q12 and q13 become equal, and have the same words.
_NINES = str.maketrans("012345678", "9" * 9)
# Styles of labels if all but two have the same.
_MAX_STYLES = 3
# Share of the rows in which a column must equal the function: single cells may have been edited.
_MIN_SHARE = 0.95
# Rows in which a column with and without a telling name must agree with the function; fewer agree
# by chance.
_MIN_NAMED_ROWS = 3
_MIN_ROWS = 20
# Columns up to which values alone are compared, since the work grows with the square of their
# number.
_MAX_COLUMNS = 100
# Rows compared first; most columns differ there already.
_FIRST_ROWS = 50
# Share of the rows, at most, whose labels may have a word for a sum and be asked about.
_MAX_ODD_SHARE = 0.2
# Rows from which a label, or a row of numbers, can be unlike all others.
_MIN_STYLED_ROWS = 5
# Ratio of a row to all others, in each column, from which it may be a total.
_TOTAL_RATIO = 2.0
# Words of a label at most, if one of them is to tell what it is: sentences have any word.
_MAX_LABEL_WORDS = 3
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
    ignored = {}
    questions = {}
    for column in (other for other in numeric if is_summary_name(other.name)):
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
        rest = [other for other in others if other is not column]
        if _function_of(
            column.head(_FIRST_ROWS), [other.head(_FIRST_ROWS) for other in rest], _MIN_ROWS, 1.0
        ):
            reason = _function_of(column, rest, _MIN_ROWS, 1.0)
            if reason and np.nanmin(column.numbers) < np.nanmax(column.numbers):
                questions[column.name] = _question(column, f"it is {reason}")
    return ignored, questions


@np.errstate(all="ignore")
def without_summary_rows(
    table: Columns, options: ReadOptions, id_column: str | None = None
) -> tuple[Columns, NDArray[np.bool_], list[str]]:
    """Return the table without rows of sums or means, the mask of the rows left, and notes.

    The first or last row is left out if its id (in `id_column`; None to detect it) is blank or a
    word such as total, and its numbers are the sums (or the means) of the other rows. If only one
    of both says so, QuestionError asks; without ids, or with stated candidates, a note does.
    """
    mask = np.ones(table.rows, dtype=bool)
    label = _label_column(table, id_column or options.ids)
    stated = [name.strip() for name in options.ignore_rows]
    if stated:
        mask = _stated_rows(table, label, stated)
        notes = [] if mask.all() else [f"left out {plural(int((~mask).sum()), 'row')} as requested"]
        return (table if mask.all() else table.select(mask)), mask, notes
    if table.rows < 3:
        return table, mask, []
    notes = []
    labels = None if label is None else _labels(label)
    shapes = _shapes(labels or ())
    # No word of a summary ends with a digit.
    summaries = {
        shape
        for shape in dict.fromkeys(shapes)
        if not shape[-1:].isdigit() and is_summary_label(shape)
    }
    labelled = [row for row, shape in enumerate(shapes) if shape in summaries] if summaries else []
    doubtful: list[int] = []
    numeric = [
        c for c in table.columns if c is not label and c.first_invalid is None and c.n_numbers > 1
    ]
    if labels is not None and options.actions is None:
        doubtful += _odd_rows(numeric, labels, shapes, labelled)
    for row in labelled:
        function = _function_of_rows(numeric, row, [other for other in labelled if other != row])
        if function and row in (0, table.rows - 1) and labels is not None:
            mask[row] = False
            where = "above" if row else "below"
            notes.append(
                f"left out {table.place(row)}, called {labels[row]!r}: the {function} of the rows "
                f"{where}"
            )
        else:
            doubtful.append(row)
    last = table.rows - 1
    if not labelled and labels is not None and labels[last] == "" and table.rows > _MIN_SUMMED_ROWS:
        function = _function_of_rows(numeric, last, [])
        if function:
            mask[last] = False
            notes.append(
                f"left out {table.place(last)}, without an id: the {function} of the rows above"
            )
    if not labelled and mask.all() and _is_total(numeric, last):
        if options.actions is not None or labels is None:
            notes.append(
                f"{table.place(last)}, the last, counts as a row although it is the sum of the "
                "rows above; leave it out if it is a total"
            )
        else:
            doubtful.append(last)
    if doubtful and labels is not None:
        raise _ask_about_row(table, options, labels, sorted({*doubtful})).error()
    return (table if mask.all() else table.select(mask)), mask, notes


def _shapes(labels: Sequence[str]) -> list[str]:
    """Return the labels with 9 for every digit: all at once, which is faster than one by one."""
    joined = "\n".join(labels)
    if joined.count("\n") != len(labels) - 1:
        return [label.translate(_NINES) for label in labels]
    return joined.translate(_NINES).split("\n")


def _odd_rows(
    numeric: Sequence[Column],
    labels: Sequence[str],
    shapes: Sequence[str],
    labelled: Sequence[int],
) -> list[int]:
    """Return rows that may be no rows, by a word of their label, or its style, and their numbers.

    shapes: the labels with 9 for every digit, of which a large table has few.
    """
    last = len(labels) - 1
    counts = Counter(shapes)
    words: set[str] = set()
    if has_summary_word("\n".join(counts)):
        words = {shape for shape in counts if has_summary_word(shape)}
    known = set(labelled)
    named = []
    if words:
        named = [row for row, shape in enumerate(shapes) if shape in words and row not in known]
    # Where many labels have such a word, it tells nothing.
    if len(named) > _MAX_ODD_SHARE * len(labels):
        named = []
    usual = _usual_pattern(counts, max(_MIN_STYLED_ROWS, last - 1))
    styled = [row for row in (0, last) if "9" in usual and _pattern(labels[row]) != usual]
    others = np.ones(last + 1, dtype=bool)
    others[[*named, *styled, *labelled, 0, last]] = False
    extreme = [
        row
        for row in {0, last, *named}
        if others.sum() >= _MIN_STYLED_ROWS
        and _is_extreme(numeric, row, others, 1.0 if row in named else _TOTAL_RATIO)
    ]
    at_end = [
        row for row in named if row in (0, last) and len(labels[row].split()) <= _MAX_LABEL_WORDS
    ]
    return sorted({*at_end, *extreme, *styled} - {*labelled})


def _is_extreme(
    numeric: Sequence[Column], row: int, others: NDArray[np.bool_], ratio: float
) -> bool:
    """Return whether all numbers of a row exceed this multiple of those of the others."""
    filled = [c for c in numeric if not np.isnan(c.numbers[row]) and c.n_numbers > 1]
    if len(filled) < 2:
        return False
    return all(
        float(c.numbers[row]) > ratio * float(np.nanmax(np.abs(c.numbers[others]), initial=0.0))
        for c in filled
    )


def _usual_pattern(counts: Mapping[str, int], least: int) -> str:
    """Return the style that at least `least` labels have, all but two; "" if none."""
    patterns: Counter[str] = Counter()
    for shape, count in counts.items():
        patterns[_pattern(shape)] += count
        if len(patterns) > _MAX_STYLES:
            return ""
    usual, count = patterns.most_common(1)[0]
    return usual if count >= least else ""


def _pattern(label: str) -> str:
    """Return the style of a label: letters as a, digits as 9."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", label))


def _ask_about_row(
    table: Columns, options: ReadOptions, labels: Sequence[str], rows: Sequence[int]
) -> Question:
    texts = [
        f"one called {labels[row]!r} in {table.place(row)}"
        if labels[row]
        else f"one without an id in {table.place(row)}"
        for row in rows[:3]
    ]
    is_total = is_summary_label(labels[rows[0]])
    end = "" if is_total else ", which may sum up others or describe them"
    # A blank id cannot be written as an option: such a row is named by its place.
    ends = {0: "first", table.rows - 1: "last"}
    names = list(dict.fromkeys(labels[row] or ends.get(row, "") for row in rows))
    return Question(
        table.source,
        f"expected a row, got {', '.join(texts)}{end}",
        tuple(names),
        (
            ("it sums up others", {"ignore_rows": names}),
            ("it is a row like the others", {"ignore_rows": ["none"]}),
        ),
    )


def _label_column(table: Columns, id_column: str | None) -> Column | None:
    """Return the column with the labels of the rows; None without one."""
    if id_column in table.by_name:
        return table.by_name[id_column]
    id_columns = [column for column in table.columns if is_id_name(column.name)]
    first = table.columns[0] if table.columns[0].n_numbers == 0 else None
    return next(iter(id_columns), first)


def _labels(column: Column) -> Sequence[str]:
    if column.texts is not None:
        return column.texts
    return ["" if number != number else f"{number:g}" for number in column.numbers.tolist()]


def _stated_rows(table: Columns, label: Column | None, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the rows that the option `ignore_rows` leaves."""
    mask = np.ones(table.rows, dtype=bool)
    labels = [] if label is None else _labels(label)
    for name in names:
        rows = [row for row, text in enumerate(labels) if text == name]
        if not rows and name in ("first", "last"):
            rows = [0 if name == "first" else table.rows - 1]
        if not rows and name != "none":
            raise TableError(
                f"{table.source}: expected the id of a row as {option_text('ignore_rows')} states, "
                f"got {name!r}; write one of the ids, first, last or none."
            )
        mask[rows] = False
    if not mask.any():
        raise TableError(
            f"{table.source}: expected rows, got only those that {option_text('ignore_rows')} "
            "leaves out; name fewer."
        )
    return mask


def _function_of_rows(columns: Sequence[Column], row: int, excluded: Sequence[int]) -> str:
    """Return the function, sum or mean, of the other rows that a row is in all columns; "" if none."""
    filled = [column for column in columns if not np.isnan(column.numbers[row])]
    if len(filled) < 2:
        return ""
    others = np.ones(len(filled[0].numbers), dtype=bool)
    others[[row, *excluded]] = False
    if not others.any():
        return ""
    for name, function in (("sum", np.nansum), ("mean", np.nanmean)):
        if all(
            bool(_is_near(c.numbers[[row]], function(c.numbers[others]), c.numbers[others]).all())
            for c in filled
        ):
            return name
    return ""


def _is_total(columns: Sequence[Column], last: int) -> bool:
    """Return whether the last row, of an ordinary name, is the sum of the others in all columns."""
    if last < _MIN_SUMMED_ROWS or _function_of_rows(columns, last, []) != "sum":
        return False
    # The sum of rows that are 0 but for one is a usual number; a total exceeds them.
    larger = [c for c in columns if abs(c.numbers[last]) > np.nanmax(np.abs(c.numbers[:last]))]
    return len(larger) > 1


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
    numbers = column.numbers
    others = np.column_stack([other.numbers for other in columns])
    filled = ~np.isnan(others)
    known = ~np.isnan(numbers) & filled.any(axis=1)
    numbers = numbers[known]
    others = others[known]
    filled = filled[known]
    if len(numbers) < least:
        return ""
    largest = np.fmax.reduce(others, axis=1)
    smallest = np.fmin.reduce(others, axis=1)
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
    best_share, name = max(counted, default=(0.0, ""))
    rows = "every row" if best_share == 1 else f"{best_share:.0%} of the rows"
    return f"the {name} of the others in {rows}" if best_share >= share else ""


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
