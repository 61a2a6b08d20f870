"""Readers of evaluation logs: a pool with one column per candidate.

inspect_ai   .eval or .json logs, one per candidate (needs the package)
lm-eval      samples_*.jsonl, one per candidate; the folder is the name of the candidate
promptfoo    results JSON; a candidate is a provider, with its prompt if there are several
long CSV     one line per answer: columns candidate, row, and score or loss

The name of a metric states its direction: brier_score is a loss, acc a score. Other names are
rejected.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import is_cli_style, is_encodable, join_names, option_text
from tombola._types import Floats
from tombola.errors import TableError
from tombola.pool import Pool
from tombola.tables.columns import check_unique_names
from tombola.tables.formats.delimited import text_lines, text_table
from tombola.tables.input_checks import check_file
from tombola.tables.names import direction_of
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
# Value of failureReason in results of promptfoo if the call itself failed.
_PROMPTFOO_ERROR = 2


class _LoggedAnswer(NamedTuple):
    """The value in [0, 1] of a metric of one candidate on one row."""

    candidate: str
    row: str
    value: float
    metric: str = "loss"
    kind: Kind = "losses"


class _LmEvalSample(NamedTuple):
    """A line of a log of lm-eval: values by metric, with the filter if it has one."""

    line: int
    row: str
    filter: str
    values: dict[str, Any]


def read_logs(paths: Sequence[Path], metric: str | None = None) -> Pool:
    """Read evaluation logs as one pool: a row per sample, a column per candidate.

    Formats: inspect_ai (.eval, .json), lm-eval (.jsonl), promptfoo (.json), and CSV with columns
        candidate, row, and
    score or loss. TableError if a file is malformed, a candidate lacks a row, or the metric states
    no direction.

    metric: name of the metric to use, of lm-eval also with its filter, as in
        "exact_match,strict-match"; None if there is only one.
    """
    answers = [answer for path in paths for answer in logged_answers(path, metric)]
    return pool_of(answers, ", ".join(str(path) for path in paths))


def read_log_runs(paths: Sequence[Path], metric: str | None = None) -> tuple[Pool, Floats | None]:
    """Read evaluation logs with several runs of a row: epochs, repeats, or a log per run.

    Returns the pool of the means over the runs, and the losses of all runs, shape (runs, rows, k),
    NaN where a cell has fewer; None if every cell has one answer. Runs are numbered as they are
    logged. Parameters and errors are those of `read_logs`.
    """
    numbers: dict[tuple[str, str], int] = {}
    by_run: list[list[_LoggedAnswer]] = []
    for path in paths:
        for answer in logged_answers(path, metric):
            cell = (answer.candidate, answer.row)
            run = numbers[cell] = numbers.get(cell, -1) + 1
            if run == len(by_run):
                by_run.append([])
            by_run[run].append(answer)
    source = ", ".join(str(path) for path in paths)
    # The first runs have every cell, and the checks of a pool.
    first = pool_of(by_run[0] if by_run else [], source)
    if len(by_run) < 2:
        return first, None
    assert first.ids is not None
    rows = {row: place for place, row in enumerate(first.ids)}
    names = {name: place for place, name in enumerate(first.actions)}
    runs = np.full((len(by_run), first.rows, first.k), np.nan)
    for run, answers in enumerate(by_run):
        check_answers(answers, source)
        for answer in answers:
            loss = answer.value if answer.kind == "losses" else 1.0 - answer.value
            runs[run, rows[answer.row], names[answer.candidate]] = loss
    means = np.nanmean(runs, axis=0)
    return Pool(means, actions=first.actions, ids=first.ids), runs


def logged_answers(path: Path, metric: str | None = None) -> Iterator[_LoggedAnswer]:
    """Yield the answers in one log as they are logged; a row may come several times."""
    yield from _reader(path)(path, metric)


def pool_of(answers: Iterable[_LoggedAnswer], source: str) -> Pool:
    """Return a pool of the answers, rows and candidates in the order of first occurrence.

    Raises TableError, with the `source` of the answers, unless every candidate has exactly one
    answer per row, with a value in [0, 1], all of one metric.

    >>> pool_of([_LoggedAnswer("a", "x", 0.5), _LoggedAnswer("b", "x", 0.25)], "two answers").losses.tolist()
    [[0.5, 0.25]]
    """
    table: dict[tuple[str, str], float] = {}
    for answer in check_answers(answers, source):
        cell = (answer.row, answer.candidate)
        if cell in table:
            raise TableError(
                f"{source}: expected one answer of {answer.candidate!r} on row {answer.row!r}, got "
                "two; give one log per candidate and epoch."
            )
        table[cell] = answer.value if answer.kind == "losses" else 1.0 - answer.value
    rows = list(dict.fromkeys(key[0] for key in table))
    names = list(dict.fromkeys(key[1] for key in table))
    if not table:
        raise TableError(
            f"{source}: expected answers of candidates, found none; give the log of a finished run."
        )
    missing = next(
        (f"{name!r} on row {row!r}" for row in rows for name in names if (row, name) not in table),
        None,
    )
    if missing is not None:
        raise TableError(
            f"{source}: expected an answer of every candidate on every row, got none of "
            f"{missing}; let it answer that "
            "row, or leave the row out of all logs."
        )
    return Pool(
        np.array([[table[row, name] for name in names] for row in rows]), actions=names, ids=rows
    )


def check_answers(answers: Iterable[_LoggedAnswer], source: str) -> list[_LoggedAnswer]:
    """Return the answers; TableError unless they are in [0, 1], and of one metric."""
    checked = list(answers)
    for answer in checked:
        place = f"{answer.candidate!r} on row {answer.row!r}"
        if not is_encodable(answer.candidate + answer.row):
            raise TableError(f"{source}: expected names in valid Unicode, got {place}; rename it.")
        if not 0.0 <= answer.value <= 1.0:
            raise TableError(
                f"{source}: expected values of {answer.metric} in [0, 1], got {answer.value:g} of "
                f"{place}; rescale them."
            )
    metrics = list(dict.fromkeys(answer.metric for answer in checked))
    if len(metrics) > 1:
        raise TableError(
            f"{source}: expected the same metric in all logs, got "
            f"{join_names(metrics, last=' and ')}; give logs "
            f"with a common metric, and write {_metric_option('NAME')}."
        )
    return checked


def direction_of_metric(metric: str, source: str) -> Kind:
    """Return the direction that the name of a metric states.

    TableError, with the `source` of the metric, if it states none or both.

    >>> [direction_of_metric(name, "log") for name in ("brier_score", "acc_norm", "exact_match,strict-match")]
    ['losses', 'scores', 'scores']
    """
    name = metric.partition(",")[0].lower()
    for words, usual in ((_LOWER_IS_BETTER, "loss"), (_HIGHER_IS_BETTER, "score")):
        name = re.sub(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])", usual, name)
    kind, _ = direction_of([name])
    if kind is None:
        raise TableError(
            f"{source}: expected a metric whose name states whether higher or lower is better, "
            "such as acc or "
            f"brier_score, got {metric!r:.80}; write its values as a CSV with columns candidate, "
            "row, and loss (lower "
            "is better) or score."
        )
    return kind


def is_results_file(path: Path) -> bool:
    """Return whether a JSON file has the results of a run, of inspect_ai or promptfoo; False if malformed."""
    try:
        data = _json(path)
    except TableError:
        return False
    return "results" in data or "eval" in data


def _reader(path: Path) -> Callable[[Path, str | None], Iterator[_LoggedAnswer]]:
    """Return the reader of a file by its suffix and content."""
    check_file(path)
    if path.suffix == ".json":
        return _promptfoo if "results" in (data := _json(path)) and "eval" not in data else _inspect
    return {".eval": _inspect, ".jsonl": _lm_eval}.get(path.suffix, _long)


def _inspect(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise TableError(
            f"{path}: reading logs of inspect_ai needs that package, found none; write pip "
            "install 'tombola[inspect]'."
        ) from None
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # the package raises errors of many types for damaged files
        raise _unreadable(path, "a log of inspect_ai", error) from None
    yield from answers_of_log(log, metric, str(path))


def answers_of_log(
    log: Any, metric: str | None, source: str | None = None
) -> Iterator[_LoggedAnswer]:
    """Yield (model, sample id, loss in [0, 1]) of each sample of an inspect_ai log.

    TableError if there are several scores and `metric` names none of them.

    log: an EvalLog of inspect_ai; its samples are read from its file if it has none.
    source: name of the log in error messages; None for its path.
    """
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    # Without a source, the caller is the extension of inspect_ai, which takes the metric from this
    # variable.
    option = "TOMBOLA_RANKS=" if source is None else ""
    source = source or str(log.location)
    to_float = value_to_float()
    samples = (
        log.samples
        if log.samples is not None or not log.location
        else read_eval_log(log.location).samples
    )
    # Epochs are runs: they are numbered in their order.
    for sample in sorted(samples or [], key=lambda sample: getattr(sample, "epoch", 1)):
        scores = sample.scores or {}
        name = _chosen_metric(list(scores), metric, f"{source}, sample {sample.id}", option)
        value = scores[name].value
        _check_single(value, name, f"{source}, sample {sample.id}")
        # Correct, incorrect, partial, no answer: these values state the direction, whatever the
        # name of the scorer.
        kind = "scores" if value in ("C", "I", "P", "N") else direction_of_metric(name, source)
        yield _LoggedAnswer(str(log.eval.model), str(sample.id), float(to_float(value)), name, kind)


def _chosen_metric(names: Sequence[str], metric: str | None, source: str, option: str = "") -> str:
    """Return `metric` if it is one of the names, or the only name if it is None.

    option: the text before the name of a metric that messages suggest; "" for the option or
        parameter `metric`.
    """
    # A name of lm-eval may have a filter after a comma.
    chosen = [name for name in names if metric == name]
    chosen = chosen or [name for name in names if metric in (None, name.partition(",")[0])]
    if len(chosen) == 1:
        return chosen[0]
    expected = "one metric" if metric is None or chosen else f"the metric {metric!r:.80}"
    first = (chosen or [*names, ""])[0]
    written = option + first if option else _metric_option(first)
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


def _metric_option(name: str) -> str:
    # `rank` reads commas as several metrics.
    command = "tombola race table LOGS --out TABLE.csv " if "," in name and is_cli_style() else ""
    return command + option_text("metric", name)


def _lm_eval(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    samples = list(_lm_eval_samples(path))
    if not samples:
        return
    names = list(dict.fromkeys(name for sample in samples for name in sample.values))
    # lm-eval writes "acc,none" for a metric without a filter.
    chosen = _chosen_metric(names, metric and metric.removesuffix(",none"), str(path))
    kind = direction_of_metric(chosen, str(path))
    for line, row, filter_name, values in samples:
        if chosen.partition(",")[2] != filter_name:
            continue
        value: Any = values.get(chosen)
        _check_single(value, chosen, f"{path}, line {line}")
        try:
            yield _LoggedAnswer(path.parent.name or path.stem, row, float(value), chosen, kind)
        except _PARSE_ERRORS as error:
            raise _unreadable(path, f"a number as {chosen} in line {line}", error) from None


def _lm_eval_samples(path: Path) -> Iterator[_LmEvalSample]:
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            names = entry.get("metrics") or [
                key
                for key, value in entry.items()
                if key not in _LM_EVAL_KEYS and isinstance(value, int | float)
            ]
            filter_name = "" if entry.get("filter") in (None, "none") else str(entry["filter"])
            end = f",{filter_name}" if filter_name else ""
            values = {f"{name}{end}": entry.get(name) for name in names}
            yield _LmEvalSample(number, str(entry["doc_id"]), filter_name, values)
        except _PARSE_ERRORS as error:
            raise _unreadable(path, f"a sample of lm-eval in line {number}", error) from None


def _promptfoo(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    try:
        results = _json(path)["results"]
        lines = results["results"] if isinstance(results, dict) else results
        several = len({line.get("promptIdx", 0) for line in lines}) > 1
        names = [
            "score",
            *dict.fromkeys(name for line in lines for name in line.get("namedScores") or {}),
        ]
        chosen = _chosen_metric(names, metric or "score", str(path))
        kind = direction_of_metric(chosen, str(path))
        for index, line in enumerate(lines):
            provider = line["provider"]
            name = (
                str(provider.get("label") or provider["id"])
                if isinstance(provider, dict)
                else str(provider)
            )
            name += f", prompt {int(line.get('promptIdx', 0)) + 1}" if several else ""
            row = str(line.get("testIdx", index))
            value = ({"score": line.get("score")} | (line.get("namedScores") or {})).get(chosen)
            if value is None and _has_failed(line):
                value = 0.0 if kind == "scores" else 1.0
            if value is None:
                raise TableError(
                    f"{path}: expected a {chosen} in every result, or one that failed, got "
                    f"neither of {name!r:.80} in "
                    f"test {row!r:.80}; run that test again, or leave it out for all."
                )
            yield _LoggedAnswer(name, row, float(value), chosen, kind)
    except _PARSE_ERRORS as error:
        raise _unreadable(path, "results of promptfoo with a provider and a score", error) from None


def _has_failed(line: dict[str, Any]) -> bool:
    """Return whether a result of promptfoo has no score because the call failed."""
    return line.get("failureReason") == _PROMPTFOO_ERROR or (
        line.get("success") is False and line.get("score") is None
    )


def _long(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    _, header, rows, _, _ = text_table(path)
    check_unique_names(str(path), [name.strip().lower() for name in header])
    columns = {name.strip().lower(): index for index, name in enumerate(header)}
    if metric is None and {"loss", "score"} <= set(columns):
        _chosen_metric(["loss", "score"], metric, str(path))
    value = metric.lower() if metric else "loss" if "loss" in columns else "score"
    if not {"candidate", "row", value} <= set(columns):
        raise TableError(
            f"{path}: expected columns candidate, row, and {metric or 'score or loss'}, got "
            f"{join_names(header) or 'none'}; name them so."
        )
    kind = direction_of_metric(value, str(path))
    for line, cells in rows:
        try:
            number = float(cells[columns[value]])
        except ValueError as error:
            raise _unreadable(path, f"a number in line {line}", error) from None
        yield _LoggedAnswer(
            cells[columns["candidate"]].strip(), cells[columns["row"]].strip(), number, value, kind
        )


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
