"""`tombola rank`: the ranks that each candidate of a table may have."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import plural
from tombola.cli.options import Json, Page, check_level, check_page
from tombola.cli.printing import print_error, show
from tombola.cli.table_options import TABLE_HELP, TableOptions, parse_names, with_table_options
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.pool import Pool

# (--this-list, --beyond-this-list) -> argument `reading` of `rank`; None: both readings.
_READINGS = {
    (True, False): "this list",
    (False, True): "beyond this list",
    (False, False): None,
    (True, True): None,
}


@with_table_options
def rank(
    tables: Annotated[
        list[str],
        typer.Argument(
            help=f"{TABLE_HELP} Several files, .eval, or --metric: evaluation logs. NAME=FILE: "
            "the table of a metric."
        ),
    ],
    table_options: TableOptions,
    level: Annotated[float, typer.Option(help="Probability that any rank set is wrong.")] = 0.05,
    this_list: Annotated[
        bool, typer.Option("--this-list", help="Rank on these rows; exact where the table is full.")
    ] = False,
    beyond_this_list: Annotated[
        bool,
        typer.Option(
            "--beyond-this-list", help="Rank for rows like these, of which these are a sample."
        ),
    ] = False,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "--cluster",
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
    metric: Annotated[
        str,
        typer.Option(
            help="Evaluation logs: the score to use; several, with commas between: several metrics."
        ),
    ] = "",
    lower: Annotated[
        str, typer.Option(help="Several metrics: those of which lower is better, such as price.")
    ] = "",
    metric_range: Annotated[
        list[str] | None,
        typer.Option(help="Several metrics: smallest and largest value of one, as price=0,10."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            help="keep: rows not answered yet; drop: rank the other rows; worst: count as worst."
        ),
    ] = "keep",
    pair: Annotated[
        str, typer.Option(help="Two candidates to compare, with a comma between.")
    ] = "",
    out: Page = None,
    as_json: Json = False,
) -> None:
    """Print the ranks that each candidate may have, at one level for all.

    "On this list" is about exactly these rows. "Beyond this list" takes the rows as a sample of
    rows like these. Missing cells are allowed if the rows answered so far are a random part of the
    list. Several metrics share the level; the Pareto front has the candidates that may be best in
    some trade-off.
    """
    from tombola._files import write_atomic
    from tombola.parallel.progress import with_status_label
    from tombola.ranking import rank as rank_candidates
    from tombola.ranking.page import ranking_page

    def rank_table(*arguments: Any, **options: Any) -> Any:
        return with_status_label(lambda: rank_candidates(*arguments, **options), "rank")

    check_level(level)
    files = _metric_files(tables)
    check_page(out, *(files.values() if files else tables))
    settings: dict[str, Any] = {
        "reading": _READINGS[this_list, beyond_this_list],
        "level": level,
        "in_order": in_order,
    }
    settings["missing"] = missing
    # Direction and remarks on a table; a ranking of several metrics has its own.
    first_lines: list[str] = []
    last_lines: list[str] = []
    if files or len(parse_names(metric)) > 1:
        read = (
            _read_metric_tables(files, table_options, clusters, missing)
            if files
            else _read_metric_logs(tables, metric, clusters)
        )
        settings |= _metric_directions(
            read, lower, metric_range or [], table_options, logs=not files
        )
        ranking = rank_table({name: one.pop("table") for name, one in read.items()}, **settings)
        ranking = ranking.without(next(iter(read.values())).get("left_out", ()))
        name = plural(len(read), "metric")
    elif lower or metric_range:
        option = "--lower" if lower else "--metric-range"
        raise ParameterError(
            f"{option}: expected several metrics, got one table; write NAME=FILE for each "
            "metric, or --metric A,B."
        )
    elif len(tables) > 1 or metric or _is_log(tables[0]):
        ranking = rank_table(_read_logs(tables, metric, clusters), **settings)
        name = "an evaluation log" if len(tables) == 1 else f"{len(tables)} evaluation logs"
    else:
        arguments = _read_table(tables[0], table_options, clusters, missing)
        first_lines, last_lines = arguments.pop("first_lines"), arguments.pop("last_lines")
        left_out = arguments.pop("left_out")
        ranking = rank_table(**arguments, **settings).without(left_out)
        name = "standard input" if tables[0] == "-" else Path(tables[0]).name
    if out is not None:
        write_atomic(
            out, ranking_page(ranking, f"Ranks: {name}"), *(files.values() if files else tables)
        )
    if as_json:
        sys.stdout.write(json.dumps(ranking.to_json(), allow_nan=False) + "\n")
        return
    lines = str(ranking).splitlines()
    for line in [*first_lines, *lines[1:]] if first_lines else lines:
        show(line, soft=line.startswith(" "))
    if pair:
        pair_names = parse_names(pair)
        if len(pair_names) != 2:
            raise ParameterError(
                f"--pair: expected two candidates, got {pair!r}; write --pair A,B."
            )
        readings = [getattr(one, "name", one) for one in ranking.readings]
        show("\n".join(ranking.compare(*pair_names, reading=one) for one in readings))
    for line in last_lines:
        show(line, soft=line.startswith("tombola "))
    if out is not None:
        show(f"Page: {out}", soft=True)


def _read_table(
    table: str, table_options: TableOptions, clusters: str, missing: str, *, alone: bool = True
) -> dict[str, Any]:
    """Return the arguments of `rank` for one table, and the first lines of the output.

    alone: whether it is the only table; else its range may be that of a metric.
    """
    from tombola.tables.costs import AS_REQUESTED
    from tombola.tables.options import ReadOptions
    from tombola.tables.summary import TableSummary
    from tombola.tables.table import parse_table
    from tombola.tables.to_pool import check_scale, check_timeouts, direction_text, reading_remarks
    from tombola.tables.wide import NOT_SELECTED

    options = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
    if clusters:
        options["ignore"] = [*options.get("ignore", ()), clusters]
    parsed = parse_table(table, ReadOptions(**options))
    # Columns that the user left out need no note.
    given = {AS_REQUESTED, NOT_SELECTED}
    left_out = [
        f"{name} ({reason})" for name, reason in parsed.ignored.items() if reason not in given
    ]
    if left_out:
        # A column that is not ranked must not go unnoticed; standard output may be JSON.
        print_error(f"note: not ranked: {', '.join(left_out)}; name the candidates with --actions")
    kind, limits = parsed.require_direction(), table_options.get("range")
    check_timeouts(parsed, missing=missing)
    if alone:
        check_scale(parsed, kind, limits)
    source = f"{table}::{options['sheet']}" if options.get("sheet") else table
    races = TableSummary(parsed).race_steps(source, limits) if missing == "keep" else []
    direction = direction_text(kind, parsed.unit, by_file=parsed.by_file)
    return {
        "first_lines": [
            f"R{direction[1:]}.",
            *reading_remarks(parsed, missing=missing, limits=limits),
            *(f"Note: {question}." for question in parsed.questions),
        ],
        "last_lines": [
            line for text, race in races for line in (f"next, {text}:", f"{race} --question ranks")
        ],
        "left_out": parsed.other_units,
        "table": parsed.values,
        "unit": parsed.unit,
        "kind": kind,
        "names": parsed.names,
        "range": limits,
        "clusters": _labels(table, clusters)[: -1 if parsed.has_summary_row else None]
        if clusters
        else None,
    }


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


def _read_metric_tables(
    files: dict[str, str], table_options: TableOptions, clusters: str, missing: str
) -> dict[str, dict[str, Any]]:
    """Read one table per metric, with the candidates of all in the order of the first."""
    # The direction of a metric may differ from that of the others: see `_metric_directions`.
    options = {"kind": "losses", **table_options}
    read: dict[str, dict[str, Any]] = {}
    for name, file in files.items():
        # The first table decides which columns are candidates: the range of a metric may look like
        # another quantity.
        read[name] = one = _read_table(file, options, clusters, missing, alone=False)
        one.pop("first_lines")
        options["actions"] = list(one["names"])
        first = next(iter(read.values()))
        if sorted(one["names"]) != sorted(first["names"]) or len(one["table"]) != len(
            first["table"]
        ):
            raise ParameterError(
                "rank: expected the same candidates and rows in every metric, got others in "
                f"{name!r}; give tables "
                "with the same columns and rows."
            )
        one["table"] = one["table"][
            :, [one["names"].index(candidate) for candidate in first["names"]]
        ]
    return read


def _read_metric_logs(files: list[str], metric: str, clusters: str) -> dict[str, dict[str, Any]]:
    """Read several scores of the same logs, one table each."""
    pools = {name: _read_logs(files, name, clusters) for name in parse_names(metric)}
    return {
        name: {"table": pool.losses if _is_loss(name) else 1.0 - pool.losses, "names": pool.actions}
        for name, pool in pools.items()
    }


def _is_loss(metric: str) -> bool:
    """Return whether `read_logs` reads this metric as a loss."""
    from tombola.plugins.logs import direction_of_metric

    return direction_of_metric(metric, "--metric") == "losses"


def _metric_directions(
    read: dict[str, dict[str, Any]],
    lower: str,
    ranges: list[str],
    table_options: TableOptions,
    *,
    logs: bool,
) -> dict[str, Any]:
    """Return names, kind, range and clusters of all metrics as arguments of `rank`."""
    from tombola.units import parse_range

    limits = {name: one["range"] for name, one in read.items() if one.get("range")}
    for text in ranges:
        name, sign, values = text.partition("=")
        if not sign or name not in read:
            raise ParameterError(
                f"--metric-range: expected a metric and its range, got {text!r}; "
                f"write --metric-range {next(iter(read))}=0,10."
            )
        limits[name] = parse_range(values)
    fewer = parse_names(lower)
    if unknown := [name for name in fewer if name not in read]:
        raise ParameterError(
            f"--lower: expected metrics among {', '.join(read)}, got {unknown[0]!r}; write one "
            "of them."
        )
    if not (logs or fewer or "kind" in table_options):
        raise ParameterError(
            "rank: expected the direction of each metric, got none; write --scores or --losses "
            "for all, or --lower "
            "with the metrics of which lower is better."
        )
    general = table_options.get("kind", "scores")
    first = next(iter(read.values()))
    return {
        "names": first["names"],
        "kind": {
            name: "losses" if name in fewer or (logs and _is_loss(name)) else general
            for name in read
        },
        "range": limits or None,
        "clusters": first.get("clusters"),
    }


def _is_log(table: str) -> bool:
    """Return whether a file is an evaluation log: .eval, or JSON with results."""
    from tombola.plugins.logs import is_results_file

    path = Path(table)
    return path.suffix == ".eval" or (path.suffix == ".json" and is_results_file(path))


def _read_logs(files: list[str], metric: str, clusters: str) -> "Pool":
    """Return the losses of all candidates of evaluation logs as a pool."""
    from tombola.plugins.logs import read_logs

    if clusters:
        raise ParameterError(
            "--clusters: expected a table, got evaluation logs; convert them with tombola race "
            "table, add the column, "
            "and rank that table."
        )
    pool = read_logs([Path(file) for file in files], metric or None)
    if pool.k < 2:
        raise ParameterError(
            f"rank: expected logs of 2 candidates or more, got one of {pool.actions[0]}; give "
            "the log of another too."
        )
    return pool


def _labels(table: str, column: str) -> list[str]:
    """Return the cells of a column as text."""
    from tombola.tables.columns import Columns
    from tombola.tables.formats import read_file
    from tombola.tables.options import ReadOptions

    if table == "-":
        raise ParameterError(
            "--clusters: expected a file, got standard input, which can be read once; save it "
            "first."
        )
    columns = read_file(table, ReadOptions(ids=column))
    if not isinstance(columns, Columns):
        raise ParameterError(
            f"--clusters: expected a table with named columns, got {table}; save it as CSV."
        )
    return columns.find(column, "clusters").labels
