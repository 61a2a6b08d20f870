"""Tables with a row per candidate and a column per item, turned round."""

from dataclasses import replace

import numpy as np

from tombola._formatting import join_names, option_text
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns
from tombola.tables.names import is_summary_name
from tombola.tables.options import ReadOptions
from tombola.tables.question import Question
from tombola.tables.roles import find_ids

# Name of the column of ids of a table that was turned round: the names of its columns.
_IDS = "id"


def transposed(table: Columns, options: ReadOptions) -> tuple[Columns, ReadOptions]:
    """Return the table with a row for each column of numbers, and the options that state its roles.

    QuestionError for a column that is named like a summary of the others: it is no item.
    """
    excluded = {n for pattern in options.ignore for n in table.matching(pattern, "ignore")}
    free = [column for column in table.columns if column.name not in excluded]
    ids = find_ids(table, free, {}) if options.ids is None else table.find(options.ids, "ids")
    if not isinstance(ids, Column):
        raise TableError(
            f"{table.source}: expected a column with the names of the candidates as "
            f"{option_text('transpose', on=True)} states, got {join_names([*table.by_name])}; name "
            f"it with {option_text('ids', 'NAME')}."
        )
    rest = [column for column in free if column is not ids]
    texts = [c.name for c in rest if c.first_invalid is not None and 2 * c.n_numbers < table.rows]
    items = [column for column in rest if column.name not in texts]
    if summaries := [column.name for column in items if is_summary_name(column.name)]:
        raise Question(
            table.source,
            f"expected a column for each item, got {join_names(summaries)}, named like a summary",
            tuple(summaries),
            (("it is no item", {"ignore": [*options.ignore, *summaries]}),),
        ).error()
    if not items:
        raise TableError(
            f"{table.source}: expected columns of numbers, got {join_names([*table.by_name])}; "
            f"leave out {option_text('transpose', on=True)}."
        )
    numbers = table.matrix(items)
    names = [column.name for column in items]
    id_column = Column(_IDS, np.full(len(names), np.nan), names)
    columns = [Column(name, row) for name, row in zip(ids.labels, numbers, strict=True)]
    notes = [
        *table.notes,
        f"turned round: candidates from column {ids.name!r}, a row for each other column",
    ]
    if texts:
        notes.append(f"ignored: {join_names([f'{name} (text)' for name in texts])}")
    turned = replace(table, columns=[id_column, *columns], lines=None, notes=tuple(notes))
    stated = options._replace(
        transpose=False,
        ids=_IDS,
        actions=options.actions or [column.name for column in columns],
        ignore=(),
    )
    return turned, stated
