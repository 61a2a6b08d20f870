"""Long tables: a line per row and action, with the value of that cell."""

from collections.abc import Sequence

import numpy as np

from tombola._formatting import join_names, option_text, plural
from tombola._types import Floats, Integers
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns, notation_notes
from tombola.tables.features import one_per_row
from tombola.tables.names import (
    stated_direction,
)
from tombola.tables.options import ParsedTable, ReadOptions, logged_table_error, stack_costs
from tombola.tables.question import Question
from tombola.tables.roles import LongRoles
from tombola.tables.runs import cube_of, find_runs, mean_of_runs, run_numbers, runs_note
from tombola.tables.signs import twins_in_case
from tombola.tables.unit_checks import check_percent_cells

# A pool with more cells (rows x actions) than this must have a line for one in twenty of them:
# otherwise the columns were mistaken, and the pool would only fill the memory.
_MAX_SPARSE_CELLS = 10_000_000


def read_long(table: Columns, options: ReadOptions, roles: LongRoles) -> ParsedTable:
    """Parse a long table, with a line for each row and action.

    Rows and actions keep the order of their first lines. Raises TableError for a log, with one
    action per row, and for repeated lines of a row and action that no column tells apart.
    """
    ids = roles.ids
    action = roles.action
    evidence = f"column {action.name!r} names it"
    if ids is None:
        hint = (
            " (if several lines make up a row, name the column of the rows with "
            f"{option_text('ids', 'NAME')})"
        )
        raise logged_table_error(table.source, evidence, hint)
    rows, row_names = _encode(table, ids)
    columns, names = _encode(table, action)
    if len(row_names) == table.rows:
        raise logged_table_error(table.source, evidence)
    _check_size(table, len(row_names), names)
    if options.actions is None:
        _ask_about_twins(table, names)
    value = table.numeric(roles.value)
    check_percent_cells(table, [value], options.range)
    kind, unit = stated_direction([value.name])
    shape = (len(row_names), len(names))
    places = rows * shape[1] + columns
    run = find_runs(table, options, places, {ids.name, action.name, value.name})
    runs = None if run is None else cube_of(value.numbers, run_numbers(run, places), places, shape)
    values = _pivot(table, value, places, shape) if runs is None else mean_of_runs(runs)
    cost_columns = [table.find(name, "costs") for name in options.resources]
    costs = stack_costs([_pivot(table, column, places, shape) for column in cost_columns])
    delay = None if options.delay is None else table.find(options.delay, "delay")
    notes = [
        f"a long table: {plural(len(row_names), 'row')} (column {ids.name!r}), "
        f"{plural(len(names), 'action')} (column "
        f"{action.name!r}: {join_names(names)}), values in column {value.name!r}",
        *([f"delays from column {delay.name!r}"] if delay else []),
        *(
            [f"costs from columns {join_names([column.name for column in cost_columns])}"]
            if cost_columns
            else []
        ),
        *([] if run is None or runs is None else [runs_note(run, runs)]),
        *notation_notes([value, *cost_columns]),
    ]
    parsed = ParsedTable(
        source=table.source,
        kind=options.kind or kind,
        values=values,
        value_columns=(value.name,),
        actions=tuple(names),
        ids=tuple(row_names),
        costs=costs,
        delays=one_per_row(table, table.numeric(delay), rows).numbers if delay else None,
        notes=notes,
        unit=unit,
        runs=runs,
        line_rows=rows,
        ignored=roles.ignored,
        id_column=ids.name,
    ).select_actions(options.actions)
    return parsed._replace(first_missing=_first_missing(parsed.values, row_names, parsed.names))


def _encode(table: Columns, column: Column) -> tuple[Integers, list[str]]:
    """Return the index of each line's label, and the labels in order of appearance."""
    index: dict[str, int] = {}
    labels = column.labels
    blank = next((row for row, text in enumerate(labels) if text in ("", "nan")), None)
    if blank is not None:
        raise TableError(
            f"{table.source}: expected a name in {table.place(blank)}, column {column.name!r}, "
            "got none; add it."
        )
    codes = np.array([index.setdefault(label, len(index)) for label in labels], dtype=np.int64)
    return codes, list(index)


def _ask_about_twins(table: Columns, names: list[str]) -> None:
    """Raise QuestionError if names of candidates differ only in upper and lower case or in spaces."""
    twins = twins_in_case(names)
    if not twins:
        return
    folded = "".join(twins[0].lower().split())
    alike = [name for name in names if "".join(name.lower().split()) == folded]
    raise Question(
        table.source,
        f"expected different names of candidates, got {join_names(alike, last=' and ')}, which differ "
        "only in upper and lower case or in spaces; write them alike in the table",
        tuple(alike),
        (("they are different candidates", {"actions": names}),),
    ).error()


def _check_size(table: Columns, rows: int, names: list[str]) -> None:
    if len(names) < 2:
        raise TableError(
            f"{table.source}: expected at least two actions, got {join_names(names)} only; check "
            "their column."
        )
    if rows * len(names) > max(_MAX_SPARSE_CELLS, 20 * table.rows):
        raise TableError(
            f"{table.source}: expected a line for each of {plural(rows, 'row')} and "
            f"{plural(len(names), 'action')}, "
            f"got {table.rows} lines; check the columns with the rows and the actions, or name "
            "them with "
            f"{option_text('ids', 'NAME')} and {option_text('action', 'NAME')}."
        )


def _pivot(table: Columns, column: Column, places: Integers, shape: tuple[int, int]) -> Floats:
    """Return the numbers of a column as rows x actions, NaN where there is no line.

    Several lines of a cell are averaged.
    """
    numbers = table.numeric(column).numbers
    counts = np.bincount(places, minlength=shape[0] * shape[1])
    sums = np.bincount(places, weights=numbers, minlength=shape[0] * shape[1])
    means: Floats = np.divide(
        sums, counts, out=np.full(len(sums), np.nan), where=counts > 0
    ).reshape(shape)
    return means


def _first_missing(values: Floats, rows: Sequence[str], names: Sequence[str]) -> str | None:
    for row, action in np.argwhere(np.isnan(values))[:1].tolist():
        return f"row {rows[row]!r}, action {names[action]!r}, got none"
    return None
