"""Commands of `tombola session`: parse options, call `SessionFile`, print."""

import json
import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import plural
from tombola.cli.help import App
from tombola.cli.options import (
    REPLACED,
    Json,
    LiveSeed,
    ReissueAfter,
    Token,
    Url,
    check_output,
    check_page,
    check_reissue_after,
)
from tombola.cli.printing import (
    OpenTicket,
    open_ticket_lines,
    recorded_text,
    show,
    show_cells,
    show_result,
)
from tombola.cli.session_text import suggested_count
from tombola.errors import FeedbackError, ParameterError, TableError

if TYPE_CHECKING:
    from tombola.cli.remote import RemoteSession
    from tombola.tables.cells import RowList
    from tombola.units import Kind, Units
    from tombola.worklists.session_file import Assignment, SessionFile
    from tombola.worklists.session_status import Status

# The command `tombola session`; its subcommands follow.
app = App(
    no_args_is_help=True,
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
    actions: Annotated[
        str,
        typer.Option(help="Names of the actions, separated by commas; quote a name with a comma."),
    ],
    file: Annotated[
        Path, typer.Option(help="The session file to write; an existing file is never overwritten.")
    ],
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
    from tombola.cli.table_options import parse_kind, parse_names
    from tombola.learners.spec import parse_learner
    from tombola.tables.cells import read_row_list
    from tombola.tables.features import features_of_list
    from tombola.worklists.session_file import SessionFile

    kind, names = parse_kind(losses=losses, scores=scores), parse_names(actions, keep_blank=True)
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
    listed = read_row_list(table, id_column or None, sheet or None)
    encoded = (
        features_of_list(listed, parse_names(features), parse_names(text), str(table))
        if routes
        else None
    )
    with SessionFile.start(
        file,
        listed.ids,
        names,
        chosen,
        budget=allowed,
        seed=seed,
        columns={name: [row[at] for row in listed.cells] for at, name in enumerate(listed.columns)},
        id_column=listed.id_column,
        kind=kind,
        range=_limits(limits, (0.0, 1.0)),
        delimiter=listed.delimiter,
        features=None if encoded is None else encoded.values,
        feature_names=None if encoded is None else encoded.names,
    ) as session:
        rows, learner_text, seed = session.horizon, repr(session.learner), session.seed
    facts = {
        "file": str(file),
        "rows": rows,
        "actions": names,
        "learner": learner_text,
        "seed": seed,
    }
    facts |= ({} if encoded is None else {"features": list(encoded.names)}) | (
        {"budget": budget} if allowed else {}
    )
    (low, high), better = session.range, "higher" if kind == "scores" else "lower"
    lines = [
        f"{file}: {plural(rows, 'row')} in random order (seed {seed}), {learner_text} on "
        f"{', '.join(names)}",
        *([f"spends at most {', '.join(f'{amount:g}' for amount in budget)}"] if budget else []),
        *(f"note: {note}" for note in (*listed.notes, *(() if encoded is None else encoded.notes))),
        f"ids: column {listed.id_column}{other_id_text(listed, id_column)}",
        f"Outcomes: {kind} from {low:g} to {high:g}, {better} is better.",
    ]
    if session.feedback_model.full_feedback:
        lines += ["Record an outcome for every action of a row: this learner compares them."]
    command = f"  tombola session next {file} --count {suggested_count(rows)} --out today.csv"
    show_result(facts, *lines, "The list for the first day:", command, as_json=as_json, soft=True)


@app.command("next")
def next_(
    file: _File,
    count: Annotated[
        int, typer.Option(help="Number of tickets; fewer if fewer rows are left.", min=1)
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the tickets to .csv or .xlsx, with the list's own columns and a blank "
            "outcome."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="List the pending tickets again; issue none.")
    ] = False,
    url: Url = "",
    token: Token = "",
    reissue_after: ReissueAfter = None,
    as_json: Json = False,
) -> None:
    """Issue tickets: print action and row of each, or write a list to work through.

    A ticket is an action to play on one row of the list; record its outcome by its number. With
    --out, the list is a .csv or .xlsx file with a blank column outcome.
    """
    from tombola.worklists.session_csv import check_daily_list, write_daily_list

    check_reissue_after(reissue_after, url)
    with _open(file, url, token, reissue_after) as session:
        if out is not None:
            check_daily_list(out, file)
        if again:
            assignments = session.pending
        elif url:
            assignments = session.next(count)
        else:
            # A lease stores the time, which `status` prints for open tickets.
            assignments = session.lease(secrets.token_urlsafe(12), count)
        if out is not None:
            write_daily_list(session, assignments, out)
    if as_json:
        typer.echo(json.dumps([assignment.to_json() for assignment in assignments]))
    elif out is not None:
        blank = (
            "a column for every action"
            if session.feedback_model.full_feedback
            else "the column outcome"
        )
        show(
            f"{out}: {plural(len(assignments), 'ticket')}. Fill in {blank}, then record it:",
            soft=True,
        )
        more = ("" if session.kind is not None else " --scores") + (f" --url {url}" if url else "")
        show(f"  tombola session record {file} --csv {out}{more}", soft=True)
    elif not assignments:
        show("no ticket is pending")
    else:
        for assignment in assignments:
            show(f"ticket {assignment.round}: {_instruction(session, assignment)}", soft=True)


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
    from tombola.worklists.session_csv import read_outcomes
    from tombola.worklists.session_events import Outcome

    # These options belong to --csv; the others to a single ticket.
    misplaced = bool(losses or scores or outcome) if csv is None else bool(loss or score or cost)
    if (ticket is None) == (csv is None) or misplaced:
        raise FeedbackError(
            "session record: expected either a ticket with its loss or score, or a table of "
            "outcomes, got both or "
            "neither; write record FILE 17 --loss 0.25 (or --score 0.75), or record FILE --csv "
            "today.csv."
        )
    with _open(file, url, token) as session:
        if csv is not None:
            kind = parse_kind(losses=losses, scores=scores)
            outcomes = read_outcomes(
                session,
                csv,
                lambda name: _column_unit(session, name, kind, limits),
                outcome=outcome,
            )
        else:
            value, units = _loss("session record", session, loss, score, limits)
            outcomes = [Outcome(ticket or 0, value, None, cost or None, units=units)]
        new = session.record_all(outcomes)
        # While rows are left, the session goes on without the outcomes of open tickets.
        waiting = _open_tickets(session) if not as_json and session.round == session.horizon else []
    old = len(outcomes) - new
    lines = open_ticket_lines("session", waiting, file, url, scores=session.kind == "scores")
    show_result(
        {"recorded": new, "already_recorded": old}, recorded_text(new, old), *lines, as_json=as_json
    )
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
    with _open(file, url, token) as session:
        value, units = _loss("session amend", session, loss, score, limits)
        before = session.amend(ticket, loss=value)
    numbers = (
        [units.number(one) for one in before]
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
    with _open(file, url, token) as session:
        new = session.cancel(ticket)
    text = f"ticket {ticket} " + ("cancelled" if new else "was cancelled before")
    show_result({"ticket": ticket, "new": new}, text, as_json=as_json)


@app.command()
def export(
    file: _File,
    out: Annotated[Path, typer.Option(help=f"Table to write: .csv or .parquet. {REPLACED}")],
    as_json: Json = False,
) -> None:
    """Write all tickets and outcomes to a table.

    A .csv or .parquet file, one line per ticket: ticket, id of the row, action, probability,
    outcome, and whether the outcome was amended or the ticket cancelled.
    """
    from tombola.worklists.session_csv import export_columns, export_keys, export_tickets

    with _open(file) as session:
        if out.suffix.lower() in (".csv", ".parquet"):
            check_output(out, file, columns=export_columns(session), keys=export_keys(session))
        rows = export_tickets(session, out)
    show_result(
        {"table": str(out), "rows": rows},
        f"{out}: {plural(rows, 'ticket')}",
        as_json=as_json,
        soft=True,
    )


@app.command()
def status(
    file: _File,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Print progress and estimates of a session in plain words, then the details.

    The details have the plays, mean and confidence interval of each action.
    """
    from tombola.cli.session_text import status_lines

    with _open(file, url, token) as session:
        now, since = session.status(), session.lease_times()
    lines = status_lines(now, str(file), since, url)
    show_result({**now.to_json(), "text": lines}, *lines, "", as_json=as_json)
    if not as_json:
        _print_status(now)


@app.command()
def report(
    file: _File,
    out: Annotated[
        Path | None,
        typer.Option(help=f"HTML page to write. Default: my.html for my.run. {REPLACED}"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an HTML page with the tables and charts of the session."""
    from tombola._files import write_atomic
    from tombola.worklists.session_page import session_page

    out = out or file.with_name(f"{file.name.removesuffix('.run')}.html")
    check_page(out, str(file))
    with _open(file) as session:
        write_atomic(out, session_page(session), file)
    show_result({"page": str(out)}, f"page: {out}", as_json=as_json, soft=True)


def other_id_text(listed: "RowList", id_column: str) -> str:
    """Return how to choose another column of ids than the detected one; "" if not needed.

    id_column: the option --id, "" if it was left out.
    """
    from tombola.tables.names import IDS

    others = [name for name in listed.columns if name != listed.id_column]
    is_guess = others and not id_column and listed.id_column.lower() not in IDS
    return f" (another one: --id {shlex.quote(others[0])})" if is_guess else ""


def _open(file: Path, url: str = "", token: str = "", reissue_after: float | None = None) -> Any:
    """Open a session file, or with --url the session of this name: a `RemoteSession`."""
    if url:
        from tombola.cli.remote import RemoteSession

        return RemoteSession(url, token, str(file), reissue_after)
    from tombola.worklists.session_file import SessionFile

    session = SessionFile.open(file)
    # A command is short: loading the compiler would take longer than replaying a few events.
    session.interpreted = True
    return session


def _open_tickets(session: "SessionFile | RemoteSession") -> list[OpenTicket]:
    """Return the tickets without an outcome."""
    times = session.lease_times()
    return [
        OpenTicket(one.round, f"{one.action} on {one.id}", times.get(one.round))
        for one in session.pending
    ]


def _instruction(session: "SessionFile | RemoteSession", assignment: "Assignment") -> str:
    if (
        session.budget is not None
        and session.names.index(assignment.action) >= session.feedback_model.n_listed_actions
    ):
        recorded = "" if session.feedback_model.full_feedback else " (recorded)"
        return f"leave {assignment.id} alone{recorded}"
    return f"play {assignment.action} on {assignment.id}"


def _limits(text: str, default: tuple[float, float]) -> tuple[float, float]:
    from tombola.units import parse_range

    return parse_range(text) if text else default


def _column_unit(
    session: "SessionFile | RemoteSession", name: str, given: "Kind | None", limits: str
) -> "Units":
    """Return the unit of a column; raise unless its direction is stated, once."""
    from tombola.tables.names import direction_of
    from tombola.units import Units

    by_name = direction_of([name])[0]
    stated = [kind for kind in (given, session.kind, by_name) if kind is not None]
    if not stated:
        raise TableError(
            "session record: expected losses (lower is better) or scores (higher is better, yes "
            "is good), got a "
            f"column called {name!r}, which can be either; add --scores, or --losses."
        )
    # An option that differs from the name of the column is an explicit choice; the session's
    # direction is fixed.
    if session.kind is not None and set(stated) != {session.kind}:
        raise TableError(
            f"session record: expected {session.kind}, as stated when the session was started, "
            f"got {stated[0]} in "
            f"column {name!r}; leave out the option --{stated[0]}, or rename the column to outcome."
        )
    return Units(*_limits(limits, session.range), scores=stated[0] == "scores")


def _loss(
    owner: str, session: "SessionFile | RemoteSession", loss: str, score: str, limits: str
) -> "tuple[float | list[float], Units]":
    """Return the loss of --loss or --score, a list with full feedback, and its unit."""
    from tombola.tables.unit_checks import cell_fix, cell_loss
    from tombola.units import Units

    if bool(loss) == bool(score):
        given = "both" if loss else "neither"
        raise FeedbackError(
            f"{owner}: expected a loss or a score, got {given}; write --loss 0.25, or --score 0.75."
        )
    check_direction(owner, "session", session.kind, "scores" if score else "losses", loss or score)
    unit = Units(*_limits(limits, session.range), scores=bool(score))
    full = session.feedback_model.full_feedback
    cells = [cell.strip() for cell in (loss or score).split(",")] if full else [loss or score]
    found = [cell_loss(cell, unit) for cell in cells]
    wrong = next((cell for cell, value in zip(cells, found, strict=True) if value is None), None)
    if wrong is not None:
        raise FeedbackError(
            f"{owner}: expected {unit.expected_text}, got {wrong!r}; {cell_fix(wrong, unit)}."
        )
    numbers = [value for value in found if value is not None]
    return (numbers if full else numbers[0]), unit


def check_direction(
    owner: str, place: str, stated: "Kind | None", given: "Kind", value: str
) -> None:
    """Raise FeedbackError for --loss in a race or session of scores, or the reverse.

    place: "race" or "session", in which all outcomes are of the kind `stated`; None: of either.
    """
    if stated not in (None, given):
        expected, got = ("score", "loss") if stated == "scores" else ("loss", "score")
        raise FeedbackError(
            f"{owner}: expected a {expected}, because this {place} has {stated}, got --{got} "
            f"{value}; write "
            f"--{expected} {value} if it is a {expected}."
        )


def _print_status(now: "Status") -> None:
    units = now.units
    counts = f"{now.answered} answered, {len(now.pending)} pending"
    counts += f", {now.cancelled} cancelled" if now.cancelled else ""
    counts += f", {now.amended} amended" if now.amended else ""
    show(
        f"{now.learner}, seed {now.seed}: {now.played} of {plural(now.rows, 'row')} issued, "
        f"{counts}; "
        f"{plural(now.switches, 'switch', 'switches')}"
    )
    left_out = f"{plural(now.left_out, 'row')} left alone" if now.left_out else ""
    for text in (now.balance_text, now.target_text, now.mix_text, now.router, left_out):
        if text:
            show(text)
    rows = []
    for action in now.actions:
        _, *cells = action.texts(units)
        rows.append((action.name, *cells))
    interval = f"{100 * (1 - now.level):g} % interval for all rows"
    show_cells(
        ("action", "plays", "known", f"mean {units.quantity}", interval), rows, right=range(1, 5)
    )
