"""Long tables: a line for each row and action, with the loss of that action in that row."""

from collections.abc import Sequence

import numpy as np

from tombola._formatting import join_names, option_text
from tombola._types import Floats, Rounds
from tombola.errors import TableError
from tombola.readers.columns import Column, Columns, notes_on_notation
from tombola.readers.names import IDS, likeness
from tombola.readers.options import (
    ACTION,
    ALSO_ACTION,
    CHANCE,
    COSTS,
    DELAYS,
    LOSSES,
    SCORES,
    ParsedTable,
    ReadOptions,
    costs_of,
    logged,
)

_LARGEST = 10_000_000  # cells of a pool that are mostly missing


def action_column(table: Columns, wanted: ReadOptions) -> Column | None:
    """Return the column that says which action a line is about, or None: then the table is wide."""
    if wanted.action is not None:
        return table.find(wanted.action, "action")
    if wanted.actions is not None and all(any(c.name == name for c in table.columns) for name in wanted.actions):
        return None
    scored = [c for c in table.columns if c.name.lower() in (*LOSSES, *SCORES, *CHANCE) or _scored(c)]
    told = wanted.value is not None or len(scored) == 1 or _named(table, (*LOSSES, *SCORES, *CHANCE)) is not None
    return _named(table, (*ACTION, *ALSO_ACTION) if told else ACTION)


def read_long(table: Columns, wanted: ReadOptions, action: Column, *, average: bool = False) -> ParsedTable:
    """Take a long table apart; rows and actions come in the order in which they are first named."""
    ids = table.find(wanted.ids, "ids") if wanted.ids is not None else _named(table, IDS)
    sign = f"column {action.name!r} names it"
    if ids is None:
        raise logged(
            table.source,
            sign,
            f" (if several lines make up a row, name the column that says which with {option_text('ids', 'NAME')})",
        )
    rows, row_names = _codes(table, ids)
    columns, names = _codes(table, action)
    if len(row_names) == table.rows:
        raise logged(table.source, sign)
    _check_size(table, len(row_names), names)
    value = _value(table, wanted, {ids.name, action.name})
    place = (rows, columns, (len(row_names), len(names)))
    values = _table(table, value, place, average=average)
    score = likeness(value.name) == "score"
    kind = wanted.kind or ("scores" if score else "losses")
    doubt = value.name if score and wanted.kind is None and value.name.lower() not in SCORES else ""
    prices = _prices(table, wanted)
    costs = {column.name: _table(table, column, place, average=average) for column in prices}
    delay = table.find(wanted.delay, "delay") if wanted.delay is not None else _named(table, DELAYS)
    notes = [
        f"a long table: {len(row_names)} rows (column {ids.name!r}), {len(names)} actions (column {action.name!r}: "
        f"{join_names(names)}), {kind} in column {value.name!r}",
        *([f"delays from column {delay.name!r}"] if delay else []),
        *([f"costs from columns {join_names([column.name for column in prices])}"] if prices else []),
        *notes_on_notation([value, *prices]),
    ]
    chosen = _chosen(table, wanted.actions, names)
    values, actions, stacked = values[:, chosen], [names[i] for i in chosen], costs_of(costs)
    gap = _gap(values, row_names, actions)
    return ParsedTable(
        table.source, kind, values, tuple(actions), tuple(row_names),
        None if stacked is None else stacked[:, chosen], _delays(table, delay, rows, len(row_names)), notes, gap, doubt,
    )  # fmt: skip


def _named(table: Columns, names: Sequence[str]) -> Column | None:
    return next((column for column in table.columns if column.name.lower() in names), None)


def _codes(table: Columns, column: Column) -> tuple[Rounds, list[str]]:
    known: dict[str, int] = {}
    texts = column.words
    blank = next((row for row, text in enumerate(texts) if text in ("", "nan")), None)
    if blank is not None:
        raise TableError(
            f"{table.source}: expected a name in {table.where(blank)}, column {column.name!r}, got none; fill it in, "
            "or leave out the line."
        )
    codes = np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.int64)
    return codes, list(known)


def _check_size(table: Columns, rows: int, names: list[str]) -> None:
    if len(names) < 2:
        raise TableError(
            f"{table.source}: expected at least two actions, got {join_names(names)} only; "
            "check the column with the actions."
        )
    if rows * len(names) > max(_LARGEST, 20 * table.rows):
        raise TableError(
            f"{table.source}: expected a line for each of {rows} rows and {len(names)} actions, got {table.rows} "
            "lines; check the columns with the rows and the actions, or name them with "
            f"{option_text('ids', 'NAME')} and {option_text('action', 'NAME')}."
        )


def _value(table: Columns, wanted: ReadOptions, taken: set[str]) -> Column:
    if wanted.value is not None:
        return table.numeric(table.find(wanted.value, "value"))
    names = {"losses": LOSSES, "scores": SCORES, None: (*LOSSES, *SCORES)}[wanted.kind]
    found = _named(table, names) or next((c for c in table.columns if c.name not in taken and _scored(c)), None)
    rest = [column for column in table.columns if column.name not in taken]
    if found is None and len(rest) == 1 and wanted.kind is not None:
        found = rest[0]
    if found is None:
        raise TableError(
            f"{table.source}: expected a column called {' or '.join(names)}, got "
            f"{join_names([column.name for column in table.columns])}; name it with {option_text('value', 'NAME')}, and say "
            f"{option_text('kind', 'losses')} or {option_text('kind', 'scores')}."
        )
    return table.numeric(found)


def _scored(column: Column) -> bool:
    return column.wrong is None and likeness(column.name) in ("loss", "score")


def _prices(table: Columns, wanted: ReadOptions) -> list[Column]:
    if wanted.resources:
        return [table.find(name, "costs") for name in wanted.resources]
    found = _named(table, COSTS) if wanted.costs is None else None
    return [] if found is None else [found]


def _table(table: Columns, column: Column, place: tuple[Rounds, Rounds, tuple[int, int]], *, average: bool) -> Floats:
    rows, actions, shape = place
    numbers = table.numeric(column).numbers
    cells = rows * shape[1] + actions
    counts = np.bincount(cells, minlength=shape[0] * shape[1])
    if not average and counts.max() > 1:
        line = int(np.nonzero(counts[cells] > 1)[0][1])
        raise TableError(
            f"{table.source}: expected one line for each row and action, got a second one in {table.where(line)} or "
            "before; leave out what is double."
        )
    sums = np.bincount(cells, weights=numbers, minlength=shape[0] * shape[1])
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    reshaped: Floats = means.reshape(shape)
    return reshaped


def _delays(table: Columns, delay: Column | None, rows: Rounds, count: int) -> Floats | None:
    if delay is None:
        return None
    numbers = table.numeric(delay).numbers
    delays = np.full(count, np.nan)
    delays[rows] = numbers
    other = ~((delays[rows] == numbers) | (np.isnan(delays[rows]) & np.isnan(numbers)))
    if other.any():
        raise TableError(
            f"{table.source}: expected one delay for each row, got another one for the same row in "
            f"{table.where(int(np.argmax(other)))}; give all lines of a row the same delay."
        )
    return delays


def _chosen(table: Columns, actions: Sequence[str] | None, names: list[str]) -> list[int]:
    for name in actions or ():
        if name not in names:
            raise TableError(
                f"{table.source}: expected an action called {name!r}, got {join_names(names)}; name one of those."
            )
    return [names.index(name) for name in actions] if actions is not None else list(range(len(names)))


def _gap(values: Floats, rows: list[str], names: list[str]) -> str | None:
    missing = np.isnan(values)
    if not missing.any():
        return None
    row, action = np.unravel_index(int(np.argmax(missing)), values.shape)
    return f"row {rows[int(row)]!r}, action {names[int(action)]!r}, got none"
