"""The commands of `tombola session`: parse, call one function of a run, print."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import escape_control
from tombola.cli.printing import grid, show, tell

if TYPE_CHECKING:
    from tombola.persistence.outcome import Losses
    from tombola.persistence.session_file import Assignment, SessionFile
    from tombola.persistence.session_status import Status

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Work through your own list, live: shuffle it, ask for actions, tell what came of them.",
)

File = Annotated[Path, typer.Argument(help="The file of the run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def start(
    table: Annotated[Path, typer.Argument(help="The rows: CSV or TSV with a column id, or a .txt with one a line.")],
    actions: Annotated[
        str, typer.Option(help="The names of the actions, with commas between; quote one with a comma.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write; one that exists is never overwritten.")],
    seed: Annotated[int, typer.Option(help="The only source of randomness; it is recorded.", min=0)],
    learner: Annotated[
        str,
        typer.Option(help="Such as UCB2, or with parameters: 'Exp3(rate=0.1)'; else Thrifty, with a budget ThriftyLP."),
    ] = "",
    column: Annotated[str, typer.Option(help="The column with the ids, if it is not called id.")] = "",
    budget: Annotated[list[float] | None, typer.Option(help="What may be spent; again for each resource.")] = None,
    target: Annotated[
        float | None,
        typer.Option(help="With a budget: a mean loss that is enough, to be reached at least cost.", min=0, max=1),
    ] = None,
    worst: Annotated[
        list[str] | None,
        typer.Option(
            help="The most that one play can cost: one number, or gpt=0.03,small=0.001; again for each resource."
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(help="Costs known in advance: gpt=0.03,small=0.001; again for each resource."),
    ] = None,
    null: Annotated[
        str, typer.Option(help="The action that costs nothing; else leaving a row alone, at a loss of 1, is one.")
    ] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Shuffle a list of rows, and start a run on it."""
    from tombola.cli.budget_options import budget_named
    from tombola.learners.parse import parse_learner
    from tombola.persistence.session_csv import read_ids
    from tombola.persistence.session_file import SessionFile

    names = names_in(actions)
    allowed = budget_named(names, budget or [], worst or [], prices or [], null, target)
    chosen = parse_learner(learner or ("Thrifty" if allowed is None else "ThriftyLP"))
    ids = read_ids(table, column or None)
    with SessionFile.start(out, ids, names, chosen, budget=allowed, seed=seed) as run:
        facts = {"file": str(out), "rows": run.horizon, "actions": names, "learner": repr(run.learner), "seed": seed}
        if as_json:
            typer.echo(json.dumps(facts | ({} if allowed is None else {"budget": budget})))
        else:
            words = f"{out}: {run.horizon} rows in random order (seed {seed}), {run.learner!r} on {', '.join(names)}"
            show(words, soft=True)
            if budget:
                show(f"never more is spent than {', '.join(f'{amount:g}' for amount in budget)}", soft=True)
            show(f"ask for the first action with: tombola session next {out}", soft=True)


@app.command("next")
def next_(
    file: File,
    count: Annotated[int, typer.Option(help="How many tickets; fewer if fewer rows are left.", min=1)] = 1,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Say which action to play on which row; the ticket's number goes back with the outcome."""
    with _run(file) as run:
        assignments = run.next(count)
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in assignments]))
    else:
        for one in assignments:
            show(f"ticket {one.round}: {_order(run, one)}", soft=True)


@app.command()
def record(
    file: File,
    ticket: Annotated[int | None, typer.Argument(help="The number of the ticket; leave it out with --csv.")] = None,
    loss: Annotated[str, typer.Option(help="In [0, 1]; one for every action, with commas, if feedback is full.")] = "",
    reward: Annotated[str, typer.Option(help="1 - loss, if that is how you count.")] = "",
    cost: Annotated[
        list[float] | None, typer.Option(help="What it cost, under a budget; again for each resource.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Many: columns ticket (or id), loss (or reward), and cost under a budget.")
    ] = None,
    rewards: Annotated[bool, typer.Option("--scores", help="The CSV holds scores: higher is better.")] = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Tell what came of a ticket, or of many; in any order, and twice without harm."""
    from tombola.errors import FeedbackError
    from tombola.persistence.outcome import Outcome
    from tombola.persistence.session_csv import cost_columns, read_outcomes

    beside = rewards if csv is None else bool(loss or reward or cost)
    if (ticket is None) == (csv is None) or beside:
        raise FeedbackError(
            "session record: expected either a ticket with its loss, or a table of them, got both or neither; "
            "write record FILE 17 --loss 0.25 (or --reward 0.75), or record FILE --csv outcomes.csv."
        )
    with _run(file) as run:
        whole = run.feedback_model.full_feedback
        if csv is not None:
            names = run.names[: run.feedback_model.n_listed_actions] if whole else None
            outcomes = read_outcomes(
                csv, names, run.round_of, play_of=run.play_of, costs=cost_columns(run.budget), rewards=rewards
            )
        else:
            told = _value(loss, whole=whole), _value(reward, whole=whole)
            outcomes = [Outcome(ticket or 0, *told, cost or None)]
        news = run.record_all(outcomes)
    if as_json:
        typer.echo(json.dumps({"recorded": news, "known before": len(outcomes) - news}))
    else:
        typer.echo(f"{news} recorded" + (f", {len(outcomes) - news} known before" if news < len(outcomes) else ""))


@app.command()
def amend(
    file: File,
    ticket: Annotated[int, typer.Argument(help="The number of the ticket whose outcome was wrong.", min=1)],
    loss: Annotated[str, typer.Option(help="The right loss, as for record.")] = "",
    reward: Annotated[str, typer.Option(help="The right reward, as for record.")] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Put a wrong outcome right: the old one stays in the history, and the learner goes through everything again."""
    with _run(file) as run:
        whole = run.feedback_model.full_feedback
        before = run.amend(ticket, loss=_value(loss, whole=whole), reward=_value(reward, whole=whole))
    if as_json:
        typer.echo(json.dumps({"ticket": ticket, "loss before": before}))
    else:
        show(f"ticket {ticket} amended; its loss was {_losses(before)} before")


@app.command()
def cancel(
    file: File,
    ticket: Annotated[int, typer.Argument(help="The number of the ticket.", min=1)],
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Take back a ticket that will never be answered; if its action failed, record a loss of 1 instead."""
    with _run(file) as run:
        news = run.cancel(ticket)
    if as_json:
        typer.echo(json.dumps({"ticket": ticket, "news": news}))
    else:
        show(f"ticket {ticket} " + ("cancelled" if news else "was cancelled before"))


@app.command()
def export(
    file: File,
    out: Annotated[Path, typer.Option(help="The table to write: .csv or .parquet.")],
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write all tickets and outcomes as a table."""
    from tombola.persistence.session_export import export as write

    with _run(file) as run:
        rows = write(run, out)
    if as_json:
        typer.echo(json.dumps({"table": str(out), "rows": rows}))
    else:
        show(f"{rows} tickets are in {out}", soft=True)


@app.command()
def status(
    file: File,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show how far the run is, what is pending, and what is known of the actions."""
    with _run(file) as run:
        now = run.status()
    if as_json:
        typer.echo(json.dumps(now.to_json()))
    else:
        _show(now)


@app.command()
def report(
    file: File,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("run.html"),
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write the page of the run: one HTML file with its tables and curves."""
    from tombola._files import write_atomic
    from tombola.cli.answers import check_page
    from tombola.persistence.session_page import run_page

    check_page(out, str(file))
    with _run(file) as run:
        write_atomic(out, run_page(run), file)
    if as_json:
        typer.echo(json.dumps({"page": str(out)}))
    else:
        show(f"the page is {out}", soft=True)


def _run(file: Path) -> "SessionFile":
    from tombola.persistence.session_file import SessionFile

    run = SessionFile.open(file)
    run.brisk = True
    for note in run.notes:
        tell(f"note: {note}")
    return run


def names_in(text: str) -> list[str]:
    """Return names with commas between; one with a comma stands in double quotes.

    >>> names_in('"call, then write",wait')
    ['call, then write', 'wait']
    """
    import csv

    from tombola.errors import ParameterError

    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise ParameterError(f"expected names with commas between, got {text!r}; write them on one line.") from None


def _order(run: "SessionFile", one: "Assignment") -> str:
    """Return what to do with a row."""
    if run.budget is not None and run.names.index(one.action) >= run.feedback_model.n_listed_actions:
        done = "" if run.feedback_model.full_feedback else " (recorded)"
        return f"leave {one.id} alone{done}"
    return f"play {one.action} on {one.id}"


def _value(text: str, *, whole: bool) -> Any:
    if not text:
        return None
    return [cell.strip() for cell in text.split(",")] if whole or "," in text else text


def _losses(losses: "Losses") -> str:
    return ", ".join(f"{loss:g}" for loss in losses) if isinstance(losses, tuple) else f"{losses:g}"


def _show(now: "Status") -> None:
    done = f"{now.answered} answered, {len(now.pending)} pending"
    done += f", {now.cancelled} cancelled" if now.cancelled else ""
    done += f", {now.amended} amended" if now.amended else ""
    show(
        f"{now.learner}, seed {now.seed}: {now.played} of {now.rows} rows handed out, {done}; "
        f"{now.switches} switches; loss so far {now.loss:.4g}",
        soft=True,
    )
    for words in (now.money, now.aim, now.plan, f"{now.left_out} rows were left alone" if now.left_out else ""):
        if words:
            show(words, soft=True)
    table = grid("action", "plays", "known", "mean loss", f"{1 - now.level:.0%} interval for all rows")
    for column in table.columns[1:]:
        column.justify = "right"
    for one in now.actions:
        mean = f"{one.mean:.4g}" if one.known else "–"
        table.add_row(
            escape_control(one.name), str(one.plays), str(one.known), mean, f"[{one.low:.4g}, {one.high:.4g}]"
        )
    show(table)
    show(now.estimate, soft=True)
    if now.advice:
        show(now.advice, soft=True)
    for pending in now.pending[:10]:
        show(f"pending: ticket {pending.round}, {pending.action} on {pending.id}", soft=True)
    if len(now.pending) > 10:
        show(f"and {len(now.pending) - 10} more; --json lists all")
