"""The commands of `tombola race`: the best of some candidates on a list, with few calls and a guarantee."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tombola.commands.options import CORES, Json, Seeds, Workers, words
from tombola.commands.printing import grid, show

if TYPE_CHECKING:
    from tombola.racing.planning import Plan

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
def plan_(
    table: Annotated[
        Path, typer.Argument(help="A finished table of losses, one column a candidate: CSV, TSV, Parquet, NPZ, ...")
    ],
    level: Annotated[
        str, typer.Option(help="The probability with which a race may be wrong; several with commas between.")
    ] = "0.05,0.01",
    within: Annotated[float, typer.Option(help="How much worse than the best is good enough.", min=0)] = 0.0,
    top: Annotated[int, typer.Option(help="How many of the best are asked for.", min=1)] = 1,
    baseline: Annotated[str, typer.Option(help="A candidate that the others are to be compared with.")] = "",
    shuffles: Annotated[int, typer.Option(help="How many races to run, each in an order of its own.", min=1)] = 200,
    rewards: Annotated[bool, typer.Option("--rewards", help="The numbers are rewards: more is better.")] = False,  # noqa: FBT002 - a flag
    rescale: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--rescale", help="Map the smallest number to 0 and the largest to 1.")
    ] = False,
    missing: Annotated[
        Literal["error", "drop", "worst"], typer.Option(help="error, drop or worst: what to do about missing cells.")
    ] = "error",
    as_json: Json = False,  # noqa: FBT002 - a flag
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Say what a race would have cost on a finished table, whom it would have found, and how often wrongly."""
    from tombola.racing.planning import plan
    from tombola.readers import read_table

    pool = read_table(table, kind="rewards" if rewards else None, rescale=rescale, missing=missing).pool
    plans = plan(
        pool, seed=seed, levels=_levels(level), within=within, top=top, baseline=baseline or None,
        shuffles=shuffles, workers=workers,
    )  # fmt: skip
    if as_json:
        facts = {
            "table": table.name,
            "rows": pool.rows,
            "candidates": list(pool.actions),
            "everything": pool.losses.size,
        }
        typer.echo(json.dumps({**facts, "shuffles": shuffles, "seed": seed, "races": [one.to_json() for one in plans]}))
    else:
        _show_plans(table.name, plans)


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
        show("near ties take most of these calls; say with --within, such as --within 0.02, how near is good enough")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


def _answers(plan: "Plan") -> str:
    """Return the most frequent answers, in words."""
    count = len(plan.outcomes)
    said = [f"{', '.join(names) or 'nobody'} ({_percent(times / count)} of shuffles)" for names, times in plan.answers]
    return "; ".join(said[:3]) + (f"; and {len(said) - 3} others" if len(said) > 3 else "")
