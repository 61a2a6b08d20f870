"""Bodies of next, record, status and export, which `tombola session` and `race` share."""

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tombola._formatting import note_line, plural
from tombola.cli.options import check_reissue_after, check_table
from tombola.cli.printing import show, show_lines, show_result

if TYPE_CHECKING:
    from tombola.worklists.work_file import Outcome

# Kind of a work list, and the word of its commands.
ListKind = Literal["session", "race"]
# Option --out of `next`.
TicketTable = Annotated[
    Path | None,
    typer.Option(
        help="Write the tickets to .csv or .xlsx, with the list's own columns and a blank outcome."
    ),
]
# Option --again of `next`.
Again = Annotated[bool, typer.Option("--again", help="List the pending tickets again; issue none.")]
# Option --out of `export`.
ExportTable = Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")]


def open_list(kind: ListKind, file: Path, url: str = "", token: str = "") -> Any:
    """Open a file, or with --url the list of this name: a `WorkFile`, or a `RemoteList`."""
    if url:
        from tombola.service.remote_list import RemoteList

        return RemoteList(url, token, str(file), kind)
    if kind == "race":
        from tombola.worklists.race_file import RaceFile

        return RaceFile.open(file)
    from tombola.worklists.session_file import SessionFile

    session = SessionFile.open(file)
    # A command is short: loading the compiler would take longer than replaying a few events.
    session.interpreted = True
    return session


def issue_tickets(
    kind: ListKind,
    file: Path,
    count: int | None,
    out: Path | None,
    url: str,
    token: str,
    reissue_after: float | None,
    *,
    again: bool,
    as_json: bool,
) -> None:
    """Issue tickets, or list the pending ones again; print them, or write a table to fill in."""
    from tombola.worklists.ticket_tables import check_new_table, write_tickets
    from tombola.worklists.ticket_text import instruction, open_ticket_lines

    check_reissue_after(reissue_after, url)
    with open_list(kind, file, url, token) as work:
        about = work.describe()
        if out is not None:
            check_new_table(out, file)
        with work.reading() if again else work.writing():
            if again:
                tickets = work.pending[:count]
            else:
                # A lease stores the time, which `status` prints for open tickets.
                tickets = work.lease(secrets.token_urlsafe(12), count, reissue_after=reissue_after)
            rows = [] if out is None else work.rows_of(tickets)
            waiting = [] if tickets else work.pending
            summary = "" if tickets else work.summary()
        # After the tickets are on the disk: a table must not have any that is not.
        if out is not None and tickets:
            write_tickets(about, tickets, rows, out, file)
    if as_json:
        typer.echo(json.dumps([ticket.to_json() for ticket in tickets]))
    elif not tickets:
        lines = open_ticket_lines(kind, waiting, file, url, scores=about.direction == "scores")
        show_lines(lines or [summary])
    elif out is not None:
        blank = "a column for every action" if about.full_feedback else "the column outcome"
        word = "call" if kind == "race" else "ticket"
        more = ("" if about.direction is not None else " --scores") + (
            f" --url {url}" if url else ""
        )
        show(
            f"{out}: {plural(len(tickets), word)}. Fill in {blank}, then record it:",
            soft=True,
        )
        show(f"  tombola {kind} record {file} --csv {out}{more}", soft=True)
    else:
        for ticket in tickets:
            show(f"ticket {ticket.ticket}: {instruction(about, ticket)}", soft=True)
    if kind == "race" and not again and len({ticket.id for ticket in tickets}) > 1 and not as_json:
        show(note_line("calls issued together cannot be saved; ask for few at a time"))


def record_outcomes(
    kind: ListKind,
    file: Path,
    read: "Callable[[Any], Sequence[Outcome]]",
    url: str,
    token: str,
    *,
    as_json: bool,
) -> "Sequence[Outcome]":
    """Record outcomes, print how many are new and which tickets wait; return the outcomes.

    read: returns the outcomes to record, called with the open list.
    """
    from tombola.worklists.ticket_text import open_ticket_lines, recorded_text

    with open_list(kind, file, url, token) as work, work.writing():
        outcomes = read(work)
        about = work.describe()
        new = work.record_all(outcomes)
        done = work.done
        # While rows are left, a session goes on without the outcomes of open tickets.
        waiting = work.pending if not as_json and done == (kind == "session") else []
        summary = work.summary() if kind == "race" else ""
    old = len(outcomes) - new
    value = ""
    is_single = len(outcomes) == 1 and not outcomes[0].source
    if kind == "race" and is_single and new and outcomes[0].loss is not None:
        value = f" ({about.units.quantity} {about.units.text(outcomes[0].loss)})"
    text = f"{recorded_text(new, old)}{value}" + (f"; {summary}" if summary else "")
    facts = {"recorded": new, "already_recorded": old, "done": done}
    lines = open_ticket_lines(kind, waiting, file, url, scores=about.direction == "scores")
    show_result(facts, text, *lines, as_json=as_json)
    return outcomes


def export_list(
    kind: ListKind, file: Path, out: Path, url: str, token: str, *, force: bool, as_json: bool
) -> None:
    """Write all tickets and outcomes of a list to a table."""
    check_table(out, file, force=force)
    with open_list(kind, file, url, token) as work:
        rows = work.export(out)
    text = f"{out}: {plural(rows, 'answer' if kind == 'race' else 'ticket')}"
    show_result({"table": str(out), "rows": rows}, text, as_json=as_json, soft=True)


def verify_list(kind: ListKind, file: Path, *, as_json: bool) -> None:
    """Replay the file of a list, and print how many events its digests cover."""
    with open_list(kind, file, "", "") as work:
        events = work.verify()
        rows = work.describe().rows
    again = "repeats every ticket" if kind == "session" else "takes every call and answer"
    text = (
        f"{file} is whole: {plural(rows, 'row')} and {plural(events, 'event')} fit their digests, "
        f"and a replay {again}."
    )
    show_result({"rows": rows, "events": events}, text, as_json=as_json)
