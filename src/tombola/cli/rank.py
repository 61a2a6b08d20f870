"""`tombola rank`: the ranks that each candidate of a table may have."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tombola.cli.options import Json, Page, check_level, check_page
from tombola.cli.printing import show
from tombola.cli.reading import TABLE_HELP, TableOptions, with_table_options

READINGS = {(True, False): "this list", (False, True): "beyond this list", (False, False): None, (True, True): None}


@with_table_options
def rank(
    tables: Annotated[
        list[str],
        typer.Argument(help=f"{TABLE_HELP} Several files, or .eval: evaluation logs, one candidate each."),
    ],
    table_options: TableOptions,
    level: Annotated[float, typer.Option(help="Probability that any rank set is wrong.")] = 0.05,
    this_list: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--this-list", help="Rank on these rows; exact where the table is full.")
    ] = False,
    beyond_this_list: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--beyond-this-list", help="Rank for rows like these, of which these are a sample.")
    ] = False,
    clusters: Annotated[
        str, typer.Option(help="Column of groups of related rows, such as conversation or repository.")
    ] = "",
    metric: Annotated[str, typer.Option(help="Evaluation logs: the score to use, if there are several.")] = "",
    pair: Annotated[str, typer.Option(help="Two candidates to compare, with a comma between.")] = "",
    out: Page = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Print the ranks that each candidate may have, at one level for all.

    "On this list" is about exactly these rows. "Beyond this list" takes the rows as a sample of rows like these.
    Missing cells are allowed if the rows answered so far are a random part of the list.
    """
    from tombola._files import write_atomic
    from tombola.ranking import rank as rank_table
    from tombola.ranking.page import ranking_page
    from tombola.readers.options import ReadOptions
    from tombola.readers.table import parse_table

    check_level(level)
    check_page(out, *tables)
    settings: dict[str, Any] = {"reading": READINGS[this_list, beyond_this_list], "level": level}
    if len(tables) > 1 or Path(tables[0]).suffix == ".eval":
        ranking = rank_table(_read_logs(tables, metric, clusters), **settings)
        name = f"{len(tables)} evaluation logs"
    else:
        [table] = tables
        options = {name: value for name, value in table_options.items() if name in ReadOptions._fields}
        if clusters:
            options["ignore"] = [*options.get("ignore", ()), clusters]
        parsed = parse_table(table, ReadOptions(**options))
        ranking = rank_table(
            parsed.values,
            kind=parsed.require_direction(),
            names=parsed.names,
            limits=table_options.get("range"),
            clusters=_labels(table, clusters) if clusters else None,
            **settings,
        )
        name = "standard input" if table == "-" else Path(table).name
    if out is not None:
        write_atomic(out, ranking_page(ranking, f"Ranks: {name}"), *tables)
    if as_json:
        sys.stdout.write(json.dumps(ranking.to_json(), allow_nan=False) + "\n")
        return
    for line in str(ranking).splitlines():
        show(line, soft=line.startswith(" "))
    if pair:
        show(_compare_pair(ranking, pair))
    if out is not None:
        show(f"Page: {out}", soft=True)


def _read_logs(files: list[str], metric: str, clusters: str) -> Any:
    """Return the losses of all candidates of evaluation logs as a pool."""
    from tombola.errors import ParameterError
    from tombola.plugins.logs import read_logs

    if clusters:
        raise ParameterError(
            "--clusters: expected a table, got evaluation logs; convert them with tombola race table, add the column, "
            "and rank that table."
        )
    pool = read_logs([Path(file) for file in files], metric or None)
    if pool.k < 2:
        raise ParameterError(
            f"rank: expected logs of 2 candidates or more, got one of {pool.actions[0]}; give the log of another too."
        )
    return pool


def _compare_pair(ranking: Any, pair: str) -> str:
    from tombola.cli.reading import parse_names
    from tombola.errors import ParameterError

    names = parse_names(pair)
    if len(names) != 2:
        raise ParameterError(f"--pair: expected two candidates, got {pair!r}; write --pair A,B.")
    return "\n".join(ranking.compare(*names, reading=one.name) for one in ranking.readings)


def _labels(table: str, column: str) -> list[str]:
    """Return the cells of a column as text."""
    from tombola.errors import ParameterError
    from tombola.readers.columns import Columns
    from tombola.readers.formats import read_file
    from tombola.readers.options import ReadOptions

    if table == "-":
        raise ParameterError("--clusters: expected a file, got standard input, which can be read once; save it first.")
    columns = read_file(table, ReadOptions(ids=column))
    if not isinstance(columns, Columns):
        raise ParameterError(f"--clusters: expected a table with named columns, got {table}; save it as CSV.")
    return columns.find(column, "clusters").labels
