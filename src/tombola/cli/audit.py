"""`tombola audit`: check a list on as few of its rows as possible.

Exit status: 0 proved (or no evidence against random order), 1 refuted, 2 bad input, 3 undecided.
Results for the rows before an invalid line are printed before the command fails.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tombola.cli.options import (
    Json,
    Page,
    ReadingOption,
    Seeds,
    check_level,
    check_page,
    split_commas,
)
from tombola.cli.printing import show_answer
from tombola.cli.table_options import parse_kind, parse_names
from tombola.errors import ParameterError, RowError

# Outcome of a result -> exit status.
_STATUS = {"proved": 0, "not refuted": 0, "refuted": 1, "undecided": 3}
# Level of the order test if none is given: a false alarm sends people to look for a defect.
_ORDER_LEVEL = 0.01


def audit(
    table: Annotated[
        str,
        typer.Argument(
            help="Rows of the list, with a header: Excel, CSV or any table that describe reads; - "
            "reads CSV from standard input."
        ),
    ],
    statements: Annotated[
        list[str] | None,
        typer.Argument(help="Such as 'mean(score) > 0.7', 'share(grade = pass) >= 0.9'."),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Which column has the best mean? See --within.")
    ] = False,
    mean: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="What is the mean of this column? See --within."),
    ] = "",
    order: Annotated[
        bool, typer.Option("--order", help="Are the rows in random order, as listed?")
    ] = False,
    within: Annotated[
        float,
        typer.Option(
            help="--best, --mean: stop at this distance from the best, or from the mean.", min=0
        ),
    ] = 0.0,
    level: Annotated[
        float | None,
        typer.Option(
            help="Probability, at most, that any outcome is wrong. Default: 0.05; --order: 0.01."
        ),
    ] = None,
    reading: ReadingOption = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Size of the whole list, if the table is a random sample of it.", min=1),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new rows in a growing file.")
    ] = False,
    losses: Annotated[bool, typer.Option("--losses", help="Lower values are better.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Higher values are better.")] = False,
    span: Annotated[
        str,
        typer.Option(
            "--range",
            metavar="LOW,HIGH",
            help="Smallest and largest possible number. Default: 0,1.",
        ),
    ] = "0,1",
    candidates: Annotated[
        str, typer.Option(help="--best: columns that are candidates; commas between.")
    ] = "",
    ignore: Annotated[
        str, typer.Option(help="--best: columns that are no candidates; commas between.")
    ] = "",
    columns: Annotated[
        str, typer.Option(help="--order: columns of numbers to test, commas between. Default: all.")
    ] = "",
    strata: Annotated[
        str, typer.Option(help="Column with the stratum of each row, for a list in strata.")
    ] = "",
    sizes: Annotated[
        str, typer.Option(help="With --strata: rows of each stratum, as north=400,south=600.")
    ] = "",
    history: Annotated[
        Path | None,
        typer.Option(
            help="Table with a column id and numbers of every row of the list, such as losses of "
            "earlier candidates."
        ),
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option(
            help="Table with a column id and a judge's scores of every row of the list; the table "
            "of labels then has the ids that people labelled."
        ),
    ] = None,
    looks: Annotated[
        str,
        typer.Option(help="With --judge: look at any number of labels (any), or once (1)."),
    ] = "any",
    labels: Annotated[
        int | None,
        typer.Option(help="With --looks 1: number of labels, fixed before the first.", min=1),
    ] = None,
    next_count: Annotated[
        int,
        typer.Option(
            "--next", help="With --judge: print this many rows to label next, as CSV.", min=0
        ),
    ] = 0,
    missing: Annotated[
        Literal["error", "drop", "worst"],
        typer.Option(
            help="Blank cells: ask (error), drop the row, or count the worst value (--best)."
        ),
    ] = "error",
    ignore_rows: Annotated[
        str, typer.Option(help="Ids of rows to ignore, such as Total; or first, last, none.")
    ] = "",
    sheet: Annotated[str, typer.Option(help="The sheet of an Excel file.")] = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Check a list on as few of its rows as possible: statements, its best column, its order.

    Exit status 0: proved. 1: refuted. 3: undecided, read more rows. 2: bad input.
    """
    from tombola.units import parse_range

    questions = [bool(statements), best, bool(mean), order]
    if sum(questions) != 1:
        raise ParameterError(
            "audit: expected one question: statements, --best, --mean or --order, got "
            f"{sum(questions) or 'none'}; write for example 'mean(score) > 0.7'."
        )
    if best and history is not None:
        raise ParameterError(
            "--history: expected statements or --mean COLUMN, got --best; write --mean COLUMN."
        )
    if judge is not None and (best or mean or order):
        raise ParameterError(
            "--judge: expected statements, got --best, --mean or --order; write for example "
            "'mean(ok) > 0.9'."
        )
    if reading is not None and not statements:
        raise ParameterError(
            f"--reading: expected statements, got --{'best' if best else 'mean' if mean else 'order'}, "
            "which is about the values recorded in the list; leave it out, or use tombola rank."
        )
    if looks not in ("any", "1"):
        raise ParameterError(f"--looks: expected any or 1, got {looks!r}; write one of these.")
    if judge is None and (next_count or labels is not None or looks != "any"):
        raise ParameterError(
            "audit: expected --next, --looks and --labels with --judge only; add the judge, or "
            "leave them out."
        )
    level = level if level is not None else (_ORDER_LEVEL if order else 0.05)
    check_level(level)
    check_page(out, table)

    def run() -> Any:
        import tombola

        if order:
            tested = split_commas(columns)
            return tombola.check_order(
                table,
                level,
                columns=tested,
                ignore_rows=split_commas(ignore_rows),
                sheet=sheet,
                seed=seed,
            )
        common: Any = {
            "level": level,
            "rows": rows,
            "range": parse_range(span),
            "history": history,
            "missing": missing,
            "ignore_rows": split_commas(ignore_rows),
            "sheet": sheet,
            "follow": follow,
            "seed": seed,
        }
        if best or mean:
            return tombola.certify(
                table,
                within=within,
                kind=parse_kind(losses=losses, scores=scores),
                column=mean or None,
                candidates=parse_names(candidates) or None,
                ignore=parse_names(ignore),
                **common,
            )
        # Before the first label there may be no table yet.
        is_new = bool(next_count) and not Path(table).exists()
        return tombola.audit(
            None if is_new else table,
            statements or [],
            judge=judge,
            reading=reading,
            looks=1 if looks == "1" else "any",
            labels=labels,
            strata=strata or None,
            sizes=_parse_sizes(sizes) or None,
            **common,
        )

    try:
        result = run()
    except RowError as error:
        # The result for the rows before the invalid one is printed first.
        show_answer(error.result, out, as_json=as_json)
        raise
    if next_count:
        _show_next(result, next_count, as_json=as_json)
        return
    show_answer(result, out, as_json=as_json)
    raise typer.Exit(_STATUS[result.outcome])


def _show_next(result: Any, count: int, *, as_json: bool) -> None:
    """Print the rows to label next: JSON, or CSV with blank cells for the labels."""
    rows = result.next_rows(count)
    names = list(dict.fromkeys(name for part in result.conditions for name in part.columns))
    if as_json:
        typer.echo(json.dumps({"next": rows, "columns": names}))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["id", *names])
    writer.writerows([row, *[""] * len(names)] for row in rows)


def _parse_sizes(text: str) -> dict[str, int]:
    sizes = {}
    for word in split_commas(text):
        name, _, size = word.partition("=")
        if not size.strip().isdigit() or int(size) < 1:
            raise ParameterError(
                f"--sizes: expected NAME=ROWS with commas between, got {word!r}; write north=400."
            )
        sizes[name.strip()] = int(size)
    return sizes
