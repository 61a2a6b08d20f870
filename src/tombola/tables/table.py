"""`read_table`: read a table in any supported format as a pool."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tombola import _validate
from tombola._formatting import is_cli_style, is_encodable, join_names, option_text, truncate
from tombola.errors import ParameterError, TableError, TombolaWarning
from tombola.pool import Pool
from tombola.tables.columns import Column, Columns, check_unique_names, parse_words, with_words
from tombola.tables.features import encode_features, feature_columns, one_per_row
from tombola.tables.formats import read_file
from tombola.tables.formats.arrays import read_array
from tombola.tables.formats.frames import read_frame
from tombola.tables.long import read_long
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.question import Question
from tombola.tables.roles import detect_long
from tombola.tables.to_pool import Table, source_name, to_pool
from tombola.tables.transpose import transposed
from tombola.tables.wide import read_wide
from tombola.units import Kind


def read_pool(path: str | Path, *, kind: Kind | None = None, rescale: bool = False) -> Pool:
    """Read a table from a file and return its pool; `read_table` has more options.

    kind: "losses" (lower is better) or "scores" (higher is better); None if names of columns
        state it.
    rescale: map the smallest and the largest value to 0 and 1; otherwise values must be in [0, 1].
    """
    return read_table(path, kind=kind, rescale=rescale).pool


def read_table(
    source: Any,
    *,
    kind: Kind | None = None,
    range: tuple[float, float] | None = None,
    rescale: bool = False,
    missing: Literal["error", "drop", "worst"] = "error",
    actions: Sequence[str] | None = None,
    costs: Any = None,
    delay: str | None = None,
    ids: str | None = None,
    action: str | None = None,
    value: str | None = None,
    ignore: Sequence[str] = (),
    sheet: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: bool | None = None,
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    by: str | None = None,
    run: str | None = None,
    runs: bool = False,
    transpose: bool = False,
    words: Mapping[str, float] | str = MappingProxyType({}),
    ignore_rows: Sequence[str] = (),
    unfinished: bool = False,
) -> Table:
    """Read a table as a pool, with delays if it has any, and notes on the conversion.

    A wide table has a column per action. A long table has a line for each row and action, with
    columns for the row, the action and the value. Roles of columns that no option names are
    taken from the table if they are certain; the notes list them. `actions`, `costs`, `ignore`, `features` and
    `text` take patterns such as "gpt*".

    source: a path (CSV, TSV, JSON, Parquet, Feather, Arrow, NPZ, NPY, SQLite as FILE::TABLE, Excel,
        an evaluation log or a folder of them, "-" for standard input), a data frame (pandas,
        polars, Arrow), or an array. NPY files stay memory-mapped.
    kind: "losses" (lower is better) or "scores" (higher is better). Required unless the names of
        the columns (loss, error; score, reward, accuracy, correct) state it.
    range: the smallest and the largest possible value, mapped to [0, 1]; default (0, 1). Nothing is
        clipped.
    rescale: map the smallest and the largest value of the table to [0, 1] instead.
    missing: treatment of missing cells: raise ("error"), drop the row, or count the cell as loss 1
        ("worst").
    actions: the columns to use, or names for the columns of an array.
    costs: a resource (columns RESOURCE:ACTION of a wide table, a column of a long one, an array of
        an archive), a list of resources, a second table (a Path, a frame, an array; matched by
        ids), or a dict with a price per action.
    delay, ids: the columns with delays in rounds, and with the ids of the rows.
    action, value: of a long table, the columns with the action and the value; of a log, `value` is
        the metric.
    ignore: columns to leave out.
    sheet: the sheet of an Excel file, or the table of an SQLite file.
    decimal: the decimal mark of a text table, if it is ambiguous.
    header: whether a text table has a line with names; required if its first line looks like data.
    features: columns (arrays of an archive) known before the action is chosen, for policies; never
        actions. Words become categories.
    text: columns of free text that become features (TF-IDF of words, reduced; needs scikit-learn).
    by: the column with the group of each row, such as category; `Table.strata` has its labels.
    run: the column that numbers the answers of a candidate on a row; None: one called run, epoch,
        trial, seed or attempt, if only it tells them apart.
    runs: whether cells may have several answers; `Table.runs` has all, the pool their means.
    transpose: whether the candidates are in the rows: a row per candidate, a column per item.
    ignore_rows: ids of rows to leave out, such as Total, or "first", "last"; "none" keeps all rows.
    words: numbers for words in cells, such as {"pass": 1, "fail": 0} or "pass=1,fail=0".
    unfinished: whether to read an evaluation log of a run that was cancelled, or ended in an error.

    Raises QuestionError if the table can be read in several ways; its answers have the options
    that settle it. Candidates that `actions` names are never asked about.

    >>> values = np.array([[3.0, 1.0], [5.0, 2.0]])
    >>> table = read_table(values, kind="losses", range=(0, 5), actions=["slow", "quick"])
    >>> table.pool.losses.tolist()
    [[0.6, 0.2], [1.0, 0.4]]
    >>> table.direction
    'read as losses: lower is better'
    """
    _check_choice("kind", kind, (None, "losses", "scores"))
    _check_choice("missing", missing, ("error", "drop", "worst"))
    _check_choice("decimal", decimal, (None, ".", ","))
    _check_choice("rescale", rescale, (True, False))
    limits = _check_range(range, rescale=rescale)
    options = ReadOptions(
        kind,
        [actions] if isinstance(actions, str) else actions,
        costs,
        delay,
        ids,
        action,
        value,
        _patterns(ignore),
        sheet,
        decimal,
        header,
        _patterns(features),
        _patterns(text),
        by,
        limits,
        run,
        runs,
        transpose,
        parse_words(words),
        _patterns(ignore_rows),
        unfinished,
    )
    parsed = parse_table(source, options)
    if parsed.contradiction and not is_cli_style():
        warnings.warn(f"{parsed.source}: {parsed.contradiction}", TombolaWarning, stacklevel=2)
    return to_pool(parsed, missing=missing, limits=limits, rescale=rescale, may_ask=actions is None)


def parse_table(source: Any, options: ReadOptions) -> ParsedTable:
    """Parse a table, without handling missing cells, range or direction."""
    parsed = _parse(source, options)
    for name, labels in (("ids", parsed.ids or ()), ("actions", parsed.actions or ())):
        if not is_encodable("".join(labels)):
            wrong = next(label for label in labels if not is_encodable(label))
            raise TableError(
                f"{parsed.source}: {name} must be valid Unicode, got {truncate(wrong)!r}; rename "
                "it."
            )
    number = (
        f", or write {option_text('ignore', parsed.id_column)} to number the rows"
        if parsed.id_column
        else ""
    )
    check_unique_names(
        parsed.source,
        () if parsed.has_unique_ids else parsed.ids or (),
        "ids must be different",
        f"leave out the duplicates{number}",
    )
    return _add_costs(parsed, options.costs)


def _patterns(given: Sequence[str]) -> tuple[str, ...]:
    """Return patterns as a tuple; a single text is one pattern, not a list of letters."""
    return (given,) if isinstance(given, str) else tuple(given)


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        words = " or ".join(repr(word) for word in choices if word is not None)
        raise ParameterError(
            f"read_table: {name} must be {words}, got {value!r}; write one of those."
        )


def _check_range(limits: Any, *, rescale: bool) -> tuple[float, float] | None:
    if limits is None:
        return None
    if rescale or not (isinstance(limits, tuple | list) and len(limits) == 2):
        got = "rescale as well" if rescale else repr(limits)
        raise ParameterError(
            f"read_table: range must be two numbers, without rescale, got {got}; write range=(0, "
            "100)."
        )
    low = _validate.real("read_table", "range[0]", limits[0])
    return low, _validate.real("read_table", "range[1]", limits[1], above=low)


def read_source(source: Any, options: ReadOptions) -> Columns | ParsedTable:
    """Read a table once, without the roles of its columns.

    `parse_table` takes the result in place of the source, with other options as often as needed.
    """
    if isinstance(source, Columns | ParsedTable):
        return source
    if isinstance(source, str | Path):
        return read_file(str(source), options)
    if isinstance(source, np.ndarray | list | tuple):
        return read_array(source, "array", options)
    return read_frame(source, source_name(source))


def _parse(source: Any, options: ReadOptions) -> ParsedTable:
    read = read_source(source, options)
    if isinstance(read, Columns):
        return _parse_columns(read, options)
    if options.by is not None:
        by = option_text("by")
        raise TableError(
            f"{read.source}: expected a table with named columns as {by} states, got an array; "
            "leave it out."
        )
    return read


def _parse_columns(table: Columns, options: ReadOptions) -> ParsedTable:
    if options.words:
        table = with_words(table, options.words)
    if options.transpose:
        table, options = transposed(table, options)
    excluded = dict.fromkeys(
        name for pattern in options.ignore for name in table.matching(pattern, "ignore")
    )
    plain, texts = feature_columns(table, options, excluded)
    by = None if options.by is None else table.find(options.by, "by")
    role_names = {*plain, *texts, *([by.name] if by else [])}
    if role_names:
        others = [column for column in table.columns if column.name not in role_names]
        table = replace(table, columns=others)
    rest = table
    if excluded:
        others = [column for column in table.columns if column.name not in excluded]
        rest = replace(table, columns=others)
    if not rest.columns:
        raise TableError(
            f"{table.source}: expected columns of actions, got only features, groups and ignored "
            "columns; name fewer."
        )
    roles = detect_long(rest, options)
    if isinstance(roles, Question):
        raise roles.error()
    if roles is None:
        parsed = read_wide(table, options)
    else:
        parsed = read_long(rest, options, roles)
        parsed.notes.extend(
            [f"ignored: {join_names([*excluded])} (as requested)"] if excluded else []
        )
    parsed = parsed._replace(notes=[*table.notes, *parsed.notes])

    def by_row(column: Column) -> Column:
        if parsed.row_mask is not None:
            column = column.select(parsed.row_mask)
        return column if parsed.line_rows is None else one_per_row(table, column, parsed.line_rows)

    if by is not None:
        parsed = parsed._replace(
            strata=tuple(label.strip() or "(none)" for label in by_row(by).labels)
        )
    if not plain and not texts:
        return parsed
    return parsed.with_features(
        encode_features(table, [*map(by_row, plain.values())], [*map(by_row, texts.values())])
    )


def _add_costs(parsed: ParsedTable, costs: Any) -> ParsedTable:
    """Add costs given as a price per action, or as a second table."""
    if costs is None or ReadOptions(costs=costs).resources:
        return parsed
    if isinstance(costs, Mapping):
        absent = next((name for name in parsed.names if name not in costs), None)
        if absent is not None:
            names = join_names(list(costs))
            raise TableError(
                f"{parsed.source}: costs must name every action, got {names}; add one for "
                f"{absent!r}."
            )
        prices = [
            _validate.real("read_table", "costs", costs[name], least=0) for name in parsed.names
        ]
        table = np.broadcast_to(np.array(prices), parsed.values.shape)
        return parsed._replace(costs=table, notes=[*parsed.notes, "the same costs in every row"])
    other = _parse(costs, ReadOptions(costs=[]))
    return parsed._replace(
        costs=_match_rows(parsed, other), notes=[*parsed.notes, f"costs from {source_name(costs)}"]
    )


def _match_rows(parsed: ParsedTable, other: ParsedTable) -> NDArray[Any]:
    """Return the values of `other` in the order of the rows and actions of `parsed`."""
    values = other.values
    if parsed.actions is not None and other.actions is not None:
        values = other.select_actions(parsed.actions).values
    if parsed.ids is not None and other.ids is not None:
        places = {name: row for row, name in enumerate(other.ids)}
        missing_id = next((name for name in parsed.ids if name not in places), None)
        if missing_id is not None:
            raise TableError(
                f"{other.source}: expected costs for the row {missing_id!r}, got none; add that "
                "row."
            )
        values = values[[places[name] for name in parsed.ids]]
    if values.shape[:2] != parsed.values.shape:
        raise TableError(
            f"{other.source}: costs must have shape {parsed.values.shape}, got "
            f"{values.shape[:2]}; give as many."
        )
    return values
