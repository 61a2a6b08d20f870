"""Requests after their checks, and the parsers of JSON bodies, forms and single texts."""

import json
import reprlib
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from tombola._formatting import unknown_name_text
from tombola.service.hosted_file import HostedFile
from tombola.service.problems import ProblemError
from tombola.service.tokens import Identity

if TYPE_CHECKING:
    from tombola.service.app import Service

# Largest body of a request in bytes: 10,000 outcomes of about 100 bytes. Larger ones are answered
# with status 413.
_MAX_BODY_BYTES = 1_000_000
# Fields accepted in one form: an outcome of many actions has the most. Bounds the work for a
# hostile form.
_MAX_FIELDS = 200
# Largest number of characters of an idempotency key: several UUIDs.
MAX_KEY_LENGTH = 100
# Largest number in a body: larger integers are not exact in JSON parsers with float64 numbers.
MAX_NUMBER = 2**53
# JSON type -> Python types of its values (a boolean is not a number), and the names of its limits.
_TYPES: dict[str, tuple[set[type], str, str]] = {
    "object": ({dict}, "", ""),
    "array": ({list}, "minItems", "maxItems"),
    "string": ({str}, "minLength", "maxLength"),
    "boolean": ({bool}, "minimum", "maximum"),
    "integer": ({int}, "minimum", "maximum"),
    "number": ({int, float}, "minimum", "maximum"),
}


class CheckedRequest(NamedTuple):
    """A request whose origin, token and role were checked, with its parsed body.

    http: the request of starlette.
    identity: the caller; a reader on public paths.
    fields: the JSON object or the form of the body; empty without a body.
    """

    service: "Service"
    http: Request
    identity: Identity
    fields: dict[str, Any]

    @property
    def list(self) -> HostedFile:
        """The session or race named in the path; ProblemError 404 if unknown."""
        name = self.http.path_params["name"]
        lists = self.service.lists
        if name not in lists:
            raise ProblemError(
                404, "not-found", f"request: {unknown_name_text('list', name, [*lists])}"
            )
        return lists[name]

    @property
    def ticket(self) -> int:
        """The ticket number in the path or the form; ProblemError 422 if malformed."""
        text = self.http.path_params.get("ticket") or self.fields.get("ticket", "")
        if not (
            text.isascii() and text.isdecimal() and len(text) < 17 and 1 <= int(text) <= MAX_NUMBER
        ):
            raise invalid_value("ticket", f"an integer in 1..{MAX_NUMBER}", text, "change it")
        return int(text)

    @property
    def key(self) -> str:
        """The idempotency key of form or header; random without one, 422 if malformed."""
        # A request without a key cannot be repeated; it still needs a lease that names the worker.
        header = self.http.headers.get("idempotency-key")
        key: str = self.fields.get("key", secrets.token_urlsafe(12) if header is None else header)
        if not 1 <= len(key) <= MAX_KEY_LENGTH or not key.isprintable():
            raise invalid_value(
                "key", f"1 to {MAX_KEY_LENGTH} printable characters", key, "change it"
            )
        return key


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY_BYTES:
                detail = (
                    f"request: expected a body of at most {_MAX_BODY_BYTES} bytes, got more; "
                    "split the request."
                )
                raise ProblemError(413, "too-large", detail)
    except ClientDisconnect:
        detail = "request: expected the whole body, got a part of it; send it again."
        raise ProblemError(400, "incomplete", detail) from None
    return bytes(body)


async def read_json(request: Request, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a body that fits a schema, see `check_json`.

    ProblemError: 415 for another content type, 400 for malformed JSON, 413 beyond a megabyte, 422
        for invalid fields.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await _read_body(request)
    # A form of another site cannot send this type without asking the browser's permission first.
    if media_type != "application/json":
        detail = (
            "request: expected the content type application/json, got "
            f"{media_type!r:.100}; add the header."
        )
        raise ProblemError(415, "media-type", detail)
    try:
        data: dict[str, Any] = json.loads(body)
    except (RecursionError, ValueError):
        raise ProblemError(
            400, "malformed", "request: expected JSON, got something else; repair the body."
        ) from None
    check_json("request", data, schema)
    return data


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form, each with its last value; else 400 or 413."""
    body = await _read_body(request)
    try:
        fields = parse_qs(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=bool(body),
            max_num_fields=_MAX_FIELDS,
        )
    except ValueError:
        detail = "form: expected the fields of a form, got something else; reload."
        raise ProblemError(400, "malformed", detail) from None
    return {name: values[-1] for name, values in fields.items()}


def check_json(owner: str, value: Any, schema: dict[str, Any]) -> None:
    """Raise ProblemError 422 unless a value fits the JSON schema of a body.

    The message names the innermost field that does not fit. Objects have no other fields than their
    properties.

    owner: name of the field.

    >>> check_json("count", 3, {"type": "integer", "minimum": 1})
    """
    if "anyOf" in schema:
        for alternative in schema["anyOf"]:
            with suppress(ProblemError):
                return check_json(owner, value, alternative)
    elif "enum" in schema:
        if value in schema["enum"]:
            return None
    elif _has_type_and_size(value, schema):
        if type(value) is dict:
            fields = schema.get("properties", {})
            for name, item in value.items():
                check_json(name, item, fields[name])
        elif type(value) is list:
            for item in value:
                check_json(owner, item, schema["items"])
        return None
    raise invalid_value(owner, _schema_text(schema), value, "see /openapi.json")


def _has_type_and_size(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether type, limits and names of fields fit; not the fields or items."""
    types, least, most = _TYPES[schema["type"]]
    if type(value) not in types:
        return False
    if type(value) is dict:
        fields = schema.get("properties", {})
        if not all(name in fields for name in value):
            return False
        return all(name in value for name in schema.get("required", ()))
    size = len(value) if type(value) in (str, list) else value
    return bool(schema.get(least, -MAX_NUMBER) <= size <= schema.get(most, MAX_NUMBER))


def _schema_text(schema: dict[str, Any]) -> str:
    """Return a schema in words, for messages.

    >>> _schema_text({"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["a", "b"]}]})
    'integer (minimum 1) or one of a, b'
    """
    if "anyOf" in schema:
        return " or ".join(_schema_text(alternative) for alternative in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if "properties" in schema:
        return f"object with the fields {', '.join(schema['properties'])}"
    limits = [
        f"{name} {limit}" for name, limit in schema.items() if name.startswith(("min", "max"))
    ]
    return f"{schema['type']} ({', '.join(limits)})" if limits else str(schema["type"])


def invalid_value(owner: str, expected: str, got: Any, fix: str) -> ProblemError:
    """Return a ProblemError 422 (invalid value) for the caller to raise.

    The parameters are the parts of its message.

    >>> invalid_value("count", "an integer", "x", "change it").detail
    "count: expected an integer, got 'x'; change it."
    """
    return ProblemError(
        422, "invalid", f"{owner}: expected {expected}, got {reprlib.repr(got)}; {fix}."
    )
