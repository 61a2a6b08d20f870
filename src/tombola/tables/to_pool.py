"""Conversion of a parsed table to a pool: missing cells, direction and range."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import (
    HtmlTable,
    format_number,
    format_percent,
    html_block,
    is_cli_style,
    join_names,
    option_text,
    plural,
)
from tombola._types import Floats, Integers
from tombola.errors import TableError
from tombola.pool import Pool
from tombola.tables.options import ParsedTable
from tombola.tables.question import Question
from tombola.tables.unit_checks import actions_option, columns_in_other_unit, unit_question
from tombola.units import KINDS, Kind, Units

# Placeholder of the time limit of a table with timeouts, in a command to complete.
TIME_LIMIT = "LIMIT"
# Upper ends of usual scales, which start at 0.
_USUAL_ENDS = (1.0, 5.0, 10.0, 100.0)
# Candidates in the first line of an answer; of others only the number is given.
_MAX_LISTED = 12
# Numbers examined at a time.
_CHUNK_SIZE = 1 << 20
# With a larger share of incomplete rows, messages suggest to fill them in: dropping them would
# leave too little.
MAX_DROPPED_SHARE = 0.5
# A cell farther from the others than this many times their spread sets no scale unasked.
_OUTLIER_RATIO = 10
# Cells from which an outlier can be told.
_MIN_CELLS = 6
# A range this many times as wide as the values is probably in another unit.
_MIN_RANGE_RATIO = 10


class Table(NamedTuple):
    """A table as read: pool, delays, notes, and the meaning of its numbers.

    pool: losses in [0, 1], with costs and features if there are any.
    delays: rounds until the feedback of each row arrives; None without delays.
    kind: "losses" (lower is better) or "scores" (higher is better).
    unit: the word that the column names use for the numbers ("accuracy", "seconds"), or "".
    range: the two table values that were mapped to losses 0 and 1, the smaller one first.
    strata: the group of each row, if the option `by` names their column; else None.
    remarks: sentences that belong directly below the direction, such as the number of cells that
        count as worst.
    other_units: columns that look like actions in another unit, and are left out.
    ignored: columns that are no candidates, with the reason.
    rows_left_out: number of rows of the file that are not in the pool.
    runs: losses in [0, 1] of all answers, shape (runs, rows, actions), if cells have several; NaN where
        a cell has fewer. The pool then has their means, of which another run would give others.

    >>> table = Table(Pool([[0.2, 0.5]]), None, [], "scores", "accuracy", (0.0, 100.0))
    >>> table.direction, table.units.number(0.2), table.units.gap(0.05)
    ('read as scores (accuracy): higher is better', 80.0, 5.0)
    """

    pool: Pool
    delays: Integers | None
    notes: list[str]
    kind: Kind = "losses"
    unit: str = ""
    range: tuple[float, float] = (0.0, 1.0)
    strata: tuple[str, ...] | None = None
    remarks: tuple[str, ...] = ()
    other_units: tuple[str, ...] = ()
    runs: Floats | None = None
    ignored: Mapping[str, str] = MappingProxyType({})
    rows_left_out: int = 0

    def __repr__(self) -> str:
        parts = [plural(self.pool.rows, "row"), plural(self.pool.k, "action"), self.direction]
        return f"Table({', '.join(parts)})"

    def _repr_html_(self) -> str:
        names = self.pool.actions
        means = [self.units.number(float(mean)) for mean in self.pool.means]
        rows = [(name, format_number(mean)) for name, mean in zip(names, means, strict=True)]
        facts = [("rows", f"{self.pool.rows:,}"), ("numbers", self.direction)]
        table = HtmlTable(("action", f"mean {self.units.quantity}"), rows)
        return html_block("Table", facts, [table], [*self.remarks, *self.notes])

    def reading(self) -> dict[str, Any]:
        """Return how the table was read, for JSON: direction, candidates, and what was left out.

        >>> Table(Pool([[0.2, 0.5]]), None, []).reading()
        {'kind': 'losses', 'candidates': ['0', '1'], 'ignored_columns': {}, 'rows_left_out': 0}
        """
        return {
            "kind": self.kind,
            "candidates": list(self.pool.actions),
            "ignored_columns": dict(self.ignored),
            "rows_left_out": self.rows_left_out,
        }

    @property
    def direction(self) -> str:
        """The direction as a phrase, such as "read as losses: lower is better"."""
        return direction_text(self.kind, self.unit)

    @property
    def without(self) -> str:
        """The columns left out for their unit, such as "without claude", or ""."""
        return f"without {join_names(self.other_units)}" if self.other_units else ""

    @property
    def units(self) -> Units:
        """Conversion between losses in [0, 1] and the numbers of the table."""
        plain = self.kind == "losses" and self.range == (0.0, 1.0)
        return Units(*self.range, scores=self.kind == "scores", unit="" if plain else self.unit)


def direction_text(kind: Kind, unit: str = "") -> str:
    """Return the direction as a phrase, such as "read as losses: lower is better"."""
    unit_text = f" ({unit})" if unit and unit not in (kind, kind[:-1], "loss") else ""
    return f"read as {kind}{unit_text}: {'higher' if kind == 'scores' else 'lower'} is better"


def reading_line(kind: Kind, unit: str, candidates: Sequence[str], name: str = "") -> str:
    """Return the first sentences of an answer: how a table, with this name, was read.

    >>> reading_line("losses", "", ["gpt", "llama"])
    'Read as losses: lower is better. Candidates: gpt, llama.'
    """
    names = join_names(candidates, limit=_MAX_LISTED, length=40)
    direction = direction_text(kind, unit)
    start = f"{name}: {direction}" if name else f"R{direction[1:]}"
    return f"{start}. Candidates: {names}."


def reading_remarks(
    parsed: ParsedTable, *, missing: str, limits: tuple[float, float] | None
) -> tuple[str, ...]:
    """Return remarks on contradictions, worst cells and too wide a range, to print below the direction."""
    remarks = [f"Note: {parsed.contradiction}"] if parsed.contradiction else []
    values = parsed.values
    count = int(np.isnan(values).sum()) if missing == "worst" and values.dtype.kind == "f" else 0
    if count:
        units = Units(*(limits or (0.0, 1.0)), scores=parsed.kind == "scores", unit=parsed.unit)
        verbs = "is missing and counts" if count == 1 else "are missing and count"
        race = (
            "tombola race start ... --known TABLE" if is_cli_style() else "race(..., known=table)"
        )
        advice = (
            ": the answer depends on which cells are filled; a race starts from the "
            f"filled ones: {race}"
        )
        remarks.append(
            f"{count:,} of {plural(values.size, 'cell')} ({format_percent(count / values.size)}) {verbs} as "
            f"{units.worst_text}"
            f"{'' if parsed.has_timeouts else advice}."
        )
    if limits is None or parsed.has_timeouts:
        return tuple(remarks)
    if limits[1] > 1 and (outside := other_unit(parsed)):
        remarks.append(
            f"Note: only {join_names(outside)} is above 1: {_other_unit_advice(parsed, outside)}."
        )
    ends = value_range(parsed)
    low, high = suggested_range(*ends)
    # Ten times is the step between the usual scales: 0 to 1, 0 to 10, 0 to 100.
    if any(ends) and _MIN_RANGE_RATIO * (high - low) <= limits[1] - limits[0]:
        remarks.append(
            f"Note: all values lie between {low:g} and {high:g}, the range is {limits[0]:g} to "
            f"{limits[1]:g}: is "
            f"{option_text('range', (low, high))} meant?"
        )
    return tuple(remarks)


def to_pool(
    parsed: ParsedTable,
    *,
    missing: str,
    limits: tuple[float, float] | None,
    rescale: bool,
    may_ask: bool = True,
) -> Table:
    """Convert a parsed table to a pool of losses in [0, 1].

    Parameters are those of `read_table`; `limits` is its `range`. may_ask: whether a cell that
    would set the scale raises a question; not if the candidates are stated.
    """
    kind = parsed.require_direction(
        {}
        if limits or rescale
        else {direction: range_option(parsed, direction) for direction in KINDS}
    )
    original = parsed
    parsed = _handle_missing(parsed, missing)
    low, high, notes = _limits(parsed, kind, limits=limits, rescale=rescale, may_ask=may_ask)
    losses = _losses(parsed, kind, low, high)
    runs = (
        None
        if parsed.runs is None
        else _losses(parsed._replace(values=parsed.runs), kind, low, high)
    )
    if missing == "worst" and losses.dtype.kind == "f" and (filled := int(np.isnan(losses).sum())):
        losses = np.where(np.isnan(losses), losses.dtype.type(1), losses)
        units = Units(low, high, scores=kind == "scores", unit=parsed.unit)
        notes += [f"counted {plural(filled, 'missing cell')} as {units.worst_text}"]
    pool = Pool(
        losses,
        parsed.actions,
        parsed.ids,
        parsed.costs,
        features=parsed.features,
        feature_names=parsed.feature_names or None,
    )
    remarks = reading_remarks(original, missing=missing, limits=(low, high) if rescale else limits)
    table = Table(
        pool,
        _delays(parsed),
        [],
        kind,
        parsed.unit,
        (low, high),
        parsed.strata,
        remarks,
        parsed.other_units,
        runs,
        parsed.ignored,
        len(original.values) - len(parsed.values) + original.n_masked,
    )
    mean = f"mean {table.units.quantity} {table.units.number(float(pool.means[pool.best])):.4g}"
    names = pool.all_best
    best = f"best fixed action{'s' if len(names) > 1 else ''}: {join_names(names)}, {mean}"
    return table._replace(notes=[table.direction, *parsed.notes, *notes, best])


def incomplete_rows(parsed: ParsedTable) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of rows that lack a value, and of rows that lack a cost or delay."""
    rows = parsed.values.shape[0]
    without_value = _rows_with_nan(parsed.values)
    without_cost = np.zeros(rows, dtype=bool)
    for name, others in (("costs", parsed.costs), ("delays", parsed.delays)):
        if others is not None and others.shape[0] != rows:
            raise TableError(
                f"{parsed.source}: {name} must be given for each of the {rows} rows, got "
                f"{len(others)}; give as many."
            )
        without_cost |= False if others is None else _rows_with_nan(others)
    return without_value, without_cost


def source_name(source: object) -> str:
    """Return the name of a source in messages: its path, or the name of its type."""
    return str(source) if isinstance(source, str | Path) else type(source).__name__


def check_missing(parsed: ParsedTable) -> None:
    """Raise QuestionError if cells are missing: they may be failures, or not answered yet."""
    without_value, without_cost = incomplete_rows(parsed)
    if without_value.any():
        raise _missing_error(parsed, without_value, without_cost, may_keep=True)


def check_timeouts(parsed: ParsedTable, *, missing: str) -> None:
    """Raise TableError if missing cells are timeouts, unless they count as the worst.

    A row that a candidate cannot solve in time is not a random part of the list; dropping it would
    favour it.
    """
    without_value, without_cost = incomplete_rows(parsed)
    if missing != "worst" and parsed.has_timeouts and without_value.any():
        raise _missing_error(parsed, without_value, without_cost)


def _handle_missing(parsed: ParsedTable, missing: str) -> ParsedTable:
    without_value, without_cost = incomplete_rows(parsed)
    incomplete = without_value | without_cost
    if not incomplete.any():
        return parsed
    if missing == "error":
        raise _missing_error(parsed, without_value, without_cost)
    if missing == "drop":
        return _drop_rows(parsed, incomplete)
    return _fill_costs_and_delays(parsed) if without_cost.any() else parsed


def _rows_with_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    mask = np.zeros(values.shape[0], dtype=bool)
    if values.dtype.kind != "f":
        return mask
    for rows in _chunks(values):
        part = np.isnan(values[rows])
        mask[rows] = part.reshape(len(part), -1).any(axis=1)
    return mask


def _chunks(values: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of rows, so that a memory-mapped table is never loaded as a whole."""
    height = max(1, _CHUNK_SIZE // max(1, int(np.prod(values.shape[1:]))))
    return (slice(start, start + height) for start in range(0, values.shape[0], height))


def _missing_error(
    parsed: ParsedTable,
    without_value: NDArray[np.bool_],
    without_cost: NDArray[np.bool_],
    *,
    may_keep: bool = False,
) -> TableError:
    """Return the question, to be raised, how missing cells count.

    may_keep: whether rows may stay open, as not answered yet.
    """
    incomplete = without_value | without_cost
    count = int(incomplete.sum())
    rows = len(incomplete)
    place = parsed.first_missing if without_value.any() and parsed.first_missing else None
    place = place or f"row {int(np.argmax(incomplete))}, got none"
    text = (
        f"expected a {'number' if without_value.any() else 'cost or delay'} in {place}, and cells "
        f"are missing in {count} of {plural(rows, 'row')}"
    )
    if parsed.has_timeouts:
        # Dropping the rows that a candidate cannot solve would favour it.
        worst = option_text("missing", "worst")
        limit = option_text("range", (0.0, 60.0))
        return TableError(
            f"{parsed.source}: {text}; with timeouts write {worst} and the time limit, such as "
            f"{limit}: each counts as the limit."
        )
    if count == rows and not may_keep:
        return TableError(
            f"{parsed.source}: {text}; fill them in, or finish the table with a race, which needs "
            "few of its cells."
        )
    names = _incomplete_names(parsed)
    if len(names) < len(parsed.names):
        text += f", all of them of {join_names(names)}"
    answers: list[tuple[str, Mapping[str, Any]]] = [
        ("they are failures, which count as the worst answer", {"missing": "worst"}),
        (
            f"the answer is to be about the other {plural(rows - count, 'row')}",
            {"missing": "drop"},
        ),
    ]
    if may_keep:
        kept = "these rows are not answered yet, whatever their answers will be"
        answers.insert(0, (kept, {"missing": "keep"}))
    if count == rows:
        answers = [answer for answer in answers if answer[1] != {"missing": "drop"}]
    if count > MAX_DROPPED_SHARE * rows:
        text += " (a race finishes the table with few of its cells)"
    return Question(parsed.source, text, ("missing", *names), tuple(answers)).error()


def _incomplete_names(parsed: ParsedTable) -> list[str]:
    """Return the candidates with missing cells."""
    if parsed.values.dtype.kind != "f":
        return []
    blank = np.isnan(parsed.values).any(axis=0)
    return [name for name, is_blank in zip(parsed.names, blank, strict=True) if is_blank]


def _drop_rows(parsed: ParsedTable, incomplete: NDArray[np.bool_]) -> ParsedTable:
    complete = ~incomplete
    count = int(incomplete.sum())
    if not complete.any():
        raise TableError(
            f"{parsed.source}: expected a row without missing cells, got none; fill in some rows."
        )
    return parsed._replace(
        values=parsed.values[complete],
        ids=None if parsed.ids is None else tuple(compress(parsed.ids, complete)),
        costs=None if parsed.costs is None else parsed.costs[complete],
        delays=None if parsed.delays is None else parsed.delays[complete],
        features=None if parsed.features is None else parsed.features[complete],
        strata=None if parsed.strata is None else tuple(compress(parsed.strata, complete)),
        runs=None if parsed.runs is None else parsed.runs[:, complete],
        notes=[
            *parsed.notes,
            f"dropped {count} of {plural(len(complete), 'row')}, which have missing cells",
        ],
    )


def _fill_costs_and_delays(parsed: ParsedTable) -> ParsedTable:
    """Fill missing costs with the largest one, missing delays with the horizon."""
    costs = parsed.costs
    delays = parsed.delays
    notes = list(parsed.notes)
    if costs is not None and (count := int(np.isnan(costs).sum())):
        if np.isnan(costs).all(axis=(0, 1)).any():
            raise TableError(
                f"{parsed.source}: expected the costs of some row, got none; leave out their "
                "columns."
            )
        notes.append(f"filled in {plural(count, 'missing cost')} with the largest one")
        costs = np.where(np.isnan(costs), np.nanmax(costs, axis=(0, 1), keepdims=True), costs)
    if delays is not None and (count := int(np.isnan(delays).sum())):
        notes.append(f"took {plural(count, 'missing delay')} as feedback that never comes")
        delays = np.where(np.isnan(delays), float(len(delays)), delays)
    return parsed._replace(costs=costs, delays=delays, notes=notes)


def _limits(
    parsed: ParsedTable,
    kind: Kind,
    *,
    limits: tuple[float, float] | None,
    rescale: bool,
    may_ask: bool,
) -> tuple[float, float, list[str]]:
    """Return the values that become 0 and 1, and a note on them."""
    low, high = value_range(parsed)
    if rescale:
        if may_ask:
            _ask_about_outlier(parsed, low, high)
        return (
            low,
            high,
            [f"{kind} rescaled from [{low:g}, {high:g}], the smallest and the largest, to [0, 1]"],
        )
    bounds = limits or (0.0, 1.0)
    # Limits are compared in the type of the table: 0.1 in float32 is above 0.1.
    dtype = np.float32 if parsed.values.dtype == np.float32 else np.float64
    if low < dtype(bounds[0]) or high > dtype(bounds[1]):
        check_scale(parsed, kind, limits)
        _check_odd_cells(parsed, kind, bounds)
        outside = _columns_outside(parsed, bounds)
        where = f" (outside only in {join_names(outside)})" if outside else ""
        fix = "write the smallest and the largest possible value, not those that were seen, such as"
        if outside and limits:
            fix = (
                f"leave out columns that are no candidates, {option_text('ignore', outside)}, "
                f"or {fix}"
            )
        raise TableError(
            f"{parsed.source}: {kind} must be in [{bounds[0]:g}, {bounds[1]:g}], got numbers "
            f"from {low:g} to "
            f"{high:g}{where}; {fix} {option_text('range', suggested_range(low, high))}, or "
            f"{option_text('rescale', on=True)} to take those in the table."
        )
    return *bounds, [
        f"{kind} rescaled from [{bounds[0]:g}, {bounds[1]:g}] to [0, 1]"
    ] if limits else []


def _ask_about_outlier(parsed: ParsedTable, low: float, high: float) -> None:
    """Raise QuestionError if one cell, far from all others, would set the scale of `rescale`."""
    values = (
        parsed.values[~np.isnan(parsed.values)]
        if parsed.values.dtype.kind == "f"
        else parsed.values
    )
    if values.size < _MIN_CELLS:
        return
    for extreme, rest in ((high, values[values < high]), (low, values[values > low])):
        if not rest.size or values.size - rest.size > 1:
            continue
        other_low = float(rest.min())
        other_high = float(rest.max())
        distance = extreme - other_high if extreme == high else other_low - extreme
        if distance <= _OUTLIER_RATIO * (other_high - other_low) or other_low == other_high:
            continue
        raise Question(
            parsed.source,
            f"expected cells on one scale, got {extreme:g} beside numbers from {other_low:g} to "
            f"{other_high:g}, which would set the scale",
            (f"{extreme:g}",),
            (("it is a number like the others", {"range": (float(low), float(high))}),),
        ).error()


def check_scale(parsed: ParsedTable, kind: Kind, limits: tuple[float, float] | None) -> None:
    """Raise TableError for timeouts or columns in another unit beyond [0, 1], if no range is given."""
    if limits is not None:
        return
    low, high = value_range(parsed)
    if low >= 0 and high <= 1:
        return
    expected = f"{parsed.source}: {kind} must be in [0, 1], got numbers from {low:g} to {high:g}"
    if parsed.has_timeouts:
        limit = option_text("range", (0.0, TIME_LIMIT))
        raise TableError(
            f"{expected}, and timeouts; write the time limit, such as {limit}: each counts as "
            "the limit."
        )
    if outside := other_unit(parsed):
        raise TableError(
            f"{expected} (outside only in {join_names(outside)}); "
            f"{_other_unit_advice(parsed, outside)}."
        )
    _check_odd_cells(parsed, kind, (0.0, 1.0))


def _check_odd_cells(parsed: ParsedTable, kind: Kind, bounds: tuple[float, float]) -> None:
    """Raise TableError for cells in percent or marks of missing ones; a range would hide them."""
    texts = [text for name, text in parsed.odd_cells.items() if name in parsed.value_columns]
    if texts:
        raise TableError(
            f"{parsed.source}: {kind} must be in [{bounds[0]:g}, {bounds[1]:g}], got {texts[0]}, "
            f"or, if they are numbers like the others, write {option_text('range')} with the "
            "smallest and the largest possible value."
        )


def other_unit(parsed: ParsedTable) -> list[str]:
    """Return the actions that alone are beyond [0, 1], as in percent; else none."""
    # Run times differ by orders of magnitude.
    if parsed.actions is None or parsed.has_timeouts:
        return []
    return columns_in_other_unit(parsed.values, parsed.actions)


def _other_unit_advice(parsed: ParsedTable, outside: Sequence[str]) -> str:
    names = parsed.names
    places = [names.index(name) for name in outside]
    # Columns of the file can be ignored; the actions of a long table are cells.
    wide = len(parsed.value_columns) == len(names)
    ignored = option_text("ignore", [parsed.value_columns[at] for at in places]) if wide else ""
    leave_out = ignored or actions_option([name for name in names if name not in outside])
    return f"{unit_question(parsed.values[:, places])}, or leave it out with {leave_out}"


def value_range(parsed: ParsedTable) -> tuple[float, float]:
    """Return the smallest and largest value of a table; TableError unless finite."""
    low, high = np.inf, -np.inf
    values = parsed.values if parsed.runs is None else parsed.runs
    for rows in _chunks(values):
        part = values[rows]
        numbers = part[~np.isnan(part)] if part.dtype.kind == "f" else part
        if numbers.size:
            low, high = min(low, float(numbers.min())), max(high, float(numbers.max()))
    if not np.isfinite([low, high]).all():
        got = "none" if low > high else f"numbers from {low:g} to {high:g}"
        raise TableError(f"{parsed.source}: expected finite numbers, got {got}; fill them in.")
    return low, high


def range_option(parsed: ParsedTable, kind: Kind) -> str:
    """Return the range option that values outside of [0, 1] need, as text, or ""."""
    try:
        low, high = value_range(parsed)
    except TableError:
        return ""
    if (low >= 0 and high <= 1) or other_unit(parsed) or parsed.odd_cells:
        return ""
    # Only the user knows a time limit. Scores have a known range; times and prices are open above.
    if parsed.has_timeouts or kind == "scores":
        return option_text(
            "range", (0.0, TIME_LIMIT) if parsed.has_timeouts else suggested_range(low, high)
        )
    return option_text("rescale", on=True)


def suggested_range(low: float, high: float) -> tuple[float, float]:
    """Return a usual scale (0 to 1, 5, 10 or 100) that contains two numbers, else one made of them.

    Times, costs and counts begin at 0, and their largest is rounded up to two digits. Below 0 the
    numbers are kept with six digits.

    >>> suggested_range(0.5, 9.3), suggested_range(0.24, 287.3), suggested_range(-2.0, 123.4567891)
    ((0.0, 10.0), (0.0, 290.0), (-2.0, 123.457))
    """
    usual = next((end for end in _USUAL_ENDS if 0 <= low and high <= end), None)
    if usual is not None:
        return 0.0, usual
    if low >= 0:
        return 0.0, float(Context(2, ROUND_CEILING).create_decimal_from_float(high))
    below = Context(6, ROUND_FLOOR)
    above = Context(6, ROUND_CEILING)
    ends = float(below.create_decimal_from_float(low)), float(above.create_decimal_from_float(high))
    return ends if ends[0] < ends[1] else (min(ends[0], 0.0), max(ends[1], 0.0))


def _columns_outside(parsed: ParsedTable, bounds: tuple[float, float]) -> list[str]:
    """Return the columns outside the limits, if others are inside; else no column."""
    if parsed.actions is None:
        return []
    low, high = np.fmin.reduce(parsed.values, axis=0), np.fmax.reduce(parsed.values, axis=0)
    outside = [
        name
        for name, out in zip(parsed.actions, (low < bounds[0]) | (high > bounds[1]), strict=True)
        if out
    ]
    return outside if len(outside) < len(parsed.actions) else []


def _losses(parsed: ParsedTable, kind: Kind, low: float, high: float) -> NDArray[Any]:
    values = parsed.values
    # Unchanged losses are not copied, so that a memory-mapped table stays on disk.
    if kind == "losses" and (low, high) == (0.0, 1.0):
        return values
    dtype = values.dtype.type if values.dtype in (np.float32, np.float64) else np.float64
    if high - low > np.finfo(dtype).max:
        raise TableError(
            f"{parsed.source}: {kind} must be nearer to each other to be rescaled, got {low:g}, "
            f"{high:g}; rescale them."
        )
    table = np.asarray(values, dtype=dtype)
    if low == high:
        return np.where(np.isnan(table), table, dtype(0))
    scaled = (dtype(high) - table if kind == "scores" else table - dtype(low)) / dtype(high - low)
    return np.clip(scaled, dtype(0), dtype(1))


def _delays(parsed: ParsedTable) -> Integers | None:
    delays = parsed.delays
    if delays is None:
        return None
    wrong = ~((delays >= 0) & (delays == np.floor(delays)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{parsed.source}: delays must be whole numbers of rounds, got {delays[row]:g} in "
            f"row {row}; round it."
        )
    return np.minimum(delays, 2.0**62).astype(np.int64)
