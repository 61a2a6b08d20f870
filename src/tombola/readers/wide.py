"""Wide tables: a row per row of the pool, a column per action."""

from collections.abc import Sequence

import numpy as np

from tombola._formatting import join_names, option_text
from tombola._types import Floats
from tombola.errors import TableError
from tombola.readers.columns import Column, Columns, notes_on_notation
from tombola.readers.options import ParsedTable, ReadOptions, logged
from tombola.readers.roles import note_on, roles_of

_SUMS = frozenset({"total", "totals", "sum", "mean", "average", "avg", "overall", "median"})


def read_wide(table: Columns, wanted: ReadOptions) -> ParsedTable:
    """Take a wide table apart: ids, delays, costs, a column for each action, and what is set aside."""
    if wanted.value is not None:
        raise TableError(
            f"{table.source}: expected a long table as {option_text('value')} says, got one without a column that names the "
            f"action; write {option_text('action', 'NAME')}, or leave out {option_text('value')}."
        )
    roles = roles_of(table, wanted)
    values = np.column_stack([table.numeric(action).numbers for action in roles.actions])
    _refuse_logged(table, values)
    ids = _texts(roles.ids)
    _refuse_sums(table, ids)
    costs = roles.prices.costs(table)
    used = [*roles.actions, *(table.named[name] for name in roles.prices.columns)]
    notes = [
        f"a wide table: {table.rows} rows, {len(roles.names)} actions ({join_names(roles.names)}), read as {roles.kind}",
        *([f"ids from column {roles.ids.name!r}"] if roles.ids else []),
        *([f"delays from column {roles.delay.name!r}"] if roles.delay else []),
        *roles.notes, *roles.prices.note(), *note_on(roles.aside), *notes_on_notation(used),
    ]  # fmt: skip
    return ParsedTable(
        table.source, roles.kind, values, tuple(roles.names), ids, costs,
        table.numeric(roles.delay).numbers if roles.delay else None, notes, _gap(table, roles.actions), roles.doubt,
    )  # fmt: skip


def _texts(ids: Column | None) -> tuple[str, ...] | None:
    return None if ids is None else tuple(ids.words)


def _refuse_sums(table: Columns, ids: tuple[str, ...] | None) -> None:
    last = table.rows - 1
    if ids is not None and last > 0 and ids[last].strip().lower() in _SUMS:
        raise TableError(
            f"{table.source}: expected a row, got one called {ids[last]!r} in {table.where(last)}, the last; "
            "leave it out if it sums up the others, rename it if not."
        )


def _refuse_logged(table: Columns, values: Floats) -> None:
    if min(values.shape) > 1 and (np.count_nonzero(~np.isnan(values), axis=1) == 1).all():
        raise logged(table.source, "every row has one filled cell")


def _gap(table: Columns, actions: Sequence[Column]) -> str | None:
    gaps = [(action.gap.row, action.gap.text, action.name) for action in actions if action.gap]
    if not gaps:
        return None
    row, text, name = min(gaps, key=lambda gap: gap[0])
    return f"{table.where(row)}, column {name!r}, got {text!r}"
