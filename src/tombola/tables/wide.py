"""Wide tables: a line per row, a column per action; detects column roles."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text, plural
from tombola._types import Integers
from tombola.errors import TableError
from tombola.tables.columns import PERCENT, Column, Columns, has_result_word, notation_notes
from tombola.tables.costs import (
    AS_REQUESTED,
    CostColumns,
    columns_of,
    detected_costs,
    match_costs,
    requested_costs,
)
from tombola.tables.derived import summary_columns, without_summary_row
from tombola.tables.features import one_per_row, possible_features
from tombola.tables.names import (
    DELAYS,
    IDS,
    SUMMARY_IDS,
    action_stem,
    classify_name,
    direction_of,
    has_feature_prefix,
    is_group_name,
    is_id_name,
    is_run_name,
    without_kind_word,
)
from tombola.tables.options import ParsedTable, ReadOptions, logged_table_error, stack_costs
from tombola.tables.runs import cube_of, find_runs, mean_of_runs, run_numbers, runs_note
from tombola.tables.unit_checks import actions_option, check_percent_cells
from tombola.units import Kind

# The reason, in the field `ignored` of a parsed table, for columns that the option `actions` leaves
# out.
NOT_SELECTED = "not selected"
# The reason for columns with names such as x1 or f_0.
_NAMED_LIKE_FEATURE = "named like a feature"
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def read_wide(table: Columns, options: ReadOptions) -> ParsedTable:
    """Parse a wide table, with a line per row and a column per action.

    Roles that no option names are detected from names and cells; the other columns are in
    `ignored`, with the reason.
    """
    if options.value is not None:
        raise TableError(
            f"{table.source}: expected a long table as {option_text('value')} states, got one "
            "without a column that "
            f"names the action; write {option_text('action', 'NAME')}, or leave out "
            f"{option_text('value')}."
        )
    rows = table.rows
    table, row_notes = without_summary_row(table, options.ids)
    ignored = {
        name: AS_REQUESTED
        for pattern in options.ignore
        for name in table.matching(pattern, "ignore")
    }
    named = dict.fromkeys(
        n for pattern in options.actions or () for n in table.matching(pattern, "actions")
    )
    # A column that is named in both options is left out; a pattern in `ignore` leaves named actions
    # in.
    selected = {name: None for name in named if name not in options.ignore}
    if named and not selected:
        left_out = option_text("ignore")
        raise TableError(
            f"{table.source}: expected actions, got only columns that {left_out} leaves out; "
            "name others."
        )
    free = [c for c in table.columns if c.name not in ignored and c.name not in selected]
    ids = (
        table.find(options.ids, "ids")
        if options.ids is not None
        else find_ids(table, free, ignored)
    )
    delay = next((c for c in free if c.name.lower() in DELAYS), None)
    delay = delay if options.delay is None else table.find(options.delay, "delay")
    requested = requested_costs(table, options)
    taken = {*ignored, *columns_of(table, requested)}
    free = [c for c in free if c is not ids and c is not delay and c.name not in taken]
    line_rows, run = _runs(table, options, ids)
    if run is not None:
        free = [column for column in free if column is not run]
    if options.actions is None:
        actions, questions, other_units = _detect_actions(
            table, _numeric_candidates(free, ignored), ignored, options.kind
        )
        names, name_notes = _action_names(actions)
    else:
        actions, names = [table.by_name[name] for name in selected], list(selected)
        questions, name_notes, other_units = [], [], []
        ignored.update({c.name: NOT_SELECTED for c in free})
    costs = match_costs(table, requested, names, [action.name for action in actions])
    if options.costs is None:
        costs = detected_costs(table, names, ignored)
    cost_columns = columns_of(table, costs)
    for name in cost_columns:
        ignored.pop(name, None)
    ignored |= {
        name: "a cost of no action"
        for name in columns_of(table, requested)
        if name not in cost_columns
    }

    values = table.matrix(actions)
    check_percent_cells(table, actions, options.range)
    if min(values.shape) > 1 and (np.count_nonzero(~np.isnan(values), axis=1) == 1).all():
        raise logged_table_error(table.source, "every row has one filled cell")
    labels = None if ids is None else tuple(ids.labels)
    runs = None
    cells = (line_rows[:, None] * len(actions) + np.arange(len(actions))).ravel()
    if run is not None and labels is not None:
        labels = tuple(dict.fromkeys(labels))
        numbers = np.repeat(run_numbers(run, line_rows), len(actions))
        runs = cube_of(values.ravel(), numbers, cells, (len(labels), len(actions)))
        values = mean_of_runs(runs)
    if labels is not None and len(labels) > 1 and labels[-1].strip().lower() in SUMMARY_IDS:
        raise TableError(
            f"{table.source}: expected a row, got one called {labels[-1]!r} in "
            f"{table.place(table.rows - 1)}, the "
            "last; leave it out if it sums up the others, rename it if not."
        )
    delays = None
    if delay is not None:
        column = table.numeric(delay)
        delays = (column if run is None else one_per_row(table, column, line_rows)).numbers

    def costs_of(resources: CostColumns) -> NDArray[Any] | None:
        """Return the costs of each row, shape (rows, actions, resources); means over runs."""
        columns = [[table.by_name[name] for name in one.values()] for one in resources.values()]
        tables = [table.matrix(one) for one in columns]
        if run is not None:
            shape = values.shape
            tables = [mean_of_runs(cube_of(one.ravel(), numbers, cells, shape)) for one in tables]
        return stack_costs(tables)

    value_columns = tuple(action.name for action in actions)
    kind, unit = direction_of(value_columns)
    pairs = [
        f"{column} for {name}" for columns in costs.values() for name, column in columns.items()
    ]
    notes = [
        f"a wide table: {plural(len(values), 'row')}, {plural(len(names), 'action')} "
        f"({join_names(names)})",
        *([f"ids from column {ids.name!r}"] if ids else []),
        *([f"delays from column {delay.name!r}"] if delay else []),
        *([] if run is None or runs is None else [runs_note(run, runs)]),
        *name_notes,
        *([f"costs from columns {join_names(pairs)}"] if pairs else []),
        *row_notes,
        *_ignored_notes(ignored),
        *questions,
        *notation_notes([*actions, *cost_columns.values()]),
    ]
    return ParsedTable(
        source=table.source,
        kind=options.kind or kind,
        values=values,
        actions=tuple(names),
        ids=labels,
        costs=costs_of(costs),
        delays=delays,
        notes=notes,
        first_missing=_first_missing(table, actions),
        unit=unit,
        ignored=ignored,
        groups=_groups(table, ignored),
        id_column="" if ids is None else ids.name,
        value_columns=value_columns,
        questions=(*row_notes, *questions),
        other_units=tuple(other_units),
        has_summary_row=table.rows < rows,
        runs=runs,
        line_rows=None if run is None else line_rows,
        possible_features=possible_features(
            table,
            [name for name in ignored if ignored[name] != AS_REQUESTED and name not in other_units],
        ),
    )


def _runs(
    table: Columns, options: ReadOptions, ids: Column | None
) -> tuple[Integers, Column | None]:
    """Return the row of each line, and the column of runs if rows have several lines."""
    if ids is None:
        return np.arange(table.rows), None
    numbers: dict[str, int] = {}
    rows = np.array([numbers.setdefault(label, len(numbers)) for label in ids.labels], np.int64)
    may_repeat = options.run is not None or any(is_run_name(c.name) for c in table.columns)
    if len(numbers) == table.rows or not may_repeat:
        return rows, None
    return rows, find_runs(table, options, rows, {ids.name})


def find_ids(table: Columns, free: Sequence[Column], ignored: dict[str, str]) -> Column | None:
    """Return the column of ids, by its name or because it can be nothing else."""
    if len(table.columns) < 2:
        return None
    named = next((c for c in free if c.name.lower() in IDS), None)
    if named is not None:
        return named
    for column in free:
        text = column.first_invalid is not None and (
            column.n_numbers == 0 or is_id_name(column.name)
        )
        whole = _all_whole(column) and table.rows > 1
        likely = is_id_name(column.name) and (text or whole)
        likely = likely or (
            column is table.columns[0] and (text or (whole and _counts_rows(column, free)))
        )
        if likely and _all_different(column):
            return column
        if likely:
            ignored[column.name] = "values repeat, so no ids"
    return None


def _all_whole(column: Column) -> bool:
    numbers = column.numbers
    complete = column.first_invalid is None and column.first_missing is None
    return complete and bool((numbers == np.floor(numbers)).all())


def _all_different(column: Column) -> bool:
    return len(set(column.texts or column.numbers.tolist())) == len(column.numbers)


def _counts_rows(column: Column, others: Sequence[Column]) -> bool:
    """Return whether integers count rows, or only they leave [0, 1]."""
    numbers = column.numbers
    if numbers.size > 2 and (np.diff(numbers) == 1).all():
        return True
    inside = (
        ((c.numbers >= 0) & (c.numbers <= 1)) | np.isnan(c.numbers)
        for c in others
        if c is not column and c.n_numbers
    )
    return (
        numbers.size > 2
        and bool((numbers > 1).any())
        and _all_different(column)
        and all(map(np.all, inside))
    )


def _numeric_candidates(free: Sequence[Column], ignored: dict[str, str]) -> list[Column]:
    """Return the columns that can be actions; add the others to `ignored`."""
    candidates = []
    for column in free:
        name_class, invalid = classify_name(column.name), column.first_invalid
        if invalid is None and column.n_numbers == 0 and len(free) > 2:
            ignored[column.name] = "empty"
        elif invalid is not None and column.n_numbers < len(column.numbers) / 2:
            words = (
                "words; to use it, write 1 for pass and 0 for fail"
                if has_result_word(column)
                else "text"
            )
            ignored[column.name] = "dates" if _DATE.match(invalid.text.strip()) else words
        elif name_class in ("date", "label"):
            ignored[column.name] = f"named like a {name_class}"
        elif (
            is_id_name(column.name) and column.name.lower() not in ("no", "") and _all_whole(column)
        ):
            ignored[column.name] = "named like an id"
        else:
            candidates.append(column)
    return candidates


def _detect_actions(
    table: Columns, candidates: Sequence[Column], ignored: dict[str, str], kind: Kind | None
) -> tuple[list[Column], list[str], list[str]]:
    """Return the likely actions, questions, and columns in another unit.

    The actions are the first class of names with at least two columns; the direction `kind` has its
    own names first.
    """
    classes: dict[str, str] = {column.name: classify_name(column.name) for column in candidates}
    words = _possible_labels(table, ignored)
    scores = [name for name, name_class in classes.items() if name_class == "score"]
    tiers: list[tuple[str, ...]] = [
        ("loss",),
        ("loss", "plain"),
        ("score",),
        ("cost",),
        ("feature",),
    ]
    if kind == "scores":
        # A column that is called score and no more, beside words that repeat, is the value of a
        # long table.
        is_long = bool(words) and not any(map(action_stem, scores))
        tiers = [("score",), *([] if is_long else [("score", "plain")]), *tiers]
    features = dict.fromkeys((name for name in classes if has_feature_prefix(name)), "feature")
    rest = {name: one for name, one in classes.items() if name not in features}
    tier = _first_tier(rest, tiers)
    stems = {*map(action_stem, features)}
    own_costs = tier == ("cost",) and any(
        action_stem(name) in stems for name in rest if rest[name] == "cost"
    )
    if tier is None or tier == ("feature",) or own_costs:
        # Columns such as f_0 are the actions, because too few others can be.
        tier = _first_tier(classes, tiers)
    else:
        classes |= features
    if tier is not None:
        actions = [column for column in candidates if classes[column.name] in tier]
        for name, name_class in classes.items():
            if name_class not in tier:
                ignored[name] = (
                    f"not named like a {tier[0]}"
                    if name_class == "plain"
                    else f"named like a {name_class}"
                )
        summaries, questions = summary_columns(actions)
        ignored.update(summaries)
        actions = [column for column in actions if column.name not in summaries]
        # Run times and prices of different actions differ by orders of magnitude.
        odd = {} if tier == ("cost",) else _odd_ranges(actions)
        ignored.update(odd)
        actions = [column for column in actions if column.name not in odd]
        if tier != ("cost",):
            _check_one_scale(table, actions)
        return (
            actions,
            [questions[column.name] for column in actions if column.name in questions],
            list(odd),
        )
    name_them = option_text("actions", ["NAME", "NAME"])
    got = [column.name for column in candidates]
    if (
        words
        and got
        and any(c.texts is not None and not _all_different(c) for c in (table.columns[0], *words))
    ):
        raise TableError(
            f"{table.source}: expected a column of numbers for each of at least two actions, got "
            "words in "
            f"{join_names([column.name for column in words])} and numbers in {join_names(got)}; "
            "if there is a line for "
            "each row and action, name the columns of the rows and of the actions with "
            f"{option_text('ids', 'NAME')} {option_text('action', 'NAME')}, else name the "
            f"actions with {name_them}."
        )
    # A column with a few words among numbers is more likely a damaged action than a remark.
    for name, reason in ignored.items():
        if reason.startswith(("text", "words")) and len(table.columns) > 1:
            table.numeric(table.by_name[name])
    if len(got) > 1 and len({*classes.values()}) > 1:
        raise TableError(
            f"{table.source}: expected at least two columns of one kind, all losses or all "
            "scores, got "
            f"{join_names(got)}; name the actions with {name_them}, all in one direction."
        )
    raise TableError(
        f"{table.source}: expected a column for each of at least two actions, got {len(got)} "
        f"({join_names([*table.by_name])}); check what separates the columns, or name them with "
        f"{name_them}."
    )


def _first_tier(
    classes: Mapping[str, str], tiers: Sequence[tuple[str, ...]]
) -> tuple[str, ...] | None:
    return next((tier for tier in tiers if sum(one in tier for one in classes.values()) > 1), None)


def _possible_labels(table: Columns, ignored: Mapping[str, str]) -> list[Column]:
    """Return ignored columns of words that may repeat, such as the actions of a long table."""
    columns = [table.by_name[name] for name, reason in ignored.items() if reason != AS_REQUESTED]
    words = [
        c
        for c in columns
        if c.first_invalid is not None and c.n_numbers == 0 and not has_result_word(c)
    ]
    # The texts of some columns are not kept.
    return [column for column in words if column.texts is None or not _all_different(column)]


def _odd_ranges(columns: Sequence[Column]) -> dict[str, str]:
    """Return columns whose notation or range is unlike all others, with reasons.

    Only a minority is odd, and only clear cases count, since an action that is ignored changes the
    answer.
    """
    numeric = [column for column in columns if column.first_invalid is None and column.n_numbers]
    percent = [c for c in numeric if set(c.notations) == {PERCENT}]
    odd = {
        c.name: "percent, unlike the other columns"
        for c in percent
        if 2 * len(percent) < len(numeric)
    }
    rest = {c.name: (*_ends(c), c) for c in numeric if c.name not in odd}
    outside = [name for name, (low, high, _) in rest.items() if low < 0 or high > 1]
    if 0 < 2 * len(outside) < len(rest):
        reasons = {
            name: f"{rest[name][0]:g} to {rest[name][1]:g}; the others are in [0, 1]"
            for name in outside
        }
        return {**odd, **reasons}
    if len(rest) < 3 or len(outside) < 2:
        return odd
    lows, highs = (
        sorted(low for low, _, _ in rest.values()),
        sorted(high for _, high, _ in rest.values()),
    )
    for name, (low, high, column) in rest.items():
        # The second largest maximum is the largest of the others, if this one is the largest.
        above = high == highs[-1] and low > 2 * highs[-2] > 0
        below = low == lows[0] and 0 < 2 * high < lows[1]
        known = column.numbers[~np.isnan(column.numbers)]
        flags = (
            high <= 1
            and lows[0] >= 0
            and len(outside) == len(rest) - 1
            and bool(np.isin(known, (0, 1)).all())
        )
        if above or below or flags:
            others = (lows[0], highs[-2]) if above else (lows[1] if below else lows[0], highs[-1])
            odd[name] = f"{low:g} to {high:g}; the others are {others[0]:g} to {others[1]:g}"
    return odd


def _check_one_scale(table: Columns, actions: Sequence[Column]) -> None:
    """Raise TableError if one column is within [0, 1] and all others are far beyond.

    It may be a share or a weight, but also a very bad or a very fast action: only the user knows.
    """
    ends = {c.name: _ends(c) for c in actions if c.n_numbers}
    inside = [name for name, (low, high) in ends.items() if 0 <= low and high <= 1]
    highs = [high for low, high in ends.values() if low < 0 or high > 1]
    if len(inside) != 1 or len(highs) < 3 or min(highs) < 2:
        return
    name, (low, high) = inside[0], ends[inside[0]]
    raise TableError(
        f"{table.source}: expected actions on one scale, got {name!r} from {low:g} to {high:g} "
        "beside columns up to "
        f"{max(highs):g}; write {option_text('ignore', name)} if it is not an action, else name "
        "all actions: "
        f"{actions_option(list(ends))}."
    )


def _ends(column: Column) -> tuple[float, float]:
    return float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))


def _action_names(actions: Sequence[Column]) -> tuple[list[str], list[str]]:
    """Return action names without a common word for loss or score, and a note."""
    names = [action.name for action in actions]
    if {classify_name(name) for name in names} not in ({"loss"}, {"score"}):
        return names, []
    short = [without_kind_word(name) for name in names]
    if len(set(short)) < len(short) or any(
        one == name for one, name in zip(short, names, strict=True)
    ):
        return names, []
    return short, [f"the action of column {names[0]!r} is called {short[0]!r}, and so on"]


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
    is_feature = _NAMED_LIKE_FEATURE in ignored.values()
    features = f", those of features with {option_text('features')}" if is_feature else ""
    return [
        f"ignored: {listing}; name the columns of the actions with "
        f"{option_text('actions')}{features}"
    ]


def _first_missing(table: Columns, actions: Sequence[Column]) -> str | None:
    missing = [
        (cell.row, cell.text, action.name) for action in actions if (cell := action.first_missing)
    ]
    if not missing:
        return None
    row, text, name = min(missing, key=lambda cell: cell[0])
    return f"{table.place(row)}, column {name!r}, got {text!r}"
