"""Wide tables: a row per row of the pool, a column per action."""

from collections.abc import Sequence

import numpy as np

from tombola.errors import TableError
from tombola.readers.columns import Column, Columns, listed
from tombola.readers.parts import DELAYS, IDS, Parts, Wanted, costs_of, logged
from tombola.types import Floats


def read_wide(table: Columns, wanted: Wanted) -> Parts:
    """Take a wide table apart: ids, delays, costs (columns RESOURCE:ACTION), and a column for each action."""
    ids = _ids(table, wanted)
    delay = _delay(table, wanted)
    resources = wanted.resources or (("cost",) if any(c.name.startswith("cost:") for c in table.columns) else ())
    prices = [c.name for c in table.columns if any(c.name.startswith(f"{resource}:") for resource in resources)]
    taken = {*prices, *(column.name for column in (ids, delay) if column)}
    actions = _actions(table, wanted, [c for c in table.columns if c.name not in taken])
    names = [action.name for action in actions]
    values = np.column_stack([table.numeric(action).numbers for action in actions])
    _refuse_logged(table, values)
    costs = {resource: _costs(table, resource, names) for resource in resources}
    unused = [c.name for c in table.columns if c.name not in {*taken, *names}]
    notes = [
        f"a wide table: {table.rows} rows, {len(names)} actions ({listed(names)})",
        *([f"ids from column {ids.name!r}"] if ids else []),
        *([f"delays from column {delay.name!r}"] if delay else []),
        *([f"costs from columns {listed(prices)}"] if prices else []),
        *([f"not used: {listed(unused)}"] if unused else []),
    ]
    return Parts(
        table.source, wanted.kind or "losses", values, tuple(names), _texts(ids), costs_of(costs),
        table.numeric(delay).numbers if delay else None, notes, _gap(table, actions),
    )  # fmt: skip


def _ids(table: Columns, wanted: Wanted) -> Column | None:
    if wanted.ids is not None:
        return table.find(wanted.ids, "ids")
    free = [column for column in table.columns if column.name not in (wanted.actions or ())]
    named = next((column for column in free if column.name.lower() in IDS), None)
    first = table.columns[0]
    unnamed = first.wrong is not None and np.isnan(first.numbers).all() and first.texts is not None
    if (
        named is None
        and first.name not in (wanted.actions or ())
        and (unnamed or first.name == "")
        and len(table.columns) > 1
    ):
        return first
    return named


def _delay(table: Columns, wanted: Wanted) -> Column | None:
    if wanted.delay is not None:
        return table.find(wanted.delay, "delay")
    free = (column for column in table.columns if column.name not in (wanted.actions or ()))
    return next((column for column in free if column.name.lower() in DELAYS), None)


def _actions(table: Columns, wanted: Wanted, rest: Sequence[Column]) -> list[Column]:
    if wanted.actions is not None:
        return [table.find(name, "actions") for name in wanted.actions]
    if len(rest) < 2:
        raise TableError(
            f"{table.source}: expected a column for each of at least two actions, got {len(rest)} "
            f"({listed([column.name for column in table.columns])}); check what separates the columns, or name them "
            "with actions=[...]."
        )
    return list(rest)


def _costs(table: Columns, resource: str, names: Sequence[str]) -> Floats:
    columns = [table.numeric(table.find(f"{resource}:{name}", f"costs={resource!r}")) for name in names]
    return np.column_stack([column.numbers for column in columns])


def _texts(ids: Column | None) -> tuple[str, ...] | None:
    return None if ids is None else tuple(ids.texts or map(str, ids.numbers))


def _refuse_logged(table: Columns, values: Floats) -> None:
    if min(values.shape) > 1 and (np.count_nonzero(~np.isnan(values), axis=1) == 1).all():
        raise logged(table.source, "every row has one filled cell")


def _gap(table: Columns, actions: Sequence[Column]) -> str | None:
    gaps = [(action.gap.row, action.gap.text, action.name) for action in actions if action.gap]
    if not gaps:
        return None
    row, text, name = min(gaps, key=lambda gap: gap[0])
    return f"{table.where(row)}, column {name!r}, got {text!r}"
