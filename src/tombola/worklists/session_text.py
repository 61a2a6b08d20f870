"""Sentences of `tombola session status`: progress, leader, pending tickets, next step."""

from typing import TYPE_CHECKING

from tombola._formatting import format_number, plural, since_text

if TYPE_CHECKING:
    from tombola.units import Units
    from tombola.worklists.session_status import ActionStatus, Status


# Rows that a suggested command takes at once: between these two numbers, fewer where a list is
# short.
_MIN_ROWS = 10
_MAX_ROWS = 300


def suggested_count(left: int) -> int:
    """Return the number of tickets to suggest for the next `session next --count`.

    It is a tenth of the rows left, between 10 and 300, but at most a third of a short list: the
    learner learns only when outcomes are recorded.

    >>> [suggested_count(left) for left in (1, 9, 50, 400, 10_000)]
    [1, 3, 10, 40, 300]
    """
    return max(min(left // 10, _MAX_ROWS), min(_MIN_ROWS, -(-left // 3)))


def status_lines(now: "Status", file: str, url: str = "") -> list[str]:
    """Return the status of a session as sentences, one per line.

    A command to copy is on a line of its own, indented.

    file: path of the session; its name if `url`, the address of a server, is not empty.
    """
    at = f" --url {url}" if url else ""
    return [
        *_progress(now),
        *_leader(now),
        *([now.statement.full] if now.answered and len(now.actions) > 1 else []),
        *([f"Wide interval: {now.advice}."] if now.advice else []),
        *_pending(now, file, at),
        *_next_step(now, file, at),
    ]


def _progress(now: "Status") -> list[str]:
    share = 100 * now.answered / now.rows
    have = "has" if now.rows == 1 else "have"
    parts = [f"{now.answered:,} of {plural(now.rows, 'row')} {have} an outcome ({share:.0f} %)"]
    left = now.rows - now.played
    parts += (
        [f"{len(now.pending):,} {'is' if len(now.pending) == 1 else 'are'} pending"]
        if now.pending
        else []
    )
    parts += (
        [f"{now.cancelled:,} {'was' if now.cancelled == 1 else 'were'} cancelled"]
        if now.cancelled
        else []
    )
    parts += [f"{left:,} {'is' if left == 1 else 'are'} left" if left else "none is left"]
    return ["Done: " + ", ".join(parts) + "."]


def _leader(now: "Status") -> list[str]:
    known = sorted(
        (action for action in now.actions if action.known),
        key=lambda action: action.mean,
        reverse=now.units.scores,
    )
    if not known:
        return ["Ahead: no action yet; record outcomes first."]
    leader = known[0]
    if len(now.leaders) > 1:
        return [f"Level: {'; '.join(_mean_text(action, now.units) for action in now.leaders)}."]
    behind = (
        f"; next: {_mean_text(known[1], now.units)}"
        if len(known) > 1
        else "; the other actions have no outcome yet"
    )
    return [f"Ahead: {_mean_text(leader, now.units)}{behind if len(now.actions) > 1 else ''}."]


def _mean_text(action: "ActionStatus", units: "Units") -> str:
    mean = format_number(action.mean)
    return f"{action.name}, mean {units.quantity} {mean} in {plural(action.known, 'outcome')}"


def _pending(now: "Status", file: str, at: str) -> list[str]:
    if not now.pending:
        return []
    first = now.pending[0]
    count = f"{plural(len(now.pending), 'ticket')} {'waits' if len(now.pending) == 1 else 'wait'}"
    return [
        f"Pending: {count} for an outcome, the oldest is ticket {first.ticket} ({first.action} on "
        f"{first.id}{since_text(first.since)}). Write them to a table again:",
        f"  {_again_command(file)}{at}",
        "If the action failed, record the worst outcome. Cancel a ticket only if its action was "
        "never tried:",
        f"  tombola session cancel {file} {first.ticket}{at}",
    ]


def _again_command(file: str) -> str:
    return f"tombola session next {file} --again --out pending.csv"


def next_command(now: "Status", file: str) -> str:
    """Return the command that goes on with a session; "" after the last outcome."""
    if now.played < now.rows:
        count = suggested_count(now.rows - now.played)
        return f"tombola session next {file} --count {count} --out next.csv"
    return _again_command(file) if now.pending else ""


def _next_step(now: "Status", file: str, at: str) -> list[str]:
    if now.played < now.rows:
        return [
            "Next: take more rows:",
            f"  {next_command(now, file)}{at}",
        ]
    if now.pending:
        return ["Next: record the pending outcomes."]
    return [
        "Next: all rows are done; write the report:",
        f"  tombola session status {file} --out report.html",
    ]
