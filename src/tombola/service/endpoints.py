"""The JSON API under /v1: lists, tokens, health.

A handler gets a request whose role and body were checked, and returns plain data, sent as JSON, or
a reply of its own. Its docstring is the description of the operation in the OpenAPI document.
"""

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tombola import __version__
from tombola.errors import FileError
from tombola.service.parsing import CheckedRequest
from tombola.service.problems import ProblemError
from tombola.worklists.work_file import Assignment, Outcome, WorkFile
from tombola.worklists.write_ahead import FORMAT

if TYPE_CHECKING:
    from tombola.service.app import Service

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
    """Return status "ready" and the number of lists; 503 if one cannot be read."""
    lists = request.service.lists.values()
    for hosted in lists:
        await hosted.read(hosted.file.check)
    return {"status": "ready", "files": len(lists)}


async def overview(request: CheckedRequest) -> Any:
    """Return name and role of the caller, and the lists with their settings."""
    lists = [
        {"name": hosted.name, **hosted.file.describe().to_json(), "paused": hosted.paused}
        for hosted in request.service.lists.values()
    ]
    return {"you": request.identity._asdict(), "lists": lists}


async def openapi(request: CheckedRequest) -> Any:
    """Return the OpenAPI document of this API."""
    return request.service.document


async def next_tickets(request: CheckedRequest) -> Any:
    """Issue tickets; the same Idempotency-Key gives the same tickets.

    A ticket is a row of the list with the action to try, or in a race the candidate. Body: count
    (default: 1, in a race all that the next row needs) and reissue_after, both optional. Tickets
    without an outcome that were issued at least reissue_after seconds ago are offered first. Reply:
    tickets, each with ticket (number), id, action, probability, since, run (which call of the
    candidate on the row: a race on random answers calls afresh) and columns (cells of its row),
    key, and done: whether no further ticket will be issued. No tickets and not done: the race waits
    for answers.
    """
    key = request.key
    file = request.list.file

    def issue() -> dict[str, Any]:
        with file.writing():
            tickets = file.lease(key, worker=request.identity.name, **request.fields)
            return {"tickets": _tickets_json(file, tickets), "key": key, "done": file.done}

    return await request.list.write(issue)


def _tickets_json(file: WorkFile[Any], tickets: list[Assignment]) -> list[dict[str, Any]]:
    """Return tickets as plain data, each with the filled cells of its row by column."""
    return [
        {**ticket.to_json(), "columns": cells_of(file, row)}
        for ticket, row in zip(tickets, file.rows_of(tickets), strict=True)
    ]


def cells_of(file: WorkFile[Any], row: tuple[str, ...]) -> dict[str, str]:
    """Return the cells of a row of `rows_of` by column; no id, no blanks."""
    return {
        name: cell
        for name, cell in zip(file.columns, row, strict=True)
        if cell and name != file.id_column
    }


async def record(request: CheckedRequest) -> Any:
    """Record outcomes of tickets, all or none.

    Body: outcomes, a list of objects with ticket, loss or reward, and cost; in a race failed
    instead of a loss. The same outcome again is ignored, a different one is a conflict (409).
    Reply: recorded and known, the numbers of new and repeated outcomes, and done.
    """
    file = request.list.file
    outcomes = [Outcome(**fields) for fields in request.fields["outcomes"]]

    def store() -> dict[str, Any]:
        with file.writing():
            new = file.record_all(outcomes)
            return {"recorded": new, "known": len(outcomes) - new, "done": file.done}

    return await request.list.write(store)


async def amend(request: CheckedRequest) -> Any:
    """Replace a wrong outcome of a ticket of a session.

    Body: ticket, and the right loss or reward. Reply: ticket, and loss_before, the old loss, or the
    list of old losses with full feedback.
    """
    file = request.list.file
    before = await request.list.write(lambda: file.amend(**request.fields))
    return {"ticket": request.fields["ticket"], "loss_before": before}


async def cancel(request: CheckedRequest) -> Any:
    """Cancel a ticket of a session that will never be answered.

    Body: ticket. Reply: ticket, and new, which is false if it was cancelled before.
    """
    ticket = request.fields["ticket"]
    return {"ticket": ticket, "new": await request.list.write(request.list.file.cancel, ticket)}


async def status(request: CheckedRequest) -> Any:
    """Return progress, pending tickets and estimates of a session, or the answer of a race.

    Reply: the fields of `Status.to_json` or `RaceReport.to_json`, kind ("session" or "race"),
    pending (tickets), done, summary (a line), and paused, which is true while the list is paused.
    Of a race also active (candidates left) and leader.
    """
    hosted = request.list
    return {**await hosted.read_cached("status", hosted.file.to_json), "paused": hosted.paused}


async def ticket(request: CheckedRequest) -> Any:
    """Return the ticket numbered in the path: row id, action, probability, cells."""
    file = request.list.file
    number = request.ticket

    def find() -> dict[str, Any]:
        with file.reading():
            return _tickets_json(file, [file.assignment(number)])[0]

    return await request.list.read(find)


async def export_table(request: CheckedRequest) -> Any:
    """Return all tickets and outcomes as a CSV or Parquet file.

    The end of the path states which.
    """
    media_types = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
    hosted = request.list
    kind = request.http.path_params["kind"]
    if kind not in media_types:
        raise ProblemError(
            404,
            "not-found",
            f"export: expected csv or parquet, got {kind!r:.100}; change the path.",
        )
    return await _download(f"{hosted.name}.{kind}", media_types[kind], hosted.export)


async def backup(request: CheckedRequest) -> Any:
    """Return a copy of a session or race file, made by SQLite while it is in use."""
    source = request.list.path
    return await _download(
        source.name,
        "application/vnd.sqlite3",
        lambda path: asyncio.to_thread(_copy_database, source, path),
    )


async def _download(
    name: str, media_type: str, write: Callable[[Path], Awaitable[Any]]
) -> Response:
    """Return what `write` puts into a temporary file; it is removed after the reply."""
    try:
        with tempfile.NamedTemporaryFile(
            prefix="tombola-", suffix=Path(name).suffix, delete=False
        ) as handle:
            path = Path(handle.name)
    except OSError as error:
        raise FileError(
            f"download: expected room for a temporary file, got {error.strerror}; free some space "
            "on the server."
        ) from None
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
            # The copy has no write-ahead log: it is at rest.
            writer.execute(f"PRAGMA user_version = {FORMAT}")
            writer.execute("PRAGMA journal_mode = DELETE").fetchall()
    except (sqlite3.Error, OSError) as error:
        raise FileError(
            f"backup: expected to copy {source.name}, got {type(error).__name__}; try again."
        ) from None


async def events(request: CheckedRequest) -> Any:
    """Stream the counts of a list as server-sent events, one at each change.

    Counts: rows, and tickets issued, answered and pending, done; of a session also cancelled, of a
    race rows_counted (rows that it has used), left (pairs of a row and a candidate neither
    evaluated nor known before) and active (number of candidates left). 503 if 200 streams are open.
    """
    service = request.service
    hosted = request.list
    if service.streams >= _MAX_STREAMS:
        detail = (
            f"events: expected at most {_MAX_STREAMS} open streams, got one more; poll the "
            "status instead."
        )
        raise ProblemError(503, "unavailable", detail, {"Retry-After": "5"})

    async def stream() -> AsyncIterator[str]:
        last = ""
        while True:
            # A stream ends with the token that opened it.
            try:
                service.identify(request.http)
            except ProblemError:
                return
            changes = hosted.changes
            text = json.dumps(await hosted.read_cached("counts", hosted.file.counts))
            if text != last:
                yield f"event: counts\ndata: {text}\n\n"
                last = text
            await asyncio.sleep(_EVENT_PAUSE)
            # A change during the pause is sent at once.
            if changes == hosted.changes and not await hosted.next_change(_KEEP_ALIVE):
                yield ": idle\n\n"

    # Counted here, not when the first byte is sent: a burst of requests must not pass the limit.
    service.streams += 1
    return _EventStream(service, stream())


class _EventStream(StreamingResponse):
    """Server-sent events; the end of the reply releases its place."""

    def __init__(self, service: "Service", events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.streams -= 1


async def pause(request: CheckedRequest) -> Any:
    """Pause a session or race, or resume it.

    While it is paused, nothing is issued or recorded: 423. A pause ends with the server. Body:
        paused (true or false).
    Reply: name and paused.
    """
    hosted = request.list
    hosted.pause(paused=request.fields["paused"])
    return {"name": hosted.name, "paused": hosted.paused}


async def list_tokens(request: CheckedRequest) -> Any:
    """Return the names and roles of all owners of tokens, without the tokens."""
    return {"tokens": [owner._asdict() for owner in request.service.tokens.owners()]}


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
