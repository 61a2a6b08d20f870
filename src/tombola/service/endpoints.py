"""The JSON API under /v1: sessions, files, tokens, health.

Every handler gets the service, the request and the identity of the caller, whose role was checked before.
"""

import asyncio
import json
import math
import secrets
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from tombola import __version__
from tombola.persistence.session_csv import export_tickets
from tombola.persistence.session_file import Assignment, SessionFile
from tombola.service import parsing
from tombola.service.hosted_file import HostedFile
from tombola.service.problems import ProblemError
from tombola.service.tokens import MAX_NAME_LENGTH, Identity

if TYPE_CHECKING:
    from tombola.service.app import Service

# Least seconds between two events of a stream: a burst of outcomes is one event.
_EVENT_PAUSE = 0.5
# Seconds without a change after which a stream sends a comment, so that proxies do not close the idle connection.
_KEEP_ALIVE = 15.0
# Largest number of open event streams: each holds a connection. Further ones are answered with status 503.
_MAX_STREAMS = 200


def json_reply(content: Any, status: int = 200) -> Response:
    """Return a JSON reply; numbers that are not finite become null."""
    return Response(json.dumps(_finite(content), allow_nan=False), status, media_type="application/json")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


async def health(service: "Service", request: Request, identity: Identity) -> Response:
    """Return status "ok" and the version of tombola; the process runs.

    Reply: status and version.
    """
    return json_reply({"status": "ok", "version": __version__})


async def ready(service: "Service", request: Request, identity: Identity) -> Response:
    """Return status "ready" and the number of files; 503 if one cannot be read.

    Reply: status and files.
    """
    for hosted in service.files():
        await hosted.read(lambda file: file.path.stat().st_size, hosted.file)
    return json_reply({"status": "ready", "files": len(service.files())})


async def overview(service: "Service", request: Request, identity: Identity) -> Response:
    """Return name and role of the caller, and the sessions and races with settings.

    Reply: a JSON object with the keys you (name and role of the caller), sessions (each with name, rows, actions,
    learner and further settings) and races (each with name, rows, candidates and evaluator).
    """
    sessions = []
    for name, hosted in service.sessions.items():
        file, model = hosted.file, hosted.file.feedback_model
        found = {"name": name, "rows": file.horizon, "actions": list(file.names), "learner": repr(file.learner)}
        found |= {"full_feedback": bool(model.full_feedback), "n_listed_actions": int(model.n_listed_actions)}
        found |= {"columns": list(file.columns), "id_column": file.id_column, "delimiter": file.delimiter}
        found |= {"direction": file.kind, "range": list(file.range), "paused": hosted.paused}
        sessions.append(found | {"budget": None if file.budget is None else file.budget.to_json()})
    races = [
        {
            "name": name,
            "rows": len(hosted.file.rows),
            "candidates": list(hosted.file.settings.candidates),
            "evaluator": hosted.file.evaluator_config or None,
            "paused": hosted.paused,
        }
        for name, hosted in service.races.items()
    ]
    return json_reply({"you": identity._asdict(), "sessions": sessions, "races": races})


async def openapi(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the OpenAPI document of this API.

    Reply: a JSON object.
    """
    return json_reply(service.document)


async def next_tickets(service: "Service", request: Request, identity: Identity) -> Response:
    """Issue tickets; the same Idempotency-Key gives the same tickets.

    A ticket is a row of the list with the action to play. Body: count (default 1) and reissue_after, both optional.
    Tickets without an outcome that were issued at least reissue_after seconds ago are offered first. Reply: tickets,
    each with ticket (number), id, action, probability and columns (cells of its row), and key.
    """
    hosted = service.session(request)
    count, reissue_after, key = await read_issue_request(request, default=1)

    def issue() -> list[dict[str, Any]]:
        file = hosted.file
        return _tickets_json(file, file.lease(key, count or 1, worker=identity.name, reissue_after=reissue_after))

    return json_reply({"tickets": await hosted.write(issue), "key": key})


async def read_issue_request(request: Request, default: int | None) -> tuple[int | None, float | None, str]:
    """Return count, reissue_after (seconds or None) and key of an issue request.

    Without the header Idempotency-Key the key is random. ProblemError 422 if one is invalid.
    """
    fields = await parsing.read_json(request, optional=["count", "reissue_after"])
    count = None if "count" not in fields else parsing.parse_integer("count", fields["count"], 1, parsing.MAX_COUNT)
    reissue = fields.get("reissue_after")
    reissue_after = None if reissue is None else parsing.parse_seconds("reissue_after", reissue)
    key = request.headers.get("idempotency-key")
    # A request without a key cannot be repeated; it still needs a lease that names the worker.
    key = secrets.token_urlsafe(12) if key is None else parsing.parse_text("Idempotency-Key", key)
    return default if count is None else count, reissue_after, key


def _tickets_json(file: SessionFile, tickets: list[Assignment]) -> list[dict[str, Any]]:
    """Return tickets as plain data, each with the filled cells of its row by column."""
    return [
        {**ticket.to_json(), "columns": cells_of(file, row)}
        for ticket, row in zip(tickets, file.rows_of(tickets), strict=True)
    ]


def cells_of(file: SessionFile, row: tuple[str, ...]) -> dict[str, str]:
    """Return the cells of a row of `SessionFile.rows_of` by column; no id, no blanks."""
    return {name: cell for name, cell in zip(file.columns, row, strict=True) if cell and name != file.id_column}


async def record(service: "Service", request: Request, identity: Identity) -> Response:
    """Record outcomes of tickets, all or none.

    Body: outcomes, a list of objects with ticket, loss or reward, and cost. The same outcome again is ignored, a
    different one is a conflict (409). Reply: recorded and known, the numbers of new and repeated outcomes.
    """
    hosted = service.session(request)
    fields = await parsing.read_json(request, required=["outcomes"])
    outcomes = parsing.parse_outcomes(fields["outcomes"])
    new = await hosted.write(hosted.file.record_all, outcomes)
    return json_reply({"recorded": new, "known": len(outcomes) - new})


async def amend(service: "Service", request: Request, identity: Identity) -> Response:
    """Replace a wrong outcome of a ticket.

    Body: ticket, and the right loss or reward. Reply: ticket, and loss_before, the old loss, or the list of old losses
    with full feedback.
    """
    hosted = service.session(request)
    fields = await parsing.read_json(request, required=["ticket"], optional=["loss", "reward"])
    given = parsing.parse_outcome(fields)
    before = await hosted.write(lambda: hosted.file.amend(given.round, loss=given.loss, reward=given.reward))
    return json_reply({"ticket": given.round, "loss_before": before})


async def cancel(service: "Service", request: Request, identity: Identity) -> Response:
    """Cancel a ticket that will never be answered.

    Body: ticket. Reply: ticket, and new, which is false if it was cancelled before.
    """
    hosted = service.session(request)
    fields = await parsing.read_json(request, required=["ticket"])
    ticket = parsing.parse_integer("ticket", fields["ticket"], 1, parsing.MAX_TICKET)
    return json_reply({"ticket": ticket, "new": await hosted.write(hosted.file.cancel, ticket)})


async def status(service: "Service", request: Request, identity: Identity) -> Response:
    """Return progress, pending tickets and estimates of a session.

    Reply: the fields of `Status.to_json`, and paused, which is true while the session is paused.
    """
    hosted = service.session(request)
    now = await hosted.read_cached("status", hosted.file.status)
    times = await hosted.read(hosted.file.lease_times)
    found = now.to_json()
    pending = [{**one, "since": times.get(one["ticket"])} for one in found["pending"]]
    return json_reply({**found, "pending": pending, "paused": hosted.paused})


async def ranking(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the actions by mean loss, the best first, with confidence intervals.

    Actions without an outcome come last. Reply: actions (each with name, plays, known, the number of known losses,
    mean, and low and high, the ends of the interval), best (name), within (bound on its distance from the best
    mean), level (error probability) and estimate (a sentence).
    """
    hosted = service.session(request)
    now = await hosted.read_cached("status", hosted.file.status)
    means = {action.name: action.mean if action.known else math.inf for action in now.actions}
    found = now.to_json()
    actions = sorted(found["actions"], key=lambda action: means[action["name"]])
    return json_reply({"actions": actions} | {name: found[name] for name in ("best", "within", "level", "estimate")})


async def ticket(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the ticket numbered in the path: row id, action, probability, cells.

    Reply: ticket (number), id, action, probability and columns (cells of its row by column).
    """
    hosted = service.session(request)
    try:
        number = int(request.path_params["ticket"])
    except ValueError:
        number = 0
    number = parsing.parse_integer("ticket", number, 1, parsing.MAX_TICKET)

    def find() -> dict[str, Any]:
        return _tickets_json(hosted.file, [hosted.file.assignment(number)])[0]

    return json_reply(await hosted.read(find))


async def export_table(service: "Service", request: Request, identity: Identity) -> Response:
    """Return all tickets and outcomes of a session as a CSV or Parquet file.

    The end of the path states which. Reply: the file as a download.
    """
    return await table_reply(service.session(request), request.path_params["kind"], export_tickets)


async def table_reply(hosted: HostedFile[Any], kind: str, write: Callable[[Any, Path], int]) -> Response:
    """Return the table that `write` makes of a file, as a download.

    ProblemError 404 for another kind than "csv" and "parquet".

    write: called with the session or race file and the path to write to.
    """
    if kind not in ("csv", "parquet"):
        raise ProblemError(404, "not-found", f"export: expected csv or parquet, got {kind!r:.100}; change the path.")
    path = _temporary_path(f".{kind}")
    try:
        await hosted.read(write, hosted.file, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    media_type = "text/csv; charset=utf-8" if kind == "csv" else "application/vnd.apache.parquet"
    return _attachment(path, f"{hosted.name}.{kind}", media_type)


async def backup(service: "Service", request: Request, identity: Identity) -> Response:
    """Return a copy of a session or race file, made by SQLite while it is in use.

    Reply: the SQLite file as a download.
    """
    hosted = service.file_at(request)
    path = _temporary_path(".backup")
    try:
        await asyncio.to_thread(_copy_database, hosted.path, path)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error | OSError):
            detail = f"backup: expected to copy {hosted.path.name}, got {type(error).__name__}; try again."
            raise ProblemError(503, "unavailable", detail, {"Retry-After": "1"}) from None
        raise
    return _attachment(path, hosted.path.name, "application/vnd.sqlite3")


async def events(service: "Service", request: Request, identity: Identity) -> Response:
    """Stream the counts of a session as server-sent events, one at each change.

    Counts: rows, and tickets issued, answered, pending and cancelled.
    """
    return event_reply(service, service.session(request), _session_counts)


def event_reply(service: "Service", hosted: HostedFile[Any], counts: Callable[[Any], dict[str, Any]]) -> Response:
    """Return a stream of a file's counts: one server-sent event (JSON) per change.

    ProblemError 503 if 200 streams are open already.
    """
    if service.streams >= _MAX_STREAMS:
        detail = f"events: expected at most {_MAX_STREAMS} open streams, got one more; poll the status instead."
        raise ProblemError(503, "unavailable", detail, {"Retry-After": "5"})
    return StreamingResponse(_event_stream(service, hosted, counts), media_type="text/event-stream")


async def _event_stream(
    service: "Service", hosted: HostedFile[Any], counts: Callable[[Any], dict[str, Any]]
) -> AsyncIterator[str]:
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


def _session_counts(file: SessionFile) -> dict[str, int]:
    """Return the numbers of rows, and of tickets by state."""
    view = file.view()
    answered, cancelled = view.answered, len(view.cancelled)
    pending = view.round - answered - cancelled
    return {
        "rows": view.horizon,
        "issued": view.round,
        "answered": answered,
        "pending": pending,
        "cancelled": cancelled,
    }


async def pause(service: "Service", request: Request, identity: Identity) -> Response:
    """Pause a session or race, or resume it.

    While it is paused, nothing is issued or recorded: 423. A pause ends with the server. Body: paused (true or false).
    Reply: name and paused.
    """
    hosted = service.file_at(request)
    fields = await parsing.read_json(request, required=["paused"])
    if type(fields["paused"]) is not bool:
        raise parsing.invalid_value("paused", "true or false", f"{fields['paused']!r:.100}", "change it")
    hosted.pause(paused=fields["paused"])
    return json_reply({"name": hosted.name, "paused": hosted.paused})


async def list_tokens(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the names and roles of all owners of tokens, without the tokens.

    Reply: tokens, a list of objects with name and role.
    """
    return json_reply({"tokens": [found._asdict() for found in service.tokens.owners()]})


async def add_token(service: "Service", request: Request, identity: Identity) -> Response:
    """Create a token for a name and a role; it is shown only in this reply.

    Body: name and role ("reader", "worker" or "admin"). Reply: name, role and token, with status 201.
    """
    fields = await parsing.read_json(request, required=["name", "role"])
    name = parsing.parse_text("name", fields["name"], MAX_NAME_LENGTH)
    role = parsing.parse_text("role", fields["role"])
    token = await service.call(service.tokens.add, name, role)
    return json_reply({"name": name, "role": role, "token": token}, 201)


async def remove_token(service: "Service", request: Request, identity: Identity) -> Response:
    """Remove the token of the owner named in the path; 404 if there is none.

    Reply: name, and removed, which is true.
    """
    name = parsing.parse_text("name", request.path_params["owner"], MAX_NAME_LENGTH)
    if not await service.call(service.tokens.remove, name):
        raise ProblemError(404, "not-found", f"token: expected the name of a token, got {name!r}; list them first.")
    return json_reply({"name": name, "removed": True})


def _temporary_path(suffix: str) -> Path:
    handle = tempfile.NamedTemporaryFile(prefix="tombola-", suffix=suffix, delete=False)  # noqa: SIM115 - closed below
    handle.close()
    return Path(handle.name)


def _attachment(path: Path, name: str, media_type: str) -> Response:
    return FileResponse(path, media_type=media_type, filename=name, background=BackgroundTask(path.unlink, True))  # noqa: FBT003


def _copy_database(source: Path, target: Path) -> None:
    with sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=60) as reader:
        writer = sqlite3.connect(target)
        try:
            reader.backup(writer)
        finally:
            writer.close()
    reader.close()
