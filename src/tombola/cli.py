"""The command line: parse, call one public function, print."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tombola.live.commands import app as session_app

if TYPE_CHECKING:
    from tombola.table_report import TableReport

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

Seeds = Annotated[int, typer.Option(help="The only source of randomness.", min=0)]
Workers = Annotated[int, typer.Option(help="How many threads share the work.", min=1)]
CORES = os.cpu_count() or 1


app.add_typer(session_app, name="session")


@app.callback()
def tombola() -> None:
    """Learn over a finite pool of rows drawn in random order."""


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for rows and pictures.")] = Path("reproduction"),
    claims: Annotated[str, typer.Option(help="Names of claims, with commas between; all if left out.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Publication quality: hours, not minutes.")] = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Measure the claims of the paper, and say for each whether it came out as expected."""
    from tombola.claims import CLAIMS
    from tombola.claims.reproduce import reproduce as run
    from tombola.errors import ParameterError

    known = {kind.name: kind for kind in CLAIMS}
    wanted = [name.strip() for name in claims.split(",") if name.strip()] or list(known)
    for name in wanted:
        if name not in known:
            raise ParameterError(f"--claims: expected names of {', '.join(known)}, got {name!r}; write one of those.")
    done = run([known[name]() for name in wanted], out, full=full, seed=seed, workers=workers)
    table = _table("claim", "statement", "measured", "verdict")
    for one in done:
        mark = "as expected" if one.as_expected else f"expected: {one.claim.expected}"
        table.add_row(one.claim.name, one.claim.statement, one.verdict.measured, f"{one.verdict.outcome} ({mark})")
    _print(table)
    _print(f"the page is {out / 'index.html'}; rows and pictures are beside it")
    raise typer.Exit(0 if all(one.as_expected for one in done) else 1)


@app.command()
def compare(
    table: Annotated[
        Path,
        typer.Argument(
            help="Losses, one column per action: CSV, TSV (also .gz), Parquet, Feather, NPZ, NPY, ASlib folder."
        ),
    ],
    feedback: Annotated[
        str, typer.Option(help="bandit: see the loss of the played action; full: see the whole row.")
    ] = "bandit",
    learners: Annotated[str, typer.Option(help="Learners, with commas between; those that suit if left out.")] = "",
    orders: Annotated[
        str, typer.Option("--orders", "--order", help="random, iid or given, or several with commas between.")
    ] = "random",
    repetitions: Annotated[int, typer.Option(help="How many shuffles.", min=1)] = 40,
    delay: Annotated[int, typer.Option(help="Rounds between a play and its feedback.", min=0)] = 0,
    switching_price: Annotated[float, typer.Option(help="What a change of action costs, in losses.", min=0)] = 0.0,
    budget: Annotated[
        str, typer.Option(help="What may be spent in all, in the unit of the costs; with commas for several resources.")
    ] = "",
    costs: Annotated[str, typer.Option(help="Names of the costs in the table, with commas between.")] = "",
    rewards: Annotated[bool, typer.Option("--rewards", help="The numbers are rewards: more is better.")] = False,  # noqa: FBT002 - a flag
    rescale: Annotated[  # noqa: FBT002 - a flag, on the command line
        bool, typer.Option("--rescale", help="Map the smallest number to 0 and the largest to 1.")
    ] = False,
    missing: Annotated[
        Literal["error", "drop", "worst"], typer.Option(help="error, drop or worst: what to do about missing cells.")
    ] = "error",
    out: Annotated[Path | None, typer.Option(help="A page to write, such as page.html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Say which learner would have done best on this table, worked through in random order."""
    from tombola.contestants import Circumstances
    from tombola.readers import read_table
    from tombola.table_report import Question, report_on

    question = Question(
        Circumstances(feedback, delay, switching_price), _words(learners), _words(orders), _amounts(budget),
        repetitions, seed,
    )  # fmt: skip
    named: Any = _words(costs)
    read = read_table(
        table, kind="rewards" if rewards else None, rescale=rescale, missing=missing,
        costs=None if not named else named[0] if len(named) == 1 else list(named),
    )  # fmt: skip
    report = report_on(read, question, name=table.name, workers=workers)
    if out is not None:
        _write_page(report, out)
    if as_json:
        typer.echo(json.dumps(report.data(), allow_nan=False))
        return
    _show_report(report)
    if out is not None:
        _print(f"the page is {out}")


@app.command()
def demo(
    pool: Annotated[
        str,
        typer.Argument(
            help="call_list, solvers, evaluation, gpu_models, language_models, or digits (needs scikit-learn)."
        ),
    ] = "call_list",
    out: Annotated[Path | None, typer.Option(help="A page to write, such as demo.html.")] = None,
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Walk through a demo pool in a minute, saying what is done."""
    from tombola.tour import walk

    last = None
    for number, step in enumerate(walk(pool, seed=seed, workers=workers), start=1):
        _print(f"{number}. {step.heading}\n{step.text}")
        last = step.report or last
        if step.report is not None:
            _show_ranking(step.report)
        _print("")
    if out is not None and last is not None:
        _write_page(last, out)
        _print(f"the page is {out}")


@app.command("claims")
def list_claims() -> None:
    """List the claims that `tombola reproduce` measures."""
    from tombola.claims import CLAIMS

    table = _table("claim", "source", "statement", "expected")
    for kind in CLAIMS:
        table.add_row(kind.name, kind.source, kind.statement, kind.expected)
    _print(table)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bound(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A bound, such as simulation; without a name, all are listed.")] = "",
) -> None:
    """Give a bound as a number: tombola bound simulation --T 65536 --k 2 --d 10."""
    from tombola.bounds.ask import ask, listing

    if not name:
        table = _table("bound", "options", "what it bounds")
        for row in listing():
            table.add_row(*row)
        _print(table)
        return
    _print(f"{ask(name, context.args):.10g}")


@app.command()
def exact(
    learner: Annotated[str, typer.Argument(help="A learner without parameters, such as FollowTheLeader.")],
    horizon: Annotated[int, typer.Option("--T", help="Rounds; the inputs are enumerated.", min=1)] = 5,
    actions: Annotated[int, typer.Option("--k", help="Actions.", min=1)] = 2,
) -> None:
    """Give the exact worst-case regret over all 0/1 inputs of a small size, in the three input models."""
    from itertools import product

    from tombola.exact import worst_case
    from tombola.recipe import learner_called

    regrets = worst_case(learner_called(learner), [list(row) for row in product((0, 1), repeat=actions)], horizon)
    table = _table("input model", "worst expected regret")
    for model, value in zip(("i.i.d. (on a grid)", "random order", "adversarial"), regrets[:3], strict=True):
        table.add_row(model, f"{value:.10g}")
    _print(table)


def main() -> None:
    """Run the command line; bad input is one sentence and exit status 2, never a traceback."""
    from tombola.errors import TombolaError

    try:
        app()
    except (TombolaError, OSError) as error:
        _tell(f"tombola: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        _tell("tombola: stopped.")
        sys.exit(130)


def _show_report(report: "TableReport") -> None:
    _print(report.headline)
    _print(report.best)
    for note in report.notes:
        _print(f"note: {note}")
    _print(f"order of the table: {report.order_words}")
    _show_ranking(report)


def _show_ranking(report: "TableReport") -> None:
    for order in report.runs.orders:
        standings = report.standings(order)
        spent = ("spent",) if standings[0].spent else ()
        listed = _table("", f"{order} order", "mean\nloss", "regret", "switches", *spent, "above first")
        listed.padding, listed.columns[1].no_wrap = (0, 0, 0, 1), True
        for column in (listed.columns[0], *listed.columns[2:]):
            column.justify = "right"
        for one in standings:
            amounts = (one.spent,) if spent else ()
            listed.add_row(
                str(one.rank), one.learner, one.mean_loss, one.regret, one.switches, *amounts, one.above or "-"
            )
        _print(listed)
    _print(f"advice: {report.advice_line}")


def _write_page(report: "TableReport", out: Path) -> None:
    from tombola.files import write_whole
    from tombola.table_page import page_of

    write_whole(out, page_of(report, command=shlex.join(["tombola", *sys.argv[1:]])))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _amounts(text: str) -> tuple[float, ...]:
    from tombola.errors import ParameterError

    try:
        return tuple(float(word) for word in _words(text))
    except ValueError:
        raise ParameterError(
            f"--budget: expected an amount, or several with commas between, got {text!r}; write --budget 90."
        ) from None


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(what: Any) -> None:
    from rich.console import Console

    Console(highlight=False, markup=False).print(what)


def _tell(text: str) -> None:
    typer.echo(text, err=True)
