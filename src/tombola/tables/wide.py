"""Wide tables: a line per row, a column per candidate, with stated or certain roles."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text, plural
from tombola._types import Integers
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns, notation_notes
from tombola.tables.costs import AS_REQUESTED, columns_of
from tombola.tables.derived import without_summary_rows
from tombola.tables.features import one_per_row, possible_features
from tombola.tables.names import is_group_name, stated_direction
from tombola.tables.options import ParsedTable, ReadOptions, logged_table_error, stack_costs
from tombola.tables.question import Question
from tombola.tables.roles import NOT_SELECTED, detect, row_numbers
from tombola.tables.runs import cube_of, mean_of_runs, run_numbers, runs_note
from tombola.tables.unit_checks import check_percent_cells, odd_cells


def read_wide(table: Columns, options: ReadOptions) -> ParsedTable:
    """Parse a wide table, with a line per row and a column per candidate.

    QuestionError if the role of a column is neither stated nor certain. Columns without a role are
    in `ignored`, with the reason.
    """
    if options.value is not None:
        raise TableError(
            f"{table.source}: expected a long table as {option_text('value')} states, got one "
            "without a column that "
            f"names the action; write {option_text('action', 'NAME')}, or leave out "
            f"{option_text('value')}."
        )
    table, row_mask, row_notes = without_summary_rows(table, options)
    roles = detect(table, options)
    if isinstance(roles, Question):
        raise roles.error()
    values = table.matrix(roles.candidates)
    check_percent_cells(table, roles.candidates, options.range)
    if min(values.shape) > 1 and (np.count_nonzero(~np.isnan(values), axis=1) == 1).all():
        raise logged_table_error(table.source, "every row has one filled cell")
    labels = None if roles.ids is None else tuple(roles.ids.labels)
    cost_columns = columns_of(table, roles.costs)
    costs = [
        table.matrix([table.by_name[name] for name in columns.values()])
        for columns in roles.costs.values()
    ]
    delays = None if roles.delay is None else table.numeric(roles.delay)
    runs = None
    line_rows = None
    if roles.run is not None and roles.ids is not None and labels is not None:
        line_rows = row_numbers(roles.ids)
        labels = tuple(dict.fromkeys(labels))
        runs = _cube(values, roles.run, line_rows)
        values = mean_of_runs(runs)
        costs = [mean_of_runs(_cube(cost, roles.run, line_rows)) for cost in costs]
        delays = None if delays is None else one_per_row(table, delays, line_rows)
    value_columns = tuple(candidate.name for candidate in roles.candidates)
    kind, unit = stated_direction(value_columns)
    pairs = [
        f"{column} for {name}"
        for columns in roles.costs.values()
        for name, column in columns.items()
    ]
    notes = [
        f"a wide table: {plural(len(values), 'row')}, {plural(len(roles.names), 'action')} "
        f"({join_names(roles.names)})",
        *([f"ids from column {roles.ids.name!r}"] if roles.ids else []),
        *([f"delays from column {roles.delay.name!r}"] if roles.delay else []),
        *([] if roles.run is None or runs is None else [runs_note(roles.run, runs)]),
        *roles.notes,
        *([f"costs from columns {join_names(pairs)}"] if pairs else []),
        *row_notes,
        *_ignored_notes(roles.ignored),
        *roles.questions,
        *notation_notes([*roles.candidates, *cost_columns.values()]),
    ]
    return ParsedTable(
        source=table.source,
        kind=options.kind or kind,
        values=values,
        actions=tuple(roles.names),
        ids=labels,
        costs=stack_costs(costs),
        delays=None if delays is None else delays.numbers,
        notes=notes,
        first_missing=_first_missing(table, roles.candidates),
        unit=unit,
        ignored=roles.ignored,
        groups=_groups(table, roles.ignored),
        id_column="" if roles.ids is None else roles.ids.name,
        has_unique_ids=roles.ids is not None and table.all_different(roles.ids),
        value_columns=value_columns,
        questions=(*row_notes, *roles.questions),
        row_mask=None if row_mask.all() else row_mask,
        runs=runs,
        line_rows=line_rows,
        odd_cells=odd_cells(table, roles.candidates),
        possible_features=possible_features(
            table, [name for name in roles.ignored if roles.ignored[name] != AS_REQUESTED]
        ),
    )


def _cube(values: NDArray[Any], run: Column, line_rows: Integers) -> NDArray[Any]:
    """Return the numbers of lines, shape (lines, candidates), as (runs, rows, candidates)."""
    k = values.shape[1]
    cells = (line_rows[:, None] * k + np.arange(k)).ravel()
    numbers = np.repeat(run_numbers(run, line_rows), k)
    return cube_of(values.ravel(), numbers, cells, (int(line_rows.max()) + 1, k))


def _groups(table: Columns, ignored: Mapping[str, str]) -> dict[str, int]:
    """Return ignored columns that group the rows, with the number of groups."""
    counts = {}
    for name in ignored:
        column = table.by_name[name]
        if (is_group_name(name) or column is table.columns[0]) and column.texts is not None:
            counts[name] = len({text for text in column.texts if text})
    # A group per row is an id, not a group.
    return {name: count for name, count in counts.items() if 1 < count <= max(2, table.rows // 2)}


def _ignored_notes(ignored: Mapping[str, str]) -> list[str]:
    if not ignored:
        return []
    listing = join_names(
        [f"{name or 'a column without a name'} ({reason})" for name, reason in ignored.items()]
    )
    if set(ignored.values()) <= {AS_REQUESTED, NOT_SELECTED}:
        return [f"ignored: {listing}"]
    return [f"ignored: {listing}; name the columns of the actions with {option_text('actions')}"]


def _first_missing(table: Columns, actions: Sequence[Column]) -> str | None:
    missing = [
        (cell.row, cell.text, action.name) for action in actions if (cell := action.first_missing)
    ]
    if not missing:
        return None
    row, text, name = min(missing, key=lambda cell: cell[0])
    return f"{table.place(row)}, column {name!r}, got {text!r}"
