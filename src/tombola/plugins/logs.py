"""Readers of evaluation logs: a pool with one column per candidate.

inspect_ai   .eval or .json logs, one per candidate (needs the package)
lm-eval      samples_*.jsonl, one per candidate; the folder is the name of the candidate
promptfoo    results JSON; a candidate is a provider, with its prompt if there are several
long CSV     one line per answer: columns candidate, row, and score or loss
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._formatting import is_encodable, join_names
from tombola.errors import TableError
from tombola.pool import Pool
from tombola.readers.columns import check_unique_names
from tombola.readers.formats.delimited import text_lines, text_table
from tombola.readers.input_checks import check_file

# Errors that malformed input causes while it is parsed; they become a TableError.
_PARSE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _LoggedAnswer(NamedTuple):
    """The loss in [0, 1] of one candidate on one row."""

    candidate: str
    row: str
    loss: float


def read_logs(paths: Sequence[Path], metric: str | None = None) -> Pool:
    """Read evaluation logs as one pool: a row per sample, a column per candidate.

    Formats: inspect_ai (.eval, .json), lm-eval (.jsonl), promptfoo (.json), and CSV with columns candidate, row, and
    score or loss. TableError if a file is malformed, or a candidate lacks a row.

    metric: name of the score to use; None if there is only one.
    """
    answers = [answer for path in paths for answer in _reader(path)(path, metric)]
    return pool_of(answers, ", ".join(str(path) for path in paths))


def pool_of(answers: Iterable[_LoggedAnswer], source: str) -> Pool:
    """Return a pool of the answers, rows and candidates in the order of first occurrence.

    Raises TableError, with the `source` of the answers, unless every candidate has exactly one answer per row, with a
    loss in [0, 1].

    >>> pool_of([_LoggedAnswer("a", "x", 0.5), _LoggedAnswer("b", "x", 0.25)], "two answers").losses.tolist()
    [[0.5, 0.25]]
    """
    table: dict[tuple[str, str], float] = {}
    for candidate, row, loss in answers:
        one = f"{candidate!r} on row {row!r}"
        if not is_encodable(candidate + row):
            raise TableError(f"{source}: expected names in valid Unicode, got {one}; rename it.")
        if (row, candidate) in table:
            raise TableError(f"{source}: expected one answer of {one}, got two; give one log per candidate and epoch.")
        if not 0.0 <= loss <= 1.0:
            raise TableError(f"{source}: expected scores in [0, 1], got {1 - loss:g} of {one}; rescale them.")
        table[row, candidate] = loss
    rows, names = list(dict.fromkeys(key[0] for key in table)), list(dict.fromkeys(key[1] for key in table))
    if not table:
        raise TableError(f"{source}: expected answers of candidates, found none; give the log of a finished run.")
    missing = next((f"{name!r} on row {row!r}" for row in rows for name in names if (row, name) not in table), None)
    if missing is not None:
        raise TableError(
            f"{source}: expected an answer of every candidate on every row, got none of {missing}; let it answer that "
            "row, or leave the row out of all logs."
        )
    return Pool(np.array([[table[row, name] for name in names] for row in rows]), actions=names, ids=rows)


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
            f"{path}: reading logs of inspect_ai needs that package, found none; write pip install 'tombola[inspect]'."
        ) from None
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # the package raises errors of many types for damaged files
        raise _unreadable(path, "a log of inspect_ai", error) from None
    yield from answers_of_log(log, metric, str(path))


def answers_of_log(log: Any, metric: str | None, source: str | None = None) -> Iterator[_LoggedAnswer]:
    """Yield (model, sample id, loss in [0, 1]) of each sample of an inspect_ai log.

    TableError if there are several scores and `metric` names none of them.

    log: an EvalLog of inspect_ai; its samples are read from its file if it has none.
    source: name of the log in error messages; None for its path.
    """
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import value_to_float

    source, to_float = source or str(log.location), value_to_float()
    samples = log.samples if log.samples is not None or not log.location else read_eval_log(log.location).samples
    for sample in samples or []:
        scores = sample.scores or {}
        chosen = list(scores.values()) if metric is None else [scores[metric]] if metric in scores else []
        if len(chosen) != 1:
            raise TableError(f"{source}: expected one score, got {', '.join(scores) or 'none'}; write --metric NAME.")
        yield _LoggedAnswer(str(log.eval.model), str(sample.id), 1.0 - float(to_float(chosen[0].value)))


def _lm_eval(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            names = [metric] if metric else list(entry.get("metrics") or ("acc", "exact_match"))
            value = next(entry[name] for name in names if name in entry)
            yield _LoggedAnswer(path.parent.name or path.stem, str(entry["doc_id"]), 1.0 - float(value))
        except (*_PARSE_ERRORS, StopIteration) as error:
            raise _unreadable(path, f"a sample of lm-eval with a score in line {number}", error) from None


def _promptfoo(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    try:
        results = _json(path)["results"]
        lines = results["results"] if isinstance(results, dict) else results
        several = len({line.get("promptIdx", 0) for line in lines}) > 1
        for index, line in enumerate(lines):
            provider = line["provider"]
            name = str(provider.get("label") or provider["id"]) if isinstance(provider, dict) else str(provider)
            name += f", prompt {int(line.get('promptIdx', 0)) + 1}" if several else ""
            scores = line.get("namedScores") or {}
            score = scores[metric] if metric else line["score"]
            yield _LoggedAnswer(name, str(line.get("testIdx", index)), 1.0 - float(score))
    except _PARSE_ERRORS as error:
        raise _unreadable(path, "results of promptfoo with a provider and a score", error) from None


def _long(path: Path, metric: str | None) -> Iterator[_LoggedAnswer]:
    _, header, rows, _, _ = text_table(path)
    check_unique_names(str(path), [name.strip().lower() for name in header])
    columns = {name.strip().lower(): index for index, name in enumerate(header)}
    value = metric.lower() if metric else "loss" if "loss" in columns else "score"
    if not {"candidate", "row", value} <= set(columns):
        raise TableError(
            f"{path}: expected columns candidate, row, and {metric or 'score or loss'}, got "
            f"{join_names(header) or 'none'}; name them so."
        )
    for line, cells in rows:
        try:
            number = float(cells[columns[value]])
        except ValueError as error:
            raise _unreadable(path, f"a number in line {line}", error) from None
        loss = number if value == "loss" else 1.0 - number
        yield _LoggedAnswer(cells[columns["candidate"]].strip(), cells[columns["row"]].strip(), loss)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads("".join(text_lines(path)))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "JSON", error) from None
    if not isinstance(data, dict):
        raise TableError(f"{path}: expected the results of a run, got a JSON list or value; give the whole file.")
    return data


def _unreadable(path: Path, expected: str, error: Exception) -> TableError:
    if isinstance(error, TableError):
        return error
    words = " ".join(f"{type(error).__name__} {error}".split())[:120].replace(". ", " ").rstrip(".")
    return TableError(f"{path}: expected {expected}, got something else ({words}); give the file as it was written.")
