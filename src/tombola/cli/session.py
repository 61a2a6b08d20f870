"""Commands of `tombola session`: parse options, call one method of `SessionFile`, print."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tombola._formatting import escape_control
from tombola.cli.printing import new_table, show

if TYPE_CHECKING:
    from tombola.persistence.session_events import Losses
    from tombola.persistence.session_file import Assignment, SessionFile
    from tombola.persistence.session_status import Status

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run a learner on your own list of rows: start, next, record.",
)

File = Annotated[Path, typer.Argument(help="The session file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def start(
    table: Annotated[Path, typer.Argument(help="The rows: CSV or TSV with a column id, or .txt with one id per line.")],
    actions: Annotated[str, typer.Option(help="Names of the actions, separated by commas; quote a name with a comma.")],
    out: Annotated[Path, typer.Option(help="The session file to write; an existing file is never overwritten.")],
    learner: Annotated[
        str,
        typer.Option(help="For example UCB2 or 'Exp3(rate=0.1)'. Default: Thrifty; with a budget ThriftyLP."),
    ] = "",
    column: Annotated[str, typer.Option(help="The column with the ids. Default: id.")] = "",
    budget: Annotated[
        list[float] | None, typer.Option(help="Amount that may be spent; repeat for each resource.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(help="With a budget: reach this mean loss at least cost.", min=0, max=1),
    ] = None,
    worst: Annotated[
        list[str] | None,
        typer.Option(help="Largest cost of one play: a number, or gpt=0.03,small=0.001; repeat for each resource."),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(help="Fixed costs: gpt=0.03,small=0.001; repeat for each resource."),
    ] = None,
    null: Annotated[
        str, typer.Option(help="The action that costs nothing. Default: leave a row alone, at loss 1.")
    ] = "",
    seed: Annotated[
        int | None, typer.Option(help="Determines all random choices. Default: drawn, printed and stored.", min=0)
    ] = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Shuffle a list of rows and start a session on it."""
    from tombola.cli.budget_options import budget_named
    from tombola.learners.spec import parse_learner
    from tombola.persistence.session_csv import read_ids
    from tombola.persistence.session_file import SessionFile

    names = names_in(actions)
    allowed = budget_named(names, budget or [], worst or [], prices or [], null, target)
    chosen = parse_learner(learner or ("Thrifty" if allowed is None else "ThriftyLP"))
    ids = read_ids(table, column or None)
    with SessionFile.start(out, ids, names, chosen, budget=allowed, seed=seed) as session:
        rows, learner_text, seed = session.horizon, repr(session.learner), session.seed
        facts = {"file": str(out), "rows": rows, "actions": names, "learner": learner_text, "seed": seed}
        if as_json:
            typer.echo(json.dumps(facts | ({} if allowed is None else {"budget": budget})))
        else:
            show(f"{out}: {rows} rows in random order (seed {seed}), {learner_text} on {', '.join(names)}", soft=True)
            if budget:
                show(f"spends at most {', '.join(f'{amount:g}' for amount in budget)}", soft=True)
            show(f"next: tombola session next {out}", soft=True)


@app.command("next")
def next_(
    file: File,
    count: Annotated[int, typer.Option(help="Number of tickets; fewer if fewer rows are left.", min=1)] = 1,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Issue tickets: print which action to play on which row."""
    with _open(file) as session:
        assignments = session.next(count)
    if as_json:
        typer.echo(json.dumps([assignment.to_json() for assignment in assignments]))
    else:
        for assignment in assignments:
            show(f"ticket {assignment.round}: {_instruction(session, assignment)}", soft=True)


@app.command()
def record(
    file: File,
    ticket: Annotated[int | None, typer.Argument(help="Number of the ticket; not with --csv.")] = None,
    loss: Annotated[
        str, typer.Option(help="Loss in [0, 1]; with full feedback one per action, separated by commas.")
    ] = "",
    reward: Annotated[str, typer.Option(help="1 - loss, instead of --loss.")] = "",
    cost: Annotated[
        list[float] | None, typer.Option(help="Under a budget: the cost; repeat for each resource.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Table of outcomes: columns ticket (or id), loss (or reward), and cost.")
    ] = None,
    rewards: Annotated[bool, typer.Option("--rewards", help="The numbers in the table are rewards.")] = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Record the outcome of a ticket, or a table of outcomes; repeating one is harmless."""
    from tombola.errors import FeedbackError
    from tombola.persistence.session_csv import cost_columns, read_outcomes
    from tombola.persistence.session_events import Outcome

    # --rewards belongs to --csv; the other options to a single ticket.
    misplaced = rewards if csv is None else bool(loss or reward or cost)
    if (ticket is None) == (csv is None) or misplaced:
        raise FeedbackError(
            "session record: expected either a ticket with its loss, or a table of them, got both or neither; "
            "write record FILE 17 --loss 0.25 (or --reward 0.75), or record FILE --csv outcomes.csv."
        )
    with _open(file) as session:
        full = session.feedback_model.full_feedback
        if csv is not None:
            outcomes = read_outcomes(
                csv,
                session.names[: session.feedback_model.n_listed_actions] if full else None,
                session.round_of,
                assignment=session.assignment,
                costs=cost_columns(session.budget),
                rewards=rewards,
            )
        else:
            outcomes = [Outcome(ticket or 0, _numbers(loss, full=full), _numbers(reward, full=full), cost or None)]
        new = session.record_all(outcomes)
    if as_json:
        typer.echo(json.dumps({"recorded": new, "known before": len(outcomes) - new}))
    else:
        typer.echo(f"{new} recorded" + (f", {len(outcomes) - new} known before" if new < len(outcomes) else ""))


@app.command()
def amend(
    file: File,
    ticket: Annotated[int, typer.Argument(help="Number of the ticket with the wrong outcome.", min=1)],
    loss: Annotated[str, typer.Option(help="The correct loss, as for record.")] = "",
    reward: Annotated[str, typer.Option(help="The correct reward, as for record.")] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Replace a wrong outcome; the old one stays in the log, and the learner replays everything."""
    with _open(file) as session:
        full = session.feedback_model.full_feedback
        before = session.amend(ticket, loss=_numbers(loss, full=full), reward=_numbers(reward, full=full))
    if as_json:
        typer.echo(json.dumps({"ticket": ticket, "loss before": before}))
    else:
        show(f"ticket {ticket} amended; its loss was {_format_losses(before)} before")


@app.command()
def cancel(
    file: File,
    ticket: Annotated[int, typer.Argument(help="Number of the ticket.", min=1)],
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Cancel a ticket that will never be answered; if its action failed, record loss 1 instead."""
    with _open(file) as session:
        new = session.cancel(ticket)
    if as_json:
        typer.echo(json.dumps({"ticket": ticket, "new": new}))
    else:
        show(f"ticket {ticket} " + ("cancelled" if new else "was cancelled before"))


@app.command()
def export(
    file: File,
    out: Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")],
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write all tickets and outcomes to a table."""
    from tombola.persistence.session_csv import export as write

    with _open(file) as session:
        rows = write(session, out)
    if as_json:
        typer.echo(json.dumps({"table": str(out), "rows": rows}))
    else:
        show(f"{out}: {rows} tickets", soft=True)


@app.command()
def status(
    file: File,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Print progress, pending tickets, and the estimates of the actions."""
    with _open(file) as session:
        now = session.status()
    if as_json:
        typer.echo(json.dumps(now.to_json()))
    else:
        _print_status(now)


@app.command()
def report(
    file: File,
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("run.html"),
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write an HTML page with the tables and charts of the session."""
    from tombola._files import write_atomic
    from tombola.cli.options import check_page
    from tombola.persistence.session_page import session_page

    check_page(out, str(file))
    with _open(file) as session:
        write_atomic(out, session_page(session), file)
    if as_json:
        typer.echo(json.dumps({"page": str(out)}))
    else:
        show(f"page: {out}", soft=True)


def _open(file: Path) -> "SessionFile":
    from tombola.persistence.session_file import SessionFile

    session = SessionFile.open(file)
    # A command is short: loading the compiler would take longer than replaying a few events.
    session.interpreted = True
    return session


def names_in(text: str) -> list[str]:
    """Split names at commas; double quotes enclose a name with a comma.

    >>> names_in('"call, then write",wait')
    ['call, then write', 'wait']
    """
    import csv

    from tombola.errors import ParameterError

    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise ParameterError(f"expected names separated by commas, got {text!r}; write them on one line.") from None


def _instruction(session: "SessionFile", assignment: "Assignment") -> str:
    if session.budget is not None and session.names.index(assignment.action) >= session.feedback_model.n_listed_actions:
        recorded = "" if session.feedback_model.full_feedback else " (recorded)"
        return f"leave {assignment.id} alone{recorded}"
    return f"play {assignment.action} on {assignment.id}"


def _numbers(text: str, *, full: bool) -> str | list[str] | None:
    if not text:
        return None
    return [cell.strip() for cell in text.split(",")] if full or "," in text else text


def _format_losses(losses: "Losses") -> str:
    return ", ".join(f"{loss:g}" for loss in losses) if isinstance(losses, tuple) else f"{losses:g}"


def _print_status(now: "Status") -> None:
    counts = f"{now.answered} answered, {len(now.pending)} pending"
    counts += f", {now.cancelled} cancelled" if now.cancelled else ""
    counts += f", {now.amended} amended" if now.amended else ""
    show(
        f"{now.learner}, seed {now.seed}: {now.played} of {now.rows} rows issued, {counts}; "
        f"{now.switches} switches; total loss {now.loss:.4g}",
        soft=True,
    )
    left_out = f"{now.left_out} rows were left alone" if now.left_out else ""
    for text in (now.balance_text, now.target_text, now.mix_text, left_out):
        if text:
            show(text, soft=True)
    table = new_table("action", "plays", "known", "mean loss", f"{1 - now.level:.0%} interval for all rows")
    for column in table.columns[1:]:
        column.justify = "right"
    for action in now.actions:
        mean = f"{action.mean:.4g}" if action.known else "–"
        interval = f"[{action.low:.4g}, {action.high:.4g}]"
        table.add_row(escape_control(action.name), str(action.plays), str(action.known), mean, interval)
    show(table)
    show(now.estimate, soft=True)
    if now.advice:
        show(now.advice, soft=True)
    for pending in now.pending[:10]:
        show(f"pending: ticket {pending.round}, {pending.action} on {pending.id}", soft=True)
    if len(now.pending) > 10:
        show(f"and {len(now.pending) - 10} more; --json lists all")
