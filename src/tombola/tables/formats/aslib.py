"""ASlib scenarios (Bischl et al. 2016): folders with run times of algorithms on instances.

The loss of a run that ended well is min(run time, cutoff) / cutoff; every other run (timeout,
crash, ...) has loss 1. This is the PAR1 score in units of the cutoff. Repetitions of a run are
averaged. Where the scenario measures the quality of solutions, the numbers are read unchanged, as
scores if description.txt has `maximize: true`.
"""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tombola.errors import TableError
from tombola.tables.columns import Columns, check_unique_names, parse_column, parse_number
from tombola.tables.features import encode_features, feature_columns
from tombola.tables.formats.delimited import text_lines
from tombola.tables.long import read_long
from tombola.tables.options import EncodedFeatures, ParsedTable, ReadOptions

# File of an ASlib scenario with the results of the algorithms; a folder with it is a scenario.
RUNS = "algorithm_runs.arff"
# File of an ASlib scenario with the features of the instances.
_FEATURES = "feature_values.arff"
# Expected form of algorithm_runs.arff, in error messages.
_RUN_ATTRIBUTES = "expected attributes instance_id, repetition, algorithm and a measure"
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)


def read_aslib(folder: Path, options: ReadOptions) -> ParsedTable:
    """Read a folder with an ASlib scenario: rows are instances, actions are algorithms."""
    about = _description(folder / "description.txt")
    table = _read_arff(folder / RUNS)
    instance, action = (
        table.find("instance_id", "the format"),
        table.find("algorithm", "the format"),
    )
    measure = options.value or next(
        iter(about.get("performance_measures", [])), table.columns[3].name
    )
    is_runtime = about.get("performance_type", ["runtime"])[:1] == ["runtime"]
    maximize = about.get("maximize", ["false"])[:1] == ["true"]
    value = table.find(measure, "description.txt")
    notes = [f"an ASlib scenario: {measure} of algorithms on instances"]
    if is_runtime:
        text = next(iter(about.get("algorithm_cutoff_time", [])), "?")
        cutoff = parse_number(text)
        if not cutoff > 0:
            raise TableError(
                f"{folder}: expected algorithm_cutoff_time in description.txt, got {text!r}; "
                "write its seconds."
            )
        succeeded = [one.lower() == "ok" for one in table.find("runstatus", "the format").labels]
        par1 = np.where(succeeded, np.clip(table.numeric(value).numbers, 0.0, cutoff) / cutoff, 1.0)
        value = value._replace(numbers=par1)
        notes.append(
            f"loss = run time / cutoff ({cutoff:g}), and 1 for a run that did not succeed (PAR1)"
        )
    columns = [*(column for column in table.columns if column.name != measure), value]
    kind = options.kind or ("scores" if maximize and not is_runtime else "losses")
    roles = options._replace(
        kind=kind, action=action.name, value=measure, ids=instance.name, costs=options.costs or []
    )
    parsed = read_long(replace(table, columns=columns), roles, action, average=True)
    if options.kind is None:
        # The description of the scenario states the direction, not the name of the measure.
        parsed = parsed._replace(value_columns=())
    parsed = parsed._replace(source=str(folder), notes=[*notes, *parsed.notes])
    return (
        _add_features(parsed, folder / _FEATURES, options)
        if options.features or options.text
        else parsed
    )


def _add_features(parsed: ParsedTable, path: Path, options: ReadOptions) -> ParsedTable:
    """Add features from feature_values.arff by instance; NaN for those without a line."""
    if not path.is_file():
        raise TableError(
            f"{path}: expected features of the instances, got no such file; leave out the features."
        )
    table = _read_arff(path, "expected attributes instance_id, repetition and features", 3, "lines")
    instance = table.find("instance_id", "the format")
    others = replace(
        table, columns=[c for c in table.columns if c.name not in ("instance_id", "repetition")]
    )
    plain, texts = feature_columns(
        others, ReadOptions(features=options.features, text=options.text), ()
    )
    first: dict[str, int] = {}
    for line, name in enumerate(instance.labels):
        first.setdefault(name, line)
    encoded = encode_features(others, list(plain.values()), list(texts.values()))
    values = np.full((len(parsed.ids or ()), encoded.values.shape[1]), np.nan)
    known = [(row, first[name]) for row, name in enumerate(parsed.ids or ()) if name in first]
    for row, line in known:
        values[row] = encoded.values[line]
    notes = [*encoded.notes]
    if len(known) < len(values):
        notes.append(f"{len(values) - len(known):,} of {len(values):,} instances have no features")
    return parsed.with_features(EncodedFeatures(values, encoded.names, notes))


def _description(path: Path) -> dict[str, list[str]]:
    """Read the top-level entries of a YAML file, each as a list of strings."""
    about: dict[str, list[str]] = {}
    key = None
    for line in text_lines(path) if path.is_file() else ():
        entry = re.match(r"(\w+):\s*(.*)", line)
        if entry is not None:
            key = entry[1].lower()
            inline = (part.strip().strip("'\"") for part in entry[2].strip().strip("[]").split(","))
            about[key] = [part for part in inline if part]
        elif key is not None and (item := re.match(r"\s*-\s+(.*\S)", line)) is not None:
            about[key].append(item[1].strip("'\""))
    return {
        name: [item.lower() if name == "maximize" else item for item in items]
        for name, items in about.items()
    }


def _read_arff(
    path: Path, expected: str = _RUN_ATTRIBUTES, least: int = 4, lines_name: str = "runs"
) -> Columns:
    names: list[str] = []
    rows, numbers, in_data = [], [], False
    for number, line in enumerate(text_lines(path), 1):
        if in_data and line.strip() and not line.lstrip().startswith("%"):
            rows.append(_arff_row(path, number, line.strip(), len(names)))
            numbers.append(number)
        elif (attribute := _ATTRIBUTE.match(line.strip())) is not None:
            names.append(attribute[1].strip("'\""))
        in_data = in_data or line.strip().lower() == "@data"
    check_unique_names(str(path), names)
    if len(names) < least or not rows:
        raise TableError(
            f"{path}: {expected}, and {lines_name} below @data, got "
            f"{len(names)} attributes and {len(rows)} {lines_name}; check the file."
        )
    columns = [
        parse_column(name, cells, keep_texts=True)
        for name, *cells in zip(names, *rows, strict=True)
    ]
    return Columns(str(path), columns, np.array(numbers, dtype=np.int64))


def _arff_row(path: Path, number: int, line: str, width: int) -> list[str]:
    try:
        row = next(csv.reader([line], quotechar="'", escapechar="\\", skipinitialspace=True))
    except csv.Error as error:
        raise TableError(
            f"{path}: expected a run in line {number}, got something else ({error}); repair it."
        ) from None
    if len(row) != width:
        raise TableError(
            f"{path}: expected {width} values as declared, got {len(row)} in line {number}; "
            "repair it."
        )
    return [cell.strip().strip('"') for cell in row]
