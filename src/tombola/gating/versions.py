"""Versions of a gate: the scores of each, by metric and row, from tables, logs and arrays."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import join_names, option_text
from tombola.errors import ParameterError, TableError
from tombola.tables.columns import Column, Columns
from tombola.tables.costs import AS_REQUESTED
from tombola.tables.derived import without_summary_rows
from tombola.tables.formats import read_file
from tombola.tables.formats.frames import read_frame
from tombola.tables.formats.logs import (
    LoggedAnswer,
    LogOptions,
    check_same_row,
    direction_of_metric,
    is_log,
    log_paths,
    logged_answers,
    notes_on_unscored,
)
from tombola.tables.input_checks import is_directory
from tombola.tables.names import ACTION, IDS, WEAK_ACTION, direction_of, is_id_name, is_run_name
from tombola.tables.options import ReadOptions
from tombola.tables.roles import NOT_SELECTED, ask_about_candidates
from tombola.units import Kind

# Names of a column that says which version answered.
_VERSIONS = ("version", "candidate", *ACTION, *WEAK_ACTION)
# Time of a run in the name of a log of inspect_ai or lm-eval.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")


class Roles(NamedTuple):
    """Columns of a table that the user named; "" or () for those to find.

    ids, runs, versions: columns with the row, the number of the run and the version of a line.
    metrics: columns of scores. groups, clusters: columns that are kept as labels of the rows.
    logs: how to read evaluation logs; its metric is not used.
    candidates, ignore, ignore_rows: columns that are versions, columns and rows that are none.
    """

    ids: str = ""
    runs: str = ""
    versions: str = ""
    metrics: tuple[str, ...] = ()
    groups: str = ""
    clusters: str = ""
    logs: LogOptions = LogOptions(option="metric")
    candidates: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_rows: tuple[str, ...] = ()


@dataclass
class Version:
    """Scores of one version: metric -> row -> scores of its runs; NaN where one is missing.

    labels: column -> row -> text, of groups and clusters.
    kinds: metric -> direction that its name or log states.
    model: the model that a log names; "" if it names none.
    by_place: whether rows are numbered, since they have no ids.
    notes: rows that sum up others, which were left out, and answers without a score.
    logged: row -> an answer on it in a log, whose task and data other versions must share.
    texts: column -> text of each row, of columns with a text of its own in each row, if no column
        is known to have the ids.
    ignored: columns of its file without a role, with the reason.
    rows_left_out: rows of its file that sum up others, or that the user leaves out.
    """

    name: str
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    model: str = ""
    by_place: bool = False
    notes: tuple[str, ...] = ()
    logged: dict[str, LoggedAnswer] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    rows_left_out: frozenset[str] = frozenset()

    def with_ids_of(self, column: str) -> "Version":
        """Return the version with the texts of a column as ids of its numbered rows."""
        ids = self.texts[column]
        scores = {
            metric: {ids[int(row)]: own for row, own in rows.items()}
            for metric, rows in self.scores.items()
        }
        labels = {
            column: {ids[int(row)]: own for row, own in rows.items()}
            for column, rows in self.labels.items()
        }
        notes = (*self.notes, f"rows are matched by {column}")
        ignored = {name: reason for name, reason in self.ignored.items() if name != column}
        return replace(
            self, scores=scores, labels=labels, by_place=False, notes=notes, ignored=ignored
        )

    def add(self, metric: str, row: str, score: float) -> None:
        """Add the score of one run."""
        self.scores.setdefault(metric, {}).setdefault(row, []).append(score)


def version_names(sources: Sequence[Any]) -> list[str]:
    """Return a name for each source: its file or folder, as far as they differ.

    >>> version_names(["runs/old.csv", "runs/new.csv"]), version_names(["a/s.jsonl", "b/s.jsonl"])
    (['old', 'new'], ['a', 'b'])

    A name that a program made from the time of the run says less than the folder; in one folder the
    time itself is the name.

    >>> first, second = "2026-01-01T08-00-00-00-00_qa_Kf.eval", "2026-01-02T08-00-00-00-00_qa_Zs.eval"
    >>> version_names([f"old/{first}", f"new/{second}"])
    ['old', 'new']
    >>> version_names([f"logs/{first}", f"logs/{second}"])
    ['2026-01-01T08-00-00', '2026-01-02T08-00-00']
    """
    paths = [Path(str(source)) for source in sources]
    names = [path.name if is_directory(path) else path.name.split(".")[0] for path in paths]
    parents = [path.absolute().parent for path in paths]
    times = [_TIME.search(name) for name in names]
    if all(times):
        folders = [parent.name for parent in parents]
        stamps = [time[0] for time in times if time]
        is_named = len(set(folders)) == len(folders)
        names = folders if is_named else stamps if len(set(stamps)) == len(stamps) else names
    while len(set(names)) < len(names) and any(parent.name for parent in parents):
        names = [parent.name for parent in parents]
        parents = [parent.parent for parent in parents]
    if len(set(names)) < len(names):
        raise ParameterError(
            f"gate: expected different versions, got {join_names(sources)}; give each file once."
        )
    return names


def read_versions(sources: Sequence[Any], roles: Roles) -> list[Version]:
    """Read one version from each source; from a single source all that it has."""
    if len(sources) == 1:
        return _several_versions(sources[0], roles)
    versions = [
        _one_version(source, name, roles)
        for source, name in zip(sources, version_names(sources), strict=True)
    ]
    return _matched_by_text(versions)


def _matched_by_text(versions: list[Version]) -> list[Version]:
    """Return versions without ids matched by a column of texts, if the files agree on one.

    Such a column has another text in each row, and every text of the shortest file is in all files.
    ParameterError if two columns match the rows in different ways.
    """
    if not all(version.by_place for version in versions):
        return versions
    shortest = min(versions, key=lambda version: len(next(iter(version.scores.values()), ())))
    shared = [
        column
        for column, texts in shortest.texts.items()
        if all(set(texts) <= set(version.texts.get(column, ())) for version in versions)
    ]
    if not shared:
        return versions
    for column in shared[1:]:
        for version in versions:
            pairs = dict(zip(shortest.texts[shared[0]], shortest.texts[column], strict=True))
            own = dict(zip(version.texts[shared[0]], version.texts[column], strict=True))
            if any(own[text] != other for text, other in pairs.items()):
                raise ParameterError(
                    f"gate: expected one column with the ids of the rows, got {shared[0]} and "
                    f"{column}, which match them in different ways; write "
                    f"{option_text('ids', shared[0])}, or {option_text('ids', column)}."
                )
    return [version.with_ids_of(shared[0]) for version in versions]


def log_files(source: str | Path) -> list[Path]:
    """Return the logs of a folder; [] of a file."""
    return list(log_paths(Path(source))) if is_directory(Path(source)) else []


def version_of_values(values: Any, name: str, roles: Roles) -> Version:
    """Return a version from a path, a frame, a mapping of rows to scores, or an array.

    An array has shape (rows,) or (rows, runs); its rows are numbered.
    """
    if isinstance(values, str | Path):
        return _one_version(values, name, roles)
    metric = roles.metrics[0] if roles.metrics else "score"
    version = Version(name, kinds={metric: direction_of([metric])[0]})
    if hasattr(values, "columns") or hasattr(values, "column_names"):
        return _from_columns(read_frame(values, name), roles, name)[0]
    index = getattr(values, "index", None)
    if isinstance(values, Mapping):
        rows = [(str(row), score) for row, score in values.items()]
    elif index is not None and not callable(index):
        rows = list(zip(map(str, index), list(values), strict=True))
    else:
        rows = [(str(place), score) for place, score in enumerate(values)]
        version.by_place = True
    for row, scores in rows:
        try:
            runs = np.atleast_1d(np.asarray(scores, np.float64))
        except (TypeError, ValueError):
            raise ParameterError(
                f"gate: expected numbers as scores of {name}, got {scores!r:.60} on row {row}; "
                "give a number, or one for each run."
            ) from None
        for score in runs.ravel():
            version.add(metric, row, float(score))
    return version


def check_same_rows(versions: Sequence[Version]) -> None:
    """Raise TableError unless rows of the same id in logs have the same task and the same data."""
    first: dict[str, LoggedAnswer] = {}
    for version in versions:
        for row, answer in version.logged.items():
            check_same_row(first.setdefault(row, answer), answer, "gate")


def _one_version(source: Any, name: str, roles: Roles) -> Version:
    path = Path(str(source))
    if is_directory(path) or is_log(path):
        return _version_of_logs(log_paths(path), name, roles)
    columns = _read_columns(source, roles)
    versions = _from_columns(columns, roles, name)
    if len(versions) > 1:
        raise TableError(
            f"{source}: expected the scores of one version, got those of "
            f"{join_names([version.name for version in versions])}; give this file alone, with "
            f"{option_text('baseline', versions[0].name)} for the old one."
        )
    return versions[0]


def _several_versions(source: Any, roles: Roles) -> list[Version]:
    path = Path(str(source))
    if not is_directory(path) and not is_log(path):
        name = path.name.split(".")[0]
        return _from_columns(_read_columns(source, roles), roles, name, wide=True)
    answers = _logged(log_paths(path), roles)
    names = dict.fromkeys(answer.candidate for answer, _ in answers)
    return [
        _version_of_answers(name, [pair for pair in answers if pair[0].candidate == name])
        for name in names
    ]


def _version_of_logs(files: Sequence[Path], name: str, roles: Roles) -> Version:
    """Return the version that all these logs belong to, whatever model they name."""
    answers = _logged(files, roles)
    for file in files:
        models = list(dict.fromkeys(a.candidate for a, _ in answers if a.file == str(file)))
        if len(models) > 1:
            raise TableError(
                f"{file}: expected the log of one version, got {join_names(models)}; give "
                f"this file alone, with {option_text('baseline', models[0])}."
            )
    return _version_of_answers(name, answers)


def _logged(files: Sequence[Path], roles: Roles) -> list[tuple[LoggedAnswer, str]]:
    """Return the answers in logs, each with its row, after the task if there are several."""
    answers = [
        answer._replace(metric=metric or answer.metric)
        for file in files
        for metric in roles.metrics or (None,)
        for answer in logged_answers(file, roles.logs._replace(metric=metric))
    ]
    if not answers:
        raise TableError(
            f"{join_names(files)}: expected answers of a version, got none; give the log of a "
            "finished run."
        )
    by_task = len({answer.task for answer in answers}) > 1
    return [
        (answer, f"{answer.task}/{answer.row}" if by_task else answer.row) for answer in answers
    ]


def _version_of_answers(name: str, answers: Iterable[tuple[LoggedAnswer, str]]) -> Version:
    answers = list(answers)
    version = Version(name)
    version.notes = tuple(notes_on_unscored(answer for answer, _ in answers))
    models: dict[str, None] = {}
    for answer, row in answers:
        models[answer.candidate] = None
        version.add(answer.metric, row, answer.value)
        version.kinds[answer.metric] = answer.kind
        check_same_row(version.logged.setdefault(row, answer), answer, answer.file)
    version.model = ", ".join(models)
    return version


def _read_columns(source: Any, roles: Roles) -> Columns:
    columns = read_file(str(source), ReadOptions(ids=roles.ids or None))
    if not isinstance(columns, Columns):
        raise TableError(
            f"{source}: expected a table with named columns, got an array or a folder; save it "
            "as CSV with columns id and score."
        )
    return columns


def _from_columns(table: Columns, roles: Roles, name: str, *, wide: bool = False) -> list[Version]:
    """Return the versions of a table; with `wide`, its columns of numbers are versions.

    QuestionError for a row, or a column of `wide`, that may be something else.
    """
    options = ReadOptions(
        ids=roles.ids or None,
        actions=list(roles.candidates) or None,
        ignore=roles.ignore,
        ignore_rows=roles.ignore_rows,
    )
    whole = table
    table, is_kept, notes = without_summary_rows(whole, options)
    labels = {
        column: table.find(column, option)
        for option, column in (("by", roles.groups), ("clusters", roles.clusters))
        if column
    }
    ignored = {name for pattern in roles.ignore for name in table.matching(pattern, "ignore")}
    free = [
        column
        for column in table.columns
        if column.name not in labels and column.name not in ignored
    ]
    ids = _role(table, free, roles.ids, "ids", (*IDS,)) or next(
        (column for column in free if is_id_name(column.name) and column.name not in roles.metrics),
        None,
    )
    runs = _role(table, free, roles.runs, "run", ())
    if not roles.runs:
        runs = next((column for column in free if is_run_name(column.name)), None)
    versions = _role(table, free, roles.versions, "action", _VERSIONS)
    role_names = {column.name for column in (ids, runs, versions) if column is not None}
    values = _value_columns(table, [c for c in free if c.name not in role_names], roles, wide=wide)
    if wide and versions is None:
        values = _version_columns(table, values, options)
    texts = _texts(ids, table.rows)
    # Columns of versions do not name what they measure.
    is_loss = roles.logs.kind == "losses" and not roles.metrics
    split_metric = "loss" if is_loss else "score"
    by_name: dict[str, Version] = {}
    seen: set[tuple[str, str, str]] = set()
    for place, row in enumerate(texts):
        owner = versions.labels[place].strip() if versions is not None else name
        run = runs.labels[place] if runs is not None else ""
        if (owner, row, run) in seen:
            raise TableError(
                f"{table.source}: expected one score of row {row!r} in each run, got a second in "
                f"{table.place(place)}; name the column that numbers the runs with "
                f"{option_text('run', 'NAME')}, or leave out the duplicate."
            )
        seen.add((owner, row, run))
        for column in values:
            split = wide and versions is None
            version = by_name.setdefault(
                column.name if split else owner,
                Version(column.name if split else owner, by_place=ids is None),
            )
            metric = split_metric if split else column.name
            version.add(metric, row, float(column.numbers[place]))
            version.kinds[metric] = direction_of([column.name])[0]
            for label, own in labels.items():
                version.labels.setdefault(label, {})[row] = own.labels[place].strip() or "(none)"
    own_texts = {} if ids is not None or wide else _own_texts(table, free, values)
    used = {*labels, *role_names, *(column.name for column in values)}
    unused = _unused_columns(table, used, ignored)
    # The id of a row tells that several files leave out the same one.
    owners = None if ids is None else whole.by_name[ids.name].labels
    left_out = frozenset(
        (owners[row].strip() if owners else "") or whole.place(row)
        for row in np.flatnonzero(~is_kept).tolist()
    )
    for version in by_name.values():
        version.notes = tuple(notes)
        version.texts = own_texts
        version.ignored = unused
        version.rows_left_out = left_out
    return list(by_name.values())


def _unused_columns(table: Columns, used: set[str], ignored: set[str]) -> dict[str, str]:
    """Return the columns without a role, with the reason, in the words of `tables.roles`."""
    unused = {}
    for column in table.columns:
        if column.name in ignored:
            unused[column.name] = AS_REQUESTED
        elif column.name not in used and column.first_invalid is not None:
            unused[column.name] = "text"
        elif column.name not in used:
            unused[column.name] = NOT_SELECTED if column.n_numbers else "empty"
    return unused


def _own_texts(
    table: Columns, free: Iterable[Column], values: Iterable[Column]
) -> dict[str, list[str]]:
    """Return the columns of words that have another text in each row."""
    scores = {column.name for column in values}
    own = {}
    for column in free:
        labels = [label.strip() for label in column.labels]
        is_text = column.first_invalid is not None and column.name not in scores
        if is_text and all(labels) and len(set(labels)) == table.rows:
            own[column.name] = labels
    return own


def _version_columns(
    table: Columns, columns: Sequence[Column], options: ReadOptions
) -> list[Column]:
    """Return the columns that are versions: stated, or certain; else QuestionError."""
    if options.actions is not None:
        names = [name for pattern in options.actions for name in table.matching(pattern, "actions")]
        return [table.numeric(table.by_name[name]) for name in dict.fromkeys(names)]
    question = ask_about_candidates(table, columns, options)
    if question is not None:
        raise question.about({"actions", "ignore"}).error()
    return list(columns)


def _role(
    table: Columns, free: Iterable[Column], name: str, option: str, usual: Sequence[str]
) -> Column | None:
    """Return the column that the user named, else the one with a usual name."""
    if name:
        return table.find(name, option)
    return next((column for column in free if column.name.strip().lower() in usual), None)


def _texts(ids: Column | None, rows: int) -> list[str]:
    if ids is None:
        return [str(place) for place in range(rows)]
    return [label.strip() for label in ids.labels]


def _value_columns(
    table: Columns, free: Sequence[Column], roles: Roles, *, wide: bool
) -> list[Column]:
    """Return the columns of scores: those named, or the only ones with numbers."""
    if roles.metrics and not wide:
        return [table.numeric(table.find(name, "metric")) for name in roles.metrics]
    numeric = [column for column in free if column.n_numbers and column.first_invalid is None]
    if not numeric:
        words = [c for c in free if c.first_invalid is not None]
        raise TableError(
            f"{table.source}: expected a column of scores, got "
            f"{join_names([column.name for column in words]) or 'none'} without numbers; write 1 "
            "for right and 0 for wrong."
        )
    if len(numeric) > 1 and not wide:
        names = [column.name for column in numeric]
        raise TableError(
            f"{table.source}: expected one column of scores, got {join_names(names)}; name those "
            f"that count with {option_text('metric', names[0])}."
        )
    return [table.numeric(column) for column in numeric]


def direction(metric: str, versions: Iterable[Version]) -> Kind | None:
    """Return the direction of a metric that its name or its logs state; None without one."""
    kinds = {version.kinds.get(metric) for version in versions}
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind is not None:
            return kind
    try:
        return direction_of_metric(metric, "gate")
    except TableError:
        return None


def iterate_rows(old: Version, new: Version, metric: str) -> Iterator[str]:
    """Yield the rows that both versions have, in the order of the old one."""
    rows = new.scores.get(metric, {})
    return (row for row in old.scores.get(metric, {}) if row in rows)
