"""The operations of the JSON API (`API`), and the OpenAPI document of them."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from tombola import __version__
from tombola.service import endpoints
from tombola.service.parsing import MAX_KEY_LENGTH, MAX_NUMBER
from tombola.service.problems import MEDIA_TYPE, TITLES
from tombola.service.tokens import MAX_NAME_LENGTH, ROLES

# A JSON schema, as plain data.
_Schema = dict[str, Any]
# Largest number of tickets in one reply: bounds the time for which a request holds the
# writer thread.
_MAX_COUNT = 1000
# Largest number of outcomes in one request, for the same reason.
_MAX_OUTCOMES = 10_000
# Largest reissue_after, in seconds: one year. It exceeds every real wait, and rejects infinite
# numbers.
_MAX_SECONDS = 366 * 86_400.0


class Operation(NamedTuple):
    """One operation of the JSON API: a method of a path, its handler and its schemas.

    path: may have parameters in braces, such as /v1/lists/{name}/next.
    role: the least role that may call it: "reader", "worker" or "admin"; None: public.
    handler: called with a `CheckedRequest`. Its docstring is the description.
    reply, body: JSON schemas, or the media types of another reply; None: no body. The body is
        checked by its schema.
    status: HTTP status of the reply if there is no error.
    takes_key: whether the header Idempotency-Key is read.
    """

    method: str
    path: str
    role: str | None
    handler: Callable[..., Awaitable[Any]]
    reply: _Schema | tuple[str, ...]
    body: _Schema | None = None
    status: int = 200
    takes_key: bool = False


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of these operations, as plain data."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tombola serve",
            "version": __version__,
            "description": "Tickets of sessions and races. Requests may be repeated: "
            "the same Idempotency-Key "
            "gives the same tickets, and the same outcome twice is ignored.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    text = inspect.cleandoc(operation.handler.__doc__ or "")
    entry: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "summary": text.partition("\n")[0],
        "responses": {str(operation.status): _reply(operation.reply), "default": _PROBLEM_REPLY},
    }
    if "\n" in text:
        entry["description"] = text
    if operation.role is not None:
        entry["security"] = [{"token": []}]
        entry["x-role"] = operation.role
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    if operation.takes_key:
        parameters.append(
            {"name": "Idempotency-Key", "in": "header", "required": False, "schema": _KEY}
        )
    if parameters:
        entry["parameters"] = parameters
    if operation.body is not None:
        entry["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": operation.body}},
        }
    return entry


def _reply(reply: _Schema | tuple[str, ...]) -> dict[str, Any]:
    if isinstance(reply, tuple):
        return {"description": "Content", "content": {media: {} for media in reply}}
    return {"description": "Success", "content": {"application/json": {"schema": reply}}}


def _body(required: _Schema, **optional: _Schema) -> _Schema:
    """Return the schema of an object in a request: it has no other fields."""
    return {
        **_object(**required, **optional),
        "required": list(required),
        "additionalProperties": False,
    }


def _object(**fields: _Schema) -> _Schema:
    """Return the schema of an object in a reply; it is open, so that fields may be added."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(items: _Schema, **limits: int) -> _Schema:
    return {"type": "array", "items": items, **limits}


def _nullable(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


# Schemas of single values.
_TEXT: _Schema = {"type": "string"}
_BOOLEAN: _Schema = {"type": "boolean"}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_NUMBER: _Schema = {"type": "number"}
# Schema of one loss or reward.
_LOSS: _Schema = {"type": "number", "minimum": 0, "maximum": 1}
_TICKET: _Schema = {"type": "integer", "minimum": 1, "maximum": MAX_NUMBER}
# Idempotency key: printable characters of ASCII. The service accepts all printable ones.
_KEY: _Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_LENGTH,
    "pattern": "^[!-~]+$",
}
# Name of the owner of a token: the rule of TokenStore.add, which rejects unprintable characters
# too.
_NAME: _Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_LENGTH,
    "pattern": r"^[^\s/]([^/]*[^\s/])?$",
}
_PATH_PARAMETERS: dict[str, _Schema] = {
    "name": {"type": "string", "minLength": 1},
    "ticket": _TICKET,
    "kind": {"enum": ["csv", "parquet"]},
    "owner": _NAME,
}
# Losses or rewards of a ticket: one number, or one per action with full feedback.
_LOSSES: _Schema = {"anyOf": [_LOSS, _list(_LOSS, minItems=1)]}
# Costs of a ticket: one number, or a list with several resources or full feedback.
_COSTS: _Schema = {
    "anyOf": [{"type": "number", "minimum": 0}, _list({"type": "number", "minimum": 0}, minItems=1)]
}

_PROBLEM = _object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT)
# Error reply, which all operations have in common (RFC 9457).
_PROBLEM_REPLY: _Schema = {
    "description": f"Problem ({', '.join(f'{status} {title.lower()}' for status, title in TITLES.items())})",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

# Request for tickets: how many, and after how many seconds unanswered ones are offered
# again.
_LEASE_BODY = _body(
    {},
    count={"type": "integer", "minimum": 1, "maximum": _MAX_COUNT},
    reissue_after={"type": "number", "minimum": 0, "maximum": _MAX_SECONDS},
)
# A ticket: row id, action (or candidate) and its probability, Unix time of its issue, and the
# number of the call of the candidate on the row.
_TICKET_FIELDS = {
    "ticket": _TICKET,
    "id": _TEXT,
    "action": _TEXT,
    "probability": _nullable(_NUMBER),
    "since": _nullable(_NUMBER),
    "run": {"type": "integer", "minimum": 1},
}
# An issued ticket, with the cells of its row by column.
_ASSIGNMENT = _object(**_TICKET_FIELDS, columns={"type": "object"})
_TICKETS = _object(tickets=_list(_ASSIGNMENT), key=_TEXT, done=_BOOLEAN)
_OUTCOME = _body({"ticket": _TICKET}, loss=_LOSSES, reward=_LOSSES, cost=_COSTS, failed=_BOOLEAN)
_OUTCOMES_BODY = _body({"outcomes": _list(_OUTCOME, minItems=1, maxItems=_MAX_OUTCOMES)})
_RECORDED = _object(recorded=_COUNT, known=_COUNT, done=_BOOLEAN)
_AMEND_BODY = _body({"ticket": _TICKET}, loss=_LOSSES, reward=_LOSSES)
_AMENDED = _object(ticket=_TICKET, loss_before=_LOSSES)
_TICKET_BODY = _body({"ticket": _TICKET})
_CANCELLED = _object(ticket=_TICKET, new=_BOOLEAN)
# Fields of the status that both kinds of list have.
_STATUS_FIELDS = {
    "rows": _COUNT,
    "quantity": _TEXT,
    "pending": _list(_object(**_TICKET_FIELDS)),
    "done": _BOOLEAN,
    "summary": _TEXT,
    "paused": _BOOLEAN,
}
# What is proved: its sentence, and the verdict in one word; further fields are those of the library.
_STATEMENT = _object(text=_TEXT, short=_TEXT, verdict=_TEXT, overall=_TEXT)
# Estimate of an action: plays, known outcomes, their mean (null without any), ends of the
# confidence interval.
_ACTION = _object(
    name=_TEXT, plays=_COUNT, known=_COUNT, mean=_nullable(_NUMBER), low=_NUMBER, high=_NUMBER
)
# Status of a session. The total is in a field named by `quantity`.
_SESSION_STATUS = _object(
    kind={"enum": ["session"]},
    **_STATUS_FIELDS,
    **dict.fromkeys(("played", "answered", "cancelled", "amended"), _COUNT),
    actions=_list(_ACTION),
    best=_TEXT,
    within=_nullable(_NUMBER),
    level=_NUMBER,
    statement=_STATEMENT,
)
# A candidate of a race: mean over its rows in the unit of the race (null without any); whether it
# is in the race.
_STANDING = _object(name=_TEXT, mean=_nullable(_NUMBER), rows=_COUNT, active=_BOOLEAN)
# Status of a race; proved is null while it is undecided.
_RACE_STATUS = _object(
    kind={"enum": ["race"]},
    **_STATUS_FIELDS,
    verdict=_TEXT,
    proved=_nullable(_BOOLEAN),
    answer=_list(_TEXT),
    active=_list(_TEXT),
    leader=_nullable(_TEXT),
    candidates=_list(_STANDING),
    **dict.fromkeys(("calls", "calls_left", "rows_counted", "failures"), _COUNT),
    calls_saved=_nullable(_COUNT),
    cost=_NUMBER,
)
_STATUS: _Schema = {"anyOf": [_SESSION_STATUS, _RACE_STATUS]}

_ROLE: _Schema = {"enum": list(ROLES)}
_IDENTITY = _object(name=_TEXT, role=_ROLE)
# A list: its settings that do not change.
_DESCRIPTION = _object(
    name=_TEXT,
    kind={"enum": ["session", "race"]},
    rows=_COUNT,
    actions=_list(_TEXT),
    columns=_list(_TEXT),
    id_column=_TEXT,
    direction=_nullable({"enum": ["losses", "scores"]}),
    range=_list(_NUMBER),
    unit=_TEXT,
    paused=_BOOLEAN,
)
_OVERVIEW = _object(you=_IDENTITY, lists=_list(_DESCRIPTION))
_PAUSE_BODY = _body({"paused": _BOOLEAN})
_PAUSED = _object(name=_TEXT, paused=_BOOLEAN)
_TOKEN_BODY = _body({"name": _NAME, "role": _ROLE})
_NEW_TOKEN = _object(name=_TEXT, role=_TEXT, token=_TEXT)
# Media types of replies that are not JSON.
_TABLE = ("text/csv", "application/vnd.apache.parquet")
_STREAM = ("text/event-stream",)

_LIST = "/v1/lists/{name}"

# All operations: method, path, least role (None: public), handler, schema of the reply, and
# options. A request is compared with one path after the other, so the frequent ones come first.
API = (
    Operation(
        "POST",
        f"{_LIST}/next",
        "worker",
        endpoints.next_tickets,
        _TICKETS,
        _LEASE_BODY,
        takes_key=True,
    ),
    Operation("POST", f"{_LIST}/record", "worker", endpoints.record, _RECORDED, _OUTCOMES_BODY),
    Operation("GET", "/healthz", None, endpoints.health, _object(status=_TEXT, version=_TEXT)),
    Operation("GET", "/readyz", None, endpoints.ready, _object(status=_TEXT, files=_COUNT)),
    Operation("GET", "/openapi.json", None, endpoints.openapi, {"type": "object"}),
    Operation("GET", "/v1", "reader", endpoints.overview, _OVERVIEW),
    Operation("POST", f"{_LIST}/amend", "worker", endpoints.amend, _AMENDED, _AMEND_BODY),
    Operation("POST", f"{_LIST}/cancel", "worker", endpoints.cancel, _CANCELLED, _TICKET_BODY),
    Operation("GET", f"{_LIST}/status", "reader", endpoints.status, _STATUS),
    Operation("GET", f"{_LIST}/tickets/{{ticket}}", "reader", endpoints.ticket, _ASSIGNMENT),
    Operation("GET", f"{_LIST}/export.{{kind}}", "reader", endpoints.export_table, _TABLE),
    Operation("GET", f"{_LIST}/events", "reader", endpoints.events, _STREAM),
    Operation("GET", f"{_LIST}/backup", "admin", endpoints.backup, ("application/vnd.sqlite3",)),
    Operation("POST", f"{_LIST}/pause", "admin", endpoints.pause, _PAUSED, _PAUSE_BODY),
    Operation(
        "GET", "/v1/tokens", "admin", endpoints.list_tokens, _object(tokens=_list(_IDENTITY))
    ),
    Operation("POST", "/v1/tokens", "admin", endpoints.add_token, _NEW_TOKEN, _TOKEN_BODY, 201),
    Operation(
        "DELETE",
        "/v1/tokens/{owner}",
        "admin",
        endpoints.remove_token,
        _object(name=_TEXT, removed=_BOOLEAN),
    ),
)
