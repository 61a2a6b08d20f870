"""Commands of `tombola session`: parse options, call `SessionFile`, print."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import confidence_text, join_names, note_line, plural
from tombola.cli.help import App
from tombola.cli.options import (
    Force,
    IgnoreRows,
    Json,
    LiveSeed,
    Page,
    ReissueAfter,
    Token,
    Url,
    check_page,
    check_report,
)
from tombola.cli.printing import show, show_cells, show_result, write_report
from tombola.cli.work_list import (
    Again,
    ExportTable,
    TicketTable,
    export_list,
    issue_tickets,
    open_list,
    record_outcomes,
    verify_list,
)
from tombola.errors import FeedbackError, ParameterError

if TYPE_CHECKING:
    from tombola.tables.cells import RowList
    from tombola.worklists.session_status import Status
    from tombola.worklists.work_file import Outcome

# The command `tombola session`; its subcommands follow.
app = App(
    add_completion=False,
    help="Run a learner on your own list of rows: start, next, record.",
)

# Arguments and options that the commands of this file share.
_File = Annotated[Path, typer.Argument(help="The session file.")]
_Range = Annotated[
    str,
    typer.Option(
        "--range",
        help="The smallest and the largest possible outcome, such as 0,10; 0,1 if left out.",
    ),
]
# Help text of the argument with the list of rows, of sessions and races.
LIST_HELP = (
    "The list: Excel, CSV, TSV or any table that describe reads, or .txt with one id per line."
)
# Help text of the option --id of all commands that start a session or race.
ID_HELP = (
    "The column with the ids of the rows. Default: id, or the only column with a usual "
    "name for ids."
)


@app.command()
def start(
    table: Annotated[Path, typer.Argument(help=LIST_HELP)],
    file: Annotated[
        Path, typer.Option(help="The session file to write; an existing file is never overwritten.")
    ],
    actions: Annotated[
        str,
        typer.Option(help="Names of the actions, separated by commas; quote a name with a comma."),
    ] = "",
    actions_from: Annotated[
        Path | None,
        typer.Option(
            help="File with the names of the actions, one per line (.txt), or a table of theirs."
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="Such as UCB2 or 'Exp3(rate=0.1)'. Default: Thrifty; with a budget ThriftyLP; "
            "with features Routed."
        ),
    ] = "",
    features: Annotated[
        str,
        typer.Option(help="Columns of the list to route by; names or patterns, commas between."),
    ] = "",
    text: Annotated[
        str, typer.Option(help="Columns of free text to route by, such as prompts; commas between.")
    ] = "",
    id_column: Annotated[str, typer.Option("--id", "--column", help=ID_HELP)] = "",
    ignore_rows: IgnoreRows = "",
    sheet: Annotated[str, typer.Option(help="The sheet of an Excel file.")] = "",
    losses: Annotated[bool, typer.Option("--losses", help="Outcomes: lower is better.")] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Outcomes: higher is better; yes is good.")
    ] = False,
    limits: _Range = "",
    budget: Annotated[
        list[float] | None, typer.Option(help="Amount that may be spent; repeat for each resource.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(help="With a budget: reach this mean loss at least cost.", min=0, max=1),
    ] = None,
    worst: Annotated[
        list[str] | None,
        typer.Option(
            help="Largest cost of one play: a number, or gpt=0.03,small=0.001; repeat for each "
            "resource."
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(help="Fixed costs: gpt=0.03,small=0.001; repeat for each resource."),
    ] = None,
    null: Annotated[
        str,
        typer.Option(help="The action that costs nothing. Default: leave a row alone, at loss 1."),
    ] = "",
    seed: LiveSeed = None,
    as_json: Json = False,
) -> None:
    """Shuffle a list of rows and start a session on it.

    The session file, --file, keeps the order and all tickets and outcomes. `session next` issues
    tickets, `session record` takes their outcomes.
    """
    from tombola.cli.budget_options import parse_budget
    from tombola.cli.table_options import parse_kind, parse_names, read_names
    from tombola.learners.spec import parse_learner
    from tombola.tables import read_table
    from tombola.tables.cells import read_row_list
    from tombola.tables.features import features_of_list
    from tombola.tables.to_pool import direction_text
    from tombola.units import parse_range
    from tombola.worklists.session_file import SessionFile
    from tombola.worklists.session_text import suggested_count

    kind = parse_kind(losses=losses, scores=scores)
    names = parse_names(actions, keep_blank=True)
    if actions_from is not None:
        is_table = not names and actions_from.suffix.lower() not in (".txt", "")
        names = (
            list(read_table(actions_from, kind=kind, rescale=True, missing="worst").pool.actions)
            if is_table
            else read_names(actions_from, names, "actions")
        )
    if kind is None:
        raise ParameterError(
            "session start: expected the direction of the outcomes, got none; write --scores if "
            "higher is better (yes "
            "is good), or --losses if lower is better."
        )
    if len(names) < 2:
        raise ParameterError(
            f"--actions: expected at least two actions, got {actions!r}; write commas between "
            "them: --actions a,b."
        )
    allowed = parse_budget(names, budget or [], worst or [], prices or [], null, target)
    routes = bool(features or text)
    chosen = parse_learner(
        learner or ("Routed" if routes else "Thrifty" if allowed is None else "ThriftyLP")
    )
    row_list = read_row_list(table, id_column or None, sheet or None, parse_names(ignore_rows))
    encoded = None
    if routes:
        encoded = features_of_list(row_list, parse_names(features), parse_names(text), str(table))
    with SessionFile.start(
        file,
        row_list.ids,
        names,
        chosen,
        budget=allowed,
        seed=seed,
        columns={
            name: [row[at] for row in row_list.cells] for at, name in enumerate(row_list.columns)
        },
        id_column=row_list.id_column,
        kind=kind,
        range=parse_range(limits) if limits else (0.0, 1.0),
        delimiter=row_list.delimiter,
        features=None if encoded is None else encoded.values,
        feature_names=None if encoded is None else encoded.names,
    ) as session:
        about = session.describe()
        seed = session.seed
    facts = {
        "file": str(file),
        "rows": about.rows,
        "actions": names,
        "learner": about.learner,
        "seed": seed,
    }
    if encoded is not None:
        facts["features"] = list(encoded.names)
    if allowed:
        facts["budget"] = budget
    low, high = about.range
    better = "higher" if kind == "scores" else "lower"
    lines = [
        f"{file}: {direction_text(kind)}. Actions: {join_names(names, limit=12)}.",
        f"{plural(about.rows, 'row')} in random order (seed {seed}), {about.learner}",
        *([f"spends at most {', '.join(f'{amount:g}' for amount in budget)}"] if budget else []),
        *(
            note_line(note)
            for note in (*row_list.notes, *(() if encoded is None else encoded.notes))
        ),
        f"ids: column {row_list.id_column}{other_id_text(row_list, id_column)}",
        f"Outcomes: {kind} from {low:g} to {high:g}, {better} is better.",
    ]
    if about.full_feedback:
        lines += ["Record an outcome for every action of a row: this learner compares them."]
    command = f"  tombola session next {file} --count {suggested_count(about.rows)} --out today.csv"
    show_result(facts, *lines, "The list for the first day:", command, as_json=as_json, soft=True)


@app.command("next")
def next_(
    file: _File,
    count: Annotated[
        int | None,
        typer.Option(help="Number of tickets, fewer if fewer rows are left. Default: 1.", min=1),
    ] = None,
    out: TicketTable = None,
    again: Again = False,
    url: Url = "",
    token: Token = "",
    reissue_after: ReissueAfter = None,
    as_json: Json = False,
) -> None:
    """Issue tickets: print action and row of each, or write a list to work through.

    A ticket is an action to play on one row of the list; record its outcome by its number. With
    --out, the list is a .csv or .xlsx file with a blank column outcome.
    """
    issue_tickets(
        "session", file, count, out, url, token, reissue_after, again=again, as_json=as_json
    )


@app.command()
def record(
    file: _File,
    ticket: Annotated[
        int | None, typer.Argument(help="Number of the ticket; not with --csv.")
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="Loss: lower is better; with full feedback one per action, separated by commas."
        ),
    ] = "",
    score: Annotated[str, typer.Option(help="Score: higher is better; instead of --loss.")] = "",
    cost: Annotated[
        list[float] | None, typer.Option(help="Under a budget: the cost; repeat for each resource.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Table of outcomes, also Excel: columns ticket (or ids), outcome (or loss, "
            "score), and cost."
        ),
    ] = None,
    outcome: Annotated[
        str, typer.Option(help="The column of outcomes in the table, if it has another name.")
    ] = "",
    losses: Annotated[bool, typer.Option("--losses", help="Table: lower is better.")] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Table: higher is better; yes is good.")
    ] = False,
    limits: _Range = "",
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Record the outcome of a ticket, or a table of them; repeating is harmless.

    The outcome is --loss or --score of one ticket, or --csv has a line per ticket. Another outcome
    for the same ticket is an error. Prints the number of new outcomes.
    """
    from tombola.cli.table_options import parse_kind
    from tombola.units import parse_range
    from tombola.worklists.ticket_tables import parse_outcome, read_outcomes
    from tombola.worklists.work_file import Outcome

    # These options belong to --csv; the others to a single ticket.
    misplaced = bool(losses or scores or outcome) if csv is None else bool(loss or score or cost)
    if (ticket is None) == (csv is None) or misplaced:
        raise FeedbackError(
            "session record: expected either a ticket with its loss or score, or a table of "
            "outcomes, got both or neither; write record FILE 17 --loss 0.25 (or --score 0.75), or "
            "record FILE --csv today.csv."
        )

    def read(work: Any) -> "list[Outcome]":
        if csv is None:
            owner = "session record"
            value, units = parse_outcome(owner, work.describe(), loss, score, limits)
            return [Outcome(ticket or 0, value, None, cost or None, units=units)]
        kind = parse_kind(losses=losses, scores=scores)
        span = parse_range(limits) if limits else None
        return read_outcomes(work, csv, kind, span, outcome=outcome)

    outcomes = record_outcomes("session", file, read, url, token, as_json=as_json)
    if csv is not None and not outcomes and not as_json:
        show(
            f"{csv}: every outcome is blank; fill in the column, or name another with --outcome.",
            soft=True,
        )


@app.command()
def amend(
    file: _File,
    ticket: Annotated[
        int, typer.Argument(help="Number of the ticket with the wrong outcome.", min=1)
    ],
    loss: Annotated[str, typer.Option(help="The correct loss, as for record.")] = "",
    score: Annotated[str, typer.Option(help="The correct score, as for record.")] = "",
    limits: _Range = "",
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Replace a wrong outcome; the learner replays everything.

    The ticket gets the outcome of --loss or --score. The old one stays in the log, and is printed.
    """
    from tombola.worklists.ticket_tables import parse_outcome

    with open_list("session", file, url, token) as session, session.writing():
        value, units = parse_outcome("session amend", session.describe(), loss, score, limits)
        before = session.amend(ticket, loss=value)
    numbers = (
        [units.number(loss_) for loss_ in before]
        if isinstance(before, Sequence)
        else units.number(before)
    )
    text = f"ticket {ticket} amended; its {units.quantity} was {units.text(before)} before"
    show_result({"ticket": ticket, f"{units.quantity} before": numbers}, text, as_json=as_json)


@app.command()
def cancel(
    file: _File,
    ticket: Annotated[int, typer.Argument(help="Number of the ticket.", min=1)],
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Cancel a ticket whose action was never tried.

    If its action failed, record the worst outcome instead: after a cancelled ticket the interval of
    its action stays wide.

    It cannot be undone.
    """
    with open_list("session", file, url, token) as session:
        new = session.cancel(ticket)
    text = f"ticket {ticket} " + ("cancelled" if new else "was cancelled before")
    show_result({"ticket": ticket, "new": new}, text, as_json=as_json)


@app.command()
def export(
    file: _File,
    out: ExportTable,
    force: Force = False,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Write all tickets and outcomes to a table.

    A .csv or .parquet file, one line per ticket: ticket, id of the row, action, probability,
    outcome, and whether the outcome was amended or the ticket cancelled.
    """
    export_list("session", file, out, url, token, force=force, as_json=as_json)


@app.command()
def verify(file: _File, as_json: Json = False) -> None:
    """Check the whole file of a session: every digest, and a replay ticket for ticket, to the bit."""
    verify_list("session", file, as_json=as_json)


@app.command()
def status(
    file: _File,
    out: Page = None,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Print progress and estimates of a session in plain words, then the details.

    The details have the plays, mean and confidence interval of each action. With --out also write a
    page with tables and charts.
    """
    from tombola.worklists.session_page import session_page
    from tombola.worklists.session_status import Status
    from tombola.worklists.session_text import status_lines

    check_page(out, str(file))
    check_report(out, file, url)
    page = ""
    with open_list("session", file, url, token) as session:
        facts = session.to_json()
        units = session.describe().units
        if out is not None:
            page = session_page(session)
    now = Status.from_json(facts, units)
    lines = status_lines(now, str(file), url)
    show_result({**facts, "text": lines}, *lines, "", as_json=as_json)
    if not as_json:
        _print_status(now)
    if out is not None:
        write_report(out, page, file, as_json=as_json)


def other_id_text(row_list: "RowList", id_column: str) -> str:
    """Return how to choose another column of ids than the detected one; "" if not needed.

    id_column: the option --id, "" if it was left out.
    """
    from tombola.tables.names import IDS

    others = [
        name
        for name in row_list.columns
        if name != row_list.id_column
        and len({*row_list.labels(name)} - {"(none)"}) == len(row_list.ids)
    ]
    is_guess = others and not id_column and row_list.id_column.lower() not in IDS
    return f" (another one: --id {shlex.quote(others[0])})" if is_guess else ""


def _print_status(now: "Status") -> None:
    counts = f"{now.answered} answered, {len(now.pending)} pending"
    counts += f", {now.cancelled} cancelled" if now.cancelled else ""
    counts += f", {now.amended} amended" if now.amended else ""
    show(
        f"{now.learner}, seed {now.seed}: {now.played} of {plural(now.rows, 'row')} issued, "
        f"{counts}; {plural(now.switches, 'switch', 'switches')}"
    )
    left_out = f"{plural(now.left_out, 'row')} left alone" if now.left_out else ""
    for text in (now.balance_text, now.target_text, now.mix_text, now.router, left_out):
        if text:
            show(text)
    interval = f"{confidence_text(now.level, percent=True)} interval for all rows"
    heads = ("action", "plays", "known", f"mean {now.units.quantity}", interval)
    show_cells(heads, [action.texts() for action in now.actions], right=range(1, 5))
