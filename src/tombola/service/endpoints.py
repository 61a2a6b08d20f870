"""The JSON API under /v1: sessions, files, tokens, health.

A handler gets a request whose role and body were checked, and returns plain data, sent as JSON, or
a reply of its own. Its docstring is the description of the operation in the OpenAPI document.
"""

import asyncio
import json
import math
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from tombola import __version__
from tombola.errors import FileError
from tombola.service.hosted_file import HostedFile
from tombola.service.parsing import CheckedRequest
from tombola.service.problems import ProblemError
from tombola.worklists.race_file import RaceFile
from tombola.worklists.session_csv import export_tickets
from tombola.worklists.session_events import Outcome
from tombola.worklists.session_file import Assignment, SessionFile

# Least seconds between two events of a stream: a burst of outcomes is one event.
_EVENT_PAUSE = 0.5
# Seconds without a change after which a stream sends a comment, so that proxies do not close the
# idle connection.
_KEEP_ALIVE = 15.0
# Largest number of open event streams: each holds a connection. Further ones are answered with
# status 503.
_MAX_STREAMS = 200


async def health(request: CheckedRequest) -> Any:
    """Return status "ok" and the version of tombola; the process runs."""
    return {"status": "ok", "version": __version__}


async def ready(request: CheckedRequest) -> Any:
    """Return status "ready" and the number of files; 503 if one cannot be read."""
    files = request.service.files()
    for hosted in files:
        await hosted.read(hosted.path.stat)
    return {"status": "ready", "files": len(files)}


async def overview(request: CheckedRequest) -> Any:
    """Return name and role of the caller, and the sessions and races with settings."""
    sessions, races = [], []
    for hosted in request.service.sessions.values():
        file, model = hosted.file, hosted.file.feedback_model
        found = {
            "name": hosted.name,
            "rows": file.horizon,
            "actions": list(file.names),
            "learner": repr(file.learner),
        }
        found |= {
            "full_feedback": bool(model.full_feedback),
            "n_listed_actions": int(model.n_listed_actions),
        }
        found |= {
            "columns": list(file.columns),
            "id_column": file.id_column,
            "delimiter": file.delimiter,
        }
        found |= {"direction": file.kind, "range": list(file.range), "paused": hosted.paused}
        sessions.append(found | {"budget": None if file.budget is None else file.budget.to_json()})
    for one in request.service.races.values():
        race = {
            "name": one.name,
            "rows": len(one.file.rows),
            "candidates": list(one.file.settings.candidates),
        }
        races.append(race | {"evaluator": one.file.evaluator_config or None, "paused": one.paused})
    return {"you": request.identity._asdict(), "sessions": sessions, "races": races}


async def openapi(request: CheckedRequest) -> Any:
    """Return the OpenAPI document of this API."""
    return request.service.document


async def next_tickets(request: CheckedRequest) -> Any:
    """Issue tickets; the same Idempotency-Key gives the same tickets.

    A ticket is a row of the list with the action to play. Body: count (default 1) and
    reissue_after, both optional. Tickets without an outcome that were issued at least reissue_after
    seconds ago are offered first. Reply: tickets, each with ticket (number), id, action,
    probability and columns (cells of its row), and key.
    """
    key, file = request.key, request.session.file
    tickets = await request.session.write(lambda: _tickets_json(file, lease(request, file, key)))
    return {"tickets": tickets, "key": key}


def lease(request: CheckedRequest, file: SessionFile | RaceFile, key: str) -> list[Any]:
    """Issue the tickets or calls of a request to its caller, under an idempotency key."""
    return file.lease(key, worker=request.identity.name, **request.fields)


def _tickets_json(file: SessionFile, tickets: list[Assignment]) -> list[dict[str, Any]]:
    """Return tickets as plain data, each with the filled cells of its row by column."""
    return [
        {**ticket.to_json(), "columns": cells_of(file, row)}
        for ticket, row in zip(tickets, file.rows_of(tickets), strict=True)
    ]


def cells_of(file: SessionFile, row: tuple[str, ...]) -> dict[str, str]:
    """Return the cells of a row of `SessionFile.rows_of` by column; no id, no blanks."""
    return {
        name: cell
        for name, cell in zip(file.columns, row, strict=True)
        if cell and name != file.id_column
    }


async def record(request: CheckedRequest) -> Any:
    """Record outcomes of tickets, all or none.

    Body: outcomes, a list of objects with ticket, loss or reward, and cost. The same outcome again
        is ignored, a
    different one is a conflict (409). Reply: recorded and known, the numbers of new and repeated
    outcomes.
    """
    outcomes = [_outcome(**one) for one in request.fields["outcomes"]]
    new = await request.session.write(request.session.file.record_all, outcomes)
    return {"recorded": new, "known": len(outcomes) - new}


def _outcome(ticket: int, **values: Any) -> Outcome:
    return Outcome(ticket, **values)


async def amend(request: CheckedRequest) -> Any:
    """Replace a wrong outcome of a ticket.

    Body: ticket, and the right loss or reward. Reply: ticket, and loss_before, the old loss, or the
        list of old losses
    with full feedback.
    """
    given = _outcome(**request.fields)
    file = request.session.file
    before = await request.session.write(
        lambda: file.amend(given.round, loss=given.loss, reward=given.reward)
    )
    return {"ticket": given.round, "loss_before": before}


async def cancel(request: CheckedRequest) -> Any:
    """Cancel a ticket that will never be answered.

    Body: ticket. Reply: ticket, and new, which is false if it was cancelled before.
    """
    ticket = request.fields["ticket"]
    return {
        "ticket": ticket,
        "new": await request.session.write(request.session.file.cancel, ticket),
    }


async def status(request: CheckedRequest) -> Any:
    """Return progress, pending tickets and estimates of a session.

    Reply: the fields of `Status.to_json`, and paused, which is true while the session is paused.
    """
    hosted = request.session
    found = (await hosted.read_cached("status", hosted.file.status)).to_json()
    times = await hosted.read(hosted.file.lease_times)
    pending = [{**one, "since": times.get(one["ticket"])} for one in found["pending"]]
    return {**found, "pending": pending, "paused": hosted.paused}


async def ranking(request: CheckedRequest) -> Any:
    """Return the actions by mean loss, the best first, with confidence intervals.

    Actions without an outcome come last. Reply: actions (each with name, plays, known, the number
    of known losses, mean, and low and high, the ends of the interval), best (name), within (bound
    on its distance from the best mean), level (error probability) and estimate (a sentence).
    """
    now = await request.session.read_cached("status", request.session.file.status)
    means = {action.name: action.mean if action.known else math.inf for action in now.actions}
    found = now.to_json()
    actions = sorted(found["actions"], key=lambda action: means[action["name"]])
    return {"actions": actions} | {
        name: found[name] for name in ("best", "within", "level", "estimate")
    }


async def ticket(request: CheckedRequest) -> Any:
    """Return the ticket numbered in the path: row id, action, probability, cells."""
    file, number = request.session.file, request.ticket
    return await request.session.read(lambda: _tickets_json(file, [file.assignment(number)])[0])


async def export_table(request: CheckedRequest) -> Any:
    """Return all tickets and outcomes of a session as a CSV or Parquet file.

    The end of the path states which.
    """
    return await table_reply(request.session, request.http.path_params["kind"], export_tickets)


async def table_reply(
    hosted: HostedFile[Any], kind: str, write: Callable[[Any, Path], int]
) -> Response:
    """Return the table that `write` makes of a file, as a download.

    ProblemError 404 for another kind than "csv" and "parquet".

    write: called with the session or race file and the path to write to.
    """
    media_types = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
    if kind not in media_types:
        raise ProblemError(
            404,
            "not-found",
            f"export: expected csv or parquet, got {kind!r:.100}; change the path.",
        )
    return await _download(
        f"{hosted.name}.{kind}",
        media_types[kind],
        lambda path: hosted.read(write, hosted.file, path),
    )


async def backup(request: CheckedRequest) -> Any:
    """Return a copy of a session or race file, made by SQLite while it is in use."""
    source = request.file.path
    return await _download(
        source.name,
        "application/vnd.sqlite3",
        lambda path: asyncio.to_thread(_copy_database, source, path),
    )


async def _download(
    name: str, media_type: str, write: Callable[[Path], Awaitable[Any]]
) -> Response:
    """Return what `write` puts into a temporary file; it is removed after the reply."""
    with tempfile.NamedTemporaryFile(
        prefix="tombola-", suffix=Path(name).suffix, delete=False
    ) as handle:
        path = Path(handle.name)
    try:
        await write(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileResponse(
        path,
        media_type=media_type,
        filename=name,
        background=BackgroundTask(path.unlink, True),  # noqa: FBT003
    )


def _copy_database(source: Path, target: Path) -> None:
    address = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(address, uri=True, timeout=60)) as reader,
            closing(sqlite3.connect(target)) as writer,
        ):
            reader.backup(writer)
    except (sqlite3.Error, OSError) as error:
        raise FileError(
            f"backup: expected to copy {source.name}, got {type(error).__name__}; try again."
        ) from None


async def events(request: CheckedRequest) -> Any:
    """Stream the counts of a session as server-sent events, one at each change.

    Counts: rows, and tickets issued, answered, pending and cancelled.
    """
    return event_reply(request, request.session, _session_counts)


def event_reply(
    request: CheckedRequest, hosted: HostedFile[Any], counts: Callable[[Any], dict[str, Any]]
) -> Response:
    """Return a stream of a file's counts: one server-sent event (JSON) per change.

    ProblemError 503 if 200 streams are open already.
    """
    service = request.service
    if service.streams >= _MAX_STREAMS:
        detail = (
            f"events: expected at most {_MAX_STREAMS} open streams, got one more; poll the "
            "status instead."
        )
        raise ProblemError(503, "unavailable", detail, {"Retry-After": "5"})

    async def stream() -> AsyncIterator[str]:
        service.streams += 1
        try:
            last = ""
            while True:
                changes = hosted.changes
                text = json.dumps(await hosted.read_cached("counts", lambda: counts(hosted.file)))
                if text != last:
                    yield f"event: counts\ndata: {text}\n\n"
                    last = text
                await asyncio.sleep(_EVENT_PAUSE)
                # A change during the pause is sent at once.
                if changes == hosted.changes and not await hosted.next_change(_KEEP_ALIVE):
                    yield ": idle\n\n"
        finally:
            service.streams -= 1

    return StreamingResponse(stream(), media_type="text/event-stream")


def _session_counts(file: SessionFile) -> dict[str, int]:
    """Return the numbers of rows, and of tickets by state."""
    view = file.view()
    counts = {
        "rows": view.horizon,
        "issued": view.round,
        "answered": view.answered,
        "cancelled": len(view.cancelled),
    }
    return counts | {"pending": view.round - view.answered - len(view.cancelled)}


async def pause(request: CheckedRequest) -> Any:
    """Pause a session or race, or resume it.

    While it is paused, nothing is issued or recorded: 423. A pause ends with the server. Body:
        paused (true or false).
    Reply: name and paused.
    """
    hosted = request.file
    hosted.pause(paused=request.fields["paused"])
    return {"name": hosted.name, "paused": hosted.paused}


async def list_tokens(request: CheckedRequest) -> Any:
    """Return the names and roles of all owners of tokens, without the tokens."""
    return {"tokens": [found._asdict() for found in request.service.tokens.owners()]}


async def add_token(request: CheckedRequest) -> Any:
    """Create a token for a name and a role; it is shown only in this reply.

    Body: name and role ("reader", "worker" or "admin"). Reply: name, role and token, with status
        201.
    """
    return {
        **request.fields,
        "token": await asyncio.to_thread(request.service.tokens.add, **request.fields),
    }


async def remove_token(request: CheckedRequest) -> Any:
    """Remove the token of the owner named in the path; 404 if there is none."""
    name = request.http.path_params["owner"]
    if not await asyncio.to_thread(request.service.tokens.remove, name):
        raise ProblemError(
            404,
            "not-found",
            f"token: expected the name of a token, got {name!r:.100}; list them first.",
        )
    return {"name": name, "removed": True}
