"""Roles of the columns of a table: stated by an option, certain, or asked about.

This is the only module that decides by words, and words only raise questions. A role is certain if
the table cannot be read otherwise: one column of ids, and all other columns of numbers plain names
in one unit and grain.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import join_names, option_text
from tombola._types import Integers
from tombola.errors import TableError
from tombola.tables.blocks import blocks
from tombola.tables.columns import (
    MISSING,
    Column,
    Columns,
    has_result_word,
)
from tombola.tables.costs import (
    AS_REQUESTED,
    CostColumns,
    columns_of,
    detected_costs,
    match_costs,
    requested_costs,
)
from tombola.tables.derived import summary_columns
from tombola.tables.names import (
    ACTION,
    DELAYS,
    IDS,
    LOSSES,
    PROBABILITY,
    SCORES,
    WEAK_ACTION,
    are_item_names,
    are_model_names,
    classify_name,
    direction_of,
    has_id_word,
    is_bare_metric,
    is_candidate_column_name,
    is_free_text_name,
    is_id_name,
    is_run_name,
    suspected_role,
    value_names,
    without_kind_word,
)
from tombola.tables.options import ReadOptions
from tombola.tables.question import Question
from tombola.tables.runs import find_runs
from tombola.tables.signs import are_certain, suspects
from tombola.tables.vocabulary import doubt, is_known_candidate

# The reason, in the field `ignored` of a parsed table, for columns that the option `actions` leaves
# out.
NOT_SELECTED = "not selected"
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
# Rows for each candidate from which a column of many labels has the rows of a long table.
_MIN_HEIGHT_RATIO = 3
# Ratio of the whole numbers of a first column to all others, and rows, from which they are ids.
_ID_RATIO = 2.0
_MIN_ID_ROWS = 5
# Rows up to which their names are compared with those of well-known models.
_MAX_MODELS = 5_000
# Rows up to which they may be candidates, if their names are words.
_MAX_CANDIDATE_ROWS = 8
# Candidates up to which a question shows all of their names.
_MAX_SHOWN = 12
# Doubtful columns up to which each may be answered alone.
_MAX_SINGLE = 4


class Roles(NamedTuple):
    """The role of each column of a wide table.

    ids, delay, run: the columns of ids, delays in rounds, and numbers of runs; None without one.
    candidates: the columns of numbers, one for each candidate.
    names: the names of the candidates, without a common word such as loss.
    costs: the columns of costs, for each resource and candidate.
    ignored: the other columns, with the reason.
    notes: remarks on names, and on columns that equal a function of others.
    """

    ids: Column | None
    delay: Column | None
    run: Column | None
    candidates: list[Column]
    names: list[str]
    costs: CostColumns
    ignored: dict[str, str]
    notes: list[str]
    questions: list[str]


def detect(table: Columns, options: ReadOptions) -> Roles | Question:
    """Return the role of each column of a wide table, or a question if they are not certain.

    With the option `actions` the candidates are stated, and nothing is asked about other columns.
    """
    ignored = {
        name: AS_REQUESTED
        for pattern in options.ignore
        for name in table.matching(pattern, "ignore")
    }
    selected = _selected(table, options)
    free = [c for c in table.columns if c.name not in ignored and c.name not in selected]
    requested = requested_costs(table, options)
    delay = None if options.delay is None else table.find(options.delay, "delay")
    role_names = {*columns_of(table, requested), *([delay.name] if delay else [])}
    free = [column for column in free if column.name not in role_names]
    stated = [] if options.ids is None else [table.find(options.ids, "ids")]
    likely = stated or _likely_ids(table, free, ignored)
    if len(likely) > 1 and options.actions is None:
        return _ask_about_ids(table, likely)
    ids = next(iter(likely), None)
    free = [column for column in free if column is not ids]
    run = _run_column(table, options, ids)
    free = [column for column in free if column is not run]
    questions: list[str] = []
    if options.actions is not None:
        candidates = [table.by_name[name] for name in selected]
        names = list(selected)
        notes: list[str] = []
        ignored.update({column.name: NOT_SELECTED for column in free})
        costs = match_costs(table, requested, names, names)
        if options.costs is None:
            costs = detected_costs(table, names, ignored)
    else:
        numeric = _columns_of_numbers(table, free, ignored, options)
        if isinstance(numeric, Question):
            return numeric
        paired = _paired_costs(table, numeric, options) if options.costs is None else {}
        rest = [column for column in numeric if column.name not in columns_of(table, paired)]
        for column in rest:
            table.numeric(column)  # a damaged cell comes first
        question = None
        if ids is not None and options.ids is None and len(rest) > 1:
            question = ask_about_transposed(table, ids, [column.name for column in rest])
        question = question or ask_about_candidates(table, rest, options)
        if question is not None:
            return question
        candidates = rest
        if len(candidates) < 2 and ids is not None and not is_id_name(ids.name):
            ignored[ids.name] = "text"
        _check_number(table, candidates, ignored)
        names, notes = _candidate_names(candidates)
        costs = match_costs(table, requested, names, [column.name for column in candidates])
        if options.costs is None:
            costs = {
                resource: dict(zip(names, columns.values(), strict=True))
                for resource, columns in paired.items()
            }
        questions = [*summary_columns(candidates)[1].values()]
        if not are_certain(candidates):
            option = option_text("actions", [column.name for column in candidates])
            questions.append(
                "nothing speaks against these candidates, and nothing but the table says that all "
                f"are; if so, state them: {option}"
            )
    cost_columns = columns_of(table, costs)
    for name in cost_columns:
        ignored.pop(name, None)
    ignored |= {
        name: "a cost of no candidate"
        for name in columns_of(table, requested)
        if name not in cost_columns
    }
    return Roles(ids, delay, run, candidates, names, costs, ignored, notes, questions)


def detect_names(table: Columns, options: ReadOptions) -> Roles | Question:
    """Return the roles of columns of which only the names are known, as of a stream; or a question."""
    ignored = {
        name: AS_REQUESTED
        for pattern in options.ignore
        for name in table.matching(pattern, "ignore")
    }
    selected = _selected(table, options)
    free = [c for c in table.columns if c.name not in ignored and c.name not in selected]
    ids = next((column for column in free if is_id_name(column.name)), None)
    candidates = [column for column in free if not is_id_name(column.name)]
    if options.actions is not None:
        candidates = [table.by_name[name] for name in selected]
        ignored |= {column.name: NOT_SELECTED for column in free if column is not ids}
    elif (question := ask_about_candidates(table, candidates, options)) is not None:
        return question
    else:
        ignored |= {c.name: "named like an id" for c in free if is_id_name(c.name) and c is not ids}
    _check_number(table, candidates, ignored)
    names = [column.name for column in candidates]
    return Roles(ids, None, None, candidates, names, {}, ignored, [], [])


class LongRoles(NamedTuple):
    """The columns of a long table, with a line for each row and candidate.

    ids, action, value: the columns of the row, of the candidate, and of the number; `ids` is None
        if no column can be.
    ignored: columns without a role, with the reason.
    """

    ids: Column | None
    action: Column
    value: Column
    ignored: dict[str, str]


def detect_long(table: Columns, options: ReadOptions) -> LongRoles | Question | None:
    """Return the roles of a long table, or a question; None if the table is wide."""
    action = find_action_column(table, options) or _likely_action_column(table, options)
    if action is None:
        is_stated = options.actions is not None or options.ids is not None
        return None if is_stated else _ask_about_layout(table)
    if options.ids is not None:
        ids: Column | None = table.find(options.ids, "ids")
    else:
        ids = _named(table, IDS) or _row_column(table, action, options)
    role_names = {action.name, options.delay, options.run, *options.resources}
    role_names |= {ids.name} if ids is not None else set()
    ignored: dict[str, str] = {}
    value = _value_column(table, options, ids, role_names, ignored)
    return value if isinstance(value, Question) else LongRoles(ids, action, value, ignored)


def find_action_column(table: Columns, options: ReadOptions) -> Column | None:
    """Return the column that names the candidate of each line; None if the table is wide."""
    if options.action is not None:
        return table.find(options.action, "action")
    if options.actions is not None and all(name in table.by_name for name in options.actions):
        return None
    numeric = (*LOSSES, *SCORES, *PROBABILITY)
    values = [
        column
        for column in table.columns
        if column.name.lower() in numeric
        or (column.first_invalid is None and classify_name(column.name) in ("loss", "score"))
    ]
    # Names such as model count only beside a column of values.
    has_value = options.value is not None or len(values) == 1 or _named(table, numeric) is not None
    return _named(table, (*ACTION, *WEAK_ACTION) if has_value else ACTION)


def _named(table: Columns, names: Sequence[str]) -> Column | None:
    return next((column for column in table.columns if column.name.lower() in names), None)


def _likely_action_column(table: Columns, options: ReadOptions) -> Column | None:
    """Return the column named like candidates that, with another one, tells all lines apart."""
    if options.actions is not None:
        return None
    likely = [
        column
        for column in _label_columns(table)
        if is_candidate_column_name(column.name)
        and not table.all_different(column)
        and _row_column(table, column, options) is not None
    ]
    if len(likely) == 1:
        return likely[0]
    return None if likely else _crossing_action_column(table, options)


def _crossing_action_column(table: Columns, options: ReadOptions) -> Column | None:
    """Return the candidates of a table that is long because it has one column of numbers only.

    Its two columns of labels cross, there are far fewer candidates than rows, and no name
    disagrees.
    """
    labels = [column for column in _label_columns(table) if not is_run_name(column.name)]
    labels += _numbered_rows(table, labels)
    numeric = [
        c for c in table.columns if c not in labels and c.n_numbers and not is_run_name(c.name)
    ]
    if len(labels) != 2 or len(numeric) != 1 or any(map(table.all_different, labels)):
        return None
    action, rows = sorted(labels, key=lambda column: len(set(column.labels)))
    k = len(set(action.labels))
    height = len(set(rows.labels))
    pairs = set(zip(action.labels, rows.labels, strict=True))
    is_certain = (
        _row_column(table, action, options) is rows
        and k > 1
        and height >= _MIN_HEIGHT_RATIO * k
        and 2 * len(pairs) > k * height
        and not is_candidate_column_name(rows.name)
        and (rows.name.lower() in IDS or not is_id_name(action.name))
        and (rows.name.lower() in IDS or not doubt(action.name))
    )
    return action if is_certain else None


def _numbered_rows(table: Columns, labels: Sequence[Column]) -> list[Column]:
    """Return the only column of whole numbers that crosses the only column of labels completely."""
    if len(labels) != 1 or table.all_different(labels[0]):
        return []
    k = len(set(labels[0].labels))
    numbered = []
    for column in table.columns:
        if column in labels or not _all_whole(column):
            continue
        texts = column.labels
        is_complete = len(set(texts)) * k == table.rows
        if is_complete and len(set(zip(texts, labels[0].labels, strict=True))) == table.rows:
            numbered.append(column)
    return numbered if len(numbered) == 1 else []


def _label_columns(table: Columns) -> list[Column]:
    """Return the columns of words, and those of whole numbers with a usual name for ids."""
    return [
        column
        for column in table.columns
        if (column.n_numbers == 0 and column.first_invalid is not None and column.texts is not None)
        or (is_id_name(column.name) and _all_whole(column))
    ]


def _row_column(table: Columns, action: Column, options: ReadOptions) -> Column | None:
    """Return the only column of labels that, with the candidate and a run, tells all lines apart."""
    runs = [c for c in table.columns if c.name == options.run or is_run_name(c.name)]
    rows = []
    labels = _label_columns(table)
    for column in [*labels, *_numbered_rows(table, labels)]:
        if column is action or column in runs or table.all_different(column):
            continue
        pairs = list(zip(column.labels, action.labels, strict=True))
        is_telling = len(set(pairs)) == len(pairs) or any(
            len(set(zip(pairs, run.labels, strict=True))) == len(pairs) for run in runs
        )
        if is_telling:
            rows.append(column)
    return rows[0] if len(rows) == 1 else None


def _value_column(
    table: Columns,
    options: ReadOptions,
    ids: Column | None,
    taken: Collection[str | None],
    ignored: dict[str, str],
) -> Column | Question:
    """Return the column of the numbers of a long table, or a question if several can be."""
    if options.value is not None:
        return table.find(options.value, "value")
    numeric = [
        column
        for column in table.columns
        if column.name not in taken
        and not is_run_name(column.name)
        and (column.first_invalid is None or 2 * column.n_numbers >= table.rows)
    ]
    delay = next((column.name for column in numeric if column.name.lower() in DELAYS), None)
    if delay is not None and len(numeric) > 1:
        return Question(
            table.source,
            f"expected to know what {delay!r} is, got no option that states it",
            (delay,),
            (
                ("it is the delay of a row, in rounds", {"delay": delay}),
                ("it is not used", {"ignore": [*options.ignore, delay]}),
            ),
        )
    if ids is not None and len(numeric) > 1:
        # A number that is the same for all candidates of a row is a property of the row.
        codes = row_numbers(ids)
        same = [column.name for column in numeric if _is_same_in_rows(column, codes)]
        if len(same) < len(numeric):
            numeric = [column for column in numeric if column.name not in same]
            ignored |= dict.fromkeys(same, "the same for all candidates of a row")
    if len(numeric) == 1 and (
        options.kind is not None or direction_of([numeric[0].name])[0] is not None
    ):
        return numeric[0]
    names = value_names(options.kind)
    if len(numeric) < 2:
        raise TableError(
            f"{table.source}: expected a column called {' or '.join(names)}, got "
            f"{join_names([*table.by_name])}; name it with {option_text('value', 'NAME')}, and "
            f"write {option_text('kind', 'losses')} or {option_text('kind', 'scores')}."
        )
    found = [column.name for column in numeric]
    return Question(
        table.source,
        f"expected one column of numbers in a long table, got {join_names(found, last=' and ')}",
        tuple(found),
        tuple((f"{name} ranks", {"value": name}) for name in found),
    )


def _is_same_in_rows(column: Column, rows: Integers) -> bool:
    first = np.unique(rows, return_index=True)[1]
    return bool((column.numbers == column.numbers[first][rows]).all())


def _ask_about_layout(table: Columns) -> Question | None:
    """Return the question whether two columns of labels are rows and candidates of a long table.

    Nothing is asked if some column tells all lines apart, or no two cross completely.
    """
    labels = _label_columns(table)
    if any(table.all_different(c) for c in labels) or _named(table, IDS) is not None:
        return None
    numeric = [
        column.name
        for column in table.columns
        if column.first_invalid is None and column.n_numbers and column not in labels
    ]
    for at, first in enumerate(labels):
        for second in labels[at + 1 :]:
            pairs = set(zip(first.labels, second.labels, strict=True))
            shape = len(set(first.labels)) * len(set(second.labels))
            if not len(pairs) == shape == table.rows or not numeric:
                continue
            value = {} if len(numeric) == 1 else {"value": numeric[0]}
            answers: list[tuple[str, Mapping[str, Any]]] = [
                (
                    f"the candidates are in {candidates.name}",
                    {"ids": rows.name, "action": candidates.name, **value},
                )
                for rows, candidates in ((first, second), (second, first))
            ]
            if len(numeric) > 1:
                answers.append((f"they are {join_names(numeric)}", {"actions": numeric}))
            return Question(
                table.source,
                "expected to know whether there is a line for each row and candidate, got "
                f"{first.name} and {second.name}, which cross completely",
                (first.name, second.name),
                tuple(answers),
            )
    return None


def _selected(table: Columns, options: ReadOptions) -> dict[str, None]:
    """Return the columns that the option `actions` names; TableError if `ignore` names them all."""
    matches = dict.fromkeys(
        name for pattern in options.actions or () for name in table.matching(pattern, "actions")
    )
    # A column that is named in both options is left out; a pattern in `ignore` leaves named
    # candidates in.
    selected = {name: None for name in matches if name not in options.ignore}
    if matches and not selected:
        raise TableError(
            f"{table.source}: expected candidates, got only columns that {option_text('ignore')} "
            "leaves out; name others."
        )
    return selected


def find_ids(table: Columns, free: Sequence[Column], ignored: dict[str, str]) -> Column | None:
    """Return the column of ids, the first if several can be; None without one.

    free: columns without another role. Columns of text whose values repeat are added to `ignored`.
    """
    return next(iter(_likely_ids(table, free, ignored)), None)


def _likely_ids(table: Columns, free: Sequence[Column], ignored: dict[str, str]) -> list[Column]:
    """Return the columns that may be ids: one, if it is certain.

    It is called id, or the only one of text with different values, or it numbers the rows.
    """
    if len(table.columns) < 2:
        return []
    id_column = next((c for c in free if c.name.lower() in IDS), None)
    if id_column is not None:
        return [id_column]
    texts = []
    numbers = []
    for column in free:
        invalid = column.first_invalid
        has_name = is_id_name(column.name)
        # Some ids in hexadecimal are numbers.
        is_mostly_text = column is table.columns[0] and 2 * column.n_numbers < table.rows
        is_text = invalid is not None and (column.n_numbers == 0 or has_name or is_mostly_text)
        if is_text and invalid is not None and column.texts is not None:
            other = (
                has_result_word(column)
                or _DATE.match(invalid.text.strip()) is not None
                or classify_name(column.name) in ("loss", "score", "cost")
            )
            if table.all_different(column) and (has_name or not (other or "" in column.texts)):
                texts.append(column)
            elif is_id_name(column.name) or column is table.columns[0]:
                ignored[column.name] = "values repeat, so no ids"
        elif _numbers_rows(table, column, free):
            numbers.append(column)
    likely = [column for column in (*texts, *numbers) if has_id_word(column.name)]
    if likely:
        return likely
    texts = [column for column in texts if not is_free_text_name(column.name)] or texts
    return texts or numbers[:1]


def _ask_about_ids(table: Columns, columns: Sequence[Column]) -> Question:
    names = [column.name for column in columns]
    return Question(
        table.source,
        f"expected one column of ids, got {join_names(names, last=' and ')}",
        tuple(names),
        tuple((f"the ids are in {name}", {"ids": name}) for name in names),
    )


def _numbers_rows(table: Columns, column: Column, free: Sequence[Column]) -> bool:
    """Return whether whole, different numbers can be nothing but ids.

    They count the rows in the first column or under a usual name, or have a usual name and leave
    the range of all other columns.
    """
    numbers = column.numbers
    if table.rows < 2 or not _all_whole(column) or not table.all_different(column):
        return False
    has_name = is_id_name(column.name)
    if _counts_rows(table, column):
        return True
    others = [c for c in free if c is not column and c.first_invalid is None and c.n_numbers]
    highest = max((float(np.nanmax(other.numbers)) for other in others), default=0.0)
    is_apart = float(numbers.min()) > _ID_RATIO * highest and table.rows >= _MIN_ID_ROWS
    if (
        column is table.columns[0]
        and len(others) > 1
        and is_apart
        and not is_known_candidate(column.name)
    ):
        return has_name or not doubt(column.name) or bool((np.diff(numbers) > 0).all())
    return has_name and float(np.median(numbers)) > highest


def _counts_rows(table: Columns, column: Column) -> bool:
    """Return whether a column is 0, 1, 2, .. or 1, 2, .., under a usual name or as the first one."""
    numbers = column.numbers
    if table.rows < 2 or not _all_whole(column) or numbers[0] not in (0, 1):
        return False
    is_first = column is table.columns[0] and table.rows > 2
    return bool((np.diff(numbers) == 1).all()) and (is_id_name(column.name) or is_first)


def _run_column(table: Columns, options: ReadOptions, ids: Column | None) -> Column | None:
    """Return the column that tells the lines of a row apart; None if every row has one line."""
    may_repeat = options.run is not None or any(is_run_name(c.name) for c in table.columns)
    if ids is None or not may_repeat:
        return None
    codes = row_numbers(ids)
    if int(codes.max()) + 1 == table.rows:
        return None
    return find_runs(table, options, codes, {ids.name})


def row_numbers(ids: Column) -> Integers:
    """Return the row, from 0, of each line: lines with the same id are one row."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in ids.labels], np.int64)


def _columns_of_numbers(
    table: Columns, free: Sequence[Column], ignored: dict[str, str], options: ReadOptions
) -> list[Column] | Question:
    """Return the columns of numbers; add the others to `ignored`, or ask about words for results."""
    numeric = []
    words = []
    for column in free:
        invalid = column.first_invalid
        if invalid is None and column.n_numbers == 0 and len(free) > 2:
            # Costs that are missing everywhere are an error, not an empty column.
            if classify_name(column.name) == "cost":
                numeric.append(column)
            else:
                ignored[column.name] = "empty"
        elif _counts_rows(table, column):
            ignored[column.name] = "counts the rows"
        elif invalid is not None and column.n_numbers < len(column.numbers) / 2:
            reason = "dates" if _DATE.match(invalid.text.strip()) else "text"
            ignored.setdefault(column.name, reason)
            is_outcome = classify_name(column.name) in ("loss", "score", "cost")
            if has_result_word(column) and _is_filled(column):
                words.append(column)
            elif column.n_numbers or (is_outcome and re.search(r"\d", invalid.text)):
                table.numeric(column)  # a damaged column of numbers, which is no remark
        else:
            numeric.append(column)
    if len(numeric) < 2:
        words += [c for c in _same_vocabulary(table, ignored) if c not in words]
    return _ask_about_words(table, words, options) if words else numeric


def _is_filled(column: Column) -> bool:
    """Return whether most cells of a column of words are filled; remarks rarely are."""
    return column.texts is not None and 2 * sum(map(bool, column.texts)) > len(column.texts)


def _same_vocabulary(table: Columns, ignored: Mapping[str, str]) -> list[Column]:
    """Return columns of text that share two or three different words, such as ja and nein."""
    groups: dict[frozenset[str], list[Column]] = {}
    for name, reason in ignored.items():
        column = table.by_name[name]
        if reason == "text" and column.texts is not None:
            words = frozenset(text.lower() for text in column.texts if text.lower() not in MISSING)
            if len(words) in (2, 3) and column.n_numbers == 0:
                groups.setdefault(words, []).append(column)
    return next((columns for columns in groups.values() if len(columns) > 1), [])


def _ask_about_words(table: Columns, columns: Sequence[Column], options: ReadOptions) -> Question:
    texts = [text for column in columns for text in column.texts or ()]
    words = list(dict.fromkeys(text.lower() for text in texts if text.lower() not in MISSING))[:4]
    names = [column.name for column in columns]
    first_is_one = {word: float(place == 0) for place, word in enumerate(words)}
    last_is_one = {word: float(place > 0) for place, word in enumerate(words)}
    answers: list[tuple[str, Mapping[str, Any]]] = [
        (f"{words[0]} is 1", {"words": words_text(first_is_one)}),
        (f"{words[0]} is 0", {"words": words_text(last_is_one)}),
        ("they are no candidates", {"ignore": [*options.ignore, *names]}),
    ]
    return Question(
        table.source,
        f"expected numbers of each candidate, got the words {join_names(words, last=' and ')} in "
        f"{join_names(names, limit=_MAX_SHOWN)}",
        tuple(names),
        tuple(answers),
    )


def words_text(words: Mapping[str, float]) -> str:
    """Return words with their numbers as text, such as yes=1,no=0."""
    return ",".join(f"{word}={number:g}" for word, number in words.items())


def _paired_costs(table: Columns, numeric: Sequence[Column], options: ReadOptions) -> CostColumns:
    """Return the columns of costs, if each likely candidate has one with its name and a word for cost."""
    costs = {c.name: "" for c in numeric if classify_name(c.name) == "cost"}
    if not costs:
        return {}
    others = [c for c in numeric if c.name not in costs]
    reasons = suspects(others, options.range)
    names = [column.name for column in others if column.name not in reasons]
    return detected_costs(table, names, costs) if len(names) > 1 else {}


def _candidate_names(candidates: Sequence[Column]) -> tuple[list[str], list[str]]:
    """Return the names of candidates without a common word for loss or score, and a note."""
    names = [candidate.name for candidate in candidates]
    if {classify_name(name) for name in names} not in ({"loss"}, {"score"}):
        return names, []
    short = [without_kind_word(name) for name in names]
    if len(set(short)) < len(short) or any(
        cut == name for cut, name in zip(short, names, strict=True)
    ):
        return names, []
    return short, [f"the action of column {names[0]!r} is called {short[0]!r}, and so on"]


def _check_number(table: Columns, candidates: Sequence[Column], ignored: Mapping[str, str]) -> None:
    """Raise TableError unless there are two candidates."""
    if len(candidates) > 1:
        return
    name_them = option_text("actions", ["NAME", "NAME"])
    got = [column.name for column in candidates]
    words = _possible_labels(table, ignored)
    if (
        words
        and got
        and any(
            c.texts is not None and not table.all_different(c) for c in (table.columns[0], *words)
        )
    ):
        raise TableError(
            f"{table.source}: expected a column of numbers for each of at least two actions, got "
            f"words in {join_names([column.name for column in words])} and numbers in "
            f"{join_names(got)}; if there is a line for each row and action, name the columns of "
            f"the rows and of the actions with {option_text('ids', 'NAME')} "
            f"{option_text('action', 'NAME')}, else name the actions with {name_them}."
        )
    # A column with a few words among numbers is more likely a damaged candidate than a remark.
    for name, reason in ignored.items():
        if reason.startswith("text") and len(table.columns) > 1:
            table.numeric(table.by_name[name])
    raise TableError(
        f"{table.source}: expected a column for each of at least two actions, got {len(got)} "
        f"({join_names([*table.by_name])}); check what separates the columns, or name them with "
        f"{name_them}."
    )


def ask_about_candidates(
    table: Columns, columns: Sequence[Column], options: ReadOptions
) -> Question | None:
    """Return the question that columns of numbers raise if all were candidates; None if none.

    columns: the columns of numbers without another role.
    """
    names = [column.name for column in columns]
    if len(columns) < 2:
        return None
    if all(map(is_bare_metric, names)):
        return _ask_about_metrics(table, names)
    quantities = _ask_about_quantities(table, names) or _ask_about_blocks(table, names)
    if quantities is not None:
        return quantities
    reasons = suspects(columns, options.range)
    if not reasons:
        return None
    others = [name for name in names if name not in reasons]
    texts = [f"{_shown(name)} ({'; '.join(why)})" for name, why in reasons.items()]
    more = f" and {len(texts) - _MAX_SHOWN} more" if len(texts) > _MAX_SHOWN else ""
    got = ", ".join(texts[:_MAX_SHOWN]) + more
    beside = f" beside {join_names(others, limit=_MAX_SHOWN)}" if others else ""
    answers = _answers_on(names, list(reasons), options)
    return Question(
        table.source,
        f"expected columns that are certainly candidates, got {got}{beside}",
        tuple(reasons),
        tuple(answers),
    )


def _answers_on(
    names: Sequence[str], doubtful: Sequence[str], options: ReadOptions
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the answers about doubtful columns; each states all candidates, so it is the last one."""
    these = "it is" if len(doubtful) == 1 else "they are"
    candidates = "a candidate" if len(doubtful) == 1 else "candidates"
    answers: list[tuple[str, Mapping[str, Any]]] = []
    others = [name for name in names if name not in doubtful]
    if len(others) > 1:
        no_candidates = f"{these} no {candidates.removeprefix('a ')}"
        answers.append((no_candidates, _without(names, doubtful, options)))
    if 1 < len(doubtful) <= _MAX_SINGLE and len(names) > 2:
        answers += [
            (f"only {_shown(name)} is no candidate", _without(names, [name], options))
            for name in doubtful
        ]
    answers.append((f"{these} {candidates}", {"actions": list(names)}))
    if len(others) > 1 and len(doubtful) == 1 and doubtful[0].lower() in DELAYS:
        answers.append(("it is the delay of a row, in rounds", {"delay": doubtful[0]}))
    elif len(others) > 1:
        known = f"{these} known before a candidate is chosen"
        stated = {"actions": others} if len(others) <= _MAX_SHOWN else {}
        answers.append((known, {"features": [*options.features, *doubtful], **stated}))
    return answers


def _without(
    names: Sequence[str], doubtful: Sequence[str], options: ReadOptions
) -> Mapping[str, Any]:
    """Return the options that state all candidates but the doubtful ones, or leave these out."""
    others = [name for name in names if name not in doubtful]
    if len(others) <= _MAX_SHOWN:
        return {"actions": others}
    return {"ignore": [*options.ignore, *doubtful]}


def ask_about_transposed(table: Columns, ids: Column, candidates: Sequence[str]) -> Question | None:
    """Return the question whether the candidates are in the rows; None if nothing suggests it."""
    labels = ids.labels
    says_candidates = is_candidate_column_name(ids.name)
    # Nobody compares more candidates than that, or reads so many columns.
    models = len(labels) <= _MAX_MODELS and are_model_names(labels)
    items = are_item_names(candidates)
    words = not items and _may_be_candidates(ids, candidates)
    if not (says_candidates or models or items or words):
        return None
    signs = [
        *([f"a column {ids.name!r}"] if says_candidates else []),
        *(
            [f"ids such as {labels[0]!r} in column {_shown(ids.name)}"]
            if models and not says_candidates
            else []
        ),
        *([f"few rows, called {labels[0]!r} and so on"] if words and not models else []),
        *([f"columns {join_names(list(candidates), limit=_MAX_SHOWN)}"] if items or words else []),
    ]
    if not says_candidates and not models:
        signs.append(f"ids in column {_shown(ids.name)}")
    return Question(
        table.source,
        f"expected a column for each candidate, got {join_names(signs, last=' and ')}, as if the "
        "candidates were in the rows",
        (ids.name, *candidates),
        (
            ("the candidates are in the rows", {"ids": ids.name, "transpose": True}),
            ("they are the columns", {"actions": list(candidates)}),
        ),
    )


def _may_be_candidates(ids: Column, candidates: Sequence[str]) -> bool:
    """Return whether the few rows of a table may be its candidates.

    Their names are words that do not count, unlike q1 and q2, the heading is not that of items, and
    no column is called like a candidate.
    """
    labels = ids.labels
    is_plain = not any(re.search(r"\d", label) for label in labels)
    return (
        2 <= len(labels) <= _MAX_CANDIDATE_ROWS
        and is_plain
        and (ids.name.strip().lower() == "name" or not is_id_name(ids.name))
        and not any(map(is_known_candidate, candidates))
    )


def _ask_about_quantities(table: Columns, names: Sequence[str]) -> Question | None:
    """Return the question which columns rank, if several groups of names state a role.

    As in gpt_loss, llama_loss, gpt_accuracy and llama_accuracy; None if names are plain, or one
    group is larger than the others.
    """
    groups = _groups_by_role(names)
    several = {role: group for role, group in groups.items() if role and len(group) > 1}
    sizes = sorted(map(len, several.values()))
    if "" in groups or len(several) < 2 or sizes[-1] > sizes[-2]:
        return None
    kinds = {"loss": "losses", "cost": "losses", "score": "scores"}
    answers = []
    for group in several.values():
        options: dict[str, Any] = {"actions": group}
        name_class = classify_name(group[0])
        if name_class in kinds:
            options["kind"] = kinds[name_class]
        answers.append((f"{join_names(group, limit=_MAX_SHOWN)} rank", options))
    texts = [join_names(group, limit=_MAX_SHOWN) for group in several.values()]
    return Question(
        table.source,
        f"expected one quantity of each candidate, got {', and '.join(texts)}",
        tuple(name for group in several.values() for name in group),
        tuple(answers),
    )


def _ask_about_blocks(table: Columns, names: Sequence[str]) -> Question | None:
    """Return the question which of several blocks of columns rank; None if there is one block."""
    groups = blocks(names)
    if not groups:
        return None
    texts = [join_names(group, limit=_MAX_SHOWN) for group in groups]
    answers: list[tuple[str, Mapping[str, Any]]] = [
        (f"{text} rank", {"actions": group}) for text, group in zip(texts, groups, strict=True)
    ]
    answers.append(("all are candidates", {"actions": list(names)}))
    return Question(
        table.source,
        f"expected one column for each candidate, got the blocks {join_names(texts, last=' and ')}",
        tuple(name for group in groups for name in group),
        tuple(answers),
    )


def _groups_by_role(names: Sequence[str]) -> dict[str, list[str]]:
    """Return names by the role that they suggest; "" for plain names."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(suspected_role(name), []).append(name)
    return groups


def _ask_about_metrics(table: Columns, names: list[str]) -> Question:
    return Question(
        table.source,
        f"expected a column for each candidate, got {join_names(names, limit=_MAX_SHOWN)}, which "
        "are names of metrics",
        tuple(names),
        (
            ("they are candidates", {"actions": names}),
            ("the candidates are in the rows", {"transpose": True}),
        ),
    )


def _shown(name: str) -> str:
    return repr(name) if name else "a column without a name"


def _possible_labels(table: Columns, ignored: Mapping[str, str]) -> list[Column]:
    """Return ignored columns of words that may repeat, such as the actions of a long table."""
    columns = [table.by_name[name] for name, reason in ignored.items() if reason != AS_REQUESTED]
    words = [
        c
        for c in columns
        if c.first_invalid is not None and c.n_numbers == 0 and not has_result_word(c)
    ]
    # The texts of some columns are not kept.
    return [column for column in words if column.texts is None or not table.all_different(column)]


def _all_whole(column: Column) -> bool:
    numbers = column.numbers
    complete = column.first_invalid is None and column.first_missing is None
    return complete and bool((numbers == np.floor(numbers)).all())
