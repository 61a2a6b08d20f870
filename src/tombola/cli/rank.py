"""`tombola rank`: the ranks that each candidate of a table may have."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tombola._formatting import note_line, plural
from tombola.cli.options import Json, Page, ReadingOption, check_level, check_page
from tombola.cli.printing import print_error, show_answer, show_lines
from tombola.cli.table_options import TABLE_HELP, TableOptions, parse_names, with_candidate_options
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.ranking.metrics import Candidates
    from tombola.tables.options import ReadOptions
    from tombola.units import Kind


@with_candidate_options
def rank(
    tables: Annotated[
        list[str],
        typer.Argument(
            help=f"{TABLE_HELP} Or evaluation logs, or NAME=FILE for each of several metrics."
        ),
    ],
    table_options: TableOptions,
    level: Annotated[float, typer.Option(help="Probability that any rank set is wrong.")] = 0.05,
    reading: ReadingOption = None,
    clusters: Annotated[
        str,
        typer.Option(
            help="Column of groups of related rows, such as conversation.",
        ),
    ] = "",
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="Rows are in the random order of the answers; look as often as you like.",
        ),
    ] = False,
    largest_cluster: Annotated[
        int | None,
        typer.Option(help="Beyond this list: the largest possible number of rows of a cluster."),
    ] = None,
    final_rows: Annotated[
        int | None,
        typer.Option(help="With --in-order: the number of rows that the table will have."),
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Answers are right or wrong, nothing between them.")
    ] = False,
    metric: Annotated[
        str,
        typer.Option(
            help="Evaluation logs: the score to use; several, with commas between: several metrics."
        ),
    ] = "",
    lower: Annotated[
        str, typer.Option(help="Several metrics: those of which lower is better, such as price.")
    ] = "",
    higher: Annotated[
        str, typer.Option(help="Several metrics: those of which higher is better.")
    ] = "",
    metric_range: Annotated[
        list[str] | None,
        typer.Option(help="Several metrics: smallest and largest value of one, as price=0,10."),
    ] = None,
    missing: Annotated[
        Literal["keep", "drop", "worst"] | None,
        typer.Option(
            help="keep: rows not answered yet; drop: rank the other rows; worst: count as worst."
        ),
    ] = None,
    run_effects: Annotated[
        bool,
        typer.Option(
            "--run-effects",
            help="The answers of one run have a common cause, such as one seed: one observation.",
        ),
    ] = False,
    pair: Annotated[
        str, typer.Option(help="Two candidates to compare, with a comma between.")
    ] = "",
    out: Page = None,
    as_json: Json = False,
) -> None:
    """Print the ranks that each candidate may have, at one level for all.

    The reading "recorded" is about exactly these answers, "expected" about repeated answers to these
    rows; "beyond" takes the rows as a sample of rows like these.

    A table with several runs of each row (a column run, epoch, trial, seed or attempt) is read as
    expected and beyond. Missing cells are allowed if the rows answered so far are a random part of
    the list. Several metrics share the level; the Pareto front has the candidates that may be best
    in some trade-off.
    """
    from tombola.parallel.progress import with_status_label
    from tombola.ranking import rank as run
    from tombola.ranking.metrics import read_candidates, read_metrics
    from tombola.tables.options import ReadOptions

    check_level(level)
    pair_names = parse_names(pair)
    if pair and len(pair_names) != 2:
        raise ParameterError(f"--pair: expected two candidates, got {pair!r}; write --pair A,B.")
    files = _metric_files(tables)
    check_page(out, *(files.values() if files else tables))
    known = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
    options = ReadOptions(**known, by=clusters or None)
    # In order, a blank cell is not answered yet.
    missing = missing or ("keep" if in_order else None)
    table: Any
    if files:
        kinds = _metric_kinds(list(files), lower, higher, options.kind)
        table = read_metrics(files, options, missing=missing)
        table = {name: metric._replace(kind=kinds[name]) for name, metric in table.items()}
        table = _with_ranges(table, metric_range or [])
        source = plural(len(files), "metric")
    elif len(parse_names(metric)) > 1:
        stated: dict[str, Kind] = dict.fromkeys(parse_names(lower), "losses")
        stated |= dict.fromkeys(parse_names(higher), "scores")
        table = {
            name: _read_logs(tables, options._replace(value=name, kind=stated.get(name)), missing)
            for name in parse_names(metric)
        }
        table = _with_ranges(table, metric_range or [])
        source = plural(len(table), "metric")
    elif lower or higher or metric_range:
        option = "--lower" if lower else "--higher" if higher else "--metric-range"
        raise ParameterError(
            f"{option}: expected several metrics, got one table; write NAME=FILE for each "
            "metric, or --metric A,B."
        )
    elif len(tables) > 1 or metric or _is_log(tables[0]):
        table = _read_logs(tables, options._replace(value=metric or options.value), missing)
        source = "an evaluation log" if len(tables) == 1 else f"{len(tables)} evaluation logs"
    else:
        table = read_candidates(tables[0], options, missing=missing)
        source = "standard input" if tables[0] == "-" else Path(tables[0]).name
    for candidates in table.values() if isinstance(table, dict) else [table]:
        # A column that is not ranked must not go unnoticed; standard output may be JSON.
        for note in getattr(candidates, "notes", ()):
            print_error(note_line(note))
    ranking = with_status_label(
        lambda: run(
            table,
            reading=reading,
            level=level,
            in_order=in_order,
            largest_cluster=largest_cluster,
            final_rows=final_rows,
            binary=True if binary else None,
            missing=missing or "keep",
            run_effects=run_effects,
        ),
        "rank",
    )
    # A wrong name must not follow a table of many lines.
    texts = [
        ranking.compare(*pair_names, reading=getattr(reading, "name", reading))
        for reading in (ranking.readings if pair else ())
    ]
    if pair and not isinstance(table, dict):
        from tombola.gating import change_lines

        texts += change_lines(
            table,
            ranking,
            *pair_names,
            missing=missing or "keep",
            largest_cluster=largest_cluster,
            run_effects=run_effects,
        )
    show_answer(replace(ranking, source=source), out, as_json=as_json)
    show_lines([] if as_json else texts)


def _metric_files(tables: list[str]) -> dict[str, str]:
    """Return the file of each metric if all arguments are NAME=FILE, else nothing."""
    pairs = [table.partition("=") for table in tables]
    if not all(
        sign and name.strip() and file and not Path(table).exists()
        for table, (name, sign, file) in zip(tables, pairs, strict=True)
    ):
        return {}
    files = {name.strip(): file for name, _, file in pairs}
    if len(files) < len(tables):
        raise ParameterError(
            f"rank: expected different names of metrics, got {tables}; name each once."
        )
    return files


def _metric_kinds(
    names: list[str], lower: str, higher: str, stated: "Kind | None"
) -> "dict[str, Kind]":
    """Return the direction of each metric: stated, or that of its name; else QuestionError."""
    from tombola.tables.names import direction_of
    from tombola.tables.question import Question

    kinds: dict[str, Kind] = {}
    for option, text in (("--lower", lower), ("--higher", higher)):
        for name in parse_names(text):
            if name not in names or name in kinds:
                raise ParameterError(
                    f"{option}: expected metrics among {', '.join(names)}, each once, got {name!r}; "
                    "write one of them."
                )
            kinds[name] = "losses" if option == "--lower" else "scores"
    unknown = []
    for name in names:
        kind = kinds.get(name) or stated or direction_of([name])[0]
        if kind is None:
            unknown.append(name)
        else:
            kinds[name] = kind
    if unknown:
        lows = [*parse_names(lower), *unknown]
        highs = [*parse_names(higher), *unknown]
        raise Question(
            "rank",
            f"expected the direction of each metric, got none of {', '.join(unknown)}",
            tuple(unknown),
            (("lower is better", {"lower": lows}), ("higher is better", {"higher": highs})),
        ).error()
    return kinds


def _with_ranges(metrics: "dict[str, Candidates]", ranges: list[str]) -> "dict[str, Candidates]":
    """Return the metrics with the ranges that the option states."""
    from tombola.units import parse_range

    metrics = dict(metrics)
    for text in ranges:
        name, sign, limits = text.partition("=")
        if not sign or name not in metrics:
            raise ParameterError(
                f"--metric-range: expected a metric and its range, got {text!r}; "
                f"write --metric-range {next(iter(metrics))}=0,10."
            )
        metrics[name] = metrics[name]._replace(range=parse_range(limits))
    return metrics


def _is_log(table: str) -> bool:
    """Return whether a path is an evaluation log, or a folder of logs."""
    from tombola.tables.formats.logs import is_log
    from tombola.tables.input_checks import is_directory

    path = Path(table)
    return is_directory(path) or is_log(path)


def _read_logs(
    files: list[str], options: "ReadOptions", missing: Literal["keep", "drop", "worst"] | None
) -> "Candidates":
    """Return the answers of all candidates of evaluation logs, with their runs."""
    from tombola.ranking.metrics import read_candidates
    from tombola.tables.formats.logs import log_paths, read_logs

    if options.by:
        raise ParameterError(
            "--clusters: expected a table, got evaluation logs; write a table with the columns "
            "model, question, score and that of the clusters."
        )
    paths = [path for file in files for path in log_paths(Path(file))]
    parsed = read_logs(paths, options._replace(runs=True))
    if len(parsed.names) < 2:
        raise ParameterError(
            f"rank: expected logs of 2 candidates or more, got one of {parsed.names[0]}; give "
            "the log of another too."
        )
    return read_candidates(parsed, options, missing=missing, is_metric=len(files) > 1)
