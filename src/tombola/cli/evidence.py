"""`tombola certify`, `check-order` and `audit`: statements about a list.

Exit status of all three: 0 proved (or no evidence against random order), 1 refuted, 2 bad input, 3
undecided. Results for the rows before an invalid line are printed before the command fails.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola.cli.options import Json, Page, Seeds, check_level, check_page, split_commas
from tombola.cli.printing import show_answer
from tombola.cli.table_options import parse_kind
from tombola.errors import ParameterError, RowError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tombola.evidence import AuditReport, BestColumn, CertifiedMean, OrderCheck

    # What the programs of this file return.
    _Result = AuditReport | BestColumn | CertifiedMean | OrderCheck

# Outcome of a result -> exit status.
_STATUS = {"proved": 0, "not refuted": 0, "refuted": 1, "undecided": 3}

# End of the help text of the table.
_FORMATS = "Excel, CSV or any table that describe reads; - reads CSV from standard input."
# Options that the commands of this file share.
_ListSize = Annotated[
    int | None,
    typer.Option(
        "--rows", help="Size of the whole list, if the table is a random sample of it.", min=1
    ),
]
_Follow = Annotated[bool, typer.Option("--follow", help="Wait for new rows in a growing file.")]
_History = Annotated[
    Path | None,
    typer.Option(
        help="Table with a column id and numbers of every row of the list, such as losses of "
        "earlier candidates."
    ),
]
_Sheet = Annotated[str, typer.Option(help="The sheet of an Excel file.")]
_Range = Annotated[
    str, typer.Option("--range", help="Smallest and largest possible number, LOW,HIGH.")
]


def certify(
    table: Annotated[str, typer.Argument(help=f"A column of losses for each action. {_FORMATS}")],
    within: Annotated[
        float,
        typer.Option(
            help="Stop when a column is this close to the best, in the unit of the table.", min=0
        ),
    ] = 0.0,
    level: Annotated[float, typer.Option(help="Error probability, at most.")] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,
    losses: Annotated[
        bool, typer.Option("--losses", help="The numbers are losses: lower is better.")
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="The numbers are scores: higher is better.")
    ] = False,
    span: _Range = "0,1",
    ignore: Annotated[
        str, typer.Option(help="Columns that are not actions; names or patterns, commas between.")
    ] = "",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Find the best column of a list from as few of its rows as possible.

    With --history: the mean of one column, to within --within, predicted from numbers of every row.

    Exit status 0: proved, stop now. 3: undecided, read more rows. 2: bad input.
    """
    from tombola.evidence.best_column import certify as run
    from tombola.units import parse_range

    _answer(
        table,
        level,
        lambda: run(
            table,
            within=within,
            level=level,
            rows=rows,
            kind=parse_kind(losses=losses, scores=scores),
            range=parse_range(span),
            ignore=split_commas(ignore),
            history=history,
            sheet=sheet,
            follow=follow,
            seed=seed,
        ),
        out,
        as_json=as_json,
    )


def check_order(
    table: Annotated[
        str, typer.Argument(help=f"The rows of a list in the order listed. {_FORMATS}")
    ],
    columns: Annotated[
        str, typer.Option(help="Columns of numbers, separated by commas; all by default.")
    ] = "",
    level: Annotated[float, typer.Option(help="Probability of a false alarm, at most.")] = 0.01,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Test whether the rows of a list are in random order.

    Exit status 0: no evidence against random order. 1: not in random order. 2: bad input.
    """
    from tombola.evidence.list_order import check_order as run

    _answer(
        table,
        level,
        lambda: run(table, level, columns=split_commas(columns), sheet=sheet, seed=seed),
        out,
        as_json=as_json,
    )


def audit(
    table: Annotated[str, typer.Argument(help=f"Rows of the list, with a header. {_FORMATS}")],
    statements: Annotated[
        list[str], typer.Argument(help="Such as 'mean(score) > 0.7', 'share(grade = pass) >= 0.9'.")
    ],
    level: Annotated[
        float, typer.Option(help="Probability, at most, that any outcome is wrong.")
    ] = 0.05,
    rows: _ListSize = None,
    follow: _Follow = False,
    strata: Annotated[
        str, typer.Option(help="Column with the stratum of each row, for a list in strata.")
    ] = "",
    sizes: Annotated[str, typer.Option(help="Rows of each stratum: north=400,south=600.")] = "",
    span: _Range = "0,1",
    history: _History = None,
    sheet: _Sheet = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
) -> None:
    """Prove or refute statements about a list from as few of its rows as possible.

    Exit status 0: all are proved. 1: some are refuted. 3: some are undecided, none is refuted. 2:
    bad input.
    """
    from tombola.evidence.list_audit import audit as run
    from tombola.units import parse_range

    _answer(
        table,
        level,
        lambda: run(
            table,
            statements,
            level=level,
            rows=rows,
            strata=strata or None,
            sizes=_parse_sizes(sizes) or None,
            range=parse_range(span),
            history=history,
            sheet=sheet,
            follow=follow,
            seed=seed,
        ),
        out,
        as_json=as_json,
    )


def _answer(
    table: str, level: float, run: "Callable[[], _Result]", out: Path | None, *, as_json: bool
) -> None:
    """Check the options, run the program, show its result, and exit by its outcome."""
    check_level(level)
    check_page(out, table)
    try:
        result = run()
    except RowError as error:
        # The result for the rows before the invalid one is printed first.
        show_answer(error.result, out, as_json=as_json)
        raise
    show_answer(result, out, as_json=as_json)
    raise typer.Exit(_STATUS[result.outcome])


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
