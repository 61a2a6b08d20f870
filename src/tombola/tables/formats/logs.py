"""Readers of evaluation logs: a table with a row per sample and a column per candidate.

inspect_ai        .eval or .json logs, one per candidate (needs the package)
lm-eval           samples_*.jsonl, one per candidate; the folder is the name of the candidate
promptfoo         results JSON; a candidate is a provider, with its prompt if there are several
pytest-probability  reports of --prob-json; the file is the name of the candidate
Every Eval Ever   files of instances (JSON lines); a candidate is a model
long CSV          one line per answer: columns candidate, row, and score or loss

A file is recognised by its content, but for the CSV. Answers are joined only if they are about the
same rows: the task and the data of the row itself must agree, never its prompt. The name of a
metric states its direction: brier_score is a loss, acc a score. Other names need an option.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from tombola._formatting import is_encodable, join_names, option_text, plural
from tombola._types import Floats
from tombola.errors import TableError
from tombola.tables.columns import check_unique_names
from tombola.tables.formats.delimited import text_lines, text_table
from tombola.tables.input_checks import check_file, is_directory
from tombola.tables.names import direction_of
from tombola.tables.options import ParsedTable, ReadOptions
from tombola.tables.runs import mean_of_runs
from tombola.units import Kind

# Errors that malformed input causes while it is parsed; they become a TableError.
_PARSE_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
# Usual names of metrics, or words of them, that `direction_of` does not know.
_LOWER_IS_BETTER = (
    "bits_per_byte|bpb|cross_?entropy|distance|divergence|ece|fail|fails|failure|"
    "levenshtein|log_?loss|mape|nll|ter"
)
_HIGHER_IS_BETTER = (
    r"anls|answer|bert_?score|bleu\w*|choice|chrf\w*|contains|em|exact|exact_?match|includes|iou|match|map|mc[12]|mcc|"
    r"meteor|model_graded_(?:fact|qa)|mrr|ndcg|pass(?:@|_at_)?\d*|pattern|rouge\w*|similarity"
)
# Keys of a sample of lm-eval that are no metrics; old versions do not list the metrics.
_LM_EVAL_KEYS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
)
# Keys of which a sample of lm-eval has at least one, beside doc_id.
_LM_EVAL_LINE = _LM_EVAL_KEYS - {"doc_id"} | {"doc_hash"}
# Name that lm-eval gives to a file of samples: the task, then a time.
_LM_EVAL_FILE = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[^_]*")
# Words of which a log in JSON that is not one line has at least one near its begin.
_JSON_WORDS = (b'"results"', b'"eval"', b'"stats_config"')
# Value of failureReason in results of promptfoo if the call itself failed.
_PROMPTFOO_ERROR = 2
# Variables of promptfoo that a run adds to those of the test.
_RUN_VARIABLES = ("_conversation", "sessionId")
# Results of inspect_ai whose value states the direction, whatever the name of the scorer.
_GRADES = ("C", "I", "P", "N")
# Bytes in which a JSON document names its kind.
_HEAD_SIZE = 1 << 16
# Files of a folder that may be logs.
_SUFFIXES = (".eval", ".json", ".jsonl")
# Folders in which they may be: that of a model, and that of a run in it.
_DEPTHS = ("*", "*/*", "*/*/*")


class LoggedAnswer(NamedTuple):
    """A value of a metric of one candidate on one row, in the unit of the metric.

    task: name of the task; "" if the log does not have it.
    data: kind and digest of the data of the row itself, such as its input; "" if unknown.
    file: name of the log, for messages.
    asked: how often the row was asked for this one value, if the program scored one answer only.
    """

    candidate: str
    row: str
    value: float
    metric: str = "loss"
    kind: Kind = "losses"
    task: str = ""
    data: str = ""
    file: str = ""
    asked: int = 1

    @property
    def origin(self) -> str:
        """The candidate and the file, for messages."""
        return f"{self.candidate!r:.80}{f' in {self.file}' if self.file else ''}"


class LogOptions(NamedTuple):
    """How to read a log.

    metric: name of the metric, of lm-eval also with its filter, as in "exact_match,strict-match";
        None if there is only one.
    kind: direction of the metric, if its name does not state it.
    unfinished: whether to read a log of a run that was cancelled, or ended with an error.
    option: name of the option for the metric, for messages.
    """

    metric: str | None = None
    kind: Kind | None = None
    unfinished: bool = False
    option: str = "value"


class _LmEvalSample(NamedTuple):
    """A line of a log of lm-eval: values by metric, with the filter if it has one.

    repeats: number of answers to the row (`repeats` of the task).
    """

    line: int
    row: str
    filter: str
    values: dict[str, Any]
    data: str
    repeats: int


def read_log(path: Path, options: ReadOptions) -> ParsedTable:
    """Read a log, or a folder of logs, as a table; the option `value` names the metric."""
    return read_logs(log_paths(path), options, str(path))


def read_logs(
    paths: Sequence[Path], options: ReadOptions | None = None, source: str = ""
) -> ParsedTable:
    """Read evaluation logs as one table: a row per sample, a column per candidate.

    Raises TableError if a file is malformed or of an unfinished run, if rows are not the same, and
    unless all have one metric with a known direction.

    options: `value` names the metric; with `runs`, epochs, repeats and a log per run are runs.
    source: name of all logs in messages; "" for their number.
    """
    options = options or ReadOptions()
    source = source or (str(paths[0]) if len(paths) == 1 else f"{len(paths)} evaluation logs")
    for name in ("by", "delay", "ids", "action", "resources", "features", "text", "transpose"):
        if getattr(options, name):
            got = option_text("costs" if name == "resources" else name)
            raise TableError(
                f"{source}: expected no options about columns with an evaluation log, which has "
                f"none, got {got}; drop it."
            )
    how = LogOptions(options.value, options.kind, options.unfinished)
    answers = [answer for path in paths for answer in logged_answers(path, how)]
    parsed = table_of(answers, source, several=options.runs)
    return parsed.select_actions(options.actions)


def logged_answers(path: Path, options: LogOptions | None = None) -> Iterator[LoggedAnswer]:
    """Yield the answers in one log as they are logged; a row may come several times."""
    check_file(path)
    for answer in (_format_of(path) or _long)(path, options or LogOptions()):
        yield answer._replace(file=str(path))


def is_log(path: Path) -> bool:
    """Return whether the content of a file is an evaluation log."""
    try:
        check_file(path)
        return _format_of(path) is not None
    except TableError:
        return False


def table_of(answers: Iterable[LoggedAnswer], source: str, *, several: bool = False) -> ParsedTable:
    """Return a table of the answers, rows and candidates in the order of first occurrence.

    Values are in the unit of the metric. Raises TableError, with the `source` of the answers,
    unless they have one metric, and are about the same rows.

    several: whether a candidate may answer a row several times: the first time is the first run.

    >>> answers = [LoggedAnswer("a", "x", 0.5), LoggedAnswer("b", "x", 0.25)]
    >>> table_of(answers, "two answers").values.tolist()
    [[0.5, 0.25]]
    """
    answers = _checked(answers, source)
    keys = row_keys(answers, source)
    rows = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    names = {a.candidate: 0 for a in answers}
    names = {name: place for place, name in enumerate(names)}
    by_cell: dict[tuple[int, int], list[float]] = {}
    for answer, key in zip(answers, keys, strict=True):
        values = by_cell.setdefault((rows[key], names[answer.candidate]), [])
        values.append(answer.value)
        if len(values) > 1 and not several:
            raise TableError(
                f"{source}: expected one answer of {answer.candidate!r} on row {key!r}, got "
                "two; give one log per candidate and epoch."
            )
    most = max(map(len, by_cell.values()))
    cube: Floats = np.full((most, len(rows), len(names)), np.nan)
    for (row, place), values in by_cell.items():
        cube[: len(values), row, place] = values
    means = mean_of_runs(cube) if most > 1 else cube[0]
    tasks = join_names(list(dict.fromkeys(a.task for a in answers if a.task)))
    first = answers[0]
    counts = (~np.isnan(cube)).sum(axis=0)
    few = int(counts[counts > 0].min())
    number = f"{most}" if few == most else f"{few} to {most}"
    notes = [
        f"evaluation logs{f' of {tasks}' if tasks else ''}: {plural(len(rows), 'row')}, "
        f"{plural(len(names), 'action')} ({join_names(list(names))}), values of {first.metric}",
        *([f"{number} runs of each row and action"] if most > 1 else []),
    ]
    unscored = notes_on_unscored(answers)
    notes += unscored
    missing = np.argwhere(counts == 0)[:1].tolist()
    row_names = list(rows)
    return ParsedTable(
        source=source,
        kind=first.kind,
        values=means,
        actions=tuple(names),
        ids=tuple(row_names),
        costs=None,
        delays=None,
        notes=notes,
        first_missing=next(
            (f"row {row_names[row]!r}, action {[*names][k]!r}, got none" for row, k in missing),
            None,
        ),
        unit=first.metric,
        runs=cube if most > 1 else None,
        questions=tuple(unscored),
    )


def notes_on_unscored(answers: Iterable[LoggedAnswer]) -> list[str]:
    """Return a note if rows were asked several times, but only one value of each is logged.

    >>> notes_on_unscored([LoggedAnswer("a", "x", 1.0)])
    []
    """
    asked = max((answer.asked for answer in answers), default=1)
    if asked < 2:
        return []
    return [
        f"each row was asked {asked} times (repeats), but the log has one score of it, so it is "
        "one run; for more runs give the logs of several evaluations, or log a score per answer"
    ]


def row_keys(answers: Sequence[LoggedAnswer], source: str) -> list[str]:
    """Return the row of each answer, with its task if a candidate has several tasks.

    TableError unless answers on one row agree in the task and in the data of the row itself, and
    all candidates have the same tasks.
    """
    tasks: dict[str, dict[str, LoggedAnswer]] = {}
    for answer in answers:
        tasks.setdefault(answer.candidate, {}).setdefault(answer.task, answer)
    has_several = any(len(own) > 1 for own in tasks.values())
    if has_several:
        everything = {task: answer for own in tasks.values() for task, answer in own.items()}
        for own in tasks.values():
            lacking = next((task for task in everything if task not in own), None)
            if lacking is not None:
                there = next(task for task in own)
                raise TableError(
                    f"{source}: expected the same tasks of every candidate, got "
                    f"{lacking!r} of {everything[lacking].origin} and only {join_names([*own])} of "
                    f"{own[there].origin}; give the logs of the same tasks."
                )
    keys = [f"{a.task}/{a.row}" if has_several else a.row for a in answers]
    first: dict[str, LoggedAnswer] = {}
    for key, answer in zip(keys, answers, strict=True):
        known = first.setdefault(key, answer)
        check_same_row(known, answer, source)
        if answer.data and not known.data:
            first[key] = answer
    return keys


def check_same_row(first: LoggedAnswer, second: LoggedAnswer, source: str) -> None:
    """Raise TableError unless two answers are about one row: task and data must agree, if known."""
    if first.task and second.task and first.task != second.task:
        raise TableError(
            f"{source}: expected the same task of every candidate, got {first.task!r} of "
            f"{first.origin} and {second.task!r} of {second.origin}; give logs of one task."
        )
    if not first.data or not second.data or first.data == second.data:
        return
    kinds = [answer.data.partition(" ")[0] for answer in (first, second)]
    expected = f"the same data of row {first.row!r:.80} in all logs"
    if kinds[0] != kinds[1]:
        raise TableError(
            f"{source}: expected {expected}, got {kinds[0]} of {first.origin} and {kinds[1]} of "
            f"{second.origin}, which cannot be compared; give logs of one program."
        )
    names = [f"task {answer.task!r} of {answer.origin}" for answer in (first, second)]
    raise TableError(
        f"{source}: expected {expected}, got another {kinds[0]} in {names[1]} than in {names[0]}: "
        "these are not the same rows; give logs of the same version of the data."
    )


def _checked(answers: Iterable[LoggedAnswer], source: str) -> list[LoggedAnswer]:
    """Return the answers; TableError unless there are any, finite and of one metric."""
    checked = list(answers)
    if not checked:
        raise TableError(
            f"{source}: expected answers of candidates, found none; give the log of a finished run."
        )
    for answer in checked:
        place = f"{answer.candidate!r} on row {answer.row!r}"
        if not is_encodable(answer.candidate + answer.row):
            raise TableError(f"{source}: expected names in valid Unicode, got {place}; rename it.")
        if not np.isfinite(answer.value):
            raise TableError(
                f"{source}: expected a finite {answer.metric}, got {answer.value:g} of {place}; "
                "leave that row out of all logs."
            )
    metrics = list(dict.fromkeys((answer.metric, answer.kind) for answer in checked))
    if len(metrics) > 1:
        texts = [name for name, _ in metrics]
        if len(set(texts)) < len(texts):
            texts = [
                f"{name} ({'lower' if kind == 'losses' else 'higher'} is better)"
                for name, kind in metrics
            ]
        raise TableError(
            f"{source}: expected the same metric in all logs, got "
            f"{join_names(texts, last=' and ')}; give logs "
            f"with a common metric, and write {option_text('value', 'NAME')}."
        )
    return checked


def direction_of_metric(metric: str, source: str, stated: Kind | None = None) -> Kind:
    """Return the direction that is stated, else the one in the name of the metric.

    TableError, with the `source` of the metric, if there is none, or two.

    >>> [direction_of_metric(name, "log") for name in ("brier_score", "acc_norm", "exact_match,strict-match")]
    ['losses', 'scores', 'scores']
    """
    if stated is not None:
        return stated
    name = metric.partition(",")[0].lower()
    for words, usual in ((_LOWER_IS_BETTER, "loss"), (_HIGHER_IS_BETTER, "score")):
        name = re.sub(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])", usual, name)
    kind, _ = direction_of([name])
    if kind is None:
        raise TableError(
            f"{source}: expected a metric whose name states whether higher or lower is better, "
            f"such as acc or brier_score, got {metric!r:.80}; write "
            f"{option_text('kind', 'scores')} if higher is better, "
            f"{option_text('kind', 'losses')} if lower is."
        )
    return kind


def _format_of(path: Path) -> "Callable[[Path, LogOptions], Iterator[LoggedAnswer]] | None":
    """Return the reader of a log by its content; None if it is none that is known."""
    with path.open("rb") as file:
        head = file.read(_HEAD_SIZE)
    if head.startswith(b"PK\x03\x04"):
        try:
            with ZipFile(path) as packed:
                names = set(packed.namelist())
        except Exception:  # zipfile raises errors of many types for damaged files
            names = set()
        is_inspect = bool(names & {"header.json", "_journal/start.json"})
        return _inspect if is_inspect or path.suffix == ".eval" else None
    if path.suffix == ".eval":
        return _inspect
    if not head.lstrip().startswith(b"{") and head[:2] != b"\x1f\x8b":
        return None
    try:
        first = json.loads(next((line for line in text_lines(path) if line.strip()), ""))
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and "doc_id" in first and len(first.keys() & _LM_EVAL_LINE) > 0:
        return _lm_eval
    if isinstance(first, dict) and {"evaluation_id", "sample_id", "evaluation"} <= first.keys():
        return _every_eval
    if first is None and not any(word in head for word in _JSON_WORDS):
        return None
    data = first if isinstance(first, dict) else _json(path)
    if isinstance(data.get("eval"), dict) and "status" in data:
        return _inspect
    results = data.get("results")
    lines = results.get("results") if isinstance(results, dict) else results
    if isinstance(lines, list) and lines and all(isinstance(line, dict) for line in lines):
        return _promptfoo if any("provider" in line for line in lines) else None
    if isinstance(results, dict) and {"configs", "versions"} & data.keys():
        return _lm_eval_means
    if {"stats_config", "records", "stopping"} <= data.keys():
        return _probability
    return None


def log_paths(path: Path) -> list[Path]:
    """Return the path of a file, or the logs of a folder, sorted; TableError if it has none."""
    if not is_directory(path):
        return [path]
    files = sorted(
        file for depth in _DEPTHS for file in path.glob(depth) if file.suffix in _SUFFIXES
    )
    # Means of lm-eval, and those of Every Eval Ever, are beside their samples.
    logs = [file for file in files if file.is_file() and is_log(file)]
    logs = [file for file in logs if _format_of(file) is not _lm_eval_means]
    if not logs:
        raise TableError(
            f"{path}: expected a file, or a folder with evaluation logs, found a folder without "
            "any; name a file."
        )
    return logs


def _digest(kind: str, *parts: object) -> str:
    """Return the kind and the digest of data of a row; "" if there are none."""
    if not any(parts):
        return ""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return f"{kind} {sha256(text.encode()).hexdigest()}"


def _lm_eval_means(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    raise TableError(
        f"{path}: expected the samples of lm-eval, got its means only; run lm-eval with "
        "--log_samples, and give samples_*.jsonl."
    )


def _inspect(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise TableError(
            f"{path}: reading logs of inspect_ai needs that package, found none; write pip "
            "install 'tombola[inspect]'."
        ) from None
    try:
        # The package tells its two formats apart by the name alone.
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        log = read_eval_log(str(path), format="eval" if is_zip else "json")
    except Exception as error:  # the package raises errors of many types for damaged files
        raise _unreadable(path, "a log of inspect_ai", error) from None
    yield from answers_of_log(log, options, str(path))


def answers_of_log(
    log: Any, options: LogOptions | None = None, source: str | None = None
) -> Iterator[LoggedAnswer]:
    """Yield the answer on each sample of an inspect_ai log.

    TableError if there are several scores and no metric names one of them, and if the run has not
    ended with success.

    log: an EvalLog of inspect_ai; its samples are read from its file if it has none.
    source: name of the log in error messages; None for its path.
    """
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    options = options or LogOptions()
    # Without a source, the caller is the extension of inspect_ai, which takes the metric from this
    # variable.
    option = "TOMBOLA_RANKS=" if source is None else options.option
    source = source or str(log.location)
    status = "invalidated" if getattr(log, "invalidated", False) else str(log.status)
    if status != "success" and not options.unfinished:
        raise TableError(
            f"{source}: expected the log of a run that ended with success, got status {status!r}; "
            f"finish the run, or write {option_text('unfinished', on=True)} to read the answers "
            "it has."
        )
    to_float = value_to_float()
    samples = (
        log.samples
        if log.samples is not None or not log.location
        else read_eval_log(log.location).samples
    )
    # Epochs are runs: they are numbered in their order.
    for sample in sorted(samples or [], key=lambda sample: getattr(sample, "epoch", 1)):
        scores = sample.scores or {}
        if not scores and getattr(sample, "error", None):
            if options.unfinished:
                continue
            raise TableError(
                f"{source}: expected an answer on sample {sample.id!r:.80}, got an error; run it "
                f"again, or write {option_text('unfinished', on=True)} to leave it open."
            )
        name = _chosen_metric(list(scores), options.metric, f"{source}, sample {sample.id}", option)
        value = scores[name].value
        _check_single(value, name, f"{source}, sample {sample.id}")
        # Correct, incorrect, partial, no answer: these values state the direction, whatever the
        # name of the scorer.
        is_grade = isinstance(value, str) and value in _GRADES
        kind = "scores" if is_grade else direction_of_metric(name, source, options.kind)
        yield LoggedAnswer(
            str(log.eval.model),
            str(sample.id),
            float(to_float(value)),
            name,
            kind,
            str(getattr(log.eval, "task", "")),
            _digest("input", *_input_texts(sample)),
        )


def _input_texts(sample: Any) -> list[object]:
    """Return the input of a sample of the data, without the ids that inspect_ai adds to messages."""
    given = getattr(sample, "input", None)
    if not isinstance(given, list):
        return [given]
    contents = [getattr(message, "content", message) for message in given]
    texts = [
        [getattr(part, "text", None) or str(part) for part in content]
        if isinstance(content, list)
        else content
        for content in contents
    ]
    return [[getattr(message, "role", "") for message in given], texts]


def _chosen_metric(names: Sequence[str], metric: str | None, source: str, option: str) -> str:
    """Return `metric` if it is one of the names, or the only name if it is None.

    option: name of the option that messages suggest, or the text before the name of a metric if
        it ends with "=".
    """
    # A name of lm-eval may have a filter after a comma.
    chosen = [name for name in names if metric == name]
    chosen = chosen or [name for name in names if metric in (None, name.partition(",")[0])]
    if len(chosen) == 1:
        return chosen[0]
    expected = "one metric" if metric is None or chosen else f"the metric {metric!r:.80}"
    first = (chosen or [*names, ""])[0]
    written = option + first if option.endswith("=") else option_text(option, first)
    fix = (
        f"write {written}{', or another of them' * (len(names) > 1)}"
        if names
        else "give a log with scores"
    )
    raise TableError(
        f"{source}: expected {expected}, got {join_names(names, last=' and ') or 'none'}; {fix}."
    )


def _check_single(value: object, metric: str, source: str) -> None:
    if value is None or isinstance(value, list | tuple | dict):
        got = "none" if value is None else "several"
        raise TableError(
            f"{source}: expected a number as {metric}, got {got}; choose a metric with one per "
            "sample."
        )


def _lm_eval(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    samples = list(_lm_eval_samples(path))
    if not samples:
        return
    names = list(dict.fromkeys(name for sample in samples for name in sample.values))
    # lm-eval writes "acc,none" for a metric without a filter.
    metric = options.metric and options.metric.removesuffix(",none")
    chosen = _chosen_metric(names, metric, str(path), options.option)
    kind = direction_of_metric(chosen, str(path), options.kind)
    match = _LM_EVAL_FILE.fullmatch(path.stem)
    task = match[1] if match else ""
    for sample in samples:
        if chosen.partition(",")[2] != sample.filter:
            continue
        value: Any = sample.values.get(chosen)
        # A list with a value for each answer: they are runs.
        has_runs = isinstance(value, list) and len(value) == sample.repeats > 1
        values: list[Any] = value if has_runs else [value]
        name = path.parent.name or path.stem
        for one in values:
            _check_single(one, chosen, f"{path}, line {sample.line}")
            try:
                number = float(one)
            except _PARSE_ERRORS as error:
                expected = f"a number as {chosen} in line {sample.line}"
                raise _unreadable(path, expected, error) from None
            answer = LoggedAnswer(name, sample.row, number, chosen, kind, task, sample.data)
            yield answer._replace(asked=1 if has_runs else sample.repeats)


def _lm_eval_samples(path: Path) -> Iterator[_LmEvalSample]:
    for number, entry in _json_lines(path, "a sample of lm-eval"):
        try:
            names = entry.get("metrics") or [
                key
                for key, value in entry.items()
                if key not in _LM_EVAL_KEYS and isinstance(value, int | float)
            ]
            filter_name = "" if entry.get("filter") in (None, "none") else str(entry["filter"])
            end = f",{filter_name}" if filter_name else ""
            values = {f"{name}{end}": entry.get(name) for name in names}
            # The hash of the prompt changes with the version that is tested; that of the row not.
            digest = entry.get("doc_hash")
            data = f"doc_hash {digest}" if digest else _digest("doc", entry.get("doc"))
            # One list of answers per request; the requests of a row have equally many.
            answers = next(iter(entry.get("resps") or []), None)
            repeats = len(answers) if isinstance(answers, list) else 1
            yield _LmEvalSample(number, str(entry["doc_id"]), filter_name, values, data, repeats)
        except _PARSE_ERRORS as error:
            raise _unreadable(path, f"a sample of lm-eval in line {number}", error) from None


def _every_eval(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    entries = [entry for _, entry in _json_lines(path, "an instance of Every Eval Ever")]
    try:
        # Epochs are runs: they are numbered in their order.
        entries.sort(key=lambda entry: int((entry.get("metadata") or {}).get("epoch") or 1))
        scores = [_instance_scores(entry) for entry in entries]
        names = list(dict.fromkeys(name for values in scores for name in values))
        metric = options.metric and options.metric.removesuffix(",none")
        chosen = _chosen_metric(names, metric, str(path), options.option)
        kind = options.kind or _instance_direction(path, chosen, entries)
        for entry, values in zip(entries, scores, strict=True):
            if chosen not in values:
                continue
            metadata = entry.get("metadata") or {}
            given = entry["input"]
            # The prompt is the input in files made from lm-eval, beside the hash of the row.
            data = _digest("input", given["raw"], given["reference"])
            if metadata.get("doc_hash"):
                data = f"doc_hash {metadata['doc_hash']}"
            yield LoggedAnswer(
                str(entry["model_id"]),
                str(entry["sample_id"]),
                float(values[chosen]),
                chosen,
                kind,
                str(entry["evaluation_name"]).removesuffix(f"/{metadata.get('filter')}"),
                data,
            )
    except _PARSE_ERRORS as error:
        raise _unreadable(path, "instances of Every Eval Ever", error) from None


def _instance_scores(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores of an instance by metric; "score" if it has no name."""
    metadata = entry.get("metadata") or {}
    named = json.loads(metadata.get("lm_eval_metrics") or "{}")
    filter_name = metadata.get("filter") or "none"
    end = "" if filter_name == "none" else f",{filter_name}"
    numbers = {
        f"{name}{end}": value for name, value in named.items() if isinstance(value, int | float)
    }
    result = entry.get("evaluation_result_id")
    return numbers or {str(result or "score"): entry["evaluation"]["score"]}


def _instance_direction(path: Path, metric: str, entries: Sequence[Mapping[str, Any]]) -> Kind:
    """Return the direction of the scores: that of the evaluation file beside them, or certain."""
    beside = path.with_name(f"{path.name.split('.')[0].removesuffix('_samples')}.json")
    if beside != path and beside.is_file():
        results = _json(beside).get("evaluation_results") or []
        ids = {str(entry.get("evaluation_result_id")) for entry in entries}
        names = {str(entry["evaluation_name"]) for entry in entries}
        lower = {
            result["metric_config"]["lower_is_better"]
            for result in results
            if str(result.get("evaluation_result_id")) in ids or result["evaluation_name"] in names
        }
        if len(lower) == 1:
            return "losses" if lower.pop() else "scores"
    # A score of 1 for what is correct, and 0 for what is not.
    are_grades = all(
        entry["evaluation"]["score"] == float(entry["evaluation"]["is_correct"])
        for entry in entries
    )
    named = metric if are_grades or metric != "score" else "value"
    return direction_of_metric(named, str(path))


def _json_lines(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line, from 1, and the object on it."""
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict):
                raise ValueError("no object")
        except _PARSE_ERRORS as error:
            raise _unreadable(path, f"{expected} in line {number}", error) from None
        yield number, entry


def _promptfoo(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    try:
        results = _json(path)["results"]
        lines = results["results"] if isinstance(results, dict) else results
        # Results are listed as they end; runs are numbered in the order of the tests.
        lines = sorted(lines, key=lambda line: int(line.get("testIdx", 0)))
        rows = _rows_of_tests(lines)
        # promptfoo numbers its columns, so two providers with one prompt have the numbers 0 and 1.
        prompts: dict[str, set[int]] = {}
        for line in lines:
            prompts.setdefault(_provider(line), set()).add(int(line.get("promptIdx", 0)))
        names = [
            "score",
            *dict.fromkeys(name for line in lines for name in line.get("namedScores") or {}),
        ]
        chosen = _chosen_metric(names, options.metric or "score", str(path), options.option)
        kind = direction_of_metric(chosen, str(path), options.kind)
        beyond = False
        failed = ""
        for line, row in zip(lines, rows, strict=True):
            name = _provider(line)
            own_prompts = sorted(prompts[name])
            if len(own_prompts) > 1:
                name += f", prompt {own_prompts.index(int(line.get('promptIdx', 0))) + 1}"
            value = ({"score": line.get("score")} | (line.get("namedScores") or {})).get(chosen)
            if value is None and _has_failed(line):
                failed = f"{name!r:.80} in test {row!r:.80}"
                value = 0.0 if kind == "scores" else 1.0
            if value is None:
                raise TableError(
                    f"{path}: expected a {chosen} in every result, or one that failed, got "
                    f"neither of {name!r:.80} in "
                    f"test {row!r:.80}; run that test again, or leave it out for all."
                )
            number = float(value)
            beyond = beyond or not 0 <= number <= 1
            if beyond and failed:
                raise TableError(
                    f"{path}: expected {chosen} in [0, 1] beside a failed call, of {failed}, got "
                    f"{number:g}; what the call counts as is unknown: run that test again."
                )
            variables = line.get("vars") or (line.get("testCase") or {}).get("vars") or {}
            own = _without_run_variables(variables)
            yield LoggedAnswer(name, row, number, chosen, kind, "", _digest("vars", own))
    except _PARSE_ERRORS as error:
        raise _unreadable(path, "results of promptfoo with a provider and a score", error) from None


def _rows_of_tests(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the row of each result of promptfoo: the number of its test.

    With --repeat, promptfoo numbers every repetition as a test of its own. Tests with the same
    content are one row then, numbered in their order without repetitions.

    >>> test = {"vars": {"word": "cat"}}
    >>> _rows_of_tests([{"testIdx": 0, "testCase": test}, {"testIdx": 1, "testCase": test}])
    ['0', '0']
    """
    numbers = [int(line.get("testIdx", place)) for place, line in enumerate(lines)]
    content = {
        number: _digest("test", _test_content(line["testCase"]))
        for number, line in zip(numbers, lines, strict=True)
        if line.get("testCase") is not None
    }
    tests = {text: place for place, text in enumerate(dict.fromkeys(content.values()))}
    if len(content) < len(set(numbers)) or len(tests) == len(content):
        return [str(number) for number in numbers]
    return [str(tests[content[number]]) for number in numbers]


def _test_content(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test of promptfoo without what a run adds to it."""
    content = {key: value for key, value in test.items() if key != "metadata"}
    return {**content, "vars": _without_run_variables(test.get("vars") or {})}


def _without_run_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in variables.items() if name not in _RUN_VARIABLES}


def _probability(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    """Read the report of pytest-probability: each run of a case, 1 for a pass; an error is a 0."""
    try:
        data = _json(path)
        skipped = int(data["stopping"].get("runs_skipped") or 0)
        chosen = _chosen_metric(["pass"], options.metric or "pass", str(path), options.option)
        if skipped:
            raise TableError(
                f"{path}: expected all runs of every case, got {plural(skipped, 'run')} less, "
                "which stopped once a case was decided; such runs are a biased part: run it again "
                "without stopping early."
            )
        for record in data["records"]:
            passed = {"pass": 1.0, "fail": 0.0, "error": 0.0}[record["outcome"]]
            row = str(record["case"])
            yield LoggedAnswer(path.name.split(".")[0], row, passed, chosen, "scores")
    except _PARSE_ERRORS as error:
        expected = "a report of pytest-probability with case and outcome in each record"
        raise _unreadable(path, expected, error) from None


def _provider(line: dict[str, Any]) -> str:
    """Return the name of the provider of a result of promptfoo, as its user wrote it."""
    provider = line["provider"]
    if isinstance(provider, dict):
        return str(provider.get("label") or provider["id"])
    return str(provider)


def _has_failed(line: dict[str, Any]) -> bool:
    """Return whether a result of promptfoo has no score because the call failed."""
    return line.get("failureReason") == _PROMPTFOO_ERROR or (
        line.get("success") is False and line.get("score") is None
    )


def _long(path: Path, options: LogOptions) -> Iterator[LoggedAnswer]:
    table = text_table(path)
    header = table.names
    metric = options.metric
    check_unique_names(str(path), [name.strip().lower() for name in header])
    columns = {name.strip().lower(): index for index, name in enumerate(header)}
    if metric is None and {"loss", "score"} <= set(columns):
        _chosen_metric(["loss", "score"], metric, str(path), options.option)
    value = metric.lower() if metric else "loss" if "loss" in columns else "score"
    if not {"candidate", "row", value} <= set(columns):
        raise TableError(
            f"{path}: expected an evaluation log, or columns candidate, row, and "
            f"{metric or 'score or loss'}, got {join_names(header) or 'none'}; name them so."
        )
    kind = direction_of_metric(value, str(path), options.kind)
    for line, cells in table.rows:
        try:
            number = float(cells[columns[value]])
        except ValueError as error:
            raise _unreadable(path, f"a number in line {line}", error) from None
        candidate = cells[columns["candidate"]].strip()
        yield LoggedAnswer(candidate, cells[columns["row"]].strip(), number, value, kind)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads("".join(text_lines(path)))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "JSON", error) from None
    if not isinstance(data, dict):
        raise TableError(
            f"{path}: expected the results of a run, got a JSON list or value; give the whole file."
        )
    return data


def _unreadable(path: Path, expected: str, error: Exception) -> TableError:
    if isinstance(error, TableError):
        return error
    words = " ".join(f"{type(error).__name__} {error}".split())[:120].replace(". ", " ").rstrip(".")
    return TableError(
        f"{path}: expected {expected}, got something else ({words}); give the file as it was "
        "written."
    )
