"""The commands of `tombola race`: the best of some candidates on a list, with few calls and a guarantee."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola.cli import reading
from tombola.cli.options import CORES, Json, Seeds, Workers, words
from tombola.cli.printing import grid, show

if TYPE_CHECKING:
    from tombola.racing._plan import Plan

MOST = 0.5  # of all calls

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find the best of some candidates on a list, with as few calls as a guarantee allows.",
)


@app.callback()
def race() -> None:
    """Find the best of some candidates on a list, with as few calls as a guarantee allows."""


@app.command("plan")
@reading.reads_a_table
def plan_(
    table: reading.Table,
    said: reading.Said,
    level: Annotated[
        str, typer.Option(help="The probability with which a race may be wrong; several with commas between.")
    ] = "0.05,0.01",
    within: Annotated[
        float, typer.Option(help="How much worse than the best is good enough, in the unit of the table.", min=0)
    ] = 0.0,
    top: Annotated[int, typer.Option(help="How many of the best are asked for.", min=1)] = 1,
    baseline: Annotated[str, typer.Option(help="A candidate that the others are to be compared with.")] = "",
    shuffles: Annotated[int, typer.Option(help="How many races to run, each in an order of its own.", min=1)] = 200,
    rescale: reading.Rescale = False,  # noqa: FBT002 - a flag
    missing: reading.Missing = "error",
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Say what a race would have cost on a finished table, whom it would have found, and how often wrongly."""
    from tombola.racing._plan import plan
    from tombola.readers import read_table

    name = "standard input" if table == "-" else Path(table).name
    read = read_table(table, rescale=rescale, missing=missing, **said)
    pool, notes = read.pool, read.notes
    plans = plan(
        pool, seed=seed, levels=_levels(level), within=_share(within, *read.range), top=top, baseline=baseline or None,
        shuffles=shuffles, workers=workers,
    )  # fmt: skip
    if as_json:
        facts = {
            "table": name, "rows": pool.rows, "candidates": list(pool.actions), "everything": pool.losses.size,
            "notes": notes, "within": within,
        }  # fmt: skip
        typer.echo(json.dumps({**facts, "shuffles": shuffles, "seed": seed, "races": [one.to_json() for one in plans]}))
    else:
        _show_plans(name, plans)
        for note in notes:
            show(f"note: {note}")


def _share(within: float, low: float, high: float) -> float:
    """Return a difference in the unit of the table as a share of the limits that became 0 and 1."""
    from tombola.errors import ParameterError

    span = (high - low) or 1.0
    if within >= span:
        raise ParameterError(
            f"--within: expected less than {span:g}, as the numbers are from {low:g} to {high:g}, got {within:g}; "
            f"write for example --within {0.02 * span:g}."
        )
    return within / span


def _levels(text: str) -> tuple[float, ...]:
    from tombola.errors import ParameterError

    try:
        levels = tuple(float(word) for word in words(text))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level < 1 for level in levels):
        raise ParameterError(
            f"--level: expected a probability above 0 and below 1, or several with commas between, got {text!r}; "
            "write --level 0.05."
        )
    return levels


def _show_plans(name: str, plans: "list[Plan]") -> None:
    first = plans[0]
    show(f"{name}: {first.rows:,} rows, {len(first.settings.candidates)} candidates, {len(first.outcomes):,} shuffles")
    listed = grid("", "calls", "90 % range", "of all", "decided", "wrong")
    for column in listed.columns[1:]:
        column.justify = "right"
    listed.add_row("run everything", f"{first.everything:,}", "", *(_percent(share) for share in (1.0, 1.0, 0.0)))
    for one in plans:
        low, high = one.calls_range
        shares = (_percent(share) for share in (one.share, one.decided, one.wrong))
        listed.add_row(f"level {one.settings.level:g}", f"{one.calls:,.0f}", f"{low:,.0f} - {high:,.0f}", *shares)
    show(listed)
    for one in plans:
        show(f"answer at level {one.settings.level:g}: {_answers(one)}")
    if first.share > MOST and first.settings.within == 0.0:
        show("near ties take most of these calls; say with --within how near is good enough")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


def _answers(plan: "Plan") -> str:
    """Return the most frequent answers, in words."""
    count = len(plan.outcomes)
    said = [f"{', '.join(names) or 'nobody'} ({_percent(times / count)} of shuffles)" for names, times in plan.answers]
    return "; ".join(said[:3]) + (f"; and {len(said) - 3} others" if len(said) > 3 else "")
