"""The OpenAPI document of the JSON API.

It is built from the table of operations and the schemas below.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from tombola import __version__
from tombola.service.parsing import MAX_COUNT, MAX_OUTCOMES, MAX_SECONDS, MAX_TEXT_LENGTH, MAX_TICKET
from tombola.service.problems import MEDIA_TYPE, TITLES
from tombola.service.tokens import MAX_NAME_LENGTH, ROLES

# A JSON schema, as plain data.
Schema = dict[str, Any]


class Operation(NamedTuple):
    """One operation of the JSON API: a method of a path, its handler and its schemas.

    - `path`: may have parameters in braces, such as /v1/sessions/{name}/next.
    - `role`: the least role that may call it: "reader", "worker" or "admin"; None: public.
    - `handler`: called with the service, the request and the identity of the caller. Its docstring is the description.
    - `reply`: the schema of the JSON reply, or the media types of another one.
    - `body`: the schema of the JSON body; None: no body.
    - `status`: the HTTP status of a successful reply.
    - `takes_key`: whether the header Idempotency-Key is read.
    """

    method: str
    path: str
    role: str | None
    handler: Callable[..., Awaitable[Any]]
    reply: Schema | tuple[str, ...]
    body: Schema | None = None
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
            "description": "Tickets of sessions and calls of races. Requests may be repeated: the same Idempotency-Key "
            "gives the same tickets, and the same outcome twice is ignored.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    text = inspect.cleandoc(operation.handler.__doc__ or "")
    module = operation.handler.__module__.rpartition(".")[2]
    found: dict[str, Any] = {
        "operationId": f"{module}.{operation.handler.__name__}",
        "summary": text.partition("\n")[0],
        "responses": {str(operation.status): _reply(operation.reply), "default": PROBLEM_REPLY},
    }
    if "\n" in text:
        found["description"] = text
    if operation.role is not None:
        found["security"] = [{"token": []}]
        found["x-role"] = operation.role
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    if operation.takes_key:
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": KEY})
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body}}}
    return found


def _reply(reply: Schema | tuple[str, ...]) -> dict[str, Any]:
    if isinstance(reply, tuple):
        return {"description": "Content", "content": {media: {} for media in reply}}
    return {"description": "Success", "content": {"application/json": {"schema": reply}}}


def _object(required: Schema, optional: Schema | None = None, *, closed: bool = True) -> Schema:
    """Return the schema of an object.

    Replies are open, so that fields may be added in a later version.
    """
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        **({"additionalProperties": False} if closed else {}),
    }


def _reply_object(**fields: Schema) -> Schema:
    return _object(fields, closed=False)


def _list(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


# Schemas of single values.
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
LOSS: Schema = {"type": "number", "minimum": 0, "maximum": 1}
# Number of a ticket.
TICKET: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_TICKET}
# Idempotency key: printable characters of ASCII. The service accepts all printable ones.
KEY: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_LENGTH, "pattern": "^[!-~]+$"}
# Owner of a new token.
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH, "pattern": "^[A-Za-z0-9_.-]+$"}
# Parameter of a path -> its schema.
PATH_PARAMETERS: dict[str, Schema] = {
    "name": {"type": "string", "minLength": 1},
    "ticket": TICKET,
    "kind": {"enum": ["csv", "parquet"]},
    "owner": NAME,
}
# Losses or rewards of a ticket: one number, or one per action with full feedback.
LOSSES: Schema = {"anyOf": [LOSS, _list(LOSS, minItems=1)]}
# Costs of a ticket: one number, or one for each resource of the budget.
COSTS: Schema = {"anyOf": [{"type": "number", "minimum": 0}, _list({"type": "number", "minimum": 0}, minItems=1)]}

# Body of an error reply (RFC 9457), and the reply itself, which all operations have in common.
PROBLEM = _reply_object(type=TEXT, title=TEXT, status={"type": "integer"}, detail=TEXT)
PROBLEM_REPLY: Schema = {
    "description": f"Problem ({', '.join(f'{status} {title.lower()}' for status, title in TITLES.items())})",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

# Bodies and replies of sessions. A lease issues tickets to a worker.
LEASE_BODY = _object(
    {},
    {
        "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
        "reissue_after": {"type": "number", "minimum": 0, "maximum": MAX_SECONDS},
    },
)
ASSIGNMENT = _reply_object(
    ticket=TICKET, id=TEXT, action=TEXT, probability=_nullable(NUMBER), columns={"type": "object"}
)
TICKETS = _reply_object(tickets=_list(ASSIGNMENT), key=TEXT)
OUTCOME = _object({"ticket": TICKET}, {"loss": LOSSES, "reward": LOSSES, "cost": COSTS})
OUTCOMES_BODY = _object({"outcomes": _list(OUTCOME, minItems=1, maxItems=MAX_OUTCOMES)})
RECORDED = _reply_object(recorded=COUNT, known=COUNT)
AMEND_BODY = _object({"ticket": TICKET}, {"loss": LOSSES, "reward": LOSSES})
AMENDED = _reply_object(ticket=TICKET, loss_before=LOSSES)
TICKET_BODY = _object({"ticket": TICKET})
CANCELLED = _reply_object(ticket=TICKET, new=BOOLEAN)
ACTION = _reply_object(name=TEXT, plays=COUNT, known=COUNT, mean=_nullable(NUMBER), low=NUMBER, high=NUMBER)
SESSION_STATUS = _reply_object(
    rows=COUNT,
    played=COUNT,
    answered=COUNT,
    cancelled=COUNT,
    amended=COUNT,
    loss=NUMBER,
    actions=_list(ACTION),
    pending=_list(_reply_object(ticket=TICKET, id=TEXT, action=TEXT, probability=_nullable(NUMBER))),
    best=TEXT,
    paused=BOOLEAN,
)
RANKING = _reply_object(actions=_list(ACTION), best=TEXT, within=_nullable(NUMBER), level=NUMBER, estimate=TEXT)

# Bodies and replies of races.
CALL = _reply_object(ticket=TICKET, candidate=TEXT, row=TEXT, row_index=COUNT)
CALLS = _reply_object(calls=_list(CALL), key=TEXT, done=BOOLEAN)
ANSWER = _object({"ticket": TICKET}, {"loss": LOSS, "cost": {"type": "number", "minimum": 0}, "failed": BOOLEAN})
ANSWERS_BODY = _object({"answers": _list(ANSWER, minItems=1, maxItems=MAX_OUTCOMES)})
ANSWERED = _reply_object(recorded=COUNT, known=COUNT, done=BOOLEAN)
VERDICT_FIELDS: Schema = {
    "verdict": TEXT,
    "progress": TEXT,
    "proved": _nullable(BOOLEAN),
    "answer": _list(TEXT),
    "done": BOOLEAN,
    "active": _list(TEXT),
    "leader": _nullable(TEXT),
    "calls": COUNT,
    "calls_saved": COUNT,
}
VERDICT = _reply_object(**VERDICT_FIELDS)
STANDING = _reply_object(name=TEXT, mean_loss=_nullable(NUMBER), rows=COUNT, active=BOOLEAN)
RACE_STATUS = _reply_object(
    **VERDICT_FIELDS,
    candidates=_list(STANDING),
    pending=_list(CALL),
    rows=COUNT,
    rows_counted=COUNT,
    failures=COUNT,
    cost=NUMBER,
    paused=BOOLEAN,
)

# Replies and bodies of the server as a whole: overview, pauses, tokens.
IDENTITY = _reply_object(name=TEXT, role={"enum": list(ROLES)})
HEALTH = _reply_object(status=TEXT, version=TEXT)
READY = _reply_object(status=TEXT, files=COUNT)
OVERVIEW = _reply_object(
    you=IDENTITY,
    sessions=_list(_reply_object(name=TEXT, rows=COUNT, actions=_list(TEXT), learner=TEXT, paused=BOOLEAN)),
    races=_list(_reply_object(name=TEXT, rows=COUNT, candidates=_list(TEXT), paused=BOOLEAN)),
)
PAUSE_BODY = _object({"paused": BOOLEAN})
PAUSED = _reply_object(name=TEXT, paused=BOOLEAN)
TOKENS = _reply_object(tokens=_list(IDENTITY))
TOKEN_BODY = _object({"name": NAME, "role": {"enum": list(ROLES)}})
NEW_TOKEN = _reply_object(name=TEXT, role=TEXT, token=TEXT)
REMOVED = _reply_object(name=TEXT, removed=BOOLEAN)
# Media types of replies that are not JSON.
TABLE = ("text/csv", "application/vnd.apache.parquet")
STREAM = ("text/event-stream",)
DATABASE = ("application/vnd.sqlite3",)
