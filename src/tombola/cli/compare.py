"""`tombola compare`: compare learners on a table and advise one."""

import json
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola._formatting import (
    escape_control,
    note_line,
    plural,
    written_line,
)
from tombola.cli.options import CORES, By, Json, Page, Seeds, Workers, check_page, split_commas
from tombola.cli.printing import new_table, show, show_cells
from tombola.cli.table_options import (
    Missing,
    Rescale,
    TableArgument,
    TableOptions,
    with_table_options,
)
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.advice import CompareReport
    from tombola.advice.routing import Routing


@with_table_options
def compare(
    table: TableArgument,
    table_options: TableOptions,
    feedback: Annotated[
        str,
        typer.Option(
            help="bandit: the learner sees the outcome of the played action; full: the whole row."
        ),
    ] = "bandit",
    learners: Annotated[
        str,
        typer.Option(
            help="Such as UCB2,'UCB2(alpha=.3)',mine.py:MyLearner. Default: all that suit the "
            "feedback."
        ),
    ] = "",
    orders: Annotated[
        str,
        typer.Option(help="random, iid or given; several separated by commas."),
    ] = "random",
    repetitions: Annotated[int, typer.Option(help="Number of shuffles.", min=1)] = 40,
    delay: Annotated[
        int, typer.Option(help="Rounds between an action and its feedback.", min=0)
    ] = 0,
    switching_price: Annotated[
        float, typer.Option(help="Loss added for each change of the action.", min=0)
    ] = 0.0,
    budget: Annotated[
        str,
        typer.Option(
            help="Total budget in the unit of the costs; several resources separated by commas."
        ),
    ] = "",
    target: Annotated[
        float | None,
        typer.Option(
            help="Mean loss to reach at the least cost, such as .1 for 90 % correct.", min=0, max=1
        ),
    ] = None,
    by: By = "",
    rescale: Rescale = False,
    missing: Missing = "error",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore cached repetitions of earlier runs.")
    ] = False,
    cluster: Annotated[
        str,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://HOST:8786; its workers do the work."
        ),
    ] = "",
    out: Page = None,
    as_json: Json = False,
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Compare learners on a table in random order, and advise one for new lists.

    Plays each learner --repetitions times. Prints the advice, and mean loss and regret of the
    learners; --out writes a page.
    """
    from tombola._files import default_cache_dir, write_atomic
    from tombola.advice import CompareRequest, Conditions, compare_page, run_comparison
    from tombola.advice.learner_list import split_learners
    from tombola.tables import read_table

    check_page(out, table)
    request = CompareRequest(
        Conditions(feedback, delay, switching_price),
        split_learners(learners),
        split_commas(orders),
        _parse_amounts(budget),
        repetitions,
        seed,
        target,
    )
    read = read_table(table, rescale=rescale, missing=missing, **table_options, by=by or None)
    name = "standard input" if table == "-" else Path(table).name
    with _workers_at(cluster):
        cache_dir = None if fresh else default_cache_dir("compare")
        report = run_comparison(read, request, name=name, workers=workers, cache_dir=cache_dir)
    if out is not None:
        write_atomic(out, compare_page(report, command=shlex.join(["tombola", *sys.argv[1:]])))
    if as_json:
        typer.echo(json.dumps(report.to_dict(), allow_nan=False))
        return
    _show_report(report, by)
    if out is not None:
        show(written_line(out), soft=True)


def _workers_at(address: str) -> AbstractContextManager[object]:
    """Return the context of the work: this machine, or a cluster."""
    if not address:
        return nullcontext()
    try:
        from tombola.parallel.cluster import connect
    except ImportError:
        raise ParameterError(
            "--cluster: expected Dask, which is not installed; write pip install "
            "'tombola[cluster]'."
        ) from None
    return connect(address)


def _parse_amounts(text: str) -> tuple[float, ...]:
    """Return the amounts of a budget, one for each resource, from text with commas.

    Raises ParameterError for anything but numbers.

    >>> _parse_amounts("90, 2.5")
    (90.0, 2.5)
    """
    try:
        return tuple(float(word) for word in split_commas(text))
    except ValueError:
        raise ParameterError(
            f"--budget: expected an amount, or several separated by commas, got {text!r}; write "
            "--budget 90."
        ) from None


def _show_report(report: "CompareReport", by: str = "") -> None:
    """Print a report: summary, rankings, order test, notes."""
    from tombola.tables.describe import group_cells

    summary = report.summary
    first = "\n".join([summary.table, *summary.remarks])
    show(f"{first}\n\n{summary.best}\n\n{summary.advice}\n{summary.gain}\n{summary.precision}\n")
    if summary.command:
        show("Start a live session:")
        show(f"  {summary.command}", soft=True)
        show("")
    if report.routing is not None:
        show(f"{report.routing.sentence}\n{report.routing.detail}\n")
    if report.groups:
        show(f"Best action by {by} (exact):")
        show_cells(*group_cells(report.groups, by, f"mean {report.quantity}"))
    for warning in summary.warnings:
        show(f"Warning: {warning}\n")
    _show_rankings(report)
    if report.routing is not None:
        _show_routing(report.routing)
    show(report.order_text)
    for note in report.notes:
        show(note_line(note))
    if report.n_cached:
        show(
            f"Cache: {report.n_cached} of {plural(report.request.repetitions, 'repetition')}; "
            "--fresh plays them again."
        )


def _show_rankings(report: "CompareReport") -> None:
    """Print the learners from the best to the worst in every order, within 80 columns."""
    for order, rows in report.rankings.items():
        costs = ("costs",) if rows[0].spent else ()
        table = new_table(
            "",
            f"{order} order",
            f"mean\n{report.quantity}",
            "regret",
            "switches",
            *costs,
            "above first",
        )
        table.padding = (0, 0, 0, 1)
        table.columns[1].no_wrap = True
        for column in (table.columns[0], *table.columns[2:]):
            column.justify = "right"
        for row in rows:
            cells = report.ranking_cells(row)
            spent = (cells["spent"],) if costs else ()
            table.add_row(
                cells["rank"],
                escape_control(cells["learner"]),
                cells["mean_loss"],
                cells["regret"],
                cells["switches"],
                *spent,
                cells["above_first"] or "-",
            )
        show(table)


def _show_routing(routing: "Routing") -> None:
    """Print the means of routing by features and of its references."""
    costs = ("costs",) if routing.rows[0].spent is not None else ()
    rows = [
        (
            row.name,
            f"{routing.mean(row).value:.4f}",
            *(() if row.spent is None else (f"{row.spent.value:,.4g}",)),
        )
        for row in routing.rows
    ]
    show_cells(
        ("routing by features", f"mean\n{routing.units.quantity}", *costs), rows, right=(1, 2)
    )
